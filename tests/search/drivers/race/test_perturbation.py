from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.oracle.tables import FullTable, RowBatch
from protobandit.problem.constraints import Constraints
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.race import perturbation
from protobandit.search.drivers.race.perturbation import _repair, _try_forced
from protobandit.search.drivers.ragged_swaps import least_change, refine_eagerly
from protobandit.search.objectives.finalists import Finalists
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 70, 40

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "uneven"])
sized = pytest.mark.parametrize("k", [2, 3, 6, 12])
typed = pytest.mark.parametrize("dtype", [np.float32, np.float64])
valued = pytest.mark.parametrize("values", ["any", "tied", "zero"])
ARRAYS = ("members", "is_member", "nearby", "near", "second", "D", "E")


def perturbed(held, swap_state, forced, feasibility=None):
    feasibility = feasibility or Feasibility.none(len(held.arms))
    return perturbation.perturb(held, swap_state, forced, feasibility, -least_change(swap_state))


class Witness(Finalists):
    """Finalists that check the true cost after each swap."""

    def __init__(self, held, swap_state, feasibility=None):
        feasibility = feasibility or Feasibility.none(len(held.arms))
        super().__init__(held, swap_state, feasibility, -least_change(swap_state))
        self.k = len(self.members)
        self.costs = [self.truth()]

    def truth(self):
        """Return the summed cost by its definition."""
        nearest = self.rows[self.members].astype(np.float64).min(axis=0)
        return float(nearest @ self.weights)

    def replace(self, slot, arm):
        assert not self.is_member[arm]
        change = super().replace(slot, arm)
        self.costs.append(self.truth())
        assert change == pytest.approx(self.costs[-1] - self.costs[-2], abs=1e-9)
        return change

    def copies(self):
        return {name: getattr(self, name).copy() for name in (*ARRAYS, "losses")}

    def require_true(self):
        """Check that every array equals one computed from scratch."""
        assert len(set(self.members.tolist())) == self.k
        assert np.flatnonzero(self.is_member).tolist() == sorted(self.members.tolist())
        fresh = SwapState(self.members, self.rows[self.members], self.weights)
        np.testing.assert_array_equal(self.nearby, fresh.matrix.T)
        np.testing.assert_array_equal(self.D, fresh.D)
        np.testing.assert_array_equal(self.E, fresh.E)
        all_rows = np.arange(len(self.D))
        np.testing.assert_array_equal(self.nearby[all_rows, self.near], self.D)
        np.testing.assert_array_equal(self.nearby[all_rows, self.second], self.E)
        assert (self.near != self.second).all()
        np.testing.assert_allclose(self.losses, fresh.losses, atol=1e-9)


def distances_of(values, *, seed=0, n_target=N_TARGET, n_source=N_SOURCE):
    if values == "any":
        return table(n_target, n_source, seed=seed)
    top = 9 if values == "tied" else 1
    return np.random.default_rng(seed).integers(0, top, size=(n_target, n_source)).astype(float)


def weights_of(is_weighted, *, seed=0, n=N_TARGET):
    return uneven(n, seed) if is_weighted else np.ones(n)


def held_of(d, weights, k, *, dtype=np.float64, seed=0):
    """Return a table, the swap state of k random arms, and the metric, which is never called."""
    oracle, metric = watched(d)
    matrix = np.ascontiguousarray(d.T.astype(dtype))
    members = np.random.default_rng(seed).permutation(d.shape[1])[:k]
    held = FullTable(oracle=oracle, arms=np.arange(d.shape[1]), matrix=matrix)
    return held, SwapState(members, matrix[members], weights), metric


def state_of(swap_state):
    names = "members", "matrix", "near", "second", "D", "E", "losses", "weights"
    return [getattr(swap_state, name).tobytes() for name in names]


# -- a trial ---------------------------------------------------------------------------------------


