"""What a search looks at between its steps.

Theory of operation
-------------------
A method is given a `Watch`. It asks `Watch.allows` before each step that is not a pick; picks are
judged where they are taken. Where nobody listens, interrupts or takes notes, that is all. Else the
oracle is given the watch too, and long work is done some tasks at a time, with a look in between.

A run that goes on from a checkpoint is taken back to what an uninterrupted one would have counted
at that point, so that limits and steps are the same; what was really spent is kept besides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.generators import set_state, state_of
from protobandit.foundation.observer import Halt, Observer, SavedStage, Work
from protobandit.oracle.oracle import PHASES, Oracle
from protobandit.problem.limits import Limits
from protobandit.run.checkpoint.notes import Notes, Record
from protobandit.run.checkpoint.store import CheckpointFile

EVERY = 0.1  # seconds between two calls of a listener
_AT_ONCE = 2e8  # multiplications that are not worth a look in between
_LOOK = 0.1  # seconds after which there should be one
_MOST = 2 << 30  # bytes beyond which a stage is not written down
_PICKED = 0.1  # how much of the way is picking, the rest being evaluations


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a search has come.

    Attributes
    ----------
    n_picked, k
        How many prototypes there are, and how many there are to be at most.
    cost
        The weighted mean distance of target rows to their nearest prototype, as far as the search
        knows; NaN where it does not.
    evaluations, planned
        Dissimilarities computed so far, and in all, about; None where that is not known.
    seconds
        Since the start of the search; with a checkpoint, those of earlier runs too.
    share
        How much of the way that is, from 0 to 1; it never goes down.
    doing
        What the search does next, in a few words.
    """

    n_picked: int
    k: int
    cost: float
    evaluations: int
    planned: int | None
    seconds: float
    share: float
    doing: str


Listener: TypeAlias = Callable[[Progress], Any]


