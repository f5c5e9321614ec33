"""Cache rows that do not fit into memory: write them once as `.npy`, then map the file.

A file is written under a temporary name and renamed when it is complete, so that no incomplete file
is ever read. Its disk space is allocated in advance: writing to a map on a full disk would crash
the process instead of raising an error.
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

MOST_HELD = 1 << 30  # bytes of rows; more are cached on disk
_VERSION = 1
_PIECE = 1 << 24  # bytes


def cached(
    paths: Iterable[Path],
    key: Any,
    *,
    shape: tuple[int, ...],
    dtype: Any,
    fill: Callable[[np.ndarray[Any, Any]], None],
    asked: ReadRequest,
) -> np.ndarray[Any, Any]:
    """Return an array on disk that ``fill`` has written, in this run or in an earlier one.

    It is made from the files ``paths``, identified by path, size and modification time, and
    ``key``, the options that determine the rows. ``asked`` gives the cache folder, and the function
    that receives messages.
    """
    folder = cache_folder(asked.cache)
    wanted = np.dtype(dtype).newbyteorder("=")
    path = folder / f"{_digest(paths, [key, list(shape), wanted.str])}.npy"
    found = _mapped(path, shape, wanted)
    if found is not None:
        asked.tell(f"Reusing the rows cached in {path}.")
        return found
    _write(path, shape, wanted, fill, asked.shown)
    written = _mapped(path, shape, wanted)
    assert written is not None, "the file was just written"
    return written


def cache_folder(cache: Path | None) -> Path:
    """Return the folder of cached rows: ``cache``, or the user's cache folder."""
    if cache is not None:
        return cache
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "protobandit"


def _digest(paths: Iterable[Path], key: Any) -> str:
    files = [(os.path.abspath(path), (s := path.stat()).st_size, s.st_mtime_ns) for path in paths]
    # Which rows a seed draws depends on the version of NumPy.
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
                _allocate(file, offset, n_bytes)
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
            f"a folder with enough space as cache=."
        ) from None


def _allocate(file: Any, offset: int, n_bytes: int) -> None:
    """Allocate disk space; raise OSError if there is too little."""
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), offset, n_bytes)
        return
    blank = bytes(_PIECE)
    for start in range(0, n_bytes, _PIECE):
        file.write(blank[: min(_PIECE, n_bytes - start)])
    file.flush()
