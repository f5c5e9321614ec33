"""A keyed random permutation of the numbers below n: computed, not stored.

A Feistel network permutes the numbers below a power of 4; an image >= n is permuted again until it
is below n (cycle walking).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.kernels.jit import kernel

N_KEYS = 6
_FEW = 1 << 15
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)


def _half_bits(n: int) -> int:
    return max(1, ((int(n) - 1).bit_length() + 1) // 2)


def permuted(start: int, n: int, keys: np.ndarray[Any, Any], out: Ids) -> None:
    """Fill ``out`` with the images of ``start, start + 1, …`` under the permutation of ``n``."""
    # For few numbers NumPy, which gives the same ones, takes less time than loading compiled code.
    permute = permuted_reference if len(out) <= _FEW else _permuted
    permute(start, n, _half_bits(n), keys, out)


def permuted_reference(start: int, n: int, half: int, keys: np.ndarray[Any, Any], out: Ids) -> None:
    """Do as `permuted` does, in NumPy."""
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    values = np.arange(start, start + len(out), dtype=np.uint64)
    todo = np.arange(len(out))
    while len(todo):
        left, right = values[todo] >> bits, values[todo] & mask
        for key in keys:
            mixed = (right ^ key) * _MIX
            mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX_2
            left, right = right, left ^ ((mixed ^ (mixed >> np.uint64(32))) & mask)
        values[todo] = (left << bits) | right
        todo = todo[values[todo] >= n]
    out[:] = values.astype(np.int64)


@kernel(permuted_reference)
def _permuted(start, n, half, keys, out):  # type: ignore[no-untyped-def]
    bits = np.uint64(half)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    limit = np.uint64(n)
    for i in range(len(out)):
        value = np.uint64(start + i)
        while True:
            left, right = value >> bits, value & mask
            for key in keys:
                mixed = (right ^ key) * _MIX
                mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX_2
                left, right = right, left ^ ((mixed ^ (mixed >> np.uint64(32))) & mask)
            value = (left << bits) | right
            if value < limit:
                break
        out[i] = np.int64(value)
