"""How many prototypes a goal needs, by a sample and by target rows that had no part in it.

Theory of operation
-------------------
Goals need a greedy order, which is cheap on a table of some source rows and some target rows. A
judge proposes a number of prototypes from that order. A search with all rows finds that many, and
the judge measures the result on target rows that are drawn afterwards, so they chose neither the
number nor the prototypes. If they do not confirm the goal, the judge proposes another number.

*Coverage.* The covered shares of the prefixes of the greedy order, on rows of their own, are a
curve. What a search with all rows leaves uncovered is taken to be a constant multiple of what this
curve leaves uncovered. The least number that was enough and the largest one that was not bound the
next proposal. A share is confirmed if its lower confidence bound is not less: by Chernoff's
inequality, which holds for draws without replacement too (Hoeffding 1963), the share p of the
target and the share c of n rows satisfy n kl(c, p) <= ln(1 / delta) for p < c with probability
1 - delta. The attempts share delta equally. If all pairs of target rows and prototypes are few,
all target rows are read and nothing is uncertain.

*Knee.* The prototypes that the search found join those of the greedy order, and the knee of their
curve on the fresh rows must be the one that was proposed. If all distances to the prototypes are
affordable, few target rows very far from all of them join the fresh rows as a stratum, and source
rows near them join the prototypes. So a cluster that is missing from the sample changes the number.

*MinGain.* The prototypes that the search found join the first ones of the sample's order. The
number m at which cost + gain m is least, in their greedy order on fresh rows (all target rows, if
these are affordable), is the one at which gains become too small. It is below the number of
prototypes only if there are some that are not worth it, so the first search finds more than the
sample says. Rows that are drawn may lack those that a prototype serves, and then m is too small.
Therefore half of them order the prototypes that were found, and the other half measures what those
gain that do not seem to be worth it. If that is clearly more than was asked for, m is not used:
the number is bisected between those whose last prototypes are worth it and those whose last ones
are not. And if fewer prototypes turn out to cost clearly more than those before, the goal is
missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import RandomOrder, WeightedSampler, draw_rows
from protobandit.problem.goals import MOST_TRIED, Coverage, Goal, Knee, MinGain, percentage
from protobandit.problem.problem import Problem
from protobandit.run.knee import find_knee, prune
from protobandit.search.arms.kl_lucb import upper_bound
from protobandit.search.drivers.table_greedy import greedy_on_table, order_on_table

CONFIDENCE = 0.95
MOST_PROTOTYPES = 10_000  # of a goal, unless the user passes k
_ATTEMPTS = {Coverage: 6, MinGain: 6, Knee: 3}
_SPARE, _FASTEST = 1.1, 4.0  # growth of the number of prototypes: the least and the largest one
# Source rows and target rows of a sample; fewer where an evaluation is expensive.
_SAMPLE, _EXPENSIVE_SAMPLE = (1 << 12, 1 << 14), (1 << 10, 1 << 12)
_FRESH_ROWS, _EXPENSIVE_FRESH_ROWS = 20_000, 4096
_ALL_PAIRS, _EXPENSIVE_PAIRS = 1 << 27, 1 << 20  # up to which the whole target is read
_ALMOST_ALL, _MORE_PAIRS = 0.999, 1 << 32  # a share that a sample cannot confirm; pairs for it
# Target rows at least, to see whether a share can be reached, and source rows read at once for it.
_LEAST_ROWS, _EXPENSIVE_LEAST_ROWS, _SCANNED_AT_ONCE = 256, 32, 4096
_ERROR = 1e-3  # probability of an error that says that a share cannot be reached, if it can
# Rows very far from all prototypes: in units of the mean of the usual distances; the most of them;
# the share of the cost from which they matter; how many of them get a candidate.
_VERY_FAR, _USUAL, _MOST_FAR, _MUCH, _NEAR_FAR_ROWS = 15.0, 0.95, 2000, 0.02, 8
_BLOCK = 128  # prototypes of the curve that are measured at once
# How close a number of prototypes that covers enough is to one that does not; a search for fewer
# must promise twice as much. Searches for many prototypes take long.
_FINE, _COARSE, _MANY = 0.05, 0.15, 1000
_WINDOW = 10  # the gains of the last tenth of the prototypes are averaged
_CLEARLY = 2.0  # a gain that is this many times as large as the one asked for
_SAME, _CLOSE = 0.05, 0.125  # differences of numbers of prototypes, as shares, that do not matter
_FEWEST_ROWS = 64  # on which other prototypes than those found are measured
_MOST_KEPT = 1 << 25  # distances by which prototypes are ordered
_GRID = 256  # numbers of prototypes at which costs are measured


@dataclass(frozen=True, eq=False)
class GoalSample:
    """Prototypes of a greedy order on a sample, best first.

    ``distances`` are those of the first ones to the target rows of the sample, with their
    ``weights``. ``n_sources`` and ``n_rows`` are the numbers of rows of the sample.
    """

    candidates: Ids
    distances: Floats
    weights: Doubles
    n_sources: int
    n_rows: int


@dataclass(frozen=True)
class Verdict:
    """What target rows say of a result; see `GoalAttempt`. ``next_k`` is None at the end."""

    measured: float
    least: float
    n_rows: int
    is_met: bool
    next_k: int | None


class Judge(Protocol):
    """Proposes numbers of prototypes, and measures results."""

    curve: Doubles | None

    @property
    def first_k(self) -> int:
        """Return the number of prototypes of the first attempt."""
        ...

    def judge(self, prototypes: Ids, random: np.random.Generator, most: int | None) -> Verdict:
        """Measure a result with at most this many evaluations, or any number."""
        ...


def most_attempts(goal: Goal) -> int:
    """Return how many searches are made for a goal."""
    return _ATTEMPTS[type(goal)]


def most_prototypes(problem: Problem) -> int:
    """Return the largest number of prototypes that the attempts may have."""
    if isinstance(problem.goal, Knee):
        return problem.k
    is_given = problem.k < problem.feasibility.capacity
    return problem.k if is_given else min(problem.k, max(MOST_PROTOTYPES, _n_fixed(problem)))


def sample_size(problem: Problem, most: int) -> tuple[int, int]:
    """Return the numbers of source and target rows of a sample of at most ``most`` pairs."""
    wanted = _EXPENSIVE_SAMPLE if problem.metric.is_expensive else _SAMPLE
    n_sources, n_rows = min(wanted[0], problem.n_source), min(wanted[1], problem.n_target)
    share = math.sqrt(min(1.0, most / (n_sources * n_rows)))
    return max(1, int(n_sources * share)), max(1, int(n_rows * share))


def draw_sample(
    oracle: Oracle, size: tuple[int, int], most: int, random: np.random.Generator
) -> GoalSample:
    """Return the greedy order of at most ``most`` source rows on a sample of this size."""
    problem = oracle.problem
    arms = _drawn_sources(problem, size[0], random)
    rows, weights = _drawn_rows(problem, size[1], random)
    table = FullTable.of(oracle, arms, oracle.targets(rows))
    feasibility = problem.feasibility.among(arms)
    capacity = int(np.minimum(feasibility.most, feasibility.sizes).sum())
    chosen, _ = greedy_on_table(table, weights, min(most, capacity), random, feasibility)
    distances = table.matrix[chosen[:MOST_TRIED]]
    return GoalSample(arms[chosen], distances, weights, len(arms), len(rows))


def judge_of(
    oracle: Oracle,
    sample: GoalSample,
    most_k: int,
    random: np.random.Generator,
    most: int | None,
    most_kept: int,
) -> Judge:
    """Return the judge of the goal of a problem.

    ``most`` limits its evaluations, ``most_kept`` how many distances it may keep.
    """
    goal = oracle.problem.goal
    if isinstance(goal, Knee):
        return KneeJudge(oracle, sample)
    n = _n_fresh(oracle.problem, len(sample.candidates), most)
    rows, weights = _drawn_rows(oracle.problem, n, random)
    if isinstance(goal, MinGain):
        return GainJudge(oracle, goal, sample, most_k, rows, weights, most_kept)
    assert isinstance(goal, Coverage)
    judge = CoverageJudge(oracle, goal, sample, most_k, rows, weights)
    if oracle.problem.k == oracle.problem.feasibility.capacity:
        judge.require_reachable(random, most)
    return judge


class KneeJudge:
    """Proposes the knee of a curve."""

    def __init__(self, oracle: Oracle, sample: GoalSample) -> None:
        self._oracle = oracle
        self._candidates = sample.candidates
        self._n_fixed = _n_fixed(oracle.problem)
        # Candidates are joined without regard to quotas, which allow no more than the capacity.
        self._most = min(MOST_TRIED, oracle.problem.feasibility.capacity)
        pruned = prune(sample.distances, sample.weights, n_fixed=self._n_fixed)
        self.curve: Doubles | None = pruned.costs[: self._most]
        self.first_k = find_knee(self.curve, least=self._n_fixed).k
        self._proposed = {self.first_k}

    def judge(self, prototypes: Ids, random: np.random.Generator, most: int | None) -> Verdict:
        k, oracle, fixed = len(prototypes), self._oracle, self._candidates[: self._n_fixed]
        n = _n_fresh(oracle.problem, k + len(self._candidates), most)
        rows, weights = _drawn_rows(oracle.problem, n, random)
        rows, weights, far = self._with_far_rows(prototypes, rows, weights, most)
        others = np.union1d(self._candidates, np.append(prototypes, far))
        every = np.concatenate([fixed, np.setdiff1d(others, fixed)])
        distances = oracle.distances(every, oracle.targets(rows))
        costs = prune(distances, weights, n_fixed=self._n_fixed).costs[: self._most]
        found, self.curve = find_knee(costs, least=self._n_fixed), costs
        if not found.is_clear:  # any number is as good as another
            return Verdict(float(k), float(k), len(rows), False, None)
        is_new = found.k not in self._proposed
        self._proposed.add(found.k)
        next_k = found.k if is_new else None
        return Verdict(float(found.k), float(found.k), len(rows), found.k == k, next_k)

    def _with_far_rows(
        self, prototypes: Ids, rows: Ids, weights: Doubles, most: int | None
    ) -> tuple[Ids, Doubles, Ids]:
        """Return rows and weights with all rows very far from prototypes, and sources near these.

        A cluster may be so small that a sample has none of its rows, and so far that it matters.
        """
        oracle, problem, none = self._oracle, self._oracle.problem, np.empty(0, dtype=np.int64)
        n_target, open_rows = problem.n_target, _open_rows(problem)
        n_pairs = len(prototypes) * n_target + _NEAR_FAR_ROWS * len(open_rows)
        if len(rows) == n_target or n_pairs > (_n_pairs(problem) if most is None else most // 2):
            return rows, weights, none
        every = np.arange(n_target)
        nearest = _nearest_at(oracle, prototypes, every, np.array([len(prototypes)]))[0]
        nearest, own = nearest.astype(np.float64), problem.target_weights
        usual = np.quantile(nearest, _USUAL)
        far = np.flatnonzero(nearest > _VERY_FAR * nearest[nearest <= usual].mean())
        carried = float(nearest[far] @ own[far]) / max(float(nearest @ own), 1e-300)
        if not 0 < len(far) <= _MOST_FAR or carried < _MUCH:
            return rows, weights, none
        others = rows[~np.isin(rows, far)]
        rest = np.full(len(others), (own.sum() - own[far].sum()) / max(1, len(others)))
        worst = far[np.argsort(-nearest[far], kind="stable")[:_NEAR_FAR_ROWS]]
        near = _nearest_source(oracle, open_rows, worst)
        return np.append(others, far), np.append(rest, own[far]), near


class _BoundedJudge:
    """What judges of coverages and gains share: the bounds of the number of prototypes."""

    def __init__(self, oracle: Oracle, most: int) -> None:
        self._oracle = oracle
        self._most = most
        self._least = max(1, _n_fixed(oracle.problem))
        self.curve: Doubles | None = None


class CoverageJudge(_BoundedJudge):
    """Proposes the number of prototypes that covers a share."""

    def __init__(
        self,
        oracle: Oracle,
        goal: Coverage,
        sample: GoalSample,
        most: int,
        rows: Ids,
        weights: Doubles,
    ) -> None:
        super().__init__(oracle, most)
        self._goal = goal
        self._missed, self._met = self._least - 1, most + 1
        self._n_missed = 0
        bound = self._lower(goal.share, len(rows), len(rows) == oracle.problem.n_target)
        self._wanted = min(2 * goal.share - bound, 1.0)
        self._shares = self._measured_shares(sample.candidates, rows, weights)

    @property
    def first_k(self) -> int:
        found = self._on_curve(self._wanted)
        if found is None:
            # The covered share grows at most in proportion to the number of prototypes.
            n, best = len(self._shares), float(self._shares[-1])
            found = math.ceil(min(n * self._goal.share / max(best, 1e-9), self._most))
        return max(self._least, min(found, self._most))

    def judge(self, prototypes: Ids, random: np.random.Generator, most: int | None) -> Verdict:
        k, problem = len(prototypes), self._oracle.problem
        is_almost_all = self._goal.share > _ALMOST_ALL
        n = _n_fresh(problem, k, most, is_whole=True, is_almost_all=is_almost_all)
        rows, weights = _drawn_rows(problem, n, random)
        nearest = _nearest_at(self._oracle, prototypes, rows, np.array([k]))[0]
        covered, is_exact = self._goal.covered(nearest, weights), len(rows) == problem.n_target
        least = self._lower(covered, len(rows), is_exact)
        is_met = least >= self._goal.share
        if is_met:
            self._met = min(self._met, k)
        else:
            self._missed = max(self._missed, k)
            self._n_missed += 1
        return Verdict(covered, least, len(rows), is_met, self._next(k, covered, least, is_met))

    def _next(self, k: int, covered: float, least: float, is_met: bool) -> int | None:
        """Return the next proposal between the numbers that missed the goal and that met it."""
        low, high = self._missed + 1, self._met - 1
        accuracy = _FINE if k < _MANY else _COARSE
        if low > high or (self._met <= self._most and high - low < accuracy * self._met):
            return None
        if covered == 1.0 and not is_met:  # no sample of this size can confirm the share
            return None
        wanted = min(self._goal.share + covered - least, 1.0)
        before = float(self._shares[min(k, len(self._shares)) - 1])
        found = None
        if covered < 1.0:
            found = self._on_curve(1 - (1 - wanted) * (1 - before) / (1 - covered))
        if found is None and is_met:
            found = k // 2 if covered == 1.0 else k
        elif found is None:
            found = math.ceil(k * max(1.5, wanted / max(covered, 1e-9)))
        found = max(found, k // 2, low)
        if is_met:
            if found == low > self._least:  # one more than a number that was not enough
                found = (low + high) // 2
            return found if found <= min(high, (1 - 2 * accuracy) * k) else None
        # The last rows to be covered may need far more prototypes than the curve says.
        found = max(found, k + 1, math.ceil(k * (1 + accuracy * 2.0**self._n_missed)))
        if found > high and self._met <= self._most:
            found = (low + high) // 2
        return min(found, 4 * k, high)

    def require_reachable(self, random: np.random.Generator, most: int | None) -> None:
        """Raise if not even all source rows together are likely to reach the share."""
        oracle, problem, goal = self._oracle, self._oracle.problem, self._goal
        if problem.target is problem.source and not problem.feasibility.has_quotas:
            return  # every row covers itself
        arms = _open_rows(problem)
        n = _n_reached(problem, len(arms), most)
        if self._shares[-1] >= goal.share or n == 0:
            return
        rows, weights = _drawn_rows(problem, n, random)
        targets, nearest = oracle.targets(rows), np.full(n, np.inf, dtype=oracle.dtype)
        for cut in cuts(len(arms), _SCANNED_AT_ONCE):
            least = oracle.distances(arms[cut], targets).min(axis=0)
            nearest = np.minimum(nearest, least)
        best = goal.covered(nearest, weights)
        is_exact = n == problem.n_target
        level = np.array([math.log(1 / _ERROR) / n])
        if (best if is_exact else float(upper_bound(np.array([best]), level)[0])) < goal.share:
            radius = goal.needed_radius(nearest, weights)
            raise InvalidInput(
                f"until={goal} cannot be reached: of a sample of {n:,} target rows, all source "
                f"rows together cover {percentage(best)} within {goal.radius:g}. Pass share <= "
                f"{best:.4g}, or radius >= {radius:.4g}."
            )

    def _on_curve(self, share: float) -> int | None:
        """Return the first number of prototypes at which the curve has this share."""
        found = int(np.searchsorted(self._shares, share))
        return None if found == len(self._shares) else found + 1

    def _measured_shares(self, candidates: Ids, rows: Ids, weights: Doubles) -> Doubles:
        """Return the covered shares of prefixes, until they are well above the one asked for."""
        oracle, goal = self._oracle, self._goal
        targets = oracle.targets(rows)
        nearest = np.full(len(rows), np.inf, dtype=oracle.dtype)
        shares: list[Doubles] = []
        n_reached: int | None = None
        for start in range(0, len(candidates), _BLOCK):
            block = oracle.distances(candidates[start : start + _BLOCK], targets)
            running = np.minimum.accumulate(np.vstack([nearest[None], block]), axis=0)[1:]
            nearest = running[-1]
            shares.append((running <= goal.radius) @ weights / weights.sum())
            if n_reached is None and shares[-1][-1] >= self._wanted:
                n_reached = start + _BLOCK
            if n_reached is not None and start >= 1.5 * n_reached:
                break
        return np.concatenate(shares)

    def _lower(self, covered: float, n: int, is_exact: bool) -> float:
        """Return the lower confidence bound of the share of the target."""
        if is_exact:
            return covered
        level = np.array([math.log(most_attempts(self._goal) / (1 - CONFIDENCE)) / n])
        return 1 - float(upper_bound(np.array([1 - covered]), level)[0])


@dataclass(frozen=True, eq=False)
class _Curve:
    """The ``costs`` of the first ``counts`` prototypes of an order."""

    order: Ids
    counts: Ids
    costs: Doubles


class GainJudge(_BoundedJudge):
    """Proposes the number of prototypes after which gains are too small."""

    def __init__(
        self,
        oracle: Oracle,
        goal: MinGain,
        sample: GoalSample,
        most: int,
        rows: Ids,
        weights: Doubles,
        most_kept: int,
    ) -> None:
        super().__init__(oracle, most)
        self._goal = goal
        self._most_kept = min(most_kept, _MOST_KEPT)
        self._candidates = sample.candidates
        self._too_few, self._too_many = self._least - 1, math.inf
        self._costs: dict[int, float] = {}  # by number of prototypes
        counts = _grid(len(sample.candidates))
        nearest = _nearest_at(oracle, sample.candidates, rows, counts)
        found = self._worthy(counts, nearest @ weights / weights.sum())
        self.first_k = self._clipped(math.ceil(_SPARE * found) + 1)

    def judge(self, prototypes: Ids, random: np.random.Generator, most: int | None) -> Verdict:
        k, oracle = len(prototypes), self._oracle
        most_kept = self._most_kept if most is None else min(self._most_kept, most)
        # Fewer others if all target rows can be read then, or if few evaluations are left.
        n_others = most_kept // oracle.problem.n_target - k
        n_others = min(k, n_others if n_others >= 0 else most_kept // _FEWEST_ROWS - k)
        others = self._candidates[: max(0, n_others)]
        every = np.append(prototypes, np.setdiff1d(others, prototypes))
        n = _n_fresh(oracle.problem, len(every), most, is_whole=True)
        n = min(n, max(1, most_kept // len(every)))
        rows, weights = _drawn_rows(oracle.problem, n, random)
        if k <= self._least:
            return Verdict(math.inf, math.inf, len(rows), True, None)
        matrix = oracle.distances(every, oracle.targets(rows))
        gain, error, is_trusted = self._gains(prototypes, matrix[:k], weights)
        curve = self._curve_of(every, matrix, weights)
        found = self._clipped(self._worthy(curve.counts, curve.costs)) if is_trusted else None
        # The rows of this attempt or of an earlier one may lack those of small clusters.
        is_wrong = self._is_far_worse(k, float(matrix[:k].min(axis=0) @ weights / weights.sum()))
        next_k = None if is_wrong else self._next(k, found, gain, error)
        is_met = next_k is None and not is_wrong
        return Verdict(gain, gain - 2 * error, len(rows), is_met, next_k)

    def _is_far_worse(self, k: int, cost: float) -> bool:
        """Return whether more prototypes were found to gain clearly more than was asked for."""
        least = _CLEARLY * self._goal.gain
        found = any(cost - other > least * (n - k) for n, other in self._costs.items() if n > k)
        self._costs[k] = cost
        return found

    def _next(self, k: int, found: int | None, gain: float, error: float) -> int | None:
        """Return the next proposal; ``found`` prototypes are worth it, None if that is unknown."""
        was_bounded = math.isfinite(self._too_many)
        if found < k if found is not None else gain + 2 * error < self._goal.gain:
            self._too_many = min(self._too_many, k)
        elif found is None:
            self._too_few = max(self._too_few, k)
        low, high = self._too_few, self._too_many
        if math.isinf(high):
            growth = min(max(gain / self._goal.gain, _SPARE), _FASTEST)
            return self._clipped(math.ceil(growth * k)) if k < self._most else None
        if found is None:
            is_near = high - low <= max(1.0, _CLOSE * high)
        else:
            is_near = found >= k or (was_bounded and found >= (1 - _SAME) * k)
        if is_near:
            return None
        if found is not None and found > low:
            return found
        middle = round(math.sqrt(max(low, 1) * high))
        return middle if low < middle < high else None

    def _gains(
        self, prototypes: Ids, matrix: Floats, weights: Doubles
    ) -> tuple[float, float, bool]:
        """Return the mean gain of the last prototypes and its standard error.

        The third result is whether those that do not seem to be worth it do not gain clearly more
        than was asked for. Half of the rows order the prototypes, and the others measure; all
        target rows do both.
        """
        k, counts = len(prototypes), _grid(len(prototypes))
        ordering = measuring = slice(None)
        is_exact = len(weights) == self._oracle.problem.n_target
        if not is_exact and len(weights) > 1:
            ordering, measuring = slice(0, None, 2), slice(1, None, 2)
        own = np.ascontiguousarray(matrix[:, ordering])
        curve = self._curve_of(prototypes, own, weights[ordering])
        worthy = self._worthy(curve.counts, curve.costs)
        nearest = _running_least(matrix[curve.order, measuring])[counts - 1]
        shares = weights[measuring] / weights[measuring].sum()

        def drops_after(count: int) -> Doubles:
            at = int(np.searchsorted(counts, count, side="right")) - 1
            drops: Doubles = (nearest[at] - nearest[-1]).astype(np.float64) / (k - counts[at])
            return drops

        drops = drops_after(max(self._least, k - max(1, k // _WINDOW)))  # the mean is less noisy
        gain = float(drops @ shares)
        error = math.sqrt(float((drops - gain) ** 2 @ shares) / len(shares))
        if is_exact or worthy == k:
            return gain, 0.0 if is_exact else error, True
        return gain, error, float(drops_after(worthy) @ shares) <= _CLEARLY * self._goal.gain

    def _curve_of(self, prototypes: Ids, matrix: Floats, weights: Doubles) -> _Curve:
        """Return a greedy order, in which fixed prototypes come first, and its costs."""
        every, counts = np.arange(len(prototypes)), _grid(len(prototypes))
        fixed = np.flatnonzero(np.isin(prototypes, self._oracle.problem.feasibility.fixed))
        table = FullTable(oracle=self._oracle, arms=prototypes, matrix=matrix)
        first, _ = order_on_table(table, weights, fixed)
        order = np.append(first, np.setdiff1d(every, first))
        nearest = _running_least(matrix[order])[counts - 1]
        return _Curve(order, counts, nearest.astype(np.float64) @ weights / weights.sum())

    def _worthy(self, counts: Ids, costs: Doubles) -> int:
        """Return after how many prototypes gains are too small: there cost + gain k is least."""
        return int(counts[np.argmin(costs + self._goal.gain * counts)])

    def _clipped(self, k: int) -> int:
        return max(self._least, min(k, self._most))


# -- rows -----------------------------------------------------------------------------------------


def _n_fixed(problem: Problem) -> int:
    return len(problem.feasibility.fixed)


def _open_rows(problem: Problem) -> Ids:
    """Return the source rows that may be chosen."""
    feasibility = problem.feasibility
    if not feasibility.has_quotas:
        return np.arange(problem.n_source)
    return np.flatnonzero(feasibility.most[feasibility.groups] > 0)


def _nearest_source(oracle: Oracle, sources: Ids, rows: Ids) -> Ids:
    """Return which of some source rows is nearest to each target row."""
    targets = oracle.targets(rows)
    best, least = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), np.inf)
    for cut in cuts(len(sources), _SCANNED_AT_ONCE):
        block = oracle.distances(sources[cut], targets)
        at = block.argmin(axis=0)
        found = block[at, np.arange(len(rows))]
        is_less = found < least
        best[is_less], least[is_less] = sources[cut][at[is_less]], found[is_less]
    return best


def _drawn_sources(problem: Problem, n: int, random: np.random.Generator) -> Ids:
    """Return sorted source rows that may be chosen, all fixed ones among them.

    If the target is the source, half of them are drawn by weight: heavy rows are good prototypes.
    """
    feasibility, n_source = problem.feasibility, problem.n_source
    open_rows = _open_rows(problem)
    drawn = open_rows[RandomOrder(len(open_rows), random).read(0, n)]
    if problem.target is problem.source and problem.weights is not None and n < n_source:
        heavy = WeightedSampler(problem.weights).draw(n // 2, random)
        drawn = np.concatenate([drawn[: n - n // 2], heavy[np.isin(heavy, open_rows)]])
    return np.union1d(drawn, feasibility.fixed)


def _drawn_rows(problem: Problem, n: int, random: np.random.Generator) -> tuple[Ids, Doubles]:
    """Return ``n`` target rows drawn by weight, or all of them, and their weights."""
    if n >= problem.n_target:
        return np.arange(problem.n_target), problem.target_weights
    rows = np.sort(draw_rows(problem.n_target, problem.weights, n, random))
    return rows, weights_or_ones(None, len(rows))


def _n_pairs(problem: Problem) -> int:
    """Return up to how many pairs the whole target is read."""
    return _EXPENSIVE_PAIRS if problem.metric.is_expensive else _ALL_PAIRS


def _n_fresh(
    problem: Problem,
    k: int,
    most: int | None,
    *,
    is_whole: bool = False,
    is_almost_all: bool = False,
) -> int:
    """Return on how many target rows ``k`` prototypes are measured.

    ``is_whole`` is whether the whole target may be read, ``is_almost_all`` whether it should be.
    """
    is_expensive, n_target = problem.metric.is_expensive, problem.n_target
    n = min(_EXPENSIVE_FRESH_ROWS if is_expensive else _FRESH_ROWS, n_target)
    pairs = _MORE_PAIRS if is_almost_all and not is_expensive else _n_pairs(problem)
    if is_whole and k * n_target <= pairs:
        n = n_target
    return n if most is None else min(n, max(1, most // k))


def _n_reached(problem: Problem, n_arms: int, most: int | None) -> int:
    """Return on how many target rows all ``n_arms`` source rows that may be chosen are tried."""
    is_expensive = problem.metric.is_expensive
    least = _EXPENSIVE_LEAST_ROWS if is_expensive else _LEAST_ROWS
    fresh = _EXPENSIVE_FRESH_ROWS if is_expensive else _FRESH_ROWS
    n = min(fresh, problem.n_target, max(least, _n_pairs(problem) // n_arms))
    return n if most is None else min(n, most // n_arms)


def _nearest_at(oracle: Oracle, prototypes: Ids, rows: Ids, counts: Ids) -> Floats:
    """Return the distances of rows to the nearest of the first m prototypes, for all counts m."""
    nearest = np.empty((len(counts), len(rows)), dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        if len(counts) == 1:
            nearest[0, cut] = block.min(axis=0)
        else:
            nearest[:, cut] = np.minimum.accumulate(block, axis=0)[counts - 1]

    is_whole = len(rows) == oracle.problem.n_target
    oracle.each_chunk(prototypes, visit, None if is_whole else rows)
    return nearest


def _running_least(distances: Floats) -> Floats:
    """Replace distances to single prototypes by those to the nearest of the first ones."""
    return np.minimum.accumulate(distances, axis=0, out=distances)


def _grid(k: int) -> Ids:
    """Return numbers of prototypes from 1 to k: all of them, or some in geometric progression."""
    if k <= _GRID:
        return np.arange(1, k + 1)
    first = _GRID // 4
    later = np.round(np.geomspace(first, k, _GRID - first)).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, first), later]))
