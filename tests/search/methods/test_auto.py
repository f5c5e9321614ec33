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
    for most, name in ((planned - 1, "lazybandit"), (planned, "localsearch")):
        limits = pb.Limits(evaluations=most)
        assert Auto().engine(problem, limits).name == name
        assert pb.plan(LARGE, k=5, limits=limits).method == name
    limits = pb.Limits(evaluations=100_000)
    assert pb.select(LARGE, k=5, limits=limits, random_state=0).method == "lazybandit"


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
