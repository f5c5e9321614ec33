from __future__ import annotations

import numpy as np
import pytest

from kernels.instances import WAYS, both_ways, every_type, table, tied, weighted
from protobandit.kernels import cells

N_ROWS, K, N_NEAR = 60, 9, 4


def lists_of(full, n_near=N_NEAR):
    """Return the lists of the nearest slots; ``full`` has one row per slot."""
    n = full.shape[1]
    slots = np.empty((n, n_near), dtype=np.int32)
    gaps = np.empty((n, n_near), dtype=full.dtype)
    cells.insert_block.reference(full, slots, gaps)
    return slots, gaps


def grouped(way, slots, k=K):
    counts, rows = np.zeros((2, k), dtype=np.int64), np.empty(slots.size, dtype=np.int32)
    way(cells.group_by_slot)(slots, 0, counts, rows, False)
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    ends = np.stack([starts[:-1], starts[:-1] + counts[0]])
    for first, some in ((0, slots[:20]), (20, slots[20:])):
        way(cells.group_by_slot)(np.ascontiguousarray(some), first, ends, rows, True)
    np.testing.assert_array_equal(ends, [starts[:-1] + counts[0], starts[1:]])
    return starts, rows, counts[0]


@every_type
@both_ways
@tied
def test_lists_have_the_nearest_slots(dtype, way, is_tied):
    full = table(K, N_ROWS, dtype=dtype, is_tied=is_tied)
    slots = np.empty((N_ROWS, N_NEAR), dtype=np.int32)
    gaps = np.empty((N_ROWS, N_NEAR), dtype=dtype)
    way(cells.insert_block)(full, slots, gaps)
    np.testing.assert_array_equal(gaps, np.sort(full, axis=0)[:N_NEAR].T)
    np.testing.assert_array_equal(slots, np.argsort(full, axis=0, kind="stable")[:N_NEAR].T)


@both_ways
def test_rows_are_grouped_by_all_slots_of_their_lists(way):
    slots, _ = lists_of(table(K, N_ROWS))
    slots[::7, 2:] = -1
    starts, rows, n_own = grouped(way, slots)
    assert starts[-1] == (slots >= 0).sum()
    for c in range(K):
        some = rows[starts[c] : starts[c + 1]].tolist()
        assert some[: n_own[c]] == np.flatnonzero(slots[:, 0] == c).tolist()
        assert some[n_own[c] :] == np.flatnonzero((slots[:, 1:] == c).any(axis=1)).tolist()


@both_ways
@pytest.mark.parametrize("width", [1, 3, K])
def test_common_slots_are_the_most_frequent_ones(way, width):
    slots, _ = lists_of(table(K, N_ROWS, seed=3))
    starts, rows, n_own = grouped(way, np.ascontiguousarray(slots[:, :1]))
    out = np.empty((K - 2, width), dtype=np.int32)
    scratch = np.zeros(K, dtype=np.int32), np.empty(K, dtype=np.int32)
    way(cells.common_slots)(starts[2:], rows, n_own[2:], slots, 2, *scratch, out)
    for c, found in enumerate(out, start=2):
        counts = np.bincount(slots[slots[:, 0] == c].ravel(), minlength=K)
        others = [s for s in np.lexsort((np.arange(K), -counts)) if counts[s] and s != c]
        expected = [c, *others][:width]
        assert found.tolist() == expected + [-1] * (width - len(expected))


@both_ways
def test_some_rows_of_large_cells_are_counted(way):
    n = 2 * cells._COUNTED
    slots = np.stack([np.zeros(n), np.tile([1, 2, 2], n)[:n]], axis=1).astype(np.int32)
    slots[::3, 1] = 3  # the rows that are counted
    starts, rows, n_own = grouped(way, np.ascontiguousarray(slots[:, :1]), 4)
    out = np.empty((1, 3), dtype=np.int32)
    scratch = np.zeros(4, dtype=np.int32), np.empty(4, dtype=np.int32)
    way(cells.common_slots)(starts[:2], rows, n_own[:1], slots, 0, *scratch, out)
    assert out.tolist() == [[0, 3, -1]]


