"""Evaluations on fixed problems must not increase; benchmarks/counts contains the baselines."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from benchmarks.counts import __main__ as script
from benchmarks.counts.baselines import (
    Change,
    changes,
    evaluations,
    measure,
    read,
    regression,
    write,
)
from benchmarks.counts.problems import CASES, as_integers

from protobandit.kernels.jit import Kernel
from protobandit.methods import METHODS
from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import as_limits
from protobandit.problem.posing import pose
from protobandit.search.methods.lazybandit import race_schedule

case_of = cache(lambda name: CASES[name]())
EVERY = [(problem, method) for problem in CASES for method in case_of(problem).methods]
every_problem = pytest.mark.parametrize("problem", CASES)


def problem_of(case):
    return pose(case.source, case.target, k=case.k, weights=case.weights, metric=case.metric)


def n_pairs(case):
    return case.sizes[0] * case.sizes[1]


@cache
def counted(problem, method):
    return measure(case_of(problem), method)


# -- baselines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("problem", "method"), EVERY)
def test_no_count_increases(problem, method):
    """Evaluations of each phase and the cost; the message says how to accept a change."""
    before = read().get(problem, {}).get(method)
    message = regression(problem, method, counted(problem, method), before)
    assert message is None, message


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_counted(name):
    for problem in ("square", "rectangle", "weighted", "callable"):
        assert name in case_of(problem).methods, f"{name!r} is not counted on {problem!r}"


def test_no_baseline_is_obsolete():
    recorded = {(problem, method) for problem, methods in read().items() for method in methods}
    assert recorded == set(EVERY), "run `python -m benchmarks.counts --accept`"


# -- counts are the same on every machine ---------------------------------------------------------


@every_problem
def test_distances_are_exact_integers(problem):
    case = case_of(problem)
    oracle = Oracle(problem_of(case))
    n_source, n_target = case.sizes
    targets = oracle.targets(slice(0, n_target))
    for some in np.array_split(np.arange(n_source), -(-n_source // 300)):
        computed = np.empty((len(some), n_target), dtype=oracle.dtype)
        oracle.tabulate(some, targets, computed)
        assert np.array_equal(computed.T, case.distances(some))


@every_problem
def test_sums_are_exact(problem):
    """Every sum that a method may form is an integer that its precision represents exactly."""
    case = case_of(problem)
    digits = np.finfo(problem_of(case).dtype).nmant + 1
    largest = reach(case)
    weights = np.ones(case.sizes[1]) if case.weights is None else case.weights
    assert largest < 2**digits
    assert largest * weights.sum() < 2**53
    assert case.weights is None or weights.sum() == 2 ** round(np.log2(weights.sum()))
    if case.metric == "sqeuclidean":
        rows = np.concatenate([as_integers(case.source), as_integers(case.target)])
        assert 4 * (rows**2).sum(axis=1).max() < 2**digits


def reach(case):
    """Return an upper bound of all distances."""
    if case.metric == "precomputed":
        return case.source.max()
    rows = np.concatenate([as_integers(case.source), as_integers(case.target_rows)])
    corners = rows.min(axis=0, keepdims=True), rows.max(axis=0, keepdims=True)
    return max(case.integer_distance(*corners).item(), case.integer_distance(*corners[::-1]).item())


@pytest.mark.parametrize("problem", ["square", "rectangle", "weighted", "precomputed", "callable"])
def test_picks_of_greedy_have_no_ties(problem):
    case = case_of(problem)
    table = case.distances(np.arange(case.sizes[0]))
    weights = as_integers(np.ones(len(table)) if case.weights is None else case.weights)
    nearest = np.full(len(table), table.max())
    for _ in range(case.k):
        gains = weights @ np.maximum(nearest[:, None] - table, 0)
        second, first = np.sort(gains)[-2:]
        assert first > second
        nearest = np.minimum(nearest, table[:, gains.argmax()])


@pytest.mark.parametrize(
    ("problem", "method"), [pair for pair in EVERY if pair[0] in {"rectangle", "callable"}]
)
def test_counts_do_not_depend_on_threads(problem, method):
    assert measure(case_of(problem), method, n_jobs=2) == counted(problem, method)


def test_counts_of_a_race_do_not_depend_on_threads():
    two_threads = measure(case_of("race"), "lazybandit balanced", n_jobs=2)
    assert two_threads == counted("race", "lazybandit balanced")


@pytest.mark.parametrize(
    ("problem", "method"), [pair for pair in EVERY if pair[0] in {"square", "weighted", "callable"}]
)
def test_counts_do_not_depend_on_compiled_kernels(problem, method, monkeypatch):
    compiled = counted(problem, method)
    monkeypatch.setattr(Kernel, "__call__", lambda self, *arrays: self.reference(*arrays))
    assert measure(case_of(problem), method) == compiled


# -- the problems cover what they should ----------------------------------------------------------


@pytest.mark.parametrize("problem", ["callable", "race", "weighted race"])
def test_lazybandit_samples(problem):
    case = case_of(problem)
    posed = problem_of(case)
    rungs = race_schedule(posed, as_limits(None), effort=2.5).rungs
    assert len(rungs) > 1
    assert rungs[0].n_rows < case.sizes[1]
    counts = counted(problem, "lazybandit balanced")
    assert counts["swap"] > 0
    assert evaluations(counts) < n_pairs(case) * len(case.seeds)


def test_searches_stop_before_the_end_of_the_target():
    case = case_of("rectangle")
    spent = [evaluations(counted("rectangle", m)) for m in case.methods if "protobandit " in m]
    assert len(set(spent)) > 3
    assert min(spent) < n_pairs(case) / 2


# -- costs and messages ---------------------------------------------------------------------------


def test_cost_is_that_of_the_selection():
    for problem in ("weighted", "precomputed"):
        case = case_of(problem)
        selection = case.solve("lazygreedy", 0)
        total = case.sizes[1] if case.weights is None else case.weights.sum()
        assert case.cost(selection.indices) == selection.cost * total


def test_message_names_only_increased_counts():
    before = {"build": 100, "cost": 50}
    message = regression("race", "pam", {"build": 90, "swap": 30, "cost": 51}, before)
    assert "evaluations in swap increased from 0 to 30" in message
    assert "cost increased from 50 to 51 (+2.00%)" in message
    assert "total: 120, before 100" in message
    assert "benchmarks.counts --accept" in message
    assert "build" not in message
    assert regression("race", "pam", {"build": 90, "cost": 50}, before) is None
    assert [*changes({"cost": 50}, before)] == [Change("build", 100, 0)]


def test_message_for_a_method_without_a_baseline():
    message = regression("race", "new-one", {"build": 1, "cost": 1}, None)
    assert "'new-one'" in message
    assert "--accept" in message


def test_baselines_round_trip(tmp_path):
    record = {"a b": {"x": {"build": 3, "cost": 4}, "y": {"cost": 1}}, "c": {"x": {"cost": 2}}}
    write(record, tmp_path / "some.json")
    assert read(tmp_path / "some.json") == record
    assert len((tmp_path / "some.json").read_text().splitlines()) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["some.json"]


def test_script_reports_increased_decreased_and_obsolete_counts(capsys):
    now = {"p": {"worse": {"build": 2, "cost": 1}, "better": {"build": 1, "cost": 1}}}
    before = {
        "p": {
            "worse": {"build": 1, "cost": 1},
            "better": {"build": 2, "cost": 1},
            "gone": {"build": 1, "cost": 1},
        }
    }
    script.show(now, before)
    assert script.check(now, before) == 1
    shown = capsys.readouterr().out
    assert "2.000" in shown
    assert "0.500" in shown
    assert "evaluations in build decreased from 2 to 1" in shown
    assert "'gone' on 'p' is recorded but no longer measured" in shown
    assert "1 improved" in shown
    assert script.check(now, now) == 0
    assert "no count has increased" in capsys.readouterr().out
