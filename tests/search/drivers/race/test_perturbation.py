from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.oracle.tables import FullTable, RowBatch
from protobandit.problem.constraints import Constraints
from protobandit.problem.feasibility import Feasibility
from protobandit.search.drivers.race import perturbation as shake_file
from protobandit.search.drivers.race.perturbation import _mend, _try
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


def shake(held, swap_state, tries, feasibility=None):
    return shake_file.perturb(
        held, swap_state, tries, feasibility or Feasibility.none(len(held.arms))
    )


class Witness(Finalists):
    """Finalists who know, after each arm is put in, what that has done to the true cost."""

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
        """Demand that every array is that of the prototypes, computed from scratch."""
        assert len(set(self.members.tolist())) == self.k
        assert np.flatnonzero(self.is_member).tolist() == sorted(self.members.tolist())
        fresh = SwapState(self.members, self.rows[self.members], self.weights)
        np.testing.assert_array_equal(self.nearby, fresh.matrix.T)
        np.testing.assert_array_equal(self.D, fresh.D)
        np.testing.assert_array_equal(self.E, fresh.E)
        everywhere = np.arange(len(self.D))
        np.testing.assert_array_equal(self.nearby[everywhere, self.near], self.D)
        np.testing.assert_array_equal(self.nearby[everywhere, self.second], self.E)
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
    """Return a table of distances, the standing of k arms drawn, and the metric, never called."""
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
def test_a_trial_lowers_the_cost_or_leaves_no_trace(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, _ = held_of(d, weights, k, dtype=dtype, seed=seed)
    ground = Witness(held, swap_state)
    _mend(ground, np.ones(k, dtype=bool), most=N_SOURCE)
    n_kept = n_rejected = 0
    for arm in np.random.default_rng(seed).integers(N_SOURCE, size=60):
        if ground.is_member[arm]:
            continue
        before, cost, n_put = ground.copies(), ground.truth(), len(ground.costs)
        _try(ground, int(arm))
        assert len(ground.costs) > n_put
        ground.require_true()
        if ground.members.tolist() != before["members"].tolist():
            n_kept += 1
            assert ground.truth() < cost - 0.999 * ground.least + 1e-12
            continue
        n_rejected += 1
        # Which of equally near prototypes is called the nearest is open.
        for name in ARRAYS if values == "any" else set(ARRAYS) - {"near", "second"}:
            assert getattr(ground, name).tobytes() == before[name].tobytes(), name
        np.testing.assert_allclose(ground.losses, before["losses"], atol=1e-9)
    assert n_rejected > 0
    if values == "zero":
        assert n_kept == 0


def test_an_arm_takes_the_slot_where_it_costs_least():
    d, weights = table(N_TARGET, N_SOURCE), uneven(N_TARGET)
    for seed in range(20):
        held, swap_state, _ = held_of(d, weights, 5, seed=seed)
        ground = Witness(held, swap_state)
        members = swap_state.members.tolist()
        arm = int(np.setdiff1d(np.arange(N_SOURCE), members)[seed])
        _try(ground, arm)
        ways = [[*members[:slot], arm, *members[slot + 1 :]] for slot in range(5)]
        # Out of reach is what four prototypes are nearer to: no slot's cost depends on it.
        least = min(brute.cost(d, weights, way) for way in ways) * weights.sum()
        assert ground.costs[1] == pytest.approx(least, rel=1e-12)


# -- mending ---------------------------------------------------------------------------------------


@typed
@weighted
@sized
@valued
@pytest.mark.parametrize("seed", range(3))
def test_every_swap_that_mends_lowers_the_cost(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, _ = held_of(d, weights, k, dtype=dtype, seed=seed)
    ground = Witness(held, swap_state)
    change, past = _mend(ground, np.ones(k, dtype=bool), most=N_SOURCE)
    assert (np.diff(ground.costs) < -0.999 * ground.least).all()
    assert len(past) == len(ground.costs) - 1
    assert change == pytest.approx(ground.costs[-1] - ground.costs[0], abs=1e-9)
    assert len(past) > 0 or values == "zero"
    ground.require_true()
    for arm, slot in reversed(past):
        ground.replace(slot, arm)
    assert ground.members.tolist() == swap_state.members.tolist()
    assert ground.truth() == pytest.approx(ground.costs[0], rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_after_mending_everywhere_no_swap_helps(monkeypatch, k):
    """Where nothing is out of reach."""
    monkeypatch.setattr(shake_file, "_MOST_ROUNDS", 1000)
    for seed in range(3):
        d, weights = table(N_TARGET, N_SOURCE, seed=seed), uneven(N_TARGET, seed)
        held, swap_state, _ = held_of(d, weights, k, seed=seed)
        ground = Witness(held, swap_state)
        _mend(ground, np.ones(k, dtype=bool), most=1000)
        members = ground.members.tolist()
        cost = brute.cost(d, weights, members)
        for slot in range(k):
            for arm in set(range(N_SOURCE)) - set(members):
                swapped = [*members[:slot], arm, *members[slot + 1 :]]
                assert brute.cost(d, weights, swapped) >= cost * (1 - 1e-6)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_mending_ends_after_so_many_swaps(most):
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 6)
    free = Witness(held, swap_state)
    assert len(_mend(free, np.ones(6, dtype=bool), most=N_SOURCE)[1]) > 3
    ground = Witness(held, swap_state)
    assert len(_mend(ground, np.ones(6, dtype=bool), most=most)[1]) == most
    assert ground.costs == free.costs[: most + 1]


def test_cells_that_are_not_touched_are_not_mended():
    """Two lumps far apart, either badly served."""
    rows = np.concatenate([np.arange(20.0), 1000 + np.arange(20.0)])
    d = abs(rows[:, None] - rows[None, :])
    oracle, _ = watched(d)
    held = FullTable(oracle=oracle, arms=np.arange(40), matrix=d)
    members = np.array([0, 39])
    swap_state = SwapState(members, d[members], np.ones(40))
    for lump in (0, 1):
        ground = Witness(held, swap_state)
        is_touched = np.arange(2) == lump
        _mend(ground, is_touched, most=40)
        assert ground.members[1 - lump] == members[1 - lump]
        assert ground.members[lump] != members[lump]
    assert not _mend(Witness(held, swap_state), np.zeros(2, dtype=bool), most=40)[1]


# -- shaking ---------------------------------------------------------------------------------------


@typed
@weighted
@sized
@valued
@pytest.mark.parametrize("seed", range(3))
def test_shaking_never_raises_the_cost(dtype, is_weighted, k, values, seed):
    d, weights = distances_of(values, seed=seed), weights_of(is_weighted, seed=seed)
    held, swap_state, metric = held_of(d, weights, k, dtype=dtype, seed=seed)
    before = state_of(swap_state)
    tries = np.random.default_rng(seed).integers(N_SOURCE, size=50)
    outcome = shake(held, swap_state, tries)
    assert state_of(swap_state) == before
    assert len(set(outcome.members.tolist())) == k
    np.testing.assert_array_equal(outcome.matrix, held.matrix[outcome.members])
    exact = held.matrix.T.astype(np.float64)
    cost = brute.cost(exact, weights, outcome.members)
    assert outcome.cost == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert cost <= brute.cost(exact, weights, swap_state.members)
    if values == "zero":
        assert outcome is swap_state
    assert metric.pairs.total() == 0


def test_shaking_leads_out_of_where_no_swap_helps():
    n_better = 0
    for seed in range(6):
        rows = brute.normal(150, 2, seed=seed)
        d = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))
        held, swap_state, _ = held_of(d, np.ones(150), 10, seed=seed)
        batch = RowBatch(0, held.oracle.targets(slice(0, 150)), np.ones(150))
        refine_eagerly(swap_state, held.ragged(batch), passes=1000)
        assert shake(held, swap_state, np.zeros(0, dtype=np.int64)) is swap_state
        outcome = shake(held, swap_state, np.random.default_rng(seed).integers(150, size=100))
        n_better += outcome.cost < swap_state.cost * (1 - 1e-3)
    assert n_better >= 3


