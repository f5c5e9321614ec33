"""Rows: the one form in which the oracle reads data.

Rules
-----
1. Rows are read by ``take(where)`` only. It returns a block in ``dtype`` with the requested rows
   and no others: no more of a memory map is read, and an integer array is not converted whole.
2. Blocks are what a metric's ``prepare`` accepts: a 2-D float array, a CSR matrix, or a list.
3. Rows with too many cells to check in advance (``is_checked`` False) are checked as they are read.
"""

from __future__ import annotations

import hashlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.magnitudes import is_ordinary, largest_of
from protobandit.rows.memory_maps import gather, is_mapped, rows_at
from protobandit.rows.messages import MISSING_ADVICE
from protobandit.rows.sparse_format import checked_csr

_FINGERPRINT_ROWS = 256


class Rows(ABC):
    """A sequence of rows of one kind."""

    kind: ClassVar[str]
    name: str
    n_columns: int | None
    dtype: np.dtype[Any]
    digest: str | None = None  # of the rows from which these were prepared
    is_checked: bool = False  # whether all numbers have been read
    largest: float | None = None  # the largest absolute value, if all are extremely large or small
    is_partitioned: ClassVar[bool] = False  # whether they are parts of a collection
    total: float | None = None  # the sum of the weights of parts

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, where: Where) -> Any:
        """Return some rows as one block."""

    def subset(self, ids: Ids, columns: Ids | None = None) -> Rows:
        """Return the rows ``ids``, and of arrays only some columns if ``columns`` is given."""
        return DenseRows(self.take(ids), name=self.name, dtype=self.dtype)

    @property
    def is_in_memory(self) -> bool:
        """Return whether the rows are an array in memory, which is read in any order."""
        return False

    @property
    def held(self) -> Rows:
        """Return the rows that are in memory: a sample, if they are parts of a collection."""
        return self

    @property
    def held_weights(self) -> Any:
        """Return the weights of the rows of a sample; None if all count the same."""
        return None

    def with_dtype(self, dtype: np.dtype[Any]) -> Rows:
        """Return the same rows, read in blocks of another type."""
        rows = copy(self)
        rows.dtype = dtype
        return rows

    @property
    def n_cells(self) -> int:
        """Return the number of cells, or of objects where rows have no columns."""
        return len(self) * (self.n_columns or 1)

    def sample(self, most: int) -> Any:
        """Return at most ``most`` evenly spaced rows; always the same ones."""
        return self.take(strided(len(self), most))

    def fingerprint(self) -> str:
        """Return a short digest of the shape and of evenly spaced rows, the same for any dtype."""
        return self.digest or digest_of(self.kind, (len(self), self.n_columns), self._bytes)

    @abstractmethod
    def _bytes(self, ids: Ids) -> bytes: ...


class DenseRows(Rows):
    """A 2-D array of numbers, in memory or mapped.

    Integers and float16 are converted to ``dtype`` block by block. Rows on disk are read in the
    order of the file.
    """

    kind = "dense"

    def __init__(
        self,
        array: Any,
        *,
        name: str,
        dtype: np.dtype[Any] | None = None,
        is_checked: bool = True,
        largest: float | None = None,
        digest: str | None = None,
    ) -> None:
        self.array = array
        self.name = name
        self.n_columns = array.shape[1]
        self.dtype = np.dtype(dtype or working_dtype(array.dtype))
        self.is_checked = is_checked
        self.largest = largest
        self.digest = digest

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @property
    def is_in_memory(self) -> bool:
        return not is_mapped(self.array)

    def take(self, where: Where) -> Any:
        block = np.asarray(rows_at(self.array, where), dtype=self.dtype)
        if not self.is_checked:
            require_finite(block, name=self.name, where=where)
        return block

    def subset(self, ids: Ids, columns: Ids | None = None) -> DenseRows:
        array = self.array[ids] if columns is None else self.array[np.ix_(ids, columns)]
        return DenseRows(array, name=self.name, dtype=self.dtype, is_checked=self.is_checked)

    def _bytes(self, ids: Ids) -> bytes:
        return _plain_bytes(gather(self.array, ids))


class SparseRows(Rows):
    """A SciPy CSR matrix that `checked_csr` returned, or rows of one."""

    kind = "sparse"
    is_checked = True

    def __init__(
        self,
        matrix: Any,
        *,
        name: str,
        dtype: np.dtype[Any] | None = None,
        largest: float | None = None,
        digest: str | None = None,
    ) -> None:
        self.digest = digest
        self.largest = largest
        self.matrix = matrix
        self.name = name
        self.n_columns = int(matrix.shape[1])
        self.dtype = np.dtype(dtype or working_dtype(matrix.dtype))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_cells(self) -> int:
        return int(self.matrix.nnz)

    def take(self, where: Where) -> Any:
        return self.matrix[where].astype(self.dtype, copy=False)

    def subset(self, ids: Ids, columns: Ids | None = None) -> SparseRows:
        return SparseRows(self.matrix[ids], name=self.name, dtype=self.dtype)

    def _bytes(self, ids: Ids) -> bytes:
        block = self.matrix[ids].astype(np.float64)
        block.eliminate_zeros()
        return b"".join(_plain_bytes(part) for part in (block.indptr, block.indices, block.data))


