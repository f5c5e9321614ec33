"""Arrays on disk: read as few bytes as possible, in the order of the file.

A memory map reads ahead by default, so reading a few thousand random rows would read the whole
file. Three measures avoid this: maps are opened with the advice "random access", random rows are
gathered in ascending order, and long runs of rows are announced before they are read.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids, Where

_LEAST_AHEAD = 1 << 16  # bytes; shorter runs are not announced


def is_mapped(array: Any) -> bool:
    """Return whether an array lies on disk, also if it is a view of a memory map."""
    return isinstance(array, Joined) or _map_under(array) is not None


def _map_under(array: Any) -> np.memmap[Any, Any] | None:
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array if isinstance(array, np.memmap) else None


def read_at_random(array: np.ndarray[Any, Any]) -> None:
    """Advise the system that rows of a map are read in random order."""
    _advise(array, "MADV_RANDOM")


def _advise(array: np.ndarray[Any, Any], advice: str) -> None:
    """Advise the system about the bytes of ``array``; do nothing where it takes no advice."""
    file = getattr(_map_under(array), "_mmap", None)
    if file is not None and hasattr(mmap, advice) and array.size:
        file.madvise(getattr(mmap, advice), *pages_under(array, file))


def pages_under(array: np.ndarray[Any, Any], file: mmap.mmap) -> tuple[int, int]:
    """Return the offset in the map of the first page of an array, and the bytes to its end."""
    first = np.frombuffer(file, dtype=np.uint8).ctypes.data
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    at = array.__array_interface__["data"][0] - first
    low = at + sum(step for step in steps if step < 0)
    high = at + sum(step for step in steps if step > 0) + array.itemsize
    start = low // mmap.PAGESIZE * mmap.PAGESIZE
    return start, high - start


def gather(array: Any, where: Where) -> np.ndarray[Any, Any]:
    """Return some rows of an array on disk."""
    if isinstance(where, slice):
        run = array[where]
        if isinstance(run, np.ndarray) and run.nbytes >= _LEAST_AHEAD:
            _advise(run, "MADV_WILLNEED")
        return np.asarray(run)
    ids = np.asarray(where)
    order = np.argsort(ids, kind="stable")
    found = np.empty((len(ids), *array.shape[1:]), dtype=array.dtype)
    found[order] = array[ids[order]]
    return found


def rows_at(array: Any, where: Where) -> Any:
    """Return some rows of an array, in memory or on disk."""
    return gather(array, where) if is_mapped(array) else array[where]


class Joined:
    """Several arrays of one width as one array; only the requested rows are read."""

    def __init__(self, parts: Sequence[np.ndarray[Any, Any]]) -> None:
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *(len(part) for part in parts)])
        self.shape: tuple[int, ...] = (int(self.starts[-1]), *parts[0].shape[1:])
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.ndim = len(self.shape)
        self.size = int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> np.ndarray[Any, Any]:
        if isinstance(where, (int, np.integer)):
            at = int(where) + (len(self) if where < 0 else 0)
            if not 0 <= at < len(self):
                raise IndexError(f"row {where} of {len(self)}")
            row: np.ndarray[Any, Any] = self._rows(np.array([at]))[0]
            return row
        if isinstance(where, slice):
            start, stop, step = where.indices(len(self))
            return self._run(start, stop) if step == 1 else self._rows(np.arange(start, stop, step))
        ids = np.asarray(where)
        if ids.dtype == bool:
            ids = np.flatnonzero(ids)
        return self._rows(np.where(ids < 0, ids + len(self), ids))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._run(0, len(self)).astype(dtype or self.dtype, copy=False)

    def _run(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        out = np.empty((max(stop - start, 0), *self.shape[1:]), dtype=self.dtype)
        for part, first in zip(self.parts, self.starts, strict=False):
            low, high = max(start, first), min(stop, first + len(part))
            if low < high:
                rows = gather(part, slice(int(low - first), int(high - first)))
                out[low - start : high - start] = rows
        return out

    def _rows(self, ids: Ids) -> np.ndarray[Any, Any]:
        out = np.empty((len(ids), *self.shape[1:]), dtype=self.dtype)
        part_of_row = np.searchsorted(self.starts, ids, side="right") - 1
        for part in np.unique(part_of_row):
            at = np.flatnonzero(part_of_row == part)
            out[at] = gather(self.parts[part], ids[at] - self.starts[part])
        return out
