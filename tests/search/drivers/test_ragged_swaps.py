from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.problem.posing import pose
from protobandit.search.drivers.ragged_swaps import changes_of_others, refine_eagerly
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 40, 16
MANY = 1000

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "uneven"])


class Witness(SwapState):
    """A swap state that checks the true cost after each swap."""

    def __init__(self, members, d, weights):
        super().__init__(np.array(members), d[:, members].T.copy(), weights)
        self.d = d
        self.swaps = []
        self.costs = [self.truth()]

    def truth(self):
        return float(self.d[:, self.members].min(axis=1) @ self.weights / self.weights.sum())

    def exchange(self, slot, arm, distances):
        assert arm not in self.members
        self.swaps.append((slot, arm))
        super().exchange(slot, arm, distances)
        self.costs.append(self.truth())
        assert self.costs[-1] < self.costs[-2]
        assert self.cost == pytest.approx(self.costs[-1], rel=1e-9)


def full(d, weights):
    """Return the ragged table of all distances, and the metric that counts its calls."""
    oracle, metric = watched(d)
    batch = RowBatch(0, oracle.targets(slice(0, len(d))), weights)
    return FullTable.of(oracle, np.arange(d.shape[1]), batch.targets).ragged(batch), metric


def ragged_table(d, weights, kept, *, seed=0):
    """Return a ragged table: the first rows, and one or two of three cells for each arm."""
    oracle, metric = watched(d)
    random = np.random.default_rng(seed)
    first = RowBatch(0, oracle.targets(slice(0, 8)), weights[:8])
    later = RowBatch(8, oracle.targets(slice(8, len(d))), weights[8:])
    cells = np.array([0, 9, 20, len(d) - 8])
    n_arms = d.shape[1]
    homes = np.array([random.permutation(3)[:2] for _ in range(n_arms)])
    held = FullTable.of(oracle, np.arange(n_arms), first.targets)
    needs_rows = ~np.isin(np.arange(n_arms), kept)
    limits = np.full(8, np.inf)
    return held.ragged(first).extended(
        np.arange(n_arms), later, cells, homes, needs_rows, limits
    ), metric


def weights_of(is_weighted, n=N_TARGET, seed=0):
    return uneven(n, seed) if is_weighted else np.ones(n)


def pairs_of(d, weights, members):
    """Return the cost after each swap of one of ``members`` for another arm."""
    others = [i for i in range(d.shape[1]) if i not in members]
    swaps = product(range(len(members)), others)
    return {
        (slot, arm): brute.cost(d, weights, [*members[:slot], arm, *members[slot + 1 :]])
        for slot, arm in swaps
    }


def pam(d, weights, members):
    """Return the swaps of PAM: the best of all pairs, while that lowers the cost."""
    members, swaps = list(members), []
    while True:
        pairs = pairs_of(d, weights, members)
        if not pairs:
            return swaps
        best = min(pairs, key=pairs.get)
        if not pairs[best] < brute.cost(d, weights, members) * (1 - 1e-7):
            return swaps
        members[best[0]] = best[1]
        swaps.append(best)


def require_local_minimum(d, weights, members):
    """Check that no single swap lowers the cost."""
    cost = brute.cost(d, weights, members)
    assert min(pairs_of(d, weights, members).values(), default=cost) >= cost * (1 - 1e-6)


# -- full tables -----------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("k", [1, 2, 5, N_SOURCE - 1])
@pytest.mark.parametrize("seed", range(3))
def test_every_swap_lowers_the_cost_until_none_does(is_weighted, k, seed):
    d, weights = table(N_TARGET, N_SOURCE, seed=seed), weights_of(is_weighted, seed=seed)
    start = np.random.default_rng(seed).permutation(N_SOURCE)[:k]
    ragged, metric = full(d, weights)
    swap_state = Witness(start, d, weights)
    n_swaps, changes = refine_eagerly(swap_state, ragged, passes=MANY)
    assert n_swaps == len(swap_state.swaps)
    np.testing.assert_array_equal(changes, changes_of_others(swap_state, ragged))
    assert len(set(swap_state.members.tolist())) == k
    require_local_minimum(d, weights, swap_state.members.tolist())
    assert refine_eagerly(swap_state, ragged, passes=MANY)[0] == 0
    assert metric.pairs.total() == d.size  # known distances need no evaluation


def test_no_pass_makes_no_swap():
    d, weights = table(60, 30, seed=1), np.ones(60)
    assert refine_eagerly(Witness(np.arange(3), d, weights), full(d, weights)[0], passes=0)[0] == 0


