"""The k-median problem on a few target rows, bounded from below by its dual.

Row t has the values y_ti, one for each arm i. For any prices a_t and any set A of arms,
min over A of y_ti >= a_t - sum over A of max(a_t - y_ti, 0). Averaged with weights that sum to 1,
no k arms reach less than

    sum_t w_t a_t  -  (sum of the k largest over i of sum_t w_t max(a_t - y_ti, 0)).

Any prices will do; subgradient steps raise the bound to the value of the linear relaxation
(Cornuejols, Fisher, Nemhauser 1977). Values are held for each row's nearest arms only: a price is
never set above the farthest of them, so what is not held is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.slices import cuts
from protobandit.kernels.dual import Arms, arm_savings, count_serving_arms
from protobandit.oracle.oracle import Oracle

_REACH = 4.0  # a row is served by one arm in |S| / k: prices rarely pass twice as many
_LEAST_REACH = 1.5
_MOST_CELLS = 1 << 25
_SOME_ROWS = 256  # that there must be room for, if not for all their arms
_STRIP = 128
_MOST_STEPS = 1000
_FEW_CELLS = 1 << 18
_PATIENCE = (6, 20)  # steps without success, and where steps cost next to nothing
_LAST_STRIDE = 2.0**-7
_INERTIA = 0.7
_NIL = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class DualSample:
    """Target rows (None: all of them), weights that sum to 1, and how to value their distances.

    ``value(gaps, cut)`` makes y of d(t, i) - D_t, D_t the distance to the nearest prototype, for
    these rows of the sample; it grows with the gap, and is 0 at 0.
    """

    rows: Ids | None
    weights: Doubles
    value: Callable[[Doubles, slice], Doubles]


@dataclass(frozen=True, kw_only=True, eq=False)
class DualTable:
    """Each row's nearest arms and their values, least first; and D_t."""

    n_arms: int
    weights: Doubles
    arms: Arms
    values: Floats
    nearest: Doubles

    @property
    def cost(self) -> float:
        """Return the mean of D_t."""
        return float(self.weights @ self.nearest)


def rows_held(n_arms: int, k: int) -> int:
    """Return of how many rows enough arms can be held."""
    return max(_MOST_CELLS // _arms_within(_LEAST_REACH, n_arms, k), _SOME_ROWS)


def _arms_within(reach: float, n_arms: int, k: int) -> int:
    return min(n_arms, math.ceil(reach * n_arms / k))


def tabulate(oracle: Oracle, prototypes: Ids, sample: DualSample) -> DualTable:
    """Compare every source row with the sample, and keep each row's nearest.

    Cost: |S| evaluations a row.
    """
    n_arms, n = len(oracle.problem.source), len(sample.weights)
    width = min(_arms_within(_REACH, n_arms, len(prototypes)), max(1, _MOST_CELLS // n))
    arms, nearest = np.empty((n, width), dtype=np.int32), np.empty(n)
    values = np.empty((n, width), dtype=np.float32)

    def visit(block: Floats, cut: slice) -> None:
        nearest[cut] = block[prototypes].min(axis=0)
        across = _transposed(block)
        near = np.argpartition(across, width - 1, axis=1)[:, :width]
        distances = np.take_along_axis(across, near, axis=1)
        order = np.argsort(distances, axis=1)
        arms[cut] = np.take_along_axis(near, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1).astype(np.float64)
        held = sample.value(distances - nearest[cut, None], cut).astype(np.float32)
        # Rounded down, a lower bound stays one.
        values[cut] = np.nextafter(held, np.float32(-np.inf))

    oracle.each_chunk(np.arange(n_arms), visit, sample.rows)
    return DualTable(
        n_arms=n_arms, weights=sample.weights, arms=arms, values=values, nearest=nearest
    )


def _transposed(block: Floats) -> Floats:
    out = np.empty(block.T.shape, dtype=block.dtype)
    for cut in cuts(len(block), _STRIP):  # in one go it would miss the cache at every step
        out[:, cut] = block[cut].T
    return out


def dual_bound(table: DualTable, k: int) -> float:
    """Return what the values of the best ``k`` arms, averaged over the rows, cannot fall below.

    The first prices are 0, that is D_t: the bound by submodularity. A subgradient at row t is 1
    less the number of open arms that serve it. Strides are Polyak's, towards 0, which the
    prototypes themselves reach; they halve, from the best prices so far, when these have not been
    beaten for a while.
    """
    weights, places = table.weights, (table.arms, table.values)
    patience = _PATIENCE[table.values.size <= _FEW_CELLS]
    caps = table.values[:, -1].astype(np.float64)
    worth, served, still = np.empty(table.n_arms), np.empty(len(weights)), np.zeros(len(weights))
    prices = kept = np.minimum(0.0, caps)
    best, stride, stale, heading = -np.inf, 1.0, 0, still
    for _ in range(_MOST_STEPS):
        arm_savings(*places, prices, weights, worth)
        opened = np.argpartition(worth, table.n_arms - k)[table.n_arms - k :]
        bound = float(weights @ prices - worth[opened].sum())
        stale += 1
        if bound > best:
            best, kept, stale = bound, prices, 0
        elif stale > patience:
            prices, stride, stale, heading = kept, stride / 2, 0, still
            if stride < _LAST_STRIDE:
                break
            continue
        is_open = np.zeros(table.n_arms)
        is_open[opened] = 1
        count_serving_arms(*places, prices, is_open, served)
        heading = _INERTIA * heading + (1 - served)
        length = float(weights @ heading**2)
        if length == 0 or bound >= -_NIL:
            break
        prices = np.minimum(prices - stride * bound / length * heading, caps)
    return min(best, 0.0)
