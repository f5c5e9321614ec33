"""The locality gap of single swaps: when it is stated, and that it holds."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import PAM, Alternate, FasterPAM, FastPAM1, Refined

SWAPPED = [PAM(), FastPAM1(), FasterPAM(), Refined(), Refined(swaps="best"), PAM(n_swaps=3)]
swapped = pytest.mark.parametrize("method", SWAPPED, ids=brute.name_of)


def lines(n_source, n_target, seed, *, heavy):
    """Return rows on a line in clumps; with ``heavy`` tails, a few rows carry most of the cost."""
    random = np.random.default_rng(seed)
    source, target = (
        random.integers(0, 4, size=(n, 1)) * 10.0 + random.standard_t(1 if heavy else 9, (n, 1))
        for n in (n_source, n_target)
    )
    weights = random.pareto(1.0, size=n_target) + 1e-3
    return source, target, weights


@swapped
@pytest.mark.parametrize("heavy", [False, True])
def test_the_stated_factor_holds(method, heavy):
    for seed in range(6):
        source, target, weights = lines(9, 25, seed, heavy=heavy)
        found = pb.select(
            source, target, k=3, weights=weights, metric="manhattan", method=method, random_state=0
        )
        best = brute.best_cost(abs(target - source.T), weights, 3)
        assert 5 < found.guarantee.cost_factor < 5.00001
        assert found.guarantee.statement.startswith("cost <= 5.0001 cost*")
        assert found.cost <= found.guarantee.cost_factor * best


def stuck_instance(scale):
    """Return rows whose best pair costs 2 and whose pair (2, 3) costs 3, but no swap improves it.

    The rows are the points of a graph. Its metric is that of the maximum norm if each point has its
    distances to all points as coordinates (Frechet), so it can be passed as rows. ``scale`` brings
    the first edge closer to where a swap would help.
    """
    far = 50.0
    edges = np.array([[0, far, scale, far], [far, 0, 1, 2], [2, far, 3, 1]])
    d = np.full((7, 7), far)
    np.fill_diagonal(d, 0)
    d[4:, :4], d[:4, 4:] = edges, edges.T
    for middle in range(7):
        d = np.minimum(d, d[:, middle, None] + d[middle])
    return d[:4], d[4:], d[4:, :4]


@pytest.mark.parametrize("method", [PAM, FastPAM1, FasterPAM])
def test_swaps_that_are_stuck_at_a_poor_local_optimum_are_within_the_factor(method):
    source, target, d = stuck_instance(scale=1)
    found = pb.select(source, target, k=2, metric="chebyshev", method=method(init=[2, 3]))
    best = brute.best_cost(d, brute.even(3), 2)
    assert sorted(found.indices.tolist()) == [2, 3]
    assert found.cost == pytest.approx(1.5 * best)
    assert found.cost <= found.guarantee.cost_factor * best
    source, target, _ = stuck_instance(scale=1.01)
    better = pb.select(source, target, k=2, metric="chebyshev", method=method(init=[2, 3]))
    assert better.cost < found.cost, "a swap that lowers the cost by a little is made"


@swapped
def test_nothing_is_stated_without_the_triangle_inequality(method):
    rows = brute.normal(40)
    for metric in ("sqeuclidean", "cosine", pb.metric("minkowski", {"p": 0.5}), brute.skewed):
        found = pb.select(rows, k=4, metric=metric, method=method, random_state=0)
        assert found.guarantee is None or found.guarantee.cost_factor is None


@swapped
@pytest.mark.parametrize(
    "rule",
    [
        pb.Constraints(fixed=[3]),
        pb.Constraints(groups=np.arange(40) % 2, at_most={0: 2}),
    ],
    ids=["fixed", "quotas"],
)
def test_nothing_is_stated_under_constraints(method, rule):
    found = pb.select(brute.normal(40), k=4, method=method, constraints=rule, random_state=0)
    assert found.passes.gain_bound < 1e-6
    assert found.guarantee is None or found.guarantee.cost_factor is None


@pytest.mark.parametrize(
    "method",
    [
        PAM(init="random", max_iter=1),
        FastPAM1(init="random", max_iter=1),
        FasterPAM(max_iter=1),
        FasterPAM(max_iter=0),
        Refined(build="random", passes=1),
        Alternate(init="random"),
    ],
    ids=brute.name_of,
)
def test_nothing_is_stated_before_convergence(method):
    found = pb.select(brute.normal(150, 4), k=8, method=method, random_state=0)
    assert found.guarantee is None
    assert found.passes.gain_bound is None


@pytest.mark.parametrize("method", [PAM(init="random"), FasterPAM()], ids=brute.name_of)
def test_nothing_is_stated_after_a_limit(method):
    found = pb.select(
        brute.normal(150, 4), k=8, method=method, random_state=0, limits=pb.Limits(seconds=1e-9)
    )
    assert found.k == 8
    assert found.guarantee is None


def test_samples_prove_nothing_about_the_target():
    for name in ("onebatch", "clara"):
        found = pb.select(brute.normal(3000, 4), k=5, method=name, random_state=0)
        assert found.guarantee is None


def test_a_resumed_run_states_the_same(tmp_path):
    rows = brute.normal(60)
    first, again = (
        pb.select(rows, k=5, method="fasterpam", random_state=0, checkpoint=tmp_path / "search")
        for _ in range(2)
    )
    assert first.guarantee == again.guarantee
    assert first.passes == again.passes


def test_an_extended_selection_does_not_inherit_the_factor():
    few = pb.select(brute.normal(40), k=4, method="pam")
    more = few.extended(6)
    assert few.guarantee.cost_factor is not None
    assert more.guarantee.cost_factor is None
    assert more.guarantee.conditions == ("f* is the best f within the constraints",)


def test_classes_share_the_weakest_factor():
    rows, by = brute.normal(300), np.arange(300) % 2
    found = pb.select(rows, k={0: 3, 1: 120}, by=by, method="fasterpam", random_state=0)
    assert found.guarantee.statement == "cost <= 5.0002 cost*"
    (own,) = found.guarantee.conditions
    assert own.startswith("f, cost and cost* count prototypes of the target row's own class")
    assert found.guarantee.cost_factor is None, "the cost of a selection counts any prototype"


def test_it_is_saved(tmp_path):
    found = pb.select(brute.normal(40), k=4, method="pam")
    assert pb.Selection.from_json(found.to_json()).guarantee == found.guarantee


def test_a_cost_of_0_is_the_best():
    rows = np.repeat(brute.normal(3), 5, axis=0)
    found = pb.select(rows, k=3, method="fasterpam", random_state=0)
    assert found.cost == 0
    assert found.guarantee.cost_factor == 5
