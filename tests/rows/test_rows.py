from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from protobandit.rows.rows import (
    DenseRows,
    NumberedRows,
    ObjectRows,
    SparseRows,
    require_finite,
    strided,
    working_dtype,
)

N = 700  # more than the rows of a fingerprint
NUMBERS = np.random.default_rng(0).integers(1, 100, size=(N, 3)).astype(np.float64)

KINDS = {
    "dense": lambda a: DenseRows(a, name="source"),
    "sparse": lambda a: SparseRows(sp.csr_array(a), name="source"),
    "objects": lambda a: ObjectRows([tuple(row) for row in a.tolist()], name="source"),
    "objects, arrays": lambda a: ObjectRows(list(a), name="source"),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def dense(block):
    return block.toarray() if sp.issparse(block) else np.array(block)


@every_kind
@pytest.mark.parametrize(
    "where",
    [slice(0, N), slice(5, 6), slice(0, 0), slice(N - 3, N), np.array([4]), np.array([9, 2, 9, 0])],
    ids=str,
)
def test_take_returns_the_requested_rows(make, where):
    rows = make(NUMBERS)
    block = rows.take(where)
    n_wanted = len(NUMBERS[where])
    assert (block.shape[0] if sp.issparse(block) else len(block)) == n_wanted
    np.testing.assert_array_equal(dense(block).reshape(-1, 3), NUMBERS[where])


@every_kind
def test_equal_rows_have_equal_fingerprints(make):
    assert make(NUMBERS).fingerprint() == make(NUMBERS.copy()).fingerprint()


CHANGES = {
    "a value": lambda a: np.vstack([a[:-1], a[-1:] + 1]),
    "the order of two rows": lambda a: np.vstack([a[:1], a[-1:], a[1:-1]]),
    "a row less": lambda a: a[:-1],
    "a column less": lambda a: a[:, :-1],
    "the order of columns": lambda a: a[:, ::-1],
    "a sign": lambda a: -a,
}


@every_kind
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_other_rows_have_other_fingerprints(make, change):
    assert make(NUMBERS).fingerprint() != make(change(NUMBERS)).fingerprint()


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", ">f8"])
def test_fingerprints_do_not_depend_on_the_dtype(dtype):
    plain = DenseRows(NUMBERS, name="source").fingerprint()
    for array in (NUMBERS.astype(dtype), np.asfortranarray(NUMBERS.astype(dtype))):
        assert DenseRows(array, name="other").fingerprint() == plain
    wide = DenseRows(NUMBERS.astype("float32"), name="source", dtype=np.dtype("float64"))
    assert wide.fingerprint() == plain


def test_zero_has_one_fingerprint():
    signed = DenseRows(np.array([[-0.0, 1.0]]), name="source")
    assert signed.fingerprint() == DenseRows(np.array([[0.0, 1.0]]), name="source").fingerprint()


def test_sparse_fingerprints_do_not_depend_on_the_storage():
    plain = SparseRows(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), name="source").fingerprint()
    stored_zero = sp.csr_array(([0.0, 2.0, 1.0], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    wide = sp.csr_array([[0, 2], [1, 0]])
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for matrix in (stored_zero, wide, sp.csr_matrix(stored_zero)):
        assert SparseRows(matrix, name="source").fingerprint() == plain


def test_long_arrays_are_fingerprinted_to_the_middle():
    rows = [np.zeros(5000), np.zeros(5000)]
    before = ObjectRows(rows, name="source").fingerprint()
    rows[1][2500] = 1
    assert ObjectRows(rows, name="source").fingerprint() != before


def test_any_text_has_a_fingerprint():
    assert ObjectRows(["\udc80", "é"], name="source").fingerprint()


@pytest.mark.parametrize("where", [slice(2, 5), np.array([4, 0])], ids=str)
def test_numbered_rows_are_their_numbers(where):
    rows = NumberedRows(6, name="source")
    assert (len(rows), rows.kind) == (6, "numbers")
    np.testing.assert_array_equal(rows.take(where), np.arange(6)[where])
    assert rows.take(where).dtype == np.int64
    assert rows.fingerprint() != NumberedRows(7, name="source").fingerprint()


@every_kind
@pytest.mark.parametrize("most", [1, 2, 10, N, 10 * N])
def test_a_sample_is_evenly_spaced_and_always_the_same(make, most):
    rows = make(NUMBERS)
    np.testing.assert_array_equal(dense(rows.sample(most)), NUMBERS[strided(N, most)])


@pytest.mark.parametrize("n", [1, 2, 3, 99, 100, 101, 10**6, 10**12])
def test_strided_numbers_are_distinct_and_reach_both_ends(n):
    ids = strided(n, 100)
    assert len(ids) == min(n, 100)
    assert ids[0] == 0
    assert ids[-1] == n - 1
    assert (np.diff(ids) >= 1).all()
    assert np.ptp(np.diff(ids, prepend=-(n // 100))) <= n // 100 + 1


def test_working_types_are_float32_or_float64():
    for letter in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?":
        dtype = np.dtype(letter)
        is_exact = np.can_cast(dtype, np.float32, "safe")
        assert working_dtype(dtype) == (np.float32 if is_exact else np.float64)


def test_require_finite_without_where_numbers_rows_of_the_block():
    require_finite(np.ones((2, 2)), name="rows")
    with pytest.raises(ValueError, match="rows contains nan at row 1, column 0"):
        require_finite(np.array([[1.0, 1.0], [np.nan, 1.0]]), name="rows")
