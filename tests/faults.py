"""Inject faults into file operations: errors, short writes and kills at the n-th operation.

Inside `injected` every operation that changes a file below a folder goes through a function here,
which counts it and lets it fail if its turn has come. These operations are:

- the functions of `os` in `CHANGES`; `READS` can be added;
- files from `open`, `io.open`, `os.fdopen` and `Path.open`, also through `zipfile` and `np.savez`:
  they are replaced by those of `_pyio`, which are written in Python and call the functions of `os`.

Stores to a memory map and libraries that write files in C (pyarrow, `ndarray.tofile`) are not seen.

Example: ``save`` must leave the old file or the new one, whatever fails::

    for fault in faults.each(folder, lambda: save(folder), faults.KINDS):
        with fault, contextlib.suppress(OSError):
            save(folder)
        assert load(folder) in (old, new), fault
"""

from __future__ import annotations

import _pyio
import builtins
import errno
import io
import os
import pathlib
import signal
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

# Operations that change files, by the number of leading arguments that name a file.
CHANGES = {
    "open": 1,  # to create or to write
    "write": 1,
    "pwrite": 1,
    "fsync": 1,
    "fdatasync": 1,
    "ftruncate": 1,
    "truncate": 1,
    "posix_fallocate": 1,
    "replace": 2,
    "rename": 2,
    "link": 2,
    "unlink": 1,
    "remove": 1,
    "mkdir": 1,
    "rmdir": 1,
    "utime": 1,
    "chmod": 1,
    "fchmod": 1,
}
READS = {"read": 1, "pread": 1, "preadv": 1, "readv": 1}
WRITES = frozenset({"write", "pwrite"})
SYNCS = frozenset({"fsync", "fdatasync"})
# What a full disk refuses; files can still be removed and renamed.
GROWTH = frozenset({"open", "write", "pwrite", "posix_fallocate", "mkdir"})

SHORT = "short"  # write half of the bytes and say so, which is not an error
KILL = "kill"  # kill the process after half of a write


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what happens, to which operations, and whether it goes on happening."""

    what: int | str  # an error number, SHORT or KILL
    only: Collection[str] = frozenset(CHANGES)
    is_lasting: bool = False

    def __str__(self) -> str:
        name = self.what if isinstance(self.what, str) else errno.errorcode[self.what]
        return f"{name}{' from then on' if self.is_lasting else ''}"


FULL_DISK = Kind(errno.ENOSPC, GROWTH, is_lasting=True)
BROKEN_DISK = Kind(errno.EIO)
FAILED_SYNC = Kind(errno.EIO, SYNCS)
SHORT_WRITE = Kind(SHORT, WRITES)
KINDS = (FULL_DISK, BROKEN_DISK, FAILED_SYNC, SHORT_WRITE)


@dataclass
class injected:  # noqa: N801  a context manager, used like a function
    """Let the ``at``-th operation below ``folder`` fail; ``calls`` lists the operations.

    Parameters
    ----------
    folder
        Operations on other files are neither counted nor changed.
    kind
        What happens. Only its operations are counted.
    at
        The number of the operation, from 1; None only lists the operations.
    """

    folder: Path
    kind: Kind = BROKEN_DISK
    at: int | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        last = self.calls[-1] if self.calls else "not reached"
        return f"{self.kind} at operation {self.at}; the last one was {last}"

    def __enter__(self) -> injected:
        self._root = os.path.realpath(self.folder)
        self._prefix = os.path.join(self._root, "")
        self._paths: dict[int, str] = {}  # of open files
        replaced = dict(self._replaced())
        self._patches = [
            mock.patch.multiple(os, **replaced),
            mock.patch.object(builtins, "open", _pyio.open),
            mock.patch.object(io, "open", _pyio.open),
        ]
        if hasattr(pathlib, "_NormalAccessor"):  # Python 3.10 has its own references
            accessor = pathlib._NormalAccessor
            own = {**replaced, "open": _pyio.open}.items()
            again = {name: staticmethod(new) for name, new in own if hasattr(accessor, name)}
            self._patches.append(mock.patch.multiple(accessor, **again))
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *error: object) -> None:
        for patch in reversed(self._patches):
            patch.stop()

    @property
    def is_reached(self) -> bool:
        """Return whether the fault has happened."""
        return self.at is not None and len(self.calls) >= self.at

    def _replaced(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name, n_names in {**CHANGES, **READS}.items():
            if hasattr(os, name) and name != "open":
                yield name, self._checked(name, n_names, getattr(os, name))
        yield "open", self._opening(os.open)
        yield "close", self._closing(os.close)

    def _opening(self, original: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR | os.O_TRUNC):
                self._count("open", (path,))
            found = original(path, flags, *rest, **named)
            self._paths[found] = self._path(path)
            return found

        return opened

    def _closing(self, original: Callable[[int], None]) -> Callable[[int], None]:
        def closed(fd: int) -> None:
            self._paths.pop(fd, None)
            original(fd)

        return closed

    def _checked(self, name: str, n_names: int, original: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*values: Any, **named: Any) -> Any:
            half = None
            if name in WRITES:
                data = bytes(values[1])
                cut = data[: (len(data) + 1) // 2]
                half = lambda: original(values[0], cut, *values[2:], **named)  # noqa: E731
            found = self._count(name, values[:n_names], half)
            return original(*values, **named) if found is None else found

        return checked

    def _count(
        self, name: str, places: tuple[Any, ...], half: Callable[[], int] | None = None
    ) -> int | None:
        """Count an operation; return what it returns if it is done already, else None."""
        paths = [self._path(place) for place in places]
        is_below = any(path == self._root or path.startswith(self._prefix) for path in paths)
        if not is_below or name not in self.kind.only:
            return None
        self.calls.append((name, " ".join(os.path.relpath(path, self._root) for path in paths)))
        n = len(self.calls)
        if self.at is None or n < self.at or (n > self.at and not self.kind.is_lasting):
            return None
        if half is not None and (n == self.at or self.kind.what == SHORT):
            done = half()  # a disk is full in the middle of a write
            if self.kind.what == SHORT:
                return done
        if self.kind.what == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        assert isinstance(self.kind.what, int)
        raise OSError(self.kind.what, os.strerror(self.kind.what), paths[0])

    def _path(self, place: Any) -> str:
        if isinstance(place, int):
            return self._paths.get(place, "")
        folder, name = os.path.split(os.fsdecode(place))
        return os.path.join(os.path.realpath(folder or "."), name)  # a link itself, not its target


def each(
    folder: Path, action: Callable[[], Any], kinds: Collection[Kind] = KINDS
) -> Iterator[injected]:
    """Yield one fault for every operation of ``action``, for each kind.

    ``action`` runs once per kind, without a fault, to count its operations. The caller runs it in
    each fault, in a folder like that of the first run, so that it performs the same operations.
    """
    for kind in kinds:
        with injected(folder, kind) as counted:
            action()
        for at in range(1, len(counted.calls) + 1):
            yield injected(folder, kind, at)
