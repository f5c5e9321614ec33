from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import brute
from objectives.instances import table, uneven, watched
from protobandit._oracle import Oracle
from protobandit._problem import pose
from protobandit._sampling import Draws, Lottery, Order, RowOrder
from protobandit.drivers import Rung, race, ranked, rungs_for
from protobandit.drivers import _race as race_file
from protobandit.objectives import Standing

N_TARGET, N_SOURCE, K = 90, 40, 6
D = table(N_TARGET, N_SOURCE, seed=2)
RUNGS = [Rung(40, 20, 0, 2), Rung(30, 40, 2, 2), Rung(18, 70, 2, 3)]

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def weights_of(is_weighted):
    return np.random.default_rng(5).integers(0, 4, size=N_TARGET) * 1.0 if is_weighted else None


def laps_of(oracle, rungs=RUNGS, *, k=K, weights=None, seed=0, order=None, start=None):
    random = np.random.default_rng(seed)
    order = order or Order(len(oracle.problem.target), random)
    return list(race(oracle, order, rungs, k=k, weights=weights, random=random, start=start))


def by_columns(matrix):
    """Return the columns of a matrix in an order of their own."""
    return matrix[:, np.lexsort(matrix)]


# -- every lap -------------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("seed", range(5))
def test_a_lap_knows_its_prototypes_at_all_its_rows(is_weighted, seed):
    weights = weights_of(is_weighted)
    oracle, _ = watched(D)
    order = Order(N_TARGET, np.random.default_rng(seed))
    laps = laps_of(oracle, weights=weights, seed=seed, order=order)
    assert [lap.rung for lap in laps] == RUNGS
    for lap in laps:
        rows, prototypes = order.read(0, lap.rung.n_rows), lap.prototypes
        assert len(set(prototypes.tolist())) == K
        truth = D[np.ix_(rows, prototypes)].T
        np.testing.assert_array_equal(by_columns(lap.standing.matrix), by_columns(truth))
        own = np.ones(len(rows)) if weights is None else weights[rows]
        cost = brute.cost(D[rows], own, prototypes)
        assert lap.standing.cost == pytest.approx(cost, rel=1e-12)
        assert set(prototypes.tolist()) <= set(lap.arms.tolist())
        assert len(lap.arms) == lap.rung.n_arms
        assert not lap.is_exact
        assert lap.n_entrants == N_SOURCE


@weighted
def test_swaps_lower_the_cost_over_the_rows_of_the_lap(monkeypatch, is_weighted):
    costs = []

    class Witness(Standing):
        def exchange(self, slot, arm, distances):
            before = self.cost
            super().exchange(slot, arm, distances)
            costs.append((before, self.cost))

    monkeypatch.setattr(race_file, "Standing", Witness)
    n_swaps = 0
    for seed in range(8):
        laps = laps_of(watched(D)[0], weights=weights_of(is_weighted), seed=seed)
        n_swaps += sum(lap.n_swaps for lap in laps)
        assert laps[1].n_swaps + laps[2].n_swaps > 0
    assert len(costs) == n_swaps
    assert all(after < before for before, after in costs)


def test_the_build_is_greedy_on_the_first_rows():
    order = Order(N_TARGET, np.random.default_rng(0))
    (lap,) = laps_of(watched(D)[0], [Rung(40, 20, 0, 0)], order=order)
    assert lap.prototypes.tolist() == brute.greedy(D[order.read(0, 20)], np.ones(20), K)
    assert lap.n_swaps == 0


def test_a_race_may_start_from_prototypes_of_ones_own():
    order = Order(N_TARGET, np.random.default_rng(0))
    start = np.array([31, 4, 12, 0, 39, 17])
    (lap,) = laps_of(watched(D)[0], [Rung(40, 20, 0, 0)], order=order, start=start)
    assert lap.prototypes.tolist() == start.tolist()
    few = [Rung(12, 20, 0, 0), Rung(12, 60, 2, 9)]
    first, last = laps_of(watched(D)[0], few, order=order, start=start)
    assert first.prototypes.tolist() == start.tolist()
    assert last.n_swaps > 0
    assert brute.cost(D[order.read(0, 60)], np.ones(60), last.prototypes) < brute.cost(
        D[order.read(0, 60)], np.ones(60), start
    )


