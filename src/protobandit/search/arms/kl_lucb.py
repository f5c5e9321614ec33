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
its count does not much more than double. All counts are elements of one increasing sequence
c_1 < ... < c_L, the allowed counts, so that many arms have the same count and are pulled together.

The bounds
----------
The allowed counts are known before the first pull: they depend on the number of arms, ``nu``,
``delta`` and the size of the target. So the bounds need to hold at L counts only, and not at every
count as in the paper. An arm with the mean x on c_l rows has the bounds
{q: c_l * kl(x, q) <= b_l} with b_l = ln(n / (delta * w_l)), w_l = 1 / (l * H), H = 1 + ... + 1 / L:
see `exploration_rates`. For n = 81, delta = 0.0005 and L = 42 this is 13.5 at the first count and
17.2 at the last; the rate of the paper is 28 after 500 rows. Equal weights 1 / L would give 15.7
everywhere. Most searches end at one of the first counts, so these have the larger weights.

Proof that with probability ``1 - delta`` every choice is within ``nu``. Let A be the ``picks`` = r
best of the n arms (of equal arms, the first ones), and m_i the true mean of arm i. All arms read
one random order of the target from its beginning, so the mean of arm i at the count c_l,
x_il, is a function of the order alone, whenever the arm is pulled and whatever else is pulled.

1. Let F_il, for i in A, be the event that m_i lies above the bounds: x_il < m_i and
   c_l * kl(x_il, m_i) > b_l. For i not in A, let F_il be the event that m_i lies below them. By
   Chernoff's bound for independent rewards in [0, 1], P(F_il) <= exp(-b_l) = delta * w_l / n. Rows
   without replacement obey the same bound, because their sum has no larger exponential moment
   (Hoeffding 1963, Theorem 4). If c_l is the whole target, the mean is exact.
2. One event per arm and count: P(some F_il) <= n * sum(delta * w_l / n) = delta. Arms may share
   rows, and the next count may depend on everything that was seen, because the union is over all
   arms and all allowed counts. It has one side per arm, not two: step 3 needs no other.
3. Assume that no F_il happens and the search ends: U(i) - L(j) < nu for every leader j and every
   challenger i. If the leaders are not A, some i in A is a challenger. Every leader j outside of A
   then satisfies m_j >= L(j) > U(i) - nu >= m_i - nu. Leaders in A are not below the r-th best. So
   every leader is within ``nu`` of the r-th best arm.
4. The same step with the best arm as i: either it is a leader, or A is not the set of leaders, and
   a leader outside of A is within ``nu`` of it. So the best leader is within ``nu`` of the best
   arm, which is what greedy selection with r > 1 uses.
5. The search ends: each iteration raises the count of an arm that is not separated, and arms that
   have read the whole target are exact. An endless target has no such end. There c_L is the first
   allowed count above 2 * b_L / nu**2, and no arm is pulled beyond it: by Pinsker's inequality its
   bounds are less than nu / 2 from its mean. A challenger does not have a larger mean than a
   leader, so two arms at c_L are separated. Rows of a stream are not one order for all arms; see
   `StreamRound` for why steps 1 and 2 hold there too.

The number of allowed counts grows with the logarithm of the target, and H with the logarithm of
that. So a target of 10**18 rows instead of 10**5 adds only 0.4 to each rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_integer, require_number
from protobandit.foundation.endless import ENDLESS
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
# Times as many rows as are needed if all rewards are 0. 1.1 needs fewer evaluations; 1.6 lowers the
# loss on MNIST (docs/results/paper/first-batch.md says how it was chosen).
_AT_FIRST = 1.6
_TO_PROVE = 1.1  # the same, for rewards that are rare
_MOST_AT_FIRST = 512
_USUAL_COUNTS = 42  # allowed counts of a target of 50,000 rows
_INSIDE = 2**-53


