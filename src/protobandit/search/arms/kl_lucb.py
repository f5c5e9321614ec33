"""KL-LUCB (Kaufmann, Kalyanakrishnan 2013), in batches.

Theory of operation
-------------------
The ``picks`` arms with the largest means are the leaders, the others are the challengers. Replace
each reward x of a leader by 1 - x. A lower bound L then becomes an upper bound 1 - L, and both
sides have the same form: arms with a mean and an ``upper`` bound on that mean. The gap of the
paper, the largest U of a challenger minus the smallest L of a leader, is then the largest upper
bound of one side plus that of the other, minus 1. The search ends when it is below ``nu``.

The paper pulls the weakest leader and the strongest challenger once each. Here an iteration pulls,
on each side, the half with the larger upper bounds of the arms that are not yet separated from the
other side. Each is pulled on as many rows as would separate it if all means stayed the same, but
its count does not much more than double. All counts are elements of one increasing sequence, so
that many arms have the same count and are pulled together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_integer, require_number
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    choose_all,
    top,
)
from protobandit.search.arms.pac import Pac

_GROWTH = 1.125
_STEP = 32
_MOST_AT_FIRST = 512
_INSIDE = 2**-53


@dataclass(frozen=True, kw_only=True)
class KLLUCB(Pac):
    """Pull the weakest leaders and the strongest challengers until they are separated.

    Guarantee: with probability ``1 - delta`` every chosen arm is within ``nu`` of the r-th best,
    unless ``early_stop`` ended the search (then ``is_proven`` is False).
    Cost: depends on the gaps; never more than one pass over the target, where the choice is exact.

    Proof. Of n arms, after at most t rows each, an arm with the mean x on s <= t rows has the
    bounds {q: s * kl(x, q) <= b(t)} with b from `proven_rate`. For a fixed s its true mean lies
    above (below) them with probability at most exp(-b(s)) by Chernoff's bound for rewards in
    [0, 1], and by Hoeffding (1963, Theorem 4) also for rows without replacement. Arms may share
    rows, because the next step is a union bound. With y = k1 * n * s**a / delta,
    exp(-b(s)) = 1 / (y * ln(y)), and the sum over both sides, n arms and all s is at most
    2 * zeta(1.1) / 405.5 * delta < delta. Otherwise all bounds hold at all times, and
    b(t) >= b(s) only widens them. When the search ends, every leader j and challenger i satisfy
    mean(j) >= L(j) > U(i) - nu >= mean(i) - nu; and if a leader is not among the r best, one of
    these is a challenger.

    The early stop is our heuristic: the same search with the smaller `early_rate`, which includes
    neither a union over arms nor a union over repeated checks.

    Reference: Kaufmann, Kalyanakrishnan (2013), Information complexity in bandit subset selection.

    Parameters
    ----------
    nu
        The tolerance, in units of a reward.
    delta
        The probability of error.
    early_stop
        Whether to use `early_rate` instead of `proven_rate`.
    early_factor
        The early rate in units of ln(1 / delta).
    batch
        The number of rows of the first pull. By default 1.5 times as many as distinguish an arm
        whose rewards are all 0 from one with the mean ``nu``, but at most 512.
    """

    early_stop: bool = True
    early_factor: float = 2.0
    batch: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.early_factor, "early_factor", above=0)
        require_integer(self.batch, "batch", allows_none=True)

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return arms within ``nu`` of the r-th best, with probability ``1 - delta`` if proven."""
        if len(arms) <= terms.picks:
            return choose_all(arms)
        allowed = _allowed_counts(self.first_batch, terms.population)
        count, mean = np.zeros(len(arms), dtype=np.int64), np.zeros(len(arms))
        chosen, goals = np.arange(len(arms)), np.full(len(arms), allowed[0])
        while len(chosen):
            for together, n_rows in _groups(chosen, count[chosen], goals):
                seen = yield Pull(arms[together], n_rows)
                count[together], mean[together] = seen.count, seen.mean
            proven = proven_rate(len(arms), int(count.max()), self.delta)
            rate = min(self.early_rate, proven) if self.early_stop else proven
            state = _Comparison.of(mean, count, terms, rate)
            chosen = state.unseparated(self.nu)
            goals = _next_counts(allowed, count[chosen], state.rows_to_separate(chosen, self.nu))
        strict = state if rate == proven else _Comparison.of(mean, count, terms, proven)
        is_proven = not len(strict.unseparated(self.nu))
        best, means = top(arms, mean, terms.picks)
        return Choice(arms=best, means=means, is_proven=is_proven)

    @property
    def first_batch(self) -> int:
        """Return the number of rows of the first pull."""
        if self.batch is not None:
            return self.batch
        rows = 1.5 * 2 * math.log(1 / self.delta) / self.nu
        return _STEP * math.ceil(min(rows, _MOST_AT_FIRST) / _STEP)

    @property
    def early_rate(self) -> float:
        """Return the exploration rate of the early stop, for one bound, one arm and one check."""
        return self.early_factor * math.log(1 / self.delta)


# -- bounds by the divergence of Bernoulli variables ----------------------------------------------

_TINY = 1e-300
_BELOW_ONE = 1 - 2**-53
_LAST_STEP = 1e-8
_N_STEPS = 30


def divergence(p: Doubles, q: Doubles) -> Doubles:
    """Return kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)) for p in [0, 1], 0 < q < 1."""
    divergences: Doubles = _negentropy(p) - p * np.log(q) - (1 - p) * np.log1p(-q)
    return divergences


