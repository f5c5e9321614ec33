"""How files become rows, as a value that a result keeps: the same rows can be opened again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns, require_no_missing
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import open_rows

Tell = Callable[[str], None]

_TABLES = frozenset({"csv", "tsv", "jsonl", "parquet", "arrow"})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What to read of files.

    Attributes
    ----------
    columns
        Names or globs of the columns to compare rows by; none means all but those named below.
    id, label, weights, groups, by
        Columns that say something of a row, by which rows are never compared.
    has_categories
        Whether columns of texts are compared too.
    image_size, is_colour
        How images are read.
    sample, assume_shuffled, cache
        How many rows of a target in Parquet to keep, how they are drawn, and where they are kept.
    """

    columns: tuple[str, ...] = ()
    id: str | None = None
    label: str | None = None
    weights: str | None = None
    groups: str | None = None
    by: str | None = None
    has_categories: bool = False
    image_size: int | None = None
    is_colour: bool = False
    sample: int | None = None
    assume_shuffled: bool = False
    cache: str | None = None

    def source(self, paths: Sequence[str], *, is_target: bool, **options: Any) -> Opened:
        """Open the rows to choose from, all of them; ``is_target`` if they stand for themselves."""
        own = (self.id, self.label, self.groups, self.by)
        return self._opened(
            paths,
            name="source",
            without=(*own, self.weights) if is_target else own,
            perhaps=(self.weights,),
            columns=self.columns,
            has_names=True,
            size=self.image_size,
            **options,
        )

    def target(self, paths: Sequence[str], *, source: Opened, **options: Any) -> Opened:
        """Open the rows to stand for, or a sample of them, by the columns of the source."""
        return self._opened(
            paths,
            name="target",
            without=(self.weights, self.by),
            perhaps=(self.id, self.label, self.groups),
            columns=columns_of(source) or self.columns,
            has_names=_have_names(paths),
            size=size_of(source),
            sample=self.sample,
            assume_shuffled=self.assume_shuffled,
            **options,
        )

    def rows(
        self, paths: Sequence[str], *, columns: Sequence[str], size: Any, **options: Any
    ) -> Opened:
        """Open any rows like these, all of them, by the columns and the image size of a run."""
        return self._opened(
            paths,
            name="rows",
            without=(),
            perhaps=(self.id, self.label, self.weights, self.groups, self.by),
            columns=columns or self.columns,
            has_names=_have_names(paths),
            size=size,
            **options,
        )

    def to_document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON can hold it."""
        document = {name: value for name, value in asdict(self).items() if value}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in document.items()
        }

    @staticmethod
    def from_document(stored: Mapping[str, Any]) -> ReadOptions:
        """Return the reading of an earlier run."""
        known = {field.name for field in fields(ReadOptions)}
        values = {name: value for name, value in stored.items() if name in known}
        return ReadOptions(**{**values, "columns": tuple(stored.get("columns", ()))})

    def _opened(
        self,
        paths: Sequence[str],
        *,
        without: Sequence[str | None],
        perhaps: Sequence[str | None],
        columns: Sequence[str],
        has_names: bool,
        size: Any,
        **options: Any,
    ) -> Opened:
        if "" in paths:
            raise InvalidInput(f"{options['name']}: a path is empty. Pass a file or a folder.")
        return open_rows(
            list(paths) if len(paths) > 1 else paths[0],
            columns=list(columns) if columns and has_names else None,
            without=[name for name in without if name is not None],
            perhaps=[name for name in perhaps if name is not None],
            texts=() if self.id is None else self.id,
            categories=self.has_categories,
            image_size=size,
            is_colour=self.is_colour,
            cache=self.cache,
            **options,
        )


def columns_of(opened: Opened) -> tuple[str, ...]:
    """Return the columns of a table that rows are compared by; none where they have no names."""
    if opened.format not in _TABLES:
        return ()
    found = (
        name if name in opened.names else name.rpartition("[")[0]  # a number of a vector
        for name in opened.features
    )
    return tuple(dict.fromkeys(found))


def require_whole_columns(opened: Opened, *, name: str) -> None:
    """Refuse missing values in a table that is at hand, with their counts by column."""
    is_table = opened.format in _TABLES and opened.kind == "numbers"
    if is_table and not isinstance(opened.rows, np.memmap):
        columns = Columns(numbers=opened.rows, names=opened.features)
        require_no_missing(columns, name=f"{name}: {opened.path}")


def require_used(reading: ReadOptions, source: Opened, target: Opened) -> None:
    """Refuse options that could make no difference to these rows."""
    if source.format != "images" and (reading.image_size is not None or reading.is_colour):
        option = "--colour" if reading.image_size is None else "--image-size"
        raise InvalidInput(
            f"{option} is for images, and source: {source.path} holds {source.kind}. Leave it out."
        )
    if reading.assume_shuffled and reading.sample is None:
        raise InvalidInput("--assume-shuffled is about a sample. Pass --sample-rows N as well.")
    if reading.sample is not None and (target is source or target.format not in _TABLES):
        found = "there is none" if target is source else f"{target.path} is none"
        raise InvalidInput(
            f"--sample-rows draws rows of a --target that is a table, and {found}. Leave it out: "
            f"methods that draw read few rows of other files."
        )


def _have_names(paths: Sequence[str]) -> bool:
    return not all(path.endswith(".npy") for path in paths)


def size_of(opened: Opened) -> tuple[int, ...] | None:
    """Return height and width of images."""
    return None if opened.image_shape is None else opened.image_shape[:2]


def opened_sides(
    reading: ReadOptions, sources: Sequence[str], targets: Sequence[str], **options: Any
) -> tuple[Opened, Opened]:
    """Open source and target; they are one where no target is named."""
    source = reading.source(sources, is_target=not targets, **options)
    return source, reading.target(targets, source=source, **options) if targets else source
