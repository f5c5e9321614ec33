from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brute
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import RaggedTable
from protobandit.oracle.target_orders import RandomOrder, RowOrder, WeightedOrder, WeightedSampler
from protobandit.problem.posing import pose
from protobandit.search.drivers.race import race as race_file
from protobandit.search.drivers.race.race import race
from protobandit.search.drivers.race.schedule import Rung, rungs_for
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE, K = 90, 40, 6
D = table(N_TARGET, N_SOURCE, seed=2)
RUNGS = [Rung(40, 20, 0, 2), Rung(30, 40, 2, 2), Rung(18, 70, 2, 3)]
PERTURBED = [*RUNGS[:-1], replace(RUNGS[-1], n_finalists=14, n_trials=40)]

laid_out = pytest.mark.parametrize("rungs", [RUNGS, PERTURBED], ids=["plain", "perturbed"])
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


@pytest.fixture
def no_search(monkeypatch):
    """Do not search for far rows, which test_far_rows.py tests."""
    monkeypatch.setattr(race_file, "_with_far_rows", lambda race_state, *_: race_state)


def weights_of(is_weighted):
    return np.random.default_rng(5).integers(0, 4, size=N_TARGET) * 1.0 if is_weighted else None


def results_of(oracle, rungs=RUNGS, *, k=K, weights=None, seed=0, order=None, **options):
    random = np.random.default_rng(seed)
    order = order or RandomOrder(len(oracle.problem.target), random)
    return list(race(oracle, order, rungs, k=k, weights=weights, random=random, **options))


def by_columns(matrix):
    """Return the columns of a matrix, sorted."""
    return matrix[:, np.lexsort(matrix)]


# -- every result ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_search")
@weighted
@laid_out
@pytest.mark.parametrize("seed", range(5))
def test_a_result_has_the_distances_of_its_prototypes_to_all_rows(is_weighted, rungs, seed):
    weights = weights_of(is_weighted)
    oracle, _ = watched(D)
    order = RandomOrder(N_TARGET, np.random.default_rng(seed))
    results = results_of(oracle, rungs, weights=weights, seed=seed, order=order)
    assert [result.rung for result in results] == rungs
    for result in results:
        rows, prototypes = order.read(0, result.rung.n_rows), result.prototypes
        assert len(set(prototypes.tolist())) == K
        truth = D[np.ix_(rows, prototypes)].T
        np.testing.assert_array_equal(by_columns(result.swap_state.matrix), by_columns(truth))
        own = np.ones(len(rows)) if weights is None else weights[rows]
        cost = brute.cost(D[rows], own, prototypes)
        assert result.swap_state.cost == pytest.approx(cost, rel=1e-12)
        assert set(prototypes.tolist()) <= set(result.arms.tolist())
        assert len(result.arms) == (result.rung.n_finalists or result.rung.n_arms)
        assert not result.is_exact
        assert result.n_started == N_SOURCE


@pytest.mark.usefixtures("no_search")
@weighted
def test_swaps_lower_the_cost_over_the_rows_of_the_rung(monkeypatch, is_weighted):
    costs = []

    class Witness(SwapState):
        def exchange(self, slot, arm, distances):
            before = self.cost
            super().exchange(slot, arm, distances)
            costs.append((before, self.cost))

    monkeypatch.setattr(race_file, "SwapState", Witness)
    n_swaps = 0
    for seed in range(8):
        results = results_of(watched(D)[0], weights=weights_of(is_weighted), seed=seed)
        n_swaps += sum(result.n_swaps for result in results)
        assert results[1].n_swaps + results[2].n_swaps > 0
    assert len(costs) == n_swaps
    assert all(after < before for before, after in costs)


@pytest.mark.usefixtures("no_search")
def test_the_first_prototypes_are_those_of_greedy_on_the_first_rows():
    order = RandomOrder(N_TARGET, np.random.default_rng(0))
    (result,) = results_of(watched(D)[0], [Rung(40, 20, 0, 0)], order=order)
    assert result.prototypes.tolist() == brute.greedy(D[order.read(0, 20)], np.ones(20), K)
    assert result.n_swaps == 0


