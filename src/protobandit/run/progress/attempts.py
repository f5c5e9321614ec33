"""Progress of attempts that follow one another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from protobandit.run.progress.reporter import Listener, Progress


class AttemptsProgress:
    """Reports attempts that follow one another to one listener.

    How many there will be is not known: each fills half of what is left of the share.

    Parameters
    ----------
    listener
        The user's function.
    after
        What follows the search of an attempt, in a word.
    """

    def __init__(self, listener: Listener, *, after: str) -> None:
        self._listener = listener
        self._after = after
        self._last: Progress | None = None

    def start(self, doing: str, k: int) -> None:
        """Report what is done before the first attempt."""
        self._last = Progress(
            n_picked=0,
            k=k,
            cost=math.nan,
            evaluations=0,
            planned=None,
            seconds=0.0,
            share=0.0,
            doing=doing,
        )
        self._listener(self._last)

    def on(self, i: int, evaluations: int, seconds: float) -> Callable[[Progress], None]:
        """Return the listener of attempt ``i``, before which this much was spent."""

        def listen(progress: Progress) -> None:
            spent = evaluations + progress.evaluations
            doing = self._after if progress.doing == "done" else progress.doing
            self._last = replace(
                progress,
                evaluations=spent,
                planned=max(evaluations + (progress.planned or 0), spent),
                seconds=seconds + progress.seconds,
                share=1 - 2.0**-i + 2.0 ** -(i + 1) * progress.share,
                doing=f"attempt {i + 1}: {doing}",
            )
            self._listener(self._last)

        return listen

    def finish(self, *, is_complete: bool) -> None:
        """Call the listener for the last time."""
        assert self._last is not None
        share = 1.0 if is_complete else self._last.share
        self._listener(replace(self._last, share=share, doing="done"))