def upper_bound(mean: Doubles, level: Doubles) -> Doubles:
    """Return the largest q with kl(mean, q) <= level, or slightly more, but never less.

    kl(p, .) is convex and increasing to the right of p, so Newton's iteration that starts to the
    right of the root decreases to it without passing it. Three inequalities give the start, for
    q > p:
    kl(p, q) >= 2 (q - p)**2 (Pinsker), kl(p, q) >= (q - p)**2 / (2 (p + 2 q) / 3) (Bernstein) and
    kl(p, q) >= -entropy(p) - (1 - p) ln(1 - q).

    Parameters
    ----------
    mean
        Means in [0, 1].
    level
        The allowed divergence, above 0.

    Returns
    -------
    Doubles
        Upper bounds in [mean, 1], at most 1e-7 above the root.
    """
    rest = 1 - mean
    target = level - _negentropy(mean)
    radius = np.minimum(
        np.sqrt(level / 2), level / 1.5 + np.sqrt(level * (level / 2.25 + 2 * mean))
    )
    bound = np.minimum(mean + radius, -np.expm1(-target / np.maximum(rest, _TINY)))
    bound = np.minimum(bound, _BELOW_ONE)
    for _ in range(_N_STEPS):
        below = 1 - bound
        excess = -mean * np.log(bound) - rest * np.log(below) - target
        step = np.maximum(excess, 0) * bound * below / np.maximum(bound - mean, _TINY)
        bound = bound - step
        if step.max(initial=0.0) < _LAST_STEP:
            break
    return np.where(bound < _BELOW_ONE, np.maximum(bound, mean), 1.0)


def _negentropy(p: Doubles) -> Doubles:
    rest = 1 - p
    negentropies: Doubles = p * np.log(np.maximum(p, _TINY)) + rest * np.log(
        np.maximum(rest, _TINY)
    )
    return negentropies


def proven_rate(n_arms: int, n_rows: int, delta: float) -> float:
    """Return the paper's exploration rate b(t) = ln(y) + ln(ln(y)), y = k1 * n * t**a / delta."""
    log = math.log(405.5 * n_arms / delta) + 1.1 * math.log(n_rows)
    return log + math.log(log)


@dataclass(frozen=True)
class _Comparison:
    """Leaders and challengers after a pull, with the rewards of the leaders mirrored."""

    sides: tuple[Ids, Ids]
    mean: Doubles
    upper: Doubles
    largest: tuple[float, float]
    is_open: NDArray[np.bool_]
    rate: float

    @classmethod
    def of(cls, mean: Doubles, count: Ids, terms: Terms, rate: float) -> _Comparison:
        order = np.argsort(-mean, kind="stable")
        leaders, challengers = order[: terms.picks], order[terms.picks :]
        mirrored = np.clip(mean, 0.0, 1.0)
        mirrored[leaders] = 1 - mirrored[leaders]
        is_open = count < terms.population
        upper = np.where(is_open, upper_bound(mirrored, rate / count), mirrored)
        largest = float(upper[leaders].max()), float(upper[challengers].max())
        return cls((leaders, challengers), mirrored, upper, largest, is_open, rate)

    def unseparated(self, nu: float) -> Ids:
        """Return, on each side, the half with the larger bounds of the open arms to be separated.

        The result is empty exactly if the gap is below ``nu``: of two arms that are not separated
        one is open, because an exact challenger is not better than an exact leader.
        """
        chosen = []
        for side, opposed in zip(self.sides, self.largest[::-1], strict=True):
            is_unseparated = self.is_open[side] & (self.upper[side] + opposed - 1 >= nu)
            arms = side[is_unseparated]
            descending = np.argsort(-self.upper[arms], kind="stable")
            chosen.append(arms[descending[: (len(arms) + 1) // 2]])
        return np.concatenate(chosen)

    def rows_to_separate(self, chosen: Ids, nu: float) -> Doubles:
        """Return the number of rows after which each arm would be separated, at its current mean.

        Its upper bound must fall to the limit that the largest bound of the other side leaves. Or,
        because the bounds of both sides fall, it must fall to the closest mean of its side plus
        half of the distance, plus ``nu``, between the closest means of both sides. The larger
        limit is reached first.
        """
        closest = [float(self.mean[side].max()) for side in self.sides]
        share = (1 + nu - sum(closest)) / 2
        limit = np.empty_like(self.mean)
        for side, mean, opposed in zip(self.sides, closest, self.largest[::-1], strict=True):
            limit[side] = max(mean + share, 1 + nu - opposed)
        apart = divergence(self.mean[chosen], np.clip(limit[chosen], _INSIDE, 1 - _INSIDE))
        rows: Doubles = self.rate / np.maximum(apart, _INSIDE)
        return rows


def _allowed_counts(first: int, population: int) -> Ids:
    """Return the allowed counts, which grow by about an eighth, up to the population."""
    counts = [first]
    while counts[-1] < population:
        counts.append(_STEP * math.ceil(_GROWTH * counts[-1] / _STEP))
    counts[-1] = population
    return np.array(counts, dtype=np.int64)


def _next_counts(allowed: Ids, count: Ids, rows: Doubles) -> Ids:
    """Return the next count of each arm: ``rows``, but at most double and at least one step up."""
    wanted = np.searchsorted(allowed, np.minimum(rows, 2 * count))
    above = np.searchsorted(allowed, count, side="right")
    goals: Ids = allowed[np.minimum(np.maximum(wanted, above), len(allowed) - 1)]
    return goals


def _groups(chosen: Ids, count: Ids, goals: Ids) -> Iterator[tuple[Ids, int]]:
    """Yield the arms with the same count and the same goal, and the number of rows between."""
    for start, goal in sorted(set(zip(count.tolist(), goals.tolist(), strict=True))):
        yield chosen[(count == start) & (goals == goal)], goal - start
