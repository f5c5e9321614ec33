from __future__ import annotations

import numpy as np
import pytest

from protobandit.search.objectives.random_swaps import first_better
from protobandit.search.objectives.swap_state import SwapState


def distances(target, source):
    return np.abs(np.asarray(source)[:, None] - np.asarray(target)[None, :]).astype(float)


def test_a_lone_prototype_gives_up_all_its_rows():
    """From 45, -20 is nearer to most rows, but much farther from the others."""
    target, source = np.repeat([0.0, 100.0], [60, 40]), [45.0, -20.0, -5.0]
    matrix, places = distances(target, source), np.arange(3)
    swap_state = SwapState(np.array([0]), matrix[:1].copy(), np.ones(100))
    is_member = np.array([True, False, False])
    slots = np.zeros(4, dtype=np.int64)
    found = first_better(swap_state, matrix, places, np.array([1, 0, 1, 1]), slots, is_member)
    assert found == (4, 3)
    found = first_better(swap_state, matrix, places, np.array([1, 0, 2, 1]), slots, is_member)
    assert found == (2, 1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_an_equal_neighbour_is_no_better(scale):
    """The same distances in another order: only rounding could tell them apart."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        own = scale * random.uniform(size=300)
        matrix = np.array([own, random.permutation(own)])
        weights = np.full(300, random.uniform())
        for arm in (0, 1):
            swap_state = SwapState(np.array([1 - arm]), matrix[[1 - arm]], weights)
            arms, slots = np.array([arm]), np.zeros(1, dtype=np.int64)
            is_member = np.arange(2) != arm
            assert first_better(swap_state, matrix, np.arange(2), arms, slots, is_member) == (1, 1)
