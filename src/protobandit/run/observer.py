"""The observer of a run: it looks up during long work, for progress, checkpoint and stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from protobandit.foundation.observer import Halt, Observer, Work

SMALL_EFFORT = 2e8  # multiplications below which there is no look in between
LOOK_SECONDS = 0.1  # the desired time between two looks

# Multiplications before a time limit interrupts work, about a second: with built-in metrics a small
# problem has a result whatever the limit, also if compilation or another process takes long.
LEAST_EFFORT = 2e9


def _never() -> bool:
    return False


class RunObserver(Observer):
    """Does long work some tasks at a time, with a look in between.

    Parameters
    ----------
    looks
        Called at every look: the progress display and the checkpoint.
    is_interrupted
        Returns whether the user asks the search to stop; `Halt` is then raised between two tasks.
    is_late
        Returns whether the time limit is reached, which then raises `Halt` too.
    """

    is_active = True

    def __init__(
        self,
        looks: Sequence[Callable[[], None]],
        is_interrupted: Callable[[], bool],
        is_late: Callable[[], bool] = _never,
    ) -> None:
        self._looks = looks
        self._is_interrupted = is_interrupted
        self._is_late = is_late
        self._effort = 0.0
        self._pace = 1  # calls of a user's function between two looks
        self._looked = perf_counter()

    def carry_out(self, work: Work) -> None:
        is_small = work.effort < SMALL_EFFORT
        n_done, size = 0, len(work.tasks) if is_small else work.n_workers
        while n_done < len(work.tasks):
            some, start = work.tasks[n_done : n_done + size], perf_counter()
            work.do(some)
            n_done += len(some)
            self._effort += work.effort * len(some) / len(work.tasks)
            now = perf_counter()
            if not is_small:
                size = max(work.n_workers, _next_size(size, now - start))
            if not is_small or now - self._looked >= LOOK_SECONDS:
                is_enough = not work.is_paced and self._effort >= LEAST_EFFORT
                self._look(is_late=is_enough and self._is_late())

    def paced(self, n: int) -> Iterator[slice]:
        n_done = 0
        while n_done < n:
            n_next, start = min(n, n_done + self._pace), perf_counter()
            yield slice(n_done, n_next)
            n_done, now = n_next, perf_counter()
            self._pace = max(1, _next_size(self._pace, now - start))
            if now - self._looked >= LOOK_SECONDS:
                self._look(is_late=self._is_late())

    def _look(self, *, is_late: bool) -> None:
        for look in self._looks:
            look()
        self._looked = perf_counter()
        if is_late or self._is_interrupted():
            raise Halt


def _next_size(size: int, seconds: float) -> int:
    """Return the number of tasks before the next look."""
    if seconds < LOOK_SECONDS / 2:
        return 2 * size
    return size // 2 if seconds > 2 * LOOK_SECONDS else size
