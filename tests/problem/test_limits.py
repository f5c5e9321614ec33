"""Limits: checks of their values, and runs that stop because of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import LazyBandit, LazyGreedy, ProtoBandit, SpotGreedy, StochasticGreedy
from protobandit.search.control import SearchControl, StopKind, StopReason

METHOD = "lazybandit"


def spent(selection):
    """Return the evaluations of building and swapping, which are limited."""
    return selection.evaluations_by_phase["build"] + selection.evaluations_by_phase["swap"]


def rows_of(shape, n, *, seed=0, columns=6):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, columns))
    if shape == "lumps":
        rows += 8 * random.integers(0, 2, size=rows.shape)
    if shape == "heavy tails":
        rows = random.standard_t(1.5, size=(n, columns))
    return rows.astype(np.float32)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["evaluations", "seconds", "memory"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "many", True, [5], 1j], ids=repr)
def test_invalid_values_raise_with_their_name(name, value):
    with pytest.raises(pb.InvalidInput, match=rf"Limits\({name}\)=.* Pass a .*number > 0, or None"):
        pb.Limits(**{name: value})


@pytest.mark.parametrize("name", ["evaluations", "memory"])
@pytest.mark.parametrize("value", [0.5, 1e6 + 0.5, float("inf")])
def test_fractional_counts_raise(name, value):
    with pytest.raises(pb.InvalidInput, match=rf"Limits\({name}\)=.* Pass a whole number"):
        pb.Limits(**{name: value})


@pytest.mark.parametrize("value", [1e6, 10**6, np.int64(10**6), np.float32(1e6)], ids=repr)
def test_whole_numbers_of_any_type_are_counts(value):
    limits = pb.Limits(evaluations=value, memory=value)
    assert limits == pb.Limits(evaluations=1_000_000, memory=1_000_000)
    assert type(limits.evaluations) is type(limits.memory) is int
    rows = rows_of("round", 300)
    assert pb.select(rows, k=3, limits=limits, random_state=0).k == 3


@pytest.mark.parametrize("value", [1e-9, 2, np.float64(0.5), float("inf")], ids=repr)
def test_seconds_may_be_any_positive_number(value):
    assert pb.Limits(seconds=value).seconds == value


def test_limits_are_frozen_and_keyword_only():
    limits = pb.Limits(evaluations=5)
    with pytest.raises(AttributeError):
        limits.evaluations = 6
    with pytest.raises(TypeError):
        pb.Limits(5)
    assert replace(limits, seconds=1.0) == pb.Limits(evaluations=5, seconds=1.0)


@pytest.mark.parametrize("limits", [{"evaluations": 5}, 1000, (1, 2)], ids=repr)
def test_other_types_as_limits_raise(limits):
    with pytest.raises(pb.InvalidInput, match=r"limits=.* is not known. Pass Limits\("):
        pb.select(rows_of("round", 20), k=2, limits=limits)


def test_the_limit_that_was_reached_is_recorded(monkeypatch):
    limits = pb.Limits(evaluations=1000, seconds=2.5)
    control = SearchControl(limits=limits)
    control.counts.evaluations["build"] = 1000
    assert control.allows()
    assert control.stopped is None
    assert not control.allows(1)
    assert control.stopped == StopReason(StopKind.EVALUATIONS, 1000)
    assert str(control.stopped) == "the limit of 1,000 evaluations"
    control.clock.show(2.4)
    assert control.allows()
    control.clock.show(2.5)
    assert not control.allows()
    assert str(control.stopped) == "the limit of 2.5 seconds"
    assert SearchControl().allows(10**18)


def test_the_memory_budget_is_a_constant_or_the_limit():
    assert pb.Limits().memory_budget == 4 * 2**30
    assert pb.Limits(memory=99).memory_budget == 99


# -- evaluations: the race is planned to stay within the limit ------------------------------------


@pytest.mark.parametrize("shape", ["round", "lumps", "heavy tails"])
@pytest.mark.parametrize(("n_source", "n_target"), [(500, 2000), (2000, 9000)])
@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_a_race_stays_within_its_limit(shape, n_source, n_target, k):
    source = rows_of(shape, n_source)
    target = rows_of(shape, n_target, seed=1)
    for evaluations in (4000, 30_000, 200_000, 1_500_000):
        limits = pb.Limits(evaluations=evaluations)
        chosen = pb.select(source, target, k=k, method=METHOD, limits=limits, random_state=0)
        assert spent(chosen) <= evaluations
        assert len(set(chosen.indices.tolist())) == k


@pytest.mark.parametrize("shape", ["round", "lumps", "heavy tails"])
@pytest.mark.parametrize("k", [2, 10, 25])
def test_a_race_with_finalists_stays_within_its_limit(monkeypatch, shape, k):
    """Either the plan includes finalists and the race costs more, or the limit excludes them."""
    monkeypatch.setattr("protobandit.search.methods.lazybandit.AT_ONCE", 0)
    monkeypatch.setattr("protobandit.search.drivers.race.schedule._PERTURBED_EFFORT", 0.3)
    source, target = rows_of(shape, 800), rows_of(shape, 9000, seed=1)
    method = LazyBandit(effort=0.5)
    planned = pb.plan(source, target, k=k, method=method).evaluations
    counts = []
    for share in (1.18, 1.0, 0.7, 0.4):
        limits = pb.Limits(evaluations=round(share * planned))
        chosen = pb.select(source, target, k=k, method=method, limits=limits, random_state=0)
        assert spent(chosen) <= limits.evaluations
        counts.append(spent(chosen))
    assert counts == sorted(counts, reverse=True)


def test_a_higher_limit_is_used_and_lowers_the_cost():
    source, target = rows_of("lumps", 2000), rows_of("lumps", 30_000, seed=1)
    costs = []
    for evaluations in (10_000, 100_000, 1_000_000):
        limits = pb.Limits(evaluations=evaluations)
        runs = [
            pb.select(source, target, k=20, method=METHOD, limits=limits, random_state=seed)
            for seed in range(3)
        ]
        # In clumped data an arm has fewer home cells than planned.
        assert all(spent(run) > 0.3 * evaluations for run in runs)
        costs.append(np.mean([run.assign(target).distances.mean() for run in runs]))
    assert all(after < before for before, after in pairwise(costs))
    random = pb.select(source, target, k=20, method="random", random_state=0)
    assert costs[0] < random.assign(target).distances.mean()


def test_a_limit_of_all_pairs_changes_nothing():
    source, target = rows_of("round", 60), rows_of("round", 90, seed=1)
    limits = pb.Limits(evaluations=60 * 90)
    chosen = pb.select(source, target, k=5, method=METHOD, limits=limits)
    free = pb.select(source, target, k=5, method=METHOD)
    assert chosen.indices.tolist() == free.indices.tolist()
    assert spent(chosen) == 60 * 90
    assert chosen.guarantee == free.guarantee is not None
    less = pb.Limits(evaluations=60 * 90 - 1)
    short = pb.select(source, target, k=5, method=METHOD, limits=less, random_state=0)
    assert spent(short) < 60 * 90
    assert short.guarantee is None


LIMITED = {WarningKind.ROWS_LEFT_OUT, WarningKind.SMALLER_PLAN}


def test_the_run_warns_of_source_rows_left_out():
    source, target = rows_of("round", 3000), rows_of("round", 9000, seed=1)
    limits = pb.Limits(evaluations=20_000)
    chosen = pb.select(source, target, k=5, method=METHOD, limits=limits, random_state=0)
    planned = pb.plan(source, target, k=5, method=METHOD, limits=limits)
    rows, sample = (each for each in chosen.warnings if each.kind in LIMITED)
    assert rows.kind is WarningKind.ROWS_LEFT_OUT
    assert sample.kind is WarningKind.SMALLER_PLAN
    words = f"Limits(evaluations=20000) left out {planned.left_out:,} of 3,000 source rows"
    assert words in rows.message
    assert words in chosen.status
    assert f"{planned.left_out:,} source rows are left out" in str(planned)
    assert "target rows" in sample.message
    plenty = pb.Limits(evaluations=10**8)
    free = pb.select(source, target, k=5, method=METHOD, limits=plenty, random_state=0)
    assert free.warnings == ()


def test_the_run_warns_if_the_default_budget_leaves_out_source_rows(monkeypatch):
    source, target = rows_of("round", 3000), rows_of("round", 9000, seed=1)
    monkeypatch.setattr("protobandit.problem.limits.MEMORY_BUDGET", 3_000_000)
    chosen = pb.select(source, target, k=5, method=METHOD, random_state=0)
    n_out = pb.plan(source, target, k=5, method=METHOD).left_out
    assert 100 < n_out < 2900
    (warning, *_) = chosen.warnings
    assert warning.kind is WarningKind.ROWS_LEFT_OUT
    assert f"The memory budget of 3.0 MB (Limits(memory=…) changes it) left out {n_out:,} of" in (
        warning.message
    )
    allowed = pb.select(
        source, target, k=5, method=METHOD, random_state=0, limits=pb.Limits(memory=10**9)
    )
    assert allowed.warnings == ()


@pytest.mark.parametrize("counted", [brute.CountedPairs, brute.CountedBlocks])
def test_calls_of_a_user_metric_are_limited(counted):
    counting = counted()
    metric = pb.block_metric(counting) if counted is brute.CountedBlocks else counting
    source, target = brute.normal(200), brute.normal(300, seed=1)
    limits = pb.Limits(evaluations=5000)
    chosen = pb.select(
        source, target, k=4, metric=metric, method=METHOD, limits=limits, random_state=0
    )
    assert chosen.evaluations == counting.calls
    assert spent(chosen) <= 5000


# -- seconds and memory ----------------------------------------------------------------------------


def test_a_tiny_time_limit_ends_the_race_after_its_first_rung():
    method = LazyBandit(effort=2.5)  # 2.5 (100 + 2 k) rows on the first rung
    source, target = rows_of("lumps", 3000), rows_of("lumps", 9000, seed=1)
    limits = pb.Limits(seconds=1e-9)
    chosen = pb.select(source, target, k=10, method=method, limits=limits, random_state=0)
    assert len(set(chosen.indices.tolist())) == 10
    assert chosen.evaluations_by_phase["build"] == 300 * 3000
    searched = 9000  # rows, for far ones: one to five evaluations each
    assert 0 < chosen.evaluations_by_phase["swap"] < 5 * searched
    assert "The race was stopped at 300 target rows by the limit of 1e-09 seconds." in chosen.status
    assert chosen.guarantee is None
    whole = pb.select(source, target, k=10, method=method, random_state=0)
    assert "stopped" not in whole.status
    assert spent(whole) > 2 * spent(chosen)


def test_generous_limits_change_nothing():
    source, target = rows_of("lumps", 3000), rows_of("lumps", 9000, seed=1)
    runs = [
        pb.select(source, target, k=10, method=METHOD, limits=limits, random_state=0)
        for limits in (None, pb.Limits(seconds=1e9, evaluations=10**12, memory=10**12))
    ]
    assert runs[0].indices.tolist() == runs[1].indices.tolist()
    assert runs[0].status == runs[1].status
    assert runs[0].evaluations == runs[1].evaluations


def test_a_race_with_one_rung_only_loses_its_restarts():
    rows = rows_of("round", 100)
    chosen = pb.select(rows, k=4, method=METHOD, limits=pb.Limits(seconds=1e-9))
    assert "stopped at 100 target rows by the limit of 1e-09 seconds" in chosen.status
    assert chosen.evaluations == 100 * 100
    assert chosen.guarantee is not None
    whole = pb.select(rows, k=4, method=METHOD, limits=pb.Limits(seconds=1e9))
    assert "stopped" not in whole.status.lower()
    assert whole.cost <= chosen.cost < 1.2 * whole.cost


def test_with_little_memory_fewer_source_rows_take_part():
    method = LazyBandit(effort=2.5)  # 2.5 (100 + 2 k) rows on the first rung
    source, target = rows_of("lumps", 3000), rows_of("lumps", 9000, seed=1)
    counts = []
    for memory in (1, 10**5, 10**6, 10**7):
        limits = pb.Limits(memory=memory)
        chosen = pb.select(source, target, k=10, method=method, limits=limits, random_state=0)
        assert len(set(chosen.indices.tolist())) == 10
        planned = pb.plan(source, target, k=10, method=method, limits=limits)
        n_arms = 3000 - planned.left_out
        assert f"{n_arms:,} random ones took part" in chosen.status
        assert n_arms == 20 or planned.memory <= memory
        assert chosen.evaluations_by_phase["build"] == n_arms * 300
        assert chosen.guarantee is None
        counts.append(n_arms)
    assert counts[0] == 20 < counts[-1] < 3000


@pytest.mark.parametrize("k", [2, 20, 60])
def test_with_little_memory_finalists_are_dropped(monkeypatch, k):
    """Memory for some finalists, for the prototypes only, and for less than these."""
    monkeypatch.setattr("protobandit.search.methods.lazybandit.AT_ONCE", 0)
    source, target = rows_of("round", 1000), rows_of("round", 20_000, seed=1)
    method = LazyBandit(effort="thorough")
    for memory in (1, 10**5, 10**6, 2 * 10**6):
        limits = pb.Limits(memory=memory)
        chosen = pb.select(source, target, k=k, method=method, limits=limits, random_state=0)
        assert len(set(chosen.indices.tolist())) == k


# -- methods that choose one row after another ----------------------------------------------------

N_SOURCE, N_TARGET = 20, 30


def greedy_with(method, k=6, **limits):
    source, target = brute.normal(N_SOURCE), brute.normal(N_TARGET, seed=1)
    return pb.select(source, target, k=k, method=method, limits=pb.Limits(**limits), random_state=0)


def scans(n):
    """Return the evaluations of n picks of exact greedy without memoization."""
    return sum((N_SOURCE - picked + 1) * N_TARGET for picked in range(n))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_greedy_stops_after_the_pick_that_exceeds_the_limit(n):
    method = SpotGreedy(memoize=False)
    chosen = greedy_with(method, evaluations=scans(n) - 1)
    assert chosen.evaluations == scans(n)
    assert chosen.k == n
    assert chosen.status == (
        f"Stopped by the limit of {scans(n) - 1:,} evaluations after {n} of the 6 prototypes "
        f"requested."
    )
    assert chosen.guarantee is None
    whole = greedy_with(method)
    assert chosen.indices.tolist() == whole.indices[:n].tolist()
    np.testing.assert_allclose(chosen.costs, whole.costs[:n], rtol=1e-12)


@pytest.mark.parametrize("method", [SpotGreedy(), LazyGreedy(), LazyGreedy(memoize=True)])
def test_a_limit_met_exactly_is_not_exceeded(method):
    """Memoized distances are computed with the first pick; later picks evaluate nothing."""
    chosen = greedy_with(method, evaluations=N_SOURCE * N_TARGET)
    assert chosen.k == 6
    assert chosen.evaluations == N_SOURCE * N_TARGET
    assert "Stopped" not in chosen.status


def test_a_tiny_time_limit_leaves_one_pick():
    for method in (SpotGreedy(), LazyGreedy(), StochasticGreedy(), ProtoBandit()):
        chosen = greedy_with(method, seconds=1e-9)
        assert chosen.k == 1
        assert chosen.status == (
            "Stopped by the limit of 1e-09 seconds after 1 of the 6 prototypes requested."
        )


def test_the_last_pick_may_exceed_the_limit():
    chosen = greedy_with(SpotGreedy(memoize=False), evaluations=scans(6) - 1)
    assert chosen.k == 6
    assert "Stopped" not in chosen.status
    assert chosen.guarantee is not None


@pytest.mark.parametrize("method", ["spotgreedy", "lazygreedy"])
def test_a_limit_below_the_minimum_raises_with_the_minimum(method):
    with pytest.raises(pb.InvalidInput, match="limits: evaluations=599 is less than the 600 that"):
        greedy_with(method, evaluations=599)


def test_a_limit_too_low_for_a_race_raises():
    with pytest.raises(pb.InvalidInput, match="limits: evaluations=1 is less than"):
        greedy_with(METHOD, evaluations=1)


def test_random_rows_need_no_evaluations():
    assert greedy_with("random", evaluations=1).k == 6


def test_a_bandit_stops_after_the_pick_that_exceeds_the_limit():
    source, target = rows_of("round", 200), rows_of("round", 4000, seed=1)
    method = ProtoBandit(nu_step=0.02)
    whole = pb.select(source, target, k=8, method=method, random_state=0)
    marks = [step.evaluations for step in whole.steps]
    limits = pb.Limits(evaluations=marks[3] - 1)
    chosen = pb.select(source, target, k=8, method=method, limits=limits, random_state=0)
    assert chosen.indices.tolist() == whole.indices[:4].tolist()
    assert "after 4 of the 8" in chosen.status


@pytest.mark.parametrize("effort", [0.1, 1.0])
def test_the_lower_of_effort_and_limit_applies(effort):
    source, target = rows_of("round", 1000), rows_of("round", 60_000, seed=1)

    def run(limits):
        method = LazyBandit(effort=effort)
        return pb.select(source, target, k=5, method=method, limits=limits, random_state=0)

    free = run(None)
    assert spent(run(pb.Limits(evaluations=3 * spent(free)))) == spent(free)
    half = run(pb.Limits(evaluations=spent(free) // 2))
    assert spent(free) // 4 < spent(half) <= spent(free) // 2
