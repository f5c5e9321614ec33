"""Digests of parts."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.rows.parts import PartRows, writable

ROWS = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)


def digest(rows, weights=None):
    return PartRows(numbers=rows, weights=weights).digest()


@pytest.mark.parametrize("place", [(0, 0), (517, 1), (999, 2)])
def test_one_other_number_is_another_digest(place):
    other = ROWS.copy()
    other[place] += 1e-3
    assert digest(other) != digest(ROWS)


def test_other_shapes_types_and_weights_are_other_digests():
    whole = digest(ROWS)
    others = [
        digest(ROWS[:-1]),
        digest(ROWS.astype(np.float64)),
        digest(ROWS.reshape(-1, 1)),
        digest(ROWS, np.ones(1000)),
        digest(ROWS[::-1]),
        digest(np.empty((0, 3), dtype=np.float32)),
    ]
    assert len({whole, *others}) == 7
    assert digest(ROWS.copy()) == whole


def test_writable_copies_only_read_only_arrays():
    own = np.zeros(3)
    assert writable(own) is own
    own.flags.writeable = False
    assert writable(own).flags.writeable
