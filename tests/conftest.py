"""Fixtures of all tests."""

from __future__ import annotations

from itertools import count
from unittest.mock import patch

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _seeded_generators():
    """Seed the generators that are made without a seed: a test has the same result every time."""
    numbers, default_rng = count(), np.random.default_rng

    def seeded(seed=None):
        return default_rng([next(numbers), 2022] if seed is None else seed)

    with patch.object(np.random, "default_rng", seeded):
        yield
