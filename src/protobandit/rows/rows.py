"""Rows: what the oracle reads, whatever they came in.

Rules
-----
1. ``take(where)`` is the only way to a row. It returns a block in ``dtype`` and never more rows
   than were asked for: a memory map is not read beyond them, an integer array not copied whole.
2. Blocks are what a metric's ``prepare`` accepts: a 2-D float array, a CSR matrix, or a list.
3. Rows that were too many to scan at the door (``is_checked`` False) are checked as they are read.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.memory_maps import gather, is_mapped

_FINGERPRINT_ROWS = 256
ADVICE = (
    "Drop these rows, or pass Preparation(impute='median') (--impute median on the command line)."
)


class Rows(ABC):
    """``len(rows)`` rows of one kind."""

    kind: ClassVar[str]
    name: str
    n_columns: int | None
    dtype: np.dtype[Any]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, where: Where) -> Any:
        """Return the block of these rows."""

    @property
    def n_cells(self) -> int:
        """Return how many numbers the rows hold, or how many objects."""
        return len(self) * (self.n_columns or 1)

    def sample(self, most: int) -> Any:
        """Return at most ``most`` evenly spaced rows: the same ones every time."""
        return self.take(strided(len(self), most))

    def fingerprint(self) -> str:
        """Return a short digest of the shape and of evenly spaced rows, whatever their type."""
        digest = hashlib.blake2b(digest_size=12)
        digest.update(f"{self.kind} {len(self)} {self.n_columns}".encode())
        digest.update(self._bytes(strided(len(self), _FINGERPRINT_ROWS)))
        return digest.hexdigest()

    @abstractmethod
    def _bytes(self, ids: Ids) -> bytes: ...


class DenseRows(Rows):
    """A 2-D array of numbers, in memory or mapped; integers and float16 widen block by block.

    Rows on disk are gathered in the order in which they lie there.
    """

    kind = "dense"

    def __init__(
        self,
        array: Any,
        *,
        name: str,
        dtype: np.dtype[Any] | None = None,
        is_checked: bool = True,
    ) -> None:
        self.array = array
        self.name = name
        self.n_columns = array.shape[1]
        self.dtype = np.dtype(dtype or working_dtype(array.dtype))
        self.is_checked = is_checked
        self.is_mapped = is_mapped(array)

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def take(self, where: Where) -> Any:
        rows = gather(self.array, where) if self.is_mapped else self.array[where]
        block = np.asarray(rows, dtype=self.dtype)
        if not self.is_checked:
            require_finite(block, name=self.name, where=where)
        return block

    def _bytes(self, ids: Ids) -> bytes:
        return _plain_bytes(gather(self.array, ids))


class SparseRows(Rows):
    """A SciPy CSR matrix."""

    kind = "sparse"

    def __init__(self, matrix: Any, *, name: str, dtype: np.dtype[Any] | None = None) -> None:
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

    def _bytes(self, ids: Ids) -> bytes:
        block = self.matrix[ids].astype(np.float64)
        block.eliminate_zeros()
        return b"".join(_plain_bytes(part) for part in (block.indptr, block.indices, block.data))


class ObjectRows(Rows):
    """Rows that are not numbers: strings, sequences, anything a callable metric understands."""

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

    def _bytes(self, ids: Ids) -> bytes:
        return b"\0".join(_item_bytes(self.items[i]) for i in ids)


class NumberedRows(Rows):
    """The columns of a precomputed matrix: a source row is its number."""

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

    def _bytes(self, ids: Ids) -> bytes:
        return b""


def _plain_bytes(values: np.ndarray[Any, Any]) -> bytes:
    return (np.asarray(values, dtype=np.float64, order="C") + 0.0).tobytes()  # -0.0 becomes 0.0


def _item_bytes(item: Any) -> bytes:
    # The repr of a long array leaves its middle out.
    text = repr(item.tolist() if isinstance(item, np.ndarray) else item)
    return text.encode("utf-8", "surrogatepass")


def strided(n: int, most: int) -> Ids:
    """Return at most ``most`` evenly spaced numbers below ``n``."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type in which numbers of ``dtype`` are exact, or the widest there is."""
    narrow = np.dtype(np.float32)
    return narrow if np.can_cast(dtype, narrow, casting="safe") else np.dtype(np.float64)


def require_finite(block: np.ndarray[Any, Any], *, name: str, where: Where | None = None) -> None:
    """Refuse NaN and infinity, naming the first row and column that holds one."""
    if is_finite(block):
        return
    bad = np.argwhere(~np.isfinite(block))
    at, column = (int(i) for i in bad[0])
    row, value = at if where is None else _number(where, at), block[at, column]
    advice = ADVICE if np.isnan(value) else "Drop these rows, or replace it by a number."
    raise InvalidInput(
        f"{name} contains {value} at row {row}, column {column} ({len(bad)} such value(s) among "
        f"the rows read). Dissimilarities need finite numbers. {advice}"
    )


def is_finite(block: np.ndarray[Any, Any]) -> bool:
    """Tell whether a block is free of NaN and infinity; mostly its sum tells."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(block, dtype=np.float64 if block.dtype.itemsize < 4 else None)
    return bool(np.isfinite(total) or np.isfinite(block).all())


def _number(where: Where, at: int) -> int:
    return int(where.start or 0) + at if isinstance(where, slice) else int(where[at])
