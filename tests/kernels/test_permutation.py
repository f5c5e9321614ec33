from __future__ import annotations

import numpy as np
import pytest

from protobandit.kernels import permutation
from protobandit.kernels.permutation import N_KEYS, _half_bits, permuted

SIZES = [1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 5000]


def keys(seed=0):
    return (
        np.random.default_rng(seed).integers(2**63, size=N_KEYS, dtype=np.int64).astype(np.uint64)
    )


def image(start, count, n, seed=0):
    out = np.empty(count, dtype=np.int64)
    permuted(start, n, keys(seed), out)
    return out


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_every_number_has_one_image(n, seed):
    np.testing.assert_array_equal(np.sort(image(0, n, n, seed)), np.arange(n))


@pytest.mark.parametrize("n", SIZES)
def test_an_image_does_not_depend_on_the_start(n):
    whole = image(0, n, n)
    for start in {0, n // 2, n - 1}:
        np.testing.assert_array_equal(image(start, n - start, n), whole[start:])


@pytest.mark.parametrize(
    ("start", "n"), [(0, 5000), (77, 4097), (10**9, 2 * 10**9), (2**40, 2**41 + 1)]
)
def test_compiled_equals_the_reference(start, n):
    plain = np.empty(500, dtype=np.int64)
    permutation.permuted_reference(start, n, _half_bits(n), keys(), plain)
    np.testing.assert_array_equal(image(start, 500, n), plain)


@pytest.mark.parametrize("n", [*SIZES, 2**20, 2**20 + 1, 10**9, 2**62])
def test_the_network_is_large_enough_and_not_much_larger(n):
    size = 4 ** _half_bits(n)
    assert n <= size <= max(4, 4 * n)
    assert n < 3 or size // 4 < n


def test_similar_keys_give_different_orders():
    first = image(0, 5000, 5000)
    other = keys()
    other[-1] ^= np.uint64(1)
    out = np.empty(5000, dtype=np.int64)
    permuted(0, 5000, other, out)
    assert np.count_nonzero(out == first) < 4000
    assert abs(np.corrcoef(image(0, 5000, 5000, 1), first)[0, 1]) < 0.06
