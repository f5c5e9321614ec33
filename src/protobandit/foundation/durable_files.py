"""Files that are written completely or not at all, and that survive a crash of the machine.

A file is written under a random name that no other file has, synchronised with the disk, and
renamed. Then its folder is synchronised, which makes the name durable. A link at the final
component of a path is never followed: whoever can guess the name could lead the write elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

PRIVATE = 0o600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # to open a pipe would wait for its other end
_BINARY = getattr(os, "O_BINARY", 0)
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP}


class NotSynced(OSError):
    """The file has its name, but the folder could not be synchronised with the disk."""


def open_new(path: Path, permissions: int = 0o666) -> IO[bytes]:
    """Create a file and open it for writing; raise FileExistsError if there is one, or a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY
    return os.fdopen(os.open(path, flags, permissions), "wb")


def open_regular(path: Path, *, is_writable: bool = False) -> int:
    """Return the descriptor of an existing regular file; raise OSError for a link or a device."""
    flags = (os.O_RDWR if is_writable else os.O_RDONLY) | _NO_LINK | _NO_WAIT | _BINARY
    try:
        number = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "It is a symbolic link", str(path)) from None
        raise
    kind = os.fstat(number).st_mode
    if not stat.S_ISREG(kind):
        os.close(number)
        raise OSError(
            errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL,
            "Is a directory" if stat.S_ISDIR(kind) else "It is not a regular file",
            str(path),
        )
    return number


def sync(file: IO[bytes]) -> None:
    """Write everything to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system supports it."""
    if os.name != "posix":
        return
    try:
        number = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not read
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(number)


def sync_names(folder: Path) -> None:
    """Write names that files got just now to the disk; raise `NotSynced` if that fails."""
    try:
        sync_folder(folder)
    except OSError as error:
        raise NotSynced(error.errno, error.strerror, str(folder)) from None


def part_name(name: str = "protobandit") -> str:
    """Return a random name for a file that is not complete."""
    return f".{name}-{token_hex(8)}.part"


@contextmanager
def replacing(
    path: Path, *, permissions: int = 0o666, name: str = "protobandit"
) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` once it is complete; a failure leaves nothing behind.

    `NotSynced` is raised if the file is in place but might be lost in a crash.
    """
    part = path.with_name(part_name(name))
    try:
        with open_new(part, permissions) as file:
            yield file
            sync(file)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    sync_names(path.parent)