class ObjectRows(Rows):
    """Rows that are not numbers: strings, sequences, anything a callable metric accepts."""

    kind = "objects"
    n_columns = None
    dtype = np.dtype(np.float64)

    def __init__(self, items: Sequence[Any], *, name: str) -> None:
        self.items = items
        self.name = name

    def __len__(self) -> int:
        return len(self.items)

    def take(self, where: Where) -> Any:
        if isinstance(where, slice):
            return list(self.items[where])
        return [self.items[i] for i in where]

    def subset(self, ids: Ids, columns: Ids | None = None) -> ObjectRows:
        return ObjectRows(self.take(ids), name=self.name)

    def _bytes(self, ids: Ids) -> bytes:
        return b"\0".join(_item_bytes(self.items[i]) for i in ids)


class NumberedRows(Rows):
    """The columns of a precomputed matrix; each source row is given by its number."""

    kind = "numbers"
    n_columns = None
    dtype = np.dtype(np.int64)

    def __init__(self, n: int, *, name: str) -> None:
        self.n = n
        self.name = name

    def __len__(self) -> int:
        return self.n

    def take(self, where: Where) -> Any:
        return np.arange(self.n, dtype=np.int64)[where] if isinstance(where, slice) else where

    def subset(self, ids: Ids, columns: Ids | None = None) -> NumberedRows:
        return NumberedRows(len(ids), name=self.name)

    def _bytes(self, ids: Ids) -> bytes:
        return b""


def digest_of(kind: str, shape: tuple[Any, ...], read: Callable[[Ids], bytes]) -> str:
    """Return a short digest of the shape and of evenly spaced rows, which ``read`` returns."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(f"{kind} {shape[0]} {shape[1]}".encode())
    digest.update(read(strided(shape[0], _FINGERPRINT_ROWS)))
    return digest.hexdigest()


def _plain_bytes(values: np.ndarray[Any, Any]) -> bytes:
    return (np.asarray(values, dtype=np.float64, order="C") + 0.0).tobytes()  # -0.0 becomes 0.0


def _item_bytes(item: Any) -> bytes:
    # The repr of a long array omits its middle.
    text = repr(item.tolist() if isinstance(item, np.ndarray) else item)
    return text.encode("utf-8", "surrogatepass")


def strided(n: int, most: int) -> Ids:
    """Return at most ``most`` evenly spaced numbers below ``n``."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 where it represents all numbers of ``dtype`` exactly, else float64."""
    narrow = np.dtype(np.float32)
    return narrow if np.can_cast(dtype, narrow, casting="safe") else np.dtype(np.float64)


def require_finite(block: np.ndarray[Any, Any], *, name: str, where: Where | None = None) -> None:
    """Raise if a block holds NaN or infinity; the message gives the first row and column."""
    if is_finite(block):
        return
    bad = np.argwhere(~np.isfinite(block))
    at, column = (int(i) for i in bad[0])
    row, value = row_number(where, at), block[at, column]
    advice = MISSING_ADVICE if np.isnan(value) else "Drop these rows, or replace the values."
    raise InvalidInput(
        f"{name} contains {value} at row {row}, column {column} ({len(bad)} such value(s) among "
        f"the rows read). Dissimilarities need finite numbers. {advice}"
    )


def is_finite(block: np.ndarray[Any, Any]) -> bool:
    """Return whether a block has neither NaN nor infinity."""
    # A finite sum proves it and is cheap; each number is tested only where the sum is not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(block, dtype=np.float64 if block.dtype.itemsize < 4 else None)
    return bool(np.isfinite(total) or np.isfinite(block).all())


def row_number(where: Where | None, at: int) -> int:
    """Return the number of row ``at`` of the block that ``take(where)`` returned."""
    if where is None:
        return at
    return int(where.start or 0) + at if isinstance(where, slice) else int(where[at])


def sparse_rows(matrix: Any, *, name: str) -> SparseRows:
    """Return a SciPy matrix of any format as `SparseRows`; raise unless it is valid and finite."""
    csr = checked_csr(matrix, name=name)
    if is_ordinary(csr.data):
        return SparseRows(csr, name=name)
    if csr.dtype.kind == "f" and not np.isfinite(csr.data).all():
        at = int(np.flatnonzero(~np.isfinite(csr.data))[0])
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        raise InvalidInput(
            f"{name} contains {csr.data[at]} at row {row}, column {int(csr.indices[at])}. "
            f"Dissimilarities need finite numbers. Drop these rows, or replace the values."
        )
    return SparseRows(csr, name=name, largest=largest_of(csr.data))


def is_sparse(data: Any) -> bool:
    """Return whether ``data`` is a SciPy sparse matrix, without importing SciPy."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(data))
