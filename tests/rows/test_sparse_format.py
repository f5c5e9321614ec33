from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from protobandit import InvalidInput, NotAvailable
from protobandit.rows.sparse_format import MOST_COLUMNS, checked_csr

DENSE = np.array([[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]])
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")


def built(form="csr"):
    return getattr(sparse, f"{form}_array")(DENSE)


def changed(form, **parts):
    matrix = built(form)
    for name, array in parts.items():
        setattr(matrix, name, np.asarray(array))
    return matrix


def with_lists(**parts):
    matrix = built("lil")
    for name, lists in parts.items():
        getattr(matrix, name)[:] = lists
    return matrix


@pytest.mark.parametrize("form", FORMATS)
def test_valid_matrices_of_every_format_are_accepted(form):
    found = checked_csr(built(form), name="source")
    assert found.format == "csr"
    assert found.has_canonical_format
    assert np.array_equal(found.toarray(), DENSE)


INVALID = [
    (changed("csr", indices=[2, 4, 1]), r"column numbers run from 1 to 4 .*0 to 3.*counted from 1"),
    (changed("csr", indices=[-1, 3, 0]), r"column numbers run from -1 to 3"),
    (changed("csr", indptr=[0, 3, 2]), r"indptr does not ascend from 0"),
    (changed("csr", indptr=[1, 2, 3]), r"indptr does not ascend from 0"),
    (changed("csr", indptr=[0, 3]), r"indptr has 2 numbers for 2 rows"),
    (changed("csr", indptr=[0, 2, 4]), r"indptr ends at 4, but there are 3 indices and 3 values"),
    (changed("csr", indices=[0.0, 1.0, 2.0]), r"indices is float64 of shape \(3,\)"),
    (changed("csr", indices=[[0, 1, 2]]), r"indices is int64 of shape \(1, 3\)"),
    (changed("csr", data=[[1.0, 2.0, 3.0]]), r"data has 2 dimensions"),
    (changed("csr", data=[1.0]), r"3 indices and 1 values"),
    (changed("csc", indices=[1, 2, 1]), r"row numbers run from 1 to 2 .*counted from 1"),
    (changed("csc", indptr=[0, 1, 1, 9, 3]), r"indptr does not ascend"),
    (changed("bsr", indices=[0, 1, 9]), r"column numbers run from 0 to 9"),
    (changed("bsr", data=np.ones((1, 2, 3))), r"blocks of shape \(2, 3\) do not divide"),
    (changed("coo", row=[0, 0, 2]), r"row numbers run from 0 to 2 instead of 0 to 1"),
    (changed("coo", col=[0, 0, 99]), r"column numbers run from 0 to 99"),
    (changed("coo", data=[1.0]), r"3 row numbers, 3 column numbers and values of shape \(1,\)"),
    (changed("dia", offsets=[2**32, 0, 1]), r"offsets repeat a diagonal or lie outside"),
    (changed("dia", offsets=[0, 0, 1]), r"offsets repeat a diagonal"),
    (changed("dia", offsets=[0]), r"1 offsets for values of shape"),
    (with_lists(rows=[[1, 9], [0]]), r"column numbers run from 0 to 9"),
    (with_lists(rows=[[1, 2**40], [0]]), r"cannot be converted"),
    (with_lists(data=[[1.0] * 99, [3.0]]), r"not as many column numbers as values"),
    (changed("lil", rows=built("lil").rows[:1]), r"1 lists of columns for 2 rows"),
    (sparse.csr_array(DENSE * 1j), r"sparse matrix of complex128"),
    (sparse.csr_array((3, 0)), r"shape \(3, 0\)"),
    (sparse.coo_array((3, MOST_COLUMNS + 1)), r"67,108,865 columns; at most 67,108,864"),
]


@pytest.mark.parametrize(("matrix", "message"), INVALID)
def test_invalid_matrices_raise(matrix, message):
    with pytest.raises(InvalidInput, match=rf"^source .*{message}") as caught:
        checked_csr(matrix, name="source")
    assert str(caught.value).endswith(".")


def test_rows_that_do_not_fit_into_memory_are_refused():
    """A file of a few bytes can declare them."""
    with pytest.raises(NotAvailable, match=r"1,099,511,627,776 rows"):
        checked_csr(sparse.coo_array((2**40, 3)), name="source")


def test_the_matrix_is_not_modified_and_shared_if_possible():
    matrix = built()
    assert np.shares_memory(checked_csr(matrix, name="source").data, matrix.data)
    matrix = changed("csr", indices=[3, 1, 0])
    assert checked_csr(matrix, name="source").indices.tolist() == [1, 3, 0]
    assert matrix.indices.tolist() == [3, 1, 0]


def test_what_a_matrix_remembers_of_itself_is_not_trusted():
    matrix = built()
    assert matrix.has_canonical_format
    matrix.indices[:] = [3, 3, 0]
    found = checked_csr(matrix, name="source")
    assert found.toarray().tolist() == [[0, 0, 0, 3], [3, 0, 0, 0]]


def test_excess_entries_and_foreign_byte_orders_are_removed():
    matrix = built()
    matrix.indices = np.append(matrix.indices, 99).astype(">i4")
    matrix.data = np.append(matrix.data, np.nan).astype(">f4")
    matrix.indptr = matrix.indptr.astype(">i8")
    found = checked_csr(matrix, name="source")
    assert np.array_equal(found.toarray(), DENSE)
    assert found.data.dtype == np.dtype(np.float32).newbyteorder("=")


@pytest.mark.parametrize(("dtype", "expected"), [("f2", "f4"), ("g", "f8"), ("i2", "i2")])
def test_types_that_loops_do_not_support_are_converted(dtype, expected):
    matrix = built()
    matrix.data = matrix.data.astype(dtype)
    assert checked_csr(matrix, name="source").dtype == expected
