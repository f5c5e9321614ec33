"""The mixture of prototypes with non-negative coefficients that is closest to the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels.nonnegative import fit_nonnegative
from protobandit.search.objectives.embedding import Embedding
from protobandit.search.objectives.objective import ExactObjective, ExtraResults


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture(ExactObjective):
    """f(M) = max over w >= 0 of w'means - w'k(M, M)w / 2; the gain of an arm is the gradient.

    A round costs no evaluations. A prototype costs |S|, which are kept.

    Attributes
    ----------
    embedding
        The embedding of the target, for source rows.
    prototypes
        Source rows chosen so far, M.
    columns
        The similarities of each prototype to every source row.
    matrix
        The similarity of M to itself.
    coefficients
        The best w.
    gradient
        The derivative of f by the coefficient of each source row.
    """

    embedding: Embedding
    prototypes: Ids
    columns: tuple[Floats, ...]
    matrix: Doubles
    coefficients: Doubles
    gradient: Doubles

    @classmethod
    def of(cls, embedding: Embedding) -> Mixture:
        """Return the mixture without prototypes."""
        return cls(
            embedding=embedding,
            prototypes=np.empty(0, dtype=np.int64),
            columns=(),
            matrix=np.empty((0, 0)),
            coefficients=np.empty(0),
            gradient=embedding.means,
        )

    @property
    def population(self) -> int:
        return len(self.embedding.across.problem.target)

    def values(self, arms: Ids) -> Doubles:
        return self.gradient[arms]

    def commit(self, arms: Ids) -> Mixture:
        embedding, prototypes = self.embedding, np.append(self.prototypes, arms)
        new = [embedding.column(int(arm)) for arm in arms]
        matrix = self._extended(np.stack([column[prototypes] for column in new]))
        means = embedding.means[prototypes]
        if (np.diag(matrix) <= 0)[means > 0].any():
            raise InvalidInput(
                f"kernel={embedding.similarity.pairs.name!r} is not positive semidefinite: the "
                f"similarity of a row to itself is <= 0, but its mean similarity to the target is "
                f"> 0. Correct the kernel."
            )
        start = np.concatenate([self.coefficients, np.zeros(len(arms))])
        rounding = float(np.finfo(new[0].dtype).eps)
        coefficients = fit_nonnegative(matrix, means, start, rounding)
        columns = (*self.columns, *new)
        gradient = embedding.means.copy()
        for i in np.flatnonzero(coefficients):
            gradient -= coefficients[i] * columns[i]
        return Mixture(
            embedding=embedding,
            prototypes=prototypes,
            columns=columns,
            matrix=matrix,
            coefficients=coefficients,
            gradient=gradient,
        )

    def _extended(self, rows: Floats) -> Doubles:
        """Return the matrix with these rows added below and to the right, exactly symmetric."""
        n_old, n = len(self.prototypes), rows.shape[1]
        matrix = np.empty((n, n))
        matrix[:n_old, :n_old] = self.matrix
        matrix[n_old:], matrix[:n_old, n_old:] = rows, rows[:, :n_old].T
        return (matrix + matrix.T) / 2

    def finish(self) -> ExtraResults:
        return ExtraResults(coefficients=self.coefficients)
