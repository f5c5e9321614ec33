"""Swaps on sampled target rows that end with a proof: no single swap gains much.

Theory of operation
-------------------
M are the k prototypes, D_j and E_j the distances of target row j to the nearest and the second
nearest of them, q_j its weight (the weights sum to 1) and c = sum of q_j D_j the cost. These are
known exactly, since the whole target is compared with the prototypes. A single swap puts a source
row h outside of M in the place of a prototype m. It changes the distance of row j from D_j to
min(d(j, h), B_j), where B_j is E_j if m is the nearest prototype of j and D_j otherwise. Its gain
is the decrease of the cost, G = sum of q_j (D_j - min(d(j, h), B_j)).

*Statement.* With probability at least 1 - delta, no single swap, of all (|S| - k) k that the
constraints allow, has a gain of more than nu times the unit. The unit is c; dissimilarities need
no upper bound, and far rows do not make the statement empty.

*Sampling.* Let s_j = 3/4 D_j + 1/4 c. Row j is drawn with probability p_j = q_j s_j / c. The target
is sorted by nearest prototype and distance and divided into n strata of probability 1/n. One row
is drawn from each, independently of the others. For a given swap let
X_j = (min(d(j, h), B_j) - D_j) / s_j. Then X_j >= -4/3, because nothing is nearer than 0, and the
mean of X under p is -G / c. There is no upper bound on X and none is needed.

*Betting.* Let 0 < b < 3/4 be fixed before the rows are drawn, and x_t the mean of X in stratum t.
Then E prod (1 + b X_t) = prod (1 + b x_t) <= (1 - b G / c)^n, since a geometric mean is at most the
arithmetic mean. By Markov's inequality and a union bound over at most P = (|S| - k) k swaps, with
probability at least 1 - delta, for all swaps together,

    1 - b G / c  >=  exp(mean_t ln(1 + b X_t) - ln(P / delta) / n).                              (1)

This bounds every gain from above. It is Waudby-Smith and Ramdas' (2023) bound with a fixed bet. A
badly chosen b makes it loose, never wrong. With L = ln(P / delta), b = 2 L / (n nu) is best for the
largest variance for which n rows can prove a gain of at most nu.

*All swaps at once.* y_ti = ln(1 + b (d(t, i) - D_t) / s_t) increases with d, so
ln(1 + b X_t) = min(y_th, y of B_t), and the sum in (1) is the change of the cost by a swap in a
problem with the distances y. Its smallest value over the prototypes m is what `slot_changes`
computes for every h.

*Attempts.* The first sample only serves to find swaps. Then attempt i draws its rows after M, n and
b are fixed, independently of everything that was drawn before, and uses (1) with
delta / (i (i + 1)). These sum to at most delta. So the probability that any attempt proves
something false is at most delta, whichever of them is the last. If an attempt proves nothing, its
rows serve to find swaps: eager swaps on the sample, each made only if it lowers the cost of the
whole target. Rows that found swaps never judge them. If there was little to gain, the next attempt
draws twice as many rows. Once half of the target would be drawn, all dissimilarities are computed
instead, and eager swaps on these end for certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.endless import ENDLESS
from protobandit.foundation.observer import Halt
from protobandit.foundation.slices import cuts
from protobandit.kernels import full_swaps as full_swaps_kernels
from protobandit.kernels import ragged_swaps as ragged_swaps_kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.oracle.target_orders import rows_at_shares
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.full_swaps import eager_passes
from protobandit.search.drivers.pick import Pick, SwapPasses
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.objectives.medoids import Medoids
from protobandit.search.objectives.swap_state import SwapState

_OWN_SHARE = 0.75  # of D_j in s_j
_LARGEST_BET = 0.9 * _OWN_SHARE  # so that 1 + b X > 0
_WHOLE_SHARE = 0.5  # of the target, from which on all of it is read
_CHUNK_ENTRIES = 1 << 17
_LEAST_CHANGE = 1e-9  # share of the cost that a swap must save on the whole target
_STATE = "pac swaps"


@dataclass(frozen=True, kw_only=True)
class PacTerms:
    """What is to be proven: no swap gains more than ``nu``, except with probability ``delta``.

    ``scale`` is the unit of ``nu``; None for the cost. ``most_rows`` is the largest number of rows
    of a sample, and ``most_samples`` the largest number of samples.
    """

    nu: float
    delta: float
    scale: float | None
    most_rows: int
    most_samples: int

    def share(self, cost: float) -> float:
        """Return the largest gain that may remain, as a share of the cost."""
        return self.nu if self.scale is None else self.nu * self.scale / cost

    def log_pairs(self, n_pairs: int, attempt: int) -> float:
        """Return ln(P / delta) of an attempt, the first of which is 1."""
        return math.log(max(n_pairs, 1) * attempt * (attempt + 1)) - math.log(self.delta)

    def first_rows(self, n_pairs: int, share: float) -> int:
        """Return the smallest number of rows with which a first attempt may succeed."""
        rows = 2 * self.log_pairs(n_pairs, 1)
        least = share * _LARGEST_BET
        return max(1, math.ceil(rows / least)) if rows < ENDLESS * least else ENDLESS


def reads_whole_target(n_rows: int, n_target: int) -> bool:
    """Return whether a sample of this size is so large that all dissimilarities are computed."""
    return n_rows >= _WHOLE_SHARE * n_target


@dataclass(eq=False)
class PacSwaps:
    """Prototypes that are improved until a sample proves that little is left to gain.

    Parameters
    ----------
    oracle, random, control, terms
        What the search uses, and what is to be proven.
    state
        The prototypes, with their distances to the whole target.
    n_rows
        The number of rows of the next sample.
    n_samples, n_swaps
        Samples drawn and swaps made so far.
    """

    oracle: Oracle
    random: np.random.Generator
    control: SearchControl
    terms: PacTerms
    state: SwapState
    n_rows: int
    n_samples: int = 0
    n_swaps: int = 0

    @classmethod
    def start(
        cls,
        oracle: Oracle,
        members: Ids,
        *,
        random: np.random.Generator,
        control: SearchControl,
        terms: PacTerms,
    ) -> PacSwaps:
        """Return the swaps at their start, or where an earlier run saved them."""
        saved = control.states.restore(_STATE)
        if saved is not None:
            state = SwapState.restored(saved.arrays)
            values = {name: saved.values[name] for name in ("n_rows", "n_samples", "n_swaps")}
            return cls(oracle, random, control, terms, state, **values)
        matrix = np.array([oracle.column(int(member)) for member in members])
        state = SwapState(members, matrix, oracle.problem.target_weights)
        made = cls(oracle, random, control, terms, state, n_rows=0)
        if state.cost > 0:
            made.n_rows = terms.first_rows(made.n_pairs, terms.share(state.cost))
        return made

    @property
    def n_pairs(self) -> int:
        """Return the number of single swaps."""
        k = len(self.state.members)
        return (len(self.oracle.problem.source) - k) * k

    def run(self) -> SwapPasses | None:
        """Swap until a proof succeeds or something ends it; None if the whole target is to be read.

        The state is complete whatever ends it.
        """
        terms, problem = self.terms, self.oracle.problem
        while True:
            self.control.report(f"improving by swaps, sample {self.n_samples + 1}")
            if self.state.cost == 0 or self.n_pairs == 0:
                return self.passes(gain_bound=0.0)
            is_whole = reads_whole_target(self.n_rows, problem.n_target)
            if is_whole and terms.most_rows == problem.n_target:
                return None
            if self.n_samples == terms.most_samples:
                return self.passes(ended_by=f"passes={terms.most_samples}")
            self.n_rows = min(self.n_rows, terms.most_rows)
            if not self.control.allows(self.n_rows * problem.n_source):
                return self.passes(ended_by=str(self.control.stopped))
            try:
                bound, gained = self._attempt()
            except Halt:
                self.control.stop()
                return self.passes(ended_by=str(self.control.stopped))
            if bound is not None:
                return self.passes(gain_bound=bound, delta=terms.delta)
            is_stale = self.n_samples > 1 and gained < terms.share(self.state.cost)
            if self.state.cost > 0 and is_stale:
                if self.n_rows == terms.most_rows:
                    return self.passes(ended_by=f"the memory for {self.n_rows:,} sampled rows")
                self.n_rows *= 2
            self._save()

    def _attempt(self) -> tuple[float | None, float]:
        """Draw a sample; return the bound if it proves one, and the share of the cost gained."""
        state, problem, attempt = self.state, self.oracle.problem, self.n_samples
        self.n_samples += 1
        cost = state.cost
        share = self.terms.share(cost)
        sample = SwapSample.draw(self.oracle, state, self.n_rows, self.random)
        if attempt:
            log_pairs = self.terms.log_pairs(self.n_pairs, attempt)
            bound = sample.gain_bound(state.members, log_pairs, share)
            if bound <= share:
                return bound, 0.0
        weights = sample.counts / sample.units
        found = Medoids(sample.table, state.members, weights, problem.feasibility)
        for _ in eager_passes(found):
            if not self.control.allows():
                break
        self._make(found.members)
        return None, (cost - state.cost) / cost

    def _make(self, members: Ids) -> None:
        """Make the swaps that a sample suggests if they lower the cost of the whole target."""
        state = self.state
        q = state.weights / state.weights.sum()
        for slot in np.flatnonzero(members != state.members):
            if not self.control.allows(len(state.D)):
                return
            arm = int(members[slot])
            distances = self.oracle.column(arm)
            without = np.where(state.near == slot, state.E, state.D)
            after = distances if len(members) == 1 else np.minimum(distances, without)
            if q @ after.astype(np.float64) < (1 - _LEAST_CHANGE) * state.cost:
                state.exchange(int(slot), arm, distances)
                self.n_swaps += 1

    def passes(
        self,
        *,
        ended_by: str | None = None,
        gain_bound: float | None = None,
        delta: float = 0.0,
    ) -> SwapPasses:
        """Return the record of the samples drawn and the swaps made."""
        return SwapPasses(
            self.n_swaps,
            self.n_samples,
            ended_by,
            gain_bound=None if gain_bound is None else max(gain_bound, 0.0),
            delta=delta,
        )

    def _save(self) -> None:
        if self.control.states.is_active:
            values = {name: getattr(self, name) for name in ("n_rows", "n_samples", "n_swaps")}
            arrays = {name: array.copy() for name, array in self.state.state().items()}
            self.control.states.save(_STATE, SavedState(values, arrays))

    def picks(self, made: SwapPasses) -> Iterator[Pick]:
        """Yield the prototypes, best first."""
        state = self.state
        table = FullTable(oracle=self.oracle, arms=state.members, matrix=state.matrix)
        slots, n_left = np.arange(len(state.members)), len(state.members)
        for pick in order_by_gain(table, slots, state.weights, self.random, is_whole=True):
            n_left -= len(pick.arms)
            yield replace(pick, remark="" if n_left else str(made), passes=made)


# -- the proof -------------------------------------------------------------------------------------


def row_units(state: SwapState) -> Doubles:
    """Return s_j of each target row."""
    units: Doubles = _OWN_SHARE * state.D.astype(np.float64) + (1 - _OWN_SHARE) * state.cost
    return units


def draw_strata(state: SwapState, n: int, random: np.random.Generator) -> Ids:
    """Return ``n`` target rows, one from each stratum of the sorted target."""
    order = np.lexsort((state.D, state.near))
    cumulative = np.cumsum((state.weights * row_units(state))[order])
    shares = (np.arange(n) + random.random(n)) / n
    rows: Ids = order[rows_at_shares(cumulative, shares)]
    return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapSample:
    """Sampled target rows with the distances of all source rows.

    The rows of the table were drawn ``counts`` times; ``units`` are their s_j.
    """

    table: FullTable
    counts: Ids
    units: Doubles

    @classmethod
    def draw(
        cls, oracle: Oracle, state: SwapState, n: int, random: np.random.Generator
    ) -> SwapSample:
        """Draw ``n`` rows and compute their distances to all source rows."""
        rows, counts = np.unique(draw_strata(state, n, random), return_counts=True)
        arms = np.arange(oracle.problem.n_source)
        table = FullTable.of(oracle, arms, oracle.targets(rows))
        return cls(table=table, counts=counts, units=row_units(state)[rows])

    def gain_bound(self, members: Ids, log_pairs: float, share: float) -> float:
        """Return the upper bound by (1) on the gain of every swap, as a share of the cost.

        ``log_pairs`` is ln(P / delta). The bound is sharpest if it is about ``share``.
        """
        penalty = log_pairs / float(self.counts.sum())
        share = min(share, 1.0)  # no swap gains more than the cost
        bet = 2 * penalty / share if 2 * penalty < _LARGEST_BET * share else _LARGEST_BET
        least = float(self.log_changes(members, bet).min())
        return 0.0 if math.isinf(least) else min(-math.expm1(least - penalty) / bet, 1.0)

    def log_changes(self, members: Ids, bet: float) -> Doubles:
        """Return the least mean of ln(1 + b X) over the swaps of each source row.

        It is infinite for prototypes and for rows that may take no prototype's place.
        """
        matrix, weights = self.table.matrix, self.counts.astype(np.float64)
        own = matrix[members].astype(np.float64)
        nearest = own.min(axis=0)

        def logs(distances: Doubles) -> Doubles:
            found: Doubles = np.log1p(bet * (distances - nearest) / self.units)
            return found

        # A single prototype has no second: any number that no y exceeds gives the correct sums.
        highest = matrix.max(axis=0).astype(np.float64)
        D, losses = np.zeros(len(weights)), np.empty(len(members))
        E = logs(np.partition(own, 1, axis=0)[1] if len(members) > 1 else highest)
        near = own.argmin(axis=0).astype(np.int32)
        ragged_swaps_kernels.removal_losses(near, D, E, weights, losses)
        feasibility = self.table.oracle.problem.feasibility
        groups, allowed = feasibility.groups, feasibility.allowed(members)
        is_member = np.zeros(len(matrix), dtype=bool)
        is_member[members] = True
        changes = np.empty(len(matrix))

        def compute(cut: slice) -> None:
            y, slots = logs(matrix[cut].astype(np.float64)), np.empty(cut.stop - cut.start, int)
            rows = near, D, E, weights, losses
            full_swaps_kernels.slot_changes(
                y, 0, is_member[cut], *rows, groups[cut], allowed, changes[cut], slots
            )

        self.table.oracle.look_up(matrix.size)
        size = max(1, _CHUNK_ENTRIES // len(weights))
        self.table.oracle.share(compute, cuts(len(matrix), size), matrix.size, may_halt=True)
        means: Doubles = changes / weights.sum()
        return means
