"""Results on disk: a file or folder is written completely or not at all.

Nothing that exists is replaced unless the caller allows it. When a function here returns, the files
and their names are on the disk (`foundation.durable_files`), so that what they replace, such as a
checkpoint, may be removed.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from protobandit.foundation.durable_files import (
    NotSynced,
    open_new,
    part_name,
    replacing,
    sync,
    sync_folder,
    sync_names,
)
from protobandit.foundation.errors import InvalidInput, ProtobanditError

SELECTION = "selection.json"
REPORT = "report.html"
TABLES = ("prototypes", "criticisms")
RESULTS = (SELECTION, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet")), REPORT)
_FULL = {errno.ENOSPC, errno.EDQUOT}


class DiskFull(ProtobanditError):
    """A file could not be written because the disk, or the user's share of it, is full."""


# -- one file -------------------------------------------------------------------------------------


def destination(
    path: Path, *, force: bool, is_replaceable: Callable[[Path], bool] | None = None
) -> Path:
    """Return the path to write to, links resolved; raise if it may not be written.

    ``is_replaceable`` returns whether an existing file may be replaced without ``force``; None
    means that no file may be.
    """
    target, shown = Path(os.path.realpath(path)), repr(str(path))
    if not target.parent.is_dir():
        raise InvalidInput(
            f"The folder of {shown} does not exist. Create it, or pass another --out."
        )
    if not target.exists():
        return target
    if not target.is_file():
        raise InvalidInput(f"{shown} is not a regular file. Pass --out with the name of a file.")
    if not force and (is_replaceable is None or not is_replaceable(target)):
        raise InvalidInput(f"{shown} exists. Pass --force to replace it, or another --out.")
    return target


def is_device(path: Path) -> bool:
    """Return whether a path is written in place: a pipe, a terminal, ``/dev/null``."""
    return path.is_fifo() or path.is_char_device()


def require_writable_file(path: Path, *, force: bool) -> None:
    """Raise if the file cannot be written; called before the work that makes its content."""
    if not is_device(path):
        target = destination(path, force=force)
        _require_writable(target.parent, path)


@contextmanager
def open_for_writing(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once it is complete; a device is written in place."""
    if is_device(path):
        with clear_errors(path), path.open("wb", buffering=0) as file:
            yield file
    else:
        with open_atomically(destination(path, force=force), shown=path) as file:
            yield file


@contextmanager
def open_atomically(path: Path, *, shown: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once it is complete; a failure leaves nothing behind.

    ``shown`` is the path in error messages, if that is another path.
    """
    with clear_errors(shown or path), replacing(path) as file:
        yield file


def write_atomically(path: Path, content: bytes, *, shown: Path | None = None) -> None:
    """Write all of ``content`` or nothing."""
    with open_atomically(path, shown=shown) as file:
        file.write(content)


# -- a folder of results --------------------------------------------------------------------------


def require_writable_folder(folder: Path, *, force: bool) -> Path:
    """Return the folder for a result, links resolved; raise if it may not be written."""
    target, shown = Path(os.path.realpath(folder)), repr(str(folder))
    if not target.exists():
        if not target.parent.is_dir():
            raise InvalidInput(
                f"The folder of {shown} does not exist. Create it, or pass another --out."
            )
        _require_writable(target.parent, folder)
        return target
    if not target.is_dir():
        raise InvalidInput(f"{shown} is not a folder. Pass --out with the name of a folder.")
    existing = [name for name in RESULTS if (target / name).exists()]
    if existing and not force:
        raise InvalidInput(
            f"{shown} already holds {' and '.join(existing)}. Pass --force to replace the result, "
            f"or another --out."
        )
    _require_writable(target, folder)
    return target


def write_results(folder: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write all files of a result or none; files that only an earlier result had are removed."""
    target = require_writable_folder(folder, force=force)
    if target.exists():
        _replace_results(target, files, folder)
        return
    stage = target.with_name(part_name())
    try:
        with clear_errors(folder):
            stage.mkdir()
            for name, content in files.items():
                _write(stage / name, content)
            sync_folder(stage)
            os.rename(stage, target)
            sync_names(target.parent)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace_results(target: Path, files: Mapping[str, bytes], shown: Path) -> None:
    # selection.json comes last: it is the file that other commands read.
    parts = {name: target / part_name() for name in sorted(files, key=SELECTION.__eq__)}
    try:
        with clear_errors(shown):
            for name, part in parts.items():
                _write(part, files[name])
            for name in set(RESULTS) - set(files):
                (target / name).unlink(missing_ok=True)
            for name, part in parts.items():
                os.replace(part, target / name)
            sync_names(target)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()


def _write(path: Path, content: bytes) -> None:
    with open_new(path) as file:
        file.write(content)
        sync(file)


def _require_writable(folder: Path, shown: Path) -> None:
    probe = folder / part_name()
    with clear_errors(shown):
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Raise errors of the operating system as `ProtobanditError` that names the path."""
    try:
        yield
    except NotSynced as error:
        raise ProtobanditError(
            f"{str(path)!r} was written, but the disk reports an error: {error.strerror}. It may "
            f"be lost if the machine stops. Write it to another disk."
        ) from None
    except OSError as error:
        kind = DiskFull if error.errno in _FULL else ProtobanditError
        raise kind(
            f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was written."
        ) from None
