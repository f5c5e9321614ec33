"""Counts of evaluations and lookups."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.counts import PHASES, Counts


def test_a_snapshot_restores_both_counters():
    counts = Counts()
    counts.evaluations["build"] += 5
    counts.evaluations["swap"] += 2
    counts.lookups["assign"] += 1 << 40
    snapshot = counts.snapshot()
    assert counts.total == 7
    counts.evaluations["certify"] += 9
    counts.lookups["assign"] = 0
    other = Counts()
    for each, saved in ((counts, snapshot), (other, snapshot.tolist())):
        each.restore(saved)
        assert each.by_phase() == {"build": 5, "swap": 2, "assign": 0, "certify": 0}
        assert each.lookups.total() == each.lookups["assign"] == 1 << 40
        np.testing.assert_array_equal(each.snapshot(), snapshot)


def test_every_phase_is_reported():
    assert tuple(Counts().by_phase()) == PHASES
    assert Counts().total == 0
    assert len(Counts().kept) == 0


def test_kept_rows_are_those_of_the_moment():
    counts = Counts()
    counts.keep(np.array([4, 2]))
    arrays = counts.kept_arrays()
    counts.keep(np.array([1]))
    assert counts.n_kept == 3
    counts.restore_kept({name: array() for name, array in arrays.items()})
    assert [scan.tolist() for scan in counts.kept] == [[4, 2]]
    assert counts.n_kept == 2
    counts.restore_kept({name: array() for name, array in Counts().kept_arrays().items()})
    assert counts.kept == []


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ([4, -1, 2], [2, 1]),
        ([4, 1, 2], [4, -1]),
        ([4, 1, 2], [2, 2]),
        ([4, 1, 2], [2]),
        ([4, 1, 2], []),
        ([4.0, 1.0, 2.0], [2, 1]),
        ([4, 1, 2], [2.0, 1.0]),
        ([[4, 1, 2]], [2, 1]),
        ([4, 1, 2], [[2, 1]]),
    ],
)
def test_kept_rows_that_were_modified_are_refused(rows, sizes):
    counts = Counts()
    counts.restore_kept({"kept": np.array([4, 1, 2]), "kept sizes": np.array([2, 1])})
    with pytest.raises(InvalidInput, match="checkpoint holds rows"):
        counts.restore_kept({"kept": np.array(rows), "kept sizes": np.array(sizes)})
