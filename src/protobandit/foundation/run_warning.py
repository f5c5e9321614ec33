"""What a run warns about: facts that the user should know before using the result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WarningKind(Enum):
    """The kinds of warnings; the values are written to files."""

    FAR_ROWS = "far rows"  # few target rows carry much of the cost
    HEAVY_ROWS = "heavy rows"  # few target rows of large weight carry most of the cost
    LIMITED_SEARCH = "limited search"  # a limit cut the search for far rows short
    ROWS_LEFT_OUT = "rows left out"  # source rows that took no part because of a limit
    SMALLER_PLAN = "smaller plan"  # a limit reduced the sample or the effort
    ID_COLUMN = "id column"  # a compared column seems to hold ids
    UNEQUAL_SCALES = "unequal scales"  # columns that vary little hardly count
    MANY_CATEGORIES = "many categories"  # a column of texts seems to hold names or ids
    GOAL_MISSED = "goal missed"  # as many prototypes as allowed did not reach until=
    STREAM_ENDED = "stream ended"  # a stream had fewer rows than the search asked for


@dataclass(frozen=True)
class RunWarning:
    """One warning of a run: its kind, and a sentence that says what to do."""

    kind: WarningKind
    message: str

    def __str__(self) -> str:
        return f"Warning: {self.message}"
