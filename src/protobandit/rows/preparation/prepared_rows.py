"""Prepared source and target rows: prepared at once if there are few, else as they are read.

The fingerprint of prepared rows is that of the unprepared rows, so that it does not depend on the
rounding of a machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns, require_no_missing
from protobandit.rows.magnitudes import largest_of
from protobandit.rows.preparation.encoding import unseen
from protobandit.rows.preparation.fitted import FittedPreparation, transform_sparse
from protobandit.rows.preparation.preparation import Preparation
from protobandit.rows.preparation.tables import as_table, is_in_memory
from protobandit.rows.preparation.transformer import FittedTransformer, fit_transformer
from protobandit.rows.rows import DenseRows, Rows, SparseRows, digest_of, is_sparse

_MOST_CELLS_HELD = 10**8


class PreparedRows(Rows):
    """Rows that are prepared as they are read; no array with all rows is kept in memory."""

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

    def fingerprint(self) -> str:
        return digest_of("columns", self.table.shape, self._bytes)

    def _bytes(self, ids: Ids) -> bytes:
        return _cells(self.table.take(ids))


def _cells(block: Columns) -> bytes:
    numbers = np.array(block.numbers, dtype=np.float64, order="C") + 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan  # every NaN gets the same bits
    texts = [repr([None if v is None else str(v) for v in x]) for x in block.categories.values()]
    return numbers.tobytes() + "\0".join(texts).encode("utf-8", "surrogatepass")


# -- source and target ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Sides:
    """Prepared source and target, the fitted preparation, and a remark for the status.

    ``table`` is the source before it is prepared.
    """

    table: Any
    source: Rows
    target: Rows
    preparation: FittedPreparation | FittedTransformer
    remark: str


def prepare_sides(source: Any, target: Any, preparation: Any) -> Sides:
    """Prepare both sides by a `FittedPreparation`, or by a `Preparation` fitted on the target.

    Paths must have been opened; without a target, the source is the target.
    """
    is_one = target is None or target is source
    name = "source" if is_one else "target"
    data = source if is_one else target
    fitted, table = _fitted(preparation, data, name)
    own = table if is_one else fitted.table(source, name="source")
    dtype = np.promote_types(fitted.dtype_of(table), fitted.dtype_of(own))
    targets, target_remark = _rows(table, fitted, name, dtype)
    sources, source_remark = (targets, "") if is_one else _rows(own, fitted, "source", dtype)
    remark = " ".join(part for part in (str(fitted), source_remark, target_remark) if part)
    return Sides(table=own, source=sources, target=targets, preparation=fitted, remark=remark)


def transform_sides(source: Any, target: Any, transformer: Any) -> Sides:
    """Prepare both sides by a transformer of scikit-learn; if not fitted, it is by the target.

    Rows are as the user passed them; without a target, the source is the target.
    """
    is_one = target is None
    name = "source" if is_one else "target"
    fitted = fit_transformer(transformer, source if is_one else target, name=name)
    sources = fitted.rows(source, name="source")
    targets = sources if is_one else fitted.rows(target, name="target")
    return Sides(
        table=source, source=sources, target=targets, preparation=fitted, remark=str(fitted)
    )


def prepare_rows(fitted: FittedPreparation | FittedTransformer, rows: Any, *, name: str) -> Rows:
    """Return rows prepared as others were; paths must have been opened, except by a transformer."""
    if isinstance(fitted, FittedTransformer):
        return fitted.rows(rows, name=name)
    table = fitted.table(rows, name=name)
    return _rows(table, fitted, name, fitted.dtype_of(table))[0]


def _fitted(preparation: Any, data: Any, name: str) -> tuple[FittedPreparation, Any]:
    if isinstance(preparation, FittedPreparation):
        return preparation, preparation.table(data, name=name)
    if isinstance(preparation, Preparation):
        table = as_table(data, name=name)
        return preparation.fit_table(table, name=name), table
    raise InvalidInput(
        f"preparation={preparation!r:.40} is not a Preparation. Pass, for example, "
        f"Preparation(standardize=True), a transformer of scikit-learn, or Selection.preparation "
        f"of an earlier run."
    )


def _rows(
    table: Any, fitted: FittedPreparation, name: str, dtype: np.dtype[Any]
) -> tuple[Rows, str]:
    if is_sparse(table):
        matrix = transform_sparse(table, fitted.divisors, fitted.parameters["normalize"])
        digest = SparseRows(table, name=name).fingerprint()
        matrix = matrix.astype(dtype, copy=False)
        largest = largest_of(matrix.data)
        return SparseRows(matrix, name=name, largest=largest, digest=digest), ""
    cells = len(table) * max(table.shape[1], fitted.n_columns)
    is_mapped_target = name != "source" and not is_in_memory(table)
    rows = PreparedRows(table, fitted, name=name, dtype=dtype)
    if cells > _MOST_CELLS_HELD or is_mapped_target:
        return rows, ""
    if not fitted.fills_gaps:
        require_no_missing(table, name=name)
    array = fitted.all_rows(table, name=name, dtype=dtype)
    remark = _unseen_remark(table, fitted, name)
    digest = rows.fingerprint()
    return DenseRows(array, name=name, largest=largest_of(array), digest=digest), remark


def _unseen_remark(table: Columns, fitted: FittedPreparation, name: str) -> str:
    """Return a sentence that counts the values of categories that were not fitted."""
    found = unseen(table, fitted.levels)
    if not found:
        return ""
    counts = ", ".join(f"{n:,} in {table.label(column)}" for column, n in found.items())
    as_what = "count as one other category" if fitted.is_gower else "are all zeros"
    return f"Categories of {name} that are missing from the fitted sample {as_what}: {counts}."
