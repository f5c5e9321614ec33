"""Nearest source rows of a checkpoint that was modified are refused."""

from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.farthest import _NearestSources

N_SOURCE, N_TARGET = 12, 7


def nearest_sources():
    problem = pose(brute.normal(N_SOURCE), brute.normal(N_TARGET), k=2)
    return _NearestSources(Oracle(problem, n_jobs=1))


def test_nearest_sources_are_restored():
    first, second = nearest_sources(), nearest_sources()
    distances = np.arange(N_TARGET, dtype=float)
    expected = first.of_farthest(distances, np.array([3]))
    second.restore(first.state())
    for name, array in first.state().items():
        assert array.tolist() == second.state()[name].tolist()
    assert second.of_farthest(distances, np.array([3])) == expected


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("nearest_source", np.full(N_TARGET, -2)),
        ("nearest_source", np.full(N_TARGET, N_SOURCE)),
        ("nearest_source", np.zeros(N_TARGET)),
        ("nearest_source", np.zeros(N_TARGET - 1, int)),
        ("is_open", np.ones(N_TARGET + 1, bool)),
        ("is_open", np.ones(N_TARGET, int)),
    ],
)
def test_nearest_sources_that_were_modified_are_refused(name, wrong):
    with pytest.raises(InvalidInput, match="checkpoint holds nearest rows"):
        nearest_sources().restore({**nearest_sources().state(), name: wrong})
