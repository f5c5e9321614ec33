"""Atomic writes: a file or folder is written completely or not at all.

Nothing that exists is replaced unless the caller allows it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from protobandit.foundation.errors import InvalidInput, ProtobanditError

_UMASK = os.umask(0o077)  # the only way to read it is to set it
os.umask(_UMASK)

SELECTION = "selection.json"
REPORT = "report.html"
TABLES = ("prototypes", "criticisms")
RESULTS = (SELECTION, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet")), REPORT)


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
    part = path.with_name(_part_name())
    try:
        with clear_errors(shown or path):
            with _create(part) as file:
                yield file
            _publish(part)
            os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink()


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
    stage = target.with_name(_part_name())
    try:
        with clear_errors(folder):
            stage.mkdir(mode=0o700)
            for name, content in files.items():
                (stage / name).write_bytes(content)
            _publish(stage)
            stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace_results(target: Path, files: Mapping[str, bytes], shown: Path) -> None:
    # selection.json comes last: it is the file that other commands read.
    parts = {name: target / _part_name() for name in sorted(files, key=SELECTION.__eq__)}
    try:
        with clear_errors(shown):
            for name, part in parts.items():
                _create(part).close()
                part.write_bytes(files[name])
            for name, part in parts.items():
                _publish(part)
                os.replace(part, target / name)
            for name in set(RESULTS) - set(files):
                (target / name).unlink(missing_ok=True)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()


def _require_writable(folder: Path, shown: Path) -> None:
    probe = folder / _part_name()
    with clear_errors(shown):
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Raise errors of the operating system as `ProtobanditError` that names the path."""
    try:
        yield
    except OSError as error:
        raise ProtobanditError(
            f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was written."
        ) from None


def _create(part: Path) -> IO[bytes]:
    """Open a new file that nobody else may read until it is complete."""
    part.touch(mode=0o600, exist_ok=False)
    return part.open("wb")


def _publish(path: Path) -> None:
    """Give a complete file or folder the permissions that new ones have."""
    os.chmod(path, (0o777 if path.is_dir() else 0o666) & ~_UMASK)


def _part_name() -> str:
    return f".protobandit-{token_hex(8)}.part"
