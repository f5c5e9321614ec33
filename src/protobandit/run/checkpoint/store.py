"""A search on disk: where it stands, so that the same call can go on after a crash.

The file is a NumPy archive without pickles: a header in JSON, and arrays. It is written beside its
place and then moved there, so that there is always a whole one. The header says what call it
belongs to; another call is refused.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import SavedStage
from protobandit.run.checkpoint.block_file import BlockFile
from protobandit.run.checkpoint.lock import Lock
from protobandit.run.checkpoint.notes import Notes, Record

FORMAT = "protobandit checkpoint"
VERSION = 1
_HEADER = "header"
_PATIENCE = 10  # a save is followed by at least so many times its duration without one
_BROKEN = (ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)

# What is said of parts of a call that are known by their digests only.
_OTHERS = {
    "source": "other source rows",
    "target": "other target rows",
    "weights": "other weights",
    "by": "other classes",
    "preparation": "another preparation",
    "constraints": "other constraints",
    "random_state": "another random_state",
}


class CheckpointRefused(InvalidInput):
    """A file that a search cannot go on from: where it is, and ``what`` is wrong with it."""

    def __init__(self, path: Path, what: str, *, is_in_use: bool = False) -> None:
        advice = "Wait for it to end" if is_in_use else "Delete it"
        super().__init__(f"checkpoint={str(path)!r} {what}. {advice}, or pass another path.")
        self.path = path
        self.what = what
        self.is_in_use = is_in_use


@dataclass(frozen=True)
class Checkpoint:
    """Where a search writes down how far it has come, for the same call to go on from there.

    After a crash, ``kill -9`` or an interruption the same call goes on where the last save was, and
    returns the indices, costs and gains of a run that was never interrupted, bit for bit, on the
    same machine. ``evaluations``, ``lookups`` and seconds are those of both runs. A ``callback`` is
    told the steps of the earlier run again. The file stays when the search is done; the same call
    then does no search. With ``random_state=None`` the chance of the first run is kept.

    Methods that pick one prototype after the other are saved after each pick and within a long scan
    of the source; ``lazybandit`` and its like after each rung; ``pam``, ``fastpam1``,
    ``fasterpam``, ``alternate``, ``onebatch`` and ``refined`` after each pass; ``clara`` after each
    sample. Dissimilarities that a method keeps are appended to a second file, ``path`` +
    ".tables", up to 2 GB; those beyond that, and those of ``onebatch``, are computed again.
    ``clarans``, ``banditpam`` and searches with a budget start anew unless they were done, and
    ``status`` says so.

    A file of another call is refused, and so is one that another run is using. Rows are told from
    others by their number and by some hundreds of them, evenly spaced: do not change single rows of
    source or target in between. Of a metric of your own only the name is compared.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        How long there is between two saves, at least; a save takes no more than a tenth of the
        time. 0 saves at every opportunity.

    Examples
    --------
    >>> import protobandit as pb, tempfile
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = pb.Checkpoint(f"{folder}/search")
    ...     first = pb.select(rows, k=2, checkpoint=checkpoint)
    ...     again = pb.select(rows, k=2, checkpoint=checkpoint)
    >>> first.indices.tolist() == again.indices.tolist()
    True
    """

    path: str | os.PathLike[str]
    seconds: float = 5.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise InvalidInput(f"Checkpoint(path)={self.path!r} is no path. Pass that of a file.")
        is_number = isinstance(self.seconds, (int, float, np.integer, np.floating))
        if not is_number or isinstance(self.seconds, bool) or not 0 <= self.seconds < np.inf:
            raise InvalidInput(
                f"Checkpoint(seconds)={self.seconds!r} is not allowed. Pass a finite number >= 0."
            )


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return the checkpoint that was passed, by itself or as a path."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, (str, os.PathLike)):
        return Checkpoint(checkpoint)
    raise InvalidInput(
        f"checkpoint={checkpoint!r:.40} is not known. Pass the path of a file, or "
        f"Checkpoint(path, seconds=…)."
    )


class CheckpointFile:
    """The file of a checkpoint: what call it belongs to, and the notes of its searches.

    ``identity`` says what call that is, and ``chance`` with what state of the generator it began. A
    call has one search, or one for each class; ``notes`` has them by name.
    """

    def __init__(
        self, checkpoint: Checkpoint, identity: Mapping[str, Any], chance: Mapping[str, Any]
    ) -> None:
        self.path = Path(checkpoint.path)
        self.seconds = float(checkpoint.seconds)
        self.identity = dict(identity)
        self.chance = chance
        self.notes: dict[str, Notes] = {}
        self.is_complete = False
        self.trouble = ""
        self._took = 0.0
        self._lock = Lock(self.path.parent / f".{self.path.name}.lock")
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise
        self._saved = perf_counter()

    def _open(self) -> None:
        if self._lock.is_held_elsewhere:
            raise CheckpointRefused(self.path, "is in use by another run", is_in_use=True)
        if self.path.exists():
            self._load()
            return
        self.shelf = BlockFile(self._shelf_path)
        self.shelf.require_own()
        self._write_first()

    def notes_of(self, name: str) -> Notes:
        """Return the notes of one search, those of an earlier run if there are any."""
        return self.notes.setdefault(name, Notes())

    @property
    def _shelf_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.tables")

    # -- writing --------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """Tell whether it is time to save what has been noted since the last time."""
        if not any(notes.is_changed for notes in self.notes.values()):
            return False
        pause = max(self.seconds, _PATIENCE * self._took) if self.seconds else 0.0
        return perf_counter() - self._saved >= pause

    def save(self, *, is_complete: bool = False) -> None:
        """Write everything down; where that fails, the file stays as it was.

        Of a search that is complete, tables are only finished that have been begun: where it took
        no longer than that, they are as quickly computed again.
        """
        begun = perf_counter()
        self._fill_shelf(is_complete)
        try:
            self._write(is_complete)
        except OSError as error:
            self.trouble = error.strerror or type(error).__name__
        else:
            self.trouble, self.is_complete = "", is_complete
            for notes in self.notes.values():
                notes.is_changed = False
        self._saved = perf_counter()
        self._took = self._saved - begun

    def close(self) -> None:
        """Close the file of the tables, and let other runs have the checkpoint."""
        self.shelf.close()
        self._lock.release()

    def _fill_shelf(self, is_complete: bool) -> None:
        """Append what works have filled since the last save; where that fails, so much is lost."""
        records = [record for notes in self.notes.values() for record in notes.records]
        with suppress(OSError):
            for record in records:
                if record.offsets or not is_complete:
                    self._put(record)
            self.shelf.sync()

    def _put(self, record: Record) -> None:
        work = record.work
        if work is None or not work.is_kept or work.place is None:
            return
        if record.offsets or self.shelf.has_room(work.array.nbytes):
            for task in work.tasks[len(record.offsets) : record.n_done]:
                record.offsets.append(self.shelf.append(work.array[work.place(task)]))

    def _write_first(self) -> None:
        try:
            self._write(is_complete=False)
        except OSError as error:
            raise InvalidInput(
                f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}. Pass "
                f"a path in a folder that exists and may be written to."
            ) from None

    def _write(self, is_complete: bool) -> None:
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self.identity,
            "chance": self.chance,
            "is_complete": is_complete,
            "shelf": {"token": self.shelf.token, "size": self.shelf.size},
            "searches": {},
        }
        arrays: dict[str, Any] = {}
        for name, notes in self.notes.items():
            header["searches"][name] = _packed(notes, f"{name}:", arrays)
        text = json.dumps(header).encode()
        arrays[_HEADER] = np.frombuffer(text, dtype=np.uint8)
        _replace(self.path, arrays)

    # -- reading --------------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(arrays.pop(_HEADER).tobytes())
            is_own = header["format"] == FORMAT
            searches = {
                name: _unpacked(packed, f"{name}:", arrays)
                for name, packed in header["searches"].items()
            }
            version, identity, chance = header["version"], header["identity"], header["chance"]
            self.is_complete, shelf = bool(header["is_complete"]), header["shelf"]
        except OSError as error:
            raise CheckpointRefused(
                self.path, f"cannot be read: {error.strerror or error}"
            ) from None
        except (*_BROKEN, AttributeError):
            is_own, version = False, VERSION
        if not is_own or version != VERSION:
            raise CheckpointRefused(
                self.path, "exists and is not a checkpoint of this version, or not a whole one"
            )
        self._require_same(identity)
        self.chance, self.notes = chance, searches
        self.shelf = BlockFile(self._shelf_path, shelf["token"], shelf["size"])
        if self.shelf.is_empty:
            for notes in searches.values():
                for record in notes.records:
                    record.offsets = []

    def _require_same(self, identity: Mapping[str, Any]) -> None:
        """Refuse a file of another call, and say in what they differ."""
        wrong = [
            _difference(name, identity.get(name), self.identity.get(name))
            for name in {**identity, **self.identity}
            if identity.get(name) != self.identity.get(name)
        ]
        if wrong:
            raise CheckpointRefused(self.path, f"belongs to another call: {'; '.join(wrong)}")


def _packed(notes: Notes, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the notes as what JSON can hold, and put their arrays among ``arrays``."""
    stages: dict[str, Any] = {}
    for name, stage in notes.stages.items():
        stages[name] = {"values": stage.values, "arrays": list(stage.arrays)}
        for key, array in stage.arrays.items():
            arrays[f"{prefix}{name}:{key}"] = array() if callable(array) else array
    works = []
    for place, record in enumerate(r for r in notes.records if r.n_written or r.n_done):
        own = f"{prefix}work {place}:"
        works.append(
            {
                "name": record.name,
                "n_tasks": record.n_tasks,
                "n_done": record.n_done,
                "n_keys": len(record.keys),
                "is_past": record.is_past,
                "has_sums": record.sums is not None,
            }
        )
        for i, numbers in enumerate(record.keys):
            arrays[f"{own}key {i}"] = numbers
        arrays[f"{own}offsets"] = np.array(record.offsets, dtype=np.int64)
        if record.sums is not None:
            arrays[f"{own}sums"] = record.sums
    return {"stages": stages, "works": works, "spent": notes.spent}


