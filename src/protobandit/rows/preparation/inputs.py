"""What the user passed, as columns or as a CSR matrix, before anything is done to it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows, opened
from protobandit.rows.files.opened import Opened
from protobandit.rows.memory_maps import gather, is_mapped
from protobandit.rows.rows import DenseRows, Rows, SparseRows

MOST_ROWS = 65_536  # that a preparation is fitted on
MOST_ON_DISK = 16_384  # of rows on disk,
_RUN = 16  # which are read so many at a time
_MOST_CELLS = 1 << 26  # of them, so that wide rows fit into memory


class _Gathered:
    """Rows of a kind of their own, read as an array would be."""

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
        rows = gather(self.numbers, where) if is_mapped(self.numbers) else self.numbers[where]
        return rows[:, self.order]


def as_table(
    data: Any, *, name: str, categories: Collection[str] = (), only: Collection[str] | None = None
) -> Any:
    """Return `Columns`, or a CSR matrix; ``categories`` and ``only`` as in `Columns.of`."""
    table = _table(data, name, categories, only)
    if table.shape[0] == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    return table


def _table(data: Any, name: str, categories: Collection[str], only: Collection[str] | None) -> Any:
    if isinstance(data, DenseRows):
        data = data.array
    elif isinstance(data, SparseRows):
        data = data.matrix
    elif isinstance(data, Rows):
        if data.kind != "dense":
            raise InvalidInput(
                f"{name} holds {data.kind} rows, which cannot be prepared. Leave preparation out."
            )
        data = _Gathered(data)
    data = opened(data, name=name, has_categories=True)
    if isinstance(data, Opened):
        data = _of_files(data, name)
    if is_sparse(data):
        return as_rows(data, name=name).matrix  # type: ignore[attr-defined]
    if _is_read_in_parts(data):
        names = tuple(map(str, range(data.shape[1])))
        return Columns(numbers=data, names=names, is_named=False)
    return Columns.of(data, name=name, categories=categories, only=only)


def _of_files(found: Opened, name: str) -> Any:
    """Return what files hold, with the names of the columns where they have some."""
    if found.kind == "texts":
        raise InvalidInput(f"{name} holds texts, which cannot be prepared. Leave preparation out.")
    rows, width = found.rows, getattr(found.rows, "shape", (0, 0))[-1]
    is_plain = not isinstance(rows, Columns) and not is_sparse(rows)
    if is_plain and width and len(found.features) == width:
        return Columns(numbers=rows, names=found.features, is_named=found.has_names)
    return rows


def is_sparse(table: Any) -> bool:
    """Tell whether a table is a SciPy sparse matrix, without importing SciPy."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(table))


def _is_read_in_parts(data: Any) -> bool:
    shape, dtype = getattr(data, "shape", ()), getattr(data, "dtype", None)
    is_table = len(shape) == 2 and isinstance(dtype, np.dtype) and dtype.kind in "fiub"
    return is_table and not isinstance(data, np.ndarray)


def is_in_memory(table: Columns) -> bool:
    """Tell whether the numbers are held, and not mapped or read when asked for."""
    return isinstance(table.numbers, np.ndarray) and not is_mapped(table.numbers)


def sampled(table: Any, random: np.random.Generator) -> Any:
    """Return the rows to fit on: all, or as many as a preparation looks at, drawn at random."""
    n, width = table.shape
    if is_sparse(table):
        some = slice(0, n) if n <= MOST_ROWS else _drawn(n, MOST_ROWS, random)
        return table[some]
    most = min(MOST_ROWS, max(1, _MOST_CELLS // max(1, width)))
    if n <= most:
        return table.take(slice(0, n))
    if isinstance(table.numbers, _Gathered):  # rows of their own kind know which are at hand
        numbers = table.numbers.rows.sample(most)
        return Columns(numbers=numbers, names=table.names, is_named=False)
    if is_mapped(table.numbers):
        return table.take(_runs(n, min(most, MOST_ON_DISK), random))
    return table.take(_drawn(n, most, random))


def _drawn(n: int, most: int, random: np.random.Generator) -> Ids:
    return np.sort(random.choice(n, most, replace=False, shuffle=False))


def _runs(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return short runs of rows, one at random in each of equal stretches of the table.

    A page of a file holds several rows, so that single rows would cost many times as much to read;
    in a file sorted by class each class still has its share, to within one stretch.
    """
    if n <= most:
        return np.arange(n)
    n_blocks, n_runs = -(-n // _RUN), max(1, most // _RUN)
    edges = np.linspace(0, n_blocks, n_runs + 1).astype(np.int64)
    blocks = random.integers(edges[:-1], edges[1:])
    rows = (blocks[:, None] * _RUN + np.arange(_RUN)).ravel()
    return rows[rows < n]


# -- matching -------------------------------------------------------------------------------------


def matched(
    table: Columns, *, names: Sequence[str], categories: Collection[str], is_named: bool, name: str
) -> Columns:
    """Return the columns that a preparation was fitted on, in its order.

    By name where both have names, else by position.
    """
    wanted = [*names, *categories]
    if is_named and table.is_named:
        return _by_name(table, names, categories, name)
    if table.shape[1] != len(wanted):
        raise InvalidInput(
            f"{name} has {table.shape[1]} columns, but the preparation was fitted on "
            f"{len(wanted)}. Pass rows of the same features, in the same order."
        )
    if set(table.features) == set(wanted):
        return _by_name(table, names, categories, name)
    if table.categories or categories:
        raise InvalidInput(
            f"{name} and the rows the preparation was fitted on do not both have names of columns, "
            f"so their categories cannot be matched. Pass a frame with the columns "
            f"{_listed(wanted)}."
        )
    return Columns(numbers=table.numbers, names=tuple(names), is_named=is_named)


def _by_name(
    table: Columns, names: Sequence[str], categories: Collection[str], name: str
) -> Columns:
    missing = [each for each in (*names, *categories) if each not in table.features]
    if missing:
        raise InvalidInput(
            f"{name} has no column(s) {_listed(missing)}, which the preparation was fitted on (it "
            f"has {_listed(table.features)}). Add or rename them."
        )
    for each in (*names, *categories):
        if (each in table.categories) != (each in categories):
            _refuse_kind(each, name, is_category=each in table.categories)
    place = {each: at for at, each in enumerate(table.names)}
    order = [place[each] for each in names]
    numbers = table.numbers
    if order != list(range(numbers.shape[1])):
        numbers = numbers[:, order] if is_in_memory(table) else _Reordered(numbers, order)
    texts = {each: table.categories[each] for each in categories}
    return Columns(numbers=numbers, names=tuple(names), categories=texts, is_named=table.is_named)


def _refuse_kind(column: str, name: str, *, is_category: bool) -> NoReturn:
    kinds = ("categories", "numbers") if is_category else ("numbers", "categories")
    raise InvalidInput(
        f"{name} has {kinds[0]} in column {column!r}, but the preparation was fitted on "
        f"{kinds[1]} there. Pass the column as {kinds[1]}."
    )


def _listed(names: Collection[str]) -> str:
    few = [repr(each) for each in list(names)[:8]]
    return ", ".join(few) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
