"""Limits on the evaluations, the time and the memory of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protobandit.foundation.checks import is_number, optional_count
from protobandit.foundation.errors import InvalidInput

# Bytes that a plan may use without `Limits`: half of what a machine with 16 GB usually has free. It
# is a constant, so that a plan follows from the problem alone.
MEMORY_BUDGET = 4 << 30

# Any method computes blocks of dissimilarities and drops them. A limit smaller than these blocks is
# not refused.
WORKING_BYTES = 32_000_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on a run: it plans a smaller search, or stops and returns the best result so far.

    Parameters
    ----------
    evaluations
        Dissimilarities to compute while building and swapping. A method that chooses one
        prototype after another stops after the pick that exceeds the limit.
    seconds
        Wall-clock time for building and swapping. It also ends long picks, rungs and passes, and
        blocks of calls of your own metric, after the current call. A search that has found nothing
        by then raises `Interrupted`; with built-in metrics it may use about a second for a first
        result. Where a sample determines the number of prototypes (``until``, ``k="auto"``), those
        of the sample are then the result. With a checkpoint, the time of earlier runs counts too.
    memory
        Bytes by which the resident memory of the process may grow, within 10 % and 64 MB (working
        blocks, and what the first call loads, are not counted). A method that can do with less
        plans accordingly: `LazyBandit` leaves out source rows, and the run then warns. A call
        whose smallest plan needs more is refused, and the error names the least that works.
        Without a limit, plans stay within 4 GiB where a smaller plan is possible, and a call that
        needs more than the available memory is refused. With a limit, the available memory is not
        considered.
    """

    evaluations: int | None = None
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "memory"):
            count = optional_count(getattr(self, name), f"Limits({name})")
            object.__setattr__(self, name, count)
        seconds = self.seconds
        if seconds is not None and not (is_number(seconds) and seconds > 0):
            raise InvalidInput(
                f"Limits(seconds)={seconds!r:.60} is not allowed. Pass a number > 0, or None."
            )

    @property
    def memory_budget(self) -> int:
        """Return how many bytes a plan may use."""
        return MEMORY_BUDGET if self.memory is None else self.memory


def as_limits(limits: Any) -> Limits:
    """Return the limits that the user passed; None means no limits."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise InvalidInput(
            f"limits={limits!r:.40} is not known. Pass Limits(evaluations=…, seconds=…, memory=…)."
        )
    return limits
