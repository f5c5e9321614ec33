"""Rows of tables: all rows, in memory or cached on disk, or a uniform sample.

Uniformly drawn rows lie in nearly every row group of a file, so a sample takes one pass over the
file, in bounded memory. The row numbers are drawn first, and each row is written to a random
position of the cached array. So the order of the sample does not depend on the order of the file,
which may be sorted by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow, as_indices, as_objects, as_values, kind_of, plain_schema
from protobandit.rows.columns import Columns
from protobandit.rows.files.feature_columns import Layout, lay_out
from protobandit.rows.files.opened import Opened, ReadRequest
from protobandit.rows.files.row_cache import MOST_HELD, cached
from protobandit.rows.files.row_filter import parse_filter
from protobandit.rows.files.table_parts import table_parts
from protobandit.rows.files.tables import FileTable, OpenTableFile, open_table
from protobandit.rows.messages import reason_of

_ROW = "\0row"  # the column of row numbers beside those that a condition reads


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a table: ``ids``, ascending; row ``ids[n]`` has position ``positions[n]``.

    ``is_random`` is whether they were drawn; if not, a condition holds for them.
    """

    ids: Ids
    positions: Ids
    is_random: bool = True

    @property
    def in_order(self) -> Ids:
        """Return the row number in the table for each position."""
        found = np.empty_like(self.ids)
        found[self.positions] = self.ids
        return found


def open_tables(
    paths: Sequence[Path], asked: ReadRequest, *, form: str, open_file: OpenTableFile
) -> Opened:
    """Open files of one tabular format."""
    return opened_table(open_table(paths, asked, form=form, open_file=open_file), asked)


def opened_table(table: FileTable, asked: ReadRequest) -> Opened:
    """Return the requested rows and columns of a table."""
    kept = None if asked.where is None else _matching_rows(table, asked)
    layout = lay_out(table, asked, first=0 if kept is None else int(kept[0]))
    sample = _drawn(table, asked, kept)
    columns = TableColumns(table, sample, asked)
    is_text = bool(layout.texts) and not asked.categories
    if asked.in_parts:
        rows: Any = table_parts(table, layout, asked)
    else:
        rows = None if is_text else _numbers(table, layout, sample, asked)
    if is_text:
        rows = _texts(columns, layout.texts[0])
    elif layout.texts:
        texts = {name: columns.column(name) for name in layout.texts}
        rows = Columns(numbers=rows, names=layout.features, categories=texts)
    return Opened(
        path=asked.shown,
        format=table.form,
        rows=rows,
        kind="texts" if is_text else "mixed" if layout.texts else "numbers",
        features=() if is_text else (*layout.features, *layout.texts),
        n_total=table.n_rows,
        names=table.names,
        columns=layout.choice.compared,
        left_out=layout.choice.left_out,
        remark=_remark(table, sample, asked, kept),
        other_columns=columns,
        numbers=None if sample is None else sample.in_order,
        options=asked.options,
    )


# -- conditions -----------------------------------------------------------------------------------


def _matching_rows(table: FileTable, asked: ReadRequest) -> Ids:
    """Return the rows for which the condition holds; it reads only the columns it needs."""
    pa, owner = arrow(), f"{asked.name}: {asked.shown}"
    option = f"{asked.options.prefix}where"
    schema = plain_schema(table.schema)
    condition = parse_filter(asked.where or "", schema, owner=owner, option=option)
    found: list[Ids] = []
    for cut, batch in table.batches(condition.columns, None, name=asked.name, batch_rows=1 << 16):
        rows = as_indices(np.arange(cut.start, cut.stop))
        own = pa.schema([schema.field(name) for name in batch.schema.names])
        try:
            numbered = pa.Table.from_batches([batch]).cast(own).append_column(_ROW, rows)
            found.append(as_values(numbered.filter(condition.expression).column(_ROW)))
        except (ValueError, TypeError, NotImplementedError) as error:
            raise InvalidInput(
                f"{owner} cannot be filtered by {option} {asked.where!r}: {reason_of(error)}. "
                f"Compare columns of the same type."
            ) from None
    matching = np.sort(np.concatenate(found))
    if not len(matching):
        raise InvalidInput(
            f"{owner} has no row for which {option} {asked.where!r} is true ({table.n_rows:,} rows "
            f"were checked). Comparisons with missing values are not true."
        )
    return matching


# -- sampling -------------------------------------------------------------------------------------


def _drawn(table: FileTable, asked: ReadRequest, kept: Ids | None) -> Sample | None:
    """Return which rows are read; None means all. ``kept`` are those that a condition leaves."""
    n = table.n_rows if kept is None else len(kept)
    if asked.sample is None or asked.sample >= n:
        return None if kept is None else Sample(kept, np.arange(n), is_random=False)
    random = np.random.default_rng(asked.seed)
    if kept is not None:
        ids = kept[distinct(n, asked.sample, random)]
    elif asked.assume_shuffled and table.has_groups:
        ids = _of_groups([piece.n_rows for piece in table.pieces], asked.sample, random)
    else:
        ids = distinct(table.n_rows, asked.sample, random)
    return Sample(ids, random.permutation(len(ids)))


def distinct(n: int, size: int, random: np.random.Generator) -> Ids:
    """Return ``size`` distinct numbers below ``n``, ascending; every set is equally likely.

    Memory: O(size), for any ``n``.
    """
    if size > n // 2:
        left = distinct(n, n - size, random)
        return np.delete(np.arange(n), left)
    found: Ids = np.empty(0, dtype=np.int64)
    while len(found) < size:
        more = random.integers(n, size=size - len(found))
        both = np.sort(np.concatenate([found, more]))
        found = both[np.diff(both, prepend=-1) > 0]
    return found


