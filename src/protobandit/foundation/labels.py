"""Labels of rows: classes and groups, of any type that can be hashed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import is_missing
from protobandit.foundation.errors import InvalidInput


def numbered(labels: Any, n: int, name: str) -> tuple[tuple[Any, ...], Ids]:
    """Return the distinct labels and, per row, the position of its label among them.

    The labels are sorted if they can be compared, else in order of appearance.
    """
    is_scalar = getattr(labels, "ndim", 1) == 0
    if isinstance(labels, (str, bytes)) or is_scalar or not hasattr(labels, "__len__"):
        raise InvalidInput(f"{name}={labels!r:.40} is not a sequence. Pass one label per row.")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(values) != n:
        raise InvalidInput(f"{name} has {len(values)} labels for {n} rows. Pass one label per row.")
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        raise InvalidInput(
            f"{name} holds labels that cannot be hashed, such as {values[0]!r:.40}. Pass numbers "
            f"or strings, one per row."
        ) from None
    for label in distinct:
        if is_missing(label):
            at = next(i for i, value in enumerate(values) if value is label)
            raise InvalidInput(f"{name}[{at}]={label!r} is missing. Give every row a label.")
    try:
        names = tuple(sorted(distinct))
    except TypeError:  # several types, such as 1 and 'a'
        names = tuple(distinct)
    position = {label: i for i, label in enumerate(names)}
    return names, np.fromiter(map(position.__getitem__, values), dtype=np.int64, count=n)


def as_labels(labels: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return labels as an array that keeps each of them unchanged."""
    if len({type(label) for label in labels}) == 1 and np.isscalar(labels[0]):
        return np.asarray(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
