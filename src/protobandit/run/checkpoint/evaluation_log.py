"""The blocks that a user's own metric has returned, appended to a file in the order of the calls.

A record is a header and the block as float64. The header holds a checksum, the shape of the block,
the number of evaluations counted before and the seconds of the run. A resumed run reads the records
in order. The first record that is damaged, cut short or does not belong to the call that the search
makes ends the replay: the file is cut there, and from then on blocks are computed and appended.
"""

from __future__ import annotations

import os
import struct
import zlib
from io import FileIO
from pathlib import Path
from time import perf_counter

import numpy as np

from protobandit.foundation.array_types import Floats
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.counts import Counts
from protobandit.search.control import Clock

_MAGIC = b"protobandit evaluations\n"
_HEADER = struct.Struct("<IQQd")  # checksum, values, evaluations before, seconds
_MOST_BYTES = 2 << 30


class EvaluationLog:
    """A log of evaluations; the `BlockLog` of an oracle.

    Parameters
    ----------
    path
        The file.
    token
        The text that the file must begin with to belong to its checkpoint.
    seconds
        Minimum time between two synchronisations with the disk.
    """

    def __init__(self, path: Path, token: str, seconds: float) -> None:
        self._path = path
        self._head = _MAGIC + token.encode() + b"\n"
        self._seconds = seconds
        self._file: FileIO | None = None
        self._counts = Counts()
        self._clock = Clock()
        self._is_replaying = False
        self._is_frozen = False
        self._synced = perf_counter()
        self.n_read = 0
        self.trouble = ""

    @staticmethod
    def require_own(path: Path) -> None:
        """Raise if there is a file that no checkpoint has made."""
        if path.exists() and path.stat().st_size:
            with path.open("rb") as file:
                is_own = file.read(len(_MAGIC)) == _MAGIC
            if not is_own:
                raise InvalidInput(
                    f"checkpoint: {str(path)!r}, where evaluations would be logged, exists and was "
                    f"not made by a checkpoint. Move it, or pass another path."
                )

    def open(self) -> None:
        """Open the file: to be replayed if it belongs to the checkpoint, else as a new one."""
        is_own = False
        if self._path.exists():
            with self._path.open("rb") as file:
                is_own = file.read(len(self._head)) == self._head
        if not is_own:
            self._path.write_bytes(self._head)
        self._file = self._path.open("r+b", buffering=0)
        self._file.seek(len(self._head))
        self._is_replaying = is_own

    def attach(self, counts: Counts, clock: Clock) -> None:
        """Set the counts that are compared and the clock that shows the time of a record."""
        self._counts, self._clock = counts, clock

    def read(self, out: Floats) -> bool:
        """Fill ``out`` with the next block of the log; return False if there is none."""
        if not self._is_replaying or self._file is None:
            return False
        start = self._file.tell()
        header = self._file.read(_HEADER.size)
        if len(header) == _HEADER.size:
            checksum, n, evaluations, seconds = _HEADER.unpack(header)
            if n == out.size and evaluations == self._counts.total:
                data = self._file.read(8 * n)
                if len(data) == 8 * n and zlib.crc32(data) == checksum:
                    out[...] = np.frombuffer(data).reshape(out.shape)
                    self._clock.show(seconds)
                    self.n_read += 1
                    return True
        self._end_replay(start)
        return False

    def _end_replay(self, offset: int) -> None:
        assert self._file is not None
        self._file.seek(offset)
        self._file.truncate()
        self._is_replaying = False
        self._clock.show(None)

    def append(self, block: Floats) -> None:
        """Append a block; where that fails the log ends and the search goes on."""
        if self._is_frozen or self._file is None:
            return
        data = np.ascontiguousarray(block, dtype=np.float64).tobytes()
        header = _HEADER.pack(zlib.crc32(data), block.size, self._counts.total, self._clock.seconds)
        start = self._file.tell()
        if start + len(header) + len(data) > _MOST_BYTES:
            self._is_frozen = True
            return
        try:
            _write(self._file, header + data)
            if perf_counter() - self._synced >= self._seconds:
                os.fsync(self._file.fileno())
                self._synced = perf_counter()
        except OSError as error:
            self.trouble = error.strerror or type(error).__name__
            self._is_frozen = True
            self._file.truncate(start)

    def freeze(self) -> None:
        """Append nothing from now on: what comes next is not what an uninterrupted run computes."""
        self._is_frozen = True
        self._clock.show(None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _write(file: FileIO, data: bytes) -> None:
    """Write all bytes: on a full disk a part may be written without an error."""
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]
