"""What a search asks of its run: may it go on, who is told, and what was saved.

Theory of operation
-------------------
Drivers and methods get a `SearchControl`. It joins four parts that do not know each other: the
limits with the counts they are compared with, the clock, the progress display and the checkpoint of
this search. The default parts do nothing, so that a driver can be used without a run.

Why a search stopped is recorded here and nowhere else: ``stopped``.

A resumed run goes through the picks of the earlier run again. While it does, counts and clock show
what they showed then (`SearchControl.replay`), so that limits and steps are those of an
uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Any

from protobandit.foundation.array_types import Ids
from protobandit.oracle.counts import Counts
from protobandit.problem.limits import Limits


class StopKind(Enum):
    """What can end a search before it is done."""

    EVALUATIONS = "evaluations"
    SECONDS = "seconds"
    INTERRUPTION = "interruption"
    CALLBACK = "callback"


@dataclass(frozen=True)
class StopReason:
    """Why a search ended before it was done; ``limit`` is the value of the limit reached."""

    kind: StopKind
    limit: float | None = None

    def __str__(self) -> str:
        if self.kind is StopKind.EVALUATIONS:
            return f"the limit of {self.limit:,} evaluations"
        if self.kind is StopKind.SECONDS:
            return f"the limit of {self.limit:g} seconds"
        return "an interruption" if self.kind is StopKind.INTERRUPTION else "the callback"

    @property
    def at_start(self) -> str:
        """Return the reason as the first words of a sentence."""
        words = str(self)
        return words[0].upper() + words[1:]


INTERRUPTED = StopReason(StopKind.INTERRUPTION)


class Clock:
    """The seconds that a search has taken, those of earlier runs included.

    Parameters
    ----------
    earlier
        The seconds of earlier runs.
    """

    def __init__(self, earlier: float = 0.0) -> None:
        self._start = perf_counter() - earlier
        self._shown: float | None = None

    @property
    def seconds(self) -> float:
        """Return the seconds, or those shown during a replay."""
        return self.elapsed if self._shown is None else self._shown

    @property
    def elapsed(self) -> float:
        """Return the seconds, during a replay too."""
        return perf_counter() - self._start

    def show(self, seconds: float | None) -> None:
        """Show the seconds of an earlier run from now on; None ends that."""
        self._shown = seconds


class ProgressSink:
    """Receives reports of progress and ignores them."""

    def report(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        """Report what the search does next, how many prototypes it has and what they cost."""


@dataclass(frozen=True, eq=False)
class SavedState:
    """One part of a search as saved: plain values that JSON can hold, and arrays.

    An array that takes time to make may be a function; it is called when the state is written.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)


class StateStore:
    """Saves nothing and restores nothing.

    An active store saves the state of the random generator and the counts with every state, and
    sets both when it restores one.
    """

    is_active = False

    def save(self, name: str, state: SavedState) -> None:
        """Replace the state of this name, to be written at the next opportunity."""

    def restore(self, name: str) -> SavedState | None:
        """Return the state of an earlier run, at the first call only; None if there is none."""
        return None

    def rewind(self, state: SavedState) -> None:
        """Set the generator and the counts again to what they were when a state was saved."""

    def drop(self, name: str) -> None:
        """Remove a state that is no longer needed."""


@dataclass(eq=False)
class SearchControl:
    """What a search may use, and whom it informs.

    Parameters
    ----------
    limits, counts, clock
        The limits, and what is compared with them.
    is_interrupted
        Returns whether somebody asked the search to stop.
    progress, states
        Who is told about progress, and where the states of the search are saved.
    on_stop
        Called as soon as something ends the search early, before anything else is computed.
    """

    limits: Limits = field(default_factory=Limits)
    counts: Counts = field(default_factory=Counts)
    clock: Clock = field(default_factory=Clock)
    is_interrupted: Callable[[], bool] = lambda: False
    progress: ProgressSink = field(default_factory=ProgressSink)
    states: StateStore = field(default_factory=StateStore)
    on_stop: Callable[[], None] = lambda: None
    stopped: StopReason | None = None

    def allows(self, evaluations: int = 0) -> bool:
        """Return whether the search may go on and compute this many more dissimilarities.

        The reason is recorded in ``stopped`` if it may not.
        """
        self.stopped = INTERRUPTED if self.is_interrupted() else self._reached(evaluations)
        if self.stopped is not None:
            self.on_stop()
        return self.stopped is None

    def _reached(self, evaluations: int) -> StopReason | None:
        # As many evaluations as allowed are within the limit: the rest may need no more.
        most, seconds = self.limits.evaluations, self.limits.seconds
        if most is not None and self.counts.total + evaluations > most:
            return StopReason(StopKind.EVALUATIONS, most)
        if seconds is not None and self.clock.seconds >= seconds:
            return StopReason(StopKind.SECONDS, seconds)
        return None

    def stop(self, reason: StopReason = INTERRUPTED) -> None:
        """Record why the search ends."""
        self.stopped = reason
        self.on_stop()

    def report(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        """Report what the search does next."""
        self.progress.report(doing, n_picked=n_picked, cost=cost)

    def replay(self, counts: Ids, seconds: float) -> None:
        """Show the counts and the seconds that an earlier run had at this point."""
        self.counts.restore(counts)
        self.clock.show(seconds)

    def end_replay(self) -> None:
        """Let the clock run again."""
        self.clock.show(None)
