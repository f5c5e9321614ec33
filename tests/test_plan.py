"""`plan` estimates the cost of `select` and computes no dissimilarity."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.plans import (
    CASES,
    clumped,
    few_columns,
    heavy_tailed,
    mostly_equal,
    normal,
    repeated,
)

import brute
import protobandit as pb
from protobandit.methods import METHODS


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_dissimilarity_is_computed(method):
    def metric(a, b):
        raise AssertionError("called")

    planned = pb.plan(brute.normal(40), k=3, metric=metric, method=method)
    assert planned.method == method
    assert planned.seconds is None


@pytest.mark.parametrize("method", ["auto", "lazygreedy", "spotgreedy", "random", "refined"])
def test_evaluations_equal_those_of_the_run(method):
    source, target = brute.normal(60), brute.normal(200, seed=1)
    planned = pb.plan(source, target, k=4, method=method)
    done = pb.select(source, target, k=4, method=method, random_state=0)
    assert planned.evaluations == sum(done.evaluations_by_phase[p] for p in ("build", "swap"))


def test_the_plan_of_a_race_is_about_right():
    source, target = brute.normal(4000, 20), brute.normal(20_000, 20, seed=1)
    method = pb.methods.LazyBandit(effort="fast")
    planned = pb.plan(source, target, k=20, method=method)
    done = pb.select(source, target, k=20, method=method, random_state=0)
    spent = sum(done.evaluations_by_phase[p] for p in ("build", "swap"))
    assert spent / 1.5 < planned.evaluations < 1.5 * spent


def test_the_plan_includes_finalists():
    source, target = brute.normal(1500, 20), brute.normal(15_000, 20, seed=1)
    thorough, less = (pb.methods.LazyBandit(effort=effort) for effort in ("thorough", 4.9))
    planned = pb.plan(source, target, k=15, method=thorough)
    done = pb.select(source, target, k=15, method=thorough, random_state=0)
    spent = sum(done.evaluations_by_phase[p] for p in ("build", "swap"))
    assert spent / 1.25 < planned.evaluations < 1.25 * spent
    assert spent < 1500 * 15_000
    without = pb.plan(source, target, k=15, method=less)
    # 18 k finalists on all rows of the last rung.
    assert planned.memory > without.memory + 18 * 15 * 15_000 * 8
    limits = pb.Limits(memory=planned.memory // 4)
    assert pb.plan(source, target, k=15, method=thorough, limits=limits).memory <= limits.memory


# -- plans of problems of different shapes --------------------------------------------------------

# Where rows are repeated, an arm has fewer home cells and more entries of the table are kept.
ROUGH = {"repeated", "mostly equal"}
ALLOCATOR = 10_000_000  # bytes that the allocator may keep, or have kept, for a process


@pytest.fixture(scope="module")
def comparisons():
    """Plan and solve the small problems of benchmarks/plans.py, in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.plans", "--all", "--size", "small"]
    root = Path(__file__).parents[1]
    # Freed arrays go back to the system at once: what the allocator keeps for its threads depends
    # on their order, which a busy machine changes.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {each["name"]: each for each in found}


@pytest.mark.parametrize("name", CASES)
def test_evaluations_are_as_planned_and_never_more_than_the_bound(comparisons, name):
    planned, needed = comparisons[name]["planned"], comparisons[name]["needed"]
    factor = 2 if name in ROUGH else 1.5
    ratio = needed["evaluations"] / planned["evaluations"]
    assert 1 / factor < ratio < factor
    assert needed["evaluations"] <= planned["most_evaluations"]


@pytest.mark.parametrize("name", CASES)
def test_memory_is_as_planned(comparisons, name):
    if comparisons[name]["ratios"]["memory"] is None:
        pytest.skip("this system does not tell the peak of the memory")
    most, least = (2, 2.5) if name in ROUGH else (1.5, 1.5)
    planned, needed = (comparisons[name][which]["memory"] for which in ("planned", "needed"))
    assert needed < most * planned + ALLOCATOR
    assert planned < least * needed + ALLOCATOR


@pytest.mark.parametrize("rows", [clumped, heavy_tailed, few_columns, repeated, mostly_equal])
@pytest.mark.parametrize(("k", "effort"), [(6, 0.5), (20, 1.0), (60, 0.4)])
def test_no_data_exceed_the_bound(rows, k, effort):
    source, target = rows(1500, 3, 4), rows(14_000, 3, 5)
    method = pb.methods.LazyBandit(effort=effort)
    bound = pb.plan(source, target, k=k, method=method).most_evaluations
    for seed in range(2):
        done = pb.select(source, target, k=k, method=method, random_state=seed)
        assert sum(done.evaluations_by_phase[p] for p in ("build", "swap")) <= bound


