"""The table of file formats: names, suffixes and descriptions.

`protobandit.rows.files.opening` adds the reader of each format. This file imports no library, so
that the command line can show the formats in its help without loading NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True)
class FileFormat:
    """A format of files with rows; ``description`` is for help texts.

    ``name`` is the value of `Opened.format`. A sparse matrix in an ``.npz`` file has the format
    "csr". ``suffixes`` are in lower case; the usual one comes first. ``is_table`` is whether a file
    holds named columns that are read by pyarrow. ``is_read_in_parts`` is whether columns can be
    read without the rest of the file. If ``may_be_compressed``, a suffix of `COMPRESSIONS` may
    follow.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    is_table: bool = False
    is_read_in_parts: bool = False
    may_be_compressed: bool = False


IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
# Suffixes of compressed files, and the names of their formats in pyarrow; Python reads ".xz".
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": ""}
_PARQUET = {"is_table": True, "is_read_in_parts": True}
_TEXT_TABLE = {"is_table": True, "may_be_compressed": True}

FORMATS = (
    FileFormat("npy", (".npy",), "a NumPy array"),
    FileFormat("npz", (".npz",), "several NumPy arrays, or a SciPy sparse matrix"),
    FileFormat("csv", (".csv",), "columns separated by commas", **_TEXT_TABLE),
    FileFormat("tsv", (".tsv", ".tab"), "columns separated by tabs", **_TEXT_TABLE),
    FileFormat("jsonl", (".jsonl", ".ndjson"), "one JSON object per line", **_TEXT_TABLE),
    FileFormat("parquet", (".parquet", ".pq"), "a Parquet table", **_PARQUET),
    FileFormat("arrow", (".arrow", ".feather", ".ipc"), "an Arrow table", is_table=True),
    FileFormat("text", (".txt",), "one text per line"),
    FileFormat("images", IMAGES, "images, one row each"),
)
BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
TABLE_FORMATS = frozenset(each.name for each in FORMATS if each.is_table)


def format_of(file: Any) -> FileFormat | None:
    """Return the format that the suffix of a file's ``name`` stands for, or None."""
    name = PurePath(file.name.lower())
    if name.suffix not in COMPRESSIONS:
        return BY_SUFFIX.get(name.suffix)
    found = BY_SUFFIX.get(PurePath(name.stem).suffix)
    return found if found is not None and found.may_be_compressed else None


def listed_suffixes() -> str:
    """Return the suffixes of all formats in one line, for help texts and errors."""
    files = [suffix for suffix, each in BY_SUFFIX.items() if each.name != "images"]
    return f"{', '.join(files)}, images ({', '.join(IMAGES[:2])}, ...)"
