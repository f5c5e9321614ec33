"""Who looks on while a search goes on: nobody, unless somebody asks.

Drivers and the oracle speak to an `Observer`. The one here does nothing and costs nothing; a
`Watch` tells a listener, heeds an interruption, and takes notes from which another run can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids


class Halt(Exception):
    """Ends a search from within, as somebody has asked; whoever has an answer catches it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """Tasks that are done in this order, but for those done at the same time.

    Attributes
    ----------
    tasks, do
        What is to be done, and who does some of it.
    effort
        About how many multiplications all of them are.
    name, keys
        What it is called, and the numbers on which its outcome depends. Without a name it is done
        anew by every run.
    array, place
        What the tasks fill, and ``place(task)``, the part that one of them fills.
    recalled
        ``recalled(task)`` sees to it that a task counts as done whose part has been filled in from
        the notes of an earlier run.
    is_kept
        Whether the array is kept for all of the run, or only until the work is done.
    n_workers
        How many tasks are done at the same time.
    """

    tasks: Sequence[Any]
    do: Callable[[Sequence[Any]], None]
    effort: float
    name: str = ""
    keys: tuple[Ids, ...] = ()
    array: Any = None
    place: Callable[[Any], Any] | None = None
    recalled: Callable[[Any], None] | None = None
    is_kept: bool = False
    n_workers: int = 1


@dataclass(frozen=True, eq=False)
class SavedStage:
    """What was noted of one part of a search: plain values, and arrays.

    An array that takes time to make may be a function, which is called when it is written.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)


class Observer:
    """Looks at nothing, and knows nothing of an earlier run."""

    @property
    def is_noting(self) -> bool:
        """Tell whether notes are taken at all."""
        return False

    @property
    def seconds(self) -> float:
        """Return how long the search has taken, earlier runs included."""
        return 0.0

    def counts(self) -> Ids:
        """Return what has been evaluated and looked up so far, phase by phase."""
        return np.empty(0, dtype=np.int64)

    def go_back(self, counts: Ids, seconds: float) -> None:
        """Take the search to be where an earlier run had counted so much after so long."""

    def catch_up(self) -> None:
        """Take the search to be here and now again."""

    def recall(self, stage: str) -> SavedStage | None:
        """Return what an earlier run noted, and go back to where it was then; None if nothing."""
        return None

    def return_to(self, stage: SavedStage) -> None:
        """Go back once more to where an earlier run was when it noted this."""

    def drop(self, stage: str) -> None:
        """Forget what was noted of a stage that is over."""

    def note(self, stage: str, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Write down where the search is, in place of what the stage held before."""

    def tell(self, doing: str, *, n_picked: int | None = None, cost: float | None = None) -> None:
        """Say what the search does next, between two steps of it."""

    def asks_to_stop(self) -> bool:
        """Tell whether somebody has asked the search to end."""
        return False

    def work_off(self, work: Work) -> None:
        """Have a work done, in one go or with looks in between."""
        work.do(work.tasks)

    def kept_before(self) -> list[Ids]:
        """Return the source rows of each scan whose distances an earlier run has kept."""
        return []


NO_OBSERVER = Observer()