def test_a_race_can_start_from_given_prototypes():
    order = RandomOrder(N_TARGET, np.random.default_rng(0))
    start = np.array([31, 4, 12, 0, 39, 17])
    (result,) = results_of(watched(D)[0], [Rung(40, 20, 0, 0)], order=order, start=start)
    assert result.prototypes.tolist() == start.tolist()
    few = [Rung(12, 20, 0, 0), Rung(12, 60, 2, 9)]
    first, last = results_of(watched(D)[0], few, order=order, start=start)
    assert first.prototypes.tolist() == start.tolist()
    assert last.n_swaps > 0
    assert brute.cost(D[order.read(0, 60)], np.ones(60), last.prototypes) < brute.cost(
        D[order.read(0, 60)], np.ones(60), start
    )


def require_local_minimum(prototypes, but=()):
    """Check that no single swap lowers the cost over all rows, except swaps with ``but``."""
    chosen = prototypes.tolist()
    cost = brute.cost(D, np.ones(N_TARGET), chosen)
    for slot in range(len(chosen)):
        for arm in set(range(N_SOURCE)) - set(chosen) - set(but):
            swapped = [*chosen[:slot], arm, *chosen[slot + 1 :]]
            assert brute.cost(D, np.ones(N_TARGET), swapped) >= cost * (1 - 1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_with_all_arms_and_cells_the_result_is_a_local_minimum(k):
    """With more prototypes, distances beyond the fourth nearest prototype are ignored.

    Not all distances of former prototypes are known.
    """
    rungs = [Rung(40, 20, 0, 2), Rung(40, 50, k, 2), Rung(40, N_TARGET, k, 1000)]
    for seed in range(6):
        *former, result = results_of(watched(D)[0], rungs, k=k, seed=seed)
        require_local_minimum(
            result.prototypes, but=np.concatenate([one.prototypes for one in former])
        )


@pytest.mark.parametrize("k", [1, 2, 5, 6, 12])
def test_with_one_rung_the_result_is_a_local_minimum(k):
    for seed in range(3):
        (result,) = results_of(watched(D)[0], [Rung(40, N_TARGET, 0, 1000)], k=k, seed=seed)
        require_local_minimum(result.prototypes)


def test_a_result_does_not_change_when_the_race_goes_on():
    oracle, random = watched(D)[0], np.random.default_rng(0)
    results = race(oracle, RandomOrder(N_TARGET, random), RUNGS, k=K, weights=None, random=random)
    first = next(results)
    before = first.prototypes.copy(), first.swap_state.cost
    list(results)
    assert first.prototypes.tolist() == before[0].tolist()
    assert first.swap_state.cost == before[1]


# -- finalists -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_search")
@weighted
@pytest.mark.parametrize("seed", range(6))
def test_finalists_need_their_rows_and_never_raise_the_cost(is_weighted, seed):
    plain, perturbed = watched(D), watched(D)
    weights = weights_of(is_weighted)
    *_, before = results_of(plain[0], weights=weights, seed=seed)
    *_, after = results_of(perturbed[0], PERTURBED, weights=weights, seed=seed)
    rows = RandomOrder(N_TARGET, np.random.default_rng(seed)).read(0, 70)
    own = np.ones(70) if weights is None else weights[rows]
    costs = [brute.cost(D[rows], own, result.prototypes) for result in (before, after)]
    assert costs[1] <= costs[0]
    assert set(before.prototypes.tolist()) <= set(after.arms.tolist())
    assert set(after.arms.tolist()) <= set(before.arms.tolist())
    # Known are the distances of prototypes, and of all arms to the rows of the first rung.
    assert perturbed[0].evaluations["swap"] - plain[0].evaluations["swap"] == (14 - K) * (70 - 20)
    assert perturbed[0].evaluations.total() == perturbed[1].pairs.total()


def test_forced_swaps_lower_the_cost():
    n_better = 0
    for seed in range(12):
        costs = [
            results_of(watched(D)[0], rungs, seed=seed)[-1].swap_state.cost
            for rungs in (RUNGS, PERTURBED)
        ]
        n_better += costs[1] < costs[0] * (1 - 1e-6)
    assert n_better >= 4


def test_more_finalists_than_arms_means_all_arms():
    rungs = [*RUNGS[:-1], replace(RUNGS[-1], n_finalists=1000, n_trials=40)]
    oracle, metric = watched(D)
    *_, result = results_of(oracle, rungs)
    assert len(result.arms) == 18
    assert oracle.evaluations.total() == metric.pairs.total()
    assert result.swap_state.cost <= results_of(watched(D)[0])[-1].swap_state.cost


@pytest.mark.parametrize("n_finalists", [1, K - 1, K])
def test_as_few_finalists_as_prototypes_change_nothing(n_finalists):
    rungs = [*RUNGS[:-1], replace(RUNGS[-1], n_finalists=n_finalists, n_trials=40)]
    oracle, plain = watched(D)[0], watched(D)[0]
    one, other = results_of(oracle, rungs)[-1], results_of(plain)[-1]
    assert one.prototypes.tolist() == other.prototypes.tolist()
    assert one.arms.tolist() == other.arms.tolist()
    assert oracle.evaluations == plain.evaluations


def test_finalists_of_a_single_rung_need_no_evaluations():
    oracle, metric = watched(D)
    rung = Rung(40, N_TARGET, 0, 2, n_finalists=25, n_trials=60)
    for evaluations in (None, 40 * N_TARGET):
        (result,) = results_of(oracle, [rung], evaluations=evaluations)
        assert len(result.arms) == 25
    (plain,) = results_of(watched(D)[0], [replace(rung, n_finalists=0)])
    assert result.swap_state.cost <= plain.swap_state.cost
    assert metric.pairs.total() == 2 * 40 * N_TARGET


@pytest.mark.usefixtures("no_search")
def test_the_limit_determines_the_number_of_finalists(monkeypatch):
    """Independently of the number of arms that are kept."""
    monkeypatch.setattr(race_file, "_n_affordable", lambda *_: _[2].n_arms)
    plain = watched(D)[0]
    results_of(plain)
    spent = plain.evaluations.total()
    for left in (0, 49, 50, 149, 150, 8 * 50 - 1, 8 * 50, 10_000):
        oracle, metric = watched(D)
        *_, result = results_of(oracle, PERTURBED, evaluations=spent + left)
        n_more = min(max(left, 0) // 50, 14 - K)
        assert len(result.arms) == (K + n_more if n_more else 18)
        assert oracle.evaluations.total() == metric.pairs.total() == spent + 50 * n_more


@pytest.mark.parametrize("seed", range(4))
def test_a_race_with_finalists_stays_within_its_evaluations(seed):
    free = watched(D)[0]
    results_of(free, PERTURBED, seed=seed)
    whole, n_perturbed = free.evaluations.total(), 0
    for evaluations in range(40 * 20 + 400, whole + 400, 67):
        oracle, _ = watched(D)
        *_, result = results_of(oracle, PERTURBED, seed=seed, evaluations=evaluations)
        assert oracle.evaluations.total() <= evaluations
        n_perturbed += result.rung is PERTURBED[-1] and len(result.arms) <= 14
    assert n_perturbed > 0


# -- evaluations -----------------------------------------------------------------------------------


@laid_out
def test_evaluations_are_counted_by_phase(rungs):
    oracle, metric = watched(D)
    results = results_of(oracle, rungs)
    assert oracle.evaluations["build"] == 40 * 20
    assert oracle.evaluations.total() == metric.pairs.total()
    assert oracle.evaluations["swap"] > 0
    assert oracle.phase == "build"
    assert len(results) == 3


@pytest.mark.usefixtures("no_search")
def test_without_swaps_no_pair_is_computed_twice():
    """Distances of prototypes to new rows are computed when cells are assigned, and only then."""
    oracle, metric = watched(D)
    rungs = [Rung(40, 20, 0, 0), Rung(30, 40, 2, 0), Rung(18, 70, 2, 0)]
    results_of(oracle, rungs)
    assert max(metric.pairs.values()) == 1
    assert metric.pairs.total() < 40 * 20 + 30 * 20 + 18 * 30


def test_arms_read_later_rows_of_their_home_cells_only():
    """Three clusters: the rows of the others are not in the home cell of an arm."""
    random = np.random.default_rng(0)
    rows = (100 * np.arange(3)[:, None] + random.normal(size=(3, 40))).ravel()
    d = abs(rows[:, None] - rows[None, :])
    oracle, metric = watched(d)
    results = results_of(oracle, [Rung(120, 30, 0, 1), Rung(120, 120, 1, 1)], k=3)
    prototypes = set(results[0].prototypes.tolist()) | set(results[1].prototypes.tolist())
    arms = set(range(120)) - prototypes
    for arm in arms:
        read = [target for target in range(120) if metric.pairs[target, arm]]
        elsewhere = [target for target in read if target // 40 != arm // 40]
        assert len(read) - len(elsewhere) == 40
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
        results_of(oracle, rungs, k=12)
        counts.append(oracle.evaluations.total())
    assert max(counts) < 1.1 * min(counts)
    assert max(counts) < 0.1 * 400 * 20_000


# -- arms ------------------------------------------------------------------------------------------


def test_fewer_arms_than_source_rows_are_drawn_at_random():
    drawn = set()
    for seed in range(4):
        results = results_of(watched(D)[0], [Rung(14, 20, 0, 2), Rung(12, 60, 2, 2)], seed=seed)
        assert len(set(results[0].arms.tolist())) == len(results[0].arms) == 14
        assert set(results[1].arms.tolist()) <= set(results[0].arms.tolist())
        assert {result.n_started for result in results} == {14}
        drawn.add(tuple(results[0].arms.tolist()))
    assert len(drawn) == 4


@pytest.mark.parametrize("k", [1, N_SOURCE])
@pytest.mark.parametrize("n_finalists", [0, 30, 100])
def test_one_prototype_and_all_source_rows(k, n_finalists):
    last = Rung(40, 70, min(8, k), 6, n_finalists=n_finalists, n_trials=20)
    rungs = [Rung(40, 20, 0, 2), Rung(40, 40, min(8, k), 2), last]
    for seed in range(3):
        results = results_of(watched(D)[0], rungs, k=k, seed=seed)
        assert all(len(set(result.prototypes.tolist())) == k for result in results)
    if k == 1:
        rows = RandomOrder(N_TARGET, np.random.default_rng(seed)).read(0, 70)
        assert results[-1].prototypes[0] == D[rows].mean(axis=0).argmin()


@pytest.mark.usefixtures("no_search")
@laid_out
@pytest.mark.parametrize("distance", [0.0, 0.3])
def test_identical_rows_are_not_swapped(rungs, distance):
    oracle, metric = watched(np.full((N_TARGET, N_SOURCE), distance))
    results = results_of(oracle, rungs)
    assert all(len(set(result.prototypes.tolist())) == K for result in results)
    assert [result.n_swaps for result in results] == [0, 0, 0]
    assert metric.pairs.total() == oracle.evaluations.total()
    if rungs is RUNGS:
        assert max(metric.pairs.values()) == 1


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_search")
def test_rows_drawn_by_weight_need_no_weights():
    weights = uneven(N_TARGET) ** 3
    random = np.random.default_rng(0)
    order = WeightedOrder(WeightedSampler(weights), random)
    results = results_of(watched(D)[0], weights=None, order=order)
    for result in results:
        rows = order.read(0, result.rung.n_rows)
        assert (weights[rows] > 0).all()
        cost = brute.cost(D[rows], np.ones(len(rows)), result.prototypes)
        assert result.swap_state.cost == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("n_finalists", [0, 15])
def test_the_first_rows_may_have_no_weight(n_finalists):
    """Only the last row has a weight."""
    order = RandomOrder(N_TARGET, np.random.default_rng(0))
    weights = np.zeros(N_TARGET)
    weights[order.read(89, 90)] = 3.0
    rungs = [*RUNGS, Rung(18, N_TARGET, 2, 6, n_finalists=n_finalists, n_trials=30)]
    results = results_of(watched(D)[0], rungs, weights=weights, order=order)
    costs = [result.swap_state.cost for result in results]
    assert np.isfinite(costs).all()
    assert costs[-1] == pytest.approx(brute.cost(D, weights, results[-1].prototypes), rel=1e-9)
    before = brute.cost(D, weights, results[-2].prototypes)
    assert costs[-1] <= before * (1 + 1e-9)


# -- seeds and threads -----------------------------------------------------------------------------


def test_seeds_and_threads():
    rows = np.random.default_rng(0).normal(size=(4000, 16)).astype(np.float32)
    last = Rung(900, 800, 4, 6, n_finalists=360, n_trials=100)
    rungs = [Rung(2000, 200, 0, 2), Rung(2000, 400, 4, 2), last]

    def run(seed, n_jobs):
        oracle = Oracle(pose(rows[:2000], rows[2000:], k=20), n_jobs=n_jobs)
        result = results_of(oracle, rungs, k=20, seed=seed)[-1]
        return result.prototypes.tolist(), result.swap_state.D.tobytes(), dict(oracle.evaluations)

    one = run(0, 1)
    assert run(0, 2) == one == run(0, 4) == run(0, 1)
    assert run(1, 1)[0] != one[0]


# -- the whole target ------------------------------------------------------------------------------


@weighted
def test_one_rung_with_all_rows_is_exact(is_weighted):
    weights = weights_of(is_weighted)
    (result,) = results_of(
        watched(D)[0], [Rung(40, N_TARGET, 0, 6)], weights=weights, order=RowOrder()
    )
    assert result.is_exact
    plain = np.ones(N_TARGET) if weights is None else weights
    greedy = brute.cost(D, plain, brute.greedy(D, plain, K))
    assert brute.cost(D, plain, result.prototypes) <= greedy + 1e-12


# -- the budget of home cells ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_home_cells_stay_within_their_budget(seed):
    random = np.random.default_rng(seed)
    n_arms, n_cells, k = 200, 5, 30
    sizes = np.sort(random.pareto(0.5, k) * 10).astype(np.int64)[::-1]
    homes = np.array([random.permutation(k)[:n_cells] for _ in range(n_arms)])
    homes[random.random(homes.shape) < 0.2] = -1
    order, is_member = random.normal(size=n_arms), np.zeros(n_arms, dtype=bool)
    is_member[random.permutation(n_arms)[:k]] = True

    def cost(is_kept, homes):
        costs = np.append(sizes, 0)[homes].sum(axis=1)
        return costs[is_kept & ~is_member].sum()

    everything = cost(np.ones(n_arms, dtype=bool), homes)
    for share in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0):
        most = int(share * everything)
        is_kept, fewer = race_file._within_budget(homes, sizes, order, is_member, most)
        assert cost(is_kept, fewer) <= most
        assert is_kept[is_member].all()
        assert (fewer == homes[:, : fewer.shape[1]]).all()
        assert fewer.shape[1] == n_cells or fewer.shape[1] >= 2
        left_out = np.flatnonzero(~is_kept)
        per_arm = np.append(sizes, 0)[fewer].sum(axis=1)
        assert (per_arm[left_out] > most / n_arms).all(), "inexpensive arms stay"
        expensive = np.flatnonzero(is_kept & ~is_member & (per_arm > most / n_arms))
        if len(left_out) and len(expensive):
            assert order[expensive].max() < order[left_out].min(), "the best of the others stay"
    assert is_kept.all()
    assert fewer.shape[1] == n_cells


def test_swaps_stay_within_their_budget(monkeypatch):
    """However many arms look better, only as many are tried as the rung may compute."""
    calls = []

    def counted(self, arms):
        calls.append(len(arms))
        return distances(self, arms)

    distances = RaggedTable.distances
    monkeypatch.setattr(RaggedTable, "distances", counted)
    monkeypatch.setattr(race_file, "most_for_swaps", lambda first, rung, k: 3 * rung.n_rows)
    results_of(watched(D)[0])
    assert 0 < sum(calls) <= 3 * 2 * len(RUNGS)
