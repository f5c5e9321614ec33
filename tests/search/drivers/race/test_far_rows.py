from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import LazyBandit
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder, WeightedOrder, WeightedSampler
from protobandit.problem.posing import pose
from protobandit.search.drivers.race import far_rows as far_file
from protobandit.search.drivers.race import race as race_file
from protobandit.search.drivers.race.far_rows import Budget, FarRowSearch, Strata
from protobandit.search.drivers.race.race import race
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.methods import lazybandit
from protobandit.search.objectives.swap_state import SwapState
from search.objectives.instances import table, watched

N_SOURCE, N_TARGET, K = 60, 2000, 5
RUNGS = [Rung(N_SOURCE, 30, 0, 1), Rung(40, 90, 4, 1), Rung(30, 200, 4, 6)]


def rows_with_pocket(n_pocket=6, *, distance=500.0, seed=0):
    """Return source and target; the last rows of both are far away."""
    random = np.random.default_rng(seed)
    source, target = random.normal(size=(N_SOURCE, 2)), random.normal(size=(N_TARGET, 2))
    source[-3:] += distance
    target[N_TARGET - n_pocket :] += distance
    return source, target


def distances(source, target):
    return np.linalg.norm(target[:, None] - source, axis=2)


def oracle_of(source, target):
    return Oracle(pose(source, target, k=1), n_jobs=1)


def results_of(oracle, rungs=RUNGS, *, k=K, weights=None, seed=0, order=None, **options):
    random = np.random.default_rng(seed)
    order = order or RandomOrder(len(oracle.problem.target), random)
    return list(race(oracle, order, rungs, k=k, weights=weights, random=random, **options))


def seeds_without_pocket(n, n_pocket=6):
    """Return seeds of orders that have no row of the pocket on the first two rungs."""
    found = []
    for seed in range(200):
        rows = RandomOrder(N_TARGET, np.random.default_rng(seed)).read(0, RUNGS[1].n_rows)
        found += [seed] if rows.max() < N_TARGET - n_pocket else []
    return found[:n]


def search_of(oracle, *, prototypes, n_first=30, order=None, weights=None, **options):
    order = order or RandomOrder(len(oracle.problem.target), np.random.default_rng(1))
    rows = order.read(0, n_first)
    matrix = oracle.distances(prototypes, oracle.targets(rows))
    own = np.ones(n_first) if weights is None else weights[rows]
    arms = np.arange(len(oracle.problem.source))
    options = {"is_whole": False, "budget": Budget(oracle, None)} | options
    state = SwapState(prototypes, matrix, own)
    return FarRowSearch(oracle, order, arms, state, weights=weights, **options), order


# -- the race --------------------------------------------------------------------------------------


def test_a_cluster_without_a_row_on_the_first_rungs_gets_a_prototype(monkeypatch):
    oracle = oracle_of(*rows_with_pocket())
    seeds = seeds_without_pocket(8)
    for seed in seeds:
        *_, last = results_of(oracle, seed=seed)
        assert last.prototypes.max() >= N_SOURCE - 3
    monkeypatch.setattr(race_file, "_with_far_rows", lambda race_state, *_: race_state)
    for seed in seeds:
        *_, last = results_of(oracle, seed=seed)
        assert last.prototypes.max() < N_SOURCE - 3, "such a cluster is lost without the search"


def test_evaluations_are_those_of_the_metric():
    source, target = rows_with_pocket()
    for seed in seeds_without_pocket(3):
        oracle, metric = watched(distances(source, target))
        results_of(oracle, seed=seed)
        assert oracle.evaluations.total() == metric.pairs.total()
        assert oracle.evaluations["build"] == N_SOURCE * 30


def test_far_rows_count_according_to_their_number():
    """The weight of the cluster in the sample is its share, on every rung."""
    oracle = oracle_of(*rows_with_pocket(20))
    shares = []
    for seed in seeds_without_pocket(10, 20):
        rungs = [Rung(N_SOURCE, 30, 0, 0), Rung(40, 90, 4, 0)]
        *_, last = results_of(oracle, rungs, seed=seed)
        state, centre = last.swap_state, np.flatnonzero(last.prototypes < N_SOURCE - 3)[0]
        is_far = state.matrix[centre] > 250
        shares.append(state.weights[is_far].sum() / state.weights.sum())
    np.testing.assert_allclose(shares, 20 / N_TARGET, rtol=0.05)


@pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])
def test_a_race_that_reads_all_rows_reads_each_once(is_weighted):
    source, target = rows_with_pocket(40)
    d = distances(source, target)
    weights = np.random.default_rng(0).integers(0, 3, N_TARGET) * 1.0 if is_weighted else None
    own = np.ones(N_TARGET) if weights is None else weights
    rungs = [*RUNGS, Rung(20, N_TARGET, 4, 6)]
    for seed in range(4):
        *_, last = results_of(oracle_of(source, target), rungs, seed=seed, weights=weights)
        assert last.swap_state.matrix.shape == (K, N_TARGET)
        cost = brute.cost(d, own, last.prototypes)
        assert last.swap_state.cost == pytest.approx(cost, rel=1e-9)


def test_without_far_rows_nothing_but_the_number_of_evaluations_changes(monkeypatch):
    random = np.random.default_rng(3)
    d = distances(random.uniform(size=(N_SOURCE, 2)), random.uniform(size=(N_TARGET, 2)))
    oracle, plain = watched(d)[0], watched(d)[0]
    found = results_of(oracle)
    monkeypatch.setattr(race_file, "_with_far_rows", lambda race_state, *_: race_state)
    expected = results_of(plain)
    for one, other in zip(found, expected, strict=True):
        assert one.prototypes.tolist() == other.prototypes.tolist()
        assert one.swap_state.D.tobytes() == other.swap_state.D.tobytes()
    more = oracle.evaluations.total() - plain.evaluations.total()
    assert 0 < more < 128 * K + 2 * N_TARGET


def test_several_clusters():
    random = np.random.default_rng(0)
    centres = np.vstack([np.zeros((1, 3)), 400 * random.normal(size=(6, 3))])
    own = np.repeat(np.arange(7), [1940, 10, 10, 10, 10, 10, 10])
    target = centres[own] + random.normal(size=(2000, 3))
    source = centres[np.repeat(np.arange(7), [48, 2, 2, 2, 2, 2, 2])] + random.normal(size=(60, 3))
    for seed in range(5):
        *_, last = results_of(oracle_of(source, target), k=10, seed=seed)
        nearest = distances(source[last.prototypes], centres).min(axis=1)
        assert nearest.max() < 10


def test_far_rows_without_source_rows_near_them():
    source, target = rows_with_pocket(40)
    d = distances(source[:-3], target)
    rungs = [replace(rung, n_arms=min(rung.n_arms, len(source) - 3)) for rung in RUNGS]
    oracle, metric = watched(d)
    *_, last = results_of(oracle, rungs)
    others = np.arange(N_TARGET - 40)
    best = min(
        brute.cost(d[others], np.ones(len(others)), brute.greedy(d[:500], np.ones(500), K)), 1
    )
    assert brute.cost(d[others], np.ones(len(others)), last.prototypes) < 1.3 * best
    assert oracle.evaluations.total() == metric.pairs.total()


@pytest.mark.parametrize("k", [1, 2, N_SOURCE - 1, N_SOURCE])
def test_every_number_of_prototypes(k):
    source, target = rows_with_pocket()
    rungs = [Rung(60, 80, 0, 1), Rung(60, 150, min(4, k), 1), Rung(60, 300, min(4, k), 6)]
    oracle, metric = watched(distances(source, target))
    for result in results_of(oracle, rungs, k=k):
        assert len(set(result.prototypes.tolist())) == k
    assert oracle.evaluations.total() == metric.pairs.total()


def test_threads_and_seeds():
    random = np.random.default_rng(0)
    rows = random.normal(size=(9000, 6)).astype(np.float32)
    rows[:20] += 1000
    rows[4000:4020] += 1000
    rungs = [Rung(4000, 100, 0, 1), Rung(3000, 300, 4, 1), Rung(900, 800, 4, 6)]

    def run(n_jobs):
        oracle = Oracle(pose(rows[:4000], rows[4000:], k=20), n_jobs=n_jobs)
        result = results_of(oracle, rungs, k=20)[-1]
        return result.prototypes.tolist(), result.swap_state.D.tobytes(), dict(oracle.evaluations)

    one = run(1)
    assert run(2) == one == run(4)
    assert min(one[0]) < 20


