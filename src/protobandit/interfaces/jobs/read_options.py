"""How files become rows: options that a result keeps, so that the same rows can be opened again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.column_choice import COMMAND_LINE
from protobandit.rows.columns import Columns, require_no_missing
from protobandit.rows.files.formats import TABLE_FORMATS
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import open_rows
from protobandit.rows.files.standard_input import STANDARD_INPUT, copy_of_standard_input

# What the columns that options name are used for.
_USES = {
    "id": "row ids",
    "label": "class labels",
    "weights": "weights",
    "groups": "groups",
    "by": "classes",
}
Notify = Callable[[str], None]  # called with a sentence about the current step


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading files.

    ``columns`` and ``exclude`` are names or globs of columns that are compared or not; without
    ``columns``, `choose_columns` decides. ``id``, ``label``, ``weights``, ``groups`` and ``by``
    describe a row and are compared only if ``columns`` has their names. ``where`` is a condition on
    rows. ``has_categories`` is whether text columns are features too. ``sample`` is the number of
    rows sampled from a target table, and ``cache`` the folder that keeps the sample.
    """

    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    where: str | None = None
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

    def open_new(
        self,
        paths: Sequence[str],
        *,
        columns: Sequence[str],
        image_size: tuple[int, ...] | None,
        seed: int,
        notify: Notify | None,
        where: str | None = None,
    ) -> Opened:
        """Open rows of new files with the feature columns and image size of an earlier run.

        These are all rows, or those with the condition ``where``.
        """
        return self._open(
            paths,
            name="rows",
            required=(),
            optional=tuple(_USES),
            columns=self._columns_for(paths, columns),
            where=where,
            image_size=image_size,
            seed=seed,
            notify=notify,
        )

    def open_sides(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        seed: int,
        notify: Notify | None = None,
        in_parts: bool = False,
    ) -> tuple[Opened, Opened]:
        """Open all source rows, and the target or a sample of it with the same feature columns.

        Both are the same object if there are no target paths. If ``in_parts``, tasks read the rows.
        """
        if (*sources, *targets).count(STANDARD_INPUT) > 1:
            raise InvalidInput("- names standard input twice, but it is read once. Pass one -.")
        described = ("id", "label", "groups", "by")
        source = self._open(
            sources,
            name="source",
            required=described if targets else (*described, "weights"),
            optional=("weights",),
            columns=self.columns,
            exclude=self.exclude,
            where=self.where,
            image_size=self.image_size,
            seed=seed,
            notify=notify,
            in_parts=in_parts,
        )
        if not targets:
            return source, source
        target = self._open(
            targets,
            name="target",
            required=("weights", "by"),
            optional=("id", "label", "groups"),
            columns=self._columns_for(targets, source.columns),
            where=self.where,
            image_size=image_size_of(source),
            sample=self.sample,
            assume_shuffled=self.assume_shuffled,
            seed=seed,
            notify=notify,
            in_parts=in_parts,
        )
        return source, target

    def to_document(self) -> dict[str, Any]:
        """Return the options that were set, as JSON can hold them."""
        return {name: value for name, value in asdict(self).items() if value}

    @staticmethod
    def from_document(stored: Mapping[str, Any]) -> ReadOptions:
        """Return the options that `to_document` wrote; unknown names are ignored."""
        known = {field.name for field in fields(ReadOptions)}
        values = {name: value for name, value in stored.items() if name in known}
        lists = {name: tuple(stored.get(name, ())) for name in ("columns", "exclude")}
        return ReadOptions(**{**values, **lists})

    def _columns_for(self, paths: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
        """Return the feature columns to ask for; .npy files have no column names."""
        is_unnamed = all(path.endswith(".npy") for path in paths)
        return () if is_unnamed else columns or self.columns

    def _open(
        self,
        paths: Sequence[str],
        *,
        name: str,
        required: Sequence[str],
        optional: Sequence[str],
        columns: Sequence[str],
        image_size: int | tuple[int, ...] | None,
        seed: int,
        notify: Notify | None,
        exclude: Sequence[str] = (),
        where: str | None = None,
        sample: int | None = None,
        assume_shuffled: bool = False,
        in_parts: bool = False,
    ) -> Opened:
        if "" in paths:
            raise InvalidInput(f"{name}: a path is empty. Pass a file or a folder.")
        given = [copy_of_standard_input(name) if path == STANDARD_INPUT else path for path in paths]
        return open_rows(
            given if len(given) > 1 else given[0],
            name=name,
            columns=list(columns) or None,
            exclude=exclude,
            where=where,
            without=self._uses(required),
            perhaps=self._uses(optional),
            options=COMMAND_LINE,
            texts=() if self.id is None else self.id,
            categories=self.has_categories,
            image_size=image_size,
            is_colour=self.is_colour,
            sample=sample,
            assume_shuffled=assume_shuffled,
            cache=self.cache,
            seed=seed,
            in_parts=in_parts,
            tell=notify,
        )

    def _uses(self, names: Sequence[str]) -> dict[str, str]:
        """Return by column what it is used for instead of being compared."""
        columns = {name: getattr(self, name) for name in names}
        return {
            column: f"{_USES[name]}, --{name}"
            for name, column in columns.items()
            if column is not None
        }


# -- open rows ------------------------------------------------------------------------------------


def image_size_of(opened: Opened) -> tuple[int, ...] | None:
    """Return height and width of images, or None."""
    return None if opened.image_shape is None else opened.image_shape[:2]


def optional_column(opened: Opened, name: str | None) -> Any:
    """Return one value per row, or None if the column is not named or not in the files."""
    return opened.column(name) if name is not None and name in opened.names else None


def weights_column(target: Opened, name: str | None) -> Any:
    """Return the column of weights, or None; raise if it is not numeric."""
    if name is None:
        return None
    values = target.column(name)
    if values.dtype.kind not in "biuf":
        raise InvalidInput(
            f"--weights {name!r} is not a numeric column of target: {target.path} (the first value "
            f"is {values[0]!r}). Pass a column of numbers >= 0."
        )
    return values


def rows_at(opened: Opened, where: Where) -> Any:
    """Return some of the rows, in the form that `Selection.assign` takes."""
    rows = opened.rows
    if isinstance(rows, list):
        return rows[where] if isinstance(where, slice) else [rows[i] for i in where]
    return rows.take(where) if isinstance(rows, Columns) else rows[where]


# -- checks ---------------------------------------------------------------------------------------


def require_no_missing_values(opened: Opened, *, name: str) -> None:
    """Raise if a table in memory has missing values; the message counts them per column."""
    is_table = opened.format in TABLE_FORMATS and opened.kind == "numbers"
    if is_table and not isinstance(opened.rows, np.memmap):
        columns = Columns(numbers=opened.rows, names=opened.features)
        require_no_missing(columns, name=f"{name}: {opened.path}")


def require_applicable(options: ReadOptions, source: Opened, target: Opened) -> None:
    """Raise if an option has no effect on these rows."""
    if source.format != "images" and (options.image_size is not None or options.is_colour):
        option = "--colour" if options.image_size is None else "--image-size"
        raise InvalidInput(
            f"{option} applies to images, but source: {source.path} holds {source.kind}. Remove "
            f"the option."
        )
    if options.assume_shuffled and options.sample is None:
        raise InvalidInput("--assume-shuffled requires --sample-rows. Pass --sample-rows N too.")
    if options.sample is not None and (target is source or target.format not in TABLE_FORMATS):
        found = "there is no --target" if target is source else f"{target.path} is not a table"
        raise InvalidInput(
            f"--sample-rows requires a --target that is a table, but {found}. Remove the option: "
            f"methods that sample read few rows of other files."
        )
