"""Standard input as a file: it is copied, and its first bytes show its format."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.text_tables import text_stream

STANDARD_INPUT = "-"
_START = 1 << 16  # bytes
_BINARY = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # a stream
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".zip",
}
_COMPRESSED = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\xfd7zXZ": ".xz",
}


def copy_of_standard_input(name: str) -> Path:
    """Return a file with the bytes of standard input, and the suffix of their format.

    The formats are those of `protobandit.data.open_rows`, except images and one text per line. The
    file is removed when the process ends.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidInput(
            f"{name}: standard input is a terminal. Pass a file, or rows such as `cat rows.csv | "
            f"protobandit select - -k 10`."
        )
    folder = Path(tempfile.mkdtemp(prefix="protobandit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "standard-input"
    with reading(path, name=name, as_what="rows"):
        _copy(sys.stdin.buffer, path)
        if path.stat().st_size == 0:
            raise InvalidInput(f"{name}: standard input is empty. Pass rows.")
        return path.rename(path.with_name(path.name + _suffix(path)))


def _copy(stream: IO[bytes], path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file, _START)


def _suffix(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(_START)
    for first, suffix in _BINARY.items():
        if start.startswith(first):
            return _archive_suffix(path) if suffix == ".zip" else suffix
    for first, suffix in _COMPRESSED.items():
        if start.startswith(first):
            with text_stream(path, suffix) as file:
                return _text_suffix(bytes(file.read(_START))) + suffix
    return _text_suffix(start)


def _archive_suffix(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        is_npz = all(name.endswith(".npy") for name in archive.namelist())
    return ".npz" if is_npz else ".zip"


def _text_suffix(start: bytes) -> str:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return ".jsonl"
    line = text.split(b"\n", 1)[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"
