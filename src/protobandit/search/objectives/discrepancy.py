"""How far the prototypes, each counting alike, are from the target in a kernel's eyes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.embedding import Embedding
from protobandit.search.objectives.objective import ExtraResults, Objective

_SLACK = 16  # units of rounding, a criticism, below which a row is no longer independent


@dataclass(frozen=True, kw_only=True, eq=False)
class Discrepancy(Objective):
    """J(M) = 2 mean k(target, M) - mean k(M, M): the squared discrepancy, up to sign and constant.

    A round costs no evaluation, a prototype |S|.

    Attributes
    ----------
    embedding
        Target as seen from the source.
    own
        Target as seen from itself, if criticisms are wanted.
    prototypes
        Source rows chosen so far, M.
    sums
        For each source row its summed similarity to M.
    linear, square
        The summed means of M, and the summed similarity of M to itself.
    n_criticisms, is_diverse
        Parameters of `criticisms`, which `finish` calls; ``own`` is needed if there are any.
    """

    embedding: Embedding
    own: Embedding | None
    prototypes: Ids
    sums: Doubles
    linear: float = 0.0
    square: float = 0.0
    n_criticisms: int = 0
    is_diverse: bool = True

    @classmethod
    def of(
        cls,
        embedding: Embedding,
        own: Embedding | None = None,
        *,
        n_criticisms: int = 0,
        is_diverse: bool = True,
    ) -> Discrepancy:
        """Return the discrepancy of no prototype."""
        return cls(
            embedding=embedding,
            own=own,
            prototypes=np.empty(0, dtype=np.int64),
            sums=np.zeros(len(embedding.means)),
            n_criticisms=n_criticisms,
            is_diverse=is_diverse,
        )

    @property
    def value(self) -> float:
        """Return J(M); 0 of no prototype."""
        m = max(len(self.prototypes), 1)
        return 2 * self.linear / m - self.square / m**2

    @property
    def population(self) -> int:
        return len(self.embedding.across.problem.target)

    @property
    def has_read_target(self) -> bool:
        return True

    def open(self, arms: Ids, random: np.random.Generator) -> Discrepancy:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return how much J rises by each arm; it may fall by all of them."""
        arms, m = pull.arms, len(self.prototypes) + 1
        linear = self.linear + self.embedding.means[arms]
        square = self.square + 2 * self.sums[arms] + self.embedding.norms[arms]
        n = len(arms)
        return Moments(
            np.full(n, self.population), 2 * linear / m - square / m**2 - self.value, np.zeros(n)
        )

    def commit(self, arms: Ids) -> Discrepancy:
        sums, linear, square = self.sums, self.linear, self.square
        for arm in arms:
            linear += float(self.embedding.means[arm])
            square += float(2 * sums[arm] + self.embedding.norms[arm])
            sums = sums + self.embedding.column(int(arm))
        prototypes = np.append(self.prototypes, arms)
        return replace(self, prototypes=prototypes, sums=sums, linear=linear, square=square)

    def finish(self) -> ExtraResults:
        if self.n_criticisms == 0:
            return ExtraResults()
        found = criticisms(self, self.n_criticisms, is_diverse=self.is_diverse)
        return ExtraResults(criticisms=found)

    def witness(self) -> Doubles:
        """Return for each target row how much more alike it is to the target than to M."""
        assert self.own is not None, "the target has not been compared with itself"
        is_one = self.own is self.embedding
        sums = self.sums if is_one else self.embedding.sums(self.prototypes)
        witness: Doubles = self.own.means - sums / len(self.prototypes)
        return witness


def criticisms(discrepancy: Discrepancy, n: int, *, is_diverse: bool) -> Ids:
    """Return up to ``n`` target rows C, best first, for sum |witness(C)| + log det k(C, C).

    Each is the row of largest rise of that sum, given those before it; without ``is_diverse`` the
    determinant is left out. Once all rows depend on those chosen the witness alone decides. Rows of
    no weight, and prototypes where the target is the source, are no criticisms.

    Cost: |T| evaluations a prototype unless the target is the source, and |T| a criticism.
    """
    own = discrepancy.own
    assert own is not None
    score, is_open = np.abs(discrepancy.witness()), _candidates(discrepancy)
    n = min(n, int(is_open.sum()))
    rest = _Residual(own, n) if is_diverse else None
    chosen: list[int] = []
    while len(chosen) < n:
        worth = score if rest is None else rest.added_to(score, is_open)
        best = int(np.argmax(np.where(is_open, worth, -np.inf)))
        chosen.append(best)
        is_open[best] = False
        if rest is not None and len(chosen) < n:
            rest.condition_on(best)
    return np.array(chosen, dtype=np.int64)


def _candidates(discrepancy: Discrepancy) -> Any:
    problem = discrepancy.embedding.across.problem
    is_open = np.ones(len(problem.target), dtype=bool)
    if problem.weights is not None:
        is_open &= problem.weights > 0
    if problem.target is problem.source:
        is_open[discrepancy.prototypes] = False
    return is_open


class _Residual:
    """What the rows chosen leave of k(row, row): det k(C + row) / det k(C), by Cholesky's steps."""

    def __init__(self, own: Embedding, n: int) -> None:
        self._own = own
        self._left = own.norms.astype(np.float64)
        self._factors = np.empty((max(n - 1, 0), len(self._left)))
        self._n_factors = 0
        self._is_exhausted = False

    def added_to(self, score: Doubles, is_open: Any) -> Doubles:
        """Return the score and the logarithm of what is left, or the score where nothing is."""
        is_left = self._left > self._floor
        self._is_exhausted |= not (is_left & is_open).any()
        if self._is_exhausted:
            return score
        worth = np.full(len(score), -np.inf)
        worth[is_left] = score[is_left] + np.log(self._left[is_left])
        return worth

    def condition_on(self, row: int) -> None:
        """Take away what this row says of the others."""
        if self._is_exhausted:
            return
        before = self._factors[: self._n_factors]
        column = self._own.column(row) - before[:, row] @ before
        factor = column / np.sqrt(self._left[row])
        self._factors[self._n_factors] = factor
        self._n_factors += 1
        self._left -= factor**2

    @property
    def _floor(self) -> Doubles:
        rounding = np.finfo(self._own.across.dtype).eps
        floor: Doubles = _SLACK * (self._n_factors + 1) * rounding * self._own.norms
        return floor