@every_type
@both_ways
@pytest.mark.parametrize("width", [4, 100])
def test_candidates_are_the_nearest_rows_and_drawn_ones(dtype, way, width):
    random = np.random.default_rng(0)
    n = 80
    slots = random.integers(3, size=(n, 1)).astype(np.int32)
    starts, rows, n_own = grouped(way, slots, 3)
    gaps, worth = random.random(n).astype(dtype), random.random(n)
    is_open = random.random(n) < 0.7
    shares = np.sort(random.random((3, 2)), axis=1)
    out = np.empty((3, width), dtype=np.int32)
    is_drawn = np.zeros(n, dtype=bool)
    way(cells.candidates)(starts, rows, n_own, gaps, worth, is_open, shares, is_drawn, out)
    assert not is_drawn.any()
    for c, found in enumerate(out):
        own = np.flatnonzero((slots[:, 0] == c) & is_open)
        found = found[found >= 0]
        assert len(set(found.tolist())) == len(found)
        assert set(found.tolist()) <= set(own.tolist())
        if width == 100:
            assert sorted(found.tolist()) == own.tolist()
            continue
        total = np.cumsum(worth[own])
        drawn = {int(own[np.searchsorted(total, share * total[-1])]) for share in shares[c]}
        nearest = [j for j in own[np.argsort(gaps[own])].tolist() if j not in drawn]
        assert set(found.tolist()) == drawn | set(nearest[:2])


def near(slots, gaps):
    """Return the two nearest slots of each row, and its distances to them."""
    if slots.shape[1] == 1:
        slots = np.hstack([slots, np.full_like(slots, -1)])
        gaps = np.hstack([gaps, np.full_like(gaps, np.inf)])
    return slots[:, 0].copy(), slots[:, 1].copy(), gaps[:, 0].copy(), gaps[:, 1].copy()


def to_judge(slots, gaps):
    served, _, D, E = near(slots, gaps)
    return served, D, E


def judged(way, slots, gaps, weights, values, c):
    """Return changes and gains of candidates, the columns of ``values``, for slot c."""
    starts, rows, _ = grouped(way, slots)
    some = rows[starts[c] : starts[c + 1]]
    n = values.shape[1]
    changes, gains = np.empty((1, n)), np.empty((1, n))
    way(cells.judge)(
        values[some].ravel(),
        np.array([0]),
        starts[[c]],
        starts[[c + 1]],
        np.array([c]),
        rows,
        weights[rows].astype(gaps.dtype),
        *to_judge(slots, gaps),
        np.array([n]),
        changes,
        gains,
    )
    return changes[0], gains[0], some


@every_type
@both_ways
@pytest.mark.parametrize("c", range(K))
def test_a_candidate_is_never_worse_than_judged(dtype, way, c):
    full = table(K, N_ROWS, dtype=dtype, seed=1)
    slots, gaps = lists_of(full)
    weights, values = weighted(N_ROWS), table(5, N_ROWS, dtype=dtype, seed=2).T.copy()
    changes, gains, some = judged(way, slots, gaps, weights, values, c)
    cost = weights @ full.min(axis=0).astype(np.float64)
    for h in range(5):
        known = np.where(np.isin(np.arange(N_ROWS), some), values[:, h], np.inf)
        others = np.delete(full, c, axis=0).min(axis=0)
        replaced = weights @ np.minimum(others, known).astype(np.float64)
        added = weights @ np.minimum(full.min(axis=0), known).astype(np.float64)
        assert changes[h] == pytest.approx(replaced - cost, abs=1e-4)
        assert gains[h] == pytest.approx(cost - added, abs=1e-4)
        exact = weights @ np.minimum(others, values[:, h]).astype(np.float64)
        assert exact - cost <= changes[h] + 1e-4


