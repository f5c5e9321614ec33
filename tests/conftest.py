"""Fixtures of all tests."""

from __future__ import annotations

import signal
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest

# Under nohup, or in the background of a script, these are ignored, which the tests do not expect.
for _name, _handler in (("SIGHUP", signal.SIG_DFL), ("SIGINT", signal.default_int_handler)):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.fixture(autouse=True)
def _seeded_generators():
    """Seed the generators that are made without a seed: a test has the same result every time."""
    numbers, default_rng = count(), np.random.default_rng

    def seeded(seed=None):
        return default_rng([next(numbers), 2022] if seed is None else seed)

    with patch.object(np.random, "default_rng", seeded):
        yield
