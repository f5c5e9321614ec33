"""A file beside a checkpoint to which dissimilarities are appended, block by block."""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput

_MAGIC = b"protobandit tables\n"
_MOST_BYTES = 2 << 30


class BlockFile:
    """Blocks of numbers in a file; what was appended stays where it is.

    Parameters
    ----------
    path
        The file. It is opened when first needed.
    token, size
        What it must begin with, and how long it must be at least, for its blocks to be those that
        a checkpoint speaks of; what lies beyond ``size`` is overwritten.
    """

    def __init__(self, path: Path, token: str = "", size: int = 0) -> None:
        self._path = path
        self._file: FileIO | None = None
        self.token = token
        self.size = size
        if token and not self._is_there():
            self.token, self.size = "", 0

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to be read."""
        return self.size == 0

    def has_room(self, n_bytes: int) -> bool:
        """Tell whether so many bytes may be added."""
        return self.size + n_bytes <= _MOST_BYTES

    def append(self, block: np.ndarray[Any, Any]) -> int:
        """Write a block at the end; return where."""
        file, offset = self._opened(), self.size
        file.seek(offset)
        _write(file, np.ascontiguousarray(block).tobytes())
        self.size = file.tell()
        return offset

    def read(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return the block that was written there."""
        file = self._opened()
        file.seek(offset)
        n = int(np.prod(shape))
        return np.frombuffer(file.read(n * dtype.itemsize), dtype=dtype, count=n).reshape(shape)

    def sync(self) -> None:
        """Have what was appended written to the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _head(self) -> bytes:
        return _MAGIC + self.token.encode() + b"\n"

    def _is_there(self) -> bool:
        """Tell whether the file holds the blocks that were written with this token."""
        try:
            with self._path.open("rb") as file:
                return file.read(len(self._head())) == self._head() and (
                    self._path.stat().st_size >= self.size
                )
        except OSError:
            return False

    def _opened(self) -> FileIO:
        if self._file is not None:
            return self._file
        if not self.token:
            self.token = os.urandom(8).hex()
            with self._path.open("wb", buffering=0) as file:
                _write(file, self._head())
                self.size = file.tell()
        self._file = self._path.open("r+b", buffering=0)
        return self._file

    def require_own(self) -> None:
        """Refuse to write over a file that no checkpoint has made."""
        if self._path.exists() and self._path.stat().st_size:
            with self._path.open("rb") as file:
                is_own = file.read(len(_MAGIC)) == _MAGIC
            if not is_own:
                raise InvalidInput(
                    f"checkpoint: {str(self._path)!r}, where dissimilarities would be kept, exists "
                    f"and was not made by a checkpoint. Move it, or pass another path."
                )


def _write(file: FileIO, data: bytes) -> None:
    """Write all of it: on a full disk, part of it may be written without an error."""
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]
