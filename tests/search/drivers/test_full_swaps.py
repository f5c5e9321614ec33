from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest

import brute
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.constraints import Constraints
from protobandit.problem.posing import pose
from protobandit.search.drivers import full_swaps as module
from protobandit.search.drivers.full_swaps import best_passes, eager_passes
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.objectives.medoids import Medoids
from search.objectives.instances import table, uneven

N_TARGET, N_SOURCE = 40, 16

PASSES = {
    "eager": eager_passes,
    "best": best_passes,
    "pairwise": lambda medoids: best_passes(medoids, is_pairwise=True),
    "three": lambda medoids: best_passes(medoids, n_swaps=3),
}
every = pytest.mark.parametrize("passes", PASSES.values(), ids=PASSES)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "uneven"])


def weights_of(is_weighted, n=N_TARGET, seed=0):
    return uneven(n, seed) if is_weighted else np.ones(n)


def posed(d, constraints=None, k=1, **given):
    """Return the full table of a |target| x |source| matrix."""
    problem = pose(d, k=k, metric="precomputed", constraints=constraints, **given)
    oracle = Oracle(problem, n_jobs=1)
    return FullTable.of(
        oracle, np.arange(len(oracle.problem.source)), oracle.targets(slice(0, len(d)))
    )


class Witness(Medoids):
    """Medoids that check the true cost after each swap."""

    def __init__(self, d, members, weights, constraints=None):
        held = posed(d, constraints, k=len(members))
        super().__init__(held, np.array(members), weights, held.oracle.problem.feasibility)
        self.d = d
        self.swaps = []
        self.costs = [self.truth()]

    def truth(self):
        return brute.cost(self.d, self.weights, self.members)

    def exchange(self, slot, arm):
        assert arm not in self.members
        self.swaps.append((slot, arm))
        super().exchange(slot, arm)
        self.costs.append(self.truth())
        assert self.costs[-1] < self.costs[-2]
        assert self.cost == pytest.approx(self.costs[-1], rel=1e-9)
        assert sorted(np.flatnonzero(self.is_member)) == sorted(self.members)


def pairs_of(d, weights, members):
    """Return the cost after each swap of one of ``members`` for another arm."""
    others = [i for i in range(d.shape[1]) if i not in members]
    return {
        (slot, arm): brute.cost(d, weights, [*members[:slot], arm, *members[slot + 1 :]])
        for slot, arm in product(range(len(members)), others)
    }


def pam(d, weights, members):
    """Return the swaps of PAM: the best of all pairs, while that lowers the cost."""
    members, swaps = list(members), []
    while pairs := pairs_of(d, weights, members):
        best = min(pairs, key=pairs.get)
        if not pairs[best] < brute.cost(d, weights, members) * (1 - 1e-7):
            break
        members[best[0]] = best[1]
        swaps.append(best)
    return swaps


def require_local_minimum(d, weights, members):
    """Check that no single swap lowers the cost."""
    cost = brute.cost(d, weights, members)
    assert min(pairs_of(d, weights, members).values(), default=cost) >= cost * (1 - 1e-6)


def start_of(k, seed, n=N_SOURCE):
    return np.random.default_rng(seed).permutation(n)[:k].tolist()


# -- swaps -----------------------------------------------------------------------------------------


@every
@weighted
@pytest.mark.parametrize("k", [1, 2, 5, N_SOURCE - 1, N_SOURCE])
@pytest.mark.parametrize("seed", range(3))
def test_every_swap_lowers_the_cost_until_none_does(passes, is_weighted, k, seed):
    d, weights = table(N_TARGET, N_SOURCE, seed=seed), weights_of(is_weighted, seed=seed)
    medoids = Witness(d, start_of(k, seed), weights)
    done = list(passes(medoids))
    assert sum(each.n_swaps for each in done) == len(medoids.swaps)
    assert [each.is_last for each in done] == [False] * (len(done) - 1) + [True]
    assert len(set(medoids.members.tolist())) == k
    require_local_minimum(d, weights, medoids.members.tolist())
    (again,) = passes(medoids)
    assert (again.n_swaps, again.is_last) == (0, True)


