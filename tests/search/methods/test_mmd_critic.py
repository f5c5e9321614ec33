"""MMD-critic against its definition on whole matrices in float64; counts and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import brute
import dense
import protobandit as pb
from protobandit.methods import MMDCritic

lawful = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 10_000)

KERNELS = {
    "rbf": (MMDCritic(gamma=0.4), dense.rbf(0.4)),
    "linear": (MMDCritic(kernel="linear"), dense.linear),
    "polynomial": (
        MMDCritic(kernel="polynomial", gamma=0.5, degree=2, coef0=2.0),
        dense.polynomial(0.5, 2, 2.0),
    ),
    "own": (MMDCritic(kernel=brute.CountedBlocks(brute.likeness)), brute.likeness),
}
kernelled = pytest.mark.parametrize("name", KERNELS)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def instance(seed, n_source=11, n_target=17):
    random = np.random.default_rng(seed)
    weights = random.integers(0, 4, size=n_target)
    weights[:2] = 3
    return random.normal(size=(n_source, 3)), random.normal(size=(n_target, 3)), weights


def with_parameters(method, **changes):
    """Return the method with other parameters."""
    return MMDCritic(**(pb.methods.parameters_of(method) | changes))


# -- prototypes ------------------------------------------------------------------------------------


@kernelled
@weighted
@pytest.mark.parametrize("seed", range(6))
def test_picks_are_those_of_the_definition(name, is_weighted, seed):
    method, kernel = KERNELS[name]
    source, target, weights = instance(seed)
    q = weights if is_weighted else np.ones(17)
    across, within = dense.matrix(kernel, target, source), dense.matrix(kernel, source, source)
    sure = dense.mmd_greedy(across, within, q, 7)
    selection = pb.select(
        source, target, k=7, weights=weights if is_weighted else None, method=method
    )
    assert len(sure) == 7
    assert selection.indices.tolist() == sure
    values = [dense.mmd_value(across, within, q, sure[:m]) for m in range(1, 8)]
    gains = [step.gain for step in selection.steps]
    assert np.isnan(gains[0])
    np.testing.assert_allclose(gains[1:], np.diff(values), atol=1e-12 * max(1, abs(values[0])))
    assert selection.guarantee is None
    assert selection.criticisms is None
    assert selection.coefficients is None


@weighted
@pytest.mark.parametrize("seed", range(6))
def test_the_bandwidth_is_the_median_unless_given(is_weighted, seed):
    source, target, weights = instance(seed)
    q = weights if is_weighted else np.ones(17)
    kernel = dense.rbf(dense.median_gamma(source, target, q))
    across, within = dense.matrix(kernel, target, source), dense.matrix(kernel, source, source)
    selection = pb.select(source, target, k=6, weights=q, method="mmd-critic")
    assert selection.indices.tolist() == dense.mmd_greedy(across, within, q, 6)


def test_gamma_of_the_polynomial_is_one_over_the_columns_unless_given():
    source, target, _ = instance(0)
    kernel = dense.polynomial(1 / 3, 3, 1.0)
    across, within = dense.matrix(kernel, target, source), dense.matrix(kernel, source, source)
    selection = pb.select(source, target, k=6, method=MMDCritic(kernel="polynomial"))
    assert selection.indices.tolist() == dense.mmd_greedy(across, within, np.ones(17), 6)


@kernelled
def test_k_rows_are_returned_even_if_the_value_decreases(name):
    """Rows far from every target row lower the value."""
    method, _ = KERNELS[name]
    source = np.array([[0.1, 0, 0], [0, 0.1, 0], [9, 9, 9], [9, 9, 8.5]])
    selection = pb.select(source, np.zeros((5, 3)) + 0.05, k=4, method=method)
    assert sorted(selection.indices.tolist()) == [0, 1, 2, 3]
    assert min(step.gain for step in selection.steps[1:]) < 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rows_with_little_spread(dtype):
    random = np.random.default_rng(5)
    source = random.normal(size=(60, 20)).astype(dtype)
    target = random.normal(size=(300, 20)).astype(dtype)
    kernel = dense.rbf(0.05)
    wide = source.astype(float), target.astype(float)
    across, within = dense.matrix(kernel, wide[1], wide[0]), dense.matrix(kernel, wide[0], wide[0])
    chosen = pb.select(source, target, k=8, method=MMDCritic(gamma=0.05)).indices.tolist()
    for m in range(8):
        worth = [
            dense.mmd_value(across, within, np.ones(300), [*chosen[:m], i])
            for i in range(60)
            if i not in chosen[:m]
        ]
        assert dense.mmd_value(across, within, np.ones(300), chosen[: m + 1]) >= max(worth) - 1e-6


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("name", ["rbf", "linear", "polynomial"])
def test_sparse_rows_select_as_dense_ones(make, name):
    source, target, weights = instance(3)
    source, target = np.where(source > 0, source, 0), np.where(target > 0, target, 0)
    method = with_parameters(KERNELS[name][0], n_criticisms=3)
    plain = pb.select(source, target, k=5, weights=weights, method=method)
    rare = pb.select(make(source), make(target), k=5, weights=weights, method=method)
    assert rare.indices.tolist() == plain.indices.tolist()
    assert rare.criticisms.tolist() == plain.criticisms.tolist()


@lawful
@given(seed=seeds, k=st.integers(1, 6))
def test_the_order_of_rows_does_not_matter(seed, k):
    source, target, weights = instance(seed)
    random = np.random.default_rng(seed + 1)
    rows, columns = random.permutation(11), random.permutation(17)
    method = MMDCritic(n_criticisms=3)
    plain = pb.select(source, target, k=k, weights=weights, method=method)
    moved = pb.select(source[rows], target[columns], k=k, weights=weights[columns], method=method)
    assert rows[moved.indices].tolist() == plain.indices.tolist()
    assert columns[moved.criticisms].tolist() == plain.criticisms.tolist()


@lawful
@given(seed=seeds, k=st.integers(1, 6))
def test_weight_two_is_a_row_twice(seed, k):
    source, target, weights = instance(seed)
    method = MMDCritic(n_criticisms=4)
    by_weight = pb.select(source, target, k=k, weights=weights, method=method)
    owners = np.repeat(np.arange(17), weights)
    repeated = pb.select(source, target[owners], k=k, method=method)
    assert repeated.indices.tolist() == by_weight.indices.tolist()
    assert owners[repeated.criticisms].tolist() == by_weight.criticisms.tolist()
    np.testing.assert_allclose(repeated.costs, by_weight.costs, rtol=1e-12)


@lawful
@given(seed=seeds, shift=st.integers(-(2**15), 2**15))
def test_rbf_does_not_depend_on_the_origin(seed, shift):
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 99, size=(9, 3)), random.integers(0, 99, size=(15, 3))
    method = MMDCritic(n_criticisms=3)
    plain = pb.select(source * 1.0, target * 1.0, k=4, method=method)
    moved = pb.select(source + float(shift), target + float(shift), k=4, method=method)
    assert moved.indices.tolist() == plain.indices.tolist()
    assert moved.criticisms.tolist() == plain.criticisms.tolist()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
def test_any_number_of_threads_gives_the_same_bits(kernel):
    random = np.random.default_rng(0)
    source = random.normal(size=(900, 40)).astype(np.float32)
    target = random.normal(size=(5000, 40)).astype(np.float32)
    weights = random.integers(0, 5, size=5000)
    method = MMDCritic(kernel=kernel, n_criticisms=6)
    one, *others = (
        pb.select(source, target, k=5, weights=weights, method=method, n_jobs=n, random_state=n)
        for n in (1, 2, 5)
    )
    for other in others:
        assert other.indices.tolist() == one.indices.tolist()
        assert [s.gain for s in other.steps[1:]] == [s.gain for s in one.steps[1:]]
        assert other.criticisms.tolist() == one.criticisms.tolist()
        assert other.evaluations == one.evaluations
        assert other.costs.tobytes() == one.costs.tobytes()
    assert one.status == "Selected 5 prototypes; cost and mass are exact over all 5000 target rows."


# -- criticisms ------------------------------------------------------------------------------------


@kernelled
@weighted
@pytest.mark.parametrize("regularizer", ["logdet", None])
@pytest.mark.parametrize("seed", range(4))
def test_criticisms_are_those_of_the_determinant(name, is_weighted, regularizer, seed):
    method, kernel = KERNELS[name]
    method = with_parameters(method, n_criticisms=3, regularizer=regularizer)
    source, target, weights = instance(seed)
    q = weights if is_weighted else np.ones(17)
    selection = pb.select(source, target, k=4, weights=q, method=method)
    own, across = dense.matrix(kernel, target, target), dense.matrix(kernel, target, source)
    values = dense.witness(own, across, q, selection.indices)
    closed = np.flatnonzero(q == 0).tolist()
    sure = dense.criticisms(own, values, 3, is_diverse=regularizer is not None, closed=closed)
    assert len(sure) == 3
    assert selection.criticisms.dtype == np.int64
    assert selection.criticisms.tolist() == sure


@kernelled
@weighted
@pytest.mark.parametrize("regularizer", ["logdet", None])
def test_criticisms_are_not_prototypes_if_source_is_target(name, is_weighted, regularizer):
    method, kernel = KERNELS[name]
    method = with_parameters(method, n_criticisms=3, regularizer=regularizer)
    _, rows, weights = instance(7)
    q = weights if is_weighted else np.ones(17)
    selection = pb.select(rows, k=5, weights=q, method=method)
    own = dense.matrix(kernel, rows, rows)
    values = dense.witness(own, own, q, selection.indices)
    closed = [*selection.indices.tolist(), *np.flatnonzero(q == 0).tolist()]
    sure = dense.criticisms(own, values, 3, is_diverse=regularizer is not None, closed=closed)
    assert selection.criticisms.tolist() == sure


def test_the_determinant_makes_criticisms_diverse():
    """Copies of the prototype have the largest witness, but one of them is enough."""
    places = np.repeat([0, 1, 2], [10, 9, 1])
    rows = np.array([[0.0], [5.0], [9.0]])[places]
    alone = pb.select(rows, k=1, method=MMDCritic(n_criticisms=3, regularizer=None, gamma=1.0))
    apart = pb.select(rows, k=1, method=MMDCritic(n_criticisms=3, gamma=1.0))
    assert places[alone.criticisms].tolist() == [0, 0, 0]
    assert places[apart.criticisms].tolist() == [0, 1, 2]


def test_dependent_rows_are_ordered_by_their_witness():
    """A linear kernel of one column has rank one: after one criticism none is independent."""
    rows = np.array([[1.0], [2.0], [5.0], [3.0], [0.0]])
    method = MMDCritic(kernel="linear", n_criticisms=9)
    selection = pb.select(rows, k=1, method=method)
    own = rows @ rows.T
    values = np.abs(dense.witness(own, own, np.ones(5), selection.indices))
    left = [i for i in range(5) if i not in selection.indices]
    first = max((i for i in left if rows[i] != 0), key=lambda i: values[i] + np.log(own[i, i]))
    rest = sorted((i for i in left if i != first), key=lambda i: -values[i])
    assert selection.criticisms.tolist() == [first, *rest]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_does_not_make_rows_independent(dtype):
    """Two columns have rank two; the other criticisms are ordered by their witness."""
    rows = brute.normal(40, 2).astype(dtype)
    method = MMDCritic(kernel="linear", n_criticisms=8)
    selection = pb.select(rows, k=1, method=method)
    own = rows.astype(float) @ rows.astype(float).T
    values = np.abs(dense.witness(own, own, np.ones(40), selection.indices))
    first = selection.criticisms[:2].tolist()
    left = [i for i in range(40) if i not in {*selection.indices.tolist(), *first}]
    rest = sorted(left, key=lambda i: -values[i])[:6]
    assert selection.criticisms.tolist() == [*first, *rest]


def test_criticisms_are_distinct_and_not_prototypes():
    rows = brute.normal(12)
    within = pb.select(rows, k=5, method=MMDCritic(n_criticisms=7))
    assert sorted([*within.criticisms, *within.indices]) == list(range(12))
    across = pb.select(rows, brute.normal(9, seed=1), k=5, method=MMDCritic(n_criticisms=9))
    assert sorted(across.criticisms) == list(range(9))


def test_fewer_criticisms_than_requested_are_reported():
    rows, other = brute.normal(12), brute.normal(9, seed=1)
    weights = np.r_[np.zeros(4), np.ones(5)]
    for sides, plain, n, most in [
        ((rows,), None, 8, 7),
        ((rows, other), None, 10, 9),
        ((rows, other), weights, 6, 5),
    ]:
        some = pb.select(*sides, k=5, weights=plain, method=MMDCritic(n_criticisms=n))
        assert len(some.criticisms) == most
        assert f"fewer than n_criticisms={n} criticisms: only {most} target rows" in some.status
        enough = pb.select(*sides, k=5, weights=plain, method=MMDCritic(n_criticisms=most))
        assert enough.criticisms.tolist() == some.criticisms.tolist()
        assert "fewer" not in enough.status


@pytest.mark.parametrize("regularizer", ["logdet", None])
@pytest.mark.parametrize("is_own", [False, True], ids=["across", "within"])
@pytest.mark.parametrize("n_criticisms", [0, 1, 4])
def test_evaluations_equal_the_plan(regularizer, is_own, n_criticisms):
    source, target, _ = instance(0)
    rows = (source,) if is_own else (source, target)
    method = MMDCritic(n_criticisms=n_criticisms, regularizer=regularizer)
    done = pb.select(*rows, k=3, method=method)
    planned = pb.plan(*rows, k=3, method=method)
    assert planned.evaluations == done.evaluations_by_phase["build"]
    assert planned.memory < 20_000_000
    assert done.evaluations_by_phase["assign"] == 3 * len(rows[-1])


def test_a_stopped_run_has_criticisms_of_its_prototypes():
    source, target, _ = instance(2)
    method, kernel = MMDCritic(gamma=0.4, n_criticisms=3), dense.rbf(0.4)
    selection = pb.select(
        source, target, k=8, method=method, callback=lambda step: step.evaluations > 0 and True
    )
    assert selection.k == 1
    own, across = dense.matrix(kernel, target, target), dense.matrix(kernel, target, source)
    values = dense.witness(own, across, np.ones(17), selection.indices)
    assert selection.criticisms.tolist() == dense.criticisms(own, values, 3, is_diverse=True)


def test_limits_stop_it_between_picks():
    source, target, _ = instance(2)
    whole = pb.select(source, target, k=8, method="mmd-critic")
    limit = whole.steps[3].evaluations - 1
    part = pb.select(source, target, k=8, method="mmd-critic", limits=pb.Limits(evaluations=limit))
    assert part.indices.tolist() == whole.indices[:4].tolist()
    assert "Stopped by the limit" in part.status
    with pytest.raises(pb.InvalidInput, match=r"evaluations=.* is less than the .*mmd-critic"):
        pb.select(source, target, k=8, method="mmd-critic", limits=pb.Limits(evaluations=50))


# -- constraints and parts -------------------------------------------------------------------------


def test_fixed_rows_come_first_and_count():
    source, target, _ = instance(4)
    kernel = dense.rbf(0.4)
    across, within = dense.matrix(kernel, target, source), dense.matrix(kernel, source, source)
    selection = pb.select(
        source,
        target,
        k=5,
        method=MMDCritic(gamma=0.4),
        constraints=pb.Constraints(fixed=[9, 2]),
    )
    chosen = [9, 2]
    while len(chosen) < 5:
        free = [i for i in range(11) if i not in chosen]
        values = [dense.mmd_value(across, within, np.ones(17), [*chosen, i]) for i in free]
        chosen.append(free[int(np.argmax(values))])
    assert selection.indices.tolist() == chosen


def test_quotas_hold():
    source, target, _ = instance(4)
    groups = np.arange(11) % 2
    selection = pb.select(
        source,
        target,
        k=6,
        method="mmd-critic",
        constraints=pb.Constraints(groups=groups, at_most={0: 2}),
    )
    assert np.bincount(groups[selection.indices]).tolist() == [2, 4]
    free = pb.select(source, target, k=6, method="mmd-critic")
    assert np.bincount(groups[free.indices])[0] > 2


def test_a_part_of_a_selection_has_no_criticisms():
    selection = pb.select(brute.normal(30), k=4, method=MMDCritic(n_criticisms=2))
    assert selection.at(4).criticisms is not None
    assert selection.at(2).criticisms is None


# -- another implementation ------------------------------------------------------------------------


def test_the_package_mmd_critic_agrees():
    found = json.loads((Path(__file__).parents[2] / "fixtures" / "mmd_critic.json").read_text())
    method = MMDCritic(
        gamma=found["gamma"], n_criticisms=len(found["criticisms"]), regularizer=None
    )
    selection = pb.select(np.array(found["rows"]), k=found["k"], method=method)
    assert selection.indices.tolist() == found["indices"]
    assert selection.criticisms.tolist() == found["criticisms"]


# -- stored results and errors ---------------------------------------------------------------------


def test_criticisms_are_shown_and_survive_json():
    selection = pb.select(brute.normal(30), k=3, method=MMDCritic(n_criticisms=10))
    shown = ", ".join(map(str, selection.criticisms[:8])) + ", …"
    assert f"criticisms   {shown}" in repr(selection)
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.criticisms.dtype == np.int64
    assert loaded.criticisms.tolist() == selection.criticisms.tolist()
    assert loaded.coefficients is None
    assert "coefficients" not in repr(loaded)
    document = json.loads(selection.to_json())
    del document["criticisms"], document["coefficients"]
    assert pb.Selection.from_json(json.dumps(document)).criticisms is None


def test_a_user_kernel_is_stored_by_name():
    def inner(a, b):
        return a @ b.T

    selection = pb.select(brute.normal(9), k=2, method=MMDCritic(kernel=inner))
    assert selection.parameters["kernel"] is inner
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.parameters["kernel"] == "inner"
    assert selection.indices.tolist() == (
        pb.select(brute.normal(9), k=2, method=MMDCritic(kernel="linear")).indices.tolist()
    )


def test_text_needs_a_user_kernel():
    message = ["tree", "free", "three", "house", "mouse", "hose", "moss", "trees", "houses"]
    with pytest.raises(pb.InvalidInput, match=r"not numbers.*kernel='rbf'.*f\(A, B\)"):
        pb.select(message, k=2, metric=brute.edits, method="mmd-critic")
    method = MMDCritic(kernel=brute.CountedBlocks(brute.likeness), n_criticisms=2)
    selection = pb.select(message, k=3, metric=brute.edits, method=method)
    matrix = dense.matrix(brute.likeness, message, message)
    sure = dense.mmd_greedy(matrix, matrix, np.ones(9), 3)
    assert selection.indices[: len(sure)].tolist() == sure
    assert selection.criticisms.shape == (2,)


@pytest.mark.parametrize("kernel", ["rbf", lambda a, b: a @ b.T])
@pytest.mark.parametrize("call", [pb.select, pb.plan])
def test_a_precomputed_matrix_has_no_rows(kernel, call):
    with pytest.raises(pb.InvalidInput, match=r"but metric='precomputed' has no rows"):
        call(np.ones((5, 5)), k=2, metric="precomputed", method=MMDCritic(kernel=kernel))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "gauss"}, r"kernel='gauss' is not known"),
        ({"gamma": 0}, r"gamma=0 is not allowed"),
        ({"gamma": -1.0}, r"gamma=-1.0 is not allowed"),
        ({"degree": 0}, r"degree=0 is not allowed"),
        ({"coef0": -1}, r"coef0=-1 is not allowed"),
        ({"n_criticisms": -1}, r"n_criticisms=-1 is not allowed.*>= 0"),
        ({"n_criticisms": 2.0}, r"n_criticisms=2.0 is not allowed"),
        ({"n_criticisms": True}, r"n_criticisms=True is not allowed"),
        ({"regularizer": "iterative"}, r"regularizer='iterative' is not known.*'logdet' or None"),
        ({"regularizer": ["logdet"]}, r"regularizer=\['logdet'\] is not known"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(pb.InvalidInput, match=message):
        MMDCritic(**parameters)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (brute.normal(9) * 1e200, r"source holds numbers .* kernel='\w+' overflows.*1e\+145"),
        (brute.normal(9) * 1e-200, r"no number exceeds .* kernel='\w+' underflows"),
        ((brute.normal(9) * 1e-30).astype(np.float32), r"kernel='\w+' overflows or underflows "),
    ],
    ids=["huge", "tiny", "tiny float32"],
)
def test_rows_whose_squares_are_out_of_range(kernel, rows, message):
    """The metric, here cosine, supports them."""
    method = MMDCritic(kernel=kernel)
    with pytest.raises(pb.InvalidInput, match=message):
        pb.select(rows, k=2, metric="cosine", method=method)
