"""Coverage judged on the first rows of one order; prototypes are known on all of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Floats, Ids
from protobandit.kernels import moments as moments_kernels
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective, RewardSums, Round, advance
from protobandit.search.objectives.prefixes import Prefixes, moments_of


@dataclass(frozen=True, kw_only=True, eq=False)
class PrefixCoverage(Objective):
    """The drop of d(target, nearest prototype), on the rows that an arm was pulled on.

    Before the first prototype the gain of an arm is minus its mean distance.

    Attributes
    ----------
    prefixes
        The distances along the order.
    matrix
        The distances of the prototypes along the order, one line per prototype. All objects share
        it: `commit` fills in the next line, so that no line is copied.
    nearest
        The distance of each row of the order to its nearest prototype.
    """

    prefixes: Prefixes
    matrix: Floats
    nearest: Floats
    prototypes: Ids

    @classmethod
    def of(cls, prefixes: Prefixes, k: int) -> PrefixCoverage:
        """Return the coverage without prototypes, with memory for ``k`` of them."""
        dtype = prefixes.oracle.dtype
        return cls(
            prefixes=prefixes,
            matrix=np.empty((k, len(prefixes)), dtype=dtype),
            nearest=np.full(len(prefixes), np.inf, dtype=dtype),
            prototypes=np.empty(0, dtype=np.int64),
        )

    @property
    def population(self) -> int:
        return len(self.prefixes)

    @property
    def is_bounding(self) -> bool:
        """Return whether every row is at a prototype: only then are all further gains known."""
        return not self.nearest.any()

    def open(self, arms: Ids, random: np.random.Generator) -> Round:
        return _NothingToGain(self.population) if self.is_bounding else _PrefixRound(self, arms)

    def commit(self, arms: Ids) -> PrefixCoverage:
        nearest, n = self.nearest, len(self.prototypes)
        with self.prefixes.oracle.during("assign"):
            for place, arm in enumerate(arms.tolist(), start=n):
                self.matrix[place] = self.prefixes.column(arm)
                nearest = np.minimum(nearest, self.matrix[place])
        return replace(self, nearest=nearest, prototypes=np.append(self.prototypes, arms))


class _PrefixRound:
    """Pulls arms along the order, each from its beginning."""

    def __init__(self, coverage: PrefixCoverage, arms: Ids) -> None:
        self._coverage = coverage
        self._sums = RewardSums(arms)

    def pull(self, pull: Pull) -> Moments:
        assert not pull.new_order, "all rounds share one order"
        sums, coverage = self._sums, self._coverage
        slots = sums.slots(pull.arms)
        advance(sums.count, slots, pull.n, coverage.population, self._add)
        dtype = coverage.nearest.dtype
        return moments_of(sums.count[slots], sums.total[slots], sums.squares[slots], dtype)

    def _add(self, group: Ids, start: int, stop: int) -> None:
        sums, prefixes = self._sums, self._coverage.prefixes
        nearest, weights = self._coverage.nearest[start:stop], prefixes.weights[start:stop]
        level = nearest if len(self._coverage.prototypes) else np.zeros_like(nearest)

        def visit(matrix: Floats, lines: Ids, which: Ids) -> None:
            total, squares = np.zeros((2, len(which)))
            moments_kernels.gain_moments(matrix, lines, nearest, level, weights, total, squares)
            sums.total[group[which]] += total
            sums.squares[group[which]] += squares

        prefixes.show(sums.arms[group], start, stop, visit)


@dataclass(frozen=True)
class _NothingToGain:
    """Answers pulls when every row is at a prototype: no distance is needed."""

    population: int

    def pull(self, pull: Pull) -> Moments:
        n = len(pull.arms)
        return Moments(np.full(n, self.population), np.zeros(n), np.zeros(n))
