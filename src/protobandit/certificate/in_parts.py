"""A certificate for rows that are parts of a collection, by passes over the parts.

Theory of operation
-------------------
The proof is that of `protobandit.certificate.rigorous`; what differs is where its numbers come
from.

1. A pass over the target computes the distance of every row to the selection: the exact cost c, and
   for each part the total of q_j s_j, from which rows are drawn.
2. A second pass returns the drawn rows: one from each of n strata of equal probability. The target
   is divided in the order of its parts and rows, which is fixed before anything is drawn.
3. The driver tunes prices on some arms: the prototypes and a sample of the source. Any prices give
   a valid bound (`protobandit.certificate.dual`), once the savings of *all* arms are known.
4. A pass over the source computes these: each part returns its k arms that save most, and the k
   largest savings of all parts give the bound. The arms join those on which prices are tuned, and
   a second round usually makes the bound tighter; the higher bound of both is the result.

Nothing of the size of source or target is kept by the driver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.certificate.betting import (
    LARGEST_LOSS,
    Bound,
    best_bet,
    least_mean,
    no_cost,
    value_function,
)
from protobandit.certificate.dual import DualSample, dual_table, solve_dual
from protobandit.certificate.rigorous import assign_target
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.selection import smallest
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import rows_at_shares
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.problem import Problem
from protobandit.rows.partitioned_rows import PartitionedRows
from protobandit.rows.parts import PartRows, writable
from protobandit.rows.rows import DenseRows

ROUNDS = 2
_ARMS = 20  # per prototype, on which prices are tuned
_LEAST_ARMS = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class _Near:
    """What tasks of a pass over the target share: the prototypes, and what to draw."""

    metric: Metric
    prototypes: np.ndarray[Any, Any]
    cost: float = 0.0
    positions: tuple[Doubles, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawn:
    """Target rows that were drawn, with their distances to the selection."""

    rows: np.ndarray[Any, Any]
    nearest: Doubles
    counts: Ids


@dataclass(frozen=True, kw_only=True, eq=False)
class _Prices:
    """What tasks of a pass over the source share: drawn rows, their prices, and their bets.

    An arm saves something at a row if its distance is below ``limits``.
    """

    metric: Metric
    rows: np.ndarray[Any, Any]
    weights: Doubles
    nearest: Doubles
    units: Doubles
    prices: Doubles
    limits: Doubles
    bet: float
    k: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Savings:
    """The arms of a part that save most."""

    worth: Doubles
    rows: np.ndarray[Any, Any]
    evaluations: int


def rigorous_bound_in_parts(
    oracle: Oracle, prototypes: Ids, n_rows: int, confidence: float, random: np.random.Generator
) -> Bound:
    """Draw target rows by their distance to the selection, and bet.

    Cost: 2 k |T| evaluations, and |S| per row and round.
    """
    problem = oracle.problem
    own = problem.source.take(prototypes)
    cost, drawn, n_target = _drawn_rows(oracle, own, prototypes, n_rows, random)
    if drawn is None:
        return no_cost(n_target)
    penalty = -math.log1p(-confidence) / n_rows
    units = (drawn.nearest + cost) / 2
    bet = best_bet(penalty, _variance(oracle, prototypes), LARGEST_LOSS / 2)
    best = _dual_bound(oracle, own, drawn, units, bet)
    lowest = 1 + least_mean(best, bet, penalty)
    return Bound(
        kind="rigorous",
        confidence=confidence,
        cost=cost,
        best=cost * lowest,
        ratio=1 / lowest if lowest > 0 else math.inf,
        n_rows=len(drawn.rows),
    )


def _variance(oracle: Oracle, prototypes: Ids) -> float:
    """Return a guess at the variance of X from rows that have no part in the bet."""
    problem = oracle.problem
    rows = problem.sample().target if problem.fresh is None else problem.fresh
    sample = _problem(
        problem.source.take(prototypes), rows.take(slice(0, len(rows))), problem.metric
    )
    return assign_target(oracle.beside(sample), np.arange(len(prototypes))).variance


def _problem(source: Any, target: Any, metric: Metric) -> Problem:
    dtype = np.promote_types(source.dtype, target.dtype)
    return Problem(
        source=DenseRows(writable(source), name="source", dtype=dtype),
        target=DenseRows(writable(target), name="target", dtype=dtype),
        metric=metric,
        weights=None,
        k=1,
        feasibility=Feasibility.none(len(source)),
    )


# -- the target -----------------------------------------------------------------------------------


def _drawn_rows(
    oracle: Oracle, own: Any, prototypes: Ids, n: int, random: np.random.Generator
) -> tuple[float, _Drawn | None, int]:
    """Return the exact cost, the rows drawn (None if it is 0), and the number of target rows."""
    problem, target = oracle.problem, oracle.problem.target
    if not isinstance(target, PartitionedRows):
        assigned = assign_target(oracle, prototypes)
        if assigned.cost == 0:
            return 0.0, None, len(target)
        rows, counts = np.unique(assigned.draw(n, random), return_counts=True)
        found = _Drawn(rows=target.take(rows), nearest=assigned.nearest[rows], counts=counts)
        return assigned.cost, found, len(target)
    shared = _Near(metric=problem.metric, prototypes=own)
    n_parts = len(target.lengths)
    sums, masses = np.zeros(n_parts), np.zeros(n_parts)
    for number, (total, mass) in target.run(_part_cost, shared, doing="measuring the cost"):
        sums[number], masses[number] = total, mass
    cost = float(sums.sum() / masses.sum())
    oracle.evaluations[oracle.phase] += len(prototypes) * len(target)
    if cost == 0:
        return 0.0, None, len(target)
    ends = np.cumsum((sums + masses * cost) / 2)
    places = (np.arange(n) + random.random(n)) / n * ends[-1]
    part = np.minimum(np.searchsorted(ends, places, side="right"), n_parts - 1)
    starts = np.append(0.0, ends[:-1])
    positions = tuple(places[part == p] - starts[p] for p in range(n_parts))
    shared = _Near(metric=problem.metric, prototypes=own, cost=cost, positions=positions)
    used = [p for p in range(n_parts) if len(positions[p])]
    found_parts: dict[int, _Drawn] = dict(
        target.run(_draw_part, shared, doing="drawing rows", numbers=used)
    )
    oracle.evaluations[oracle.phase] += len(prototypes) * int(target.lengths[used].sum())
    every = [found_parts[p] for p in used]
    drawn = _Drawn(
        rows=np.concatenate([each.rows for each in every]),
        nearest=np.concatenate([each.nearest for each in every]),
        counts=np.concatenate([each.counts for each in every]),
    )
    return cost, drawn, len(target)


def _nearest(part: PartRows, shared: _Near) -> Doubles:
    """Return the distance of each row of a part to the selection."""
    numbers = part.numbers.astype(shared.prototypes.dtype, copy=False)
    oracle = Oracle(_problem(shared.prototypes, numbers, shared.metric), n_jobs=1)
    nearest = np.empty(len(part))

    def visit(block: Floats, cut: slice) -> None:
        nearest[cut] = block.min(axis=0)

    oracle.each_chunk(np.arange(len(shared.prototypes)), visit, None)
    return nearest


def _part_cost(part: PartRows, shared: _Near, number: int) -> tuple[float, float]:
    """Return the weighted sum of the distances of a part, and the sum of its weights."""
    nearest = _nearest(part, shared)
    weights = np.ones(len(part)) if part.weights is None else part.weights
    return float(weights @ nearest), float(weights.sum())


def _draw_part(part: PartRows, shared: _Near, number: int) -> _Drawn:
    """Return the rows of a part at the positions that were drawn."""
    nearest = _nearest(part, shared)
    weights = np.ones(len(part)) if part.weights is None else part.weights
    cumulative = np.cumsum(weights * (nearest + shared.cost) / 2)
    shares = np.minimum(shared.positions[number] / cumulative[-1], np.nextafter(1.0, 0.0))
    rows, counts = np.unique(rows_at_shares(cumulative, shares), return_counts=True)
    numbers = part.numbers[rows].astype(shared.prototypes.dtype, copy=False)
    return _Drawn(rows=np.array(numbers), nearest=nearest[rows], counts=counts)


# -- the source -----------------------------------------------------------------------------------


def _dual_bound(oracle: Oracle, own: Any, drawn: _Drawn, units: Doubles, bet: float) -> float:
    """Return a lower bound on the mean of ln(1 + b X) / b over the drawn rows, for any k arms."""
    problem, k = oracle.problem, len(own)
    weights = drawn.counts / drawn.counts.sum()
    value = value_function(units, bet)
    sample = DualSample(rows=None, weights=weights, value=value)
    source = problem.source
    if not isinstance(source, PartitionedRows):
        rows = source.take(slice(0, len(source)))
        beside = oracle.beside(_problem(np.concatenate([own, rows]), drawn.rows, problem.metric))
        beside.phase = oracle.phase
        table = dual_table(beside, np.arange(k), sample)
        return solve_dual(beside, table, k).bound
    n_arms = max(_LEAST_ARMS, _ARMS * k)
    arms = np.concatenate([own, source.sample(n_arms)])
    best = -math.inf
    prices: Doubles | None = None
    for round_ in range(ROUNDS):
        beside = oracle.beside(_problem(arms, drawn.rows, problem.metric))
        beside.phase = oracle.phase
        table = dual_table(beside, np.arange(k), sample)
        solved = solve_dual(beside, table, k, prices)
        prices = solved.prices
        shared = _Prices(
            metric=problem.metric,
            rows=drawn.rows,
            weights=weights,
            nearest=drawn.nearest,
            units=units,
            prices=prices,
            limits=drawn.nearest + units * np.expm1(bet * prices) / bet,
            bet=bet,
            k=k,
        )
        worth, rows = _largest_savings(oracle, source, shared, round_ + 1)
        best = max(best, float(weights @ prices - worth.sum()))
        arms = np.concatenate([arms, rows.astype(arms.dtype, copy=False)])
    return min(best, 0.0)


def _largest_savings(
    oracle: Oracle, source: PartitionedRows, shared: _Prices, number: int
) -> tuple[Doubles, Any]:
    """Return the k largest savings of all arms, and the rows of these arms."""
    worth: dict[int, Doubles] = {}
    rows: dict[int, Any] = {}
    for part, found in source.run(_part_savings, shared, doing=f"bounding, round {number}"):
        worth[part], rows[part] = found.worth, found.rows
        oracle.evaluations[oracle.phase] += found.evaluations
    parts = sorted(worth)
    every = np.concatenate([worth[part] for part in parts])
    largest = smallest(-every, min(shared.k, len(every)))
    return every[largest], np.concatenate([rows[part] for part in parts])[largest]


def _part_savings(part: PartRows, shared: _Prices, number: int) -> _Savings:
    """Return the k arms of a part that save most at the given prices."""
    numbers = part.numbers.astype(shared.rows.dtype, copy=False)
    problem = _problem(numbers, shared.rows, shared.metric)
    oracle = Oracle(problem, n_jobs=1)
    worth = np.zeros(len(part))

    def visit(block: Floats, tile: slice) -> None:
        arms, rows = np.nonzero(block < shared.limits)
        gaps = block[arms, rows].astype(np.float64) - shared.nearest[rows]
        values = np.log1p(shared.bet * gaps / shared.units[rows]) / shared.bet
        saved = shared.weights[rows] * np.maximum(shared.prices[rows] - values, 0.0)
        worth[tile] = np.bincount(arms, saved, len(block))

    oracle.visit(np.arange(len(part)), oracle.targets(slice(0, len(shared.rows))), visit)
    best = np.sort(smallest(-worth, min(shared.k, len(part))))
    return _Savings(
        worth=worth[best], rows=np.array(numbers[best]), evaluations=oracle.evaluations.total()
    )
