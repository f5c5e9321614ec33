"""Samples by weight, and their precision."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.problem.reference import Reference, effective_size, thinned


def test_equal_weights_keep_every_row():
    drawn = thinned(np.full(50, 3.0), np.random.default_rng(0))
    assert sorted(drawn) == list(range(50))
    assert drawn.tolist() != list(range(50))


def test_rows_are_drawn_in_proportion_to_their_weights():
    weights, random = np.repeat([0.0, 1.0, 2.0, 4.0], 2000), np.random.default_rng(0)
    counts = np.bincount(thinned(weights, random) // 2000, minlength=4)
    assert counts[0] == 0
    assert counts[3] == 2000
    np.testing.assert_allclose(counts[1:3] / 2000, [0.25, 0.5], atol=0.04)


def test_one_very_large_weight_does_not_remove_all_other_rows():
    weights = np.append(np.ones(999), 5.0)
    assert len(thinned(weights, np.random.default_rng(0))) > 900


def test_effective_size():
    assert effective_size(np.ones(7)) == pytest.approx(7)
    assert effective_size(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)


def test_cost_of_a_reference():
    assert Reference(distances=np.array([1.0, 2.0, 6.0]), evaluations=0).cost == 3.0
