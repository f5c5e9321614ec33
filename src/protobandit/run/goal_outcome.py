"""How a goal was reached on a problem too large to compute everything, as records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from protobandit.problem.goals import Coverage, Goal, Knee, MinGain, percentage
from protobandit.search.control import StopReason


@dataclass(frozen=True, kw_only=True)
class GoalAttempt:
    """One search with a number of prototypes, and what target rows said of its result.

    Attributes
    ----------
    k
        The number of prototypes.
    cost
        Their cost.
    measured
        For `Coverage`, the share of the weight within the radius. For `MinGain`, by how much each
        of the last prototypes lowers the cost; inf if fewer are not possible. For ``k="auto"``, the
        number of prototypes at the knee of the curve that fresh rows give.
    least
        What ``measured`` is at least: for `Coverage` with the confidence of the outcome, for
        `MinGain` two standard errors less. It is ``measured`` if all target rows were read.
    n_rows
        The number of target rows on which it was measured; 0 if it was not.
    is_met
        Whether these rows confirm the goal.
    evaluations
        The number of dissimilarities that the search and the measurement computed.
    """

    k: int
    cost: float
    measured: float
    least: float
    n_rows: int
    is_met: bool
    evaluations: int


class GoalEnd(Enum):
    """What ended the attempts to reach a goal."""

    MET = "met"  # target rows confirm it
    UNCLEAR = "unclear"  # the curve has no clear knee, or samples disagree on it
    MISSED = "missed"  # as many prototypes or attempts as allowed did not reach it
    STOPPED = "stopped"  # a limit, an interruption or the callback


@dataclass(frozen=True, kw_only=True)
class GoalOutcome:
    """The attempts to reach a goal whose number of prototypes was determined on a sample.

    Attributes
    ----------
    goal
        The goal.
    n_sources, n_rows
        The number of source rows and of target rows of the sample.
    n_target
        The number of target rows.
    attempts
        All attempts, in their order.
    chosen
        Which of them gave the result.
    end
        What ended them.
    most
        The largest number of prototypes that was allowed.
    is_most_given
        Whether the user passed it.
    is_most_possible
        Whether rows and quotas allow no more.
    n_curve
        The number of prototypes of the curve in which a knee was searched.
    confidence
        The probability with which ``least`` holds for all attempts together.
    reason
        Why the attempts were stopped, if they were.
    """

    goal: Goal
    n_sources: int
    n_rows: int
    n_target: int
    attempts: tuple[GoalAttempt, ...]
    chosen: int
    end: GoalEnd
    most: int
    is_most_given: bool
    is_most_possible: bool = False
    n_curve: int = 0
    confidence: float = 0.95
    reason: StopReason | None = None

    @property
    def is_met(self) -> bool:
        """Return whether target rows confirm the goal."""
        return self.end is GoalEnd.MET

    @property
    def result(self) -> GoalAttempt:
        """Return the attempt that gave the result."""
        return self.attempts[self.chosen]

    def __str__(self) -> str:
        if self.result.n_rows == 0:
            return f"{self.origin} No target rows confirm it: {self.reason} ended the attempts."
        return f"{self.origin} {self.statement}"

    @property
    def origin(self) -> str:
        """Return how k was determined, as a sentence."""
        n = len(self.attempts)
        attempts = "" if n == 1 else f" and corrected in {n} attempts"
        return (
            f"k was determined on a sample of {self.n_sources:,} source rows and "
            f"{self.n_rows:,} target rows{attempts}."
        )

    @property
    def statement(self) -> str:
        """Return what target rows say of the result, as a sentence."""
        if isinstance(self.goal, Coverage):
            return self._covered(self.goal)
        if isinstance(self.goal, MinGain):
            return self._gained(self.goal)
        assert isinstance(self.goal, Knee)
        return self._knee()

    @property
    def _rows(self) -> str:
        """Return on which rows the result was measured, as words."""
        n = self.result.n_rows
        if n < self.n_target:
            return f"{n:,} fresh target row{'' if n == 1 else 's'}"
        return "the one target row" if n == 1 else f"all {n:,} target rows"

    def _covered(self, goal: Coverage) -> str:
        found, within = self.result, f"within {goal.radius:g} of a prototype"
        if found.n_rows == self.n_target:
            said = f"{percentage(found.measured)} of the target lies {within}"
        else:
            said = (
                f"Of {found.n_rows:,} fresh target rows, {percentage(found.measured)} lie {within} "
                f"(with {self.confidence:.0%} confidence at least {percentage(found.least)} of the "
                f"target)"
            )
        if self.is_met and self.reason is not None:
            return f"{said}. Fewer prototypes may do: {self.reason} ended the attempts."
        if self.is_met:
            return f"{said}."
        asked = f"{said}, which does not confirm {percentage(goal.share)}"
        if self.reason is not None:
            return f"{asked}: {self.reason} ended the attempts."
        if found.k < self.most:
            return f"{asked} after {len(self.attempts)} attempts. Pass a larger k without until."
        if self.is_most_given:
            return f"{asked}: k is too small."
        if self.is_most_possible:
            return f"{asked}, and no more than {self.most:,} prototypes are possible."
        return (
            f"{asked}: {self.most:,} prototypes, the most that are tried if k is not passed, are "
            f"too few. Pass k for more, or a larger radius."
        )

    def _gained(self, goal: MinGain) -> str:
        found = self.result
        if math.isinf(found.measured):
            return "Fewer prototypes are not possible, whatever they gain."
        said = (
            f"On {self._rows}, each of the last prototypes lowers the cost by {found.measured:.4g}"
        )
        if self.reason is not None:
            return (
                f"{said}; {goal.gain:g} was asked for. {self.reason.at_start} ended the attempts."
            )
        if self.is_met and found.measured >= goal.gain:
            return f"{said}; {goal.gain:g} was asked for."
        if self.is_met:
            return (
                f"{said}; {goal.gain:g} was asked for. In a greedy order of these and other "
                f"prototypes, gains become too small near this number."
            )
        if found.measured < goal.gain:
            return f"{said}, less than {goal.gain:g}: k is too large."
        return f"{said}, more than {goal.gain:g}: more prototypes would lower it too."

    def _knee(self) -> str:
        found = self.result
        curve = f"curve of costs of 1 to {self.n_curve} prototypes on {self._rows}"
        if self.is_met:
            return f"The knee of the {curve} is there."
        if found.measured == found.k:
            return f"The {curve} has no clear knee: there may be no natural number of prototypes."
        return f"The knee of the {curve} is at {found.measured:.0f}, so k is uncertain."