def test_when_every_arm_meets_every_row_no_swap_is_left():
    rungs = [Rung(40, 20, 0, 2), Rung(40, 50, K, 2), Rung(40, N_TARGET, K, 1000)]
    for seed in range(3):
        *_, lap = laps_of(watched(D)[0], rungs, seed=seed)
        chosen = lap.prototypes.tolist()
        cost = brute.cost(D, np.ones(N_TARGET), chosen)
        for slot in range(K):
            for arm in set(range(N_SOURCE)) - set(chosen):
                swapped = [*chosen[:slot], arm, *chosen[slot + 1 :]]
                assert brute.cost(D, np.ones(N_TARGET), swapped) >= cost * (1 - 1e-6)


def test_laps_do_not_change_once_the_race_goes_on():
    oracle, random = watched(D)[0], np.random.default_rng(0)
    laps = race(oracle, Order(N_TARGET, random), RUNGS, k=K, weights=None, random=random)
    first = next(laps)
    before = first.prototypes.copy(), first.standing.cost
    list(laps)
    assert first.prototypes.tolist() == before[0].tolist()
    assert first.standing.cost == before[1]


# -- how many evaluations --------------------------------------------------------------------------


def test_evaluations_are_counted_by_phase():
    oracle, metric = watched(D)
    laps = laps_of(oracle)
    assert oracle.evaluations["build"] == 40 * 20
    assert oracle.evaluations.total() == metric.pairs.total()
    assert oracle.evaluations["swap"] > 0
    assert oracle.phase == "build"
    assert len(laps) == 3


def test_without_swaps_no_pair_is_computed_twice():
    """Prototypes meet the new rows when these are sorted into cells, and not again."""
    oracle, metric = watched(D)
    rungs = [Rung(40, 20, 0, 0), Rung(30, 40, 2, 0), Rung(18, 70, 2, 0)]
    laps_of(oracle, rungs)
    assert max(metric.pairs.values()) == 1
    assert metric.pairs.total() < 40 * 20 + 30 * 20 + 18 * 30


