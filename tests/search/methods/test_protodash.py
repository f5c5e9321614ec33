"""ProtoDash against its definition: gradients and exact coefficients on whole matrices."""

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
from protobandit.methods import ProtoDash

lawful = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 10_000)

KERNELS = {
    "rbf": (ProtoDash(gamma=0.4), dense.rbf(0.4)),
    "linear": (ProtoDash(kernel="linear"), dense.linear),
    "polynomial": (
        ProtoDash(kernel="polynomial", gamma=0.5, degree=2, coef0=2.0),
        dense.polynomial(0.5, 2, 2.0),
    ),
    "own": (ProtoDash(kernel=brute.CountedBlocks(brute.likeness)), brute.likeness),
}
kernelled = pytest.mark.parametrize("name", KERNELS)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def instance(seed, n_source=11, n_target=17):
    random = np.random.default_rng(seed)
    weights = random.integers(0, 4, size=n_target)
    weights[:2] = 3
    return random.normal(size=(n_source, 3)), random.normal(size=(n_target, 3)), weights


def matrices(kernel, source, target, weights):
    """Return k(source, source) and the mean similarity of each source row to the target."""
    across = dense.matrix(kernel, target, source)
    return dense.matrix(kernel, source, source), np.average(across, axis=0, weights=weights)


@kernelled
@weighted
@pytest.mark.parametrize("seed", range(6))
def test_picks_and_coefficients_are_those_of_the_definition(name, is_weighted, seed):
    method, kernel = KERNELS[name]
    source, target, weights = instance(seed)
    q = weights if is_weighted else np.ones(17)
    within, means = matrices(kernel, source, target, q)
    selection = pb.select(source, target, k=6, weights=q, method=method)
    sure, _ = dense.protodash(within, means, 6)
    assert selection.indices[: len(sure)].tolist() == sure
    assert len(sure) >= 3  # a linear kernel of three columns has rank 3
    chosen = selection.indices
    own = within[np.ix_(chosen, chosen)]
    best = dense.best_coefficients(own, means[chosen])
    assert selection.coefficients.dtype == np.float64
    assert (selection.coefficients >= 0).all()
    found = dense.value(own, means[chosen], selection.coefficients)
    assert found == pytest.approx(dense.value(own, means[chosen], best), rel=1e-9)
    if name != "linear":
        np.testing.assert_allclose(selection.coefficients, best, atol=1e-8)
    assert selection.criticisms is None
    assert selection.guarantee is None


@kernelled
def test_the_gain_of_a_step_is_the_derivative(name):
    method, kernel = KERNELS[name]
    source, target, weights = instance(9)
    within, means = matrices(kernel, source, target, weights)
    selection = pb.select(source, target, k=3, weights=weights, method=method)
    chosen = selection.indices
    for m in (1, 2):
        some = chosen[:m]
        w = dense.best_coefficients(within[np.ix_(some, some)], means[some])
        slope = means - within[:, some] @ w
        assert selection.steps[m].gain == pytest.approx(slope[chosen[m]], rel=1e-7, abs=1e-10)


def test_every_prefix_has_a_separate_fit():
    source, target, _ = instance(1)
    whole = pb.select(source, target, k=6, method=ProtoDash(gamma=0.4))
    within, means = matrices(dense.rbf(0.4), source, target, np.ones(17))
    for m in range(1, 6):
        seen = []
        part = pb.select(
            source,
            target,
            k=6,
            method=ProtoDash(gamma=0.4),
            callback=lambda step, seen=seen, m=m: seen.append(step) or len(seen) == m,
        )
        some = whole.indices[:m]
        assert part.indices.tolist() == some.tolist()
        best = dense.best_coefficients(within[np.ix_(some, some)], means[some])
        np.testing.assert_allclose(part.coefficients, best, atol=1e-9)


def test_all_rows_of_the_target_reproduce_its_weights():
    rows, weights = brute.normal(9), np.arange(1.0, 10)
    selection = pb.select(rows, k=9, weights=weights, method=ProtoDash(gamma=1.0))
    np.testing.assert_allclose(
        selection.coefficients, weights[selection.indices] / weights.sum(), rtol=1e-8
    )


