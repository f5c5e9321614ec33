from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation.errors import InvalidInput
from protobandit.problem.posing import pose
from protobandit.search.methods.auto import Auto

LARGE = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)


def engine(rows, **arguments):
    return Auto(effort="fast").engine(pose(rows, k=5, **arguments))


def test_the_engine_follows_from_size_and_metric():
    assert engine(LARGE).name == "localsearch"
    assert engine(LARGE, metric="manhattan").name == "localsearch"
    assert engine(LARGE[:500]).name == "lazybandit"
    assert engine(LARGE, metric=lambda a, b: float(abs(a - b).sum())).name == "lazybandit"


@pytest.mark.parametrize(
    ("n_columns", "k", "effort", "name"),
    [
        (256, 200, "thorough", "lazybandit"),
        (256, 200, 5.9, "localsearch"),
        (256, 201, "thorough", "localsearch"),
        (250, 200, "thorough", "localsearch"),
    ],
)
def test_thorough_effort_races_where_rows_are_long_and_prototypes_few(n_columns, k, effort, name):
    rows = np.tile(LARGE, (1, 90))[:, :n_columns]
    assert Auto(effort=effort).engine(pose(rows, k=k)).name == name


def test_a_small_limit_of_evaluations_races():
    problem = pose(LARGE, k=5)
    planned = pb.plan(LARGE, k=5, method="localsearch").evaluations
    half = -(-planned // 2)
    for most, name in ((half - 1, "lazybandit"), (half, "localsearch")):
        limits = pb.Limits(evaluations=most)
        assert Auto().engine(problem, limits).name == name
        assert pb.plan(LARGE, k=5, limits=limits).method == name
    limits = pb.Limits(evaluations=100_000)
    assert pb.select(LARGE, k=5, limits=limits, random_state=0).method == "lazybandit"


@pytest.mark.parametrize("n", [5000, 500])
def test_local_search_runs_where_a_limit_is_too_low_for_a_race(n):
    rows, k = LARGE[:n], 20
    least = min(n, 2 * k) * (k + 1)
    for most, name in ((least, "lazybandit"), (least - 1, "localsearch"), (k, "localsearch")):
        limits = pb.Limits(evaluations=most)
        found = pb.select(rows, k=k, limits=limits, random_state=0)
        assert (found.k, found.method) == (k, name)
        assert pb.plan(rows, k=k, limits=limits).method == name
    with pytest.raises(InvalidInput, match="less than the 20 that method='localsearch' computes"):
        pb.select(rows, k=k, limits=pb.Limits(evaluations=k - 1))


@pytest.mark.parametrize("metric", ["precomputed", lambda a, b: float(abs(a - b).sum())])
def test_local_search_supports_every_metric_of_a_race(metric):
    rows = abs(LARGE[:40, :1] - LARGE[:40, :1].T) if metric == "precomputed" else LARGE[:40]
    limits = pb.Limits(evaluations=50)
    found = pb.select(rows, k=5, metric=metric, limits=limits, random_state=0)
    assert (found.k, found.method) == (5, "localsearch")


def test_classes_have_a_method_that_their_share_of_a_limit_allows():
    by, limits = np.arange(5000) % 2, pb.Limits(evaluations=1000)
    call = {"k": 40, "by": by, "limits": limits}
    assert pb.select(LARGE, **call, random_state=0).method == "localsearch"
    assert pb.plan(LARGE, **call).method == "localsearch"


def test_the_effort_is_that_of_the_engine():
    assert engine(LARGE).effort == "fast"
    assert engine(LARGE[:500]).effort == "fast"
    chosen = pb.select(LARGE, k=5, method=pb.methods.Auto(effort=0.5), random_state=0)
    assert (chosen.method, chosen.parameters) == ("localsearch", {"effort": 0.5})
    assert pb.plan(LARGE, k=5, method=pb.methods.Auto(effort=0.5)).method == "localsearch"


def test_an_invalid_effort_is_refused():
    with pytest.raises(InvalidInput, match="effort='slow' is not allowed"):
        pb.methods.Auto(effort="slow")


def test_auto_is_lazygreedy_if_the_engine_lacks_support():
    chosen = pb.select(
        LARGE[:300], method="auto", until=pb.Coverage(0.5, radius=1.0), random_state=0
    )
    assert chosen.method == "lazygreedy"