def test_arms_meet_more_rows_near_their_homes_only():
    """Three lumps: an arm of one has no business with the rows of the others."""
    random = np.random.default_rng(0)
    rows = (100 * np.arange(3)[:, None] + random.normal(size=(3, 40))).ravel()
    d = abs(rows[:, None] - rows[None, :])
    oracle, metric = watched(d)
    laps = laps_of(oracle, [Rung(120, 30, 0, 1), Rung(120, 120, 1, 1)], k=3)
    prototypes = set(laps[0].prototypes.tolist()) | set(laps[1].prototypes.tolist())
    arms = set(range(120)) - prototypes
    for arm in arms:
        met = [target for target in range(120) if metric.pairs[target, arm]]
        elsewhere = [target for target in met if target // 40 != arm // 40]
        assert len(met) - len(elsewhere) == 40
        assert len(elsewhere) < 30


def test_evaluations_do_not_depend_on_the_size_of_the_target():
    random = np.random.default_rng(0)
    source = random.normal(size=(400, 4)).astype(np.float32)
    target = random.normal(size=(200_000, 4)).astype(np.float32)
    counts = []
    for n_target in (20_000, 200_000):
        rungs = rungs_for(
            n_source=400,
            n_target=n_target,
            k=12,
            effort=1.0,
            at_once=0,
            entries=10**9,
            evaluations=None,
        )
        oracle = Oracle(pose(source, target[:n_target], k=12), n_jobs=1)
        laps_of(oracle, rungs, k=12)
        counts.append(oracle.evaluations.total())
    assert max(counts) < 1.1 * min(counts)
    assert max(counts) < 0.1 * 400 * 20_000


# -- who takes part --------------------------------------------------------------------------------


def test_fewer_arms_than_source_rows_are_drawn_at_random():
    drawn = set()
    for seed in range(4):
        laps = laps_of(watched(D)[0], [Rung(14, 20, 0, 2), Rung(12, 60, 2, 2)], seed=seed)
        assert len(set(laps[0].arms.tolist())) == len(laps[0].arms) == 14
        assert set(laps[1].arms.tolist()) <= set(laps[0].arms.tolist())
        assert {lap.n_entrants for lap in laps} == {14}
        drawn.add(tuple(laps[0].arms.tolist()))
    assert len(drawn) == 4


@pytest.mark.parametrize("k", [1, N_SOURCE])
def test_one_prototype_and_all_source_rows(k):
    rungs = [Rung(40, 20, 0, 2), Rung(40, 40, min(8, k), 2), Rung(40, 70, min(8, k), 6)]
    for seed in range(3):
        laps = laps_of(watched(D)[0], rungs, k=k, seed=seed)
        assert all(len(set(lap.prototypes.tolist())) == k for lap in laps)
    if k == 1:
        rows = Order(N_TARGET, np.random.default_rng(seed)).read(0, 70)
        assert laps[-1].prototypes[0] == D[rows].mean(axis=0).argmin()


def test_identical_rows_race_in_peace():
    oracle, metric = watched(np.zeros((N_TARGET, N_SOURCE)))
    laps = laps_of(oracle)
    assert all(len(set(lap.prototypes.tolist())) == K for lap in laps)
    assert [lap.n_swaps for lap in laps] == [0, 0, 0]
    assert max(metric.pairs.values()) == 1


# -- weights ---------------------------------------------------------------------------------------


def test_rows_drawn_by_weight_need_no_weights():
    weights = uneven(N_TARGET) ** 3
    random = np.random.default_rng(0)
    order = Draws(Lottery(weights), random)
    laps = laps_of(watched(D)[0], weights=None, order=order)
    for lap in laps:
        rows = order.read(0, lap.rung.n_rows)
        assert (weights[rows] > 0).all()
        cost = brute.cost(D[rows], np.ones(len(rows)), lap.prototypes)
        assert lap.standing.cost == pytest.approx(cost, rel=1e-12)


def test_first_rows_without_weight_do_no_harm():
    """The one row that counts comes last."""
    order = Order(N_TARGET, np.random.default_rng(0))
    weights = np.zeros(N_TARGET)
    weights[order.read(89, 90)] = 3.0
    rungs = [*RUNGS, Rung(18, N_TARGET, 2, 6)]
    laps = laps_of(watched(D)[0], rungs, weights=weights, order=order)
    costs = [lap.standing.cost for lap in laps]
    assert np.isfinite(costs).all()
    assert costs[-1] == pytest.approx(brute.cost(D, weights, laps[-1].prototypes), rel=1e-9)
    before = brute.cost(D, weights, laps[-2].prototypes)
    assert costs[-1] <= before * (1 + 1e-9)


# -- the same dice, the same race ------------------------------------------------------------------


def test_seeds_and_threads():
    rows = np.random.default_rng(0).normal(size=(4000, 16)).astype(np.float32)
    rungs = [Rung(2000, 200, 0, 2), Rung(2000, 400, 4, 2), Rung(900, 800, 4, 6)]

    def run(seed, n_jobs):
        oracle = Oracle(pose(rows[:2000], rows[2000:], k=20), n_jobs=n_jobs)
        lap = laps_of(oracle, rungs, k=20, seed=seed)[-1]
        return lap.prototypes.tolist(), lap.standing.D.tobytes(), dict(oracle.evaluations)

    one = run(0, 1)
    assert run(0, 2) == one == run(0, 1)
    assert run(1, 1)[0] != one[0]


# -- the whole target ------------------------------------------------------------------------------


@weighted
def test_a_race_of_one_rung_over_everything_is_exact(is_weighted):
    weights = weights_of(is_weighted)
    (lap,) = laps_of(watched(D)[0], [Rung(40, N_TARGET, 0, 6)], weights=weights, order=RowOrder())
    assert lap.is_exact
    plain = np.ones(N_TARGET) if weights is None else weights
    greedy = brute.cost(D, plain, brute.greedy(D, plain, K))
    assert brute.cost(D, plain, lap.prototypes) <= greedy + 1e-12


@weighted
def test_ranked_prototypes_are_greedy_among_themselves(is_weighted):
    weights = weights_of(is_weighted)
    oracle, metric = watched(D)
    (lap,) = laps_of(oracle, [Rung(40, N_TARGET, 0, 6)], weights=weights, order=RowOrder())
    spent = metric.pairs.total()
    picks = list(ranked(oracle, lap, np.random.default_rng(0)))
    slots = [int(arm) for pick in picks for arm in pick.arms]
    assert sorted(slots) == list(range(K))
    plain = np.ones(N_TARGET) if weights is None else weights
    assert slots == brute.greedy(D[:, lap.prototypes], plain, K)
    costs = picks[-1].objective.costs
    chosen = lap.prototypes[slots]
    np.testing.assert_allclose(costs, brute.costs(D, plain, chosen), rtol=1e-12)
    drops = -np.diff(costs)
    assert all(after <= before + 1e-12 for before, after in pairwise(drops))
    assert metric.pairs.total() == spent