@dataclass(frozen=True, kw_only=True)
class KLLUCB(Pac):
    """Pull the weakest leaders and the strongest challengers until they are separated.

    Guarantee: with probability ``1 - delta`` every chosen arm is within ``nu`` of the r-th best,
    and one of them is within ``nu`` of the best, unless ``early_stop`` ended the search (then
    ``is_proven`` is False). The proof is at the head of this file.
    Cost: depends on the gaps; never more than one pass over the target, where the choice is exact.

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
        Whether to use `early_rate` where it is below `exploration_rates`.
    early_factor
        The early rate in units of ln(1 / delta).
    batch
        The number of rows of the first pull. By default 1.6 times as many as distinguish an arm
        whose rewards are all 0 from one with the mean ``nu``, but at most 512. 1.1 times as many
        are enough for the proof if rewards are rare; more make the choice better than ``nu``.
    """

    early_stop: bool = False
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
        allowed = self.allowed_counts(len(arms), terms.population)
        proven = exploration_rates(len(arms), len(allowed), self.delta)
        used = np.minimum(proven, self.early_rate) if self.early_stop else proven
        count, mean = np.zeros(len(arms), dtype=np.int64), np.zeros(len(arms))
        chosen, goals = np.arange(len(arms)), np.full(len(arms), allowed[0])
        while len(chosen):
            for together, n_rows in _groups(chosen, count[chosen], goals):
                seen = yield Pull(arms[together], n_rows)
                count[together], mean[together] = seen.count, seen.mean
            at = np.searchsorted(allowed, count)
            state = _Comparison.of(mean, count, terms, used[at], int(allowed[-1]))
            chosen = state.unseparated(self.nu)
            goals = _next_counts(allowed, count[chosen], state.rows_to_separate(chosen, self.nu))
        if self.early_stop:
            state = _Comparison.of(mean, count, terms, proven[at], int(allowed[-1]))
        is_proven = not len(state.unseparated(self.nu))
        best, means = top(arms, mean, terms.picks)
        return Choice(arms=best, means=means, is_proven=is_proven)

    def allowed_counts(self, n_arms: int, population: int) -> Ids:
        """Return the allowed counts: up to the population or, if it is endless, the last needed."""
        first = self.first_batch(n_arms)
        if population < ENDLESS:
            return _allowed_counts(first, population)
        counts = _allowed_counts(first, first)
        while counts[-1] < ENDLESS // 2:
            rate = exploration_rates(n_arms, len(counts), self.delta)[-1]
            if counts[-1] * self.nu**2 > 2 * rate:
                break
            counts = np.append(counts, _next_allowed(int(counts[-1])))
        return counts

    def first_batch(self, n_arms: int) -> int:
        """Return the number of rows of the first pull."""
        if self.batch is not None:
            return self.batch
        rows = _AT_FIRST / _TO_PROVE * self.rows_to_prove(n_arms)
        return _STEP * math.ceil(min(rows, _MOST_AT_FIRST) / _STEP)

    def rows_to_prove(self, n_arms: int) -> float:
        """Return about how many rows separate arms whose rewards are rare."""
        rate = float(exploration_rates(n_arms, _USUAL_COUNTS, self.delta)[0])
        return _TO_PROVE * rate / self.nu

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


def exploration_rates(n_arms: int, n_counts: int, delta: float) -> Doubles:
    """Return b_l = ln(n * l * H / delta) of the allowed counts l = 1, ..., L; H = 1 + ... + 1 / L.

    The sum of exp(-b_l) over the counts is delta / n: the error of one bound of one arm.
    """
    place = np.arange(1, n_counts + 1)
    rates: Doubles = np.log(place) + math.log(n_arms * float((1 / place).sum()) / delta)
    return rates


@dataclass(frozen=True)
class _Comparison:
    """Leaders and challengers after a pull, with the rewards of the leaders mirrored."""

    sides: tuple[Ids, Ids]
    mean: Doubles
    upper: Doubles
    largest: tuple[float, float]
    is_open: NDArray[np.bool_]
    rate: Doubles

    @classmethod
    def of(cls, mean: Doubles, count: Ids, terms: Terms, rate: Doubles, last: int) -> _Comparison:
        order = np.argsort(-mean, kind="stable")
        leaders, challengers = order[: terms.picks], order[terms.picks :]
        mirrored = np.clip(mean, 0.0, 1.0)
        mirrored[leaders] = 1 - mirrored[leaders]
        is_exact = count >= terms.population
        upper = np.where(is_exact, mirrored, upper_bound(mirrored, rate / count))
        largest = float(upper[leaders].max()), float(upper[challengers].max())
        return cls((leaders, challengers), mirrored, upper, largest, count < last, rate)

    def unseparated(self, nu: float) -> Ids:
        """Return, on each side, the half with the larger bounds of the open arms to be separated.

        The result is empty exactly if the gap is below ``nu``: of two arms that are not separated
        one is open, because an exact challenger is not better than an exact leader, and the bounds
        of two arms at the last count of an endless target are within ``nu``.
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
        rows: Doubles = self.rate[chosen] / np.maximum(apart, _INSIDE)
        return rows


def _allowed_counts(first: int, population: int) -> Ids:
    """Return the allowed counts, which grow by about an eighth, up to the population."""
    counts = [first]
    while counts[-1] < population:
        counts.append(_next_allowed(counts[-1]))
    counts[-1] = population
    return np.array(counts, dtype=np.int64)


def _next_allowed(count: int) -> int:
    return _STEP * math.ceil(_GROWTH * count / _STEP)


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
