"""The content of ``selection.json``: a selection and a record of the run that made it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.output_files import SELECTION, write_atomically
from protobandit.interfaces.jobs.read_options import Notify, ReadOptions, weights_column
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.remote import is_url
from protobandit.rows.files.standard_input import STANDARD_INPUT


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Where a selection came from.

    ``command`` is as typed, and paths are as given; there are no ``targets`` if the source was also
    the target. ``columns`` are the feature columns, if they have names; ``image_size`` is the
    height and width of images. ``ids`` and ``labels`` are those of the prototypes, best first, or
    None; so are ``rows``, the numbers of their rows in the files if a condition left rows out.
    """

    version: str = ""
    command: str = ""
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    read_options: ReadOptions = field(default_factory=ReadOptions)
    seed: int = 0
    columns: tuple[str, ...] = ()
    image_size: tuple[int, ...] | None = None
    ids: tuple[Any, ...] | None = None
    labels: tuple[Any, ...] | None = None
    rows: tuple[int, ...] | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; it holds no time, so equal runs give equal files.

        The keys are part of the file format.
        """
        return {
            "protobandit": self.version,
            "command": self.command,
            "source": self.sources,
            "target": self.targets or None,
            "reading": self.read_options.to_document(),
            "seed": self.seed,
            "columns": self.columns,
            "image_size": self.image_size,
            "ids": self.ids,
            "labels": self.labels,
            "rows": self.rows,
        }

    @staticmethod
    def from_document(stored: Mapping[str, Any]) -> RunRecord:
        """Return the record that `to_document` wrote."""
        return RunRecord(
            version=str(stored["protobandit"]),
            command=str(stored["command"]),
            sources=tuple(stored["source"]),
            targets=tuple(stored["target"] or ()),
            read_options=ReadOptions.from_document(stored["reading"]),
            seed=int(stored["seed"]),
            columns=tuple(stored["columns"]),
            image_size=_tuple_or_none(stored["image_size"]),
            ids=_tuple_or_none(stored["ids"]),
            labels=_tuple_or_none(stored["labels"]),
            rows=_tuple_or_none(stored.get("rows")),
        )


class ReopenedResult(NamedTuple):
    """A selection with the rows it was made from."""

    selection: Selection
    source: Opened
    target: Opened


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedResult:
    """A selection and the run that made it; a selection saved from Python has an empty record."""

    selection: Selection
    run: RunRecord = field(default_factory=RunRecord)
    home: Path | None = None  # the folder of the file, if it was loaded

    def to_json(self) -> str:
        """Return JSON that `Selection.from_json` reads, with the run added unless it is empty."""
        document = json.loads(self.selection.to_json())
        if self.run != RunRecord():
            document["run"] = self.run.to_document()
        return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: Path) -> None:
        """Write the result over the file it was loaded from; ``path`` is as in `load`."""
        file = selection_file(path)
        content = self.to_json().encode("utf-8")
        write_atomically(Path(os.path.realpath(file)), content, shown=file)

    @staticmethod
    def load(path: Path) -> SavedResult:
        """Read the result from a folder, or from a file of any name."""
        text = _text(selection_file(path))
        try:
            selection = Selection.from_json(text)
            run = json.loads(text).get("run")
            return SavedResult(
                selection=selection,
                run=RunRecord() if run is None else RunRecord.from_document(run),
                home=selection_file(path).absolute().parent,
            )
        except InvalidInput as error:
            raise InvalidInput(f"{str(path)!r} cannot be used: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(
                f"{str(path)!r} has an invalid record of its run ({type(error).__name__}: "
                f"{error}). Run `protobandit select` again."
            ) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the feature columns to read from new files; empty if they have no names.

        A selection that was saved from Python knows the columns of its frame.
        """
        own = self.selection.columns or ()
        is_vector = any(name.endswith("]") for name in own)  # names of elements, not of a column
        return self.run.columns or (() if is_vector else own)

    def found(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return recorded paths as they are found from here.

        They are relative to the folder in which the command was run. If that is another one now,
        they are looked up in the folder of selection.json and in the folder above, which is where
        the command was run if the output folder was not given.
        """
        homes = () if self.home is None else (self.home, self.home.parent)
        for folder in (Path(), *homes):
            if all(_exists(folder / path) for path in paths):
                return paths if folder == Path() else tuple(str(folder / path) for path in paths)
        return paths

    def reopen(
        self, sources: Sequence[str], targets: Sequence[str], notify: Notify
    ) -> ReopenedResult:
        """Open the files of the run, or those passed instead; raise if the rows have changed."""
        run = self.run
        if not (sources or run.sources):
            raise InvalidInput(
                "This selection does not record the files it was made from. Pass --source, and "
                "--target if there was one."
            )
        run = replace(run, sources=self.found(run.sources), targets=self.found(run.targets))
        source, target = _open_sides(run, sources, targets, notify)
        selection = self.selection.attached(
            source.rows,
            None if target is source else target.rows,
            weights=weights_column(target, run.read_options.weights),
        )
        return ReopenedResult(selection, source, target)


def _require_local(paths: Sequence[str], option: str) -> None:
    """Raise if recorded paths are URLs, which another person may have written, or standard input.

    A URL would send a request, possibly with credentials, to an address that nobody checked.
    """
    for path in paths:
        if is_url(path) or path == STANDARD_INPUT:
            what = "standard input" if path == STANDARD_INPUT else f"the URL {path}"
            raise InvalidInput(
                f"This selection was made from {what}, which is not opened again unasked. Pass "
                f"{option} with the same rows, for example {option} {path}."
            )


def _open_sides(
    run: RunRecord, sources: Sequence[str], targets: Sequence[str], notify: Notify
) -> tuple[Opened, Opened]:
    _require_local(() if sources else run.sources, "--source")
    _require_local(() if targets else run.targets, "--target")
    try:
        return run.read_options.open_sides(
            sources or run.sources, targets or run.targets, seed=run.seed, notify=notify
        )
    except InvalidInput as error:
        recorded = {} if sources else {"--source": run.sources}
        recorded |= {} if targets or not run.targets else {"--target": run.targets}
        if not recorded:
            raise
        shown = " and ".join(f"{option} {' '.join(paths)}" for option, paths in recorded.items())
        raise InvalidInput(
            f"{error} The selection was made from {shown}, relative to the folder in which it was "
            f"run. If the files have moved, pass {' and '.join(recorded)} with the new path."
        ) from None


def _exists(path: Path) -> bool:
    return path.exists() or (has_magic(str(path)) and bool(glob(str(path))))


def selection_file(path: Path) -> Path:
    """Return the file that holds a selection: ``path``, or the file in that folder."""
    return path / SELECTION if path.is_dir() else path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = str(error.strerror)
    raise InvalidInput(
        f"{str(path)!r} cannot be read: {reason}. Pass the folder that `protobandit select` wrote, "
        f"or its {SELECTION}."
    )


def _tuple_or_none(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
