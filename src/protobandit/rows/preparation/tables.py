"""Read what the user passed as a table: `Columns`, or a CSR matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened
from protobandit.rows.frame_columns import compared
from protobandit.rows.frames import as_columns
from protobandit.rows.memory_maps import is_mapped, rows_at
from protobandit.rows.messages import shortened
from protobandit.rows.rows import DenseRows, Rows, SparseRows, is_sparse, sparse_rows


class RowsAsArray:
    """`Rows` of any class, read like an array."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.shape = len(rows), rows.n_columns
        self.dtype = rows.dtype

    def __getitem__(self, where: Where) -> Any:
        return self.rows.take(where)


class _Reordered:
    """Some columns of an array that is read in parts."""

    def __init__(self, numbers: Any, order: Sequence[int]) -> None:
        self.numbers = numbers
        self.order = list(order)
        self.shape = numbers.shape[0], len(self.order)
        self.dtype = numbers.dtype

    def __getitem__(self, where: Where) -> Any:
        return rows_at(self.numbers, where)[:, self.order]


def as_table(
    data: Any, *, name: str, categories: Collection[str] = (), only: Collection[str] | None = None
) -> Any:
    """Return `Columns`, or a CSR matrix; ``categories`` and ``only`` are as in `as_columns`.

    Paths must have been opened.
    """
    table = _table(data, name, categories, only)
    if table.shape[0] == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    return table


def _table(data: Any, name: str, categories: Collection[str], only: Collection[str] | None) -> Any:
    if isinstance(data, DenseRows):
        data = data.array
    elif isinstance(data, SparseRows):
        return data.matrix
    elif isinstance(data, Rows):
        if data.kind != "dense":
            raise InvalidInput(
                f"{name} holds {data.kind} rows, which cannot be prepared. Omit preparation."
            )
        data = RowsAsArray(data)
    elif isinstance(data, Opened):
        data = _opened_table(data, name)
    data, _ = compared(data, name=name, has_categories=True, only=only)
    if is_sparse(data):
        return sparse_rows(data, name=name).matrix
    if _is_read_in_parts(data):
        names = tuple(map(str, range(data.shape[1])))
        return Columns(numbers=data, names=names, is_named=False)
    return as_columns(data, name=name, categories=categories, only=only)


def _opened_table(opened: Opened, name: str) -> Any:
    """Return the rows of files, with the names of the columns if there are any."""
    if opened.kind == "texts":
        raise InvalidInput(f"{name} holds texts, which cannot be prepared. Omit preparation.")
    rows, width = opened.rows, getattr(opened.rows, "shape", (0, 0))[-1]
    is_plain = not isinstance(rows, Columns) and not is_sparse(rows)
    if is_plain and width and len(opened.features) == width:
        return Columns(numbers=rows, names=opened.features, is_named=opened.has_names)
    return rows


def _is_read_in_parts(data: Any) -> bool:
    shape, dtype = getattr(data, "shape", ()), getattr(data, "dtype", None)
    is_table = len(shape) == 2 and isinstance(dtype, np.dtype) and dtype.kind in "fiub"
    return is_table and not isinstance(data, np.ndarray)


def is_in_memory(table: Columns) -> bool:
    """Return whether the numbers are in memory, and not on disk or read on request."""
    return isinstance(table.numbers, np.ndarray) and not is_mapped(table.numbers)


# -- columns that a preparation was fitted on -----------------------------------------------------


def fitted_columns(
    table: Columns, *, names: Sequence[str], categories: Collection[str], is_named: bool, name: str
) -> Columns:
    """Return the columns that a preparation was fitted on, in its order.

    Columns are matched by name if both sides have names, else by position.
    """
    wanted = [*names, *categories]
    if is_named and table.is_named:
        return _by_name(table, names, categories, name)
    require_width(table.shape[1], len(wanted), name=name)
    if set(table.features) == set(wanted):
        return _by_name(table, names, categories, name)
    if table.categories or categories:
        raise InvalidInput(
            f"{name} and the rows that the preparation was fitted on do not both have column "
            f"names, so that categories cannot be matched. Pass a frame with the columns "
            f"{shortened(map(repr, wanted))}."
        )
    return Columns(numbers=table.numbers, names=tuple(names), is_named=is_named)


def require_width(width: int, n_fitted: int, *, name: str) -> None:
    """Raise unless rows have as many columns as those that a preparation was fitted on."""
    if width != n_fitted:
        raise InvalidInput(
            f"{name} has {width} columns, but the preparation was fitted on {n_fitted}. Pass rows "
            f"with the same features, in the same order."
        )


def _by_name(
    table: Columns, names: Sequence[str], categories: Collection[str], name: str
) -> Columns:
    missing = [each for each in (*names, *categories) if each not in table.features]
    if missing:
        raise InvalidInput(
            f"{name} has no column(s) {shortened(map(repr, missing))}, which the preparation was "
            f"fitted on (it has {shortened(map(repr, table.features))}). Add or rename them."
        )
    for each in (*names, *categories):
        if (each in table.categories) != (each in categories):
            own, other = "numbers", "categories"
            if each in table.categories:
                own, other = other, own
            raise InvalidInput(
                f"{name} has {own} in column {each!r}, but the preparation was fitted on {other} "
                f"there. Pass the column as {other}."
            )
    position = {each: at for at, each in enumerate(table.names)}
    order = [position[each] for each in names]
    numbers = table.numbers
    if order != list(range(numbers.shape[1])):
        numbers = numbers[:, order] if is_in_memory(table) else _Reordered(numbers, order)
    texts = {each: table.categories[each] for each in categories}
    return Columns(numbers=numbers, names=tuple(names), categories=texts, is_named=table.is_named)
