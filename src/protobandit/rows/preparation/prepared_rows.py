"""Prepared rows: all at once where they are few, else as they are read.

Their fingerprint is that of the rows as the user has them, so that it does not depend on how a
machine rounds.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.rows.columns import Columns
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.rows import DenseRows, Rows, SparseRows

_FINGERPRINT_ROWS = 256


class PreparedRows(Rows):
    """Rows that are prepared as they are read; nothing of their length is held."""

    kind = "dense"

    def __init__(
        self,
        table: Columns,
        fitted: FittedPreparation,
        *,
        name: str,
        dtype: np.dtype[Any] | None = None,
    ) -> None:
        self.table = table
        self.fitted = fitted
        self.name = name
        self.n_columns = fitted.n_columns
        self.dtype = np.dtype(dtype or fitted.dtype_of(table))

    def __len__(self) -> int:
        return len(self.table)

    def take(self, where: Where) -> Any:
        some = self.table.take(where)
        return self.fitted.block(some, name=self.name, where=where, dtype=self.dtype)

    def widened(self, dtype: np.dtype[Any]) -> PreparedRows:
        """Return the same rows in another type."""
        return PreparedRows(self.table, self.fitted, name=self.name, dtype=dtype)

    def fingerprint(self) -> str:
        return digest_of(self.table)

    def _bytes(self, ids: Ids) -> bytes:
        return _cells(self.table.take(ids))


class PreparedArray(DenseRows):
    """Rows that have been prepared."""

    def __init__(self, array: Any, *, name: str, digest: str) -> None:
        super().__init__(array, name=name)
        self.digest = digest

    def fingerprint(self) -> str:
        return self.digest


class PreparedMatrix(SparseRows):
    """Sparse rows that have been prepared."""

    def __init__(self, matrix: Any, *, name: str, digest: str) -> None:
        super().__init__(matrix, name=name)
        self.digest = digest

    def fingerprint(self) -> str:
        return self.digest


def digest_of(table: Columns) -> str:
    """Return a short digest of the shape and of evenly spaced rows."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(f"columns {len(table)} {table.shape[1]}".encode())
    ids = np.linspace(0, len(table) - 1, min(len(table), _FINGERPRINT_ROWS)).astype(np.int64)
    digest.update(_cells(table.take(ids)))
    return digest.hexdigest()


def _cells(block: Columns) -> bytes:
    numbers = np.array(block.numbers, dtype=np.float64, order="C") + 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan  # of the many NaNs always the same
    texts = [repr([None if v is None else str(v) for v in x]) for x in block.categories.values()]
    return numbers.tobytes() + "\0".join(texts).encode("utf-8", "surrogatepass")
