"""Match columns by name where both sides have names, and by position otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.files.opened import Opened
from protobandit.rows.memory_maps import is_mapped
from protobandit.rows.messages import shortened
from protobandit.rows.rows import is_sparse


def names_of(data: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, or None if there are none."""
    if isinstance(data, Opened):
        return (data.columns or data.features) if data.has_names else None
    if isinstance(data, Columns):
        return data.names if data.is_named else None
    return None


def matched(data: Any, names: tuple[str, ...] | None, *, name: str, other: str = "source") -> Any:
    """Return the columns ``names``, those of ``other`` rows, in their order; others are ignored."""
    own = names_of(data)
    if isinstance(data, Opened) and names is not None and set(names) == set(data.features):
        own = data.features  # earlier releases saved the names of features
    if names is None or own is None or own == names or isinstance(data, Columns):
        return data
    if not set(names) <= set(own):
        raise InvalidInput(
            f"{name} has other columns than {other}: {_difference(own, names)}. Pass the same "
            f"columns, in any order. Columns of arrays are matched by position."
        )
    known, places = set(own), dict[str, list[int]]()
    for at, feature in enumerate(data.features):
        column = feature if feature in known else feature.rpartition("[")[0]
        places.setdefault(column, []).append(at)
    order = [at for column in names for at in places[column]]
    is_held = isinstance(data.rows, np.ndarray) and not is_mapped(data.rows)
    if not (is_held or is_sparse(data.rows)):
        raise InvalidInput(
            f"{name} has the columns of {other} in another order and is too large to be reordered "
            f"in memory. Open it with data.open_rows(path, columns={list(names)})."
        )
    features = tuple(data.features[at] for at in order)
    return replace(data, rows=data.rows[:, order], features=features, columns=names)


def _difference(own: tuple[str, ...], names: tuple[str, ...]) -> str:
    missing = [repr(column) for column in names if column not in own]
    unexpected = [repr(column) for column in own if column not in names]
    return "; ".join(
        f"{is_what} {shortened(columns)}"
        for columns, is_what in ((missing, "missing"), (unexpected, "unexpected"))
        if columns
    )
