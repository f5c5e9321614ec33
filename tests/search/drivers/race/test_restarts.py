from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.oracle.tables import FullTable
from protobandit.problem.constraints import Constraints
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.limits import Limits
from protobandit.search.control import SearchControl, StopKind
from protobandit.search.drivers.race import restarts
from protobandit.search.drivers.ragged_swaps import least_change
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 70, 40
LARGE = 300  # rows of a problem with starts on parts of the table


def held_of(d, weights, k, *, dtype=np.float64, seed=0):
    """Return a table, the swap state of k random arms, and the metric, which is never called."""
    oracle, metric = watched(d)
    matrix = np.ascontiguousarray(d.T.astype(dtype))
    members = np.random.default_rng(seed).permutation(d.shape[1])[:k]
    held = FullTable(oracle=oracle, arms=np.arange(d.shape[1]), matrix=matrix)
    return held, SwapState(members, matrix[members], weights), metric


def restarted(held, swap_state, feasibility=None, *, n_reads=1 << 18, seed=0, control=None):
    return restarts.improve_by_restarts(
        held,
        swap_state,
        feasibility or Feasibility.none(len(held.arms)),
        least=-least_change(swap_state),
        n_reads=n_reads,
        random=np.random.default_rng(seed),
        control=control or SearchControl(),
    )


def euclidean(n, columns=2, *, seed=0):
    rows = brute.normal(n, columns, seed=seed)
    return np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))


def best_cost(d, weights, k):
    return min(brute.cost(d, weights, some) for some in combinations(range(d.shape[1]), k))


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3, 12, 39])
@pytest.mark.parametrize("seed", range(3))
def test_the_cost_never_rises_and_the_state_is_exact(dtype, k, seed):
    d, weights = table(N_TARGET, N_SOURCE, seed=seed), uneven(N_TARGET, seed)
    held, swap_state, metric = held_of(d, weights, k, dtype=dtype, seed=seed)
    before = swap_state.members.tolist(), swap_state.matrix.tobytes()
    result = restarted(held, swap_state, seed=seed)
    assert (swap_state.members.tolist(), swap_state.matrix.tobytes()) == before
    assert len(set(result.members.tolist())) == k
    np.testing.assert_array_equal(result.matrix, held.matrix[result.members])
    assert result.cost < swap_state.cost
    exact = held.matrix.T.astype(np.float64)
    assert result.cost == pytest.approx(brute.cost(exact, weights, result.members), rel=1e-9)
    assert metric.pairs.total() == 0


def test_the_optimum_is_found():
    for seed in range(20):
        d, weights = table(30, 12, seed=seed), uneven(30, seed)
        held, swap_state, _ = held_of(d, weights, 3, seed=seed)
        result = restarted(held, swap_state, seed=seed)
        assert result.cost == pytest.approx(best_cost(d, weights, 3), rel=1e-9)


@pytest.mark.parametrize("n", [N_SOURCE, LARGE])
def test_more_reads_are_never_worse(n):
    """A smaller budget makes the first trials of a larger one."""
    for seed in range(4):
        held, swap_state, _ = held_of(euclidean(n, seed=seed), np.ones(n), 9, seed=seed)
        budgets = [passes * n * n for passes in (0, 2, 4, 9, 20, 60)]
        costs = [restarted(held, swap_state, n_reads=most).cost for most in budgets]
        assert costs[0] < swap_state.cost
        assert costs == sorted(costs, reverse=True)


# -- the budget ------------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [10, 40, 100])
def test_about_the_given_number_of_entries_is_read(passes):
    held, swap_state, _ = held_of(euclidean(LARGE), np.ones(LARGE), 5)
    restarted(held, swap_state, n_reads=passes * LARGE * LARGE)
    assert 0.7 * passes < held.oracle.lookups.total() / LARGE**2 < 1.3 * passes


def test_there_is_at_least_one_trial():
    held, swap_state, _ = held_of(euclidean(LARGE), np.ones(LARGE), 5)
    assert restarted(held, swap_state, n_reads=1).cost < swap_state.cost


def test_short_trials_count_as_longer_ones():
    held, swap_state, _ = held_of(euclidean(N_SOURCE), np.ones(N_SOURCE), 5)
    restarted(held, swap_state, n_reads=1 << 20)
    assert 0.1 * (1 << 20) < held.oracle.lookups.total() < 0.7 * (1 << 20)


