"""Columns that have names are matched by them, those that have none by their places."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened, are_names
from protobandit.rows.frames import FRAMES
from protobandit.rows.memory_maps import is_mapped

_MOST_SHOWN = 5


def names_of(data: Any) -> tuple[str, ...] | None:
    """Return the names of columns, where they have some."""
    if isinstance(data, Opened):
        return data.features if data.has_names else None
    if isinstance(data, Columns):
        return data.names if data.is_named else None
    if is_from("pyarrow", data, "Table"):
        names = data.column_names
    elif any(is_from(library, data, "DataFrame") for library in FRAMES):
        names = list(map(str, data.columns))
    else:
        return None
    return tuple(names) if are_names(names) else None


def matched(data: Any, names: tuple[str, ...] | None, *, name: str) -> Any:
    """Return rows with their named columns in the order of ``names``, those of the source."""
    own = names_of(data)
    if names is None or own is None or own == names or isinstance(data, Columns):
        return data
    if set(own) != set(names):
        raise InvalidInput(
            f"{name} has not the columns of source: {_difference(own, names)}. Pass rows of the "
            f"same columns, in any order, or arrays, whose columns are matched by their places."
        )
    order = [own.index(column) for column in names]
    if is_from("pandas", data, "DataFrame"):
        return data.iloc[:, order]
    if not isinstance(data, Opened):
        return data.select([own[at] for at in order])
    if is_mapped(data.rows) or not isinstance(data.rows, np.ndarray):
        raise InvalidInput(
            f"{name} has the columns of source in another order, and is too large to be put in "
            f"theirs. Open it by data.open_rows(path, columns={list(names)})."
        )
    return replace(data, rows=data.rows[:, order], features=names)


def is_from(module: str, value: Any, attribute: str) -> bool:
    """Tell whether ``value`` is of a library's type, without importing the library."""
    loaded = sys.modules.get(module)
    kind = getattr(loaded, attribute, None)
    if kind is None:
        return False
    return isinstance(value, kind) if isinstance(kind, type) else bool(kind(value))


def _difference(own: tuple[str, ...], names: tuple[str, ...]) -> str:
    sides = (("it lacks", names, own), ("it has besides", own, names))
    found = []
    for words, these, others in sides:
        left = [repr(column) for column in these if column not in others]
        more = ", …" if len(left) > _MOST_SHOWN else ""
        found += [f"{words} {', '.join(left[:_MOST_SHOWN])}{more}"] if left else []
    return " and ".join(found)
