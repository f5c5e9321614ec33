"""Split rows into blocks, always at the same places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from protobandit.foundation.array_types import Ids, Where


def cuts(n: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of length ``size`` that cover ``n``; the last may be shorter."""
    return cuts_of(slice(0, n), size)


def cuts_of(whole: slice, size: int) -> Iterator[slice]:
    """Yield consecutive slices of length ``size`` that cover a slice; the last may be shorter."""
    return (
        slice(start, min(start + size, whole.stop))
        for start in range(whole.start, whole.stop, size)
    )


def equal_runs(values: Ids, least: int) -> tuple[list[Ids], Ids]:
    """Return the positions of each value that occurs ``least`` times or more, and the others."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-1))
    lengths = np.diff(starts, append=len(values))
    is_long = lengths >= least
    runs = [order[a : a + n] for a, n in zip(starts[is_long], lengths[is_long], strict=True)]
    return runs, order[~np.repeat(is_long, lengths)]


def as_slice(ids: Ids) -> Where:
    """Return consecutive row numbers as a slice, which reads without copying; others unchanged."""
    if len(ids) and ids[-1] - ids[0] == len(ids) - 1 and (np.diff(ids) == 1).all():
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids
