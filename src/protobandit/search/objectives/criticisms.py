"""Criticisms: target rows that the prototypes do not stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.objectives.discrepancy import Discrepancy
from protobandit.search.objectives.embedding import Embedding

_SLACK = 16  # units of rounding, a criticism, below which a row is no longer independent


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
