from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.selection import smallest


@pytest.mark.parametrize("n", [0, 1, 7, 39, 40, 50])
def test_of_equal_values_the_first_are_taken(n):
    values = np.random.default_rng(0).integers(0, 6, 40).astype(float)
    values[::9] = np.inf
    expected = np.sort(np.argsort(values, kind="stable")[:n])
    assert smallest(values, n).tolist() == expected.tolist()


def test_infinite_values():
    values = np.array([np.inf, -np.inf, np.inf, 2.0, -np.inf])
    assert smallest(values, 1).tolist() == [1]
    assert smallest(values, 4).tolist() == [0, 1, 3, 4]