@pytest.mark.parametrize("rows", [clumped, heavy_tailed, normal])
@pytest.mark.parametrize(("columns", "factor"), [(1, 1.65), (2, 1.5)])
def test_plans_for_very_few_columns(rows, columns, factor):
    source = rows(10_000, columns, 0)
    method = pb.methods.LazyBandit(effort="fast")
    planned = pb.plan(source, k=20, method=method).evaluations
    done = pb.select(source, k=20, method=method, random_state=0)
    spent = sum(done.evaluations_by_phase[p] for p in ("build", "swap"))
    assert 1 / factor < spent / planned < factor


# -- other methods ---------------------------------------------------------------------------------


def test_the_plan_of_protobandit_is_right_within_a_factor():
    source, target = brute.normal(2000, 20), brute.normal(20_000, 20, seed=1)
    planned = pb.plan(source, target, k=50, method="protobandit")
    done = pb.select(source, target, k=50, method="protobandit", random_state=0)
    spent = done.evaluations_by_phase["build"]
    assert spent / 4 < planned.evaluations < 4 * spent


def test_the_plan_of_classes_shares_the_limit():
    rows, classes = brute.normal(4000), np.arange(4000) % 3
    limits = pb.Limits(evaluations=300_000)
    planned = pb.plan(rows, k=12, by=classes, limits=limits)
    done = pb.select(rows, k=12, by=classes, limits=limits, random_state=0)
    assert 0.5 * 300_000 < planned.evaluations <= 300_000
    assert sum(done.evaluations_by_phase[p] for p in ("build", "swap")) <= 300_000
    assert planned.left_out > 0


def test_rough_plans_are_marked():
    rows = brute.normal(60)
    rough = {name for name in METHODS if pb.plan(rows, k=3, method=name).is_rough}
    assert rough == {"protobandit", "banditpam", "clarans"}
    assert pb.plan(rows, k=3, method=pb.methods.LazyGreedy(memoize=False)).is_rough
    for name in METHODS:
        most = pb.plan(rows, k=3, method=name).most_evaluations
        done = pb.select(rows, k=3, method=name, random_state=0)
        spent = sum(done.evaluations_by_phase[p] for p in ("build", "swap"))
        assert most is None or spent <= most


def test_the_plan_without_memoization():
    rows = brute.normal(100)
    planned = pb.plan(rows, k=5, method=pb.methods.SpotGreedy(memoize=False))
    done = pb.select(rows, k=5, method=pb.methods.SpotGreedy(memoize=False))
    assert planned.memory < 1_000_000
    assert planned.evaluations == pytest.approx(done.evaluations, rel=0.05)


def test_the_plan_respects_limits():
    rows, target = brute.normal(3000), brute.normal(20_000, seed=1)
    limits = pb.Limits(evaluations=500_000)
    assert pb.plan(rows, target, k=10, limits=limits).evaluations <= 500_000


def test_a_plan_is_shown_as_a_sentence():
    planned = pb.plan(np.zeros((2000, 50), dtype=np.float32), k=10)
    assert str(planned).startswith("lazybandit: about 4,000,000 evaluations, 35 MB, about ")
    assert planned.seconds > 0
    assert planned.left_out == 0
    raced = pb.plan(np.zeros((20_000, 5), dtype=np.float32), k=20)
    assert raced.evaluations < raced.most_evaluations
    assert f"evaluations (at most {raced.most_evaluations:,}), " in str(raced)


def test_a_race_for_another_target_takes_less_time_per_evaluation():
    rows, others = brute.normal(20_000, 4), brute.normal(20_000, 4, seed=1)
    method = pb.methods.LazyBandit(effort="fast")
    same, other = (pb.plan(rows, target, k=20, method=method) for target in (None, others))
    assert other.seconds / other.evaluations < 0.9 * same.seconds / same.evaluations


def test_seconds_include_restarts_which_need_no_evaluations():
    rows = np.zeros((1000, 5), dtype=np.float32)
    fast, thorough = (
        pb.plan(rows, k=20, method=pb.methods.LazyBandit(effort=effort))
        for effort in ("fast", "thorough")
    )
    assert fast.evaluations == thorough.evaluations == 1_000_000
    assert thorough.seconds > 1.2 * fast.seconds


@pytest.mark.parametrize("n", [1000, 20_000])
def test_more_threads_need_fewer_seconds(n):
    rows = np.zeros((n, 5), dtype=np.float32)
    one, two, many = (pb.plan(rows, k=20, n_jobs=n_jobs).seconds for n_jobs in (1, 2, 64))
    assert one > two > many > one / 4


def test_invalid_arguments_raise_as_in_select():
    with pytest.raises(pb.InvalidInput, match="k=50 exceeds"):
        pb.plan(brute.normal(40), k=50)
    with pytest.raises(pb.InvalidInput, match="method="):
        pb.plan(brute.normal(40), k=5, method="best")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.06, "60 ms"), (42.0, "42 s"), (4500.0, "75 min"), (1e6, "11.6 days")]
)
def test_long_times_are_not_given_in_seconds(seconds, words):
    planned = replace(pb.plan(np.eye(4), k=2), seconds=seconds)
    assert str(planned).endswith(f"MB, about {words}")