def screened(way, D, weights, most, share, sizes=(60, 5)):
    """Return the rows drawn from two cells, and the weights that estimate sums over all."""
    starts = np.cumsum([0, *sizes])
    rows = np.random.default_rng(1).permutation(starts[-1]).astype(np.int32)
    kept = np.minimum(sizes, most)
    at = np.cumsum(kept) - kept
    ends = np.empty(2, dtype=np.int64)
    out, factors = np.full(kept.sum(), -1, dtype=np.int32), np.empty(kept.sum(), dtype=D.dtype)
    shares = np.full(2, share)
    way(cells.screen)(
        np.array([0, 1]), starts, rows, D, weights, most, shares, at, ends, out, factors
    )
    some = [(out[a:b], factors[a:b]) for a, b in zip(at, ends, strict=True)]
    return [rows[: sizes[0]], rows[sizes[0] :]], some


@both_ways
@pytest.mark.parametrize("has_cost", [True, False])
def test_drawn_rows_estimate_sums_without_bias(way, has_cost):
    random = np.random.default_rng(0)
    D, weights = has_cost * random.exponential(size=65), weighted(65)
    D[7] += 100 * has_cost
    weights[7] = 1
    numbers = random.normal(size=65)
    shares = (np.arange(500) + 0.5) / 500
    found = [screened(way, D, weights, 12, share) for share in shares]
    own = found[0][0]
    assert all(len(some[0][0]) <= 12 for _, some in found)
    means = [np.mean([numbers[some[c][0]] @ some[c][1] for _, some in found]) for c in range(2)]
    for c in range(2):
        assert means[c] == pytest.approx(numbers[own[c]] @ weights[own[c]], rel=0.02, abs=0.02)
    if has_cost:  # a row with most of the cost is drawn always
        assert all(7 in np.concatenate([some[0][0], some[1][0]]) for _, some in found)


@both_ways
def test_all_rows_of_small_cells_are_kept(way):
    weights = weighted(65)
    for own, (rows, factors) in zip(*screened(way, np.ones(65), weights, 60, 0.3), strict=True):
        np.testing.assert_array_equal(rows, own)
        np.testing.assert_array_equal(factors, weights[own])


def test_draws_are_those_of_the_reference():
    D, weights = np.random.default_rng(0).exponential(size=65), weighted(65)
    for share in np.linspace(0, 0.99, 20):
        one, other = (screened(way, D, weights, 12, share)[1] for way in WAYS.values())
        for (rows, factors), (same, alike) in zip(one, other, strict=True):
            np.testing.assert_array_equal(rows, same)
            np.testing.assert_allclose(factors, alike)


@every_type
@both_ways
@tied
@pytest.mark.parametrize("groups", [([0, 3, 4], [3, 5, 8, 0], [1, 2, 6, 7]), (range(K), [4, 8])])
def test_slots_are_inserted_into_lists_once(dtype, way, is_tied, groups):
    n = 200
    full = table(K, n, dtype=dtype, seed=4, is_tied=is_tied)
    slots = np.full((n, N_NEAR), -1, dtype=np.int32)
    gaps = np.full((n, N_NEAR), np.inf, dtype=dtype)
    rows = np.arange(n, dtype=np.int32)
    for some in groups:
        which = np.array(some, dtype=np.int32)
        begin, end = np.zeros(2, dtype=np.int64), np.full(2, len(some))
        first, last = np.array([0, 20]), np.array([20, n])
        at = first * len(some)
        values = full[which].T.copy().ravel()
        way(cells.insert_patches)(values, at, first, last, rows, which, begin, end, slots, gaps)
    np.testing.assert_array_equal(gaps, np.sort(full, axis=0)[:N_NEAR].T)
    for j in range(n):
        assert len(set(slots[j].tolist())) == N_NEAR
        np.testing.assert_array_equal(full[slots[j], j], gaps[j])


