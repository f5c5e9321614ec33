"""The connection of a search to its run: limits, clock, progress and saved states.

Theory of operation
-------------------
Drivers and methods get a `SearchControl`. It joins four independent parts: the limits with the
counts they are compared with, the clock, the progress display and the checkpoint of this search.
The default parts do nothing, so that a driver can be used without a run.

The reason why a search stopped is recorded here and nowhere else: ``stopped``.

A resumed run repeats the picks of the earlier run. During this replay, counts and clock show the
values of the earlier run (`SearchControl.replay`), so that limits and steps are those of an
uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Any

from protobandit.foundation.array_types import Ids
from protobandit.foundation.run_warning import RunWarning
from protobandit.oracle.counts import Counts
from protobandit.problem.limits import Limits


class StopKind(Enum):
    """The kinds of events that end a search early."""

    EVALUATIONS = "evaluations"
    SECONDS = "seconds"
    INTERRUPTION = "interruption"
    CALLBACK = "callback"


@dataclass(frozen=True)
class StopReason:
    """Why a search ended early.

    ``limit`` is the value of the limit that was reached, ``whole`` the limit of the whole call if
    ``limit`` is the share that one of its searches has.
    """

    kind: StopKind
    limit: float | None = None
    whole: float | None = None

    def __str__(self) -> str:
        if self.kind is StopKind.EVALUATIONS:
            if self.whole is not None:
                share = f"the share of one search ({self.limit:,})"
                return f"{share} of the limit of {self.whole:,} evaluations"
            return f"the limit of {self.limit:,} evaluation{'' if self.limit == 1 else 's'}"
        if self.kind is StopKind.SECONDS:
            return f"the limit of {self.limit:g} second{'' if self.limit == 1 else 's'}"
        return "an interruption" if self.kind is StopKind.INTERRUPTION else "the callback"

    @property
    def at_start(self) -> str:
        """Return the reason with a capital letter, for the start of a sentence."""
        words = str(self)
        return words[0].upper() + words[1:]

    @property
    def is_repeatable(self) -> bool:
        """Return whether every run of the same call stops at the same place.

        An evaluation limit is part of the call, and counts do not depend on time.
        """
        return self.kind is StopKind.EVALUATIONS


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
        """Return the seconds; during a replay, those of the earlier run."""
        return self.elapsed if self._shown is None else self._shown

    @property
    def elapsed(self) -> float:
        """Return the seconds of all runs, during a replay too."""
        return perf_counter() - self._start

    def show(self, seconds: float) -> None:
        """Show these seconds of an earlier run until `resume` is called.

        A run that was killed did not save its seconds. Its log shows at least how long it ran, so
        the elapsed seconds never stay below the seconds shown.
        """
        self._shown = seconds
        self._start = min(self._start, perf_counter() - seconds)

    def resume(self) -> None:
        """Show the elapsed seconds again."""
        self._shown = None


class ProgressSink:
    """Ignores reports of progress."""

    def report(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        """Report what the search does next, its number of prototypes and their cost."""


@dataclass(frozen=True, eq=False)
class SavedState:
    """One part of a search as saved: values that JSON can hold, and arrays.

    An array may be a function that returns it and that is called when the state is written. The
    arrays must not change after the state was saved, since it may be written later.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the arrays; a function must return a small one."""
        return sum(getattr(array, "nbytes", 0) for array in self.arrays.values())


class StateStore:
    """Saves nothing and restores nothing.

    An active store saves the random generator and the counts with every state, and sets both when
    it restores one.
    """

    is_active = False

    def save(self, name: str, state: SavedState, *, instead_of: str = "") -> None:
        """Replace the state of this name; it is written at the next opportunity.

        The state ``instead_of`` is no longer needed and is removed. If the state is too large to
        be saved, nothing changes: a resumed run starts from the states before.
        """

    def restore(self, name: str) -> SavedState | None:
        """Return the state of an earlier run, or None; every call after the first returns None."""
        return None

    def rewind(self, state: SavedState) -> None:
        """Set the generator and the counts to their values when a state was saved."""

    def stop(self, reason: StopReason) -> None:
        """Save nothing of what the search computes after a stop, unless it is repeatable."""


@dataclass(eq=False)
class SearchControl:
    """What a search uses of its run.

    Parameters
    ----------
    limits, counts, clock
        The limits, and the values that are compared with them.
    whole_limits
        The limits that the user passed, if ``limits`` are the share of one of several searches.
    is_requested
        Returns whether the user has asked the search to stop.
    progress, states
        Where progress is reported, and where the states of the search are saved. The store learns
        of an early end at once, before anything else is computed.
    """

    limits: Limits = field(default_factory=Limits)
    counts: Counts = field(default_factory=Counts)
    clock: Clock = field(default_factory=Clock)
    is_requested: Callable[[], bool] = lambda: False
    progress: ProgressSink = field(default_factory=ProgressSink)
    states: StateStore = field(default_factory=StateStore)
    stopped: StopReason | None = None
    is_settled: bool = False
    warnings: list[RunWarning] = field(default_factory=list)
    whole_limits: Limits | None = None

    def is_interrupted(self) -> bool:
        """Return whether the search is to end at once: the user asks for it, or time is up."""
        return self.is_requested_now() or self.is_late()

    def is_requested_now(self) -> bool:
        """Return whether the user asks the search to end."""
        return not self.is_settled and self.is_requested()

    def is_late(self) -> bool:
        """Return whether the time limit is reached."""
        seconds = self.limits.seconds
        return not self.is_settled and seconds is not None and self.clock.seconds >= seconds

    def settle(self) -> None:
        """End the search: from now on neither the user nor the time limit interrupts the run."""
        self.is_settled = True
        self.end_replay()

    def allows(self, evaluations: int = 0) -> bool:
        """Return whether the search may continue and compute this many more dissimilarities.

        If not, the reason is recorded in ``stopped``.
        """
        reason = INTERRUPTED if self.is_requested_now() else self._reached(evaluations)
        self.stopped = reason
        if reason is not None:
            self.states.stop(reason)
        return reason is None

    def _reached(self, evaluations: int) -> StopReason | None:
        # A search that has used up its evaluations may continue: the rest may need none.
        most = self.limits.evaluations
        if most is not None and self.counts.total + evaluations > most:
            return self.limit_of_evaluations()
        return self._limit_of_seconds() if self.is_late() else None

    def limit_of_evaluations(self) -> StopReason:
        """Return the limit of evaluations as the reason of a stop."""
        most, whole = self.limits.evaluations, self.whole_limits
        shared = None if whole is None or whole.evaluations == most else whole.evaluations
        return StopReason(StopKind.EVALUATIONS, most, shared)

    def _limit_of_seconds(self) -> StopReason:
        """Return the limit of seconds as the reason of a stop: the one that the user passed."""
        return StopReason(StopKind.SECONDS, (self.whole_limits or self.limits).seconds)

    def stop(self, reason: StopReason | None = None) -> None:
        """Record why the search ends; by default, what `is_interrupted` has found."""
        if reason is None:
            is_late = self.is_late() and not self.is_requested_now()
            reason = self._limit_of_seconds() if is_late else INTERRUPTED
        self.stopped = reason
        self.states.stop(reason)

    def report(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        """Report what the search does next."""
        self.progress.report(doing, n_picked=n_picked, cost=cost)

    def warn(self, warning: RunWarning) -> None:
        """Add a warning to the result, once.

        Warnings are not saved in a checkpoint. Derive them from what a resumed search knows too.
        """
        if warning not in self.warnings:
            self.warnings.append(warning)

    def replay(self, counts: Ids, seconds: float) -> None:
        """Set the counts and show the seconds that an earlier run had at this point."""
        self.counts.restore(counts)
        self.clock.show(seconds)

    def end_replay(self) -> None:
        """Show the elapsed seconds again."""
        self.clock.resume()
