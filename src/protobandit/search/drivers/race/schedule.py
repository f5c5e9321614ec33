"""The schedule of the race: the arms and rows of each rung, and the evaluations they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from protobandit.foundation.endless import ENDLESS
from protobandit.search.drivers.race import far_rows

_CELLS = 8  # home cells of an arm
_ALL_CELLS = 12  # up to this many cells it is faster to use all of them
_PASSES = 1  # of swaps on a rung; the last rung may have more
_LAST_PASSES = 6
_GROWTH = 3.0  # of the rows from rung to rung
_SPAN = 32  # of the rows from the first rung to the last
_PERTURBED_EFFORT = 5  # the least effort with finalists and forced swaps
_READS = 1 << 19  # entries that restarts read at an effort of 1, in addition to passes
_READ_PASSES = 0.285  # over the table per unit of effort, times the root of effort * k
_FINALISTS = 18  # in units of k
_MOST_TRIALS = 250  # per unit of effort; k if that is less
_ALL_ARMS = 0.5  # the effort below which a limit leaves out arms rather than rows (measured)
_SAFETY = 0.85  # of a limit: the number of swaps is not known beforehand
_MOST_IN_HOMES = 1.1  # in units of what homes cost where all cells have the same number of rows
_IN_HOMES = 0.82  # the same, of various data on average (for predictions only)
# Rows of few columns have fewer cells in reach, unless they clump together or have heavy tails. For
# one column it is 0.3 or 1: this is the value in between whose worst error is the smallest.
_IN_HOMES_OF_COLUMNS = {1: 0.6, 2: 0.7, 3: 0.78}
_MORE_SWAPS = 16  # a rung tries about k + this many swaps at most, and fewer for small k
SWAPS_PER_RUNG = 0.6  # swaps tried on a rung, in units of k (measured; for predictions only)


@dataclass(frozen=True)
class Rung:
    """The number of arms, rows and home cells per arm on a rung, and its passes of swaps.

    After the swaps, the distances of ``n_finalists`` arms to all rows are computed, and
    ``n_trials`` forced swaps among them are tried. If the table of the rung is complete, restarts
    read ``n_reads`` of its entries instead. If memory is limited, the table keeps at most
    ``n_entries`` distances.
    """

    n_arms: int
    n_rows: int
    n_cells: int
    passes: int
    n_finalists: int = 0
    n_trials: int = 0
    n_reads: int = 0
    n_entries: int = ENDLESS


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
        1 reads 100 + 2 k rows on the first rung; everything else is in proportion. From 5 on, the
        last of several rungs has finalists.
    at_once
        The number of dissimilarities up to which all are computed on one rung.
    entries
        The number of dissimilarities that can be kept.
    evaluations
        The number of dissimilarities that may be computed. The effort is lowered until about this
        many are planned. If that would leave too few rows, only random arms take part.
    """

    def rungs(level: float, n_arms: int, n_at_once: int = 0) -> list[Rung]:
        first = min(max(k + 1, round(level * (100 + 2 * k))), n_target)
        raced = _rungs_from(first, n_arms, n_target, k, entries, level)
        # A race that computes as many dissimilarities as there are has no advantage.
        most = min(max(n_at_once, planned_evaluations(raced, k, n_target)), entries)
        if n_arms * n_target <= most:
            raced = _rungs_from(n_target, n_arms, n_target, k, entries, level)
        return raced if len(raced) > 1 else [_complete(raced[0], k, level)]

    def lowered(level: float) -> list[Rung]:
        """Return the rungs with fewer rows, then with fewer arms too."""
        share = min(1.0, math.sqrt(level / min(effort, _ALL_ARMS)))
        n_arms = max(round(share * n_source), min(n_source, 2 * k))
        return rungs(level if share == 1 else share * min(effort, _ALL_ARMS), n_arms)

    planned = rungs(effort, n_source, at_once)
    if evaluations is None or _is_within(planned, k, n_target, evaluations):
        return planned
    low, high = 0.0, effort
    for _ in range(30):
        level = (low + high) / 2
        is_within = _is_within(lowered(level), k, n_target, evaluations)
        low, high = (level, high) if is_within else (low, level)
    return _shortened(lowered(low), k, n_target, evaluations)


