"""Each compiled loop equals its NumPy reference, and writes only to its output."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.kernels import distances
from protobandit.kernels.jit import Kernel

KERNELS = {name: value for name, value in vars(distances).items() if isinstance(value, Kernel)}
DTYPES = [np.float32, np.float64]
N_SOURCES, N_TARGETS = 5, 9
PAIRWISE_ONLY = {"squares_of_pairs"}  # a list of pairs, not a block


def rows(dtype, n_columns=23, seed=0):
    random = np.random.default_rng(seed)
    sources = random.normal(size=(N_SOURCES, n_columns)).round(2)
    targets = random.normal(size=(N_TARGETS, n_columns)).round(2)
    targets[3] = sources[2]
    targets[4] = sources[2] + 1e-4
    targets[5] = sources[1] = 0
    return sources.astype(dtype), targets.astype(dtype)


def norms_of(block):
    return (block.astype(np.float64) ** 2).sum(axis=1)


def from_products(sources, targets, out, is_root):
    out[:, : len(targets)] = sources @ targets.T
    guard = distances.GUARD[sources.dtype]
    norms = norms_of(sources), norms_of(targets)
    # The rows are stored in reverse order.
    places = np.arange(len(sources))[::-1].copy(), np.arange(len(targets))[::-1].copy()
    return sources[places[0]], targets[places[1]], *places, *norms, *guard, is_root, out


def below(sources, targets, out, is_root):
    distances._squares_by_column(sources, np.ascontiguousarray(targets.T), is_root, out)
    out[:, : len(targets) : 2] = 0  # to be computed again
    return sources, targets, out.dtype.type(1e-3), is_root, out


def largest(sources, targets, out):
    integers = f"i{out.itemsize}"
    gaps = np.zeros(sources.shape[1], dtype=sources.dtype)
    return sources, targets, gaps, gaps.view(integers), out.view(integers)


def columns(sources, targets, out, is_root):
    return sources, np.ascontiguousarray(targets.T), is_root, out


# (name of the kernel, function that makes its arguments of rows and out)
CASES = [
    ("_distances_from_products", lambda s, t, out: from_products(s, t, out, True)),
    ("_distances_from_products", lambda s, t, out: from_products(s, t, out, False)),
    ("_squares_by_column", lambda s, t, out: columns(s, t, out, True)),
    ("_squares_by_column", lambda s, t, out: columns(s, t, out, False)),
    ("_recompute_below", lambda s, t, out: below(s, t, out, True)),
    ("_recompute_below", lambda s, t, out: below(s, t, out, False)),
    ("_largest", largest),
    ("_minkowski_loops", lambda s, t, out: (s, t, 1.5, out)),
    ("manhattan", lambda s, t, out: (s, t, out)),
    ("hamming", lambda s, t, out: (s, t, out)),
    ("canberra", lambda s, t, out: (s, t, out)),
    ("braycurtis", lambda s, t, out: (s, t, out)),
]


def test_every_kernel_is_tested():
    assert {name for name, _ in CASES} == set(KERNELS) - PAIRWISE_ONLY


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_loops_equal_reference(name, arguments, dtype):
    sources, targets = rows(dtype)
    compiled, reference = (np.full((N_SOURCES, N_TARGETS + 3), -7, dtype) for _ in range(2))
    for function, out in ((KERNELS[name], compiled), (KERNELS[name].reference, reference)):
        function(*arguments(sources, targets, out[:, :N_TARGETS]))
    tolerance = 4e-6 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(compiled, reference, rtol=tolerance, atol=tolerance)
    assert (compiled[:, N_TARGETS:] == -7).all()
    assert (reference[:, N_TARGETS:] == -7).all()
    assert compiled[2, 3] == reference[2, 3] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_root", [True, False])
def test_squares_of_pairs(is_root, dtype):
    sources, targets = rows(dtype)
    i, j = np.array([2, 0, 4, 2]), np.array([3, 8, 0, 3])
    truth = norms_of(sources[i].astype(np.float64) - targets[j])
    for function in (distances.squares_of_pairs, distances.squares_of_pairs.reference):
        out = np.full(len(i), np.nan, dtype=dtype)
        function(sources, targets, i, j, is_root, out)
        np.testing.assert_allclose(out, np.sqrt(truth) if is_root else truth, rtol=1e-6)
        assert out[0] == out[3] == 0


@pytest.mark.parametrize("name", sorted(distances.FILLS))
def test_a_fill_writes_only_to_out(name):
    sources, targets = (abs(block[:, :2]) + 0.5 for block in rows(np.float32))
    if name in distances.BY_SCIPY and name != "jensenshannon":
        sources, targets = sources > 1, targets > 0.7
    has_norms = name in {"euclidean", "sqeuclidean", "cosine", "correlation", "jaccard"}
    norms = (norms_of(sources), norms_of(targets)) if has_norms else ()
    parameters = {"p": 3.0} if name == "minkowski" else {}
    around = np.full((N_SOURCES, N_TARGETS + 8), -7, dtype=np.float32)
    with np.errstate(invalid="ignore"):
        fill = distances.FILLS[name]
        fill(sources, targets, *norms, around[:, 5:-3], **parameters)
    assert (around[:, :5] == -7).all()
    assert (around[:, -3:] == -7).all()
    assert (around[:, 5:-3] != -7).all()


@pytest.mark.parametrize("n_columns", [3, 40])
def test_squares_of_any_magnitude(n_columns):
    """Intermediate float32 values do not overflow or underflow if the result does not."""
    sources, targets = rows(np.float64, n_columns)
    expected = np.sqrt(((sources[:, None] - targets) ** 2).sum(axis=2))
    for exponent in (-100, 0, 100) if n_columns > distances.FEW_COLUMNS else (-40, 0, 40):
        scaled = [np.ldexp(block, exponent).astype(np.float32) for block in (sources, targets)]
        out = np.empty(expected.shape, dtype=np.float32)
        norms = [norms_of(block) for block in scaled]
        distances.FILLS["euclidean"](*scaled, *norms, out)
        np.testing.assert_allclose(np.ldexp(out.astype(float), -exponent), expected, rtol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_columns", [1, 5, 12])
@pytest.mark.parametrize("name", ["euclidean", "sqeuclidean"])
def test_a_narrow_block_has_the_bits_of_a_wide_one(name, n_columns, dtype):
    random = np.random.default_rng(0)
    sources = random.standard_t(1, size=(300, n_columns)).astype(dtype)
    targets = np.concatenate([sources[:20], random.normal(size=(20, n_columns))]).astype(dtype)
    targets[5] += dtype(1e-22)
    whole = np.empty((300, 40), dtype=dtype)
    distances.FILLS[name](sources, targets, norms_of(sources), norms_of(targets), whole)
    for n in (1, 3, 7):
        around = np.full((300, n + 2), -7, dtype=dtype)
        for start in range(0, 40, n):
            some = targets[start : start + n]
            own = around[:, 1 : 1 + len(some)]
            distances.FILLS[name](sources, some, norms_of(sources), norms_of(some), own)
            np.testing.assert_array_equal(own, whole[:, start : start + n])
        assert (around[:, [0, -1]] == -7).all()


def test_a_product_that_overflows():
    source = np.full((1, 20), 1e25, dtype=np.float32)
    norms = norms_of(source)
    out = np.empty((1, 1), dtype=np.float32)
    distances.FILLS["euclidean"](source, -source, norms, norms, out)
    np.testing.assert_allclose(out, 2e25 * np.sqrt(20), rtol=1e-6)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_minkowski_of_the_smallest_numbers(p):
    """A quotient must not become a product with the reciprocal of a denormal number: infinity."""
    sources = rows(np.float64, 3)[0] * 1e-310
    out, expected = np.empty((2, len(sources), len(sources)))
    distances.minkowski(sources, sources, out, p=p)
    distances.minkowski(sources * 2.0**1000, sources * 2.0**1000, expected, p=p)
    np.testing.assert_allclose(out, expected * 2.0**-1000, rtol=1e-6, atol=1e-322)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_differ_everywhere_have_a_hamming_distance_of_one(dtype):
    for n_columns in range(1, 200):
        out = np.empty((1, 1), dtype)
        zeros = np.zeros((1, n_columns), dtype)
        distances.hamming(zeros, zeros + 1, out)
        assert out[0, 0] == 1
