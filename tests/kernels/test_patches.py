from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernels.instances import both_ways, every_type
from protobandit.kernels import patches
from protobandit.kernels.distances import GUARD

KERNELS = {"products": patches.squares_of_patches, "differences": patches.squares_by_differences}
both_kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def filled(kernel, way, rows, candidates, *, is_root, most=np.inf, n_patches=3, seed=0):
    """Return the distances of some patches, and those by brute force."""
    random = np.random.default_rng(seed)
    some = [random.permutation(len(rows))[: 1 + 7 * p] for p in range(n_patches)]
    others = [random.permutation(len(candidates))[: 2 * p] for p in range(n_patches)]
    last, end = np.cumsum([len(s) for s in some]), np.cumsum([len(o) for o in others])
    sizes = [len(s) * len(o) for s, o in zip(some, others, strict=True)]
    at = np.cumsum([0, *sizes])[:-1]
    out = np.full(sum(sizes) + 1, -1, dtype=rows.dtype)
    norms = [np.einsum("ij,ij->i", x, x, dtype=np.float64) for x in (rows, candidates)]
    way(kernel)(
        rows,
        norms[0],
        np.concatenate(some).astype(np.int32),
        np.append(0, last[:-1]),
        last,
        candidates,
        norms[1],
        np.concatenate(others).astype(np.int32),
        np.append(0, end[:-1]),
        end,
        at,
        *GUARD[rows.dtype],
        is_root,
        most,
        out,
    )
    assert out[-1] == -1, "nothing is written beyond the patches"
    kind = "euclidean" if is_root else "sqeuclidean"
    expected = [
        np.minimum(cdist(rows[s].astype(np.float64), candidates[o].astype(np.float64), kind), most)
        for s, o in zip(some, others, strict=True)
    ]
    return out[:-1], np.concatenate([each.ravel() for each in expected])


@both_kernels
@every_type
@both_ways
@pytest.mark.parametrize("n_columns", [1, 5, 12, 13, 64])
@pytest.mark.parametrize("is_root", [True, False])
def test_distances_of_patches(dtype, kernel, way, n_columns, is_root):
    random = np.random.default_rng(1)
    rows = random.normal(size=(40, n_columns)).astype(dtype)
    candidates = random.normal(size=(9, n_columns)).astype(dtype)
    found, expected = filled(kernel, way, rows, candidates, is_root=is_root)
    np.testing.assert_allclose(found, expected, rtol=2e-5 if dtype == np.float32 else 1e-9)


@both_kernels
@every_type
@both_ways
def test_near_rows_far_from_the_origin_keep_their_digits(dtype, kernel, way):
    random = np.random.default_rng(1)
    rows = (1000 + random.normal(size=(40, 30)) / 100).astype(dtype)
    found, expected = filled(kernel, way, rows, rows[:9].copy(), is_root=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@both_kernels
@both_ways
def test_distances_are_at_most_the_bound(kernel, way):
    rows = np.random.default_rng(0).normal(size=(30, 20))
    found, expected = filled(kernel, way, rows, rows[:8].copy(), is_root=False, most=3.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found.max() == 3.0


@both_kernels
@both_ways
@pytest.mark.parametrize(("n_columns", "n_patches"), [(16, 150), (700, 80), (9000, 40)])
def test_long_patches_are_computed_in_pieces(kernel, way, n_columns, n_patches):
    random = np.random.default_rng(0)
    rows = random.normal(size=(5000 // n_columns + 1050, n_columns)).astype(np.float32)
    some = rows[:400].copy()
    found, expected = filled(kernel, way, rows, some, is_root=True, n_patches=n_patches)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