def test_starts_on_parts_read_less_than_the_whole_table():
    held, swap_state, _ = held_of(euclidean(LARGE), np.ones(LARGE), 5)
    members = swap_state.members
    feasibility = Feasibility.none(LARGE)
    trials = restarts._Trials(held, np.ones(LARGE), feasibility, members, np.inf, 1e-9)
    start = trials._random_part(np.random.default_rng(0))
    assert len(start.arms) <= LARGE // 4 + 5
    assert len(start.rows) == LARGE // 4
    before = brute.cost(held.matrix.T, np.ones(LARGE), start.members)
    cost, n_reads = trials._improve_on_part(start)
    assert n_reads < LARGE * LARGE
    assert cost == pytest.approx(LARGE * brute.cost(held.matrix.T, np.ones(LARGE), start.members))
    assert cost < LARGE * before


def test_an_interruption_ends_the_trials():
    held, swap_state, _ = held_of(euclidean(LARGE), np.ones(LARGE), 5)
    seen = []

    def is_interrupted():
        seen.append(held.oracle.lookups.total())
        return len(seen) > 3

    control = SearchControl(is_requested=is_interrupted)
    result = restarted(held, swap_state, n_reads=1 << 60, control=control)
    assert result.cost < swap_state.cost
    assert control.stopped.kind is StopKind.INTERRUPTION
    assert len(seen) == 4
    assert max(np.diff(seen)) < 64 * LARGE * LARGE, "no long time between two checks"


def test_a_limit_of_seconds_ends_the_trials():
    held, swap_state, _ = held_of(euclidean(LARGE), np.ones(LARGE), 5)
    control = SearchControl(limits=Limits(seconds=1e-9))
    assert restarted(held, swap_state, n_reads=1 << 60, control=control) is swap_state
    assert control.stopped.kind is StopKind.SECONDS


# -- constraints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [N_SOURCE, LARGE])
@pytest.mark.parametrize("seed", range(3))
def test_fixed_prototypes_stay_and_quotas_hold(n, seed):
    held, swap_state, _ = held_of(euclidean(n, seed=seed), np.ones(n), 8, seed=seed)
    fixed = swap_state.members[[5, 2]]
    groups = np.random.default_rng(seed).integers(3, size=n)
    groups[swap_state.members] = [0, 1, 2, 0, 1, 2, 0, 1]
    quotas = Constraints(fixed=fixed, groups=groups, at_least=2, at_most=3)
    result = restarted(held, swap_state, quotas.feasibility(n), seed=seed)
    assert result.cost < swap_state.cost
    assert set(fixed) <= set(result.members)
    counts = np.bincount(groups[result.members], minlength=3)
    assert 2 <= counts.min() <= counts.max() <= 3


def test_the_optimum_with_quotas_is_found():
    groups = np.arange(12) % 2
    for seed in range(10):
        d, weights = table(30, 12, seed=seed), np.ones(30)
        held, _, _ = held_of(d, weights, 4, seed=seed)
        members = np.array([0, 2, 1, 3])
        swap_state = SwapState(members, held.matrix[members], weights)
        feasibility = Constraints(groups=groups, at_least=1, at_most=3).feasibility(12)
        result = restarted(held, swap_state, feasibility, seed=seed)
        allowed = (
            some for some in combinations(range(12), 4) if 1 <= groups[list(some)].sum() <= 3
        )
        best = min(brute.cost(d, weights, some) for some in allowed)
        assert result.cost == pytest.approx(best, rel=1e-9)


# -- edge cases ------------------------------------------------------------------------------------


def test_where_nothing_can_be_swapped_nothing_is_tried():
    d = table(N_TARGET, 7)
    for k in (1, 7):
        held, swap_state, _ = held_of(d, np.ones(N_TARGET), k)
        assert restarted(held, swap_state) is swap_state
        assert held.oracle.lookups.total() == 0
    held, swap_state, _ = held_of(d, np.ones(N_TARGET), 3)
    feasibility = Constraints(fixed=swap_state.members).feasibility(7)
    assert restarted(held, swap_state, feasibility) is swap_state


@pytest.mark.parametrize("n", [20, LARGE])
def test_equal_rows_and_rows_without_weight(n):
    held, swap_state, _ = held_of(np.ones((n, n)), np.ones(n), 4)
    assert restarted(held, swap_state) is swap_state
    weights = np.zeros(n)
    weights[3] = 1.0
    held, swap_state, _ = held_of(euclidean(n), weights, 4)
    assert restarted(held, swap_state).cost == 0


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr("protobandit.oracle.oracle._SMALL_WORK", 0)
    rows = brute.normal(400, 3)
    found = [pb.select(rows, k=9, random_state=1, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    assert len({tuple(each.indices.tolist()) for each in found}) == 1
    assert len({each.lookups for each in found}) == 1
    assert len({each.costs.tobytes() for each in found}) == 1
