"""Progress of a search: what listeners get and when, and requests to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

from protobandit.oracle.counts import Counts
from protobandit.search.control import Clock, ProgressSink

EVERY = 0.1  # seconds between two calls of a listener
_PICKED = 0.1  # the part of the share that counts picks; the rest counts evaluations


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a search.

    Attributes
    ----------
    n_picked, k
        The number of prototypes found so far, and the largest number requested.
    cost
        The weighted mean distance of target rows to their nearest prototype; NaN if the search does
        not know it. It does not increase before the end.
    evaluations, planned
        Dissimilarities computed so far, and the expected total; None if that is unknown.
    seconds
        Seconds since the start of the search; with a checkpoint, those of earlier runs included.
    share
        The share of the search that is done, from 0 to 1; it never decreases.
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
    """A request to a search to end with the best result so far.

    `set` may be called from another thread or from a signal handler, and accepts the arguments of a
    signal handler: ``signal.signal(signal.SIGINT, interrupt.set)``.

    Examples
    --------
    >>> import protobandit as pb
    >>> stop = pb.Interrupt()
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pb.select(
    ...     rows, k=3, method="lazygreedy", interrupt=stop, callback=lambda step: stop.set()
    ... ).status
    'Stopped by an interruption after 1 of the 3 prototypes requested.'
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self, *_: Any) -> None:
        """Ask the search to end as soon as possible.

        Parameters
        ----------
        *_
            The arguments of a signal handler, which are ignored.
        """
        self._is_set = True

    def is_set(self) -> bool:
        """Return whether the search was asked to end."""
        return self._is_set


class ProgressReporter(ProgressSink):
    """Calls a listener with a `Progress`, at most every `EVERY` seconds.

    Parameters
    ----------
    listener
        The user's function.
    k
        The largest number of prototypes.
    planned
        The expected number of evaluations.
    counts, clock
        The evaluations counted so far, and the time.
    """

    def __init__(
        self, listener: Listener, *, k: int, planned: int, counts: Counts, clock: Clock
    ) -> None:
        self._listener = listener
        self._k = k
        self._planned = planned
        self._counts = counts
        self._clock = clock
        self._last = -math.inf
        self._share = 0.0
        self._lowest = math.inf  # cost
        self._n_picked, self._cost, self._doing = 0, math.nan, ""

    def report(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        self._doing = doing
        self._n_picked = max(self._n_picked, n_picked or 0)
        if cost is not None:
            # While prototypes are sorted, only the cost of the first few is known. It is higher
            # than the cost shown before, so it is not shown.
            self._cost = math.nan if cost > self._lowest else cost
            self._lowest = min(self._lowest, cost)
        self.look()

    def look(self) -> None:
        """Call the listener if it is time."""
        if perf_counter() - self._last >= EVERY:
            self._call()

    def finish(self, n_picked: int, cost: float, *, is_complete: bool) -> None:
        """Call the listener for the last time."""
        self._doing, self._n_picked, self._cost = "done", n_picked, cost
        self._share = 1.0 if is_complete else self._share
        self._call()

    def _call(self) -> None:
        self._last = perf_counter()
        evaluations, k = self._counts.total, self._k
        done = evaluations / self._planned if self._planned else self._n_picked / k
        share = (1 - _PICKED) * min(done, 1.0) + _PICKED * min(self._n_picked / k, 1.0)
        self._share = max(self._share, share)
        self._listener(
            Progress(
                n_picked=self._n_picked,
                k=k,
                cost=self._cost,
                evaluations=evaluations,
                planned=max(self._planned, evaluations),
                seconds=self._clock.elapsed,
                share=self._share,
                doing=self._doing,
            )
        )