class Moves:
    """Moves of prototypes on a small instance, and what brute force says of them."""

    def __init__(self, way, *, seed=0, dtype=np.float64, n_near=N_NEAR, n_candidates=30):
        random = np.random.default_rng(seed)
        self.way = way
        self.full = table(K, N_ROWS, dtype=dtype, seed=seed)
        self.arms = table(n_candidates, N_ROWS, dtype=dtype, seed=seed + 100)
        self.weights = weighted(N_ROWS, seed)
        self.slots, self.gaps = lists_of(self.full, n_near)
        self.starts, self.rows, _ = grouped(way, self.slots)
        self.cells = random.integers(K, size=n_candidates)
        self.groups = random.integers(2, size=n_candidates)
        self.slot_groups = random.integers(2, size=K)
        self.is_fixed = np.zeros(K, dtype=bool)
        self.fewest, self.largest = np.zeros(2, dtype=np.int64), np.full(2, K)
        self.is_taken = np.zeros(K + n_candidates, dtype=bool)
        self.is_taken[:K] = True
        self.moved = np.full(K, -1, dtype=np.int64)

    def make(self, leaving):
        some = [self.rows[self.starts[c] : self.starts[c + 1]] for c in self.cells]
        steps = 1 + np.arange(len(some)) % 3
        places = np.cumsum([0, *(step * len(rows) for step, rows in zip(steps, some, strict=True))])
        values = np.full(places[-1], np.nan, dtype=self.full.dtype)
        for arm, rows, place, step in zip(self.arms, some, places, steps, strict=False):
            values[place : place + step * len(rows) : step] = arm[rows]
        rise = self.weights * (self.gaps[:, 1].astype(np.float64) - self.gaps[:, 0])
        losses = np.bincount(self.slots[:, 0], rise, minlength=K)
        before, copies = self.cost(), near(self.slots, self.gaps)
        change = self.way(cells.make_moves)(
            self.cells,
            leaving,
            np.full(len(self.cells), np.inf),
            K + np.arange(len(self.cells)),
            self.groups,
            values,
            places[:-1],
            steps,
            np.argsort(losses),
            losses,
            self.starts,
            self.rows,
            self.weights,
            1e-9,
            self.is_fixed,
            self.fewest,
            self.largest,
            self.slot_groups,
            np.bincount(self.slot_groups, minlength=2),
            self.is_taken,
            *copies,
            self.slots,
            self.gaps,
            self.moved,
        )
        for slot, e in enumerate(self.moved):
            if e >= 0:
                self.full[slot] = self.arms[e]
        n_relocations = int((leaving < 0).sum())
        assert (leaving[:n_relocations] < 0).all(), "relocations come first"
        kept = self.slots.copy()
        self.way(cells.settle_lists)(self.moved, n_relocations, *copies, self.slots, self.gaps)
        assert self.cost() == pytest.approx(before + change)
        for copy, now in zip(copies, near(self.slots, self.gaps), strict=True):
            np.testing.assert_array_equal(copy, now)
        self.require_stale_slots(kept, n_relocations)
        return change

    def require_stale_slots(self, kept, n_relocations):
        """Assert that lists keep slots that moved within their cell, at an unknown distance."""
        for j in range(N_ROWS):
            is_stale = (self.slots[j] >= 0) & np.isinf(self.gaps[j])
            assert (self.moved[self.slots[j, is_stale]] >= n_relocations).all()
            near_ones = self.slots[j, :2].tolist()
            stays = [s for s in kept[j] if s not in near_ones and self.moved[s] < 0]
            follow = [s for s in kept[j] if s not in near_ones and self.moved[s] >= n_relocations]
            n_near = sum(s >= 0 for s in near_ones)
            expected = [*near_ones[:n_near], *stays, *follow][: self.slots.shape[1]]
            assert self.slots[j, self.slots[j] >= 0].tolist() == expected
        self.slots[np.isinf(self.gaps)] = -1

    def cost(self):
        counts = self.weights > 0  # the list of a row without weight may become empty
        return float(self.weights[counts] @ self.gaps[counts, 0].astype(np.float64))

    def require_true_lists(self):
        """Assert that all distances in lists are those of the current prototypes."""
        for j in range(N_ROWS):
            known = self.slots[j] >= 0
            np.testing.assert_array_equal(self.full[self.slots[j, known], j], self.gaps[j, known])
            assert (np.diff(self.gaps[j, known]) >= 0).all()
            assert len(set(self.slots[j, known].tolist())) == known.sum()
            assert np.isinf(self.gaps[j, ~known]).all()


