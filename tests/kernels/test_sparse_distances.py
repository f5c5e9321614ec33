"""Distances of sparse rows equal those of the same rows as dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from protobandit.kernels import sparse_distances
from protobandit.metrics.metrics import METRICS

NAMES = sorted(sparse_distances.FILLS)
KINDS = [sparse.csr_array, sparse.csr_matrix]


def rows(n, seed, n_columns=60):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, n_columns)) * (random.random((n, n_columns)) < 0.2)


def both():
    sources, targets = rows(6, 0), rows(11, 1)
    targets[2] = sources[3]
    targets[4] = sources[3]
    targets[4, np.flatnonzero(targets[4])[0]] *= 1 + 1e-9
    targets[5] = sources[1] = 0
    return sources, targets


def distances(name, sources, targets, dtype=np.float64):
    metric = METRICS[name]
    out = np.full((sources.shape[0], targets.shape[0]), np.nan, dtype=dtype)
    metric.fill(metric.prepare(sources, None), metric.prepare(targets, None), out)
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_sparse_equals_dense(name, dtype, kind):
    sources, targets = (block.astype(dtype) for block in both())
    found = distances(name, kind(sources), kind(targets))
    expected = distances(name, sources.astype(np.float64), targets.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert found[3, 2] == 0
    assert found[3, 4] > 0 or dtype is np.float32 or name == "cosine"


@pytest.mark.parametrize("name", NAMES)
def test_results_are_rounded_once(name):
    sources, targets = (sparse.csr_array(block) for block in both())
    narrow = distances(name, sources, targets, dtype=np.float32)
    np.testing.assert_array_equal(narrow, distances(name, sources, targets).astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_unsorted_and_duplicate_entries(name):
    sources, targets = both()
    matrix = sparse.csr_array(targets)
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    backwards = np.concatenate(
        [np.arange(indptr[i], indptr[i + 1])[::-1] for i in range(len(targets))]
    )
    messy = sparse.csr_array(
        (
            np.repeat(data[backwards] / 2, 2),
            np.repeat(indices[backwards], 2),
            indptr * 2,
        ),
        shape=matrix.shape,
    )
    before = messy.indices.copy()
    found = distances(name, sparse.csr_array(sources), messy)
    np.testing.assert_allclose(found, distances(name, sources, targets), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(messy.indices, before)


@pytest.mark.parametrize("name", NAMES)
def test_far_from_the_origin(name):
    """Sparse rows are not centred, so precision must come from the differences."""
    sources, targets = (np.where(block, 1e6 + block, 0) for block in both())
    found = distances(name, sparse.csr_array(sources), sparse.csr_array(targets))
    expected = distances(name, sources, targets)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)
    assert found[3, 2] == 0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("is_root", [True, False])
def test_loops_equal_reference(power, is_root):
    sources, targets = (sparse.csr_array(block) for block in both())
    results = []
    for function in (sparse_distances._loops, sparse_distances._loops.reference):
        sides = tuple(sparse_distances._parts(m) for m in (sources, targets, targets.tocsc()))
        sizes = sparse_distances._sizes(sources, power), sparse_distances._sizes(targets, power)
        scratch = np.zeros(sources.shape[1]), np.zeros(targets.shape[0])
        out = np.full((sources.shape[0], targets.shape[0]), np.nan)
        function(sides, sizes, power, is_root, scratch, out)
        assert (scratch[0] == 0).all()
        results.append(out)
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-15)
    assert results[0][3, 2] == results[1][3, 2] == 0


def test_empty_rows():
    empty = sparse.csr_array((3, 8))
    for name in NAMES:
        assert (distances(name, empty, empty) == (1 if name == "cosine" else 0)).all()


def test_take_rows():
    sources, targets = (sparse.csr_array(block) for block in both())
    metric = METRICS["euclidean"]
    prepared = metric.prepare(targets, None)
    expected = distances("euclidean", sources, targets)
    for where in (np.array([7, 2, 2]), slice(3, 9), slice(0, 11, 3)):
        taken = prepared.take(where)
        out = np.empty((6, len(taken)))
        metric.fill(metric.prepare(sources, None), taken, out)
        np.testing.assert_array_equal(out, expected[:, where])
