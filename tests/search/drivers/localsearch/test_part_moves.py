"""What a part proposes, and how proposals are merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import protobandit as pb
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.rows.parts import PartRows
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.part_moves import Judges, Moves, propose
from protobandit.search.drivers.localsearch.schedule import Width

RANDOM = np.random.default_rng(0)
TARGET = RANDOM.normal(size=(300, 3))
PROTOTYPES = RANDOM.normal(size=(6, 3))
PART = RANDOM.normal(size=(40, 3))


def moves(n, seed):
    random = np.random.default_rng(seed)
    return Moves(
        ids=random.permutation(1000)[:n],
        rows=random.normal(size=(n, 2)),
        cells=random.integers(5, size=n),
        gains=random.integers(4, size=n) / 1.0,
        changes=-random.integers(4, size=n) / 1.0,
    )


def judges():
    oracle = Oracle(pose(PROTOTYPES, TARGET, k=6), n_jobs=1)
    judged = JudgedRows.assigned(
        oracle, np.arange(300), np.ones(300), np.arange(6), 6, np.random.default_rng(0)
    )
    judged.find_common(6, 6)
    return Judges(
        metric=pb.metric("euclidean"),
        rows=TARGET[judged.ids],
        weights=judged.weights,
        slots=judged.slots,
        gaps=judged.gaps,
        common=judged.common,
        prototypes=PROTOTYPES,
        width=Width(n_near=6, n_candidates=40, n_drawn=8, n_probes=16, n_screened=300),
        seed=1,
        least_gain=0.0,
        least_change=0.0,
    )


def distances(rows):
    return np.sqrt(((TARGET[:, None] - rows) ** 2).sum(axis=2))


def test_gains_and_changes_are_those_of_brute_force():
    found = propose(PartRows(numbers=PART), judges(), 0)
    near = distances(PROTOTYPES)
    D = near.min(axis=1)
    assert len(found) > 0
    for at, row in enumerate(found.ids):
        own = distances(PART[row : row + 1])[:, 0]
        if found.gains[at]:
            np.testing.assert_allclose(found.gains[at], np.maximum(D - own, 0).sum(), rtol=1e-6)
        if found.changes[at]:
            others = np.delete(near, found.cells[at], axis=1).min(axis=1)
            change = (np.minimum(own, others) - D).sum()
            np.testing.assert_allclose(found.changes[at], change, rtol=1e-6)
    assert found.rows.tolist() == PART[found.ids].tolist()
    assert found.evaluations > 0


def test_small_gains_are_not_proposed():
    none = replace(judges(), least_gain=np.inf, least_change=np.inf)
    assert len(propose(PartRows(numbers=PART), none, 0)) == 0


def test_the_best_do_not_depend_on_the_order_of_parts():
    few = [moves(60, seed) for seed in range(3)]
    few = [replace(each, ids=1000 * i + each.ids) for i, each in enumerate(few)]
    forth = few[0].joined(few[1]).joined(few[2]).best(3)
    back = few[2].joined(few[1]).best(3).joined(few[0]).best(3)
    assert forth.ids.tolist() == back.ids.tolist()
    assert forth.rows.tolist() == back.rows.tolist()


def test_the_best_are_the_largest_gains_and_the_smallest_changes():
    some = moves(200, 0)
    best = some.best(2)
    for cell in range(5):
        own = some.cells == cell
        for worth, kept in ((some.gains, best.gains), (-some.changes, -best.changes)):
            largest = np.sort(worth[own])[::-1][:2]
            assert np.sort(kept[best.cells == cell])[::-1][:2].tolist() == largest.tolist()
