"""Forms: what a block becomes before distances are taken."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import dense_rows
from protobandit.kernels.jit import Kernel

KERNELS = {name: value for name, value in vars(dense_rows).items() if isinstance(value, Kernel)}
ROWS = np.random.default_rng(0).normal(size=(7, 19))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops_equal_reference(dtype):
    rows = ROWS.astype(dtype)
    cases = {
        "_norms": lambda out: (rows, np.empty(len(out))),
        "_scale": lambda out: (rows, ROWS[:, 3].copy(), out),
    }
    assert set(cases) == set(KERNELS)
    for name, arguments in cases.items():
        results = []
        for function in (KERNELS[name], KERNELS[name].reference):
            given = arguments(np.empty_like(rows))
            function(*given)
            results.append(given[-1])
        np.testing.assert_allclose(*results, rtol=1e-7 if dtype is np.float32 else 1e-14)


def read_only(block):
    block = block.copy()
    block.flags.writeable = False
    return block


@pytest.mark.parametrize("form", sorted(set(dense_rows.FORMS) - {"points"}))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same_form(form, dtype):
    block = ROWS.astype(dtype)
    expected, norms = dense_rows.FORMS[form](block)
    wide = np.zeros((14, 40), dtype=dtype)
    wide[::2, 1::2][:, :19] = block
    for same in (np.asfortranarray(block), read_only(block), wide[::2, 1::2][:, :19]):
        rows, same_norms = dense_rows.FORMS[form](same)
        assert rows.flags.c_contiguous
        assert rows.flags.writeable
        assert rows.dtype == expected.dtype
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_array_equal(same_norms, norms)


def test_a_plain_block_is_not_copied():
    assert dense_rows.FORMS["plain"](ROWS)[0] is ROWS


def test_directions_have_the_same_norm_even_zero_rows():
    rows, norms = dense_rows.FORMS["directions"](np.vstack([ROWS, np.zeros(19)]))
    np.testing.assert_allclose((rows[:-1] ** 2).sum(axis=1), 0.5)
    np.testing.assert_allclose(norms, 0.5)
    assert (rows[-1] == 0).all()


def test_profiles_of_a_constant_row_raise():
    block = ROWS.copy()
    block[4] = 0.1
    with pytest.raises(InvalidInput, match=r"'correlation' is undefined.*row 4 of a block \(1 "):
        dense_rows.FORMS["profiles"](block)


def test_points_require_two_columns():
    with pytest.raises(InvalidInput, match=r"'haversine' got rows of 19 column.*exactly 2"):
        dense_rows.FORMS["points"](ROWS)


def test_centre_is_near_the_mean_of_rows_far_from_the_origin():
    centre, spread = dense_rows.strided_centre(ROWS + 9, ROWS + 9), ROWS.std(axis=0).mean()
    np.testing.assert_allclose(centre, (ROWS + 9).mean(axis=0), atol=spread)


def test_centre_of_integers_is_an_integer():
    rows = np.random.default_rng(0).integers(90, 110, (50, 7)).astype(np.float64)
    centre = dense_rows.strided_centre(rows)
    np.testing.assert_array_equal(centre, np.rint(centre))
    np.testing.assert_array_equal(dense_rows.strided_centre(rows * 2**20), centre * 2**20)


def test_no_centre_for_rows_around_the_origin():
    assert dense_rows.strided_centre(ROWS, ROWS - 0.1) is None
    assert dense_rows.strided_centre(ROWS[:0]) is None


def test_centre_reads_evenly_spaced_rows():
    rows = np.full((10_000, 1), 1e9, dtype=np.float32)
    rows[::3] = np.arange(3334)[:, None] + 1e5
    np.testing.assert_allclose(dense_rows.strided_centre(rows), 1e5 + 3333 / 2, atol=1000)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros(3),
        np.zeros((2, 3)),
        np.array([[1.0, 0.5], [0.0, 1.0]]),
        -np.eye(2),
        np.full((2, 2), np.inf),
    ],
)
def test_no_square_root(matrix):
    assert dense_rows.square_root(matrix) is None


def test_square_root():
    matrix = ROWS.T @ ROWS  # of rank 7
    root = dense_rows.square_root(matrix)
    np.testing.assert_allclose(root @ root.T, matrix, atol=1e-12)
