"""Run a loop compiled, compiled with checks of indices, and in plain Python; compare results."""

from __future__ import annotations

import inspect
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from protobandit.kernels.compiler.loop_compiler import LoopCompiler

PRECISION = {"f4": 1e-6, "f8": 1e-13}
# Of each dtype, numbers that another dtype of this size does not hold.
EXTREMES = {
    "b1": [False, True],
    "i1": [-128, 127, -1, 5],
    "i2": [-(2**15), 2**15 - 1, -1, 5],
    "i4": [-(2**31), 2**31 - 1, -1, 5],
    "i8": [-(2**63), 2**63 - 1, -1, 5],
    "u1": [0, 2**8 - 1, 2**7, 5],
    "u2": [0, 2**16 - 1, 2**15, 5],
    "u4": [0, 2**32 - 1, 2**31, 5],
    "u8": [0, 2**64 - 1, 2**63, 5],
    "f4": [-1.5, np.finfo("f4").max, np.inf, np.nan, np.float32(0.1)],
    "f8": [-1.5, np.finfo("f8").max, np.inf, np.nan, 0.1],
}


@cache
def compiler(is_checked):
    """Return a compiler that keeps nothing on disk."""
    found = LoopCompiler(pytest.fail, is_checked=is_checked)
    found.cache = SimpleNamespace(read=lambda *name: None, write=lambda *content: None)
    return found


def compiled(loop, arguments, shared=(), *, is_checked=False):
    return compiler(is_checked).compiled(loop, arguments, shared)


def run(loop, *arguments, shared=(), is_checked=False):
    """Return the results of the machine code of a loop."""
    return compiled(loop, arguments, shared, is_checked=is_checked).call(arguments)


def assert_same_three_ways(loop, make, shared=()):
    """Compare results of a loop, and what it leaves in arrays; ``make`` makes its arguments."""
    expected_arguments = make()
    with np.errstate(all="ignore"):
        expected = loop(*expected_arguments)
    for is_checked in (False, True):
        arguments = make()
        found = run(loop, *arguments, shared=shared, is_checked=is_checked)
        assert_same(found, expected)
        pairs = zip(arrays_of(arguments), arrays_of(expected_arguments), strict=True)
        for own, other in pairs:
            assert_same_arrays(own, other)


def assert_same(found, expected):
    if expected is None:
        assert found is None
    elif isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for own, other in zip(found, expected, strict=True):
            assert_same(own, other)
    elif isinstance(expected, (float, np.floating)):
        assert type(found) is float
        precision = PRECISION["f4" if isinstance(expected, np.float32) else "f8"]
        assert found == pytest.approx(float(expected), rel=precision, abs=0, nan_ok=True)
    else:
        assert type(found) is int
        assert found == int(expected)


def assert_same_arrays(found, expected):
    precision = PRECISION.get(f"{found.dtype.kind}{found.dtype.itemsize}")
    if precision is None:
        np.testing.assert_array_equal(found, expected, strict=True)
    else:
        np.testing.assert_allclose(found, expected, rtol=precision, strict=True)


def arrays_of(arguments):
    for each in arguments:
        if isinstance(each, tuple):
            yield from arrays_of(each)
        elif isinstance(each, np.ndarray):
            yield each


def line_of(loop, mark="# wrong"):
    """Return the number of the line of a loop that has this comment."""
    lines, first = inspect.getsourcelines(loop)
    (at,) = (i for i, line in enumerate(lines) if mark in line)
    return first + at
