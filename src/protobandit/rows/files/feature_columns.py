"""Choose the feature columns of a table and write them into rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import as_floats, as_matrix, kind_of, number_type, wrong_vector
from protobandit.rows.column_choice import (
    ColumnChoice,
    ColumnDescription,
    ColumnRequest,
    choose_columns,
    owners_of,
)
from protobandit.rows.columns import are_names, require_known
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import FileTable
from protobandit.rows.rows import working_dtype

_BATCH_CELLS = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The feature columns of a table.

    ``numbers`` has the width of each column of numbers: 0 for single numbers, which are one
    feature, and the length of the vectors for a column of vectors. ``texts`` are columns of texts.
    ``choice`` says why other columns are not among them.
    """

    numbers: dict[str, int]
    texts: tuple[str, ...]
    dtype: np.dtype[Any]
    choice: ColumnChoice

    @property
    def features(self) -> tuple[str, ...]:
        """Return a name for each number of a row."""
        return tuple(
            part
            for name, width in self.numbers.items()
            for part in ([f"{name}[{at}]" for at in range(width)] if width else [name])
        )

    @property
    def n_features(self) -> int:
        return sum(width or 1 for width in self.numbers.values())

    @property
    def batch_rows(self) -> int:
        """Return how many rows to read at once."""
        return int(np.clip(_BATCH_CELLS // max(self.n_features, 1), 256, 1 << 16))

    def write(self, batch: Any, out: np.ndarray[Any, Any], *, shown: str, first: int) -> None:
        """Write the numbers of a batch; ``first`` is the number of its first row, for errors."""
        at = 0
        for name, width in self.numbers.items():
            column = batch.column(name)
            if width:
                out[:, at : at + width] = as_matrix(
                    column, width, self.dtype, column=name, shown=shown, first=first
                )
            else:
                out[:, at] = as_floats(column, self.dtype)
            at += width or 1


def lay_out(table: FileTable, asked: ReadRequest, *, first: int = 0) -> Layout:
    """Return the feature columns: those that are requested, or those that are compared anyway.

    ``first`` is the first row that is read.
    """
    kinds = {field.name: kind_of(field.type) for field in table.schema}
    kinds |= dict.fromkeys(set(asked.as_categories) & set(table.names), "text")
    choice = _choice(table, asked, kinds)
    texts = tuple(name for name in choice.compared if kinds[name] == "text")
    vectors = [name for name in choice.compared if kinds[name] == "vector"]
    widths = _widths(table, vectors, asked, first)
    numbers = {name: widths.get(name, 0) for name in choice.compared if name not in texts}
    types = [number_type(table.schema.field(name).type) for name in numbers]
    dtype = np.result_type(np.float32, *(working_dtype(t) for t in types))
    return Layout(numbers=numbers, texts=texts, dtype=dtype, choice=choice)


def _choice(table: FileTable, asked: ReadRequest, kinds: Mapping[str, str]) -> ColumnChoice:
    owner = f"{asked.name}: {asked.shown}"
    require_known(table.names, tuple(asked.without), owner)
    columns = asked.columns
    if columns is None and asked.like is not None and are_names(table.names):
        found = owners_of(asked.like, table.names)
        columns = None if found is None else tuple(found)
    folders = dict.fromkeys(asked.partitions, "named by folders")

    def texts_of(name: str) -> list[Any]:
        _, batch = next(table.batches([name], None, name=asked.name))
        texts: list[Any] = batch.column(name).to_pylist()
        return texts

    return choose_columns(
        [_description(each, kinds[each.name]) for each in table.schema],
        ColumnRequest(
            owner=owner,
            columns=columns,
            exclude=asked.exclude,
            roles={**folders, **asked.perhaps, **asked.without},
            others="" if asked.columns is not None else asked.others,
            has_categories=asked.categories,
            options=asked.options,
        ),
        texts_of,
    )


def _description(column: Any, kind: str) -> ColumnDescription:
    """Return a column as messages show it; texts have one type, however they are stored."""
    return ColumnDescription(column.name, kind, "string" if kind == "text" else str(column.type))


# -- values ---------------------------------------------------------------------------------------


def _widths(table: FileTable, vectors: list[str], asked: ReadRequest, first: int) -> dict[str, int]:
    """Return the lengths of vectors, from their type or from the first row."""
    fixed = {name: getattr(table.schema.field(name).type, "list_size", None) for name in vectors}
    unknown = [name for name, size in fixed.items() if size is None or size < 0]
    if unknown:
        row: Ids = np.array([first], dtype=np.int64)
        _, batch = next(table.batches(unknown, row, name=asked.name, batch_rows=1))
        fixed |= {name: len(batch.column(name)[0].as_py() or ()) for name in unknown}
    for name, size in fixed.items():
        if not size:
            raise InvalidInput(wrong_vector(0, 0, name, f"{asked.name}: {asked.shown}", first))
    return {name: int(size or 0) for name, size in fixed.items()}