def test_rows_that_do_not_increase_f_have_the_coefficient_0():
    """Copies of the only target row: one represents it, the others are added to reach k."""
    rows = np.ones((5, 2))
    selection = pb.select(rows, k=5, method=ProtoDash(gamma=1.0))
    assert sorted(selection.indices.tolist()) == [0, 1, 2, 3, 4]
    assert selection.coefficients.tolist() == [1, 0, 0, 0, 0]
    away = pb.select(-np.eye(3), np.eye(3), k=3, method=ProtoDash(kernel="linear"))
    assert away.coefficients.tolist() == [0, 0, 0]
    assert len(set(away.indices.tolist())) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearly_equal_rows_keep_coefficients_in_bounds(dtype):
    """A singular matrix up to rounding: coefficients neither explode nor turn negative."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(6, 30))
    rows = (np.repeat(centres, 20, axis=0) + 1e-4 * random.normal(size=(120, 30))).astype(dtype)
    selection = pb.select(rows, k=60, method=ProtoDash(gamma=1e-3))
    assert len(set(selection.indices.tolist())) == 60
    assert np.isfinite(selection.coefficients).all()
    assert (selection.coefficients >= 0).all()
    assert selection.coefficients.sum() == pytest.approx(1, rel=1e-3)
    within, means = matrices(dense.rbf(1e-3), rows[selection.indices], rows, None)
    found = dense.value(within, means, selection.coefficients)
    target = np.mean(dense.matrix(dense.rbf(1e-3), rows, rows))
    assert found == pytest.approx(target / 2, rel=1e-5)  # the mixture is the target itself


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_sparse_rows_select_as_dense_ones(make, name):
    source, target, weights = instance(3)
    source, target = np.where(source > 0, source, 0), np.where(target > 0, target, 0)
    method = KERNELS[name][0]
    plain = pb.select(source, target, k=4, weights=weights, method=method)
    rare = pb.select(make(source), make(target), k=4, weights=weights, method=method)
    assert rare.indices.tolist() == plain.indices.tolist()
    np.testing.assert_allclose(rare.coefficients, plain.coefficients, atol=1e-9)


@lawful
@given(seed=seeds, k=st.integers(1, 6))
def test_the_order_of_rows_does_not_matter(seed, k):
    source, target, weights = instance(seed)
    random = np.random.default_rng(seed + 1)
    rows, columns = random.permutation(11), random.permutation(17)
    plain = pb.select(source, target, k=k, weights=weights, method="protodash")
    moved = pb.select(
        source[rows], target[columns], k=k, weights=weights[columns], method="protodash"
    )
    assert rows[moved.indices].tolist() == plain.indices.tolist()
    np.testing.assert_allclose(moved.coefficients, plain.coefficients, atol=1e-9)


@lawful
@given(seed=seeds, k=st.integers(1, 6))
def test_weight_two_is_a_row_twice(seed, k):
    source, target, weights = instance(seed)
    by_weight = pb.select(source, target, k=k, weights=weights, method="protodash")
    repeated = pb.select(source, np.repeat(target, weights, axis=0), k=k, method="protodash")
    assert repeated.indices.tolist() == by_weight.indices.tolist()
    np.testing.assert_allclose(repeated.coefficients, by_weight.coefficients, atol=1e-9)


def test_any_number_of_threads_gives_the_same_bits():
    random = np.random.default_rng(0)
    source = random.normal(size=(900, 40)).astype(np.float32)
    target = random.normal(size=(5000, 40)).astype(np.float32)
    one, *others = (
        pb.select(source, target, k=8, method="protodash", n_jobs=n, random_state=n)
        for n in (1, 2, 5)
    )
    for other in others:
        assert other.indices.tolist() == one.indices.tolist()
        assert other.coefficients.tobytes() == one.coefficients.tobytes()
        assert other.evaluations == one.evaluations


def test_extending_equals_a_single_run():
    source, target, weights = instance(5)
    begun = pb.select(source, target, k=3, weights=weights, method="protodash")
    whole = pb.select(source, target, k=7, weights=weights, method="protodash")
    extended = begun.extended(7)
    assert extended.method == "protodash"
    assert extended.indices.tolist() == whole.indices.tolist()
    np.testing.assert_allclose(extended.coefficients, whole.coefficients, atol=1e-9)
    assert whole.at(3).coefficients is None
    assert whole.at(7).coefficients is not None


def test_aix360_agrees():
    found = json.loads((Path(__file__).parents[2] / "fixtures" / "protodash.json").read_text())
    source, target = np.array(found["source"]), np.array(found["target"])
    selection = pb.select(source, target, k=found["k"], method=ProtoDash(gamma=found["gamma"]))
    assert selection.indices.tolist() == found["indices"]
    np.testing.assert_allclose(selection.coefficients, found["coefficients"], rtol=1e-5)


def test_evaluations_equal_the_plan():
    source, target, _ = instance(0)
    done, planned = (call(source, target, k=3, method="protodash") for call in (pb.select, pb.plan))
    assert planned.evaluations == done.evaluations_by_phase["build"] == 11 * 17 * 2 + 3 * 11
    assert planned.memory > 3 * 11 * 8
    assert done.evaluations_by_phase["assign"] == 3 * 17


def test_insufficient_memory_is_refused_before_the_search():
    kernel = brute.CountedBlocks(brute.likeness)
    with pytest.raises(pb.InvalidInput, match=r"protodash.*needs .*more than Limits"):
        pb.select(
            brute.normal(50), k=20, method=ProtoDash(kernel=kernel), limits=pb.Limits(memory=4000)
        )
    assert kernel.calls == 0
    assert pb.select(brute.normal(50), k=10, method="protodash", limits=pb.Limits(memory=4000)).k


def test_limits_stop_it_between_picks():
    source, target, _ = instance(2)
    whole = pb.select(source, target, k=8, method="protodash")
    limit = whole.steps[3].evaluations - 1
    part = pb.select(source, target, k=8, method="protodash", limits=pb.Limits(evaluations=limit))
    assert part.indices.tolist() == whole.indices[:4].tolist()
    assert part.coefficients.shape == (4,)
    assert "Stopped by the limit" in part.status


def test_coefficients_are_shown_and_survive_json():
    selection = pb.select(brute.normal(30), k=3, method="protodash")
    shown = ", ".join(f"{value:.3g}" for value in selection.coefficients)
    assert f"coefficients {shown}" in repr(selection)
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.coefficients.tobytes() == selection.coefficients.tobytes()
    assert loaded.criticisms is None
    document = json.loads(selection.to_json())
    document["coefficients"] = document["coefficients"][:2]
    with pytest.raises(pb.InvalidInput, match="not a whole protobandit selection"):
        pb.Selection.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": 3}, r"kernel=3 is not known"),
        ({"gamma": float("inf")}, r"gamma=inf is not allowed"),
        ({"degree": 1.5}, r"degree=1.5 is not allowed"),
        ({"coef0": "1"}, r"coef0='1' is not allowed"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(pb.InvalidInput, match=message):
        ProtoDash(**parameters)


def test_an_invalid_kernel_is_refused():
    """The similarity of a row to itself is negative, which is not an inner product."""
    method = ProtoDash(kernel=lambda a, b: abs(a[:, :1] - b[:, :1].T))
    with pytest.raises(pb.InvalidInput, match=r"kernel='<lambda>' .* not positive semidefinite"):
        pb.select(brute.normal(9), k=2, method=method)


def test_text_and_matrices_need_a_function():
    with pytest.raises(pb.InvalidInput, match=r"kernel='rbf' does not support"):
        pb.select(["a", "bb"], k=1, metric=brute.edits, method="protodash")
    with pytest.raises(pb.InvalidInput, match="precomputed"):
        pb.plan(np.ones((5, 5)), k=2, metric="precomputed", method="protodash")
    message = ["tree", "free", "house", "mouse"]
    method = ProtoDash(kernel=brute.CountedBlocks(brute.likeness))
    assert pb.select(message, k=2, metric=brute.edits, method=method).coefficients.shape == (2,)
