"""The observer of a run: it interrupts long work for progress, checkpoint and interruptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from protobandit.foundation.observer import Halt, Observer, Work
from protobandit.run.progress.reporter import Interrupt

SMALL_EFFORT = 2e8  # multiplications below which there is no look in between
LOOK_SECONDS = 0.1  # the desired time between two looks


class StopRequest:
    """Whether the user has asked a search to stop; once the search is over, it is ignored.

    It is separate from the run, so that oracle and control need no reference to the run: a
    reference cycle would keep the matrix of dissimilarities in memory.

    Parameters
    ----------
    interrupt
        What the user may set, if anything.
    """

    def __init__(self, interrupt: Interrupt | None) -> None:
        self._interrupt = interrupt
        self._is_ignored = False

    def is_set(self) -> bool:
        """Return whether the search is to stop."""
        return self._interrupt is not None and self._interrupt.is_set() and not self._is_ignored

    def ignore(self) -> None:
        """Ignore requests from now on."""
        self._is_ignored = True


class RunObserver(Observer):
    """Does long work some tasks at a time, with a look in between.

    Parameters
    ----------
    looks
        Called at every look: the progress display and the checkpoint.
    is_interrupted
        Returns whether the search is to stop; `Halt` is then raised between two tasks.
    """

    is_active = True

    def __init__(
        self, looks: Sequence[Callable[[], None]], is_interrupted: Callable[[], bool]
    ) -> None:
        self._looks = looks
        self._is_interrupted = is_interrupted

    def carry_out(self, work: Work) -> None:
        is_small = work.effort < SMALL_EFFORT
        n_done, size = 0, len(work.tasks) if is_small else work.n_workers
        while n_done < len(work.tasks):
            some, start = work.tasks[n_done : n_done + size], perf_counter()
            work.do(some)
            n_done += len(some)
            if not is_small:
                size = max(work.n_workers, _next_size(size, perf_counter() - start))
                self._look()

    def _look(self) -> None:
        for look in self._looks:
            look()
        if self._is_interrupted():
            raise Halt


def _next_size(size: int, seconds: float) -> int:
    """Return the number of tasks before the next look."""
    if seconds < LOOK_SECONDS / 2:
        return 2 * size
    return size // 2 if seconds > 2 * LOOK_SECONDS else size
