from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import protobandit as pb
from protobandit.oracle import oracle as oracle_module
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.localsearch import judged_rows, lists, local_search, schedule
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.lists import RowsBySlot, cell_ranks
from protobandit.search.drivers.localsearch.local_search import LocalSearch
from protobandit.search.drivers.localsearch.pools import JudgedPool, SourcePool
from protobandit.search.drivers.localsearch.schedule import Width

K = 12
NARROW = Width(n_near=3, n_candidates=6, n_drawn=2, n_probes=4, n_common=5, n_screened=40)


@pytest.fixture
def _small_tasks(monkeypatch):
    """Let small problems be divided among threads."""
    monkeypatch.setattr(oracle_module, "_SMALL_WORK", 0)
    monkeypatch.setattr(local_search, "_CELLS", 5)
    monkeypatch.setattr(judged_rows, "_CELLS", 5)
    monkeypatch.setattr(judged_rows, "_ROWS", 60)
    monkeypatch.setattr(lists, "_GROUPED", 70)


def clusters(n, seed=0, n_columns=3):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(8, n_columns)) * 4
    return centres[random.integers(8, size=n)] + random.normal(size=(n, n_columns))


def search_on(source, target=None, *, weights=None, metric="euclidean", is_held=True, seed=0):
    """Return a local search on all target rows, from random prototypes."""
    problem = pose(source, target, k=K, weights=weights, metric=metric)
    random = np.random.default_rng(seed)
    oracle = Oracle(problem)
    start = random.choice(problem.n_source, K, replace=False)
    judged = JudgedRows.assigned(
        oracle, np.arange(problem.n_target), problem.target_weights, start, NARROW.n_near, random
    )
    judged.find_common(K, NARROW.n_common)
    if target is None:
        pool = JudgedPool(judged)
    else:
        pool = SourcePool(judged, np.arange(problem.n_source), K, is_held=is_held)
    return LocalSearch(judged, pool, start, NARROW, random)


def require_true_lists(search, source, target):
    """Assert that lists hold distances of current prototypes, without repetition."""
    judged = search.judged
    exact = cdist(target[judged.ids], source[search.prototypes])
    known = judged.slots >= 0
    rows = np.broadcast_to(np.arange(len(judged.ids))[:, None], known.shape)
    np.testing.assert_allclose(
        judged.gaps[known], exact[rows[known], judged.slots[known]], atol=1e-9
    )
    assert np.isinf(judged.gaps[~known]).all()
    assert known[:, 0].all()
    assert (np.diff(np.where(known, judged.gaps, 1e300), axis=1) >= 0).all()
    for slots in judged.slots:
        assert len(set(slots[slots >= 0].tolist())) == (slots >= 0).sum()
    return exact


@pytest.mark.usefixtures("_small_tasks")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sides", ["same", "held", "read"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_every_pass_lowers_the_cost(seed, sides, is_weighted):
    source = clusters(400, seed)
    target = source if sides == "same" else clusters(700, seed + 50)
    weights = np.random.default_rng(seed).random(len(target)) ** 3 if is_weighted else None
    search = search_on(
        source,
        None if sides == "same" else target,
        weights=weights,
        is_held=sides == "held",
        seed=seed,
    )
    own = search.judged.weights
    cost = search.judged.summed
    for _ in range(6):
        gain, n_moves = search.make_pass()
        exact = require_true_lists(search, source, target)
        assert gain >= 0
        assert (gain > 0) == (n_moves > 0)
        assert search.judged.summed <= cost
        assert own @ exact.min(axis=1) <= search.judged.summed + 1e-9
        assert len(set(search.prototypes.tolist())) == K
        cost = search.judged.summed
    start = np.random.default_rng(seed).choice(len(source), K, replace=False)
    at_random = own @ cdist(target[search.judged.ids], source[start]).min(axis=1)
    assert cost < 0.9 * at_random


def mostly_equal(n, seed, n_columns=3):
    rows = clusters(n, seed, n_columns)
    rows[np.random.default_rng(seed).random(n) < 0.9] = 0.0
    return rows


