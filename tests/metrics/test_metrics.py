"""The table of metrics against SciPy and scikit-learn, its laws, and metrics of users."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter
from functools import partial
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import haversine_distances

from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import dense_rows, jit
from protobandit.kernels import distances as distances_module
from protobandit.kernels.dense_rows import strided_centre
from protobandit.kernels.jit import Kernel
from protobandit.metrics import metrics
from protobandit.metrics.metrics import METRICS, PARAMETERS, as_metric, block_metric, metric
from protobandit.metrics.operands import Operand
from protobandit.oracle.patches import Patches

DTYPES = [np.float32, np.float64]
TEXTS = {"levenshtein", "levenshtein-normalized"}
NAMES = sorted(set(METRICS) - {"precomputed"} - TEXTS)
BOOLEAN = ["dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
HOMOGENEOUS = {
    **dict.fromkeys(["euclidean", "manhattan", "chebyshev", "minkowski"], 1),
    "sqeuclidean": 2,
    **dict.fromkeys(["cosine", "correlation", "canberra", "braycurtis", "hamming", "jaccard"], 0),
}
TRANSLATED = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski"]


def distances(measure, sources, targets, out=None):
    """Return what the oracle would compute: both sides with a common centre."""
    measure = as_metric(measure)
    centre = strided_centre(sources, targets) if measure.is_centred else None
    if out is None:
        dtype = np.float64 if measure.is_expensive else sources.dtype
        out = np.full((len(sources), len(targets)), np.nan, dtype=dtype)
    measure.fill(measure.prepare(sources, centre), measure.prepare(targets, centre), out)
    return out


def expected(measure, sources, targets):
    sources, targets = sources.astype(np.float64), targets.astype(np.float64)
    name = measure.name
    if name == "haversine":
        return haversine_distances(sources, targets)
    if name in BOOLEAN or name == "jaccard":
        sources, targets = sources != 0, targets != 0
    name = {"manhattan": "cityblock"}.get(name, name)
    return cdist(sources, targets, name, **measure.parameters)


def rows_for(name, dtype, n_columns, seed=0):
    random = np.random.default_rng(seed)
    n_columns = 2 if name == "haversine" else n_columns
    sources, targets = random.normal(size=(2, 17, n_columns))
    if name in {"jensenshannon", "braycurtis"}:
        sources, targets = abs(sources), abs(targets)
    if name in {"hamming", "jaccard", *BOOLEAN}:
        sources, targets = sources.round(), targets.round()
        sources[:, 0] = targets[:, 0] = 1
    targets = np.vstack([targets, sources[:3]])
    return sources.astype(dtype), targets.astype(dtype)


# -- truth ----------------------------------------------------------------------------------------

WITH_PARAMETERS = [
    ("minkowski", {"p": 1}),
    ("minkowski", {"p": 1.5}),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": np.linspace(0.5, 2, 30)}),
    ("mahalanobis", {"VI": np.cov(np.random.default_rng(3).normal(size=(30, 50)))}),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "parameters", "n_columns"),
    [(name, {}, n) for name in NAMES for n in (4, 30)] + [(*case, 30) for case in WITH_PARAMETERS],
)
def test_equals_scipy(name, parameters, n_columns, dtype):
    measure = metric(name, parameters)
    sources, targets = rows_for(name, dtype, n_columns)
    whole = np.full((len(sources), len(targets) + 9), -7, dtype=dtype)
    distances(measure, sources, targets, out=whole[:, 4:-5])
    tolerance = 3e-6 if dtype is np.float32 else 1e-12
    truth = expected(measure, sources, targets)
    np.testing.assert_allclose(whole[:, 4:-5], truth, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(distances(measure, sources, targets), whole[:, 4:-5])
    assert (np.delete(whole, np.s_[4:-5], axis=1) == -7).all()
    assert measure.bound is None or whole.max() <= measure.bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"russellrao", "yule"}))
@pytest.mark.parametrize("n_columns", [4, 30])
def test_identical_rows_are_at_zero(name, n_columns, dtype):
    sources, targets = rows_for(name, dtype, n_columns)
    found = distances(name, sources, targets)
    assert (np.diagonal(found[:3, -3:]) == 0).all()
    assert np.count_nonzero(found) >= found.size // 2


def test_aliases():
    assert as_metric("l2") is as_metric("euclidean")
    assert as_metric("l1") is as_metric("cityblock") is as_metric("manhattan")


def test_every_kernel_fills_rows_by_source():
    """One source and many targets fill a row, not a column."""
    for name in NAMES:
        sources, targets = rows_for(name, np.float64, 5)
        alone = distances(name, sources[:1], targets)
        np.testing.assert_allclose(alone, distances(name, sources, targets)[:1], atol=1e-14)


@pytest.mark.parametrize("offset", [0, 1e3])
@pytest.mark.parametrize("n_columns", [4, 30])
@pytest.mark.parametrize("name", [name for name in NAMES if METRICS[name].fill_pairs])
def test_pairs_equal_blocks(name, n_columns, offset):
    sources, targets = (block + offset for block in rows_for(name, np.float64, n_columns))
    measure, centre = METRICS[name], strided_centre(sources, targets)
    left, right = measure.prepare(sources, centre), measure.prepare(targets, centre)
    i, j = np.array([3, 0, 3]), np.array([1, 5, len(targets) - 1])
    out = np.full(3, np.nan)
    measure.fill_pairs(left, right, i, j, out)
    np.testing.assert_allclose(out, distances(name, sources, targets)[i, j], rtol=1e-9)


# -- precision ------------------------------------------------------------------------------------


def brute_force(sources, targets):
    gaps = sources.astype(np.float64)[:, None] - targets.astype(np.float64)
    return np.sqrt((gaps**2).sum(axis=2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_columns", [3, 200])
def test_far_from_the_origin(n_columns, dtype):
    random = np.random.default_rng(0)
    sources, targets = (1e6 + random.normal(size=(2, 40, n_columns))).astype(dtype)
    np.testing.assert_allclose(
        distances("euclidean", sources, targets), brute_force(sources, targets), rtol=1e-6
    )


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("places", [(-1e4, 1e4), (0, 1e4), (1e4, 1.1e4)])
def test_two_clusters_far_apart(places, dtype, share):
    random = np.random.default_rng(0)
    is_second = random.random((2, 60, 1)) < share
    sources, targets = random.normal(size=(2, 60, 100)) + np.where(is_second, *places)
    sources, targets = sources.astype(dtype), targets.astype(dtype)
    np.testing.assert_allclose(
        distances("euclidean", sources, targets), brute_force(sources, targets), rtol=1e-6
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0, 3])
def test_near_duplicates_keep_their_digits(offset, dtype):
    sources = (np.random.default_rng(0).normal(size=(30, 50)) + offset).astype(dtype)
    targets = np.nextafter(sources, np.inf, dtype=dtype)
    found, truth = distances("euclidean", sources, targets), brute_force(sources, targets)
    np.testing.assert_allclose(np.diagonal(found), np.diagonal(truth), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_direction_is_at_zero(dtype):
    sources = np.random.default_rng(0).normal(size=(8, 40)).astype(dtype)
    for name in ("cosine", "correlation"):
        assert abs(np.diagonal(distances(name, sources, 3 * sources))).max() < 1e-13
        assert (np.diagonal(distances(name, sources, -sources)) <= 2).all()


def test_zero_rows_are_at_cosine_distance_one():
    sources = np.vstack([np.zeros(5), np.ones(5)])
    np.testing.assert_array_equal(distances("cosine", sources, sources), [[1, 1], [1, 0]])


def test_zero_over_zero_is_zero():
    rows = np.array([[0.0, 0.0], [0.0, 2.0]])
    for name in ("canberra", "braycurtis", "jaccard"):
        np.testing.assert_array_equal(distances(name, rows, rows), [[0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_antipodes(dtype):
    random = np.random.default_rng(0)
    points = random.uniform([-np.pi / 2, -np.pi], [np.pi / 2, 0], size=(300, 2))
    opposite = points * [-1, 1] + [0, np.pi]
    found = distances("haversine", points.astype(dtype), opposite.astype(dtype))
    np.testing.assert_allclose(np.diagonal(found), np.pi, rtol=1e-6)
    assert found.max() <= METRICS["haversine"].bound


def test_a_large_power_does_not_overflow():
    rows = np.array([[0.0, 0.0], [3e9, 1e9]])
    found = distances(metric("minkowski", {"p": 400}), rows, rows)
    np.testing.assert_allclose(found, [[0, 3e9], [3e9, 0]])


# -- laws -----------------------------------------------------------------------------------------


def grids(dtype, n_columns):
    # Eighths are exact, so the input is not rounded.
    numbers = st.integers(-800, 800).map(lambda i: i / 8)
    return arrays.arrays(dtype, (6, n_columns), elements=numbers)


blocks = st.tuples(st.sampled_from(DTYPES), st.sampled_from([2, 5, 12, 13, 20])).flatmap(
    lambda chosen: st.tuples(grids(*chosen), grids(*chosen))
)


def is_undefined(name, *sides):
    """Return whether the metric is undefined for one of these rows."""
    if name == "correlation":
        return any((side == side[:, :1]).all(axis=1).any() for side in sides)
    return name == "braycurtis" and (sides[0][:, None] == -sides[1]).all(axis=2).any()


@settings(max_examples=60, deadline=None)
@given(blocks, st.sampled_from(sorted(HOMOGENEOUS)), st.integers(-8, 8))
def test_scale_law(sides, name, exponent):
    assume(not is_undefined(name, *sides))
    measure = metric(name, {"p": 3}) if name == "minkowski" else metric(name)
    found = distances(measure, *(np.ldexp(side, exponent) for side in sides))
    np.testing.assert_array_equal(
        found, np.ldexp(distances(measure, *sides), HOMOGENEOUS[name] * exponent)
    )


@settings(max_examples=60, deadline=None)
@given(blocks, st.sampled_from(TRANSLATED), st.integers(-1000, 1000))
def test_shift_law(sides, name, offset):
    found = distances(name, *(side + side.dtype.type(offset) for side in sides))
    tolerance = 2e-5 if found.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, distances(name, *sides), rtol=tolerance)


@settings(max_examples=60, deadline=None)
@given(blocks, st.sampled_from([*TRANSLATED, "cosine", "canberra", "hamming", "jaccard"]))
def test_zero_on_itself_and_symmetric(sides, name):
    sources, targets = sides
    if name != "cosine" or sources.any(axis=1).all():
        assert (np.diagonal(distances(name, sources, sources)) == 0).all()
    found, turned = distances(name, sources, targets), distances(name, targets, sources)
    tolerance = 2e-5 if sources.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, turned.T, rtol=tolerance, atol=1e-6 * (name == "cosine"))


# -- prepared rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1e4])
@pytest.mark.parametrize("name", NAMES)
def test_rows_can_be_taken_after_preparing(name, offset):
    sources, targets = rows_for(name, np.float64, 20)
    if name == "euclidean":
        sources, targets = sources + offset, targets + offset
    measure = METRICS[name]
    centre = strided_centre(sources, targets) if measure.is_centred else None
    assert (centre is not None) == (name == "euclidean" and offset > 0)
    prepared = measure.prepare(sources, centre)
    targets = measure.prepare(targets, centre)
    whole = np.empty((len(prepared), len(targets)))
    measure.fill(prepared, targets, whole)
    for where in (np.array([4, 0, 4]), slice(2, 7), slice(0, 9, 4)):
        taken = prepared.take(where)
        assert len(taken) == len(whole[where])
        part = np.empty((len(taken), len(targets)))
        measure.fill(taken, targets, part)
        np.testing.assert_allclose(part, whole[where], rtol=1e-12, atol=1e-14)


def far_rows(n, n_columns, dtype, seed=0):
    """Return rows far from the origin, each of them twice."""
    rows = 1e6 + np.random.default_rng(seed).normal(size=(n // 2, n_columns))
    return np.repeat(rows, 2, axis=0).astype(dtype)


TAKEN = {
    "some": (np.array([4, 0, 4, 33]),),
    "some of a run": (slice(3, 30), np.array([20, 0, 1])),
    "a run of some": (np.arange(39, -1, -1), slice(5, 11)),
    "some of some": (np.arange(0, 40, 3), np.array([7, 7, 2]), np.array([2, 0])),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("n_columns", [13, 200])
@pytest.mark.parametrize("steps", TAKEN.values(), ids=TAKEN)
def test_take_does_not_copy_the_rows_before_centring(dtype, name, n_columns, steps):
    sources, targets = far_rows(40, n_columns, dtype), far_rows(40, n_columns, dtype, seed=1)
    targets[:8] = sources[:8]
    measure, centre = METRICS[name], strided_centre(sources, targets)
    left, right = measure.prepare(sources, centre), measure.prepare(targets, centre)
    for where in steps:
        left, sources = left.take(where), sources[where]
        right, targets = right.take(where), targets[where]
    for taken, rows in ((left, sources), (right, targets)):
        assert len(taken) == len(rows)
        np.testing.assert_array_equal(taken.rows, rows)
        fresh = measure.prepare(rows, centre)
        np.testing.assert_array_equal(taken.near, fresh.near)
        np.testing.assert_array_equal(taken.norms, fresh.norms)
        assert len(taken.given) > len(rows)
    found = np.full((len(sources), len(targets)), np.nan, dtype=dtype)
    measure.fill(left, right, found)
    truth = brute_force(sources, targets)
    truth = truth if name == "euclidean" else truth**2
    np.testing.assert_allclose(found, truth, rtol=1e-5 if dtype is np.float32 else 1e-9)
    again = np.full_like(found, np.nan)
    measure.fill(measure.prepare(sources, centre), measure.prepare(targets, centre), again)
    assert found.tobytes() == again.tobytes()
    i, j = np.indices(found.shape).reshape(2, -1)[:, ::-1].copy()
    pairs = np.full(len(i), np.nan, dtype=dtype)
    measure.fill_pairs(left, right, i, j, pairs)
    np.testing.assert_allclose(pairs, truth[i, j], rtol=1e-6)


def test_take_copies_rows_that_are_not_centred():
    """They are read in full, so they should be contiguous."""
    sources, _ = rows_for("euclidean", np.float64, 20)
    prepared = METRICS["euclidean"].prepare(sources, None)
    assert len(prepared.take(np.array([3, 5])).given) == 2
    centred = METRICS["euclidean"].prepare(sources, np.ones(20))
    assert centred.take(np.array([3, 5])).given is centred.given
    assert len(centred.take(slice(3, 5)).given) == 2


def test_objects_can_be_taken():
    prepared = as_metric(levenshtein).prepare(np.array(["a", "b", "c"], dtype=object), None)
    assert prepared.take(np.array([2, 0])).rows == ["c", "a"]
    assert prepared.take(slice(1, 3)).rows == ["b", "c"]
    assert len(prepared) == 3


def test_read_only_and_fortran_blocks():
    sources, targets = rows_for("euclidean", np.float32, 30)
    sources.flags.writeable = False
    for name in ("euclidean", "manhattan", "cosine"):
        found = distances(name, sources, np.asfortranarray(targets))
        np.testing.assert_array_equal(found, distances(name, sources.copy(), targets))


def test_rows_are_not_modified():
    for name in NAMES:
        sources, targets = rows_for(name, np.float64, 20)
        before = sources.copy(), targets.copy()
        distances(name, sources, targets)
        np.testing.assert_array_equal(sources, before[0])
        np.testing.assert_array_equal(targets, before[1])


def test_fill_from_several_threads():
    sources, targets = rows_for("chebyshev", np.float32, 300)
    for name in ("euclidean", "chebyshev", "manhattan"):
        measure = METRICS[name]
        left, right = measure.prepare(sources, None), measure.prepare(targets, None)
        out = np.zeros((len(sources), 4 * len(targets)), dtype=np.float32)
        start = Barrier(4)

        def work(cut, measure=measure, left=left, right=right, out=out, start=start):
            start.wait()
            for _ in range(20):
                measure.fill(left, right, out[:, cut : cut + len(right)])

        threads = [Thread(target=work, args=(i * len(targets),)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(out, np.tile(distances(name, sources, targets), 4))


# -- metrics of users -----------------------------------------------------------------------------


def levenshtein(a, b):
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, line[0] = line[0], i
        for j, y in enumerate(b, 1):
            before, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, before + (x != y))
    return line[-1]


def excess(target, source):
    """Return a dissimilarity that is not symmetric: how far the target exceeds the source."""
    return float(np.maximum(target - source, 0).sum())


def excess_of_blocks(A, B):
    return np.maximum(A[:, None] - B, 0).sum(axis=2)


def fill(measure, sources, targets):
    measure = as_metric(measure)
    left, right = measure.prepare(sources, None), measure.prepare(targets, None)
    out = np.full((len(left), len(right)), np.nan)
    measure.fill(left, right, out)
    return out


def test_strings():
    words = ["kitten", "sitting", ""]
    found = fill(levenshtein, words, ["sitting", "mitten"])
    np.testing.assert_array_equal(found, [[3, 1], [0, 3], [7, 6]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("measure", [excess, block_metric(excess_of_blocks)])
def test_orientation_is_target_then_source(measure, dtype):
    sources = np.array([[0, 0], [9, 9]], dtype=dtype)
    targets = np.array([[1, 2], [10, 0], [3, 3]], dtype=dtype)
    np.testing.assert_array_equal(fill(measure, sources, targets), [[3, 10, 6], [0, 1, 0]])


def test_each_pair_is_computed_once():
    calls = Counter()

    def counting(target, source):
        calls[target, source] += 1
        return 0

    fill(counting, list(range(4)), list(range(7)))
    assert len(calls) == 28
    assert set(calls.values()) == {1}


def test_each_block_is_computed_once():
    shapes = []

    def counting(A, B):
        shapes.append((type(A), len(A), len(B)))
        return np.zeros((len(A), len(B)), dtype=int)

    fill(block_metric(counting), ["a", "b"], ["c", "d", "e"])
    assert shapes == [(list, 3, 2)]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_stay_sparse(kind):
    sources, targets = kind(np.eye(3)), kind(2 * np.eye(3)[:2])

    def by_pair(target, source):
        assert target.shape == source.shape == (1, 3)
        return abs(target - source).sum()

    def by_block(A, B):
        assert isinstance(A, kind)
        assert isinstance(B, kind)
        return [[by_pair(A[i : i + 1], B[j : j + 1]) for j in range(3)] for i in range(2)]

    truth = cdist(np.eye(3), 2 * np.eye(3)[:2], "cityblock")
    for measure in (by_pair, block_metric(by_block)):
        measure = as_metric(measure)
        out = np.empty((3, 2))
        measure.fill(measure.prepare(sources, None), measure.prepare(targets, None), out)
        np.testing.assert_array_equal(out, truth)


def test_dense_rows_are_vectors():
    seen = set()

    def look(target, source):
        seen.add((target.shape, source.dtype))
        return np.float32(1)

    fill(look, np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))
    assert seen == {((3,), np.dtype(np.float32))}


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1, None, "far", 1j, np.zeros(2)])
def test_invalid_value_of_a_pair(wrong):
    def invalid(target, source):
        return wrong if (target, source) == (1, 2) else 0.5

    with pytest.raises(
        InvalidInput, match=r"metric='invalid' gave .* target row 1 and source row 2"
    ):
        fill(invalid, [0, 1, 2], [0, 1])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1])
def test_invalid_value_in_a_block(wrong):
    def invalid(A, B):
        values = np.ones((len(A), len(B)))
        values[1, 2] = wrong
        return values

    with pytest.raises(
        InvalidInput, match=r"metric='invalid' gave .* target row 1 and source row 2"
    ):
        fill(block_metric(invalid), [0, 1, 2], [0, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 2)),
        np.zeros(2),
        0.0,
        None,
        np.zeros((2, 3), dtype=complex),
        np.full((2, 3), "a"),
    ],
)
def test_block_with_an_invalid_shape_or_type(wrong):
    def invalid(A, B):
        return wrong

    with pytest.raises(InvalidInput, match=r"metric='invalid' returned .* shape \(2, 3\)"):
        fill(block_metric(invalid), [0, 1, 2], [0, 1])


@pytest.mark.parametrize("wrap", [as_metric, block_metric])
def test_exceptions_of_a_users_function_propagate(wrap):
    error = KeyError("mine")

    def failing(a, b):
        raise error

    with pytest.raises(KeyError) as caught:
        fill(wrap(failing), [0], [0])
    assert caught.value is error


def test_properties_of_a_users_metric():
    measure = as_metric(levenshtein)
    assert measure.name == "levenshtein"
    assert measure.is_expensive
    assert measure.kinds == {"dense", "sparse", "objects"}
    assert as_metric(partial(levenshtein)).name == "partial"
    assert as_metric(measure) is measure


# -- precomputed ----------------------------------------------------------------------------------


def test_precomputed():
    matrix = np.arange(12.0).reshape(3, 4)
    measure = METRICS["precomputed"]
    sources = measure.prepare(np.arange(4), None).take(np.array([3, 1]))
    out = np.empty((2, 2))
    measure.fill(sources, measure.prepare(matrix[1:], None), out)
    np.testing.assert_array_equal(out, [[7, 11], [5, 9]])


@pytest.mark.parametrize("wrong", [-1, np.nan, np.inf])
def test_precomputed_numbers_are_checked(wrong):
    matrix = np.ones((3, 4))
    matrix[2, 1] = wrong
    with pytest.raises(InvalidInput, match=r"'precomputed' gave .* target row 2 and source row 0"):
        METRICS["precomputed"].fill(Operand(np.array([1, 2])), Operand(matrix), np.empty((2, 3)))
    METRICS["precomputed"].fill(Operand(np.array([0, 2])), Operand(matrix), np.empty((2, 3)))


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", ["euclid", 3, None, ["cosine"]])
def test_unknown_metric(unknown):
    hint = (
        r"is not known.* Use one of braycurtis, .*euclidean.*mahalanobis.*, a callable f\(row, row"
    )
    for function in (as_metric, metric):
        with pytest.raises(InvalidInput, match=hint) as caught:
            function(unknown)
        assert "block_metric(f)" in str(caught.value)
        assert f"metric={unknown!r}" in str(caught.value)
        assert ("Did you mean 'euclidean'" in str(caught.value)) == (unknown == "euclid")


@pytest.mark.parametrize(
    ("name", "parameters", "hint"),
    [
        ("euclidean", {"p": 2}, "takes none"),
        ("minkowski", {"q": 2}, "takes {'p': ...}"),
        ("minkowski", {"p": 0}, "p must be a number > 0"),
        ("minkowski", {"p": "3"}, "p must be a number > 0"),
        ("minkowski", {"p": None}, "p must be a number > 0"),
        ("minkowski", {"p": np.nan}, "p must be a number > 0"),
        ("minkowski", 3, "takes {'p': ...}"),
        ("seuclidean", None, "takes {'V': ...}"),
        ("seuclidean", None, "(--metric-param V='[1, 4]')"),
        ("seuclidean", {"V": [1, 0]}, "V must be one positive variance"),
        ("seuclidean", {"V": [1, np.inf]}, "V must be one positive variance"),
        ("seuclidean", {"V": [[1]]}, "V must be one positive variance"),
        ("seuclidean", {"V": "abc"}, "V must be one positive variance"),
        ("mahalanobis", {}, "takes {'VI': ...}"),
        ("mahalanobis", {"VI": [[-1.0]]}, "VI must be a symmetric matrix"),
        ("mahalanobis", {"VI": object()}, "VI must be a symmetric matrix"),
    ],
)
def test_wrong_parameters(name, parameters, hint):
    with pytest.raises(InvalidInput) as caught:
        metric(name, parameters)
    assert str(caught.value).startswith("parameters=")
    assert name in str(caught.value)
    assert hint in str(caught.value)


# -- the triangle inequality -----------------------------------------------------------------------

MEASURES = [
    *(METRICS[name] for name in sorted(set(METRICS) - {"precomputed"})),
    *(metric("minkowski", {"p": p}) for p in (0.5, 1, 3, np.inf)),
    metric("seuclidean", {"V": [1.0, 4.0, 0.25]}),
    metric("mahalanobis", {"VI": np.diag([1.0, 0.0, 3.0])}),
]


def hostile_rows(measure):
    """Return rows among which a measure that may break the triangle inequality does so."""
    random = np.random.default_rng(0)
    if "objects" in measure.kinds:
        pytest.importorskip("rapidfuzz")
        letters = ["".join(random.choice(list("ab"), n)) for n in random.integers(1, 5, size=60)]
        return Operand(letters)
    if measure.name == "haversine":
        rows = random.uniform([-1.57, -3.14], [1.57, 3.14], size=(60, 2))
    elif measure.is_of_sets or measure.name == "hamming":
        rows = random.integers(0, 2, size=(60, 5)).astype(float)
        rows[:, 0] = 1  # some measures are not defined for two empty sets
    elif measure.name in {"braycurtis", "jensenshannon"}:
        rows = random.gamma(0.3, size=(60, 3)) + 1e-9
    else:
        rows = random.standard_t(1, size=(60, 3))
        rows[:20, 0] = 0
    return measure.prepare(rows, None)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_the_triangle_inequality_holds_exactly_where_it_is_declared(measure):
    rows = hostile_rows(measure)
    d = np.empty((60, 60))
    measure.fill(rows, rows, d)
    detours = (d[:, :, None] + d[None, :, :]).min(axis=1)
    holds = bool((d <= detours * (1 + 1e-9) + 1e-12).all())
    assert holds == measure.obeys_triangle
    np.testing.assert_allclose(d, d.T, rtol=1e-9, atol=1e-12)


def test_nothing_is_known_about_the_metric_of_a_user():
    assert not as_metric(excess).obeys_triangle
    assert not block_metric(excess_of_blocks).obeys_triangle
    assert not METRICS["precomputed"].obeys_triangle


def test_metrics_of_sets_read_only_which_numbers_are_not_0():
    assert {name for name in METRICS if METRICS[name].is_of_sets} == {*BOOLEAN, "jaccard"}


def test_every_parameter_is_described():
    assert {name: list(keys) for name, keys in PARAMETERS.items()} == {
        name: [key] for name, (key, _) in metrics._MAKERS.items()
    }


def test_parameters_for_another_number_of_columns():
    measure = metric("seuclidean", {"V": [1, 2, 3]})
    with pytest.raises(InvalidInput, match=r"parameters .* 3 column\(s\) but the rows have 2"):
        measure.prepare(np.zeros((4, 2)), None)


def test_metrics_that_are_undefined_for_some_rows():
    rows = np.array([[1.0, -2.0], [-1.0, 2.0]])
    with pytest.raises(
        InvalidInput, match="'braycurtis' gave inf for target row 1 and source row 0"
    ):
        distances("braycurtis", rows, rows)
    with pytest.raises(InvalidInput, match="'correlation' is undefined for a constant row"):
        distances("correlation", np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(InvalidInput, match="'haversine' got rows of 3 column"):
        distances("haversine", np.ones((2, 3)), np.ones((2, 3)))


def test_block_metric_requires_a_function():
    with pytest.raises(InvalidInput, match="block_metric got 'cosine'"):
        block_metric("cosine")


# -- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure",
    [
        *METRICS.values(),
        *(metric(*case) for case in WITH_PARAMETERS),
        as_metric(levenshtein),
        block_metric(excess_of_blocks),
    ],
    ids=lambda measure: measure.name,
)
def test_records_are_copied_and_pickled(measure):
    for same in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):
        assert same.name == measure.name
        assert same.bound == measure.bound
        assert same.kinds == measure.kinds
        np.testing.assert_equal(dict(same.parameters), dict(measure.parameters))
        if measure.name in {"precomputed", *TEXTS}:
            continue
        sources, targets = rows_for(measure.name, np.float64, 30)
        np.testing.assert_array_equal(
            distances(same, sources, targets), distances(measure, sources, targets)
        )


def test_bounds_and_kinds():
    bounds = {name: METRICS[name].bound for name in NAMES if METRICS[name].bound is not None}
    assert bounds == pytest.approx(
        {
            "cosine": 2,
            "correlation": 2,
            "hamming": 1,
            "jaccard": 1,
            "haversine": np.pi,
            "dice": 1,
            "rogerstanimoto": 1,
            "russellrao": 1,
            "sokalsneath": 1,
            "yule": 2,
        }
    )
    read_sparse = {name for name in METRICS if "sparse" in METRICS[name].kinds}
    assert read_sparse == {"euclidean", "sqeuclidean", "cosine", "manhattan", "minkowski"}
    assert metric("minkowski", {"p": 3}).kinds == {"dense"}
    assert {name for name in METRICS if METRICS[name].is_expensive} == TEXTS
    assert {name for name in METRICS if METRICS[name].kinds == {"objects"}} == TEXTS
    assert not any(measure.is_own for measure in METRICS.values())


def test_metrics_computed_by_matrix_products():
    by_products = {name for name in METRICS if METRICS[name].is_product}
    squares = {"euclidean", "sqeuclidean", "minkowski"}
    assert by_products == squares | {"cosine", "correlation", "jaccard"}
    assert metric("seuclidean", {"V": [1.0]}).is_product
    assert not metric("minkowski", {"p": 3}).is_product


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_a_compiler_the_numbers_are_the_same(dtype, monkeypatch):
    cases = [(metric(name), *rows_for(name, dtype, n)) for name in NAMES for n in (4, 30)]
    cases.append((metric("minkowski", {"p": 3}), *rows_for("minkowski", dtype, 30)))
    truth = [distances(*case) for case in cases]
    monkeypatch.setattr(jit, "_compiler", lambda: None)
    for module in (distances_module, dense_rows):
        for name, value in list(vars(module).items()):
            if isinstance(value, Kernel):
                fresh = Kernel(value.loops, value.reference, value.scratch)
                monkeypatch.setattr(module, name, fresh)
                for key, fill in distances_module.FILLS.items():
                    if isinstance(fill, partial) and value in fill.args:
                        monkeypatch.setitem(distances_module.FILLS, key, partial(fill.func, fresh))
    tolerance = 4e-6 if dtype is np.float32 else 1e-12
    for case, same in zip(cases, truth, strict=True):
        np.testing.assert_allclose(distances(*case), same, rtol=tolerance, atol=tolerance)


def test_import_loads_nothing_heavy():
    code = (
        "import sys, protobandit.metrics.metrics\n"
        "heavy = {'llvmlite', 'scipy', 'sklearn', 'joblib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(("n_columns", "n_for_products"), [(12, None), (13, 4), (64, 4)])
def test_products_are_computed_where_they_are_faster(monkeypatch, n_columns, n_for_products):
    called = []
    monkeypatch.setattr(metrics, "compare_patches", lambda *arrays: called.append(arrays[11]))
    euclidean = metrics.METRICS["euclidean"]
    rows = euclidean.prepare(np.zeros((40, n_columns), dtype=np.float32), None)
    positions = np.arange(40, dtype=np.int32)
    patches = Patches(positions, np.array([0]), np.array([9]), positions, *np.array([[0], [3]]))
    out = np.empty(9 * 3, dtype=np.float32)
    euclidean.fill_patches(rows, rows, patches, slice(0, 1), np.array([0]), out, None)
    assert called == [n_for_products or np.iinfo(np.int64).max]
