"""Rows too many to hold, written once to a cache as `.npy` and mapped from there.

A spill is written under a temporary name and moved to its own when it is complete, so that there is
never half of one. Its room is taken beforehand: a full disk is an error, not a crash in a map.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from protobandit.foundation.errors import NotAvailable
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.memory_maps import read_at_random

MOST_HELD = 1 << 30  # bytes of rows that are held in memory
_VERSION = 1
_PIECE = 1 << 24


def spilled(
    paths: Iterable[Path],
    key: Any,
    *,
    shape: tuple[int, ...],
    dtype: Any,
    fill: Callable[[np.ndarray[Any, Any]], None],
    asked: ReadRequest,
) -> np.ndarray[Any, Any]:
    """Return an array on disk that ``fill`` has written, now or in an earlier run.

    Parameters
    ----------
    paths, key
        What it is made of: the files, by path, size and time of change, and what was asked of them.
    shape, dtype
        Of the array.
    fill
        Writes all of it.
    asked
        Where to keep it, and whom to tell.
    """
    folder = cache_folder(asked.cache)
    wanted = np.dtype(dtype).newbyteorder("=")
    path = folder / f"{_digest(paths, [key, list(shape), wanted.str])}.npy"
    found = _mapped(path, shape, wanted)
    if found is not None:
        asked.tell(f"Reusing what was read before, in {path}.")
        return found
    _write(path, shape, wanted, fill, asked.shown)
    written = _mapped(path, shape, wanted)
    assert written is not None, "what was just written is there"
    return written


def cache_folder(cache: Path | None) -> Path:
    """Return the folder of spills: ``cache``, or the user's own cache."""
    if cache is not None:
        return cache
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "protobandit"


def _digest(paths: Iterable[Path], key: Any) -> str:
    files = [(os.path.abspath(path), (s := path.stat()).st_size, s.st_mtime_ns) for path in paths]
    # Which rows a seed draws is NumPy's own affair.
    text = json.dumps([_VERSION, np.__version__, files, key])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _mapped(
    path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any] | None:
    try:
        array = npy.open_memmap(path, mode="r")
    except (OSError, ValueError):
        return None
    if array.shape != shape or array.dtype != dtype:
        return None
    read_at_random(array)
    return array


def _write(
    path: Path,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    fill: Callable[[np.ndarray[Any, Any]], None],
    shown: str,
) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    n_bytes = math.prod(shape) * dtype.itemsize
    try:
        with _writing(path.parent, shown, n_bytes):
            path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("w+b") as file:
                header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                npy.write_array_header_1_0(file, header)
                offset = file.tell()
                _take_room(file, offset, n_bytes)
            array = np.memmap(unfinished, dtype=dtype, mode="r+", offset=offset, shape=shape)
        fill(array)
        with _writing(path.parent, shown, n_bytes):
            array.flush()
            del array
            os.replace(unfinished, path)
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def _writing(folder: Path, shown: str, n_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise NotAvailable(
            f"{n_bytes:,} bytes read from {shown} cannot be written to {folder}: {reason}. Pass "
            f"cache= a folder with room for them."
        ) from None


def _take_room(file: Any, offset: int, n_bytes: int) -> None:
    """Have the disk set the bytes aside, or say that it has no room."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), offset, n_bytes)
        return
    blank = bytes(_PIECE)
    for start in range(0, n_bytes, _PIECE):
        file.write(blank[: min(_PIECE, n_bytes - start)])
    file.flush()
