"""A selection and the run that made it: what ``selection.json`` holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import protobandit
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.files import SELECTION
from protobandit.interfaces.jobs.read_options import ReadOptions, columns_of, size_of
from protobandit.interfaces.jobs.select_arguments import Posed
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Where a selection came from.

    Attributes
    ----------
    version, command
        Of protobandit, and as typed.
    sources, targets
        Paths as given; no targets where the source stood for itself.
    reading, seed
        How they were read, and the seed of all that was drawn.
    columns, image_size
        The columns that rows were compared by, where they have names; height and width of images.
    ids, labels
        Of the prototypes, best first, or None.
    """

    version: str = ""
    command: str = ""
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    reading: ReadOptions = field(default_factory=ReadOptions)
    seed: int = 0
    columns: tuple[str, ...] = ()
    image_size: tuple[int, ...] | None = None
    ids: tuple[Any, ...] | None = None
    labels: tuple[Any, ...] | None = None

    @staticmethod
    def of(posed: Posed, selection: Selection, command: str) -> RunRecord:
        """Return what is to be kept of a run."""
        reading = posed.task.reading
        return RunRecord(
            version=protobandit.__version__,
            command=command,
            sources=posed.task.sources,
            targets=posed.task.targets,
            reading=reading,
            seed=posed.task.seed,
            columns=columns_of(posed.source),
            image_size=size_of(posed.source),
            ids=_said_of(posed.source, reading.id, selection),
            labels=_said_of(posed.source, reading.label, selection),
        )

    def to_document(self) -> dict[str, Any]:
        """Return the run as JSON can hold it: nothing in it depends on when it was made."""
        return {
            "protobandit": self.version,
            "command": self.command,
            "source": list(self.sources),
            "target": list(self.targets) or None,
            "reading": self.reading.to_document(),
            "seed": self.seed,
            "columns": list(self.columns),
            "image_size": _listed(self.image_size),
            "ids": _listed(self.ids),
            "labels": _listed(self.labels),
        }

    @staticmethod
    def from_document(stored: Mapping[str, Any]) -> RunRecord:
        """Return the run that `to_document` described."""
        return RunRecord(
            version=str(stored["protobandit"]),
            command=str(stored["command"]),
            sources=tuple(stored["source"]),
            targets=tuple(stored["target"] or ()),
            reading=ReadOptions.from_document(stored["reading"]),
            seed=int(stored["seed"]),
            columns=tuple(stored["columns"]),
            image_size=_tupled(stored["image_size"]),
            ids=_tupled(stored["ids"]),
            labels=_tupled(stored["labels"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedResult:
    """A selection, the run that made it (None if it was not saved by one), and its file."""

    selection: Selection
    run: RunRecord | None

    def to_json(self) -> str:
        """Return what Selection.from_json reads, and the run."""
        document = json.loads(self.selection.to_json())
        if self.run is not None:
            document["run"] = self.run.to_document()
        return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def load(path: Path) -> SavedResult:
        """Read the result in a folder, or in a file of any name."""
        text = _text(selection_file(path))
        try:
            selection = Selection.from_json(text)
            run = json.loads(text).get("run")
            return SavedResult(
                selection=selection, run=None if run is None else RunRecord.from_document(run)
            )
        except InvalidInput as error:
            raise InvalidInput(f"{str(path)!r} cannot be used: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(
                f"{str(path)!r} does not say how it was made ({type(error).__name__}: {error}). "
                f"Run `protobandit select` again."
            ) from None


def selection_file(path: Path) -> Path:
    """Return the file that holds a selection: ``path``, or the one in that folder."""
    return path / SELECTION if path.is_dir() else path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it is not text in UTF-8"
    except OSError as error:
        reason = str(error.strerror)
    raise InvalidInput(
        f"{str(path)!r} cannot be read: {reason}. Pass the folder that `protobandit select` wrote, "
        f"or its {SELECTION}."
    )


def _said_of(opened: Opened, name: str | None, selection: Selection) -> tuple[Any, ...] | None:
    return None if name is None else tuple(opened.column(name)[selection.indices].tolist())


def _listed(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _tupled(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
