"""The records that drivers yield."""

from __future__ import annotations

from dataclasses import dataclass

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.objectives.objective import Objective


@dataclass(frozen=True)
class SwapPasses:
    """The number of swaps and passes of a run, and what ended them before convergence.

    ``ended_by`` names a limit, an interruption or a parameter; None if no other swap lowered the
    cost. No single swap lowers the cost by more than the share ``gain_bound`` of it, except with
    probability ``delta``; None if that is not known.
    """

    n_swaps: int
    n_passes: int
    ended_by: str | None = None
    gain_bound: float | None = None
    delta: float = 0.0

    def __str__(self) -> str:
        end = f", ended by {self.ended_by} before convergence" if self.ended_by else ""
        swaps = f"{self.n_swaps:,} swap{'' if self.n_swaps == 1 else 's'}"
        return f"{swaps} in {self.n_passes:,} pass{'' if self.n_passes == 1 else 'es'}{end}."


@dataclass(frozen=True, kw_only=True)
class Pick:
    """The prototypes that one iteration adds.

    Attributes
    ----------
    arms, gains
        The source rows, best first, and their gains; the gain of a row that was given is NaN.
    objective, before
        The objective with these rows and without them. ``objective`` is None if it is not known for
        the whole target, ``before`` is None if the picks only order prototypes that were found.
    is_proven
        False if the strategy stopped by a rule that has no guarantee.
    remark
        What else the user should know, in sentences.
    passes
        The passes of swaps that led to these prototypes, if the method makes passes.
    """

    arms: Ids
    gains: Doubles
    objective: Objective | None
    before: Objective | None
    is_proven: bool
    remark: str = ""
    passes: SwapPasses | None = None
