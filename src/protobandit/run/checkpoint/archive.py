"""The file of a checkpoint: a NumPy archive without pickles, with a JSON header and arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from protobandit.foundation.errors import InvalidInput
from protobandit.run.checkpoint.checkpoint import Checkpoint, CheckpointRefused
from protobandit.run.checkpoint.evaluation_log import EvaluationLog
from protobandit.search.control import SavedState

FORMAT = "protobandit checkpoint"
VERSION = 2
_HEADER = "header"
_PAUSE = 10  # a save is followed by at least this many times its duration without one

# How calls differ, for parts of a call of which only digests are known.
_DIFFERENCES = {
    "source": "other source rows",
    "target": "other target rows",
    "weights": "other weights",
    "by": "other classes",
    "preparation": "another preparation",
    "constraints": "other constraints",
    "random_state": "another random_state",
}


@dataclass
class SearchRecord:
    """What is saved of one search: its states, its schedule, and its seconds."""

    states: dict[str, SavedState] = field(default_factory=dict)
    schedule: Mapping[str, Any] | None = None
    seconds: float = 0.0


class CheckpointFile:
    """The file of a checkpoint, open and locked for one run.

    Parameters
    ----------
    checkpoint
        The path, and how often to save.
    identity
        The description of the call.
    generator
        The state of the random generator at the start of the call; that of the file takes
        precedence.
    has_log
        Whether evaluations are logged.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        identity: Mapping[str, Any],
        generator: Mapping[str, Any],
        *,
        has_log: bool,
    ) -> None:
        self.path = Path(checkpoint.path)
        self.seconds = float(checkpoint.seconds)
        self.identity = dict(identity)
        self.generator = generator
        self.searches: dict[str, SearchRecord] = {}
        self.is_complete = False
        self.is_resumed = False
        self.is_frozen = False
        self.log: EvaluationLog | None = None
        # The place stays the same when the user's code changes the working directory.
        self._place = Path(os.path.realpath(self.path))
        self._token = ""
        self._trouble = ""
        self._is_changed = False
        self._duration = 0.0
        self._lock = FileLock(self._beside(".lock"), timeout=0)
        self._acquire()
        try:
            self._open(has_log)
        except BaseException:
            self.close()
            raise
        self._saved = perf_counter()

    def _beside(self, ending: str) -> Path:
        """Return the path of a hidden file beside the checkpoint."""
        return self._place.with_name(f".{self._place.name}{ending}")

    def _acquire(self) -> None:
        if not self._place.parent.is_dir():
            return  # FileLock would make the folder
        try:
            self._lock.acquire()
        except Timeout:
            raise CheckpointRefused(self.path, "is in use by another run", is_in_use=True) from None
        except OSError:
            # If no lock file can be made, no checkpoint can be written either. The error of that
            # names the path of the checkpoint, which the user knows.
            pass

    def _open(self, has_log: bool) -> None:
        if self._place.exists():
            self._load()
        else:
            self._token = os.urandom(8).hex() if has_log else ""
        if has_log:
            path = self._place.with_name(f"{self._place.name}.evaluations")
            self.log = EvaluationLog(path, self._token, self.seconds)
            self.log.can_be_replayed()  # raises if another file is there, before any is written
        if not self.is_resumed:
            self._create()
        if self.log is not None:
            self.log.open()

    def _create(self) -> None:
        """Write the file for the first time."""
        try:
            self._write(is_complete=False)
        except OSError as error:
            raise InvalidInput(
                f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}. "
                f"Pass a path in a folder that exists and is writable."
            ) from None

    def record(self, name: str) -> SearchRecord:
        """Return what is saved of a search; a call with classes has one search per class."""
        return self.searches.setdefault(name, SearchRecord())

    @property
    def trouble(self) -> str:
        """Return why something could not be written, or an empty string."""
        return self._trouble or ("" if self.log is None else self.log.trouble)

    def freeze(self) -> None:
        """Accept no new states and evaluations: an uninterrupted run would not have them.

        What was saved before is still written.
        """
        self.is_frozen = True
        if self.log is not None:
            self.log.freeze()

    def close(self) -> None:
        """Close the files and release the lock."""
        if self.log is not None:
            self.log.close()
        if self._lock.is_locked:
            with suppress(OSError):  # while the lock is held, so that no other run has it
                Path(self._lock.lock_file).unlink()
            self._lock.release()

    # -- writing --------------------------------------------------------------------------------

    def change(self) -> None:
        """Mark that there is something to save, and save it if it is time."""
        self._is_changed = True
        self.save_if_due()

    def is_due(self) -> bool:
        """Return whether something changed and enough time has passed since the last save."""
        pause = max(self.seconds, _PAUSE * self._duration) if self.seconds else 0.0
        return self._is_changed and perf_counter() - self._saved >= pause

    def save_if_due(self) -> None:
        """Save what has changed, if it is time."""
        if self.is_due():
            self.save()

    def save(self, *, is_complete: bool = False) -> None:
        """Write everything; if that fails, the file stays as it was."""
        start = perf_counter()
        try:
            self._write(is_complete)
        except OSError as error:
            self._trouble = error.strerror or type(error).__name__
        else:
            self._trouble, self.is_complete, self._is_changed = "", is_complete, False
        self._saved = perf_counter()
        self._duration = self._saved - start

    def _write(self, is_complete: bool) -> None:
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self.identity,
            "generator": self.generator,
            "is_complete": is_complete,
            "token": self._token,
            "searches": {},
        }
        arrays: dict[str, Any] = {}
        for name, record in self.searches.items():
            states: dict[str, Any] = {}
            for key, state in record.states.items():
                states[key] = {"values": state.values, "arrays": list(state.arrays)}
                for part, array in state.arrays.items():
                    arrays[f"{name}:{key}:{part}"] = array() if callable(array) else array
            header["searches"][name] = {
                "states": states,
                "schedule": record.schedule,
                "seconds": record.seconds,
            }
        arrays[_HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        _replace(self._place, self._beside(".part"), arrays)

    # -- reading --------------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            header, searches = _read(self._place)
            identity, generator = header["identity"], header["generator"]
            is_complete, token = bool(header["is_complete"]), str(header["token"])
        except OSError as error:
            raise CheckpointRefused(
                self.path, f"cannot be read: {error.strerror or error}"
            ) from None
        except Exception:
            # NumPy, zipfile and json raise many kinds of errors on a foreign or damaged file.
            raise CheckpointRefused(
                self.path, "exists and is not a complete checkpoint of this version"
            ) from None
        self._require_same(identity)
        self.searches, self.generator = searches, generator
        self.is_complete, self._token = is_complete, token
        self.is_resumed = True

    def _require_same(self, identity: Mapping[str, Any]) -> None:
        """Raise if the file belongs to another call; the message states the differences."""
        wrong = [
            _difference(name, identity.get(name), self.identity.get(name))
            for name in {**identity, **self.identity}
            if identity.get(name) != self.identity.get(name)
        ]
        if wrong:
            raise CheckpointRefused(self.path, f"belongs to another call: {'; '.join(wrong)}")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, SearchRecord]]:
    """Return the header of a file and what it holds of every search."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop(_HEADER).tobytes())
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise ValueError(header["format"], header["version"])
    searches = header["searches"]
    return header, {name: _record(name, searches[name], arrays) for name in searches}


def _record(name: str, search: Mapping[str, Any], arrays: Mapping[str, Any]) -> SearchRecord:
    """Return what is saved of one search, from the header and the arrays of a file."""
    states = {
        key: SavedState(
            state["values"], {part: arrays[f"{name}:{key}:{part}"] for part in state["arrays"]}
        )
        for key, state in search["states"].items()
    }
    return SearchRecord(states, search["schedule"], float(search["seconds"]))


def _replace(path: Path, part: Path, arrays: Mapping[str, Any]) -> None:
    """Write an archive to ``part`` and move it to ``path``."""
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _difference(name: str, was: Any, now: Any) -> str:
    """Return how two calls differ."""
    return _DIFFERENCES.get(name, f"another {name}: {was!s:.60}, not {now!s:.60}")
