"""The log of the blocks that an expensive metric has returned, in the order of the calls.

Theory of operation
-------------------
A record is a header and the block as float64. The header holds a checksum of all that follows, the
shape of the block, the number of evaluations counted so far and the seconds of the run.

A resumed run starts in replay mode and reads the records in order; meanwhile its clock shows the
seconds of the last record. The replay ends with the last record. A record that is damaged, cut
short, or that does not belong to the current call of the metric ends it too: the file is cut before
this record. From then on blocks are computed and appended.

The file is synchronised with the disk from time to time and at the end. If that fails, it is not
known which of the records since the last time are on the disk: these are cut off, and the log ends.

After a stop that another run need not repeat (time, interruption, callback), a search computes
blocks that an uninterrupted run would not compute, for instance to judge its result. From the stop
on the log is frozen: nothing is read, cut or appended, so that a later run finds the records of the
uninterrupted run and nothing else.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from io import FileIO
from pathlib import Path
from time import perf_counter

import numpy as np

from protobandit.foundation.array_types import Floats
from protobandit.foundation.durable_files import PRIVATE, open_regular, replacing
from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.counts import Counts
from protobandit.search.control import Clock

_MAGIC = b"protobandit evaluations\n"
_CHECKSUM = struct.Struct("<I")
_FIELDS = struct.Struct("<QQQd")  # rows, values, evaluations so far, seconds
_HEADER_BYTES = _CHECKSUM.size + _FIELDS.size
_DTYPE = np.dtype("<f8")
_MOST_BYTES = 2 << 30


class EvaluationLog:
    """A log of evaluations; the `BlockLog` of an oracle.

    Parameters
    ----------
    path
        The file.
    token
        The text by which a log and its checkpoint recognise each other.
    seconds
        Minimum time between two synchronisations with the disk.
    """

    def __init__(self, path: Path, token: str, seconds: float) -> None:
        self._path = path
        self._head = _MAGIC + token.encode() + b"\n"
        self._seconds = seconds
        self._file: FileIO | None = None
        self._n_bytes = 0  # of the file when it was opened
        self._counts = Counts()
        self._clock = Clock()
        self._is_replaying = False
        self._is_frozen = False
        self._synced = perf_counter()
        self._n_synced = 0  # bytes
        self.n_read = 0
        self.trouble = ""

    def can_be_replayed(self) -> bool:
        """Return whether the file is the log of its checkpoint; raise if it is not a log."""
        try:
            with os.fdopen(open_regular(self._path), "rb") as file:
                head = file.read(len(self._head))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._unusable(error) from None
        if head and not head.startswith(_MAGIC):
            raise InvalidInput(
                f"checkpoint: {str(self._path)!r}, the file for evaluations, exists and was not "
                f"made by a checkpoint. Move it, or pass another path."
            )
        return head == self._head

    def open(self) -> None:
        """Open the file: for a replay if it belongs to the checkpoint, else as an empty log."""
        self._is_replaying = self.can_be_replayed()
        try:
            if not self._is_replaying:
                with replacing(self._path, permissions=PRIVATE) as file:
                    file.write(self._head)
            number = open_regular(self._path, is_writable=True)
            self._file = os.fdopen(number, "r+b", buffering=0)
            self._n_bytes = self._n_synced = self._file.seek(0, os.SEEK_END)
            self._file.seek(len(self._head))
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            f"checkpoint: {str(self._path)!r}, the file for evaluations, cannot be used: "
            f"{error.strerror or error}. Move it, or pass another path."
        )

    def attach(self, counts: Counts, clock: Clock) -> None:
        """Set the counts to compare with and the clock of the search that uses the log next."""
        self._counts, self._clock = counts, clock

    def read(self, out: Floats) -> bool:
        """Fill ``out`` with the next block of the log; return False if there is none."""
        if not self._is_replaying or self._file is None:
            return False
        start = self._file.tell()
        seconds = self._fill(self._file, out)
        if seconds is None:
            self._file.seek(start)
            self._file.truncate()
            self._end_replay()
            return False
        self._clock.show(seconds)
        self.n_read += 1
        if self._file.tell() == self._n_bytes:
            # Not at the next call: until then the clock would stand still.
            self._end_replay()
        return True

    def _end_replay(self) -> None:
        self._is_replaying = False
        self._clock.resume()

    def _fill(self, file: FileIO, out: Floats) -> float | None:
        """Fill ``out`` with the next record; return its seconds, or None if it does not fit."""
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return None
        (checksum,) = _CHECKSUM.unpack_from(header)
        fields = header[_CHECKSUM.size :]
        n_rows, n_values, evaluations, seconds = _FIELDS.unpack(fields)
        if (n_rows, n_values, evaluations) != (len(out), out.size, self._counts.total):
            return None
        n_bytes = _DTYPE.itemsize * n_values
        data = file.read(n_bytes)
        if len(data) < n_bytes or zlib.crc32(data, zlib.crc32(fields)) != checksum:
            return None
        out[...] = np.frombuffer(data, dtype=_DTYPE).reshape(out.shape)
        return float(seconds)

    def append(self, block: Floats) -> None:
        """Append a block; if that fails, the log ends here and the search continues."""
        if self._is_frozen or self._file is None:
            return
        data = np.ascontiguousarray(block, dtype=_DTYPE).tobytes()
        fields = _FIELDS.pack(len(block), block.size, self._counts.total, self._clock.seconds)
        record = _CHECKSUM.pack(zlib.crc32(data, zlib.crc32(fields))) + fields + data
        start = self._file.tell()
        if start + len(record) > _MOST_BYTES:
            self._is_frozen = True
            return
        try:
            _write(self._file, record)
        except OSError as error:
            self._end(self._file, error, start)
        else:
            if perf_counter() - self._synced >= self._seconds:
                self._sync(self._file)

    def _sync(self, file: FileIO) -> None:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            self._end(file, error, min(self._n_synced, file.tell()))
        else:
            self._synced, self._n_synced = perf_counter(), file.tell()

    def _end(self, file: FileIO, error: OSError, n_bytes: int) -> None:
        """End the log after this many bytes."""
        self.trouble = error.strerror or type(error).__name__
        self._is_frozen = True
        with suppress(OSError):
            file.seek(n_bytes)
            file.truncate()

    def freeze(self) -> None:
        """Leave the file as it is from now on; see the theory of operation."""
        self._is_frozen = True
        self._end_replay()

    def close(self) -> None:
        """Synchronise the file with the disk and close it."""
        if self._file is not None:
            if self._file.tell() > self._n_synced:
                self._sync(self._file)
            self._file.close()
            self._file = None


def _write(file: FileIO, data: bytes) -> None:
    """Write all bytes: on a full disk a part may be written without an error."""
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]