def test_an_eager_pass_makes_several_swaps_best_first():
    d, weights = table(60, 30, seed=1), np.ones(60)
    ragged, _ = full(d, weights)
    start = np.arange(6)
    swap_state = Witness(start, d, weights)
    n_swaps, changes = refine_eagerly(swap_state, ragged, passes=1)
    assert n_swaps > 1
    expected = changes_of_others(Witness(start, d, weights), ragged)  # before the swaps
    np.testing.assert_array_equal(changes, expected)
    assert swap_state.swaps[0] == pam(d, weights, start.tolist())[0]


def test_changes_are_computed_again_only_after_a_swap():
    class Recorder(Witness):
        def changes(self, ragged, arms):
            self.events.append("changes")
            return super().changes(ragged, arms)

        def exchange(self, slot, arm, distances):
            self.events.append("swap")
            super().exchange(slot, arm, distances)

    d, weights = table(60, 30, seed=1), np.ones(60)
    ragged, _ = full(d, weights)
    swap_state = Recorder(np.arange(6), d, weights)
    swap_state.events = []
    refine_eagerly(swap_state, ragged, passes=1)
    pairs = list(pairwise(swap_state.events))
    assert pairs[0] == ("changes", "swap")
    assert ("swap", "changes") in pairs
    assert ("changes", "changes") not in pairs


@pytest.mark.parametrize("k", [2, 6, 20])
def test_arms_are_tried_in_blocks_of_one_per_slot(monkeypatch, k):
    """A slot can be swapped again in the same pass, after all swaps of the earlier block."""
    asked, compute = [], RaggedTable.distances

    def distances(self, arms):
        asked.append(len(arms))
        return compute(self, arms)

    monkeypatch.setattr(RaggedTable, "distances", distances)
    most = 0
    for seed in range(5):
        d, weights = table(100, 60, seed=seed), np.ones(100)
        swap_state = Witness(d.mean(axis=0).argsort()[-k:], d, weights)  # the worst
        refine_eagerly(swap_state, full(d, weights)[0], passes=1)
        slots = [slot for slot, _ in swap_state.swaps]
        most = max(most, *(slots.count(slot) for slot in slots))
    assert most > 1
    assert max(asked) <= min(k, 8)
    # One bad prototype in each of k clusters: there is a swap for every slot.
    rows = (100 * np.arange(k)[:, None] + np.arange(9)).ravel()
    d = abs(rows[:, None] - rows[None, :]).astype(float)
    swap_state = Witness(9 * np.arange(k), d, np.ones(9 * k))
    refine_eagerly(swap_state, full(d, np.ones(9 * k))[0], passes=1)
    assert max(asked) == min(k, 8)
    assert swap_state.cost == pytest.approx(20 / 9)


