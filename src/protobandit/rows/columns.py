"""Columns: rows as named columns of numbers and of categories.

A table is kept as `Columns` while it may still hold missing values and texts. A
`protobandit.Preparation` turns it into rows that a metric can read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Where
from protobandit.foundation.checks import is_missing
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.rows.memory_maps import rows_at
from protobandit.rows.messages import MISSING_ADVICE, shortened, suggestion

_BLOCK = 4096  # rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Rows as columns.

    Attributes
    ----------
    numbers
        A 2-D array of numbers, with NaN for missing ones. It may have no columns. It may be a
        memory map, or any object with ``shape`` and ``dtype`` that is read as ``numbers[where]``.
    names
        Names of the columns of ``numbers``.
    categories
        1-D arrays of texts by column name, with None for missing ones.
    is_named
        Whether the names come from the data. If False, they are positions: "0", "1" and so on.
    """

    numbers: Any
    names: tuple[str, ...]
    categories: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    is_named: bool = True

    def __post_init__(self) -> None:
        numbers = self.numbers if hasattr(self.numbers, "shape") else np.asarray(self.numbers)
        names = tuple(map(str, self.names))
        if len(numbers.shape) != 2 or numbers.dtype.kind not in "fiub":
            raise InvalidInput(
                f"numbers has shape {tuple(numbers.shape)} and type {numbers.dtype}. Pass a 2-D "
                f"array of numbers; np.empty((n, 0)) has no columns."
            )
        if len(names) != numbers.shape[1]:
            raise InvalidInput(
                f"names has {len(names)} entries but numbers has {numbers.shape[1]} columns. Pass "
                f"one name per column."
            )
        texts = {str(name): _as_texts(values) for name, values in self.categories.items()}
        require_distinct([*names, *texts], "Columns")
        for name, values in texts.items():
            if len(values) != numbers.shape[0]:
                raise InvalidInput(
                    f"categories[{name!r}] has {len(values)} values but numbers has "
                    f"{numbers.shape[0]} rows. Pass one value per row."
                )
        for key, value in (("numbers", numbers), ("names", names), ("categories", texts)):
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of all columns: numbers, then categories."""
        return (*self.names, *self.categories)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of rows and the number of columns."""
        return len(self), len(self.features)

    def label(self, column: str) -> str:
        """Return how messages refer to a column: by its name, or by its position."""
        return repr(column) if self.is_named else f"column {column}"

    def take(self, where: Where) -> Columns:
        """Return some of the rows."""
        categories = {name: values[where] for name, values in self.categories.items()}
        return replace(self, numbers=rows_at(self.numbers, where), categories=categories)

    def to_numpy(self) -> Any:
        """Return the numbers; raise if there are categories."""
        if self.categories:
            shown = shortened(map(repr, self.categories))
            raise InvalidInput(
                f"The rows have columns of categories ({shown}), which metrics cannot read. Pass "
                f"preparation=Preparation(categories='gower') or 'one-hot', or omit these columns."
            )
        return self.numbers


def text_of(value: Any) -> str | None:
    """Return a value as the text of a category, None if it is missing."""
    if type(value) is str or value is None:
        return value
    if is_missing(value):
        return None
    # A column of integers with a missing value is read as floats: 31.0 is the category "31".
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _as_texts(values: Any) -> np.ndarray[Any, Any]:
    return np.fromiter(map(text_of, values), dtype=object, count=len(values))


# -- missing values -------------------------------------------------------------------------------


def require_no_missing(table: Columns, *, name: str) -> None:
    """Raise if values are missing; the message counts them by column."""
    counts = _missing_counts(table)
    if counts:
        items = [f"{n:,} in {table.label(column)}" for column, n in counts.items()]
        raise InvalidInput(
            f"{name} has missing values ({len(table):,} rows checked): {shortened(items)}. "
            f"{MISSING_ADVICE}"
        )


def _missing_counts(table: Columns) -> dict[str, int]:
    counts = np.zeros(len(table.names), dtype=np.int64)
    if table.numbers.dtype.kind == "f":
        for cut in cuts(len(table), _BLOCK):
            counts += np.isnan(table.numbers[cut]).sum(axis=0)
    found = dict(zip(table.names, counts.tolist(), strict=True))
    for column, values in table.categories.items():
        found[column] = sum(value is None for value in values)
    return {column: n for column, n in found.items() if n}


# -- names ----------------------------------------------------------------------------------------


def are_names(columns: Sequence[str]) -> bool:
    """Return whether columns have distinct names that are not just "0", "1" and so on."""
    positions = [str(at) for at in range(len(columns))]
    return len(set(columns)) == len(columns) and list(columns) != positions


def require_distinct(names: Sequence[str], owner: str) -> None:
    """Raise if two columns have the same name."""
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise InvalidInput(f"{owner} has the column {repeated[0]!r} more than once. Rename one.")


def require_known(names: Sequence[str], wanted: Sequence[str], owner: str) -> None:
    """Raise if a wanted column does not exist; the message gives similar names."""
    for name in wanted:
        if name not in names:
            known = f"It has {shortened(map(repr, names))}" if names else "It has no named columns"
            raise InvalidInput(f"{owner} has no column {name!r}.{suggestion(name, names)} {known}.")
