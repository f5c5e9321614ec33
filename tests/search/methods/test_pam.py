"""PAM, FastPAM1 and FasterPAM as `select` runs them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import PAM, FasterPAM, FastPAM1

FAMILY = (PAM, FastPAM1, FasterPAM)
family = pytest.mark.parametrize("method", FAMILY)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def instance(seed, n_source=13, n_target=30, is_weighted=True):
    random = np.random.default_rng(seed)
    source, target = random.normal(size=(n_source, 3)), random.normal(size=(n_target, 3))
    weights = random.integers(0, 5, size=n_target).astype(float) if is_weighted else None
    return source, target, weights


def distances(source, target):
    return brute.distances(brute.DEFINITIONS["euclidean"], target, source)


def swaps(d, weights, members):
    """Return every set of prototypes after one swap, with its cost."""
    others = [i for i in range(d.shape[1]) if i not in members]
    for slot, arm in product(range(len(members)), others):
        after = [*members[:slot], arm, *members[slot + 1 :]]
        yield brute.cost(d, weights, after), after


def pam(d, weights, k, r=1):
    """Return the prototypes of PAM: greedy, then the best swap while it lowers the cost."""
    members = brute.greedy(d, weights, k, r)
    while True:
        cost, after = min(swaps(d, weights, members), default=(np.inf, members))
        if not cost < brute.cost(d, weights, members) * (1 - 1e-7):
            return members
        members = after


# -- against the definition ------------------------------------------------------------------------


@pytest.mark.parametrize("method", [PAM, FastPAM1])
@weighted
@pytest.mark.parametrize("k", [1, 2, 4, 7])
@pytest.mark.parametrize("seed", range(4))
def test_the_result_is_that_of_brute_force(method, is_weighted, k, seed):
    source, target, weights = instance(seed, is_weighted=is_weighted)
    found = pb.select(source, target, k=k, weights=weights, method=method(), random_state=0)
    d, q = distances(source, target), brute.even(30) if weights is None else weights
    assert sorted(found.indices.tolist()) == sorted(pam(d, q, k))
    assert found.cost == pytest.approx(brute.cost(d, q, found.indices))


@pytest.mark.parametrize("r", [2, 3, 7])
def test_build_with_several_rows_per_iteration(r):
    for seed in range(3):
        source, target, weights = instance(seed)
        found = pb.select(source, target, k=4, weights=weights, method=PAM(r=r, max_iter=0))
        d = distances(source, target)
        assert sorted(found.indices.tolist()) == sorted(brute.greedy(d, weights, 4, min(r, 4)))
        swapped = pb.select(source, target, k=4, weights=weights, method=PAM(r=r))
        assert sorted(swapped.indices.tolist()) == sorted(pam(d, weights, 4, min(r, 4)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["build", "random", "heuristic", "k-medoids++"])
def test_fastpam1_has_the_result_of_pam(dtype, init):
    for seed in range(4):
        random = np.random.default_rng(seed)
        source, target = random.normal(size=(90, 4)), random.normal(size=(200, 4))
        weights = random.exponential(size=200)
        slow, fast = (
            pb.select(
                source.astype(dtype),
                target.astype(dtype),
                k=7,
                weights=weights,
                method=method(init=init),
                random_state=seed,
            )
            for method in (PAM, FastPAM1)
        )
        assert slow.indices.tolist() == fast.indices.tolist()
        assert slow.costs.tobytes() == fast.costs.tobytes()
        assert slow.status == fast.status
        assert slow.lookups > 1.5 * fast.lookups, "pam goes over the target once for each slot"


@pytest.mark.parametrize("method", [*FAMILY, lambda: PAM(n_swaps=3)])
@weighted
@pytest.mark.parametrize("seed", range(4))
def test_no_swap_lowers_the_cost_of_the_result(method, is_weighted, seed):
    source, target, weights = instance(seed, 20, 50, is_weighted)
    found = pb.select(source, target, k=5, weights=weights, method=method(), random_state=seed)
    d, q = distances(source, target), brute.even(50) if weights is None else weights
    best, _ = min(swaps(d, q, found.indices.tolist()))
    assert best >= found.cost * (1 - 1e-6)


def test_several_swaps_per_pass_need_fewer_passes():
    rows = brute.normal(300, 5)
    one, several = (
        pb.select(rows, k=25, method=PAM(init="random", n_swaps=n), random_state=0) for n in (1, 5)
    )
    assert n_passes(several) < n_passes(one)
    assert several.cost < 1.02 * one.cost


def n_passes(selection):
    return int(selection.status.split(" pass")[0].rsplit(maxsplit=1)[1])


@family
def test_swaps_improve_on_the_start(method):
    rows = brute.normal(150, 4)
    start, end = (
        pb.select(rows, k=8, method=method(init="random", max_iter=n), random_state=0)
        for n in (0, 300)
    )
    assert end.cost < 0.97 * start.cost


def test_eager_swaps_are_about_as_good_as_the_best():
    costs = {name: [] for name in ("fasterpam", "fastpam1")}
    for seed in range(8):
        rows = brute.normal(200, 4, seed=seed)
        for name, found in costs.items():
            found.append(pb.select(rows, k=6, method=name, random_state=seed).cost)
    assert np.mean(costs["fasterpam"]) < 1.01 * np.mean(costs["fastpam1"])


# -- passes ----------------------------------------------------------------------------------------


@family
def test_max_iter_0_returns_the_start(method):
    found = pb.select(brute.normal(40), k=4, method=method(init=[9, 3, 5, 7], max_iter=0))
    assert sorted(found.indices.tolist()) == [3, 5, 7, 9]
    assert "0 swaps in 0 passes." in found.status


@family
def test_max_iter_is_reported_if_it_ends_the_passes(method):
    rows = brute.normal(150, 4)
    found = pb.select(rows, k=8, method=method(init="random", max_iter=1), random_state=0)
    assert "in 1 pass, ended by max_iter=1 before convergence." in found.status
    converged = pb.select(rows, k=8, method=method(init="random"), random_state=0)
    assert "ended by" not in converged.status
    assert converged.cost < found.cost
    enough = method(init="random", max_iter=n_passes(converged))
    assert pb.select(rows, k=8, method=enough, random_state=0).status == converged.status


@family
def test_every_dissimilarity_is_computed_once(method):
    source, target, _ = instance(0)
    found = pb.select(source, target, k=4, method=method(), random_state=0)
    assert found.evaluations == found.evaluations_by_phase["build"] == 13 * 30
    assert found.lookups > 13 * 30
    planned = pb.plan(source, target, k=4, method=method())
    assert planned.evaluations == planned.most_evaluations == 13 * 30
    assert 13 * 30 * 8 < planned.memory < 13 * 30 * 8 + 10_000


# -- guarantees ------------------------------------------------------------------------------------


@family
def test_a_greedy_build_has_a_guarantee(method):
    rows = brute.normal(40)
    built = pb.select(rows, k=4, method=method(init="build"))
    assert built.guarantee.statement == "cost <= 5.0001 cost* and f >= (1 - 1/e) f*"
    assert built.guarantee.method == method.name
    stopped = pb.select(rows, k=4, method=method(init="build", max_iter=0))
    assert stopped.guarantee.statement == "f >= (1 - 1/e) f*"
    by_swaps = pb.select(rows, k=4, method=method(init="random"), random_state=0)
    assert by_swaps.guarantee.statement == "cost <= 5.0001 cost*"


def test_a_build_of_several_rows_per_iteration_has_no_guarantee():
    found = pb.select(brute.normal(40), k=4, method=PAM(r=2, max_iter=0))
    assert found.guarantee is None


# -- limits ----------------------------------------------------------------------------------------


@family
def test_a_time_limit_ends_the_swaps_after_a_pass(method):
    rows = brute.normal(150, 4)
    limits = pb.Limits(seconds=1e-9)
    found = pb.select(rows, k=8, method=method(init="random"), limits=limits, random_state=0)
    assert found.k == 8
    assert "in 1 pass, ended by the limit of 1e-09 seconds before" in found.status


@family
def test_a_time_limit_ends_the_build(method):
    limits = pb.Limits(seconds=1e-9)
    found = pb.select(brute.normal(40), k=4, method=method(init="build"), limits=limits)
    assert found.k == 1
    assert "after 1 of the 4 prototypes" in found.status
    assert found.status.endswith("The limit of 1e-09 seconds left no room for swaps.")
    assert found.guarantee is None


@family
def test_the_evaluations_needed_are_allowed_or_refused(method):
    source, target, _ = instance(0)
    enough, short = pb.Limits(evaluations=13 * 30), pb.Limits(evaluations=13 * 30 - 1)
    free = pb.select(source, target, k=4, method=method(), random_state=0)
    found = pb.select(source, target, k=4, method=method(), limits=enough, random_state=0)
    assert found.indices.tolist() == free.indices.tolist()
    with pytest.raises(pb.InvalidInput, match="evaluations=389 is less than the 390"):
        pb.select(source, target, k=4, method=method(), limits=short)


@family
@pytest.mark.parametrize("init", ["build", "random"])
def test_insufficient_memory_is_refused(method, init):
    limits = pb.Limits(memory=40 * 40 * 8 - 1)
    with pytest.raises(
        pb.InvalidInput, match=r"method='\w+' needs 12,800 bytes .* Use method='lazyb"
    ):
        pb.select(brute.normal(40), k=4, method=method(init=init), limits=limits)
    enough = pb.Limits(memory=40 * 40 * 8)
    assert pb.select(brute.normal(40), k=4, method=method(init=init), limits=enough).k == 4


# -- constraints -----------------------------------------------------------------------------------


@family
@pytest.mark.parametrize("init", ["build", "random", "heuristic", "k-medoids++"])
def test_constraints_hold(method, init):
    rows, groups = brute.normal(60), np.arange(60) % 4
    rule = pb.Constraints(fixed=[17, 30], groups=groups, at_least={3: 2}, at_most={0: 1, 2: 1})
    found = pb.select(rows, k=6, method=method(init=init), constraints=rule, random_state=0)
    assert found.indices[:2].tolist() == [17, 30]
    assert found.evaluations == 60 * 60
    counts = np.bincount(groups[found.indices], minlength=4)
    assert counts[3] >= 2
    assert counts[0] <= 1
    assert counts[2] <= 1
    start = pb.select(
        rows, k=6, method=method(init=init, max_iter=0), constraints=rule, random_state=0
    )
    assert found.cost < start.cost


# -- parameters ------------------------------------------------------------------------------------


@family
@pytest.mark.parametrize("value", [-1, 1.5, None, True, "many"], ids=repr)
def test_invalid_max_iter(method, value):
    with pytest.raises(pb.InvalidInput, match=r"max_iter=.* is not allowed. Pass an integer"):
        method(max_iter=value)


@pytest.mark.parametrize("name", ["r", "n_swaps"])
@pytest.mark.parametrize("value", [0, -1, 1.5, None, True], ids=repr)
def test_invalid_numbers(name, value):
    with pytest.raises(pb.InvalidInput, match=rf"{name}=.* is not allowed"):
        PAM(**{name: value})
