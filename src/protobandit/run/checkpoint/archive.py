"""The checkpoint of a call: which searches it has, what is saved of each, when, and its lock.

The states of all searches together have at most `MOST_BYTES` bytes. A state that does not fit is
not saved, and a resumed run continues from the last one that did.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from filelock import FileLock, Timeout

from protobandit.foundation.errors import InvalidInput
from protobandit.run.checkpoint import checked_file
from protobandit.run.checkpoint.checkpoint import (
    Checkpoint,
    CheckpointRefused,
    log_and_checkpoint,
)
from protobandit.run.checkpoint.evaluation_log import EvaluationLog
from protobandit.search.control import SavedState

MOST_BYTES = 1 << 28
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

    def n_bytes(self, without: Iterable[str] = ()) -> int:
        """Return the bytes of all states but those named."""
        return sum(state.n_bytes for name, state in self.states.items() if name not in without)


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
        # The place stays the same when the user's code changes the working directory. If the last
        # part of the path is a link, it is not followed (`durable_files`).
        self._place = Path(os.path.realpath(self.path.parent)) / self.path.name
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
        except OSError as error:
            # If no lock file can be made, no checkpoint can be written either. The error of that
            # names the path of the checkpoint, which the user knows.
            if os.path.lexists(self._lock.lock_file):
                what = f"cannot be locked: {error.strerror or error}"
                raise CheckpointRefused(self.path, what) from None
        else:
            self._remove_parts()

    def _remove_parts(self) -> None:
        """Remove what killed runs have left; no other run writes while the lock is held."""
        part = re.compile(rf"\.{re.escape(self._place.name)}-[0-9a-f]{{16}}\.part")
        for path in self._place.parent.iterdir():
            if part.fullmatch(path.name):
                with suppress(OSError):
                    path.unlink()

    def _open(self, has_log: bool) -> None:
        if os.path.lexists(self._place):
            self._load()
        else:
            self._token = os.urandom(8).hex() if has_log else ""
        if has_log:
            log, _ = log_and_checkpoint(self._place)
            self.log = EvaluationLog(log, self._token, self.seconds)
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

    def n_bytes(self) -> int:
        """Return the bytes of all states."""
        return sum(record.n_bytes() for record in self.searches.values())

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
        """Save what has changed, close the files and release the lock."""
        if self._is_changed and self._lock.is_locked:
            self.save()
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

    def complete(self) -> None:
        """Write that the call is done, if that is not written yet."""
        if not self.is_complete and not self.is_frozen:
            self.save(is_complete=True)

    def _write(self, is_complete: bool) -> None:
        header: dict[str, Any] = {
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
        checked_file.write(self._place, header, arrays)

    # -- reading --------------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            header, arrays = checked_file.read(self._place)
        except OSError as error:
            raise CheckpointRefused(
                self.path, f"cannot be read: {error.strerror or error}"
            ) from None
        except checked_file.Damaged:
            raise CheckpointRefused(
                self.path, "exists and is not a complete checkpoint of this version"
            ) from None
        self._require_same(header["identity"])
        searches = header["searches"]
        self.searches = {name: _record(name, searches[name], arrays) for name in searches}
        self.generator = header["generator"]
        self.is_complete, self._token = header["is_complete"], header["token"]
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


def _record(name: str, search: Mapping[str, Any], arrays: Mapping[str, Any]) -> SearchRecord:
    """Return what is saved of one search, from the header and the arrays of a file."""
    states = {
        key: SavedState(
            state["values"], {part: arrays[f"{name}:{key}:{part}"] for part in state["arrays"]}
        )
        for key, state in search["states"].items()
    }
    return SearchRecord(states, search["schedule"], float(search["seconds"]))


def _difference(name: str, was: Any, now: Any) -> str:
    """Return how two calls differ."""
    return _DIFFERENCES.get(name, f"another {name}: {was!s:.60}, not {now!s:.60}")
