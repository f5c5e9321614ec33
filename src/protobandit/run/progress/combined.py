"""Progress of a call with several searches, reported as if it were one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from protobandit.run.progress.reporter import EVERY, Listener, Progress


class CombinedProgress:
    """Reports searches that follow one another to one listener.

    Parameters
    ----------
    listener
        The user's function.
    sizes
        The number of prototypes of each search.
    planned
        The expected number of evaluations of each search.
    """

    def __init__(self, listener: Listener, sizes: Sequence[int], planned: Sequence[int]) -> None:
        self._listener = listener
        self._sizes = sizes
        self._planned = planned
        self._last_call = -math.inf
        self._last: Progress | None = None
        self._before = (0, 0, 0.0)  # prototypes, evaluations, seconds of earlier searches

    def on(self, place: int, label: Any) -> Listener:
        """Return the listener of one search; the search before it has ended."""
        if self._last is not None:
            n_picked, evaluations, seconds = self._before
            self._before = (
                n_picked + self._last.n_picked,
                evaluations + self._last.evaluations,
                seconds + self._last.seconds,
            )
            self._last = None

        def listen(progress: Progress) -> None:
            self._last = progress
            is_end = progress.doing == "done" and place + 1 == len(self._sizes)
            if is_end or perf_counter() - self._last_call >= EVERY:
                self._last_call = perf_counter()
                self._listener(self._whole(progress, place, label))

        return listen

    def _whole(self, progress: Progress, place: int, label: Any) -> Progress:
        n_picked, evaluations, seconds = self._before
        # One more per search, so that a search without evaluations counts.
        total = sum(self._planned) + len(self._planned)
        done = sum(self._planned[:place]) + place
        share = (done + progress.share * (self._planned[place] + 1)) / total
        spent = evaluations + progress.evaluations
        return replace(
            progress,
            n_picked=n_picked + progress.n_picked,
            k=sum(self._sizes),
            cost=math.nan,
            evaluations=spent,
            planned=max(sum(self._planned), spent),
            seconds=seconds + progress.seconds,
            share=share,
            doing=f"{label!r}: {progress.doing}",
        )