def _unpacked(packed: Mapping[str, Any], prefix: str, arrays: Mapping[str, Any]) -> Notes:
    """Return the notes that were packed."""
    stages = {
        name: SavedStage(
            stage["values"], {key: arrays[f"{prefix}{name}:{key}"] for key in stage["arrays"]}
        )
        for name, stage in packed["stages"].items()
    }
    records = []
    for place, work in enumerate(packed["works"]):
        own = f"{prefix}work {place}:"
        records.append(
            Record(
                name=work["name"],
                keys=tuple(arrays[f"{own}key {i}"] for i in range(work["n_keys"])),
                n_tasks=work["n_tasks"],
                n_done=work["n_done"],
                offsets=arrays[f"{own}offsets"].tolist(),
                sums=arrays[f"{own}sums"] if work["has_sums"] else None,
                is_past=work["is_past"],
            )
        )
    return Notes(stages, records, packed["spent"])


def _replace(path: Path, arrays: Mapping[str, Any]) -> None:
    """Put an archive in the place of another, at once."""
    passing = path.with_name(f".{path.name}.part")
    try:
        with passing.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(path)
    except BaseException:
        with suppress(OSError):
            passing.unlink()
        raise


def _difference(name: str, was: Any, now: Any) -> str:
    """Return in words in what two calls differ."""
    return _OTHERS.get(name, f"another {name}: {was!s:.60}, not {now!s:.60}")