class Interrupt:
    """Asks a search to end with the best it has found so far.

    `set` may be called from another thread or a signal handler, and takes what these are given:
    ``signal.signal(signal.SIGINT, interrupt.set)``.

    Examples
    --------
    >>> import protobandit as pb
    >>> stop = pb.Interrupt()
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pb.select(
    ...     rows, k=3, method="lazygreedy", interrupt=stop, callback=lambda step: stop.set()
    ... ).status
    'Stopped by an interruption after 1 of the 3 prototypes asked for.'
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self, *_: Any) -> None:
        """Ask the search to end at its next look."""
        self._is_set = True

    def is_set(self) -> bool:
        """Tell whether somebody has asked."""
        return self._is_set


class Watch(Observer):
    """Tells whether a search may go on, and who wants to know how far it is.

    Parameters
    ----------
    oracle
        What counts, and works where nobody looks.
    limits
        What the search may take.
    random
        Its dice.
    planned
        How many evaluations are expected.
    listener, interrupt
        Whom to tell, and who may end it.
    store, name
        Where notes are kept, and which of them are those of this search.
    """

    def __init__(
        self,
        oracle: Oracle,
        limits: Limits,
        *,
        random: np.random.Generator,
        planned: int | None = None,
        listener: Listener | None = None,
        interrupt: Interrupt | None = None,
        store: CheckpointFile | None = None,
        name: str = "",
    ) -> None:
        self.oracle = oracle
        self.limits = limits
        self.stopped: str | None = None  # what has ended the search, as words
        self.has_recalled = False
        self._random = random
        self._planned = planned
        self._listener = listener
        self._interrupt = interrupt
        self._store = store
        self._notes: Notes | None = None if store is None else store.notes_of(name)
        spent: Mapping[str, Any] = {} if self._notes is None else self._notes.spent
        self._besides = (
            Counter[str](spent.get("evaluations", {})),
            Counter[str](spent.get("lookups", {})),
        )
        self._had_begun = bool(spent)
        self._started = perf_counter() - spent.get("seconds", 0.0)
        self._replayed: float | None = None
        self._told = -math.inf
        self._share = 0.0
        self._is_settled = False
        self._n_picked, self._cost, self._doing = 0, math.nan, ""
        if listener is not None or interrupt is not None or store is not None:
            oracle.observer = self

    # -- limits ---------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        return perf_counter() - self._started if self._replayed is None else self._replayed

    def allows(self, evaluations: int = 0) -> bool:
        """Tell whether so many more evaluations are within the limits, and so is the time."""
        reached = self.limits.reached(self.oracle.evaluations.total() + evaluations, self.seconds)
        limit = None if reached is None else f"the limit of {reached}"
        self.stopped = "an interruption" if self.asks_to_stop() else limit
        return self.stopped is None

    def asks_to_stop(self) -> bool:
        is_set = self._interrupt is not None and self._interrupt.is_set()
        return is_set and not self._is_settled

    def halted(self) -> None:
        """Note that the search has been ended from within."""
        self.stopped = "an interruption"

    @property
    def culprit(self) -> str:
        """Return what has ended the search, as the beginning of a sentence."""
        words = self.stopped or ""
        return words[:1].upper() + words[1:]

    # -- counts ---------------------------------------------------------------------------------

    def evaluations(self) -> Counter[str]:
        """Return what this run and those before it have computed, by phase."""
        return self.oracle.evaluations + self._besides[0]

    def lookups(self) -> int:
        """Return what this run and those before it have looked up."""
        return self.oracle.lookups.total() + self._besides[1].total()

    def counts(self) -> Ids:
        counters = (self.oracle.evaluations, self.oracle.lookups)
        return np.array([[counter[phase] for phase in PHASES] for counter in counters]).ravel()

    def go_back(self, counts: Ids, seconds: float) -> None:
        self._count_as(counts)
        self._replayed = seconds

    def catch_up(self) -> None:
        self._replayed = None

    def _count_as(self, counts: Ids) -> None:
        """Set what has been counted; what was really spent stays the same."""
        counters = (self.oracle.evaluations, self.oracle.lookups)
        rows = np.asarray(counts).reshape(2, -1).tolist()
        for counter, besides, row in zip(counters, self._besides, rows, strict=True):
            for phase, n in zip(PHASES, row, strict=True):
                besides[phase] += counter[phase] - n
                counter[phase] = n

    # -- notes ----------------------------------------------------------------------------------

    @property
    def is_noting(self) -> bool:
        return self._notes is not None

    def recall(self, stage: str) -> SavedStage | None:
        found = None if self._notes is None else self._notes.recall(stage)
        if found is None:
            return None
        self.has_recalled = True
        self.return_to(found)
        return found

    def return_to(self, stage: SavedStage) -> None:
        where = stage.values["where"]
        self._count_as(np.array(where["counts"]))
        set_state(self._random, where["random"])

    def drop(self, stage: str) -> None:
        if self._notes is not None:
            self._notes.stages.pop(stage, None)

    def note(self, stage: str, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        if self._notes is None or sum(getattr(a, "nbytes", 0) for a in arrays.values()) > _MOST:
            return
        self._replayed = None
        where = {"random": state_of(self._random), "counts": self.counts().tolist()}
        self._notes.note(stage, {**values, "where": where}, arrays)
        self._notes.pass_on()
        self._look()

    def decide(self, name: str, value: Any) -> Any:
        """Return what an earlier run decided, or else ``value``, which JSON must be able to hold.

        For what depends on the machine, such as the memory that was free.
        """
        if self._notes is None:
            return value
        decided = self._notes.stages.get("decisions", SavedStage()).values
        if name in decided:
            return decided[name]
        self._notes.note("decisions", {**decided, name: value}, {})
        return value

    def kept_before(self) -> list[Ids]:
        return [] if self._notes is None else self._notes.kept()

    # -- work -----------------------------------------------------------------------------------

    def work_off(self, work: Work) -> None:
        notes = self._notes if work.name else None
        record = None if notes is None else notes.begin(work)
        n_done = 0 if record is None else self._fill_in(work, record)
        size = len(work.tasks) if work.effort < _AT_ONCE else work.n_workers
        while n_done < len(work.tasks):
            some, begun = work.tasks[n_done : n_done + size], perf_counter()
            work.do(some)
            n_done += len(some)
            if notes is not None and record is not None:
                notes.advance(record, n_done)
            if work.effort >= _AT_ONCE:
                size = max(work.n_workers, _next_size(size, perf_counter() - begun))
                self._look(may_halt=True)

    def _fill_in(self, work: Work, record: Record) -> int:
        """Fill in what an earlier run has done of a work; return how many tasks that were."""
        assert work.place is not None
        assert work.recalled is not None
        assert self._store is not None
        before = self.counts()
        n = record.n_written
        for i, task in enumerate(work.tasks[:n]):
            place = work.place(task)
            if record.sums is None:
                part = work.array[place]
                block = self._store.shelf.read(record.offsets[i], part.shape, part.dtype)
            else:
                block = record.sums[place]
            work.array[place] = block
            work.recalled(task)
        # An earlier run has spent that already.
        for besides, more in zip(
            self._besides, (self.counts() - before).reshape(2, -1).tolist(), strict=True
        ):
            besides.subtract(dict(zip(PHASES, more, strict=True)))
        self.has_recalled |= n > 0
        return n

    # -- looks ----------------------------------------------------------------------------------

    def tell(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        self._doing = doing
        self._n_picked = self._n_picked if n_picked is None else n_picked
        self._cost = self._cost if cost is None else cost
        self._look()

    def _look(self, *, may_halt: bool = False) -> None:
        if self._listener is not None and perf_counter() - self._told >= EVERY:
            self._speak()
        if self._store is not None and self._store.is_due():
            self._save()
        if may_halt and self.asks_to_stop():
            raise Halt

    def _speak(self) -> None:
        assert self._listener is not None
        self._told = perf_counter()
        evaluations, k = self.evaluations().total(), self.oracle.problem.k
        planned = self._planned
        done = self.oracle.evaluations.total() / planned if planned else self._n_picked / k
        share = (1 - _PICKED) * min(done, 1.0) + _PICKED * min(self._n_picked / k, 1.0)
        self._share = max(self._share, share)
        self._listener(
            Progress(
                n_picked=self._n_picked,
                k=k,
                cost=self._cost,
                evaluations=evaluations,
                planned=None if planned is None else max(planned, evaluations),
                seconds=perf_counter() - self._started,
                share=self._share,
                doing=self._doing,
            )
        )

    def _save(self, *, is_complete: bool = False) -> None:
        assert self._store is not None
        assert self._notes is not None
        self._notes.spent = {
            "evaluations": dict(self.evaluations()),
            "lookups": dict(self.oracle.lookups + self._besides[1]),
            "seconds": perf_counter() - self._started,
        }
        self._store.save(is_complete=is_complete)

    # -- the end --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Note that the search is over: nothing ends it any more."""
        self._is_settled = True
        self._replayed = None
        if self._store is not None and self.stopped is not None:
            self._save()

    def finish(self, n_picked: int, cost: float, *, is_last: bool, is_complete: bool) -> None:
        """Tell and write down that all is done; ``is_last`` where no other search follows."""
        if self._store is not None and is_complete and is_last and not self._store.is_complete:
            self._save(is_complete=True)
        if self._listener is not None:
            self._doing, self._n_picked, self._cost = "done", n_picked, cost
            self._share = 1.0 if is_complete else self._share
            self._speak()

    @property
    def remark(self) -> str:
        """Return what the user should know of the checkpoint, as a sentence."""
        if self._store is None:
            return ""
        if self._store.trouble:
            return f"The checkpoint could not be written: {self._store.trouble}."
        if self._had_begun and not self.has_recalled:
            return "The checkpoint held nothing to go on from: the search started anew."
        return ""


def _next_size(size: int, seconds: float) -> int:
    """Return how many tasks to do before the next look."""
    if seconds < _LOOK / 2:
        return 2 * size
    return size // 2 if seconds > 2 * _LOOK else size
