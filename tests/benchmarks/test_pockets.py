"""Small far clusters: a part of `python -m benchmarks.pockets`, and its page."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.common import sessions
from benchmarks.pockets import EFFORTS, PROBLEMS, Run, page, runs, summary

from protobandit.search.drivers.race import race as race_file

FAST = {name: EFFORTS[name] for name in ("fast", "balanced")}
OTHER_ROWS = [problem for problem in PROBLEMS if problem.form != "same rows"]


@pytest.mark.parametrize("problem", OTHER_ROWS, ids=[problem.name for problem in OTHER_ROWS])
def test_no_run_loses_a_far_cluster(problem):
    found = runs(problem, 0, FAST)
    assert all(run.counts for run in found)
    assert not [run for run in found if run.fails or run.n_warnings]


def test_the_budget_suffices_if_many_rows_are_far():
    """Squares in few columns: rows far from all prototypes are many, and some are left out."""
    (problem,) = [each for each in PROBLEMS if each.name.endswith("0.05% at 30, same rows")]
    (run,) = runs(problem, 0, {"fast": EFFORTS["fast"]})
    assert not run.fails
    assert run.n_warnings == 0


def test_without_the_search_runs_lose_far_clusters(monkeypatch):
    """The problems are such that a race without the search fails."""
    monkeypatch.setattr(race_file, "_with_far_rows", lambda race_state, *_: race_state)
    few = [problem for problem in OTHER_ROWS if problem.metric in ("sqeuclidean", "cosine")]
    found = [
        run
        for problem in few
        if problem.share < 0.005
        for run in runs(problem, 0, {"fast": EFFORTS["fast"]})
    ]
    assert len(found) == 3
    assert all(run.fails for run in found)


def test_thorough_finds_a_far_cluster():
    found = runs(PROBLEMS[2], 0, {"thorough": EFFORTS["thorough"]})
    assert not found[0].fails


@pytest.mark.parametrize("problem", PROBLEMS, ids=[problem.name for problem in PROBLEMS])
def test_the_pocket_has_its_share(problem):
    instance = problem.draw(0)
    weights = np.ones(len(instance.target)) if instance.weights is None else instance.weights
    share = weights[instance.is_pocket].sum() / weights.sum()
    assert share == pytest.approx(problem.share, rel=0.01)
    assert instance.in_pocket.sum() >= 2
    if problem.form == "by weight":
        assert instance.is_pocket.sum() < 0.1 * problem.share * len(instance.target)


def test_the_table_counts_failures_and_warnings():
    def run(ratio, share, n_warnings):
        return Run(
            problem=PROBLEMS[0].name,
            method="fast",
            seed=0,
            ratio=ratio,
            share=share,
            evaluations=1000,
            n_warnings=n_warnings,
        )

    found = [run(1.2, 0.5, 0), run(1.3, 0.5, 1), run(1.0, 0.5, 1), run(9.0, 0.04, 0)]
    assert summary(found) == [["fast", "3", "2", "1", "1", "1.300", "1.200", "1e+03"]]
    others = [Run(**vars(each) | {"method": name}) for each in found for name in EFFORTS]
    text = page(others, [sessions.current("python -m benchmarks.pockets")])
    assert PROBLEMS[0].name in text
    assert "commit" in text
