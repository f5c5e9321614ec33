"""Goals on problems too large to compute everything: k by a sample, confirmed by fresh rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.run import goal_judges, sampled_goals
from protobandit.run.goal_outcome import GoalEnd

GOALS = {
    "auto": {"k": "auto"},
    "coverage": {"until": pb.Coverage(0.8, radius=1.6)},
    "min gain": {"until": pb.MinGain(0.02)},
}
every_goal = pytest.mark.parametrize("goal", GOALS)


@pytest.fixture(autouse=True)
def _small_samples(monkeypatch):
    """Let problems of a few thousand rows be large ones."""
    monkeypatch.setattr(sampled_goals, "EXACT_PAIRS", 1 << 20)
    monkeypatch.setattr(sampled_goals, "EXPENSIVE_EXACT_PAIRS", 1 << 16)
    monkeypatch.setattr(goal_judges, "_SAMPLE", (300, 1000))
    monkeypatch.setattr(goal_judges, "_EXPENSIVE_SAMPLE", (60, 100))
    monkeypatch.setattr(goal_judges, "_FRESH_ROWS", 1400)
    monkeypatch.setattr(goal_judges, "_EXPENSIVE_FRESH_ROWS", 150)
    monkeypatch.setattr(goal_judges, "_ALL_PAIRS", 1 << 14)
    monkeypatch.setattr(goal_judges, "_EXPENSIVE_PAIRS", 0)


def clusters(n=6000, n_clusters=7, columns=3, seed=0):
    random = np.random.default_rng(seed)
    centres = random.permutation(n_clusters**2)[:n_clusters, None] * 6.0 + np.zeros(columns)
    rows = centres[random.integers(n_clusters, size=n)] + random.normal(size=(n, columns))
    return rows.astype(np.float32)


def covered(rows, selection, radius, weights=None):
    distances = np.full(len(rows), np.inf)
    for row in np.asarray(selection.prototypes, dtype=np.float64):
        distances = np.minimum(distances, np.linalg.norm(rows - row, axis=1))
    q = np.ones(len(rows)) if weights is None else weights
    return q[distances <= radius].sum() / q.sum()


# -- what is found ---------------------------------------------------------------------------------


def test_the_knee_is_the_number_of_clusters():
    found = pb.select(clusters(), k="auto", random_state=0)
    outcome = found.goal_outcome
    assert (found.k, found.method) == (7, "localsearch")
    assert outcome.end is GoalEnd.MET
    assert (outcome.n_sources, outcome.n_rows, outcome.result.n_rows) == (300, 1000, 1400)
    assert len(found.curve) == 100
    assert "determined on a sample of 300 source rows and 1,000 target rows." in found.status
    assert "on 1,400 fresh target rows is there." in found.status
    assert not found.warnings


def test_rows_without_clusters_have_no_clear_knee():
    found = pb.select(brute.normal(4000, 3), k="auto", random_state=0)
    assert found.goal_outcome.end is GoalEnd.UNCLEAR
    assert "no clear knee: there may be no natural number" in found.status


def test_a_cluster_that_the_sample_misses_changes_the_knee(monkeypatch):
    """The search with all rows finds it, and the curve with its prototypes shows it."""
    rows = clusters()
    rows[:20] += 5000
    monkeypatch.setattr(goal_judges, "_FRESH_ROWS", 3000)
    drawn = goal_judges._drawn_sources
    monkeypatch.setattr(
        goal_judges, "_drawn_sources", lambda *given: np.setdiff1d(drawn(*given), np.arange(20))
    )
    found = pb.select(rows, k="auto", random_state=0)
    assert [attempt.k for attempt in found.goal_outcome.attempts] == [7, 8]
    assert found.k == 8
    assert (found.indices < 20).any()
    assert "corrected in 2 attempts" in found.status


def test_a_cluster_that_neither_samples_nor_the_result_have_changes_the_knee(monkeypatch):
    """The other clusters need all prototypes, so the search leaves it out."""
    rows = clusters()
    rows[:3] += 900
    monkeypatch.setattr(goal_judges, "_ALL_PAIRS", 1 << 20)
    drawn = goal_judges.draw_rows
    monkeypatch.setattr(
        goal_judges, "draw_rows", lambda *given: np.setdiff1d(drawn(*given), np.arange(3))
    )
    found = pb.select(rows, k="auto", random_state=0)
    assert [attempt.k for attempt in found.goal_outcome.attempts] == [7, 8]
    assert (found.indices < 3).sum() == 1


@pytest.mark.parametrize("is_apart", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_coverage_holds_for_the_whole_target(is_apart, is_weighted):
    for seed in range(2):
        source = brute.normal(5000, 3, seed=seed)
        target = 1.1 * brute.normal(7000, 3, seed=seed + 50) if is_apart else source
        random = np.random.default_rng(seed)
        weights = random.pareto(1.2, size=len(target)) if is_weighted else None
        found = pb.select(
            source,
            target if is_apart else None,
            weights=weights,
            until=pb.Coverage(0.8, radius=1.2),
            random_state=seed,
        )
        outcome, share = found.goal_outcome, covered(target, found, 1.2, weights)
        assert outcome.end is GoalEnd.MET
        assert 0.8 <= share < 0.92
        assert outcome.result.least <= share + 1e-9
        assert 0.8 <= outcome.result.least <= outcome.result.measured
        assert "with 95% confidence at least" in found.status


def test_a_coverage_needs_about_as_many_prototypes_as_an_exact_search():
    rows = brute.normal(3000, 2)
    goal = pb.Coverage(0.9, radius=0.6)
    exact = pb.select(rows, until=goal, method="lazygreedy")
    found = pb.select(rows, until=goal, random_state=0)
    assert found.goal_outcome is not None
    assert exact.goal_outcome is None
    assert found.k <= 1.35 * exact.k


def test_all_target_rows_are_read_if_they_are_few(monkeypatch):
    monkeypatch.setattr(goal_judges, "_ALL_PAIRS", 1 << 20)
    rows = brute.normal(3000, 2)
    found = pb.select(rows, until=pb.Coverage(0.9, radius=0.9), random_state=0)
    result = found.goal_outcome.result
    assert result.n_rows == 3000
    assert result.least == result.measured == pytest.approx(covered(rows, found, 0.9))
    assert "% of the target lies within 0.9 of a prototype." in found.status
    whole = pb.select(rows, until=pb.Coverage(1.0, radius=2.0), random_state=0)
    assert covered(rows, whole, 2.0) == 1
    assert whole.goal_outcome.is_met


def test_a_share_close_to_1_reads_all_target_rows():
    """A sample cannot confirm it."""
    rows = brute.normal(1500, 2)
    found = pb.select(rows, until=pb.Coverage(1.0, radius=1.5), random_state=0)
    assert found.goal_outcome.result.n_rows == 1500
    assert covered(rows, found, 1.5) == 1


def test_a_tiny_radius_ends_at_the_largest_number(monkeypatch):
    monkeypatch.setattr(goal_judges, "MOST_PROTOTYPES", 40)
    rows, goal = brute.normal(4000, 3), pb.Coverage(0.9, radius=1e-3)
    found = pb.select(rows, until=goal, random_state=0)
    assert found.k == 40
    assert found.goal_outcome.end is GoalEnd.MISSED
    assert len(found.goal_outcome.attempts) == 1
    assert [warning.kind for warning in found.warnings] == [WarningKind.GOAL_MISSED]
    assert "40 prototypes, the most that are tried if k is not passed" in found.status
    given = pb.select(rows, k=60, until=goal, random_state=0)
    assert given.k == 60
    assert "which does not confirm 90 %: k is too small." in given.status


def test_a_share_that_no_source_rows_reach_raises():
    source, target = brute.normal(2000, 2), brute.normal(3000, 2, seed=1)
    target[:900] += 50
    with pytest.raises(
        pb.InvalidInput, match=r"of a sample of [\d,]+ target rows, all source"
    ) as e:
        pb.select(source, target, until=pb.Coverage(0.9, radius=1.0))
    assert "radius >= " in str(e.value)
    capped = pb.select(source, target, k=9, until=pb.Coverage(0.9, radius=1.0), random_state=0)
    assert capped.k == 9


def test_few_heavy_rows_that_source_rows_reach_do_not_raise(monkeypatch):
    """They are all that counts, and hardly any unweighted sample of the target has them."""
    monkeypatch.setattr(goal_judges, "_LEAST_ROWS", 20)
    source, target = brute.normal(2000, 2), brute.normal(1300, 2, seed=1) + 100
    target[[400, 900]] = source[[5, 6]]
    weights = np.full(1300, 1e-6)
    weights[[400, 900]] = 1.0
    goal = pb.Coverage(0.95, radius=1e-3)
    found = pb.select(source, target, weights=weights, until=goal, random_state=0)
    assert {5, 6} <= set(found.indices.tolist())
    assert found.goal_outcome.is_met


def test_a_limit_of_evaluations_includes_whether_a_share_can_be_reached():
    source, target = brute.normal(3000, 2), brute.normal(3000, 2, seed=1)
    limits = pb.Limits(evaluations=50_000)
    goal = pb.Coverage(0.9, radius=0.5)
    found = pb.select(source, target, until=goal, random_state=0, limits=limits)
    assert found.evaluations - found.k * len(target) <= 50_000


def test_gains_are_confirmed():
    rows = brute.normal(5000, 2)
    exact = pb.select(rows, until=pb.MinGain(0.01), method="lazygreedy")
    found = pb.select(rows, until=pb.MinGain(0.01), random_state=0)
    assert found.goal_outcome.is_met
    assert found.goal_outcome.result.measured >= 0.009
    assert 0.75 * exact.k <= found.k <= 1.25 * exact.k
    assert "each of the last prototypes lowers the cost by" in found.status


@pytest.mark.parametrize(("n_pairs", "least", "most"), [(1 << 14, 15, 50), (1 << 27, 33, 37)])
def test_small_clusters_that_the_sample_lacks_get_prototypes(monkeypatch, n_pairs, least, most):
    """There are 33 clusters; fresh rows lack a quarter of them."""
    monkeypatch.setattr(goal_judges, "_ALL_PAIRS", n_pairs)  # fresh rows, or all target rows
    random = np.random.default_rng(0)
    places = 1000 * np.array([(np.cos(t), np.sin(t)) for t in np.linspace(0, 6, 30)])
    rows = random.normal(size=(20_000, 2)) + 30 * random.integers(3, size=(20_000, 1))
    rows[:600] = np.repeat(places, 20, axis=0) + random.normal(size=(600, 2))
    for seed in range(3):
        found = pb.select(rows, until=pb.MinGain(0.1), random_state=seed)
        kinds = [warning.kind for warning in found.warnings]
        assert found.goal_outcome.is_met != (WarningKind.GOAL_MISSED in kinds)
        assert least <= found.k <= most


def test_a_limit_that_ends_the_attempts_is_stated():
    rows, limits = brute.normal(2000, 6), pb.Limits(evaluations=3_000_000)
    found = pb.select(
        rows, until=pb.MinGain(0.001), method="localsearch", random_state=0, limits=limits
    )
    assert found.goal_outcome.end is GoalEnd.STOPPED
    assert "The limit of 3,000,000 evaluations ended the attempts." in found.status


def test_exactly_as_many_prototypes_as_clusters_are_worth_it():
    rows = clusters(n_clusters=20)
    found = pb.select(rows, until=pb.MinGain(0.3), random_state=0)
    assert (found.k, found.goal_outcome.end) == (20, GoalEnd.MET)


def test_gains_of_rows_that_samples_lack():
    """Each of 2,000 rows is far from all others; exact greedy takes 1,665 prototypes."""
    rows = brute.normal(20_000, 3)
    rows[:2000] *= 3000
    found = pb.select(rows, until=pb.MinGain(0.02), random_state=0)
    assert 1300 <= found.k <= 2600
    kinds = [warning.kind for warning in found.warnings]
    assert found.goal_outcome.is_met != (WarningKind.GOAL_MISSED in kinds)


def test_a_knee_is_within_quotas():
    """Few very far rows move the knee of fresh rows beyond what the quotas allow."""
    random = np.random.default_rng(0)
    n = 50_000
    rows = random.normal(size=(n, 2)).astype(np.float32)
    rows[n // 2 :] += [40, 0]
    for i in range(4):
        place = 1e5 * np.array([np.cos(1.57 * i + 0.3), np.sin(1.57 * i + 0.3)])
        rows[2 * i : 2 * i + 2] = place + random.normal(size=(2, 2))
    constraints = pb.Constraints(groups=np.arange(n) % 4, at_most=1)
    for seed in range(2):
        found = pb.select(rows, k="auto", constraints=constraints, random_state=seed)
        assert 1 <= found.k <= 4
        assert len(set((found.indices % 4).tolist())) == found.k


def test_a_gain_that_no_prototype_has_gives_the_fewest_possible():
    found = pb.select(brute.normal(2000, 2), until=pb.MinGain(1e9), random_state=0)
    assert found.k == 1
    assert found.status.endswith("Fewer prototypes are not possible, whatever they gain.")


def test_a_gain_below_the_noise_of_a_sample_ends(monkeypatch):
    monkeypatch.setattr(goal_judges, "MOST_PROTOTYPES", 320)
    found = pb.select(brute.normal(3000, 2), until=pb.MinGain(1e-7), random_state=0)
    assert found.k == 320
    assert found.goal_outcome.is_met


@every_goal
def test_repeated_rows(goal):
    rows = np.repeat(np.array([[0.0, 0], [10, 0], [0, 10], [30, 30]]), 1500, axis=0)
    found = pb.select(rows, **GOALS[goal], random_state=0)
    assert found.goal_outcome is not None
    assert sorted(map(tuple, rows[found.indices])) == [(0, 0), (0, 10), (10, 0), (30, 30)]
    assert found.cost == 0


@every_goal
def test_fixed_rows_and_quotas(goal):
    rows = clusters(4000, 5)
    fixed = pb.select(rows, **GOALS[goal], constraints=pb.Constraints(fixed=[7, 3]), random_state=0)
    assert fixed.goal_outcome is not None
    assert fixed.indices[:2].tolist() == [7, 3]
    groups = pb.Constraints(groups=np.arange(4000) % 40, at_most={0: 1, 1: 0})
    some = pb.select(rows, **GOALS[goal], constraints=groups, random_state=0)
    assert some.goal_outcome is not None
    assert (some.indices % 40 == 0).sum() <= 1
    assert not (some.indices % 40 == 1).any()


def test_few_heavy_rows_are_found():
    rows = brute.normal(4000, 2)
    weights = np.full(4000, 1e-6)
    weights[[5, 6, 7]] = 1.0
    found = pb.select(rows, weights=weights, until=pb.Coverage(0.9, radius=1e-3), random_state=0)
    assert {5, 6, 7} <= set(found.indices.tolist())
    assert found.k <= 4


# -- which calls use a sample ----------------------------------------------------------------------


@every_goal
def test_small_problems_and_exact_methods_are_as_before(goal):
    small, large = brute.normal(300, 3), brute.normal(1100, 3)
    for rows, method in ((small, "auto"), (small, "lazygreedy"), (large, "lazygreedy")):
        found = pb.select(rows, **GOALS[goal], method=method)
        assert found.goal_outcome is None
        assert found.method == "lazygreedy"
    sampled = pb.select(large, **GOALS[goal], random_state=0)
    assert sampled.goal_outcome is not None
    costs = pb.Constraints(min_distance=0.1)
    assert pb.select(large, **GOALS[goal], constraints=costs).method == "lazygreedy"


@every_goal
@pytest.mark.parametrize("method", ["localsearch", "lazybandit"])
def test_methods_with_an_effort_support_goals_at_any_size(goal, method):
    found = pb.select(brute.normal(200, 3), **GOALS[goal], method=method, random_state=0)
    assert found.method == method
    assert found.goal_outcome.result.n_rows == 200


def test_a_part_and_a_loaded_selection_have_no_outcome():
    found = pb.select(clusters(), k="auto", random_state=0)
    assert found.at(3).goal_outcome is None
    loaded = pb.Selection.from_json(found.to_json())
    assert loaded.goal_outcome is None
    assert loaded.status == found.status


# -- counts, limits, progress ----------------------------------------------------------------------


@every_goal
@pytest.mark.parametrize("limit", [None, 60_000])
def test_evaluations_are_those_of_the_metric(goal, limit):
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    found = pb.select(
        brute.normal(400, 2),
        brute.normal(900, 2, seed=1),
        **GOALS[goal],
        metric=pb.block_metric(metric),
        random_state=0,
        limits=pb.Limits(evaluations=limit),
    )
    assert found.goal_outcome is not None
    assert found.evaluations == metric.calls
    assert found.steps[-1].evaluations <= found.evaluations
    if limit is not None:
        assert found.evaluations - found.evaluations_by_phase["assign"] <= limit


def test_a_limit_that_is_too_small_is_refused():
    fixed = pb.Constraints(fixed=range(50))
    with pytest.raises(pb.InvalidInput, match=r"evaluations=60 leaves 0 after the sample"):
        pb.select(clusters(), k="auto", constraints=fixed, limits=pb.Limits(evaluations=60))


def test_warnings_name_the_limit_of_the_user_and_the_share_of_an_attempt():
    limits = pb.Limits(evaluations=400_000)
    found = pb.select(clusters(), k="auto", random_state=0, limits=limits)
    warning = next(each for each in found.warnings if each.kind is WarningKind.ROWS_LEFT_OUT)
    assert re.match(
        r"Limits\(evaluations=400000\), of which one search has 1\d\d,\d{3} evaluations, left out",
        warning.message,
    )
    warning = next(each for each in found.warnings if each.kind is WarningKind.SMALLER_PLAN)
    assert re.search(r"reduced the plan from [\d,]+ to [\d,]+ target rows\.", warning.message)


@every_goal
def test_any_number_of_threads_gives_the_same_bits(goal):
    one, two = (pb.select(clusters(3000), **GOALS[goal], random_state=0, n_jobs=n) for n in (1, 2))
    assert one.goal_outcome == two.goal_outcome
    assert one.indices.tolist() == two.indices.tolist()
    assert one.costs.tobytes() == two.costs.tobytes()


def test_an_interruption_returns_the_best_so_far():
    rows, interrupt, seen = brute.normal(4000, 3), pb.Interrupt(), []

    def stop(progress):
        seen.append(progress.doing)
        if progress.doing.startswith("attempt 1: measuring the goal"):
            interrupt.set()

    found = pb.select(
        rows, until=pb.Coverage(0.9, radius=0.9), random_state=0, progress=stop, interrupt=interrupt
    )
    assert seen[0] == "determining k on a sample"
    assert seen[-1] == "done"
    assert found.goal_outcome.end is GoalEnd.STOPPED
    assert found.k == found.goal_outcome.attempts[0].k
    assert "No target rows confirm it: an interruption ended the attempts." in found.status


def test_an_interruption_after_a_result_that_meets_the_goal_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(goal_judges, "_SAMPLE", (200, 400))
    rows, interrupt, seen = brute.normal(3000, 3), pb.Interrupt(), []
    call = {"until": pb.Coverage(0.9, radius=0.8), "random_state": 3}
    call["checkpoint"] = tmp_path / "run.ckpt"

    def stop(progress):
        seen.append(progress)
        if progress.doing.startswith("attempt 2"):
            interrupt.set()

    found = pb.select(rows, **call, progress=stop, interrupt=interrupt)
    assert found.goal_outcome.is_met
    assert "Fewer prototypes may do: an interruption ended the attempts." in found.status
    assert seen[-1].share < 1
    resumed = pb.select(rows, **call)
    assert resumed.k < found.k
    assert resumed.goal_outcome.reason is None


def test_a_limit_of_seconds_ends_the_attempts():
    found = pb.select(clusters(), k="auto", random_state=0, limits=pb.Limits(seconds=1e-9))
    assert found.goal_outcome.end is GoalEnd.STOPPED
    assert "the limit of 1e-09 seconds ended the attempts" in found.status


@every_goal
def test_prototypes_of_the_sample_are_the_result_if_there_is_no_time_for_a_search(goal):
    rows, groups = clusters(), np.arange(6000) < 100
    some = {
        "fixed": [5990, 3],
        "groups": np.where(groups, "few", "many"),
        "at_most": {"few": 2},
    }
    for constraints in (None, pb.Constraints(**some)):
        found = pb.select(
            rows,
            **GOALS[goal],
            constraints=constraints,
            random_state=0,
            limits=pb.Limits(seconds=1e-9),
        )
        (attempt,) = found.goal_outcome.attempts
        assert (attempt.k, attempt.n_rows, attempt.is_met) == (found.k, 0, False)
        assert found.method == "localsearch"
        assert len(set(found.indices.tolist())) == found.k >= 2
        assert attempt.evaluations == found.evaluations - found.steps[-1].evaluations
        (warning,) = (each for each in found.warnings if "sample" in each.message)
        assert warning.kind is WarningKind.LIMITED_SEARCH
        assert warning.message.startswith("the limit of 1e-09 seconds ended the call before")
        if constraints is not None:
            assert found.indices[:2].tolist() == [5990, 3]
            assert groups[found.indices].sum() <= 2


@pytest.mark.parametrize("is_late", [False, True])
def test_a_first_search_that_ends_without_a_result(monkeypatch, is_late):
    """If the time is over, the sample is the result. An interruption is not a result."""
    search, spent = sampled_goals.search, {"swap": 12345}

    def stopped(problem, method, settings):
        if isinstance(method, sampled_goals._GivenRows):
            return search(problem, method, settings)
        error = pb.Interrupted("nothing yet")
        error.evaluations_by_phase = spent
        raise error

    limits = pb.Limits(seconds=100)
    monkeypatch.setattr(sampled_goals, "search", stopped)
    monkeypatch.setattr(sampled_goals._GoalRun, "_is_late", lambda self: is_late)
    call = {"until": pb.Coverage(0.8, radius=1.6), "random_state": 0, "limits": limits}
    if not is_late:
        with pytest.raises(pb.Interrupted, match="nothing yet"):
            pb.select(clusters(), **call)
        return
    found = pb.select(clusters(), **call)
    assert found.goal_outcome.end is GoalEnd.STOPPED
    assert found.evaluations_by_phase["swap"] == 12345
    assert "the limit of 100 seconds ended the attempts" in found.status


def test_a_slow_metric_is_stopped_before_the_number_is_known(monkeypatch):
    monkeypatch.setattr(goal_judges, "_EXPENSIVE_SAMPLE", (600, 2000))

    def slow(a, b):
        return float(abs(a - b).sum())

    with pytest.raises(pb.Interrupted, match=r"stopped by the limit of 1e-09 seconds "):
        pb.select(clusters(), k="auto", metric=slow, limits=pb.Limits(seconds=1e-9))


def test_progress_never_goes_back():
    seen = []
    pb.select(clusters(), until=pb.Coverage(0.8, 2.0), random_state=0, progress=seen.append)
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_is_for_a_sample_and_a_search():
    rows = np.zeros((50_000, 4), dtype=np.float32)
    plan = pb.plan(rows, k="auto")
    assert (plan.method, plan.is_rough, plan.most_evaluations) == ("localsearch", True, None)
    one = pb.plan(rows, k=50)
    assert plan.evaluations == one.evaluations + 300 * 1000
    assert plan.seconds < 60
    capped = pb.plan(rows, k=20, until=pb.Coverage(0.9, 1.0))
    assert capped.evaluations == pb.plan(rows, k=20).evaluations + 300 * 1000
    assert pb.plan(rows[:500], k="auto").method == "lazygreedy"
