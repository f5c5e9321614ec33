"""Checks of the names of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.messages import shortened, suggestion


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
