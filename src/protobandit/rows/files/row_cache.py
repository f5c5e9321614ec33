"""Cache rows that do not fit into memory, and samples: write them once, then map the file.

Rows are identified by the files they were read from, with sizes and times, and by the options that
determine them. Threads or processes that need the same rows at once each write a file of their own;
the last one to finish replaces the others, which are equal.

A cache that cannot be used costs time, not the result: up to `MOST_HELD` bytes are held in memory
instead.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.files.cache_folder import (
    LIMIT,
    make_room,
    private_folder,
    remove_oldest,
    size_limit,
)
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.row_file import (
    SUFFIX,
    UnfinishedRows,
    file_size,
    mapped,
    unfinished_rows,
)

MOST_HELD = 1 << 30  # bytes of rows; more are cached on disk
_VERSION = 2
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)

Fill: TypeAlias = Callable[[np.ndarray[Any, Any]], None]


class _FileVersion(NamedTuple):
    """What changes with the content of a file; nobody can set the time ``changed``."""

    path: str
    size: int
    modified: int
    changed: int
    mode: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _WantedRows:
    """Rows that a call needs: what they are, and how they are read from files."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    files: Sequence[Any]
    versions: Sequence[_FileVersion]
    read: Fill
    asked: ReadRequest

    @property
    def file_bytes(self) -> int:
        return file_size(self.shape, self.dtype)

    @property
    def source(self) -> str:
        """Return what the rows are read from, to be shown to the user."""
        first, n_more = self.versions[0].path, len(self.versions) - 1
        return f"{first} (and {n_more} more)" if n_more else first

    def read_into(self, out: np.ndarray[Any, Any]) -> None:
        """Read the rows from their files; raise if a file changes meanwhile."""
        self.read(out)
        now = _versions(self.files, self.asked)
        for before, after in zip(self.versions, now, strict=True):
            if before != after:
                raise InvalidInput(
                    f"{self.asked.name}: {before.path} changed while it was read. Run the call "
                    f"again when the file is complete."
                )


def cached(
    paths: Iterable[Any],
    key: Any,
    *,
    shape: tuple[int, ...],
    dtype: Any,
    fill: Fill,
    asked: ReadRequest,
) -> np.ndarray[Any, Any]:
    """Return an array on disk that ``fill`` has written, in this run or in an earlier one.

    ``key`` are the options that determine the rows. ``fill`` may be called twice. ``asked`` gives
    the cache folder, and the function that receives messages.
    """
    native = np.dtype(dtype).newbyteorder("=")
    if asked.copies and math.prod(shape) * native.itemsize <= MOST_HELD:
        held = np.empty(shape, dtype=native)  # the next call would not find the copies
        fill(held)
        return held
    files = list(paths)
    versions = _versions(files, asked)
    name = f"{_digest(versions, [key, list(shape), native.str])}{SUFFIX}"
    rows = _WantedRows(
        shape=shape, dtype=native, files=files, versions=versions, read=fill, asked=asked
    )
    limit = size_limit()
    with ExitStack() as stack:
        try:
            path = private_folder(asked.cache) / name
            found = _reused(path, rows)
            if found is not None:
                return found
            make_room(path.parent, rows.file_bytes if rows.file_bytes <= limit else 0, limit)
            unfinished = _created(path.parent, rows, stack)
        except OSError as error:
            return _held(rows, error)
        rows.read_into(unfinished.array)
        try:
            unfinished.finish(rows.source)
        except OSError as error:
            failure = error
        else:
            return _kept(unfinished, path, rows, limit)
    return _held(rows, failure)


def _reused(path: Path, rows: _WantedRows) -> np.ndarray[Any, Any] | None:
    found = mapped(path, rows.shape, rows.dtype)
    if found is not None:
        rows.asked.tell(f"Reusing the rows cached in {path}.")
        with suppress(OSError):  # in a folder that cannot be written
            os.utime(path)
    elif os.path.lexists(path):
        rows.asked.tell(f"The rows cached in {path} are damaged: they are read again.")
    return found


def _created(folder: Path, rows: _WantedRows, stack: ExitStack) -> UnfinishedRows:
    """Create a file for the rows; while the disk is full, remove older files."""
    mode = 0o400 | (0o600 & reduce(int.__and__, (version.mode for version in rows.versions)))
    while True:
        try:
            return stack.enter_context(unfinished_rows(folder, rows.shape, rows.dtype, mode))
        except OSError as error:
            if error.errno not in _FULL_DISK or not remove_oldest(folder, rows.file_bytes):
                raise


def _kept(
    unfinished: UnfinishedRows, path: Path, rows: _WantedRows, limit: int
) -> np.ndarray[Any, Any]:
    """Return the rows of a finished file, which is kept for later calls if possible."""
    reason = f"they have {rows.file_bytes / 1e9:.3g} GB, and {LIMIT} is {limit / 1e9:.3g}"
    try:
        if rows.file_bytes <= limit:
            unfinished.keep_as(path)
            make_room(path.parent, 0, limit)  # others may have written meanwhile
            reason = ""
    except OSError as error:
        reason = _reason(error)
    if reason:
        asked = rows.asked
        asked.tell(f"The rows of {asked.shown} are not kept for the next call: {reason}.")
    array: np.ndarray[Any, Any] = unfinished.array
    return array


def _held(rows: _WantedRows, error: OSError) -> np.ndarray[Any, Any]:
    """Return the rows in memory, because they cannot be written; raise if they are too many."""
    n_bytes = math.prod(rows.shape) * rows.dtype.itemsize
    what = f"The {n_bytes:,} bytes of rows of {rows.asked.shown} cannot be cached: {_reason(error)}"
    if n_bytes > MOST_HELD:
        raise NotAvailable(
            f"{what}. Pass a folder with enough space as cache= (--cache)."
        ) from None
    rows.asked.tell(f"{what}. They are held in memory, and the next call reads them again.")
    held = np.empty(rows.shape, dtype=rows.dtype)
    rows.read_into(held)
    return held


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


# -- the files that rows are read from ------------------------------------------------------------


def _versions(paths: Sequence[Any], asked: ReadRequest) -> list[_FileVersion]:
    found = []
    for path in paths:
        with reading(path, name=asked.name, as_what="rows"):
            status = path.stat()
        found.append(
            _FileVersion(
                path=os.path.abspath(path) if isinstance(path, Path) else str(path),
                size=status.st_size,
                modified=status.st_mtime_ns,
                changed=status.st_ctime_ns,
                mode=status.st_mode & 0o777,
            )
        )
    return found


def _digest(versions: Sequence[_FileVersion], key: Any) -> str:
    # Which rows a seed draws depends on the version of NumPy.
    text = json.dumps([_VERSION, np.__version__, versions, key])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
