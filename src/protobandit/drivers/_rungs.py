"""How the race is laid out: how many arms meet how many rows on each rung, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_CELLS = 8  # home cells of an arm
_PASSES = 2  # of swaps on a rung; the last rung may have more
_LAST_PASSES = 6
_GROWTH = 2.0  # of the rows from rung to rung
_SPAN = 32  # of the rows from the first rung to the last
_SAFETY = 0.85  # of a limit: swaps are not known beforehand
_SWAPS = 0.4  # swaps on a rung, in units of k (measured; for predictions only)


@dataclass(frozen=True)
class Rung:
    """How many arms go on, to how many rows in all, at how many home cells; passes of swaps."""

    n_arms: int
    n_rows: int
    n_cells: int
    passes: int


def rungs_for(
    *,
    n_source: int,
    n_target: int,
    k: int,
    effort: float,
    at_once: int,
    entries: int,
    evaluations: int | None,
) -> list[Rung]:
    """Return the rungs for a problem of this size.

    Parameters
    ----------
    n_source, n_target, k
        The problem.
    effort
        1 reads 100 + 2 k rows on the first rung; everything else is in proportion.
    at_once
        How many dissimilarities are computed at once rather than raced for.
    entries
        How many may be kept.
    evaluations
        How many may be computed; the effort is lowered until about so many are planned.
    """

    def rungs(level: float, n_at_once: int) -> list[Rung]:
        first = min(max(k + 1, round(level * (100 + 2 * k))), n_target)
        if n_source * n_target <= n_at_once:
            first = n_target
        return _climb(first, n_source, n_target, k, entries)

    planned = rungs(effort, at_once)
    if evaluations is None or planned_evaluations(planned, k) <= _SAFETY * evaluations:
        return planned
    low, high = 0.0, effort
    for _ in range(30):
        level = (low + high) / 2
        is_within = planned_evaluations(rungs(level, 0), k) <= _SAFETY * evaluations
        low, high = (level, high) if is_within else (low, level)
    return rungs(low, 0)


def _climb(first: int, n_source: int, n_target: int, k: int, entries: int) -> list[Rung]:
    """Return the rungs from ``first`` rows on."""
    n_arms = max(min(n_source, entries // first), min(n_source, 2 * k))
    rungs = [Rung(n_arms, first, 0, _PASSES)]
    # Beyond this, comparing new rows with the prototypes would cost more than the first rung.
    most = min(_SPAN * first, max(first, round(0.8 * n_arms * first / k)), n_target)
    locality = min(1.0, _CELLS / k)
    while rungs[-1].n_rows < most:
        n_rows = min(round(_GROWTH * rungs[-1].n_rows), most)
        if most < 1.4 * n_rows:
            n_rows = most
        # The less local arms are, the faster they must leave.
        share = (_GROWTH * first / n_rows) ** (1 - 0.4 * (1 - locality))
        n_left = max(min(n_arms, 2 * k), min(n_arms, round(n_arms * share)))
        rungs.append(Rung(n_left, n_rows, min(_CELLS, k), _PASSES))
    last = rungs[-1]
    return [*rungs[:-1], Rung(last.n_arms, last.n_rows, last.n_cells, _LAST_PASSES)]


def planned_evaluations(rungs: Sequence[Rung], k: int) -> int:
    """Return about how many dissimilarities the race computes."""
    total = float(rungs[0].n_arms * rungs[0].n_rows)
    for before, rung in pairwise(rungs):
        new = rung.n_rows - before.n_rows
        total += new * (k + rung.n_arms * rung.n_cells / k) + _SWAPS * k * rung.n_rows
    return round(total)
