"""What `open_rows` was asked for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files.file_errors import like, shortened
from protobandit.rows.memory_maps import gather, is_mapped


def _tell_nobody(sentence: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class ReadRequest:
    """What `open_rows` was asked for; see there."""

    shown: str
    name: str = "source"
    columns: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    categories: bool = False
    image_size: tuple[int, int] | None = None
    is_colour: bool = False
    sample: int | None = None
    assume_shuffled: bool = False
    cache: Path | None = None
    seed: int = 0
    tell: Callable[[str], None] = _tell_nobody


class OtherColumns(Protocol):
    """What files say of their rows besides the features."""

    def column(self, name: str) -> np.ndarray[Any, Any]: ...

    def records(self, ids: Ids) -> dict[str, list[Any]]: ...


@dataclass(frozen=True)
class Listed:
    """Columns that are held in memory; ``shown`` are those that records hold."""

    values: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    shown: tuple[str, ...] | None = None

    def column(self, name: str) -> np.ndarray[Any, Any]:
        return self.values[name]

    def records(self, ids: Ids) -> dict[str, list[Any]]:
        shown = tuple(self.values) if self.shown is None else self.shown
        return {name: self.values[name][ids].tolist() for name in shown}


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """Rows from files, with what else the files say of them.

    Attributes
    ----------
    path
        As it was given; several joined by ", ".
    format
        npy, npz, csr, csv, tsv, parquet, arrow, jsonl, images or text.
    rows
        What `select` takes: an array, a memory map, several of them as one, a CSR matrix, a list of
        texts, or `Columns`.
    kind
        "numbers", "images", "texts", or "mixed" for `Columns`.
    features
        The names of the feature columns; none for texts.
    image_shape
        (height, width) or (height, width, 3) of images.
    n_total
        How many rows the files hold; more than ``len`` where the rows are a sample.
    remark
        A sentence the status should carry, or "".
    names
        All columns that can be asked for by name.
    numbers
        Of a sample, the number in the files of each of its rows; else None.
    """

    path: str
    format: str
    rows: Any
    kind: str
    features: tuple[str, ...]
    n_total: int
    names: tuple[str, ...] = ()
    image_shape: tuple[int, ...] | None = None
    remark: str = ""
    besides: OtherColumns = field(default_factory=Listed, repr=False)
    numbers: Ids | None = field(default=None, repr=False)

    @property
    def has_names(self) -> bool:
        """Tell whether features have names, not only places."""
        return are_names(self.features)

    def __len__(self) -> int:
        shape = getattr(self.rows, "shape", None)
        return len(self.rows) if shape is None else int(shape[0])

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one value a row: weights, ids, labels or groups."""
        require_known(self.names, (name,), self.path)
        return self.besides.column(name)

    def records(self, ids: Any) -> dict[str, list[Any]]:
        """Return the original columns of these rows, vectors left out, as plain values."""
        return self.besides.records(np.asarray(ids, dtype=np.int64))

    def images(self, ids: Any) -> np.ndarray[Any, Any]:
        """Return these rows as pictures, uint8 of shape (n, height, width[, 3])."""
        if self.image_shape is None:
            raise InvalidInput(f"{self.path} holds {self.kind}, not images. Pass images.")
        where = np.asarray(ids, dtype=np.int64)
        found = gather(self.rows, where) if is_mapped(self.rows) else self.rows[where]
        return np.asarray(found, dtype=np.uint8).reshape(len(where), *self.image_shape)


def are_names(columns: Sequence[str]) -> bool:
    """Tell whether columns have names of their own, which tell more than their places do."""
    return len(set(columns)) == len(columns) and list(columns) != [
        str(at) for at in range(len(columns))
    ]


def require_known(names: tuple[str, ...], wanted: tuple[str, ...], shown: str) -> None:
    """Refuse names of columns that are not there, with those like them."""
    for name in wanted:
        if name not in names:
            known = f"It has {shortened(map(repr, names))}" if names else "It has no named columns"
            raise InvalidInput(f"{shown} has no column {name!r}.{like(name, names)} {known}.")
