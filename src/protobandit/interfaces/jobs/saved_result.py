"""The content of ``selection.json``: a selection and a record of the run that made it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.output_files import SELECTION, write_atomically
from protobandit.interfaces.jobs.read_options import Notify, ReadOptions, weights_column
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened


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
            )
        except InvalidInput as error:
            raise InvalidInput(f"{str(path)!r} cannot be used: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(
                f"{str(path)!r} has an invalid record of its run ({type(error).__name__}: "
                f"{error}). Run `protobandit select` again."
            ) from None

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
        source, target = _open_sides(run, sources, targets, notify)
        selection = self.selection.attached(
            source.rows,
            None if target is source else target.rows,
            weights=weights_column(target, run.read_options.weights),
        )
        return ReopenedResult(selection, source, target)


def _open_sides(
    run: RunRecord, sources: Sequence[str], targets: Sequence[str], notify: Notify
) -> tuple[Opened, Opened]:
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