@typed
@weighted
@sized
@valued
@pytest.mark.parametrize("seed", range(3))
def test_a_trial_lowers_the_cost_or_changes_nothing(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, _ = held_of(d, weights, k, dtype=dtype, seed=seed)
    finalists = Witness(held, swap_state)
    _repair(finalists, np.ones(k, dtype=bool), most=N_SOURCE)
    n_kept = n_rejected = 0
    for arm in np.random.default_rng(seed).integers(N_SOURCE, size=60):
        if finalists.is_member[arm]:
            continue
        before, cost, n_put = finalists.copies(), finalists.truth(), len(finalists.costs)
        _try_forced(finalists, int(arm))
        assert len(finalists.costs) > n_put
        finalists.require_true()
        if finalists.members.tolist() != before["members"].tolist():
            n_kept += 1
            assert finalists.truth() < cost - 0.999 * finalists.least + 1e-12
            continue
        n_rejected += 1
        # Which of equally near prototypes is the nearest is not specified.
        for name in ARRAYS if values == "any" else set(ARRAYS) - {"near", "second"}:
            assert getattr(finalists, name).tobytes() == before[name].tobytes(), name
        np.testing.assert_allclose(finalists.losses, before["losses"], atol=1e-9)
    assert n_rejected > 0
    if values == "zero":
        assert n_kept == 0


def test_a_forced_arm_takes_the_slot_where_it_costs_least():
    d, weights = table(N_TARGET, N_SOURCE), uneven(N_TARGET)
    for seed in range(20):
        held, swap_state, _ = held_of(d, weights, 5, seed=seed)
        finalists = Witness(held, swap_state)
        members = swap_state.members.tolist()
        arm = int(np.setdiff1d(np.arange(N_SOURCE), members)[seed])
        _try_forced(finalists, arm)
        ways = [[*members[:slot], arm, *members[slot + 1 :]] for slot in range(5)]
        # Distances beyond four prototypes are ignored, and no slot's cost depends on them.
        least = min(brute.cost(d, weights, way) for way in ways) * weights.sum()
        assert finalists.costs[1] == pytest.approx(least, rel=1e-12)


# -- repair ----------------------------------------------------------------------------------------


@typed
@weighted
@sized
@valued
@pytest.mark.parametrize("seed", range(3))
def test_every_repairing_swap_lowers_the_cost(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, _ = held_of(d, weights, k, dtype=dtype, seed=seed)
    finalists = Witness(held, swap_state)
    change, undo = _repair(finalists, np.ones(k, dtype=bool), most=N_SOURCE)
    assert (np.diff(finalists.costs) < -0.999 * finalists.least).all()
    assert len(undo) == len(finalists.costs) - 1
    assert change == pytest.approx(finalists.costs[-1] - finalists.costs[0], abs=1e-9)
    assert len(undo) > 0 or values == "zero"
    finalists.require_true()
    for arm, slot in reversed(undo):
        finalists.replace(slot, arm)
    assert finalists.members.tolist() == swap_state.members.tolist()
    assert finalists.truth() == pytest.approx(finalists.costs[0], rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_after_repair_of_all_cells_no_swap_lowers_the_cost(monkeypatch, k):
    """With up to four prototypes no distance is ignored."""
    monkeypatch.setattr(perturbation, "_MOST_ROUNDS", 1000)
    for seed in range(3):
        d, weights = table(N_TARGET, N_SOURCE, seed=seed), uneven(N_TARGET, seed)
        held, swap_state, _ = held_of(d, weights, k, seed=seed)
        finalists = Witness(held, swap_state)
        _repair(finalists, np.ones(k, dtype=bool), most=1000)
        members = finalists.members.tolist()
        cost = brute.cost(d, weights, members)
        for slot in range(k):
            for arm in set(range(N_SOURCE)) - set(members):
                swapped = [*members[:slot], arm, *members[slot + 1 :]]
                assert brute.cost(d, weights, swapped) >= cost * (1 - 1e-6)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_repair_ends_after_the_given_number_of_swaps(most):
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 6)
    free = Witness(held, swap_state)
    assert len(_repair(free, np.ones(6, dtype=bool), most=N_SOURCE)[1]) > 3
    finalists = Witness(held, swap_state)
    assert len(_repair(finalists, np.ones(6, dtype=bool), most=most)[1]) == most
    assert finalists.costs == free.costs[: most + 1]


def test_only_affected_cells_are_repaired():
    """Two clusters far apart, both with a bad prototype."""
    rows = np.concatenate([np.arange(20.0), 1000 + np.arange(20.0)])
    d = abs(rows[:, None] - rows[None, :])
    oracle, _ = watched(d)
    held = FullTable(oracle=oracle, arms=np.arange(40), matrix=d)
    members = np.array([0, 39])
    swap_state = SwapState(members, d[members], np.ones(40))
    for cluster in (0, 1):
        finalists = Witness(held, swap_state)
        is_affected = np.arange(2) == cluster
        _repair(finalists, is_affected, most=40)
        assert finalists.members[1 - cluster] == members[1 - cluster]
        assert finalists.members[cluster] != members[cluster]
    assert not _repair(Witness(held, swap_state), np.zeros(2, dtype=bool), most=40)[1]


# -- perturbation ----------------------------------------------------------------------------------


@typed
@weighted
@sized
@valued
@pytest.mark.parametrize("seed", range(3))
def test_perturbation_never_raises_the_cost(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, metric = held_of(d, weights, k, dtype=dtype, seed=seed)
    before = state_of(swap_state)
    forced = np.random.default_rng(seed).integers(N_SOURCE, size=50)
    result = perturbed(held, swap_state, forced)
    assert state_of(swap_state) == before
    assert len(set(result.members.tolist())) == k
    np.testing.assert_array_equal(result.matrix, held.matrix[result.members])
    exact = held.matrix.T.astype(np.float64)
    cost = brute.cost(exact, weights, result.members)
    assert result.cost == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert cost <= brute.cost(exact, weights, swap_state.members)
    if values == "zero":
        assert result is swap_state
    assert metric.pairs.total() == 0


def test_perturbation_improves_on_a_local_minimum():
    n_better = 0
    for seed in range(6):
        rows = brute.normal(150, 2, seed=seed)
        d = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))
        held, swap_state, _ = held_of(d, np.ones(150), 10, seed=seed)
        batch = RowBatch(0, held.oracle.targets(slice(0, 150)), np.ones(150))
        refine_eagerly(swap_state, held.ragged(batch), passes=1000)
        assert perturbed(held, swap_state, np.zeros(0, dtype=np.int64)) is swap_state
        result = perturbed(held, swap_state, np.random.default_rng(seed).integers(150, size=100))
        n_better += result.cost < swap_state.cost * (1 - 1e-3)
    assert n_better >= 3


def test_the_result_is_deterministic_and_more_trials_are_not_worse():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE, seed=3), np.ones(N_TARGET), 8)
    forced = np.random.default_rng(0).integers(N_SOURCE, size=300)
    results = [perturbed(held, swap_state, forced[:n]) for n in (0, 30, 30, 300)]
    costs = [result.cost for result in results]
    assert costs[0] >= costs[1] == costs[2] >= costs[3]
    assert results[1].members.tolist() == results[2].members.tolist()