@weighted
@pytest.mark.parametrize("is_pairwise", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_swaps_are_those_of_pam(is_weighted, is_pairwise, k, seed):
    d, weights = table(20, 11, seed=seed), weights_of(is_weighted, 20, seed)
    start = start_of(k, seed, 11)
    medoids = Witness(d, start, weights)
    done = list(best_passes(medoids, is_pairwise=is_pairwise))
    assert medoids.swaps == pam(d, weights, start)
    assert len(done) == len(medoids.swaps) + 1


@pytest.mark.parametrize("seed", range(10))
def test_pairs_and_slots_make_the_same_swaps_with_ties(seed):
    d = np.random.default_rng(seed).integers(0, 4, size=(30, 15)).astype(np.float64)
    runs = [Witness(d, start_of(4, seed, 15), np.ones(30)) for _ in range(2)]
    for medoids, is_pairwise in zip(runs, (False, True), strict=True):
        list(best_passes(medoids, is_pairwise=is_pairwise))
    assert runs[0].swaps == runs[1].swaps == pam(d, np.ones(30), start_of(4, seed, 15))


@weighted
@pytest.mark.parametrize("n_swaps", [2, 3, 10])
def test_several_swaps_per_pass_are_of_different_slots(is_weighted, n_swaps):
    made = []
    for seed in range(6):
        d, weights = table(60, 30, seed=seed), weights_of(is_weighted, 60, seed)
        medoids = Witness(d, start_of(6, seed, 30), weights)
        for each in best_passes(medoids, n_swaps=n_swaps):
            assert each.n_swaps <= n_swaps
            slots = [slot for slot, _ in medoids.swaps[len(medoids.swaps) - each.n_swaps :]]
            assert len(set(slots)) == len(slots)
            made.append(each.n_swaps)
        require_local_minimum(d, weights, medoids.members.tolist())
    assert max(made) > 1


def test_the_first_of_several_swaps_is_the_best():
    d, weights = table(60, 30), np.ones(60)
    start = start_of(6, 0, 30)
    medoids = Witness(d, start, weights)
    next(best_passes(medoids, n_swaps=3))
    assert medoids.swaps[0] == pam(d, weights, start)[0]


def test_eager_swaps_are_made_chunk_by_chunk(monkeypatch):
    """With chunks of one arm, each is computed with the current prototypes."""
    d = table(40, 25)
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 40)
    medoids = Witness(d, start_of(5, 0, 25), np.ones(40))
    first = next(eager_passes(medoids))
    assert first.n_swaps == len(medoids.swaps) > 1
    members, arms = start_of(5, 0, 25), []
    for arm in range(25):
        pairs = {p: c for p, c in pairs_of(d, np.ones(40), members).items() if p[1] == arm}
        best = min(pairs, key=pairs.get, default=None)
        if best and pairs[best] < brute.cost(d, np.ones(40), members) * (1 - 1e-7):
            members[best[0]] = arm
            arms.append(best)
    assert medoids.swaps == arms


@pytest.mark.parametrize("entries", [40, 400, 1 << 23])
def test_eager_swaps_end_when_all_arms_were_computed_since_the_last(monkeypatch, entries):
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", entries)
    for seed in range(10):
        d = table(40, 25, seed=seed)
        medoids = Witness(d, start_of(5, seed, 25), np.ones(40))
        list(eager_passes(medoids))
        require_local_minimum(d, np.ones(40), medoids.members.tolist())


@every
def test_prototypes_of_cost_zero_are_not_swapped(passes):
    medoids = Witness(np.zeros((7, 5)), [3, 1], np.ones(7))
    (only,) = passes(medoids)
    assert (only.n_swaps, only.is_last) == (0, True)


