from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernels.instances import both_ways, every_type
from protobandit.kernels import patches
from protobandit.kernels.distances import GUARD

# From how many candidates on products are used.
FORMS = {"products": 1, "products for many": 3, "differences": 10**9}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def not_judged(dtype):
    ids, slots, numbers = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, dtype)
    return ids, numbers, slots, numbers, numbers, np.empty((0, 0)), np.empty((0, 0))


def filled(form, way, rows, candidates, *, is_root, most=np.inf, n_patches=3, seed=0):
    """Return the distances of some patches, and those by brute force."""
    random = np.random.default_rng(seed)
    some = [random.permutation(len(rows))[: 1 + 7 * p] for p in range(n_patches)]
    others = [random.permutation(len(candidates))[: 2 * p] for p in range(n_patches)]
    last, end = np.cumsum([len(s) for s in some]), np.cumsum([len(o) for o in others])
    sizes = [len(s) * len(o) for s, o in zip(some, others, strict=True)]
    at = np.cumsum([0, *sizes])[:-1]
    out = np.full(sum(sizes) + 1, -1, dtype=rows.dtype)
    norms = [np.einsum("ij,ij->i", x, x, dtype=np.float64) for x in (rows, candidates)]
    way(patches.compare_patches)(
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
        form,
        *GUARD[rows.dtype],
        is_root,
        most,
        True,
        out,
        *not_judged(rows.dtype),
    )
    assert out[-1] == -1, "nothing is written beyond the patches"
    kind = "euclidean" if is_root else "sqeuclidean"
    expected = [
        np.minimum(cdist(rows[s].astype(np.float64), candidates[o].astype(np.float64), kind), most)
        for s, o in zip(some, others, strict=True)
    ]
    return out[:-1], np.concatenate([each.ravel() for each in expected])


@every_form
@every_type
@both_ways
@pytest.mark.parametrize("n_columns", [1, 5, 12, 13, 64])
@pytest.mark.parametrize("is_root", [True, False])
def test_distances_of_patches(dtype, form, way, n_columns, is_root):
    random = np.random.default_rng(1)
    rows = random.normal(size=(40, n_columns)).astype(dtype)
    candidates = random.normal(size=(9, n_columns)).astype(dtype)
    found, expected = filled(form, way, rows, candidates, is_root=is_root)
    np.testing.assert_allclose(found, expected, rtol=2e-5 if dtype == np.float32 else 1e-9)


