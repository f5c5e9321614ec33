"""Labels of rows: classes and groups, whatever they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput


def numbered(labels: Any, n: int, name: str) -> tuple[tuple[Any, ...], Ids]:
    """Return the distinct labels, sorted where they can be, and the number of each row's."""
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
        raise InvalidInput(f"{name}={labels!r:.40} is not a sequence. Pass a label for each row.")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(values) != n:
        raise InvalidInput(f"{name} has {len(values)} labels for {n} rows. Pass one for each row.")
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        raise InvalidInput(
            f"{name} holds labels that cannot be told apart, such as {values[0]!r:.40}. Pass "
            f"numbers or strings, one for each row."
        ) from None
    for label in distinct:
        if _is_missing(label):
            at = next(i for i, value in enumerate(values) if value is label)
            raise InvalidInput(f"{name}[{at}]={label!r} is missing. Give every row a label.")
    try:
        names = tuple(sorted(distinct))
    except TypeError:  # of several types
        names = tuple(distinct)
    number = {label: i for i, label in enumerate(names)}
    return names, np.fromiter(map(number.__getitem__, values), dtype=np.int64, count=n)


def _is_missing(label: Any) -> bool:
    """Recognise None, NaN, which differs from itself, and pandas' NA, which will not say."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def as_labels(labels: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return labels as an array that holds them as they are."""
    if len({type(label) for label in labels}) == 1 and np.isscalar(labels[0]):
        return np.asarray(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