def test_the_same_tries_give_the_same_outcome_and_more_are_no_worse():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE, seed=3), np.ones(N_TARGET), 8)
    tries = np.random.default_rng(0).integers(N_SOURCE, size=300)
    outcomes = [shake(held, swap_state, tries[:n]) for n in (0, 30, 30, 300)]
    costs = [outcome.cost for outcome in outcomes]
    assert costs[0] >= costs[1] == costs[2] >= costs[3]
    assert outcomes[1].members.tolist() == outcomes[2].members.tolist()


# -- rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_fixed_prototypes_stay_and_groups_keep_their_number(seed):
    d, k = table(N_TARGET, N_SOURCE, seed=seed), 8
    held, swap_state, _ = held_of(d, np.ones(N_TARGET), k, seed=seed)
    groups = np.random.default_rng(seed).integers(3, size=N_SOURCE)
    fixed = swap_state.members[[5, 2]]
    feasibility = Constraints(fixed=fixed, groups=groups, at_most=k).feasibility(N_SOURCE)
    tries = np.random.default_rng(seed).integers(N_SOURCE, size=200)
    outcome = shake(held, swap_state, tries, feasibility)
    assert outcome.cost < swap_state.cost
    assert outcome.members[[5, 2]].tolist() == fixed.tolist()
    assert groups[outcome.members].tolist() == groups[swap_state.members].tolist()