@every_form
@every_type
@both_ways
def test_near_rows_far_from_the_origin_keep_their_digits(dtype, form, way):
    random = np.random.default_rng(1)
    rows = (1000 + random.normal(size=(40, 30)) / 100).astype(dtype)
    found, expected = filled(form, way, rows, rows[:9].copy(), is_root=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@every_form
@both_ways
def test_distances_are_at_most_the_bound(form, way):
    rows = np.random.default_rng(0).normal(size=(30, 20))
    found, expected = filled(form, way, rows, rows[:8].copy(), is_root=False, most=3.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found.max() == 3.0


@every_form
@both_ways
@pytest.mark.parametrize(("n_columns", "n_patches"), [(16, 150), (700, 80), (9000, 40)])
def test_long_patches_are_computed_in_pieces(form, way, n_columns, n_patches):
    random = np.random.default_rng(0)
    rows = random.normal(size=(5000 // n_columns + 1050, n_columns)).astype(np.float32)
    some = rows[:400].copy()
    found, expected = filled(form, way, rows, some, is_root=True, n_patches=n_patches)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


class Instance:
    """Patches of rows, some of which are candidates too, and what the rows have."""

    def __init__(self, dtype, n_columns, *, centre=0.0, scale=1.0, most=np.inf):
        random = np.random.default_rng(0)
        self.rows = (centre + scale * random.normal(size=(300, n_columns))).astype(dtype)
        self.most = most
        self.row_ids = np.concatenate([random.permutation(300)[:150] for _ in range(2)])
        self.row_ids = self.row_ids.astype(np.int32)
        self.candidates = [random.permutation(300)[:n] for n in (20, 2)]
        self.weights = random.integers(0, 3, size=300).astype(dtype)
        self.served = random.integers(0, 3, size=300).astype(np.int32)
        # Some rows are nearer to what they have than to any candidate.
        self.D = scale * random.random(300) * np.sqrt(2 * n_columns)
        self.E = np.minimum(self.D + scale * random.random(300), most).astype(dtype)
        self.D = np.minimum(self.D, most).astype(dtype)
        self.E[::7] = np.inf

    def judged(self, way, form, *, is_root, are_kept):
        ends = np.cumsum([len(each) for each in self.candidates])
        norms = np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)
        first, last = np.array([0, 150]), np.array([150, 300])
        changes, gains = np.full((2, 20), np.nan), np.full((2, 20), np.nan)
        out = np.full(150 * ends[-1] if are_kept else 0, np.nan, dtype=self.rows.dtype)
        sides = self.rows, norms, np.concatenate(self.candidates).astype(np.int32)
        way(patches.compare_patches)(
            self.rows, norms, self.row_ids, first, last, *sides, np.append(0, ends[:-1]), ends,
            np.array([0, 150 * 20]), form, *GUARD[self.rows.dtype], is_root, self.most, are_kept,
            out,
            np.array([1, 2]), self.weights, self.served, self.D, self.E, changes, gains,
        )  # fmt: skip
        return out, changes, gains

    def expected(self, p, *, is_root):
        some = self.row_ids[150 * p : 150 * (p + 1)]
        d = cdist(
            self.rows[some].astype(np.float64), self.rows[self.candidates[p]].astype(np.float64)
        )
        d = np.minimum(d if is_root else d**2, self.most)
        near = self.D[some].astype(np.float64)[:, None]
        limit = np.where(self.served[some] == p + 1, self.E[some], self.D[some])[:, None]
        weights = self.weights[150 * p : 150 * (p + 1)].astype(np.float64)
        return d, weights @ (np.minimum(d, limit) - near), weights @ np.maximum(near - d, 0)


@every_form
@every_type
@both_ways
@pytest.mark.parametrize("are_kept", [True, False])
@pytest.mark.parametrize("is_root", [True, False])
@pytest.mark.parametrize("n_columns", [3, 40])
def test_candidates_are_judged_where_distances_are_made(
    dtype, form, way, are_kept, is_root, n_columns
):
    require_true_sums(Instance(dtype, n_columns), form, way, is_root=is_root, are_kept=are_kept)


def require_true_sums(instance, form, way, *, is_root, are_kept):
    out, changes, gains = instance.judged(way, form, is_root=is_root, are_kept=are_kept)
    at = 0
    for p in range(2):
        d, own_changes, own_gains = instance.expected(p, is_root=is_root)
        n, largest = d.shape[1], d.max()
        np.testing.assert_allclose(changes[p, :n], own_changes, rtol=1e-4, atol=1e-3 * largest)
        np.testing.assert_allclose(gains[p, :n], own_gains, rtol=1e-4, atol=1e-3 * largest)
        if are_kept:
            own = out[at : at + d.size]
            np.testing.assert_allclose(own, d.ravel(), rtol=1e-4, atol=1e-6 * largest)
            at += d.size
    assert np.isnan(changes[1, 2:]).all(), "nothing is written beyond the candidates of a patch"


@every_form
@every_type
@both_ways
@pytest.mark.parametrize("are_kept", [True, False])
def test_near_rows_far_from_the_origin_are_judged_exactly(dtype, form, way, are_kept):
    instance = Instance(dtype, 40, centre=1000.0, scale=0.01)
    require_true_sums(instance, form, way, is_root=True, are_kept=are_kept)


@every_form
@both_ways
@pytest.mark.parametrize("are_kept", [True, False])
def test_judged_distances_are_at_most_the_bound(form, way, are_kept):
    instance = Instance(np.float64, 40, most=6.0)
    require_true_sums(instance, form, way, is_root=True, are_kept=are_kept)


@every_form
@both_ways
def test_tiny_distances_are_judged(form, way):
    instance = Instance(np.float32, 40, scale=1e-17)
    require_true_sums(instance, form, way, is_root=True, are_kept=False)
