"""Source and target, prepared alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.missing_values import called, require_whole
from protobandit.rows.preparation.categories import unseen
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.inputs import as_table, is_in_memory, is_sparse
from protobandit.rows.preparation.preparation import Preparation
from protobandit.rows.preparation.prepared_rows import (
    PreparedArray,
    PreparedMatrix,
    PreparedRows,
    digest_of,
)
from protobandit.rows.preparation.sparse import transform_sparse
from protobandit.rows.rows import Rows, SparseRows

_MOST_CELLS_HELD = 10**8


@dataclass(frozen=True, kw_only=True, eq=False)
class Sides:
    """Prepared source and target, how they were prepared, and what the user should know of it."""

    source: Rows
    target: Rows
    preparation: FittedPreparation
    remark: str


def prepare_sides(source: Any, target: Any, preparation: Any) -> Sides:
    """Fit a `Preparation` on the target, unless it is fitted, and prepare both sides."""
    is_one = target is None or target is source
    name = "source" if is_one else "target"
    data = source if is_one else target
    fitted, table = _fitted(preparation, data, name)
    own = table if is_one else fitted.table(source, name="source")
    dtype = np.promote_types(fitted.dtype_of(table), fitted.dtype_of(own))
    targets, target_remark = _rows(table, fitted, name, dtype)
    sources, source_remark = (targets, "") if is_one else _rows(own, fitted, "source", dtype)
    remark = " ".join(part for part in (str(fitted), source_remark, target_remark) if part)
    return Sides(source=sources, target=targets, preparation=fitted, remark=remark)


def rows_by(fitted: FittedPreparation, rows: Any, *, name: str) -> Rows:
    """Return any rows, prepared as others have been."""
    table = fitted.table(rows, name=name)
    return _rows(table, fitted, name, fitted.dtype_of(table))[0]


def _fitted(preparation: Any, data: Any, name: str) -> tuple[FittedPreparation, Any]:
    if isinstance(preparation, FittedPreparation):
        return preparation, preparation.table(data, name=name)
    if isinstance(preparation, Preparation):
        table = as_table(data, name=name)
        return preparation.fit_table(table, name=name), table
    raise InvalidInput(
        f"preparation={preparation!r:.40} is not a Preparation. Pass for example "
        f"Preparation(standardize=True), or Selection.preparation of an earlier run."
    )


def _rows(
    table: Any, fitted: FittedPreparation, name: str, dtype: np.dtype[Any]
) -> tuple[Rows, str]:
    if is_sparse(table):
        matrix = transform_sparse(table, fitted.divisors, fitted.parameters["normalize"])
        digest = SparseRows(table, name=name).fingerprint()
        return PreparedMatrix(matrix.astype(dtype, copy=False), name=name, digest=digest), ""
    cells = len(table) * max(table.shape[1], fitted.n_columns)
    is_mapped_target = name != "source" and not is_in_memory(table)
    if cells > _MOST_CELLS_HELD or is_mapped_target:
        return PreparedRows(table, fitted, name=name, dtype=dtype), ""
    if not fitted.fills_gaps:
        require_whole(table, name=name)
    array = fitted.all_rows(table, name=name, dtype=dtype)
    return PreparedArray(array, name=name, digest=digest_of(table)), _unseen(table, fitted, name)


def _unseen(table: Columns, fitted: FittedPreparation, name: str) -> str:
    """Say how many values are categories that the fitting sample has not."""
    found = unseen(table, fitted.levels)
    if not found:
        return ""
    counts = ", ".join(f"{n:,} in {called(column, table)}" for column, n in found.items())
    as_what = "count as one other category" if fitted.is_gower else "are all zeros"
    return f"Of {name}, categories not met while fitting {as_what}: {counts}."
