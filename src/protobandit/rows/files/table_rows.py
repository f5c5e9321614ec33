"""Rows from tables: held, spilled, or a uniform sample of them.

Uniform rows touch nearly every row group of a file, so a sample takes one pass over it, in bounded
memory: which rows is drawn beforehand, and each is written to a random place of the spill. The
order of the file, sorted by class as it may be, leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow, as_values, is_vector
from protobandit.rows.columns import Columns
from protobandit.rows.files.feature_columns import Layout, lay_out
from protobandit.rows.files.opened import Opened, ReadRequest
from protobandit.rows.files.readers import open_table
from protobandit.rows.files.sample_cache import MOST_HELD, spilled
from protobandit.rows.files.tables import FileTable


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows of a table: ``ids``, ascending; row ``ids[n]`` comes to stand at ``places[n]``."""

    ids: Ids
    places: Ids

    @property
    def in_order(self) -> Ids:
        """Return the number in the table of each row as it stands."""
        found = np.empty_like(self.ids)
        found[self.places] = self.ids
        return found


def open_tables(paths: Sequence[Path], asked: ReadRequest, *, form: str) -> Opened:
    """Open files of one tabular format."""
    table = open_table(paths, form, asked)
    layout = lay_out(table, asked)
    draw = _drawn(table, asked)
    besides = TableBesides(table, draw, asked)
    is_text = bool(layout.texts) and not asked.categories
    rows: Any = None if is_text else _numbers(table, layout, draw, asked)
    if is_text:
        rows = _texts(besides, layout.texts[0])
    elif layout.texts:
        texts = {name: besides.column(name) for name in layout.texts}
        rows = Columns(numbers=rows, names=layout.features, categories=texts)
    return Opened(
        path=asked.shown,
        format=form,
        rows=rows,
        kind="texts" if is_text else "mixed" if layout.texts else "numbers",
        features=() if is_text else (*layout.features, *layout.texts),
        n_total=table.n_rows,
        names=table.names,
        remark="" if draw is None else _remark(table, draw, asked),
        besides=besides,
        numbers=None if draw is None else draw.in_order,
    )


# -- which rows -----------------------------------------------------------------------------------


def _drawn(table: FileTable, asked: ReadRequest) -> Draw | None:
    if asked.sample is None or asked.sample >= table.n_rows:
        return None
    random = np.random.default_rng(asked.seed)
    if asked.assume_shuffled and table.has_groups:
        ids = _of_groups([piece.n_rows for piece in table.pieces], asked.sample, random)
    else:
        ids = distinct(table.n_rows, asked.sample, random)
    return Draw(ids, random.permutation(len(ids)))


def distinct(n: int, size: int, random: np.random.Generator) -> Ids:
    """Return ``size`` different numbers below ``n``, ascending; every set is equally likely.

    Memory: of the order of ``size``, whatever ``n``.
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
    """Return the rows of whole groups, drawn at random until there are enough."""
    starts = np.cumsum([0, *sizes])
    found: list[Ids] = []
    missing = size
    for group in random.permutation(len(sizes)):
        found.append(starts[group] + np.arange(min(sizes[group], missing)))
        missing -= len(found[-1])
        if not missing:
            break
    return np.sort(np.concatenate(found))


def _remark(table: FileTable, draw: Draw, asked: ReadRequest) -> str:
    how = "drawn uniformly without replacement"
    if asked.assume_shuffled and table.has_groups:
        how = "in whole row groups, which is fair only if the file is shuffled, as was assumed"
    return (
        f"The {asked.name} is a sample of {len(draw.ids):,} of the {table.n_rows:,} rows of "
        f"{asked.shown}, {how}."
    )


# -- reading them ---------------------------------------------------------------------------------


def _numbers(
    table: FileTable, layout: Layout, draw: Draw | None, asked: ReadRequest
) -> np.ndarray[Any, Any]:
    shape = (table.n_rows if draw is None else len(draw.ids), layout.n_features)

    def fill(out: np.ndarray[Any, Any]) -> None:
        _fill(table, layout, draw, asked, out)

    n_bytes = shape[0] * shape[1] * layout.dtype.itemsize
    if n_bytes == 0 or (draw is None and n_bytes <= MOST_HELD):
        held = np.empty(shape, dtype=layout.dtype)
        fill(held)
        return held
    key = [list(layout.numbers), None if draw is None else _key(asked)]
    array = spilled(table.paths, key, shape=shape, dtype=layout.dtype, fill=fill, asked=asked)
    arrow().default_memory_pool().release_unused()
    return array


def _key(asked: ReadRequest) -> list[Any]:
    return [asked.sample, asked.seed, asked.assume_shuffled]


def _fill(
    table: FileTable,
    layout: Layout,
    draw: Draw | None,
    asked: ReadRequest,
    out: np.ndarray[Any, Any],
) -> None:
    if not layout.numbers:
        return
    what = "" if draw is None else f" into a sample of {len(draw.ids):,}"
    asked.tell(f"Reading {asked.shown} once{what}.")
    ids = None if draw is None else draw.ids
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
            out[where if draw is None else draw.places[where]] = block


def _texts(besides: TableBesides, name: str) -> list[str]:
    texts: list[Any] = besides.column(name).tolist()
    if None in texts:
        raise InvalidInput(
            f"{besides.asked.shown} has no text in column {name!r} at row {texts.index(None)}. "
            f"Drop such rows, or fill them."
        )
    return texts


@dataclass(frozen=True, eq=False)
class TableBesides:
    """The columns of a table, of exactly the rows that were drawn, in their order."""

    table: FileTable
    draw: Draw | None
    asked: ReadRequest

    def column(self, name: str) -> np.ndarray[Any, Any]:
        dtype = self.table.schema.field(name).type
        if is_vector(dtype):
            raise InvalidInput(
                f"{self.asked.shown} holds vectors in column {name!r} ({dtype}). Name a column of "
                f"one value a row."
            )
        ids = None if self.draw is None else self.draw.ids
        found = self.table.batches([name], ids, name=self.asked.name, batch_rows=1 << 16)
        as_written = name in self.asked.texts
        parts = [as_values(batch.column(name), as_written=as_written) for _, batch in found]
        wide = np.result_type(*{part.dtype for part in parts})
        values = np.concatenate([part.astype(wide, copy=False) for part in parts])
        if self.draw is None:
            return values
        placed = np.empty_like(values)
        placed[self.draw.places] = values
        return placed

    def records(self, ids: Ids) -> dict[str, list[Any]]:
        names = [field.name for field in self.table.schema if not is_vector(field.type)]
        if not names:
            return {}
        given = ids if self.draw is None else self.draw.in_order[ids]
        wanted, back = np.unique(given, return_inverse=True)
        found: dict[str, list[Any]] = {name: [] for name in names}
        for _, batch in self.table.batches(names, wanted, name=self.asked.name):
            for name in names:
                found[name] += batch.column(name).to_pylist()
        return {name: [values[i] for i in back.ravel()] for name, values in found.items()}