# -- which rows are far ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 5, 25])
@pytest.mark.parametrize("limit", [0.0, 0.01, 0.05, 0.2])
def test_a_scan_finds_exactly_the_rows_beyond_the_limit(k, limit):
    """Dissimilarities that are no metric: the order of comparisons has no effect on the result."""
    d = table(700, 40, seed=k)
    d[::50] += 5
    oracle, metric = watched(d)
    prototypes = np.random.default_rng(k).choice(40, k, replace=False)
    scan = far_file.FarRowScan(oracle, prototypes, d[:60, prototypes].T.copy(), limit)
    rows = np.arange(60, 700)
    places, matrix = scan.beyond(oracle.targets(rows))
    truth = d[np.ix_(rows, prototypes)]
    expected = np.flatnonzero(truth.min(axis=1) > limit)
    assert sorted(places.tolist()) == expected.tolist()
    np.testing.assert_array_equal(matrix, truth[places].T)
    assert oracle.evaluations.total() == metric.pairs.total()
    assert max(metric.pairs.values()) == 1


def test_near_rows_need_few_evaluations():
    """Twenty clusters: the pivots tell which prototype is near."""
    random = np.random.default_rng(0)
    centres = 100 * random.normal(size=(20, 5))
    rows = centres[random.integers(20, size=3000)] + random.normal(size=(3000, 5))
    d = distances(centres, rows)
    oracle, _ = watched(d)
    scan = far_file.FarRowScan(oracle, np.arange(20), d[:100].T.copy(), 12.0)
    places, _ = scan.beyond(oracle.targets(np.arange(100, 3000)))
    assert len(places) == 0
    assert oracle.evaluations.total() < 6 * 2900


@pytest.mark.parametrize("n_others", [4, 19])
def test_a_prototype_without_a_near_row_in_the_sample_keeps_its_rows(n_others):
    """It serves an outlier of the first rung, for which another arm may be better."""
    oracle = oracle_of(*rows_with_pocket())
    order = RandomOrder(N_TARGET, np.random.default_rng(seeds_without_pocket(1)[0]))
    prototypes = np.append(np.arange(n_others), N_SOURCE - 1)
    search, _ = search_of(oracle, prototypes=prototypes, order=order)
    found = search.find(np.random.default_rng(0))
    assert np.isin(np.arange(N_TARGET - 6, N_TARGET), found.rows).all()
    np.testing.assert_array_equal(found.strata.weights[30:], 1.0)
    expected = oracle.distances(prototypes, oracle.targets(found.rows))
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-6)


def test_several_far_clusters_are_not_typical():
    near = np.linspace(0.5, 1.5, 100)
    assert far_file._typical(near) == pytest.approx(near[:95].mean())
    far = np.append(near[:90], np.full(10, 1000.0))
    assert far_file._typical(far) == pytest.approx(near[:90].mean())
    assert far_file._typical(np.append(np.zeros(80), near[:20])) > 0.05
    assert far_file._typical(np.array([3.0])) == 3.0


def test_the_strata_have_the_extent_of_the_search(monkeypatch):
    monkeypatch.setattr(far_file, "_FAR_ROWS", 200)
    monkeypatch.setattr(far_file, "SEARCHED_ROWS", 800)
    monkeypatch.setattr(far_file, "_MORE_ROWS", 1500)
    source, target = rows_with_pocket(40)
    target[1000:1050] += 4.0
    oracle = oracle_of(source, target)
    search, order = search_of(oracle, prototypes=np.arange(20))
    typical = search._typical_distance()
    found = search.find(np.random.default_rng(0))
    nearest = distances(source[:20], target).min(axis=1)[order.read(0, 1500)] / typical
    at = np.arange(1500)
    expected = np.flatnonzero((nearest > 15) | ((nearest > 5) & (at < 200)))
    assert found.strata.positions.tolist() == expected.tolist()
    first, others = expected[expected < 30], expected[expected >= 30]
    assert (found.rows == order.read(0, 1500)[others]).all()
    extents = np.where(nearest > 15, 1500.0, 200.0)
    assert found.strata.extents[30:].tolist() == extents[others].tolist()
    assert found.strata.extents[first].tolist() == extents[first].tolist()
    assert (np.delete(found.strata.extents[:30], first) == 1).all()
    assert {200.0, 1500.0} == set(found.strata.extents[30:].tolist())