def _complete(only: Rung, k: int, level: float) -> Rung:
    """Return an only rung, whose table has all distances: restarts improve it, not finalists."""
    n_passes = _READ_PASSES * math.sqrt(level * k)
    n_reads = round(level * (_READS + n_passes * only.n_arms * only.n_rows))
    return replace(only, n_finalists=0, n_trials=0, n_reads=n_reads)


def least_evaluations(*, n_source: int, n_target: int, k: int) -> int:
    """Return the least number of dissimilarities that a race computes."""
    return min(n_source, 2 * k) * min(n_target, k + 1)


def _is_within(rungs: Sequence[Rung], k: int, n_target: int, evaluations: int) -> bool:
    """Return whether a race is planned to stay within a limit; one rung needs no safety margin."""
    allowed = evaluations * (_SAFETY if len(rungs) > 1 else 1)
    return planned_evaluations(rungs, k, n_target, evaluations) <= allowed


def _shortened(rungs: list[Rung], k: int, n_target: int, evaluations: int) -> list[Rung]:
    """Return as many rungs as the limit allows; if there is only one, fewer arms and rows."""
    n_rungs = len(rungs)
    while n_rungs > 1 and not _is_within(rungs[:n_rungs], k, n_target, evaluations):
        n_rungs -= 1
    last = replace(rungs[n_rungs - 1], passes=_LAST_PASSES)
    if n_rungs == 1:
        n_arms = min(last.n_arms, max(2 * k, evaluations // last.n_rows))
        n_rows = min(last.n_rows, max(k + 1, evaluations // n_arms))
        last = replace(last, n_arms=n_arms, n_rows=n_rows)
    return [*rungs[: n_rungs - 1], last]


def _rungs_from(
    first: int, n_source: int, n_target: int, k: int, entries: int, level: float
) -> list[Rung]:
    """Return the rungs, of which the first has ``first`` rows."""
    n_arms = max(min(n_source, entries // first), min(n_source, 2 * k))
    rungs = [Rung(n_arms, first, 0, _PASSES)]
    # Beyond this, comparing new rows with the prototypes would cost more than the first rung.
    most = min(_SPAN * first, max(first, round(0.72 * n_arms * first / k)), n_target)
    n_cells = k if k <= _ALL_CELLS else min(_CELLS, k)
    locality = n_cells / k
    while rungs[-1].n_rows < most:
        n_rows = min(round(_GROWTH * rungs[-1].n_rows), most)
        if most < 1.4 * n_rows:
            n_rows = most
        # If arms use a larger share of the cells, fewer of them can be kept.
        share = (_GROWTH * first / n_rows) ** (1 - 0.4 * (1 - locality))
        n_left = max(min(n_arms, 2 * k), min(n_arms, round(n_arms * share)))
        rungs.append(Rung(n_left, n_rows, n_cells, _PASSES))
    last = replace(rungs[-1], passes=_LAST_PASSES)
    return [
        *rungs[:-1],
        _with_finalists(last, k, level, entries) if level >= _PERTURBED_EFFORT else last,
    ]


def _with_finalists(last: Rung, k: int, level: float, entries: int) -> Rung:
    """Return the last rung with as many finalists as can be kept.

    For k = 1 swaps already find the best arm. If all finalists are prototypes, there are no forced
    swaps.
    """
    n_finalists = min(last.n_arms, _FINALISTS * k, entries // last.n_rows)
    if k == 1 or n_finalists <= k:
        return last
    return replace(last, n_finalists=n_finalists, n_trials=round(level * min(k, _MOST_TRIALS)))


def planned_evaluations(
    rungs: Sequence[Rung],
    k: int,
    n_target: int,
    evaluations: int | None = None,
    *,
    n_columns: int | None = None,
) -> int:
    """Return about how many dissimilarities the race computes, within the limit ``evaluations``.

    ``n_columns`` is the number of columns of the rows, if they have any.
    """
    return _evaluations(
        rungs,
        k,
        for_far_rows=far_rows.expected_evaluations(rungs[0].n_rows, n_target, k, evaluations),
        in_homes=partial(expected_in_homes, n_columns=n_columns),
        for_swaps=lambda first, rung, k: SWAPS_PER_RUNG * k * (rung.n_rows - first.n_rows),
        n_far=0,
    )


def most_evaluations(
    rungs: Sequence[Rung], k: int, n_target: int, *, can_repeat: bool = False
) -> int:
    """Return the number of dissimilarities that the race never exceeds.

    ``can_repeat`` is whether the target order may have a row several times.

    Proof. The first rung computes ``n_arms * n_rows``. The search for far rows has its own budget,
    and so have the swaps after it. A later rung computes the distances of the k prototypes to its
    new rows, those of arms in home cells, which are at most `most_in_homes`, and those of arms to
    all rows but the first rung's to try swaps, at most `most_for_swaps`. Finalists are computed at
    the same rows; prototypes are known there. The race enforces these numbers, whatever the data.
    """
    n_searched = None if can_repeat else n_target
    n_whole = rungs[0].n_rows if rungs[-1].n_rows == n_target else 0
    return _evaluations(
        rungs,
        k,
        for_far_rows=far_rows.most_evaluations(rungs[0].n_arms, n_searched, k, n_whole),
        in_homes=most_in_homes,
        for_swaps=most_for_swaps,
        n_far=0 if rungs[-1].n_rows == n_target else far_rows.MOST_FAR_ROWS,
    )


def _evaluations(
    rungs: Sequence[Rung],
    k: int,
    *,
    for_far_rows: float,
    in_homes: Callable[[Rung, int, int], float],
    for_swaps: Callable[[Rung, Rung, int], float],
    n_far: int,
) -> int:
    first, last = rungs[0], rungs[-1]
    total = float(first.n_arms * first.n_rows)
    if len(rungs) > 1 and 1 < k < first.n_arms:
        total += for_far_rows + for_swaps(first, first, k)
    for before, rung in pairwise(rungs):
        n_new = rung.n_rows - before.n_rows
        total += k * n_new + in_homes(rung, n_new, k) + for_swaps(first, rung, k)
    # The distances of prototypes, and of all finalists to the rows of the first rung, are known.
    if last.n_finalists > k and len(rungs) > 1:
        total += (last.n_finalists - k) * (last.n_rows + n_far - first.n_rows)
    return round(total)


def most_in_homes(rung: Rung, n_new: int, k: int) -> int:
    """Return how many distances of arms to ``n_new`` rows in home cells a rung computes at most.

    If the rows clump together in few cells, fewer home cells are used and then fewer arms are kept.
    """
    if rung.n_cells == k:
        return n_new * rung.n_arms  # every cell is a home
    return n_new * max(k, round(_MOST_IN_HOMES * rung.n_arms * rung.n_cells / k))


def expected_in_homes(rung: Rung, n_new: int, k: int, *, n_columns: int | None = None) -> float:
    """Return about how many distances of arms to new rows in home cells a rung computes."""
    expected = n_new * rung.n_arms * rung.n_cells / k
    share = _IN_HOMES if n_columns is None else _IN_HOMES_OF_COLUMNS.get(n_columns, _IN_HOMES)
    return expected if rung.n_cells == k else share * expected


def most_for_swaps(first: Rung, rung: Rung, k: int) -> int:
    """Return how many distances a rung computes at most to try swaps.

    They are those of a few more than k arms to all rows but those of the first rung, where they are
    known; far rows, which join the sample on the first rung, are new.
    """
    n_arms = min(k + min(k + 4, _MORE_SWAPS), rung.n_arms)
    return n_arms * (rung.n_rows - first.n_rows + far_rows.MOST_FAR_ROWS)
