"""What the oracle asks of the observer of a run: to do long work in parts.

The observer here does the work at once and costs nothing. The one of a run (`run.observer`) looks
up in between, so that progress is reported, a checkpoint is saved and an interruption is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class Halt(Exception):
    """Raised between two tasks to end a search; code that holds an answer catches it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """A list of independent tasks.

    Attributes
    ----------
    tasks
        The tasks, in the order in which they are done.
    do
        Called with some of the tasks; it does them, on several threads if it can.
    effort
        The approximate number of multiplications of all tasks.
    n_workers
        The number of tasks that are done at the same time.
    is_paced
        Whether the tasks call a user's function. Then time is spent between its calls, where the
        observer looks too (`Observer.paced`).
    """

    tasks: Sequence[Any]
    do: Callable[[Sequence[Any]], None]
    effort: float
    n_workers: int = 1
    is_paced: bool = False


class Observer:
    """Does the work of the oracle at once and observes nothing."""

    is_active = False

    def carry_out(self, work: Work) -> None:
        """Do all tasks; an active observer looks up in between and may raise `Halt`."""
        work.do(work.tasks)

    def paced(self, n: int) -> Iterable[slice]:
        """Yield slices of ``n`` calls of a user's function; an active observer looks in between."""
        return [slice(0, n)]


NO_OBSERVER = Observer()
