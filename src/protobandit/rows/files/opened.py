"""`ReadRequest` and `Opened`: what `open_rows` is asked for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.column_choice import FILE, OptionNames
from protobandit.rows.columns import are_names, require_known
from protobandit.rows.memory_maps import rows_at


def ignore(message: str) -> None:
    """Do nothing with a message."""


@dataclass(frozen=True, kw_only=True)
class ReadRequest:
    """The checked options of `open_rows`; ``shown`` is the path in messages.

    ``like`` are the feature columns of other rows: if all of these exist, the other columns are
    left out for the reason ``others``. ``without`` and ``perhaps`` map columns to what they are
    used for. ``options`` are the names of options in messages. ``as_categories`` are columns that
    are categories whatever they hold. ``partitions`` are columns that the names of folders hold,
    one value per file. ``copies`` are the remote files by their local copies. ``in_parts`` is
    whether tasks read the rows.
    """

    shown: str
    name: str = "source"
    columns: tuple[str, ...] | None = None
    like: tuple[str, ...] | None = None
    others: str = ""
    exclude: tuple[str, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    perhaps: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    options: OptionNames = FILE
    texts: tuple[str, ...] = ()
    as_categories: tuple[str, ...] = ()
    partitions: Mapping[str, Any] = field(default_factory=dict)
    copies: Mapping[Path, Any] = field(default_factory=dict)
    categories: bool = False
    obsm: str | None = None
    image_size: tuple[int, int] | None = None
    is_colour: bool = False
    sample: int | None = None
    assume_shuffled: bool = False
    cache: Path | None = None
    seed: int = 0
    in_parts: bool = False
    tell: Callable[[str], None] = ignore

    def naming_originals(self, message: str) -> str:
        """Return a message in which remote files have their own names."""
        for local, file in self.copies.items():
            message = message.replace(str(local), str(file))
        return message

    def shown_file(self, path: Path) -> str:
        """Return the name of a file for the user: a copy has that of its original."""
        return str(self.copies.get(path, path))


class OtherColumns(Protocol):
    """Columns of files that are not features, and the original values of rows."""

    def column(self, name: str) -> np.ndarray[Any, Any]: ...

    def records(self, ids: Ids) -> dict[str, list[Any]]: ...


@dataclass(frozen=True)
class ColumnsInMemory:
    """Columns that are held in memory; ``shown`` are those that `records` returns, None for all."""

    values: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    shown: tuple[str, ...] | None = None

    def column(self, name: str) -> np.ndarray[Any, Any]:
        return self.values[name]

    def records(self, ids: Ids) -> dict[str, list[Any]]:
        shown = tuple(self.values) if self.shown is None else self.shown
        return {name: self.values[name][ids].tolist() for name in shown}


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """Rows from files, with the other columns of the files.

    Attributes
    ----------
    path
        The path as given; several paths joined by ", ".
    format
        npy, npz, csr, csv, tsv, parquet, arrow, jsonl, images, text, frame,
        anndata or xarray.
    rows
        Rows that `select` accepts: an array, a memory map, several memory maps as one, a CSR
        matrix, a list of texts, or `Columns`.
    kind
        "numbers", "images", "texts", or "mixed" for `Columns`.
    features
        Names of the feature columns; empty for texts. For a sparse matrix, the
        positions of its first 65,536 columns at most.
    image_shape
        (height, width) or (height, width, 3) of images, else None.
    n_total
        Number of rows in the files; more than ``len`` if the rows are a sample.
    columns, left_out
        The compared columns of a table, and the reason for each column that is not compared. A
        column of vectors is one column with several features.
    remark
        A sentence for the status, or "".
    names
        All columns that `column` accepts.
    other_columns
        Reads the columns for `column` and `records`.
    numbers
        For a sample or with ``where``, the number in the files of each row; else None.
    options
        What messages call the options with which it was opened.
    """

    path: str
    format: str
    rows: Any
    kind: str
    features: tuple[str, ...]
    n_total: int
    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    image_shape: tuple[int, ...] | None = None
    remark: str = ""
    other_columns: OtherColumns = field(default_factory=ColumnsInMemory, repr=False)
    numbers: Ids | None = field(default=None, repr=False)
    options: OptionNames = field(default=FILE, repr=False)

    @property
    def has_names(self) -> bool:
        """Return whether features have names and not only positions."""
        return are_names(self.features)

    def __len__(self) -> int:
        shape = getattr(self.rows, "shape", None)
        return len(self.rows) if shape is None else int(shape[0])

    def file_rows(self, rows: Ids) -> Ids:
        """Return the numbers in the files of some rows."""
        return rows if self.numbers is None else self.numbers[rows]

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return a column with one value per row: weights, ids, labels or groups."""
        require_known(self.names, (name,), self.path)
        return self.other_columns.column(name)

    def records(self, ids: Any) -> dict[str, list[Any]]:
        """Return the original columns of some rows as plain values, without vectors."""
        return self.other_columns.records(np.asarray(ids, dtype=np.int64))

    def images(self, ids: Any) -> np.ndarray[Any, Any]:
        """Return some rows as images: uint8 of shape (n, height, width[, 3]).

        Pixels that are not bytes are scaled to be shown: the lowest value is black, the highest
        one white.
        """
        if self.image_shape is None:
            raise InvalidInput(f"{self.path} holds {self.kind}, not images. Pass images.")
        pixels = np.asarray(rows_at(self.rows, np.asarray(ids, dtype=np.int64)))
        return _as_bytes(pixels).reshape(len(pixels), *self.image_shape)


def _as_bytes(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return pixels to be shown: bytes, or else values from the lowest one to the highest one."""
    if pixels.dtype == np.uint8 or not pixels.size:
        return pixels.astype(np.uint8, copy=False)
    values = pixels.astype(np.float64)
    values -= values.min()
    highest = values.max()
    return np.asarray(values * (255 / highest if highest > 0 else 0), dtype=np.uint8)
