"""How a run ended and what it found, as records; the status sentence is made here, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.run_warning import RunWarning
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.problem import Problem
from protobandit.run.assessment import Assessment
from protobandit.run.certification import Certification
from protobandit.run.goal_outcome import GoalOutcome
from protobandit.search.control import StopReason
from protobandit.search.drivers.pick import SwapPasses
from protobandit.search.objectives.objective import ExtraResults


@dataclass(frozen=True, kw_only=True)
class Step:
    """One prototype: its source row, what it gained, and what had been spent by then.

    Attributes
    ----------
    index
        The source row.
    gain
        The decrease of the cost as the search saw it; NaN for the first prototype, since no
        cost is defined before it, and for fixed rows.
    evaluations, seconds
        Dissimilarities computed and time spent since the start of the run.
    """

    index: int
    gain: float
    evaluations: int
    seconds: float


class EndKind(Enum):
    """How a run ended."""

    EXACT = "exact"  # everything asked for was found; cost and mass are exact
    SAMPLED = "sampled"  # everything asked for was found; cost and mass are estimates
    STOPPED = "stopped"  # fewer than k prototypes were found
    STOPPED_EARLY = "stopped early"  # a goal or a budget was to end the search, but a limit did


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """How a run ended: the kind, the numbers that belong to it, and why it stopped, if it did."""

    kind: EndKind
    n_found: int
    k: int
    n_target: int
    n_assessed: int
    reason: StopReason | None = None

    @property
    def is_partial(self) -> bool:
        """Return whether less was found than requested."""
        return self.kind in (EndKind.STOPPED, EndKind.STOPPED_EARLY)

    @property
    def is_resumable(self) -> bool:
        """Return whether a run with more time, or without the interruption, would find more."""
        return self.reason is not None and not self.reason.is_repeatable

    def __str__(self) -> str:
        found = f"{self.n_found} prototype{'' if self.n_found == 1 else 's'}"
        reason = self.reason or "a limit"
        if self.kind is EndKind.EXACT:
            rows = (
                "the one target row" if self.n_target == 1 else f"all {self.n_target} target rows"
            )
            return f"Selected {found}; cost and mass are exact over {rows}."
        if self.kind is EndKind.SAMPLED:
            return (
                f"Selected {found} on sampled target rows; cost and mass are estimated on "
                f"{self.n_assessed} fresh one{'' if self.n_assessed == 1 else 's'}."
            )
        if self.kind is EndKind.STOPPED:
            return f"Stopped by {reason} after {self.n_found} of the {self.k} prototypes requested."
        return f"Stopped by {reason} after {found}, before the search had ended."


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """What a search hands over.

    Attributes
    ----------
    problem, method, parameters
        What was solved, and by which method.
    indices, steps, assessment
        The prototypes, best first, and what they cost.
    evaluations_by_phase, lookups, pulls
        What was counted.
    guarantee
        What is proven of the run, or None.
    end, remarks
        How the run ended, and what else the user should know, as sentences.
    warnings
        What may be wrong with the result.
    passes
        The passes of swaps, where the method makes passes.
    extras
        What only some methods find.
    curve
        The costs in which a knee was looked for.
    labels
        The class of each prototype, where classes were searched one by one.
    certification
        The attempts to reach a certificate, where one was asked for, and the certificate.
    goal_outcome
        The attempts to reach a goal whose number of prototypes was determined on a sample.
    """

    problem: Problem
    method: str
    parameters: Mapping[str, Any]
    indices: Ids
    steps: tuple[Step, ...]
    assessment: Assessment
    evaluations_by_phase: Mapping[str, int]
    lookups: int
    pulls: int = 0
    guarantee: Guarantee | None
    end: RunEnd
    remarks: tuple[str, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    passes: SwapPasses | None = None
    extras: ExtraResults
    curve: Doubles | None = None
    labels: Any = None
    certification: Certification | None = None
    goal_outcome: GoalOutcome | None = None

    @property
    def status(self) -> str:
        """Return how the run ended, what else the user should know, and the warnings."""
        remarks = (*self.remarks, self.problem.remark)
        sentences = (str(self.end), *remarks, *map(str, self.warnings))
        return " ".join(part for part in sentences if part)


def fingerprints(problem: Problem) -> dict[str, str]:
    """Return digests of source and target."""
    target = problem.target.fingerprint()
    is_same = problem.target is problem.source
    return {"source": target if is_same else problem.source.fingerprint(), "target": target}
