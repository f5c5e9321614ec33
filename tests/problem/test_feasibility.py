"""Feasibility, compared with the enumeration of all sets of rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import constrained
from protobandit import Constraints
from protobandit.problem.feasibility import Feasibility

N, K = 7, 4
LABELS = "abc"


def draw_instance(seed):
    """Return groups, minima, maxima and fixed rows that some K rows satisfy."""
    random = np.random.default_rng(seed)
    while True:
        groups = [LABELS[g] for g in random.integers(0, 3, size=N)]
        least = {label: int(random.integers(0, 3)) for label in set(groups)}
        most = {label: int(random.integers(least[label], 5)) for label in set(groups)}
        fixed = random.choice(N, int(random.integers(0, 3)), replace=False).tolist()
        sets = constrained.allowed_sets(N, K, groups, least, most, fixed)
        if sets and all(least[g] <= groups.count(g) for g in least):
            return groups, least, most, fixed, sets


def feasibility_of(groups, least, most, fixed):
    constraints = Constraints(groups=groups, at_least=least, at_most=most, fixed=fixed)
    feasibility = constraints.feasibility(len(groups))
    feasibility.require_feasible(K)
    return feasibility


seeded = pytest.mark.parametrize("seed", range(40))


@seeded
def test_open_rows_extend_to_a_feasible_set(seed):
    groups, least, most, fixed, sets = draw_instance(seed)
    feasibility = feasibility_of(groups, least, most, fixed)
    for n in range(len(fixed), K):
        for rest in permutations(sorted(set(range(N)) - set(fixed)), n - len(fixed)):
            members = [*fixed, *rest]
            if not any(set(members) <= s for s in sets):
                continue
            expected = [
                i for i in range(N) if i not in members and any({*members, i} <= s for s in sets)
            ]
            ids = np.array(members, dtype=np.int64)
            assert feasibility.open_rows(ids, K - n).tolist() == expected


@seeded
def test_allowed_swaps_satisfy_the_quotas(seed):
    groups, least, most, fixed, sets = draw_instance(seed)
    feasibility = feasibility_of(groups, least, most, fixed)
    names = sorted(set(groups))
    for members in sets:
        members = sorted(members)
        allowed = feasibility.allowed(np.array(members))
        assert allowed.shape == (len(names), K)
        for g, label in enumerate(names):
            for slot in range(K):
                labels = [groups[i] for i in members]
                labels[slot] = label
                is_within = all(
                    least[name] <= labels.count(name) <= min(most[name], groups.count(name))
                    for name in names
                )
                same = groups[members[slot]] == label
                assert allowed[g, slot] == (members[slot] not in fixed and (is_within or same)), (
                    members,
                    label,
                    slot,
                )


@seeded
def test_draws_are_feasible_and_reach_every_set(seed):
    groups, least, most, fixed, sets = draw_instance(seed)
    feasibility = feasibility_of(groups, least, most, fixed)
    random = np.random.default_rng(seed)
    seen = set()
    for _ in range(60 * len(sets)):
        drawn = feasibility.draw(feasibility.fixed, K - len(fixed), random)
        chosen = {*fixed, *drawn.tolist()}
        assert chosen in sets
        seen.add(frozenset(chosen))
    assert len(seen) == len(sets)


@seeded
def test_admitted_arms_are_added_in_order(seed):
    groups, least, most, fixed, sets = draw_instance(seed)
    feasibility = feasibility_of(groups, least, most, fixed)
    others = np.setdiff1d(np.arange(N), fixed)
    arms = np.random.default_rng(seed).permutation(others)
    taken = arms[feasibility.admitted(feasibility.fixed, arms, K - len(fixed))].tolist()
    chosen = list(fixed)
    for arm in arms.tolist():
        if any({*chosen, arm} <= s for s in sets):
            chosen.append(arm)
    assert [*fixed, *taken] == chosen
    assert len(chosen) == K


def test_without_constraints_all_rows_are_open():
    feasibility = Feasibility.none(5)
    assert feasibility.is_free
    assert feasibility.needs == frozenset()
    assert feasibility.capacity == 5
    assert feasibility.open_rows(np.array([1, 3]), 2).tolist() == [0, 2, 4]
    assert feasibility.allowed(np.array([1, 3])).all()
    assert feasibility.paid(np.array([1])) is None
    assert feasibility.admitted(np.array([1]), np.array([0, 2, 4]), 2).tolist() == [0, 1]


def test_quotas_that_restrict_nothing_need_no_support():
    groups = ["a", "a", "b"]
    assert Constraints(groups=groups, at_most=3).feasibility(3).is_free
    assert Constraints(groups=groups, at_least=0).feasibility(3).is_free
    assert Constraints(groups=groups, at_most=1).feasibility(3).needs == {"groups"}
    assert Constraints(groups=groups, at_least={"a": 1}).feasibility(3).needs == {"groups"}


def test_open_rows_fit_the_budget():
    feasibility = Constraints(costs=[1, 2, 3, 4], budget=5).feasibility(4)
    assert feasibility.needs == {"costs"}
    assert feasibility.open_rows(np.array([1]), 9).tolist() == [0, 2]
    assert feasibility.admitted(np.array([0]), np.array([3, 1, 2]), 3).tolist() == [0]
    assert feasibility.paid(np.array([1, 2])) == 5


def test_rounding_does_not_exceed_the_budget():
    feasibility = Constraints(costs=[0.1, 0.2, 0.3], budget=0.6).feasibility(3)
    assert feasibility.open_rows(np.array([0, 1]), 1).tolist() == [2]
    exact = Constraints(costs=[0.1, 0.1, 0.1], budget=0.3, fixed=[0, 1, 2]).feasibility(3)
    exact.require_feasible(3)
