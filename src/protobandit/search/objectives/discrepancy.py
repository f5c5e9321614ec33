"""Maximum mean discrepancy of equally weighted prototypes, and criticisms (MMD-critic)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.objectives.embedding import Embedding
from protobandit.search.objectives.objective import ExactObjective, ExtraResults

# Units of rounding per criticism, below which a row counts as dependent on those chosen.
_SLACK = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Discrepancy(ExactObjective):
    """J(M) = 2 mean k(target, M) - mean k(M, M): the squared discrepancy, up to sign and constant.

    A round costs no evaluations, a prototype costs |S|.

    Attributes
    ----------
    embedding
        The embedding of the target, for source rows.
    own
        The embedding of the target, for target rows, if there are criticisms.
    prototypes
        Source rows chosen so far, M.
    sums
        The summed similarity of each source row to M.
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
        """Return the discrepancy without prototypes."""
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
        """Return J(M), which is 0 without prototypes."""
        m = max(len(self.prototypes), 1)
        return 2 * self.linear / m - self.square / m**2

    @property
    def population(self) -> int:
        return len(self.embedding.across.problem.target)

    def values(self, arms: Ids) -> Doubles:
        """Return the increase of J by each arm; all may be negative."""
        m = len(self.prototypes) + 1
        linear = self.linear + self.embedding.means[arms]
        square = self.square + 2 * self.sums[arms] + self.embedding.norms[arms]
        increases: Doubles = 2 * linear / m - square / m**2 - self.value
        return increases

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
        """Return the mean similarity of each target row to the target minus that to M."""
        assert self.own is not None, "the witness needs the embedding for target rows"
        sums = self.sums if self.own is self.embedding else self.embedding.sums(self.prototypes)
        witness: Doubles = self.own.means - sums / len(self.prototypes)
        return witness


def criticisms(discrepancy: Discrepancy, n: int, *, is_diverse: bool) -> Ids:
    """Return up to ``n`` target rows C, best first, for max sum |witness(C)| + log det k(C, C).

    Each is the row that increases that sum most, given those before it. Without ``is_diverse`` the
    determinant is left out. Once all rows depend on those chosen, only the witness is used. Rows
    without weight are not candidates, nor are prototypes if the target is the source.

    Cost: |T| evaluations per prototype unless the target is the source, and |T| per criticism.
    """
    own = discrepancy.own
    assert own is not None
    score, is_open = np.abs(discrepancy.witness()), _candidates(discrepancy)
    n = min(n, int(is_open.sum()))
    residual = _Residual(own, n) if is_diverse else None
    chosen: list[int] = []
    while len(chosen) < n:
        value = score if residual is None else residual.added_to(score, is_open)
        best = int(np.argmax(np.where(is_open, value, -np.inf)))
        chosen.append(best)
        is_open[best] = False
        if residual is not None and len(chosen) < n:
            residual.condition_on(best)
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
    """The residual of k(row, row) given chosen rows C: det k(C + row) / det k(C), by Cholesky."""

    def __init__(self, own: Embedding, n: int) -> None:
        self._own = own
        self._left = own.norms.astype(np.float64)
        self._factors = np.empty((max(n - 1, 0), len(self._left)))
        self._n_factors = 0
        self._is_exhausted = False

    def added_to(self, score: Doubles, is_open: Any) -> Doubles:
        """Return the score plus the log of the residual, or the score if no residual is left."""
        is_left = self._left > self._floor
        self._is_exhausted |= not (is_left & is_open).any()
        if self._is_exhausted:
            return score
        values = np.full(len(score), -np.inf)
        values[is_left] = score[is_left] + np.log(self._left[is_left])
        return values

    def condition_on(self, row: int) -> None:
        """Subtract the part of the residuals that this row explains."""
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