def test_weights_of_strata_grow_with_the_rows_of_the_rung():
    strata = Strata(np.array([3]), np.array([1.0, 2.0, 4.0]), np.array([1.0, 100.0, 1000.0]))
    assert strata.weights_on(50).tolist() == [1.0, 1.0, 0.2]
    assert strata.weights_on(500).tolist() == [1.0, 2.0, 2.0]
    assert strata.weights_on(5000).tolist() == [1.0, 2.0, 4.0]


def test_chances_are_in_proportion_and_at_most_one():
    sizes = np.array([1000.0, 1.0, 2.0, 3.0, 500.0, 1.0])
    chances = far_file._inclusion(sizes, 4)
    assert chances.sum() == pytest.approx(4)
    assert chances[[0, 4]].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(chances[[1, 2, 3, 5]], np.array([1, 2, 3, 1]) * 2 / 7)


def test_many_far_rows_are_thinned_without_bias(monkeypatch):
    monkeypatch.setattr(far_file, "MOST_FAR_ROWS", 30)
    random = np.random.default_rng(0)
    source, target = rows_with_pocket(200)
    target[-200:] += 200 * random.random((200, 1))
    oracle = oracle_of(source, target)
    sums, kept = [], []
    for seed in range(40):
        search, _ = search_of(oracle, prototypes=np.arange(20))
        found = search.find(np.random.default_rng(seed))
        weights = found.strata.weights[30:]
        sums.append(weights @ found.matrix.min(axis=0))
        kept.append(len(found.rows))
    monkeypatch.setattr(far_file, "MOST_FAR_ROWS", 10**6)
    search, _ = search_of(oracle, prototypes=np.arange(20))
    everything = search.find(np.random.default_rng(0))
    whole = everything.matrix.min(axis=0).sum()
    assert max(kept) <= 31
    assert np.mean(sums) == pytest.approx(whole, rel=0.02)


def test_draws_by_weight_are_compared_once():
    source, target = rows_with_pocket(10)
    weights = np.ones(N_TARGET)
    weights[-10:] = 3.0
    oracle, metric = watched(distances(source, target))
    order = WeightedOrder(WeightedSampler(weights), np.random.default_rng(0))
    search, _ = search_of(oracle, prototypes=np.arange(20), order=order)
    metric.pairs.clear()
    found = search.find(np.random.default_rng(0))
    # Rows that were used to find the typical distance are compared again.
    far = order.read(0, 72_000)[found.strata.positions]
    others = set(range(N_TARGET)) - set(order.read(0, 30 + 128).tolist()) - set(far.tolist())
    assert max(n for (row, _), n in metric.pairs.items() if row in others) == 1
    drawn = np.flatnonzero(order.read(0, 72_000) >= N_TARGET - 10)
    assert set(drawn.tolist()) <= set(found.strata.positions.tolist())


# -- arms near far rows ----------------------------------------------------------------------------


def test_entries_are_distances_of_arms_to_far_rows():
    source, target = rows_with_pocket(30)
    d = distances(source, target)
    oracle = watched(d)[0]
    search, _ = search_of(oracle, prototypes=np.arange(20))
    found = search.find(np.random.default_rng(0))
    arms, columns, values = found.entries()
    assert (np.diff(arms) >= 0).all()
    assert len(set(zip(arms.tolist(), columns.tolist(), strict=True))) == len(arms)
    np.testing.assert_array_equal(values, d[found.rows[columns], arms])
    # All arms in the cluster are known at all of its rows.
    own = set(np.flatnonzero(found.rows >= N_TARGET - 30).tolist())
    for arm in range(N_SOURCE - 3, N_SOURCE):
        assert own <= set(columns[arms == arm].tolist())
    # The others at the drawn rows, unless four prototypes are nearer.
    limits = np.sort(found.matrix, axis=0)[3]
    for arm in range(20, N_SOURCE - 3):
        expected = set(np.flatnonzero(d[found.rows, arm] < limits).tolist())
        assert set(columns[arms == arm].tolist()) == expected & set(found.drawn.tolist())