def _of_groups(sizes: list[int], size: int, random: np.random.Generator) -> Ids:
    """Return rows of whole groups, which are drawn at random until there are enough rows."""
    starts = np.cumsum([0, *sizes])
    found: list[Ids] = []
    missing = size
    for group in random.permutation(len(sizes)):
        found.append(starts[group] + np.arange(min(sizes[group], missing)))
        missing -= len(found[-1])
        if not missing:
            break
    return np.sort(np.concatenate(found))


def _remark(table: FileTable, sample: Sample | None, asked: ReadRequest, kept: Ids | None) -> str:
    if sample is None:
        return ""
    rows = f"the {table.n_rows:,} rows of {asked.shown}"
    if kept is not None:
        rows = f"{len(kept):,} of {rows} with {asked.where}"
        if not sample.is_random:
            return f"The {asked.name} has {rows}."
    how = "drawn uniformly without replacement"
    if asked.assume_shuffled and table.has_groups and kept is None:
        how = "in whole row groups, which is fair only if the file is shuffled, as assumed"
    return f"The {asked.name} is a sample of {len(sample.ids):,} of {rows}, {how}."


# -- reading --------------------------------------------------------------------------------------


def _numbers(
    table: FileTable, layout: Layout, sample: Sample | None, asked: ReadRequest
) -> np.ndarray[Any, Any]:
    if table.array is not None and sample is None:
        position = {name: at for at, name in enumerate(table.names)}
        order = [position[name] for name in layout.numbers]
        is_whole = order == list(range(len(position)))
        chosen: np.ndarray[Any, Any] = table.array if is_whole else table.array[:, order]
        return chosen
    shape = (table.n_rows if sample is None else len(sample.ids), layout.n_features)

    def fill(out: np.ndarray[Any, Any]) -> None:
        _fill(table, layout, sample, asked, out)

    n_bytes = shape[0] * shape[1] * layout.dtype.itemsize
    is_random = sample is not None and sample.is_random
    if n_bytes == 0 or table.is_held or (not is_random and n_bytes <= MOST_HELD):
        held = np.empty(shape, dtype=layout.dtype)
        fill(held)
        return held
    drawn: list[Any] | None = None
    if sample is not None:
        drawn = [asked.sample, asked.seed, asked.assume_shuffled]
        drawn += [] if asked.where is None else [asked.where]
    key = [table.n_rows, list(layout.numbers), drawn]
    array = cached(table.paths, key, shape=shape, dtype=layout.dtype, fill=fill, asked=asked)
    arrow().default_memory_pool().release_unused()
    return array


def _fill(
    table: FileTable,
    layout: Layout,
    sample: Sample | None,
    asked: ReadRequest,
    out: np.ndarray[Any, Any],
) -> None:
    if not layout.numbers:
        return
    is_random = sample is not None and sample.is_random
    what = f" into a sample of {len(sample.ids):,}" if sample is not None and is_random else ""
    asked.tell(f"Reading {asked.shown} once{what}.")
    ids = None if sample is None else sample.ids
    rows = np.empty((layout.batch_rows, layout.n_features), dtype=layout.dtype)
    shown = f"{asked.name}: {asked.shown}"
    found = table.batches(list(layout.numbers), ids, name=asked.name, batch_rows=layout.batch_rows)
    for cut, batch in found:
        for at in range(0, batch.num_rows, len(rows)):
            some = batch.slice(at, len(rows))
            block, first = rows[: some.num_rows], cut.start + at
            at_row = first if ids is None else int(ids[first])
            layout.write(some, block, shown=shown, first=at_row)
            where = slice(first, first + len(block))
            out[where if sample is None else sample.positions[where]] = block


def _texts(columns: TableColumns, name: str) -> list[str]:
    texts: list[Any] = columns.column(name).tolist()
    if None in texts:
        raise InvalidInput(
            f"{columns.asked.shown} has no text in column {name!r} at row {texts.index(None)}. "
            f"Drop such rows, or fill them."
        )
    return texts


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a table for the sampled rows, in the order of the sample."""

    table: FileTable
    sample: Sample | None
    asked: ReadRequest

    def column(self, name: str) -> np.ndarray[Any, Any]:
        dtype = self.table.schema.field(name).type
        if kind_of(dtype) == "vector":
            raise InvalidInput(
                f"{self.asked.shown} holds vectors in column {name!r} ({dtype}). Name a column "
                f"with one value per row."
            )
        ids = None if self.sample is None else self.sample.ids
        found = self.table.batches([name], ids, name=self.asked.name, batch_rows=1 << 16)
        as_written = name in self.asked.texts
        parts = [as_values(batch.column(name), as_written=as_written) for _, batch in found]
        wide = np.result_type(*{part.dtype for part in parts})
        values = np.concatenate([part.astype(wide, copy=False) for part in parts])
        if self.sample is None:
            return values
        placed = np.empty_like(values)
        placed[self.sample.positions] = values
        return placed

    def records(self, ids: Ids) -> dict[str, list[Any]]:
        names = [field.name for field in self.table.schema if kind_of(field.type) != "vector"]
        if not names:
            return {}
        given = ids if self.sample is None else self.sample.in_order[ids]
        wanted, back = np.unique(given, return_inverse=True)
        found: dict[str, list[Any]] = {name: [] for name in names}
        for _, batch in self.table.batches(names, wanted, name=self.asked.name):
            for name in names:
                found[name] += as_objects(batch.column(name))
        return {name: [values[i] for i in back.ravel()] for name, values in found.items()}
