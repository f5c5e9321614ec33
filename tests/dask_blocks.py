"""Chunks of Dask arrays that misbehave inside a task, for workers that import this module."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np


class Block:
    """Rows that a task reads by ``np.asarray``: so something can happen while our task runs.

    ``folder`` counts the readings of a part, whichever process makes them.
    """

    def __init__(self, rows: Any, number: int, folder: Path) -> None:
        self.rows = rows
        self.number = number
        self.folder = folder

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.rows, dtype=dtype)

    def reading(self) -> int:
        """Return how often this part was read before, and count this time."""
        n = 0
        while True:
            try:
                (self.folder / f"{self.number}-{n}").touch(exist_ok=False)
            except FileExistsError:
                n += 1
            else:
                return n


class KillsOnce(Block):
    """Kills its worker in the given reading, once; the file ``died`` has the process."""

    part, at = 3, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.number == self.part and self.reading() == self.at:
            (self.folder / "died").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__array__(dtype)


class KillsInPass(KillsOnce):
    """Kills its worker in the first pass after the sample."""

    at = 1


class KillsAlways(Block):
    """Kills every worker that reads part 3."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__array__(dtype)


class Changes(Block):
    """Has other rows when part 3 is read again."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        rows = super().__array__(dtype)
        return rows + (self.reading() if self.number == 3 else 0)


class FailsLater(Block):
    """Raises when part 3 is read for the third time, until the file ``mended`` exists."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        is_due = self.number == 3 and self.reading() >= 2
        if is_due and not (self.folder / "mended").exists():
            raise OSError("the disk is gone")
        return super().__array__(dtype)


class Waits(Block):
    """Waits until the file ``go`` exists; ``waiting`` says that it does."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        (self.folder / "waiting").touch()
        for _ in range(200):
            if (self.folder / "go").exists():
                break
            time.sleep(0.05)
        return super().__array__(dtype)


class Large(Block):
    """Needs much more memory than its rows have."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.number == 3:
            held = []
            for _ in range(100):
                held.append(np.ones(10_000_000 // 8))
                time.sleep(0.02)
        return super().__array__(dtype)


def array_of(kind: type[Block], rows: Any, n_parts: int, folder: Path) -> Any:
    """Return a Dask array whose chunks are blocks of a kind."""
    pieces = np.array_split(rows, n_parts)
    make = dask.delayed(kind, pure=True)
    chunks = [
        da.from_delayed(make(piece, number, folder), piece.shape, piece.dtype)
        for number, piece in enumerate(pieces)
    ]
    return da.concatenate(chunks)
