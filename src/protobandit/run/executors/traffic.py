"""What tasks move between the driver and the workers."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What a call on a Dask collection has moved.

    Attributes
    ----------
    parts
        The number of parts of source and target.
    passes
        How often parts were read: once per side in the first pass, then once per pass over the
        source. Every pass computes the graph of the collection again.
    tasks
        The tasks that ran: one per part and pass.
    bytes_shared
        The bytes of what tasks share: it is sent once per pass to every worker that runs a task.
    bytes_received
        The bytes that tasks returned.
    """

    parts: int
    passes: int
    tasks: int
    bytes_shared: int
    bytes_received: int


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in a value: in a record, a mapping or a sequence."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value) and not isinstance(value, type):
        return sum(bytes_of(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    return sum(map(bytes_of, value)) if isinstance(value, (list, tuple)) else 0
