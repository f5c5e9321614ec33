"""A file of cached rows: a page of header, then the numbers, which are memory-mapped.

A file is written under a random name, which nobody can guess, and gets its own name when it is
complete. After that nobody writes to it: it is read, replaced or removed as a whole. A process that
maps a file keeps its numbers even if the file is replaced or removed meanwhile.

The header has a checksum of the numbers and one of itself. Both are compared before a file is used,
so a file that was damaged or cut short is not used. Nor is a file of another user, or a link.

Disk space is allocated in advance: a store to a map on a full disk would crash the process instead
of raising an error. Numbers are synchronised with the disk before they are used, because only this
reports errors of stores that the system has deferred.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

import numpy as np

from protobandit.foundation.private_folders import is_foreign
from protobandit.rows.memory_maps import read_at_random

SUFFIX = ".rows"
UNFINISHED = ".part"
_PAGE = 4096  # bytes of the header; the numbers begin at the start of a page
_MAGIC = b"protobandit rows 1\n"
_PIECE = 1 << 22  # bytes
_MOST_SHOWN = 200  # characters of the source
_CAN_RENAME_OPEN_FILES = os.name != "nt"
_EXACTLY_THIS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class RowHeader:
    """The header of a file; ``source`` says what its rows were read from."""

    shape: tuple[int, ...]
    dtype: str
    source: str
    checksum: int

    def encoded(self) -> bytes:
        """Return the bytes of the header."""
        text = json.dumps(asdict(self)).encode()
        return (_MAGIC + b"%08x\n" % zlib.crc32(text) + text).ljust(_PAGE)


def read_header(file: IO[bytes]) -> RowHeader | None:
    """Return the header of a file that is of its size, or None."""
    page = file.read(_PAGE)
    if len(page) < _PAGE or not page.startswith(_MAGIC):
        return None
    checksum, _, text = page[len(_MAGIC) :].rstrip(b" ").partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    fields = json.loads(text)
    header = RowHeader(**{**fields, "shape": tuple(fields["shape"])})
    n_bytes = file_size(header.shape, np.dtype(header.dtype))
    return header if os.fstat(file.fileno()).st_size == n_bytes else None


def file_size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return the number of bytes of a file with such rows."""
    return _PAGE + math.prod(shape) * dtype.itemsize


@contextmanager
def open_row_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that this user has written; raise OSError if it is a link or not such a file."""
    with os.fdopen(os.open(path, os.O_RDONLY | _EXACTLY_THIS), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or is_foreign(status):
            raise PermissionError(f"{path} is not a file of this user")
        yield file


def mapped(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """Return the numbers of a complete and undamaged file of this shape and type, or None."""
    try:
        with open_row_file(path) as file:
            header = read_header(file)
            if header is None or (header.shape, header.dtype) != (shape, dtype.str):
                return None
            return _map(file, shape, dtype) if _checksum(file) == header.checksum else None
    except OSError:
        return None


def _map(
    file: IO[bytes] | FileIO, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    array = np.memmap(file, dtype=dtype, mode="r", offset=_PAGE, shape=shape)
    read_at_random(array)
    return array


def _checksum(file: IO[bytes] | FileIO) -> int:
    """Return the checksum of all numbers; they are read in pieces and not kept in memory."""
    file.seek(_PAGE)
    found, piece = 0, bytearray(_PIECE)
    while n := file.readinto(piece):  # type: ignore[union-attr]
        found = zlib.crc32(memoryview(piece)[:n], found)
    return found


# -- writing --------------------------------------------------------------------------------------


@dataclass(eq=False)
class UnfinishedRows:
    """A file that is being written; ``array`` are its numbers."""

    path: Path
    file: FileIO
    array: Any

    def finish(self, source: str) -> None:
        """Write the header and synchronise all with the disk; raise OSError if that fails."""
        shape, dtype = self.array.shape, self.array.dtype
        self.array.flush()  # on some systems reading and fsync do not see a map
        shown = source if len(source) <= _MOST_SHOWN else f"…{source[-_MOST_SHOWN:]}"
        header = RowHeader(shape, dtype.str, shown, _checksum(self.file))
        self.file.seek(0)
        _write(self.file, header.encoded())
        os.fsync(self.file.fileno())
        self.array = _map(self.file, shape, dtype)

    def keep_as(self, path: Path) -> None:
        """Give the finished file its name, in place of any file of that name."""
        if _CAN_RENAME_OPEN_FILES:
            os.replace(self.path, path)
            return
        shape, dtype = self.array.shape, self.array.dtype
        self.array = None
        self.file.close()
        try:
            os.replace(self.path, path)
            self.path = path
        finally:
            with open_row_file(self.path) as file:
                self.array = _map(file, shape, dtype)


@contextmanager
def unfinished_rows(
    folder: Path, shape: tuple[int, ...], dtype: np.dtype[Any], mode: int
) -> Iterator[UnfinishedRows]:
    """Create a file for rows with these permissions; it is removed unless it gets a name."""
    path = folder / f".{token_hex(16)}{UNFINISHED}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _EXACTLY_THIS
    # Without a buffer, so that closing the file writes nothing, which might fail once more.
    file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    try:
        _lock(file)
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)  # regardless of the umask
        _allocate(file, file_size(shape, dtype))
        array = np.memmap(file, dtype=dtype, mode="r+", offset=_PAGE, shape=shape)
        yield UnfinishedRows(path, file, array)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):  # Windows does not remove a file that is open or mapped
            path.unlink()


def _allocate(file: FileIO, n_bytes: int) -> None:
    """Allocate disk space; raise OSError if there is too little."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    blank = bytes(_PIECE)
    for start in range(0, n_bytes, _PIECE):
        _write(file, blank[: n_bytes - start])


def _write(file: FileIO, data: bytes) -> None:
    """Write all bytes: on a full disk a part may be written without an error."""
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]


def _lock(file: IO[bytes] | FileIO, *, is_shared: bool = False) -> bool:
    """Lock a file until it is closed; return whether that is compatible with other locks."""
    try:
        import fcntl
    except ImportError:  # on such systems files in use cannot be removed
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_NB | (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX))
    except OSError:
        return False
    return True


def is_abandoned(path: Path) -> bool:
    """Return whether nobody writes an unfinished file any more: its writer was killed."""
    try:
        with open_row_file(path) as file:
            return _lock(file, is_shared=True)
    except OSError:
        return False