def test_one_cluster_needs_few_draws():
    source, target = rows_with_pocket(30)
    search, _ = search_of(watched(distances(source, target))[0], prototypes=np.arange(20))
    assert len(search.find(np.random.default_rng(0)).drawn) <= 3


def test_far_rows_that_cannot_be_improved_are_not_drawn_for_long():
    source, target = rows_with_pocket(30)
    oracle = watched(distances(source[:-3], target))[0]
    search, _ = search_of(oracle, prototypes=np.arange(20))
    assert len(search.find(np.random.default_rng(0)).drawn) <= 6


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_limit_is_kept_and_the_search_says_if_it_was_cut_short(seed):
    source, target = rows_with_pocket()
    assert results_of(oracle_of(source, target), seed=seed)[-1].is_searched
    searched = set()
    for evaluations in range(12_000, 100_000, 8_000):
        oracle = oracle_of(source, target)
        *_, last = results_of(oracle, seed=seed, evaluations=evaluations)
        assert oracle.evaluations.total() <= evaluations
        searched.add(last.is_searched)
    assert searched == {False, True}


def test_a_search_that_was_cut_short_is_a_warning(monkeypatch):
    monkeypatch.setattr(lazybandit, "AT_ONCE", 0)
    source, target = rows_with_pocket()
    limits = pb.Limits(evaluations=9_000)
    found = pb.select(source, target, k=K, limits=limits, random_state=0)
    assert WarningKind.LIMITED_SEARCH in {warning.kind for warning in found.warnings}
    assert found.evaluations <= 9_000 + K * N_TARGET
    assert "Allow more evaluations" in found.status
    assert pb.select(source, target, k=K, random_state=0).warnings == ()


# -- constraints -----------------------------------------------------------------------------------


def test_fixed_rows_and_quotas(monkeypatch):
    monkeypatch.setattr(lazybandit, "AT_ONCE", 0)
    source, target = rows_with_pocket()
    groups = np.arange(N_SOURCE) % 2
    constraints = pb.Constraints(fixed=[4], groups=groups, at_least=2, at_most=3)
    for seed in range(4):
        found = pb.select(
            source,
            target,
            k=K,
            method=LazyBandit(effort=0.3),
            constraints=constraints,
            random_state=seed,
        )
        assert 4 in found.indices
        assert set(np.bincount(groups[found.indices]).tolist()) == {2, 3}
        assert found.indices.max() >= N_SOURCE - 3


@pytest.mark.parametrize("share", [0.01, 0.6])
def test_few_rows_with_a_large_weight(monkeypatch, share):
    monkeypatch.setattr(lazybandit, "AT_ONCE", 0)
    source, target = rows_with_pocket(1)
    weights = np.ones(N_TARGET)
    weights[-1] = share / (1 - share) * (N_TARGET - 1)
    for seed in range(6):
        found = pb.select(
            source,
            target,
            k=K,
            weights=weights,
            method=LazyBandit(effort=0.3),
            random_state=seed,
        )
        assert found.indices.max() >= N_SOURCE - 3


# -- several clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", ["fast", "balanced", "thorough"])
def test_the_prototype_that_stays_is_good_if_most_go_to_far_clusters(effort):
    """Four clusters and k = 5: the rows in the middle have one prototype."""
    centres = 500 * np.array([[1, 0], [0, 1], [-1, 0], [0.7, -0.7]])

    def rows(n, n_far, seed):
        made = np.random.default_rng(seed).normal(size=(n, 2))
        made[: 4 * n_far] += np.repeat(centres, n_far, axis=0)
        return made

    source, target = rows(1200, 2, 0), rows(20_000, 20, 1)
    middle = ((source[8:, None] - target[None, 80::40]) ** 2).sum(axis=2).mean(axis=1).argmin() + 8
    best = [0, 2, 5, 7, middle]  # of the clusters, any row of each is good
    known = ((target[:, None] - source[None, best]) ** 2).sum(axis=2).min(axis=1).mean()
    for seed in range(2):
        method = pb.methods.LazyBandit(effort=effort)
        found = pb.select(
            source, target, k=5, metric="sqeuclidean", method=method, random_state=seed
        )
        assert found.assign(target).distances.mean() < 1.05 * known


