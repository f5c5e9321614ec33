"""Non-negative coefficients of a small quadratic problem, by an active-set method.

Nothing is compiled: the work is a few factorisations of a matrix with one row per prototype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles

_NEGLIGIBLE = 1e-10  # times the largest number of the vector: a smaller gradient is rounding
_ROUNDS = 10  # per row; more means that rounding makes the active set cycle


def fit_nonnegative(matrix: Doubles, vector: Doubles, start: Doubles, rounding: float) -> Doubles:
    """Return the w >= 0 that maximises w'vector - w'matrix w / 2.

    ``matrix`` is positive semidefinite up to ``rounding``, and its diagonal is positive where
    ``vector`` is. If it is singular, one of the best w is returned. ``start`` is the best w of the
    rows where it is positive.

    Reference: Lawson, Hanson (1974), chapter 23; Bro, de Jong (1997), for a matrix of products.
    """
    best, is_in = start.copy(), start > 0
    least = _NEGLIGIBLE * np.abs(vector).max(initial=0.0)
    for _ in range(_ROUNDS * len(start)):
        gradient = np.where(is_in, -np.inf, vector - matrix @ best)
        entering = int(np.argmax(gradient))
        if not gradient[entering] > least:
            break
        is_in[entering] = True
        best = _ascended(matrix, vector, best, is_in, rounding)
        if not is_in[entering]:  # its gradient was rounding, and all others are smaller
            break
    return best


def _ascended(
    matrix: Doubles, vector: Doubles, start: Doubles, is_in: Any, rounding: float
) -> Doubles:
    """Return the best w of the rows ``is_in``, after removing rows that would become negative."""
    best = start
    while is_in.any():
        aim = np.zeros(len(start))
        aim[is_in] = _solved(matrix[np.ix_(is_in, is_in)], vector[is_in], rounding)
        is_bad = is_in & (aim <= 0)
        if not is_bad.any():
            return aim
        steps = best[is_bad] / (best[is_bad] - aim[is_bad] + (best[is_bad] == aim[is_bad]))
        best = np.maximum(best + steps.min() * (aim - best), 0.0)
        gone = np.flatnonzero(is_bad)[steps == steps.min()]
        is_in[gone], best[gone] = False, 0.0
    return best


def _solved(matrix: Doubles, vector: Doubles, rounding: float) -> Doubles:
    """Return w with ``matrix @ w == vector``, approximately if rounding made that impossible."""
    # NumPy's BLAS, because SciPy's may be another one that is not limited to one thread.
    n, ridge = len(vector), 0.0
    least = n * rounding * float(np.abs(matrix).max())
    while True:
        raised = matrix + ridge * np.eye(n)
        try:
            np.linalg.cholesky(raised)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, least)
        else:
            return np.asarray(np.linalg.solve(raised, vector), dtype=np.float64)