@pytest.mark.usefixtures("_small_tasks")
@pytest.mark.parametrize("sides", ["same", "held", "read"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_free_slots_go_to_far_rows(sides, is_weighted):
    source = mostly_equal(400, 1)
    target = source if sides == "same" else mostly_equal(700, 2)
    weights = np.random.default_rng(1).random(len(target)) if is_weighted else None
    sides = {"target": None if sides == "same" else target, "is_held": sides == "held"}
    search = search_on(source, weights=weights, **sides)
    n_free, cost = len(search.free_slots), search.judged.summed
    assert n_free >= K // 2
    search.fill_free_slots()
    require_true_lists(search, source, target)
    assert len(search.free_slots) < n_free / 2
    assert search.judged.summed < 0.8 * cost
    assert len(set(search.prototypes.tolist())) == K
    cost = search.judged.summed
    for _ in range(3):
        search.make_pass()
        require_true_lists(search, source, target)
        assert search.judged.summed <= cost
        cost = search.judged.summed


def test_free_slots_keep_their_groups_and_fixed_rows():
    rows, groups = mostly_equal(400, 3), np.arange(400) % 3
    equal = np.flatnonzero((rows == 0).all(axis=1))
    constraints = pb.Constraints(fixed=equal[:2].tolist(), groups=groups, at_most={0: 4, 1: 4})
    problem = pose(rows, None, k=K, metric="euclidean", constraints=constraints)
    start = np.concatenate(
        [equal[:2], [equal[2:][groups[equal[2:]] == g][i] for g in range(3) for i in range(4)]]
    )
    start = start[:K]
    oracle, random = Oracle(problem), np.random.default_rng(0)
    judged = JudgedRows.assigned(oracle, np.arange(400), np.ones(400), start, 3, random)
    judged.find_common(K, NARROW.n_common)
    search = LocalSearch(judged, JudgedPool(judged), start, NARROW, random)
    before = np.bincount(groups[start], minlength=3)
    search.fill_free_slots()
    require_true_lists(search, rows, rows)
    assert search.prototypes[:2].tolist() == equal[:2].tolist()
    np.testing.assert_array_equal(np.bincount(groups[search.prototypes], minlength=3), before)
    assert (rows[search.prototypes] != 0).any(axis=1).sum() >= 8


def test_a_costly_cell_gets_several_additions(monkeypatch):
    monkeypatch.setattr(local_search, "_COSTLY", 2)
    rows = np.vstack([np.zeros((300, 30)), np.repeat(np.eye(30), 4, axis=0)])
    search = search_on(rows, seed=2)
    by_slot = RowsBySlot.of(search.oracle, search.judged.slots, K)
    found = search.proposals(by_slot, search.judged.near)
    assert len(found.cells) == len(found.additions) == len(found.gains)
    assert len(found.cells) > len(np.unique(found.cells))
    search.make_pass()
    require_true_lists(search, rows, rows)


@pytest.mark.usefixtures("_small_tasks")
def test_rows_are_grouped_in_pieces():
    judged = search_on(clusters(400)).judged
    judged.slots[::9, 2] = -1
    found = RowsBySlot.of(judged.oracle, judged.slots, K)
    for c in range(K):
        own, others = (
            np.flatnonzero((some == c).any(axis=1))
            for some in (judged.slots[:, :1], judged.slots[:, 1:])
        )
        assert found.of_slot(c).tolist() == [*own, *others]
        assert found.n_own[c] == len(own)
    assert len(found.rows) == (judged.slots >= 0).sum()


@pytest.mark.usefixtures("_small_tasks")
def test_common_slots_are_those_of_the_lists_of_a_cell():
    judged = search_on(clusters(400)).judged
    judged.find_common(K, K)
    for c in range(K):
        expected = set(judged.slots[judged.slots[:, 0] == c].ravel().tolist()) | {c}
        assert judged.common[c, 0] == c
        assert set(judged.common[c][judged.common[c] >= 0].tolist()) == expected


def test_neighbouring_cells_follow_each_other():
    random = np.random.default_rng(0)
    places = random.permutation(40)  # of prototypes on two lines that are far apart
    rows = random.integers(40, size=3000)
    side = np.where(random.random(3000) < 0.5, 1, -1)
    others = np.where((rows + side) // 20 == rows // 20, rows + side, rows - side) % 40
    slots = np.stack([places[rows], places[others]], axis=1).astype(np.int32)
    ranks = cell_ranks(slots, 40)
    assert sorted(ranks.tolist()) == list(range(40))
    steps = np.abs(np.diff(ranks[places]))
    assert np.median(steps) == 1
    for line in (places[:20], places[20:]):
        assert np.ptp(ranks[line]) == 19, "the cells of a line follow each other"


def test_cells_are_taken_in_the_order_of_their_rows():
    judged = search_on(clusters(400)).judged
    by_slot = RowsBySlot.of(judged.oracle, judged.slots, K)
    cells = by_slot.in_sequence(np.arange(K))
    middle = [np.median(np.flatnonzero(judged.slots[:, 0] == c)) for c in cells]
    assert middle == sorted(middle)
    assert sorted(cells.tolist()) == list(range(K))


def test_lists_keep_slots_that_moved_within_their_cell(monkeypatch):
    """Otherwise these would not be compared with the rows again."""
    n_stale, settle = 0, JudgedRows.settle
    kept = {}

    def recorded(judged, *arguments):
        settle(judged, *arguments)
        kept["stale"] = judged.slots[(judged.slots >= 0) & np.isinf(judged.gaps)]
        kept["slots"] = judged.slots[:, 2:].copy()

    monkeypatch.setattr(JudgedRows, "settle", recorded)
    search = search_on(clusters(2000, 3))
    for _ in range(5):
        _, n_moves = search.make_pass()
        if n_moves:
            _, relocated, _ = search._pending
            assert not relocated[kept["stale"]].any()
            assert not np.isin(kept["slots"], np.flatnonzero(relocated)).any()
            n_stale += len(kept["stale"])
    assert n_stale > 0


def test_a_list_that_is_half_empty_is_filled():
    source = clusters(400)
    search = search_on(source)
    judged = search.judged
    cell = int(np.bincount(judged.slots[:, 0], minlength=K).argmax())
    row = int(np.flatnonzero(judged.slots[:, 0] == cell)[0])
    before = judged.slots[row].copy()
    judged.slots[row, 1:], judged.gaps[row, 1:] = -1, np.inf
    sources = judged.oracle.sources(search.prototypes)
    judged.refresh(sources, np.zeros(K, dtype=bool), K)
    np.testing.assert_array_equal(judged.slots[row], before)
    require_true_lists(search, source, source)


def test_a_source_row_is_in_the_cell_of_its_nearest_representative():
    source, target = clusters(300, 1), clusters(500, 2)
    search = search_on(source, target)
    for _ in range(3):
        search.update_pool()
        pool = search.pool
        cells, rows = search.judged.representatives(K)
        exact = cdist(target[search.judged.ids[rows]], source)
        has_cell = np.isin(pool.slots, cells)
        assert has_cell.mean() > 0.95, "a cell that has lost its rows may keep some"
        at = np.searchsorted(cells, pool.slots[has_cell])
        nearest = exact.min(axis=0)[has_cell]
        is_near = exact[at, np.flatnonzero(has_cell)] <= nearest + 1e-9
        # Lists of three prototypes know few cells around: on other seeds it is 0.5 to 1.
        assert is_near.mean() > 0.7, "rows are compared with the cells around theirs only"
        search.make_pass()


def test_a_source_that_is_not_in_memory_is_read_in_blocks_with_the_same_result(monkeypatch):
    monkeypatch.setattr(local_search, "_BLOCK", 4 * 100 * clusters(1).shape[1])
    found = []
    for is_held in (True, False):
        search = search_on(clusters(900, 1), clusters(500, 2), is_held=is_held)
        read, operand = [], search.pool.operand
        monkeypatch.setattr(
            search.pool,
            "operand",
            lambda rows, read=read, operand=operand: read.append(len(rows)) or operand(rows),
        )
        search.make_pass()
        found.append(search.prototypes.tolist())
    assert found[0] == found[1]
    assert max(read) <= max(100, NARROW.n_candidates * K)


@pytest.mark.parametrize("k", [5, 20])
def test_blocks_of_a_sorted_source_may_lack_rows_of_cells(monkeypatch, k):
    monkeypatch.setattr(schedule, "_HELD_BYTES", 0)
    monkeypatch.setattr(local_search, "_BLOCK", 4 * 9000 * 2)
    random = np.random.default_rng(0)
    centres = 100 * random.normal(size=(k, 2))
    rows = np.repeat(centres, 60_000 // k, axis=0) + random.normal(size=(60_000, 2))
    rows = rows.astype(np.float32)
    source = rows.copy()  # another array: a source of its own
    found = pb.select(source, rows[::7].copy(), k=k, method="localsearch", random_state=0)
    assert found.cost < 3


def test_a_representative_is_the_row_nearest_to_its_prototype():
    judged = search_on(clusters(300), clusters(200, 5)).judged
    cells, rows = judged.representatives(K)
    for cell, row in zip(cells, rows, strict=True):
        own = judged.slots[:, 0] == cell
        assert judged.slots[row, 0] == cell
        assert judged.gaps[row, 0] == judged.gaps[own, 0].min()


def test_cells_around_which_nothing_moved_are_left_out():
    search = search_on(clusters(2000, 3))
    before = search.oracle.evaluations.total()
    search.make_pass()
    first = search.oracle.evaluations.total() - before
    for _ in range(40):
        search.make_pass()
        if search.is_partial:
            break
    assert search.is_partial
    before = search.oracle.evaluations.total()
    search.make_pass()
    assert search.oracle.evaluations.total() - before < first
    search.include_all_cells()
    assert not search.is_partial