# -- constraints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_fixed_prototypes_stay_and_groups_keep_their_number(seed):
    d, k = table(N_TARGET, N_SOURCE, seed=seed), 8
    held, swap_state, _ = held_of(d, np.ones(N_TARGET), k, seed=seed)
    groups = np.random.default_rng(seed).integers(3, size=N_SOURCE)
    fixed = swap_state.members[[5, 2]]
    feasibility = Constraints(fixed=fixed, groups=groups, at_most=k).feasibility(N_SOURCE)
    forced = np.random.default_rng(seed).integers(N_SOURCE, size=200)
    result = perturbed(held, swap_state, forced, feasibility)
    assert result.cost < swap_state.cost
    assert result.members[[5, 2]].tolist() == fixed.tolist()
    assert groups[result.members].tolist() == groups[swap_state.members].tolist()


def test_fixed_prototypes_are_not_swapped():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 3)
    feasibility = Constraints(fixed=swap_state.members).feasibility(N_SOURCE)
    assert perturbed(held, swap_state, np.arange(N_SOURCE), feasibility) is swap_state


# -- edge cases ------------------------------------------------------------------------------------


def test_a_single_prototype_is_not_perturbed():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 1)
    assert perturbed(held, swap_state, np.arange(N_SOURCE)) is swap_state


def test_without_other_arms_nothing_is_tried():
    d = table(N_TARGET, 7)
    held, swap_state, _ = held_of(d, np.ones(N_TARGET), 7)
    assert perturbed(held, swap_state, np.arange(7)) is swap_state


@pytest.mark.parametrize("k", [2, 6, 7, 9])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_rounding_makes_no_swap_among_equal_rows(k, scale):
    """Six distinct rows: with one prototype for each the cost is 0."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        kinds = scale * random.normal(size=(6, 3))
        rows = kinds[np.concatenate([np.arange(6), random.integers(0, 6, size=34)])]
        d = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))
        oracle, _ = watched(d)
        held = FullTable(oracle=oracle, arms=np.arange(40), matrix=d)
        weights = random.random(40)
        swap_state = SwapState(np.arange(k), d[np.arange(k)], weights)
        result = perturbed(held, swap_state, np.arange(40))
        if k >= 6:
            assert result is swap_state
            finalists = Witness(held, swap_state)
            for arm in range(k, 40):
                _try_forced(finalists, arm)
            assert finalists.members.tolist() == list(range(k))
        else:
            assert result.cost <= swap_state.cost


def test_rounding_makes_no_swap_if_removal_costs_are_huge():
    """The distance of two clusters is a trillion times their width."""
    random = np.random.default_rng(0)
    rows = np.concatenate([random.random(30), 1e12 + np.round(random.random(30))])
    d = abs(rows[:, None] - rows[None, :])
    weights = random.random(60)
    oracle, _ = watched(d)
    held = FullTable(oracle=oracle, arms=np.arange(60), matrix=d)
    swap_state = SwapState(np.array([0, 31]), d[[0, 31]], weights)
    finalists = Witness(held, swap_state)
    _repair(finalists, np.ones(2, dtype=bool), most=60)
    for arm in range(60):
        if not finalists.is_member[arm]:
            cost, members = brute.cost(d, weights, finalists.members), finalists.members.tolist()
            _try_forced(finalists, arm)
            if finalists.members.tolist() != members:
                assert brute.cost(d, weights, finalists.members) < cost
