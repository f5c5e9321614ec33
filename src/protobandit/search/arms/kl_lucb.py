"""Race the leaders against their rivals (Kaufmann, Kalyanakrishnan 2013), in batches.

Theory of operation
-------------------
The ``picks`` arms of largest mean lead, the others are rivals. Mirror the rewards of the leaders,
x to 1 - x: a lower bound L becomes an upper bound, 1 - L, and both sides are the same thing, arms
with a mean and a ``reach``, the upper bound on that mean. The gap of the paper, the strongest
rival's U minus the weakest leader's L, is then the largest reach of one side plus that of the
other, minus 1, and the race is over when it is below ``nu``.

Where the paper pulls the weakest leader and the strongest rival once each, a turn pulls, on each
side, the farther reaching half of the arms that still stand in the way, by as many rows as would
settle the matter if all means stood still, though no arm much more than doubles. Counts lie on one
ladder, so that arms stand, and are pulled, together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.bernoulli import divergence, upper_bound
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    top,
    unseen,
)
from protobandit.search.arms.pac import check_promise

_GROWTH = 1.125
_RUNG = 32
_MOST_AT_FIRST = 512
_INSIDE = 2**-53


@dataclass(frozen=True, kw_only=True)
class KLLUCB:
    """Pull the weakest leaders and the strongest rivals until they are told apart.

    Guarantee: with probability ``1 - delta`` every chosen arm is within ``nu`` of the r-th best,
    unless ``early_stop`` ended the race (then ``is_proven`` is False).
    Cost: depends on the gaps; never more than one pass over the target, where the choice is exact.

    Proof. Of n arms, after at most t rows each, an arm of mean x on s <= t rows has the bounds
    {q: s * kl(x, q) <= b(t)} with b from `proven_rate`. For a fixed s its true mean lies above
    (below) them with probability at most exp(-b(s)) by Chernoff's bound for rewards in [0, 1], and
    by Hoeffding (1963, Theorem 4) for rows without replacement too; arms may share rows, for what
    follows is a union bound. With y = k1 * n * s**a / delta, exp(-b(s)) = 1 / (y * ln(y)), and the
    sum over both sides, n arms and all s is at most 2 * zeta(1.1) / 405.5 * delta < delta. Else
    all bounds hold at all times, and b(t) >= b(s) only widens them. When the race ends, every
    leader j and rival i have mean(j) >= L(j) > U(i) - nu >= mean(i) - nu; and a leader that is not
    among the r best has one of them as a rival.

    The early stop is our rule, and a heuristic: the same race with the smaller `early_rate`, which
    pays neither for the number of arms nor for looking again and again.

    Reference: Kaufmann, Kalyanakrishnan (2013), Information complexity in bandit subset selection.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    early_stop
        Whether to race at `early_rate` instead of `proven_rate`.
    early_factor
        The early rate in units of ln(1 / delta).
    batch
        How many rows every arm is pulled on at first; by default half as many again as tell an arm
        that never pays from one that pays ``nu``, but not more than 512.
    """

    nu: float
    delta: float
    early_stop: bool = True
    early_factor: float = 2.0
    batch: int | None = None

    def __post_init__(self) -> None:
        check_promise(self.nu, self.delta)
        if not 0 < self.early_factor < math.inf:
            raise InvalidInput(
                f"early_factor={self.early_factor} is not a factor. Pass early_factor > 0."
            )
        if self.batch is not None and self.batch < 1:
            raise InvalidInput(f"batch={self.batch} rows cannot be pulled. Pass batch >= 1.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return arms within ``nu`` of the r-th best, with probability ``1 - delta`` if proven."""
        if len(arms) <= terms.picks:
            return unseen(arms)
        ladder = _ladder(self.first_batch, terms.population)
        count, mean = np.zeros(len(arms), dtype=np.int64), np.zeros(len(arms))
        chosen, goals = np.arange(len(arms)), np.full(len(arms), ladder[0])
        while len(chosen):
            for together, n_rows in _groups(chosen, count[chosen], goals):
                seen = yield Pull(arms[together], n_rows)
                count[together], mean[together] = seen.count, seen.mean
            proven = proven_rate(len(arms), int(count.max()), self.delta)
            rate = min(self.early_rate, proven) if self.early_stop else proven
            race = _Race.of(mean, count, terms, rate)
            chosen = race.contenders(self.nu)
            goals = _climb(ladder, count[chosen], race.rows_to_settle(chosen, self.nu))
        strict = race if rate == proven else _Race.of(mean, count, terms, proven)
        is_proven = not len(strict.contenders(self.nu))
        best, means = top(arms, mean, terms.picks)
        return Choice(arms=best, means=means, is_proven=is_proven)

    @property
    def first_batch(self) -> int:
        """Return how many rows every arm is pulled on at first."""
        if self.batch is not None:
            return self.batch
        rows = 1.5 * 2 * math.log(1 / self.delta) / self.nu
        return _RUNG * math.ceil(min(rows, _MOST_AT_FIRST) / _RUNG)

    @property
    def early_rate(self) -> float:
        """Return the exploration rate of the early stop: one bound, one arm, one look."""
        return self.early_factor * math.log(1 / self.delta)


