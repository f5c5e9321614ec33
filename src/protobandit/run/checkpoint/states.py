"""The saved states of one search, each with the random generator and the counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from protobandit.foundation.generators import set_state, state_of
from protobandit.oracle.counts import Counts
from protobandit.run.checkpoint import archive
from protobandit.run.checkpoint.archive import CheckpointFile
from protobandit.search.control import Clock, SavedState, StateStore, StopReason
from protobandit.search.drivers.localsearch.schedule import Stage, Width
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.methods.method import Reduction, Schedule


class SavedStates(StateStore):
    """Saves the states of one search in the file of a checkpoint.

    Parameters
    ----------
    file, name
        The file, and the name of the search in it.
    random, counts, clock
        Saved with every state, and set when a state is restored.
    is_active
        Whether the search saves states; with a log of evaluations it does not need them.
    """

    def __init__(
        self,
        file: CheckpointFile,
        name: str,
        *,
        random: np.random.Generator,
        counts: Counts,
        clock: Clock,
        is_active: bool,
    ) -> None:
        self.is_active = is_active
        self._file = file
        self._record = file.record(name)
        self._has_begun = self._record.schedule is not None  # in an earlier run
        self._has_resumed = False
        self._n_read = 0 if file.log is None else file.log.n_read
        self._random = random
        self._counts = counts
        self._clock = clock
        self._to_restore = set(self._record.states)

    def schedule(self, make: Callable[[], Schedule]) -> Schedule:
        """Return the schedule of the earlier run; if there is none, make and save it.

        It is written before the search begins, since a killed run follows it when it is resumed.
        """
        saved = self._record.schedule
        if saved is not None:
            rungs = tuple(Rung(**rung) for rung in saved["rungs"])
            reductions = tuple(Reduction(**each) for each in saved["reductions"])
            stages = tuple(
                Stage(**{**stage, "width": Width(**stage["width"])}) for stage in saved["stages"]
            )
            parts = {"rungs": rungs, "stages": stages, "reductions": reductions}
            return Schedule(**{**saved, **parts})
        schedule = make()
        self._record.schedule = _as_json(asdict(schedule))
        self._file.save()
        return schedule

    def save(self, name: str, state: SavedState, *, instead_of: str = "") -> None:
        if not self.is_active or self._file.is_frozen:
            return
        at = {"generator": state_of(self._random), "counts": self._counts.snapshot().tolist()}
        own = SavedState({**state.values, "at": at}, {**state.arrays, **self._counts.kept_arrays()})
        replaced = (name, instead_of)
        others = self._file.n_bytes() - self._record.n_bytes() + self._record.n_bytes(replaced)
        if others + own.n_bytes > archive.MOST_BYTES:
            return
        for each in replaced:
            self._to_restore.discard(each)
            self._record.states.pop(each, None)
        self._record.states[name] = own
        self._record.seconds = self._clock.elapsed
        self._file.change()

    def restore(self, name: str) -> SavedState | None:
        if name not in self._to_restore:
            return None
        self._to_restore.remove(name)
        state = self._record.states[name]
        self._has_resumed = True
        self.rewind(state)
        return state

    def rewind(self, state: SavedState) -> None:
        self._counts.restore(state.values["at"]["counts"])
        self._counts.restore_kept(state.arrays)
        set_state(self._random, state.values["at"]["generator"])

    def keep(self) -> None:
        """Keep what is saved: a second search of this run saves and restores nothing."""
        self.is_active = False
        self._to_restore.clear()

    def stop(self, reason: StopReason) -> None:
        if not reason.is_repeatable:
            self._file.freeze()

    def look(self) -> None:
        """Save what has changed, if it is time."""
        self._file.save_if_due()

    def end(self) -> None:
        """Write the states of a search that ended early."""
        self._record.seconds = self._clock.elapsed
        self._file.save()

    def complete(self) -> None:
        """Write that the call is done."""
        self._record.seconds = self._clock.elapsed
        self._file.complete()

    @property
    def remark(self) -> str:
        """Return what the user should know of the checkpoint, as a sentence."""
        if self._file.trouble:
            return f"The checkpoint could not be written: {self._file.trouble}."
        log = self._file.log
        has_replayed = log is not None and log.n_read > self._n_read
        if self._has_begun and not (self._has_resumed or has_replayed):
            return "The checkpoint held nothing to resume from: the search started again."
        return ""


def _as_json(values: Any) -> Any:
    """Return values with the integers of NumPy as those of Python."""
    if isinstance(values, dict):
        return {name: _as_json(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_as_json(value) for value in values]
    return values.item() if isinstance(values, np.generic) else values