@every
def test_swaps_need_lookups_and_no_evaluations(passes):
    d = table(N_TARGET, N_SOURCE)
    medoids = Witness(d, start_of(4, 0), np.ones(N_TARGET))
    oracle = medoids.table.oracle
    with oracle.during("swap"):
        n_passes = len(list(passes(medoids)))
    assert oracle.evaluations == {"build": d.size}
    assert oracle.lookups["swap"] >= (n_passes - 1) * d.size


# -- constraints -----------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("seed", range(4))
def test_fixed_prototypes_are_never_swapped(passes, seed):
    d, start = table(N_TARGET, N_SOURCE, seed=seed), start_of(5, seed)
    medoids = Witness(d, start, np.ones(N_TARGET), Constraints(fixed=[start[1], start[3]]))
    list(passes(medoids))
    assert medoids.swaps
    assert (medoids.members[1], medoids.members[3]) == (start[1], start[3])
    free = {
        pair: cost
        for pair, cost in pairs_of(d, np.ones(N_TARGET), medoids.members.tolist()).items()
        if pair[0] not in (1, 3)
    }
    assert min(free.values()) >= medoids.truth() * (1 - 1e-6)


@every
@pytest.mark.parametrize("seed", range(4))
def test_quotas_hold_after_every_swap(passes, seed):
    groups = np.arange(N_SOURCE) % 3
    d = table(N_TARGET, N_SOURCE, seed=seed)

    class Counting(Witness):
        def exchange(self, slot, arm):
            super().exchange(slot, arm)
            counts = np.bincount(groups[self.members], minlength=3)
            assert counts[0] >= 2
            assert counts[1] <= 1

    rule = Constraints(groups=groups, at_least={0: 2}, at_most={1: 1})
    medoids = Counting(d, [0, 3, 1, 2, 5], np.ones(N_TARGET), rule)
    list(passes(medoids))
    assert medoids.swaps
    for pair, cost in pairs_of(d, np.ones(N_TARGET), medoids.members.tolist()).items():
        members = medoids.members.copy()
        members[pair[0]] = pair[1]
        counts = np.bincount(groups[members], minlength=3)
        if counts[0] >= 2 and counts[1] <= 1:
            assert cost >= medoids.truth() * (1 - 1e-6)


# -- threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eager", "best"])
def test_the_number_of_threads_does_not_change_the_swaps(name):
    rows = np.random.default_rng(0).normal(size=(2600, 6)).astype(np.float32)
    members = []
    for n_jobs in (1, 2, 3):
        oracle = Oracle(pose(rows, k=12), n_jobs=n_jobs)
        held = FullTable.of(
            oracle, np.arange(len(oracle.problem.source)), oracle.targets(slice(0, 2600))
        )
        start = np.array(start_of(12, 0, 2600))
        medoids = Medoids(held, start, np.ones(2600), oracle.problem.feasibility)
        if name == "eager":
            list(eager_passes(medoids))
        else:
            swaps = best_passes(medoids)
            for _ in range(3):
                next(swaps)
        members.append((medoids.members.tolist(), medoids.D.tobytes()))
    assert members[0] == members[1] == members[2]


# -- memory ----------------------------------------------------------------------------------------


def test_no_distance_is_copied():
    """In addition to the table there are a few numbers per row and per arm."""
    rows = np.random.default_rng(0).normal(size=(1500, 3)).astype(np.float32)
    oracle = Oracle(pose(rows, k=300), n_jobs=1)
    held = FullTable.of(
        oracle, np.arange(len(oracle.problem.source)), oracle.targets(slice(0, 1500))
    )

    def swap_and_order():
        medoids = Medoids(held, np.arange(300), np.ones(1500), oracle.problem.feasibility)
        list(eager_passes(medoids))
        random = np.random.default_rng(0)
        for _ in order_by_gain(held, medoids.members, np.ones(1500), random, is_whole=True):
            pass

    swap_and_order()  # compiles, which needs memory too
    tracemalloc.start()
    try:
        swap_and_order()
        assert tracemalloc.get_traced_memory()[1] < 0.2 * held.matrix.nbytes
    finally:
        tracemalloc.stop()