def proven_rate(n_arms: int, n_rows: int, delta: float) -> float:
    """Return the paper's exploration rate b(t) = ln(y) + ln(ln(y)), y = k1 * n * t**a / delta."""
    log = math.log(405.5 * n_arms / delta) + 1.1 * math.log(n_rows)
    return log + math.log(log)


@dataclass(frozen=True)
class _Race:
    """One look at the race: leaders and rivals, the leaders mirrored."""

    sides: tuple[Ids, Ids]
    mean: Doubles
    reach: Doubles
    farthest: tuple[float, float]
    is_open: NDArray[np.bool_]
    rate: float

    @classmethod
    def of(cls, mean: Doubles, count: Ids, terms: Terms, rate: float) -> _Race:
        order = np.argsort(-mean, kind="stable")
        leaders, rivals = order[: terms.picks], order[terms.picks :]
        mirrored = np.clip(mean, 0.0, 1.0)
        mirrored[leaders] = 1 - mirrored[leaders]
        is_open = count < terms.population
        reach = np.where(is_open, upper_bound(mirrored, rate / count), mirrored)
        farthest = float(reach[leaders].max()), float(reach[rivals].max())
        return cls((leaders, rivals), mirrored, reach, farthest, is_open, rate)

    def contenders(self, nu: float) -> Ids:
        """Return the farther reaching half, on each side, of the open arms in the way.

        There is none exactly when the gap is below ``nu``: of two arms in each other's way one is
        open, for an exact rival is no better than an exact leader.
        """
        chosen = []
        for side, opposed in zip(self.sides, self.farthest[::-1], strict=True):
            in_the_way = self.is_open[side] & (self.reach[side] + opposed - 1 >= nu)
            arms = side[in_the_way]
            far = np.argsort(-self.reach[arms], kind="stable")
            chosen.append(arms[far[: (len(arms) + 1) // 2]])
        return np.concatenate(chosen)

    def rows_to_settle(self, chosen: Ids, nu: float) -> Doubles:
        """Return the rows after which each arm would no longer be in the way, at its mean.

        Its reach must fall to what the other side's farthest leaves, or, as both may move, by its
        share of the distance, plus ``nu``, between the closest means; whichever comes first.
        """
        closest = [float(self.mean[side].max()) for side in self.sides]
        share = (1 + nu - sum(closest)) / 2
        limit = np.empty_like(self.mean)
        for side, mean, opposed in zip(self.sides, closest, self.farthest[::-1], strict=True):
            limit[side] = max(mean + share, 1 + nu - opposed)
        apart = divergence(self.mean[chosen], np.clip(limit[chosen], _INSIDE, 1 - _INSIDE))
        rows: Doubles = self.rate / np.maximum(apart, _INSIDE)
        return rows


def _ladder(first: int, population: int) -> Ids:
    """Return the counts an arm may stand at, in steps of about an eighth, up to the population."""
    rungs = [first]
    while rungs[-1] < population:
        rungs.append(_RUNG * math.ceil(_GROWTH * rungs[-1] / _RUNG))
    rungs[-1] = population
    return np.array(rungs, dtype=np.int64)


def _climb(ladder: Ids, count: Ids, rows: Doubles) -> Ids:
    """Return the rung for each arm: that of ``rows``, but up one at least, and not past double."""
    wanted = np.searchsorted(ladder, np.minimum(rows, 2 * count))
    above = np.searchsorted(ladder, count, side="right")
    goals: Ids = ladder[np.minimum(np.maximum(wanted, above), len(ladder) - 1)]
    return goals


def _groups(chosen: Ids, count: Ids, goals: Ids) -> Iterator[tuple[Ids, int]]:
    """Yield the arms that go from the same count to the same goal, and by how many rows."""
    for start, goal in sorted(set(zip(count.tolist(), goals.tolist(), strict=True))):
        yield chosen[(count == start) & (goals == goal)], goal - start