@pytest.mark.parametrize("seed", range(4))
def test_swaps_find_one_prototype_per_cluster(seed):
    """From a start with all prototypes in one cluster."""
    random = np.random.default_rng(seed)
    centres = 100 * np.arange(5)[:, None]
    rows = (centres + random.normal(size=(5, 12))).ravel()
    d = abs(rows[:, None] - rows[None, :])
    swap_state = Witness(np.arange(5), d, np.ones(60))
    refine_eagerly(swap_state, full(d, np.ones(60))[0], passes=MANY)
    assert sorted(swap_state.members // 12) == [0, 1, 2, 3, 4]


# -- edge cases ------------------------------------------------------------------------------------


def test_without_other_rows_there_is_no_swap():
    d = table(N_TARGET, 6)
    swap_state = Witness(np.arange(6), d, np.ones(N_TARGET))
    assert refine_eagerly(swap_state, full(d, np.ones(N_TARGET))[0], passes=MANY)[0] == 0


@pytest.mark.parametrize("k", [1, 3, 8])
def test_identical_rows_are_not_swapped_for_each_other(k):
    for d in (np.zeros((10, 9)), np.full((10, 9), 0.3)):
        swap_state = Witness(np.arange(k), d, np.full(10, 0.1))
        assert refine_eagerly(swap_state, full(d, np.full(10, 0.1))[0], passes=MANY)[0] == 0


@pytest.mark.parametrize("k", [6, 7, 9])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_rounding_makes_no_swap_among_equal_rows(k, scale):
    """Six distinct rows: with one prototype for each, all changes are rounding."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        kinds = scale * random.normal(size=(6, 3))
        rows = kinds[np.concatenate([np.arange(6), random.integers(0, 6, size=34)])]
        weights = random.random(40)
        d = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2))
        optimal = Witness(np.arange(k), d, weights)
        assert refine_eagerly(optimal, full(d, weights)[0], passes=MANY)[0] == 0
        swap_state = Witness(random.permutation(40)[:k], d, weights)
        assert refine_eagerly(swap_state, full(d, weights)[0], passes=MANY)[0] <= 6
        assert swap_state.cost == 0


def test_weights_are_equivalent_to_copies_of_rows():
    copies = np.array([3, 1, 2, 0, 1] * 8)
    d = table(N_TARGET, N_SOURCE, seed=5)
    start = np.arange(4)
    by_weight = Witness(start, d, copies.astype(float))
    refine_eagerly(by_weight, full(d, copies.astype(float))[0], passes=MANY)
    repeated = np.repeat(d, copies, axis=0)
    by_copy = Witness(start, repeated, np.ones(len(repeated)))
    refine_eagerly(by_copy, full(repeated, np.ones(len(repeated)))[0], passes=MANY)
    assert by_weight.swaps == by_copy.swaps


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_ties_and_zeros(data):
    n_target = data.draw(st.integers(1, 12))
    n_source = data.draw(st.integers(2, 8))
    k = data.draw(st.integers(1, n_source))
    cells = st.lists(st.integers(0, 3), min_size=n_target * n_source, max_size=n_target * n_source)
    d = np.array(data.draw(cells), dtype=float).reshape(n_target, n_source)
    counts = st.lists(st.integers(0, 3), min_size=n_target, max_size=n_target).filter(any)
    weights = np.array(data.draw(counts), dtype=float)
    swap_state = Witness(np.arange(k), d, weights)
    refine_eagerly(swap_state, full(d, weights)[0], passes=MANY)
    require_local_minimum(d, weights, swap_state.members.tolist())


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_single_precision_never_raises_the_cost(unit):
    rows = (unit * brute.normal(120, 4)).astype(np.float32)
    oracle = Oracle(pose(rows, k=1), n_jobs=1)
    weights = np.random.default_rng(0).random(120)
    batch = RowBatch(0, oracle.targets(slice(0, 120)), weights)
    held = FullTable.of(oracle, np.arange(120), batch.targets)
    assert held.matrix.dtype == np.float32
    swap_state = Witness(np.arange(5), held.matrix.T, weights)
    refine_eagerly(swap_state, held.ragged(batch), passes=MANY)
    assert len(swap_state.swaps) > 3
    require_local_minimum(held.matrix.T.astype(np.float64), weights, swap_state.members.tolist())


# -- ragged tables ---------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_no_swap_on_a_ragged_table_raises_the_cost(is_weighted, k, seed):
    d, weights = table(N_TARGET, N_SOURCE, seed=seed), weights_of(is_weighted, seed=seed)
    weights[0] = 1.0
    start = np.random.default_rng(seed).permutation(N_SOURCE)[:k]
    ragged, metric = ragged_table(d, weights, start, seed=seed)
    before = metric.pairs.total()
    swap_state = Witness(start, d, weights)
    refine_eagerly(swap_state, ragged, passes=MANY)
    assert len(set(swap_state.members.tolist())) == k
    # An arm that is tried is computed at all later rows, also the known ones.
    n_tried, rest = divmod(metric.pairs.total() - before, N_TARGET - 8)
    assert rest == 0
    # Of the arms that are tried together, one per slot, at least the best is swapped.
    assert len(swap_state.swaps) <= n_tried <= k * len(swap_state.swaps)
    assert ragged.oracle.evaluations["build"] == metric.pairs.total()


def test_swaps_are_made_on_ragged_tables():
    swaps = 0
    for seed in range(6):
        d, weights = table(N_TARGET, N_SOURCE, seed=seed), np.ones(N_TARGET)
        start = np.arange(3)
        swap_state = Witness(start, d, weights)
        swaps += refine_eagerly(
            swap_state, ragged_table(d, weights, start, seed=seed)[0], passes=MANY
        )[0]
    assert swaps >= 6


def test_prototypes_are_not_candidates():
    d, weights = table(N_TARGET, N_SOURCE), np.ones(N_TARGET)
    ragged, _ = full(d, weights)
    swap_state = Witness([3, 8], d, weights)
    changes = changes_of_others(swap_state, ragged)
    assert np.isinf(changes[[3, 8]]).all()
    assert np.isfinite(np.delete(changes, [3, 8])).all()
