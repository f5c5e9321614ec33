"""What a run warns about: facts that the user should know before using the result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WarningKind(Enum):
    """The kinds of warnings of a run; the values are written to files.

    Attributes
    ----------
    FAR_ROWS
        Few target rows carry much of the cost because they are far from all prototypes.
    HEAVY_ROWS
        Few target rows carry most of the cost because of their weight.
    LIMITED_SEARCH
        A limit cut the search for far rows short.
    ROWS_LEFT_OUT
        Source rows took no part because of a limit.
    SMALLER_PLAN
        A limit reduced the sample or the effort.
    ID_COLUMN
        A compared column seems to hold ids.
    LABEL_COLUMN
        A compared column seems to hold class labels.
    UNEQUAL_SCALES
        Columns that vary little hardly count.
    MANY_CATEGORIES
        A column of texts seems to hold names or ids.
    GOAL_MISSED
        As many prototypes as allowed did not reach ``until``.
    STREAM_ENDED
        A stream had fewer rows than the search asked for.
    """

    FAR_ROWS = "far rows"
    HEAVY_ROWS = "heavy rows"
    LIMITED_SEARCH = "limited search"
    ROWS_LEFT_OUT = "rows left out"
    SMALLER_PLAN = "smaller plan"
    ID_COLUMN = "id column"
    LABEL_COLUMN = "label column"
    UNEQUAL_SCALES = "unequal scales"
    MANY_CATEGORIES = "many categories"
    GOAL_MISSED = "goal missed"
    STREAM_ENDED = "stream ended"


@dataclass(frozen=True)
class RunWarning:
    """One warning of a run.

    Attributes
    ----------
    kind
        What it warns about.
    message
        A sentence that says what to do.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.random.default_rng(0).normal(size=(5_000, 2))
    >>> weights = np.ones(5_000)
    >>> weights[7] = 1e9
    >>> selection = pb.select(rows, k=3, method="random", weights=weights, random_state=0)
    >>> [warning.kind.value for warning in selection.warnings]
    ['heavy rows']
    """

    kind: WarningKind
    message: str

    def __str__(self) -> str:
        return f"Warning: {self.message}"
