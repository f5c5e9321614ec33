"""Choose the feature columns of a table and write them into rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import as_floats, kind_of, lengths_of, number_type
from protobandit.rows.columns import require_known
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import FileTable
from protobandit.rows.messages import shortened, suggestion
from protobandit.rows.rows import working_dtype

# Names under which pandas writes row numbers. They are features only on request.
_ROW_NUMBERS = {"", "Unnamed: 0", "__index_level_0__"}
_BATCH_CELLS = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The feature columns of a table.

    ``numbers`` has the width of each column of numbers: 0 for single numbers, which are one
    feature, and the length of the vectors for a column of vectors. ``texts`` are columns of texts.
    """

    numbers: dict[str, int]
    texts: tuple[str, ...]
    dtype: np.dtype[Any]

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
                out[:, at : at + width] = _vectors(column, width, self.dtype, name, shown, first)
            else:
                out[:, at] = as_floats(column, self.dtype)
            at += width or 1


def lay_out(table: FileTable, asked: ReadRequest) -> Layout:
    """Return the requested feature columns."""
    kinds = {field.name: kind_of(field.type) for field in table.schema}
    kinds |= dict.fromkeys(set(asked.as_categories) & set(table.names), "text")
    wanted = _wanted(table.names, asked)
    others = [name for name in wanted if kinds[name] == "other"]
    texts = tuple(name for name in wanted if kinds[name] == "text")
    is_one_text = asked.columns is not None and len(wanted) == 1 and not asked.categories
    if others or (texts and not asked.categories and not is_one_text):
        _raise_not_numbers(table, [*others, *texts], asked)
    widths = _widths(table, [name for name in wanted if kinds[name] == "vector"], asked)
    numbers = {name: widths.get(name, 0) for name in wanted if name not in texts}
    types = [number_type(table.schema.field(name).type) for name in numbers]
    dtype = np.result_type(np.float32, *(working_dtype(t) for t in types))
    return Layout(numbers=numbers, texts=texts, dtype=dtype)


def _wanted(names: tuple[str, ...], asked: ReadRequest) -> list[str]:
    shown = f"{asked.name}: {asked.shown}"
    require_known(names, asked.without, shown)
    known = set(names)
    like = {name if name in known else name.rpartition("[")[0] for name in asked.like or ()}
    if like and like <= known:
        return [name for name in names if name in like]
    if asked.columns is None:
        wanted = [name for name in names if name not in _ROW_NUMBERS | set(asked.partitions)]
    else:
        wanted = list(dict.fromkeys(_matching(names, asked.columns, shown)))
    left = [name for name in wanted if name not in (*asked.without, *asked.perhaps)]
    if not left:
        raise InvalidInput(
            f"{shown} has no feature columns: it has {shortened(map(repr, names))}, and "
            f"{shortened(map(repr, asked.without)) or 'none'} is excluded. Name features with "
            f"data.open_rows(path, columns=[...]) (--columns)."
        )
    return left


def _matching(names: tuple[str, ...], patterns: Sequence[str], shown: str) -> Iterable[str]:
    for pattern in patterns:
        found = [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]
        if not found:
            raise InvalidInput(
                f"{shown} has no column {pattern!r}, and none that matches it as a pattern."
                f"{suggestion(pattern, names)} It has {shortened(map(repr, names))}."
            )
        yield from found


def _raise_not_numbers(table: FileTable, wrong: list[str], asked: ReadRequest) -> NoReturn:
    shown = shortened((f"{name!r} ({table.schema.field(name).type})" for name in wrong), 5)
    has_texts = any(kind_of(table.schema.field(name).type) == "text" for name in wrong)
    also = (
        ", or read texts as categories with select(path, "
        "preparation=Preparation(categories='one-hot')) (--categories one-hot)"
    )
    raise InvalidInput(
        f"{asked.name}: {asked.shown} has column(s) that are not numbers: {shown}. Choose others "
        f"with data.open_rows(path, columns=[...]) (--columns), or exclude these with "
        f"without=[...] (--id, --label){also if has_texts else ''}."
    )


# -- values ---------------------------------------------------------------------------------------


def _widths(table: FileTable, vectors: list[str], asked: ReadRequest) -> dict[str, int]:
    """Return the lengths of vectors, from their type or from the first row."""
    fixed = {name: getattr(table.schema.field(name).type, "list_size", None) for name in vectors}
    unknown = [name for name, size in fixed.items() if size is None or size < 0]
    if unknown:
        first: Ids = np.zeros(1, dtype=np.int64)
        _, batch = next(table.batches(unknown, first, name=asked.name, batch_rows=1))
        fixed |= {name: len(batch.column(name)[0].as_py() or ()) for name in unknown}
    for name, size in fixed.items():
        if not size:
            raise InvalidInput(
                f"{asked.name}: {asked.shown} has no vector, or an empty one, in column {name!r} "
                f"at row 0. Drop such rows, or exclude the column."
            )
    return {name: int(size or 0) for name, size in fixed.items()}


def _vectors(
    column: Any, width: int, dtype: np.dtype[Any], name: str, shown: str, first: int
) -> np.ndarray[Any, Any]:
    lengths = lengths_of(column)
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        length = int(lengths[wrong[0]])
        held = "no vector" if length < 0 else f"a vector of {length} number(s)"
        raise InvalidInput(
            f"{shown} has {held} in column {name!r} at row {first + int(wrong[0])}, where others "
            f"have {width}. Make all vectors of a column the same length."
        )
    return as_floats(column.flatten(), dtype).reshape(-1, width)