@every_type
@both_ways
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["replace", "relocate", "both"])
def test_every_move_lowers_the_cost_and_lists_stay_true(dtype, way, seed, kind):
    moves = Moves(way, seed=seed, dtype=dtype)
    leaving = moves.cells.copy()
    if kind != "replace":
        leaving[: 15 if kind == "both" else None] = -1
    change = moves.make(leaving)
    assert change < 0
    assert (moves.moved >= 0).any()
    moves.require_true_lists()
    exact = moves.weights @ moves.full.min(axis=0).astype(np.float64)
    assert exact <= moves.cost() + 1e-9


@both_ways
def test_a_row_that_no_slot_serves_has_an_empty_list(way):
    slots = np.array([[0, 1, -1], [2, 1, 0]], dtype=np.int32)
    gaps = np.array([[1.0, 2.0, np.inf], [1.0, 2.0, 3.0]])
    moved = np.array([0, 5, -1])  # slot 0 to another cell, slot 1 within its cell
    served, second = np.array([-1, 2], dtype=np.int32), np.array([-1, -1], dtype=np.int32)
    D, E = np.array([np.inf, 1.0]), np.full(2, np.inf)
    way(cells.settle_lists)(moved, 1, served, second, D, E, slots, gaps)
    assert slots.tolist() == [[-1, -1, -1], [2, 1, -1]]
    assert gaps.tolist() == [[np.inf] * 3, [1.0, np.inf, np.inf]]


@pytest.mark.parametrize("seed", range(6))
def test_compiled_moves_are_those_of_the_reference(seed):
    made = []
    for way in (lambda kernel: kernel, lambda kernel: kernel.reference):
        moves = Moves(way, seed=seed)
        moves.fewest, moves.largest = np.array([2, 1]), np.array([5, 7])
        moves.is_fixed[[1, 4]] = True
        leaving = moves.cells.copy()
        leaving[:15] = -1
        moves.make(leaving)
        made.append((moves.moved.tolist(), moves.slots.tolist(), moves.cost()))
    assert made[0] == made[1]


@both_ways
@pytest.mark.parametrize("seed", range(4))
def test_moves_satisfy_quotas_and_spare_fixed_rows(way, seed):
    moves = Moves(way, seed=seed)
    before = moves.slot_groups.copy()
    counts = np.bincount(before, minlength=2)
    moves.fewest = moves.largest = counts  # a row is replaced by one of its group
    moves.is_fixed[[0, 5]] = True
    leaving = moves.cells.copy()
    leaving[:15] = -1
    moves.make(leaving)
    assert (moves.moved[[0, 5]] == -1).all()
    np.testing.assert_array_equal(np.bincount(moves.slot_groups, minlength=2), counts)
    for slot, e in enumerate(moves.moved):
        if e >= 0:
            assert moves.groups[e] == before[slot]


@both_ways
def test_a_single_prototype_has_no_second(way):
    random = np.random.default_rng(0)
    gaps = random.random((N_ROWS, 1)) + 1
    slots = np.zeros((N_ROWS, 1), dtype=np.int32)
    starts, rows, _ = grouped(way, slots, 1)
    weights, values = np.ones(N_ROWS), random.random((N_ROWS, 2))
    changes, gains = np.empty((1, 2)), np.empty((1, 2))
    way(cells.judge)(
        values.ravel(), np.array([0]), starts[[0]], starts[[1]], np.array([0]), rows, weights,
        *to_judge(slots, gaps), np.array([2]), changes, gains,
    )  # fmt: skip
    np.testing.assert_allclose(changes[0], (values - gaps).sum(axis=0))
