from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import protobandit as pb
from protobandit.foundation.errors import InvalidInput
from protobandit.methods import LocalSearch
from protobandit.problem.posing import pose
from protobandit.search.control import SearchControl
from protobandit.search.drivers.localsearch import schedule, stages
from protobandit.search.methods import localsearch


def clusters(n, seed=0, n_columns=4):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(10, n_columns)) * 5
    return centres[random.integers(10, size=n)] + random.normal(size=(n, n_columns))


def select(*rows, seed=0, effort="balanced", **arguments):
    return pb.select(*rows, method=LocalSearch(effort=effort), random_state=seed, **arguments)


@pytest.mark.parametrize("seed", range(3))
def test_the_cost_is_that_of_fasterpam(seed):
    rows = clusters(2500, seed)
    chosen = select(rows, k=25, seed=seed)
    other = pb.select(rows, k=25, method="fasterpam", random_state=seed)
    assert chosen.cost < 1.01 * other.cost
    exact = cdist(rows, rows[chosen.indices]).min(axis=1).mean()
    assert chosen.cost == pytest.approx(exact)
    assert "exact" in chosen.status


def test_prefix_costs_and_mass_are_exact():
    rows, target = clusters(900), clusters(1300, 7)
    weights = np.random.default_rng(0).random(1300)
    chosen = select(rows, target, k=9, weights=weights)
    exact = cdist(target, rows[chosen.indices])
    running = np.minimum.accumulate(exact, axis=1)
    np.testing.assert_allclose(chosen.costs, weights @ running / weights.sum())
    mass = np.bincount(exact.argmin(axis=1), weights, minlength=9) / weights.sum()
    np.testing.assert_allclose(chosen.mass, mass)


def mostly_equal(n, n_values, seed=0):
    """Return rows nine in ten of which are 0, and the others one of some unit vectors."""
    random = np.random.default_rng(seed)
    labels = np.where(random.random(n) < 0.9, 0, random.integers(1, n_values + 1, size=n))
    return np.vstack([np.zeros((1, n_values)), np.eye(n_values)])[labels], labels


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [60, 210, 260, 320])
def test_repeated_rows_take_few_prototypes(seed, k):
    rows, labels = mostly_equal(8000, 300, seed)
    chosen = select(rows.astype(np.float32), k=k, seed=seed)
    n_rows = np.sort(np.bincount(labels)[1:])
    best = n_rows[: max(0, 301 - k)].sum() / len(rows)  # these are at the distance 1
    assert len(np.unique(labels[chosen.indices])) == min(k, len(np.unique(labels)))
    assert chosen.cost <= 1.15 * best


def test_rows_drawn_several_times_are_chosen_once(monkeypatch):
    monkeypatch.setattr(schedule, "_LEAST_ROWS", 1500)
    monkeypatch.setattr(schedule, "_MOST_ROWS", 8)
    for seed in range(3):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(6000, 4))
        rows[random.random(6000) < 0.9] = 0
        weights = random.pareto(0.8, 6000)
        chosen = select(rows, k=180, weights=weights, seed=seed)
        assert len(set(chosen.indices.tolist())) == 180


def test_repeated_rows_of_a_target_of_their_own():
    source, _ = mostly_equal(8000, 300)
    target, _ = mostly_equal(3000, 300, 1)
    chosen = select(source, target, k=300)
    few = pb.select(source, target, k=300, method="random", random_state=0)
    assert chosen.cost < 0.15 * few.cost


