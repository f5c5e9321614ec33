"""Files are written whole or not at all, and never over what is there unless that is wanted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from protobandit.foundation.errors import InvalidInput, ProtobanditError

SELECTION = "selection.json"
REPORT = "report.html"
TABLES = ("prototypes", "criticisms")
RESULTS = (SELECTION, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet")), REPORT)


def never(path: Path) -> bool:
    """Tell that no file may be replaced unasked."""
    return False


# -- one file -------------------------------------------------------------------------------------


def destination(path: Path, *, force: bool, is_replaceable: Callable[[Path], bool] = never) -> Path:
    """Return where a file of this name may be written, links resolved, or refuse."""
    target, shown = Path(os.path.realpath(path)), repr(str(path))
    if not target.parent.is_dir():
        raise InvalidInput(f"{shown} lies in no existing folder. Create it, or pass another --out.")
    if not target.exists():
        return target
    if not target.is_file():
        raise InvalidInput(f"{shown} is not a regular file. Pass --out with the name of one.")
    if not (force or is_replaceable(target)):
        raise InvalidInput(f"{shown} exists. Pass --force to replace it, or another --out.")
    return target


def is_device(path: Path) -> bool:
    """Tell whether a path is written to as it stands: a pipe, a terminal, ``/dev/null``."""
    return path.is_fifo() or path.is_char_device()


def require_new(path: Path, *, force: bool) -> None:
    """Refuse, before any work, a file that could not be written after it."""
    if not is_device(path):
        target = destination(path, force=force)
        _require_writable(target.parent, path)


@contextmanager
def written(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file that takes its name once all is written, or a device, which has its own."""
    if is_device(path):
        with explained(path), path.open("wb", buffering=0) as file:
            yield file
    else:
        with whole(destination(path, force=force), shown=path) as file:
            yield file


@contextmanager
def whole(path: Path, *, shown: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a file that takes its name once all is written; a failure leaves nothing behind.

    ``shown`` is what it is called in a sentence, if that is another name.
    """
    part = path.with_name(_part())
    try:
        with explained(shown or path):
            with part.open("xb") as file:
                yield file
            os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink()


def write_whole(path: Path, content: bytes, *, shown: Path | None = None) -> None:
    """Write all of ``content`` or nothing."""
    with whole(path, shown=shown) as file:
        file.write(content)


# -- a folder of results --------------------------------------------------------------------------


def require_free(folder: Path, *, force: bool) -> Path:
    """Return the folder for a result, links resolved; refuse where one cannot or may not be put."""
    target, shown = Path(os.path.realpath(folder)), repr(str(folder))
    if not target.exists():
        if not target.parent.is_dir():
            raise InvalidInput(
                f"{shown} lies in no existing folder. Create it, or pass another --out."
            )
        _require_writable(target.parent, folder)
        return target
    if not target.is_dir():
        raise InvalidInput(
            f"{shown} is not a folder. Pass --out with the name of one, or a new one."
        )
    there = [name for name in RESULTS if (target / name).exists()]
    if there and not force:
        raise InvalidInput(
            f"{shown} holds {' and '.join(there)} already. Pass --force to replace the result, or "
            f"another --out."
        )
    _require_writable(target, folder)
    return target


def write_results(folder: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write all files of a result or none; what an earlier result leaves over is removed."""
    target = require_free(folder, force=force)
    if target.exists():
        _replace(target, files, folder)
        return
    stage = target.with_name(_part())
    try:
        with explained(folder):
            stage.mkdir()
            for name, content in files.items():
                (stage / name).write_bytes(content)
            stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace(target: Path, files: Mapping[str, bytes], shown: Path) -> None:
    parts = {name: target / _part() for name in sorted(files, key=SELECTION.__eq__)}
    try:
        with explained(shown):
            for name, part in parts.items():
                part.write_bytes(files[name])
            for name, part in parts.items():
                os.replace(part, target / name)
            for name in set(RESULTS) - set(files):
                (target / name).unlink(missing_ok=True)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()


def _require_writable(folder: Path, shown: Path) -> None:
    probe = folder / _part()
    with explained(shown):
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise an error of the system as one that names the path."""
    try:
        yield
    except OSError as error:
        raise ProtobanditError(
            f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was written."
        ) from None


def _part() -> str:
    return f".protobandit-{token_hex(8)}.part"