def test_where_all_prototypes_are_fixed_nothing_is_tried():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 3)
    feasibility = Constraints(fixed=swap_state.members).feasibility(N_SOURCE)
    assert shake(held, swap_state, np.arange(N_SOURCE), feasibility) is swap_state


# -- edges -----------------------------------------------------------------------------------------


def test_a_lone_prototype_is_left_alone():
    held, swap_state, _ = held_of(table(N_TARGET, N_SOURCE), np.ones(N_TARGET), 1)
    assert shake(held, swap_state, np.arange(N_SOURCE)) is swap_state


def test_where_all_are_prototypes_nothing_is_tried():
    d = table(N_TARGET, 7)
    held, swap_state, _ = held_of(d, np.ones(N_TARGET), 7)
    assert shake(held, swap_state, np.arange(7)) is swap_state


@pytest.mark.parametrize("k", [2, 6, 7, 9])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_where_twins_abound_rounding_decides_nothing(k, scale):
    """Six kinds of rows: one prototype of each serves all at a cost of 0."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        kinds = scale * random.normal(size=(6, 3))
        rows = kinds[np.concatenate([np.arange(6), random.integers(0, 6, size=34)])]
        d = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))
        oracle, _ = watched(d)
        held = FullTable(oracle=oracle, arms=np.arange(40), matrix=d)
        weights = random.random(40)
        swap_state = SwapState(np.arange(k), d[np.arange(k)], weights)
        outcome = shake(held, swap_state, np.arange(40))
        if k >= 6:
            assert outcome is swap_state
            ground = Witness(held, swap_state)
            for arm in range(k, 40):
                _try(ground, arm)
            assert ground.members.tolist() == list(range(k))
        else:
            assert outcome.cost <= swap_state.cost


def test_a_cost_that_removals_dwarf_is_not_shaken_by_rounding():
    """Two lumps at a distance of a trillion times their width."""
    random = np.random.default_rng(0)
    rows = np.concatenate([random.random(30), 1e12 + np.round(random.random(30))])
    d = abs(rows[:, None] - rows[None, :])
    weights = random.random(60)
    oracle, _ = watched(d)
    held = FullTable(oracle=oracle, arms=np.arange(60), matrix=d)
    swap_state = SwapState(np.array([0, 31]), d[[0, 31]], weights)
    ground = Witness(held, swap_state)
    _mend(ground, np.ones(2, dtype=bool), most=60)
    for arm in range(60):
        if not ground.is_member[arm]:
            cost, members = brute.cost(d, weights, ground.members), ground.members.tolist()
            _try(ground, arm)
            if ground.members.tolist() != members:
                assert brute.cost(d, weights, ground.members) < cost