def test_more_than_32_clusters_are_found():
    random = np.random.default_rng(0)
    centres = random.normal(size=(48, 8))
    centres *= 1000 / np.linalg.norm(centres, axis=1)[:, None]
    source, target = random.normal(size=(1500, 8)), random.normal(size=(30_000, 8))
    source[:96] += np.repeat(centres, 2, axis=0)
    target[:960] += np.repeat(centres, 20, axis=0)
    found = pb.select(source, target, k=60, method=pb.methods.LazyBandit(effort="fast"))
    assert len(set(found.indices[found.indices < 96] // 2)) == 48


@pytest.mark.parametrize(("k", "n_farthest"), [(5, 120), (14, 300)])
def test_a_cluster_much_farther_than_another_does_not_hide_it(k, n_farthest):
    """With squares, the far rows of one cluster have 1,000 times the cost of the other's."""

    def rows(n, n_far, n_near, seed):
        made = np.random.default_rng(seed).normal(size=(n, 2))
        made[:n_far] += 2000
        made[n_far : n_far + n_near] -= 80
        return made

    source, target = rows(600, 3, 3, 0), rows(40_000, n_farthest, 40, 1)
    method = LazyBandit(effort="fast")
    for seed in range(4):
        found = pb.select(
            source, target, k=k, metric="sqeuclidean", method=method, random_state=seed
        )
        clusters = found.indices // 3
        assert {0, 1} <= set(clusters.tolist())


def test_every_group_of_far_rows_keeps_some():
    source, target = rows_with_pocket(100)
    source[-3:-1] *= 100
    target[-100:-5] *= 100
    search, _ = search_of(oracle_of(source, target), prototypes=np.arange(5))
    kept = search.find(np.random.default_rng(0)).rows
    assert len(kept) <= 65
    assert np.count_nonzero(kept >= N_TARGET - 5) >= 4
    assert np.count_nonzero(kept < N_TARGET - 5) >= 20


def test_a_far_row_at_a_prototype_does_not_end_the_search():
    """Its share is 0, not 0 / 0, which stopped the draws and left the other far rows alone."""
    oracle = oracle_of(*rows_with_pocket())
    targets = oracle.targets(np.arange(N_TARGET - 6, N_TARGET))
    matrix = np.full((2, 6), 100.0, dtype=oracle.dtype)
    matrix[1, 0] = 0.0
    near = far_file._NearFarRows(
        oracle, np.arange(N_SOURCE), targets, matrix, far_file.Budget(oracle, None)
    )
    near.draw(np.array([0.0, 1, 1, 1, 1, 1]), 1.0, np.random.default_rng(0))
    assert near.drawn
    assert 0 not in near.drawn
    assert near.arms


@pytest.mark.parametrize("weight", [1e5, 1e9])
@pytest.mark.parametrize("is_same", [True, False], ids=["S=T", "S!=T"])
def test_a_row_with_most_of_the_weight_gets_a_prototype(weight, is_same):
    """The row is not far from others, and the first rung has it only by chance."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(20_000, 8)).astype(np.float32)
    target = rows if is_same else random.permutation(rows)
    for seed in range(4):
        weights = np.ones(len(rows))
        heavy = int(random.integers(len(rows)))
        weights[heavy] = weight
        options = {"k": 100, "method": "lazybandit", "random_state": seed, "weights": weights}
        found = pb.select(rows, **options) if is_same else pb.select(rows, target, **options)
        assert distances(found.take(rows), target[[heavy]]).min() == 0.0


def test_heavy_rows_are_strata_of_the_whole_target():
    source, target = rows_with_pocket(0)
    weights = np.ones(len(target))
    order = RandomOrder(len(target), np.random.default_rng(0))
    late = order.read(len(target) - 3, len(target))
    weights[late[:2]] = 1e5
    search, _ = search_of(
        oracle_of(source, target), prototypes=np.arange(20), order=order, weights=weights
    )
    found = search.find(np.random.default_rng(0))
    assert set(late[:2].tolist()) <= set(found.rows.tolist())
    own = np.isin(found.rows, late[:2])
    assert (found.strata.extents[30:][own] == len(target)).all()
    assert (found.strata.weights[30:][own] == 1e5).all()
