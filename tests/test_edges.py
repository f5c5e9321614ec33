"""Unusual rows: few, equal, huge, of low precision, in frames, sparse, or not numbers."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import brute
import protobandit as pb
from protobandit.methods import METHODS, SpotGreedy

every = pytest.mark.parametrize("method", brute.variants(), ids=brute.name_of)
named = pytest.mark.parametrize("name", sorted(METHODS))

of_matrices = pytest.mark.parametrize(
    "method", [m for m in brute.variants() if not hasattr(m, "kernel")], ids=brute.name_of
)

EXACT = pytest.mark.parametrize("name", ["spotgreedy", "lazygreedy"])


def result_of(rows, other=None, **options):
    """Return the picks and costs of one call."""
    options = {"k": 4, "random_state": 0} | options
    selection = pb.select(rows, other, **options)
    return selection.indices.tolist(), selection.costs.tolist()


# -- few or equal rows ----------------------------------------------------------------------------


@every
@pytest.mark.parametrize("value", [0.0, 1e6, 0.1])
def test_identical_rows_give_distinct_indices_and_no_cost(method, value):
    selection = pb.select(np.full((9, 3), value), k=5, method=method, random_state=0)
    assert len(set(selection.indices.tolist())) == 5
    assert (selection.costs == 0).all()
    assert (selection.gains[1:] == 0).all()
    assert selection.mass.tolist() == [1, 0, 0, 0, 0]


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fewer_distinct_rows_than_k(method, dtype):
    rows = np.repeat(brute.whole(3, top=50), 4, axis=0).astype(dtype)
    selection = pb.select(rows, k=12, method=method, random_state=0)
    assert sorted(selection.indices.tolist()) == list(range(12))
    assert selection.cost == 0
    distinct = len(np.unique(rows[selection.indices[:3]], axis=0))
    if method.name != "random" and getattr(method, "r", 1) == 1:
        assert (selection.gains[3:] == 0).all()
        assert distinct == 3 or method.name in {"stochasticgreedy", "protobandit"}


@EXACT
def test_picks_without_gain_depend_on_the_seed(name):
    rows = np.repeat(brute.whole(2, top=50), 10, axis=0)
    drawn = {
        tuple(pb.select(rows, k=5, method=name, random_state=seed).indices.tolist())
        for seed in range(5)
    }
    assert len({picks[:2] for picks in drawn}) == 1
    assert len(drawn) > 1


@every
def test_k_of_all_rows_selects_all_rows(method):
    rows = brute.normal(8)
    selection = pb.select(rows, k=8, method=method, random_state=0)
    assert sorted(selection.indices.tolist()) == list(range(8))
    assert selection.cost == 0
    np.testing.assert_allclose(selection.mass, 1 / 8)


@every
def test_one_target_row_needs_one_prototype(method):
    source = np.arange(10.0).reshape(-1, 1)
    selection = pb.select(source, [[3.2]], k=10, method=method, random_state=0)
    assert selection.cost == pytest.approx(0.2)
    assert selection.mass[selection.indices.tolist().index(3)] == 1
    if method.name in {"spotgreedy", "lazygreedy"}:
        assert selection.indices[0] == 3


@every
def test_one_source_row_is_selected(method):
    selection = pb.select([[1.0, 2.0]], brute.normal(9, 2), k=1, method=method)
    assert selection.indices.tolist() == [0]
    assert selection.mass.tolist() == [1.0]
    assert np.isnan(selection.gains).all()


@EXACT
def test_one_prototype_is_the_row_of_smallest_mean_distance(name):
    rows = brute.normal(40)
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows, rows)
    selection = pb.select(rows, k=1, method=name)
    assert selection.indices.tolist() == [int(d.mean(axis=0).argmin())]
    assert selection.cost == pytest.approx(d.mean(axis=0).min())


@pytest.mark.parametrize(("k", "n"), [(0.5, 10), (0.049, 1), (1e-9, 1), (0.999, 20)])
def test_k_as_a_fraction_of_the_source_rows(k, n):
    assert pb.select(brute.normal(20), k=k, method="random", random_state=0).k == n


# -- numbers of low precision, huge or close together ---------------------------------------------


@every
def test_float16_rows_give_the_result_of_float32(method):
    rows = brute.normal(60, dtype=np.float16)
    narrow = result_of(rows[:20], rows[20:], method=method)
    assert narrow == result_of(*np.split(rows.astype(np.float32), [20]), method=method)


@EXACT
def test_float16_rows_whose_squares_overflow(name):
    rows = (brute.normal(50) * 2e4).clip(-6e4, 6e4).astype(np.float16)
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows.astype(float), rows.astype(float))
    picks, costs = result_of(rows, method=name)
    assert brute.regret(d, brute.even(50), picks) <= 1e-6
    np.testing.assert_allclose(costs, brute.costs(d, brute.even(50), picks), rtol=1e-6)


@every
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_integer_rows_give_the_result_of_floats(method, dtype):
    rows = brute.whole(40, top=2 if dtype is np.bool_ else 100)
    picks, costs = result_of(rows.astype(dtype), method=method, metric="manhattan")
    wide = np.float64 if np.dtype(dtype).itemsize > 1 else np.float32
    assert (picks, costs) == result_of(rows.astype(wide), method=method, metric="manhattan")


@named
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_above_a_million(name, dtype):
    rows = (brute.normal(40) * 1e9).astype(dtype)
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows.astype(float), rows.astype(float))
    assert np.median(d) > 1e6
    picks, costs = result_of(rows, method=name)
    np.testing.assert_allclose(costs, brute.costs(d, brute.even(40), picks), rtol=1e-5)
    if name in {"spotgreedy", "lazygreedy"}:
        assert brute.regret(d, brute.even(40), picks) <= 1e-6


@EXACT
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("memoize", [True, False])
def test_noise_around_a_million_gives_the_picks_of_float64(name, dtype, metric, memoize):
    rows = (1e6 + brute.normal(40)).astype(dtype)
    wide = rows.astype(np.float64)
    d = brute.distances(brute.DEFINITIONS[metric], wide, wide)
    picks, costs = result_of(rows, method=METHODS[name](memoize=memoize), metric=metric)
    assert brute.regret(d, brute.even(40), picks) <= 1e-6
    sure = brute.decided(d, brute.even(40), 4, gap=1e-6)
    assert picks[: len(sure)] == sure
    np.testing.assert_allclose(costs, brute.costs(d, brute.even(40), picks), rtol=1e-5)


@EXACT
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_far_clusters_of_close_rows(name, dtype):
    """The centre lies between them, so norms are much larger than distances within a cluster."""
    rows = np.concatenate([brute.normal(20) - 1e5, brute.normal(20, seed=1) + 1e5]).astype(dtype)
    wide = rows.astype(np.float64)
    d = brute.distances(brute.DEFINITIONS["euclidean"], wide, wide)
    picks, costs = result_of(rows, method=name, k=6)
    assert brute.regret(d, brute.even(40), picks) <= 1e-6
    np.testing.assert_allclose(costs, brute.costs(d, brute.even(40), picks), rtol=1e-5)


@every
def test_overflow_and_underflow_raise(method):
    rows = brute.normal(30)
    for factor, message in (
        (1e150, "source holds .*'sqeuclidean' overflows"),
        (1e-150, "underflows"),
    ):
        with pytest.raises(pb.InvalidInput, match=message):
            pb.select(rows * factor, k=3, metric="sqeuclidean", method=method, random_state=0)


@pytest.mark.parametrize("factor", [1e-25, 1e-36, 1e25])
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "manhattan"])
def test_float32_rows_of_extreme_size_have_correct_costs(metric, factor):
    """Squares of these numbers are not float32 numbers."""
    rows = (brute.normal(30) * factor).astype(np.float32)
    found = pb.select(rows, k=3, metric=metric, random_state=0)
    wide = rows.astype(np.float64)
    d = brute.distances(brute.DEFINITIONS[metric], wide, wide)
    assert found.cost == pytest.approx(brute.costs(d, brute.even(30), found.indices)[-1], rel=1e-5)


@pytest.mark.parametrize("as_what", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("exponent", [-320, -300, -200, -165, 155, 200, 300])
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_directions_of_rows_of_extreme_length_are_exact(metric, exponent, as_what):
    """A power of two does not round, unless numbers become denormal."""
    rows = np.concatenate([brute.normal(20, 4), np.zeros((1, 4))])
    if metric == "correlation":
        rows, as_what = rows[:-1], np.asarray
    scaled = np.ldexp(rows, round(exponent / np.log10(2)))
    scaled[::2] = rows[::2]  # rows of ordinary length beside them
    ordinary = pb.select(as_what(rows), k=3, metric=metric, random_state=0)
    found = pb.select(as_what(scaled), k=3, metric=metric, random_state=0)
    np.testing.assert_allclose(found.cost, ordinary.cost, rtol=1e-3 if exponent < -300 else 1e-12)


@pytest.mark.parametrize("factor", [5e-324, 1e-310, 1e-300, 1e200, 1e307])
def test_weights_of_extreme_size_count_by_their_shares(factor):
    shares = np.arange(1.0, 31.0) % 5
    rows = brute.normal(30) * 1e-10  # products with small weights would underflow
    ordinary = pb.select(rows, k=3, weights=shares, random_state=0)
    found = pb.select(rows, k=3, weights=shares * factor, random_state=0)
    assert found.indices.tolist() == ordinary.indices.tolist()
    assert found.cost == pytest.approx(ordinary.cost, rel=1e-12)


@pytest.mark.parametrize("method", ["banditpam", "lazybandit", "protobandit"])
def test_an_own_metric_of_tiny_values_is_exact_or_refused(method):
    rows = brute.normal(600)

    def chosen(factor):
        metric = pb.block_metric(lambda A, B: factor * np.abs(A[:, None] - B[None]).sum(-1))
        return pb.select(rows, k=4, metric=metric, method=method, random_state=0).indices.tolist()

    if method == "banditpam":  # it needs variances
        with pytest.raises(pb.InvalidInput, match="metric underflows"):
            chosen(1e-200)
    else:
        assert chosen(1e-200) == chosen(1.0)


# -- weights --------------------------------------------------------------------------------------


@every
def test_rows_of_weight_zero_do_not_count(method):
    source, target = np.arange(10.0).reshape(-1, 1), np.array([[2.0], [8.0], [5.0]])
    selection = pb.select(source, target, k=10, weights=[0, 1, 0], method=method, random_state=0)
    assert selection.cost == 0
    assert selection.mass[selection.indices.tolist().index(8)] == 1


@every
def test_equal_weights_give_the_result_without_weights(method):
    rows = brute.normal(30)
    assert result_of(rows, weights=np.full(30, 0.7), method=method) == result_of(
        rows, method=method
    )


@every
def test_weights_of_a_target_object(method):
    rows, weights = brute.normal(30), np.arange(1.0, 31)
    in_target = result_of(rows, pb.Target(rows, weights=weights), method=method)
    assert in_target == result_of(rows, rows, weights=weights, method=method)


# -- types of rows --------------------------------------------------------------------------------

MAKERS = {
    "lists": lambda rows: rows.tolist(),
    "tuples": lambda rows: tuple(map(tuple, rows.tolist())),
    "pandas": lambda rows: pd.DataFrame(rows, columns=list("abc"), index=range(7, 7 + len(rows))),
    "pandas-nullable": lambda rows: pd.DataFrame(rows).astype("Float64"),
    "polars": lambda rows: pl.DataFrame(rows, schema=["a", "b", "c"]),
    "fortran": np.asfortranarray,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "big-endian": lambda rows: rows.astype(">f8"),
}


@named
@pytest.mark.parametrize("kind", MAKERS)
def test_the_result_does_not_depend_on_the_container(name, kind):
    rows = brute.normal(50)
    make = MAKERS[kind]
    expected = result_of(rows[:20], rows[20:], method=name)
    assert result_of(make(rows[:20]), make(rows[20:]), method=name) == expected
    assert result_of(make(rows), method=name) == result_of(rows, method=name)


@every
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows_give_the_result_of_dense_rows(method, metric, make):
    rows = brute.whole(50, columns=6)
    rows[rows < 4] = 0
    rows[:, 0] += 1
    picks, costs = result_of(make(rows[:20]), make(rows[20:]), method=method, metric=metric)
    d = brute.distances(brute.DEFINITIONS[metric], rows[20:], rows[:20])
    np.testing.assert_allclose(costs, brute.costs(d, brute.even(30), picks), rtol=1e-9)
    if method.name in {"spotgreedy", "lazygreedy"} and method.r == 1:
        assert brute.regret(d, brute.even(30), picks) <= 1e-9


@of_matrices
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)], ids=["tall", "wide"])
def test_a_precomputed_matrix_need_not_be_square(method, shape):
    """Rows are target, columns are source; a callable that reads the matrix gives the same."""
    d = np.random.default_rng(0).uniform(size=shape)
    numbers = [np.arange(n).reshape(-1, 1) for n in shape]
    by_function = pb.select(
        numbers[1],
        numbers[0],
        k=4,
        metric=pb.block_metric(
            lambda targets, sources: d[np.ix_(targets[:, 0].astype(int), sources[:, 0].astype(int))]
        ),
        method=method,
        random_state=0,
    )
    by_matrix = pb.select(d, k=4, metric="precomputed", method=method, random_state=0)
    assert by_matrix.indices.tolist() == by_function.indices.tolist()
    assert by_matrix.costs.tolist() == by_function.costs.tolist()
    assert by_matrix.evaluations == by_function.evaluations
    assert by_matrix.k == 4 <= shape[1]


@of_matrices
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_a_memory_mapped_matrix(method, dtype, tmp_path):
    d = np.random.default_rng(0).integers(0, 200, size=(40, 25)).astype(dtype)
    np.save(tmp_path / "d.npy", d)
    mapped = np.load(tmp_path / "d.npy", mmap_mode="r")
    assert result_of(mapped, metric="precomputed", method=method) == result_of(
        d, metric="precomputed", method=method
    )


@every
def test_memory_mapped_rows(method, tmp_path):
    rows = brute.normal(60, dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert result_of(rows[:20], mapped, method=method) == result_of(rows[:20], rows, method=method)


@every
def test_strings_with_a_pair_or_a_block_metric(method):
    words = ["ant", "aunt", "haunt", "bee", "beer", "been", "wasp", "wisp", "whisper", "a", ""]
    method = brute.with_kernel(method, brute.CountedBlocks(brute.likeness))
    by_pairs = result_of(words, metric=brute.edits, method=method)
    by_blocks = result_of(
        words,
        metric=pb.block_metric(lambda a, b: [[brute.edits(t, s) for s in b] for t in a]),
        method=method,
    )
    assert by_pairs == by_blocks
    assert by_pairs == result_of(np.array(words), metric=brute.edits, method=method)
    assert by_pairs == result_of(pd.Series(words), metric=brute.edits, method=method)


def lengths(target, source):
    return float(abs(len(target) - len(source)))


@named
def test_rows_of_different_lengths(name):
    ragged = [[1], [2, 2], [3, 3, 3], [4, 4], [5, 5]]
    kernel = brute.CountedBlocks(lambda a, b: 1.0 / (1 + lengths(a, b)))
    method = brute.with_kernel(METHODS[name](), kernel)
    assert len(result_of(ragged, k=3, metric=lengths, method=method)[0]) == 3


def test_a_target_of_equal_lengths_with_a_source_of_different_ones():
    ragged = [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]
    selection = pb.select(ragged, [[9, 9], [8, 8]], k=1, metric=lengths)
    assert selection.indices.tolist() == [1]
    assert pb.select([[9, 9], [8, 8]], ragged, k=1, metric=lengths).cost == 1.0


def test_source_and_target_of_different_precision():
    rows = brute.normal(50)
    narrow, wide = rows[:20].astype(np.float32), rows[20:]
    assert result_of(narrow, wide) == result_of(narrow.astype(np.float64), wide)
    assert result_of(wide, narrow) == result_of(wide, narrow.astype(np.float64))


# -- memory ---------------------------------------------------------------------------------------


@named
def test_repeated_calls_do_not_leak(name):
    rows = brute.normal(200)

    def run(times):
        for seed in range(times):
            pb.select(rows[:60], rows, k=3, method=name, random_state=seed, n_jobs=2)

    run(5)
    gc.collect()
    gc.freeze()  # so that collections need not visit what other tests have left
    tracemalloc.start()
    try:
        # Something may be loaded or compiled once; a leak grows every time.
        grown = min(_growth(lambda: run(12)) for _ in range(2))
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    assert grown < 50_000, "12 calls, each with 96 kB of distances"


def _growth(work):
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    work()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def test_memory_does_not_grow_with_the_number_of_prototypes():
    """An iteration stores two numbers per target row, which the next one replaces."""
    source, target = brute.normal(40, 2), brute.normal(30_000, 2, seed=1)

    def peak(k):
        tracemalloc.start()
        try:
            pb.select(source, target, k=k, method=SpotGreedy(memoize=False), n_jobs=1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)
    assert peak(30) < peak(3) + 8 * 30_000