def test_evaluations_of_repeated_rows_are_counted_and_threads_agree():
    rows, calls = mostly_equal(2500, 250)[0], []

    def counting(targets, sources):
        calls.append(len(targets) * len(sources))
        return cdist(targets, sources)

    one = select(rows, k=230, metric=pb.block_metric(counting))
    assert sum(calls) == one.evaluations
    few, many = (select(rows.astype(np.float32), k=230, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(few.indices, many.indices)
    plan = pb.plan(rows, k=230, method="localsearch")
    assert few.evaluations <= plan.most_evaluations


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_threads_do_not_change_the_result(metric):
    rows = clusters(6000, 1, n_columns=16).astype(np.float32)
    one, two = (select(rows, k=60, metric=metric, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.indices, two.indices)
    assert one.evaluations == two.evaluations
    np.testing.assert_array_equal(one.costs, two.costs)


def test_the_loop_over_patches_and_the_fused_kernel_agree():
    rows = clusters(3000, 2, n_columns=16)
    fused = select(rows, k=30)
    slow = select(rows, k=30, metric=pb.block_metric(lambda A, B: cdist(A, B)))
    assert fused.cost == pytest.approx(slow.cost, rel=0.01)
    assert fused.evaluations == pytest.approx(slow.evaluations, rel=0.5)


def test_all_source_rows_take_part_where_only_some_rows_are_judged(monkeypatch):
    monkeypatch.setattr(schedule, "_LEAST_ROWS", 256)
    monkeypatch.setattr(schedule, "_MOST_JUDGED", 1000)
    for held in (1 << 30, 0):
        monkeypatch.setattr(schedule, "_HELD_BYTES", held)
        rows = clusters(8000, 3)
        plan = LocalSearch().schedule(pose(rows, k=20), pb.Limits())
        assert plan.stages[-1].n_rows < 8000
        assert plan.stages[-1].n_sources == 8000
        assert plan.stages[-1].is_held == (held > 0)
        chosen = select(rows, k=20)
        full = pb.select(rows, k=20, method="fasterpam", random_state=0)
        exact = cdist(rows, rows[chosen.indices]).min(axis=1).mean()
        assert exact < 1.05 * full.cost


@pytest.mark.parametrize("share", [0.0005, 0.002])
def test_a_small_far_cluster_gets_a_prototype(share):
    random = np.random.default_rng(0)
    n = 40_000
    rows = random.normal(size=(n, 8)).astype(np.float32)
    rows[: round(share * n)] += 500
    for seed in range(4):
        chosen = select(rows, k=15, seed=seed)
        assert (chosen.indices < round(share * n)).any()


def test_many_prototypes_use_the_index_and_are_ordered():
    random = np.random.default_rng(0)
    rows = random.normal(size=(6000, 8)).astype(np.float32)
    chosen = select(rows, k=2200, effort="fast")
    assert len(set(chosen.indices.tolist())) == 2200
    at_random = pb.select(rows, k=2200, method="random", random_state=0)
    assert chosen.cost < 0.95 * at_random.cost
    assert (np.diff(chosen.costs) <= 0).all()
    assert chosen.at(100).cost < 1.2 * pb.select(rows, k=100, random_state=0).cost


def test_the_order_is_computed_on_a_sample_and_says_so(monkeypatch):
    monkeypatch.setattr(localsearch, "_ORDER_ENTRIES", 2000)
    rows = clusters(3000)
    chosen = select(rows, k=40)
    assert "The order of the prototypes was computed on 50 target rows" in chosen.status
    assert len(set(chosen.indices.tolist())) == 40
    monkeypatch.setattr(localsearch, "_ORDER_ENTRIES", 200)
    assert re.search(
        r"5 target rows; behind the first \d, they are ordered by mass", select(rows, k=40).status
    )


@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(9000) % 3])
def test_very_many_prototypes_are_ordered_in_cells(weights):
    random = np.random.default_rng(0)
    rows = random.standard_t(3, size=(9000, 3)).astype(np.float32)
    chosen = select(rows, k=4500, effort="fast", weights=weights)
    assert len(set(chosen.indices.tolist())) == 4500
    assert "by mass" not in chosen.status
    others = pb.select(rows, k=300, method="random", random_state=0, weights=weights)
    assert chosen.at(300).cost < 0.92 * others.cost
    plan = pb.plan(rows, k=4500, method=LocalSearch(effort="fast"), weights=weights)
    phases = chosen.evaluations_by_phase
    assert plan.measuring == phases["assign"] == 9000 * 4500
    assert phases["swap"] <= plan.most_evaluations
    assert f"then {9000 * 4500:,} to measure the cost" in str(plan)
    threads = [select(rows, k=4500, effort=0.3, weights=weights, n_jobs=n).indices for n in (1, 2)]
    np.testing.assert_array_equal(*threads)


def test_an_interruption_before_the_order_is_recorded(monkeypatch, tmp_path):
    def metric(targets, sources):
        return cdist(targets, sources)

    source, target = clusters(600), clusters(300, 1)
    options = {"k": 40, "metric": pb.block_metric(metric), "n_jobs": 1}
    whole = select(source, target, **options)
    asked = SearchControl.is_interrupted

    def is_interrupted(control):
        return sys._getframe(1).f_code.co_name == "picks" or asked(control)

    with monkeypatch.context() as patch:
        patch.setattr(SearchControl, "is_interrupted", is_interrupted)
        part = select(source, target, checkpoint=tmp_path / "search", **options)
    assert "stopped" in part.status
    resumed = select(source, target, checkpoint=tmp_path / "search", **options)
    np.testing.assert_array_equal(resumed.indices, whole.indices)
    np.testing.assert_array_equal(resumed.costs, whole.costs)
    assert resumed.evaluations == whole.evaluations


def test_a_limit_of_memory_shortens_the_order():
    rows = np.random.default_rng(0).random((60_000, 4)).astype(np.float32)
    chosen = select(rows, k=3000, effort=0.2, limits=pb.Limits(memory=100_000_000))
    assert len(set(chosen.indices.tolist())) == 3000


@pytest.mark.parametrize(
    "case", ["repeated", "few distinct", "one column", "all", "one", "short target", "no weight"]
)
def test_degenerate_problems_have_a_solution(case):
    random = np.random.default_rng(0)
    rows, target, weights, k = random.normal(size=(200, 3)), None, None, 10
    if case == "repeated":
        rows = np.repeat(rows[:20], 10, axis=0)
    elif case == "few distinct":
        rows = np.repeat(rows[:4], 50, axis=0)
    elif case == "one column":
        rows = rows[:, :1]
    elif case == "all":
        k = 200
    elif case == "one":
        k = 1
    elif case == "short target":
        target = random.normal(size=(4, 3))
    else:
        weights = np.zeros(200)
        weights[3] = 1.0
    chosen = select(rows, target, k=k, weights=weights)
    assert len(set(chosen.indices.tolist())) == k
    judged = rows if target is None else target
    own = np.ones(len(judged)) if weights is None else weights
    exact = own @ cdist(judged, rows[chosen.indices]).min(axis=1) / own.sum()
    assert chosen.cost == pytest.approx(exact, abs=1e-9)
    if case in ("few distinct", "all", "no weight"):
        assert chosen.cost == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_rows_without_weight_lose_all_their_prototypes_and_get_others(share):
    random, n_free = np.random.default_rng(0), round(2000 * share)
    rows, weights = random.normal(size=(2000, 4)), np.ones(2000)
    rows[:n_free] += 50
    weights[:n_free] = 0
    for k in (60, 300):
        chosen = select(rows, k=k, weights=weights)
        other = pb.select(rows, k=k, weights=weights, method="fasterpam", random_state=0)
        assert chosen.cost <= 1.03 * other.cost


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_drawn_by_weight(seed):
    rows, weights = clusters(4000, seed), np.ones(4000)
    weights[7] = 1e9
    chosen = select(rows, k=5, weights=weights, seed=seed)
    assert 7 in chosen.indices


def test_central_rows_are_those_of_the_weight(monkeypatch):
    monkeypatch.setattr(stages, "start_size", lambda *arguments: (0, 0))
    rows, weights = clusters(6000, 2), np.ones(6000)
    weights[rows[:, 0] > -2] = 0
    chosen = select(rows, k=12, weights=weights, seed=2)
    other = pb.select(rows, k=12, weights=weights, method="fasterpam", random_state=0)
    assert chosen.cost <= 1.01 * other.cost


def test_fixed_rows_and_quotas_hold():
    rows, groups = clusters(1200), np.arange(1200) % 3
    constraints = pb.Constraints(fixed=[5, 8], groups=groups, at_least={0: 4}, at_most={1: 3})
    chosen = select(rows, k=12, constraints=constraints)
    assert chosen.indices[:2].tolist() == [5, 8]
    counts = np.bincount(groups[chosen.indices], minlength=3)
    assert counts[0] >= 4
    assert counts[1] <= 3
    free = select(rows, k=12)
    assert chosen.cost >= free.cost * 0.99


@pytest.mark.parametrize("most", [20_000, 200_000, 2_000_000])
def test_a_limit_of_evaluations_holds(most):
    rows = clusters(4000)
    chosen = select(rows, k=20, limits=pb.Limits(evaluations=most))
    by_phase = chosen.evaluations_by_phase
    assert by_phase.get("build", 0) + by_phase.get("swap", 0) <= most
    assert len(chosen.indices) == 20


@pytest.mark.parametrize(("k", "most"), [(33, 33), (33, 34), (2000, 16_000), (2000, 80_000)])
def test_a_limit_that_allows_no_pass_holds(k, most):
    source, target = clusters(2500), clusters(3000, 1)
    chosen = select(source, target, k=k, limits=pb.Limits(evaluations=most))
    by_phase = chosen.evaluations_by_phase
    assert by_phase.get("build", 0) + by_phase.get("swap", 0) <= most
    assert len(set(chosen.indices.tolist())) == k
    assert "evaluations" in chosen.status


def test_the_plan_is_near_the_evaluations():
    for n, k in ((6000, 20), (20_000, 300), (9000, 2500)):
        rows = clusters(n, 4).astype(np.float32)
        plan = pb.plan(rows, k=k, method=LocalSearch())
        chosen = select(rows, k=k)
        spent = chosen.evaluations_by_phase["swap"]
        assert plan.evaluations / 2 < spent < 2 * plan.evaluations
        assert spent <= plan.most_evaluations


def test_an_invalid_effort_is_refused():
    with pytest.raises(InvalidInput, match="effort=0 is not allowed"):
        LocalSearch(effort=0)
