"""Prototypes and arms for tests of kernels, and properties computed by brute force."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.kernels.compiler.loop_compiler import LoopCompiler

WAYS = {"compiled": lambda kernel: kernel, "reference": lambda kernel: kernel.reference}

every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
tied = pytest.mark.parametrize("is_tied", [False, True], ids=["distinct", "tied"])


@cache
def compiler_with_checks():
    return LoopCompiler(pytest.fail, is_checked=True)


def checked(kernel):
    """Return the compiled loop with checks of its indices, and of arrays that overlap."""

    def call(*arguments):
        own = arguments if kernel.scratch is None else (*arguments, *kernel.scratch(*arguments))
        loop = compiler_with_checks().compiled(kernel.loops, own, kernel.shared)
        return loop.call(own)

    return call


# Compiled and the reference; compiled with checks too.
both_ways = pytest.mark.parametrize("way", [*WAYS.values(), checked], ids=[*WAYS, "checked"])


def table(n_arms, n_rows, *, dtype=np.float64, seed=0, is_tied=False):
    """Return distances of arms to rows; tied ones are small integers, many of them zero."""
    random = np.random.default_rng(seed)
    if is_tied:
        return random.integers(0, 3, size=(n_arms, n_rows)).astype(dtype)
    return random.random((n_arms, n_rows)).astype(dtype)


def weighted(n, seed=0):
    """Return weights, some of which are 0."""
    return np.random.default_rng(seed).integers(0, 4, size=n) / 2.0


def ragged(full, *, share=1.0, seed=0):
    """Return starts, columns (unsorted) and values of the distances of arms, some left out."""
    random = np.random.default_rng(seed)
    own = [random.permutation(np.flatnonzero(random.random(full.shape[1]) < share)) for _ in full]
    starts = np.concatenate([[0], np.cumsum([len(columns) for columns in own])]).astype(np.int64)
    values = [row[columns] for row, columns in zip(full, own, strict=True)]
    return starts, np.concatenate(own).astype(np.int32), np.concatenate(values)


def swap_state(way, members, beyond=0.0):
    """Return near, second, D and E of every column; E of a single prototype is ``beyond``."""
    n, is_single = members.shape[1], len(members) == 1
    near, second = np.full((2, n), 0 if is_single else -1)
    D, E = np.full((2, n), np.inf, dtype=members.dtype)
    E[:] = beyond if is_single else np.inf
    for slot, row in enumerate(members):
        way(ragged_swaps_kernels.replace_prototype)(members, slot, row.copy(), near, second, D, E)
    return near, second, D, E


def losses_of(way, near, D, E, weights, k):
    losses = np.full(k, np.nan)
    way(ragged_swaps_kernels.removal_losses)(near, D, E, weights, losses)
    return losses


def summed_cost(members, weights):
    return float(weights @ members.astype(np.float64).min(axis=0))


def require_exact(members, near, second, D, E):
    """Assert that D and E are the two smallest of each column, in the slots near and second."""
    columns = np.arange(members.shape[1])
    ascending = np.sort(members, axis=0)
    np.testing.assert_array_equal(D, ascending[0])
    np.testing.assert_array_equal(D, members[near, columns])
    if len(members) > 1:
        np.testing.assert_array_equal(E, ascending[1])
        np.testing.assert_array_equal(E, members[second, columns])
        assert (near != second).all()
