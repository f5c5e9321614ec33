"""How far a call with several searches has come, told as if it were one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from protobandit.run.progress.reporter import EVERY, Listener, Progress


class CombinedProgress:
    """Tells a listener of searches that follow one another.

    Parameters
    ----------
    listener
        Whom to tell.
    sizes
        How many prototypes each search is to find.
    planned
        How many evaluations each is expected to take.
    """

    def __init__(self, listener: Listener, sizes: Sequence[int], planned: Sequence[int]) -> None:
        self._listener = listener
        self._sizes = sizes
        self._planned = planned
        self._told = -math.inf
        self._last: Progress | None = None
        self._before = (0, 0, 0.0)  # prototypes, evaluations and seconds of the searches before

    def on(self, place: int, label: Any) -> Listener:
        """Return the listener of one search, which begins when the one before has ended."""
        if self._last is not None:
            own = (self._last.n_picked, self._last.evaluations, self._last.seconds)
            self._before = tuple(a + b for a, b in zip(self._before, own, strict=True))  # type: ignore[assignment]
            self._last = None

        def hear(progress: Progress) -> None:
            self._last = progress
            is_end = progress.doing == "done" and place + 1 == len(self._sizes)
            if is_end or perf_counter() - self._told >= EVERY:
                self._told = perf_counter()
                self._listener(self._whole(progress, place, label))

        return hear

    def _whole(self, progress: Progress, place: int, label: Any) -> Progress:
        n_picked, evaluations, seconds = self._before
        total = sum(self._planned) + len(self._planned)  # a search without evaluations counts too
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
