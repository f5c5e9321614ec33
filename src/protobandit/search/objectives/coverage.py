"""Coverage of the whole target: exact gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import coverage as coverage_kernels
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tasks import CHUNK, Tile, Visit
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.objective import Objective


class Board(Protocol):
    """Where exact distances are read: the oracle for the whole target, a table for part of it."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the distances."""
        ...

    @property
    def groups(self) -> list[slice]:
        """Return the groups of columns whose sums are kept apart."""
        ...

    def scan(self, sources: Ids, visit: Visit) -> None:
        """Show ``visit`` the distances of every target row to each of ``sources``."""
        ...

    def column(self, source: int) -> Floats:
        """Return the distances of every target row to one source row."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactCoverage(Objective):
    """The mean drop of d(target, nearest prototype), over every target row of a board.

    Before the first prototype a row's worth is minus its mean distance: no constant is needed, and
    none could change the order.

    Attributes
    ----------
    prototypes
        Source rows chosen so far.
    nearest, labels
        For each target row the distance to its nearest prototype, and which of them that is.
    costs
        The weighted mean of ``nearest`` after each prototype.
    """

    board: Board
    weights: Doubles
    nearest: Floats
    labels: Ids
    prototypes: Ids
    costs: tuple[float, ...] = ()

    @classmethod
    def of(cls, oracle: Oracle) -> ExactCoverage:
        """Return the coverage of the oracle's problem by no prototype."""
        weights = oracle.problem.weights
        return cls.over(oracle, np.ones(len(oracle.problem.target)) if weights is None else weights)

    @classmethod
    def over(cls, board: Board, weights: Doubles) -> ExactCoverage:
        """Return the coverage of a board's target rows by no prototype."""
        n = len(weights)
        return cls(
            board=board,
            weights=weights,
            nearest=np.full(n, np.inf, dtype=board.dtype),
            labels=np.full(n, -1, dtype=np.int64),
            prototypes=np.empty(0, dtype=np.int64),
        )

    @property
    def population(self) -> int:
        return len(self.nearest)

    @property
    def is_bounding(self) -> bool:
        return len(self.prototypes) > 0

    @property
    def has_read_target(self) -> bool:
        return True

    @property
    def exact_coverage(self) -> ExactCoverage:
        return self

    @property
    def mass(self) -> Doubles:
        """Return the share of the target that each prototype stands for."""
        share = np.bincount(self.labels, self.weights, minlength=len(self.prototypes))
        return np.asarray(share / share.sum(), dtype=np.float64)

    def open(self, arms: Ids, random: np.random.Generator) -> ExactCoverage:
        return self

    def pull(self, pull: Pull) -> Moments:
        """Return the exact worth of the arms; ``pull`` must ask for the whole target."""
        assert pull.n == self.population, "exact coverage is only known over the whole target"
        parts = np.zeros((len(pull.arms), len(self.board.groups)))
        is_first = len(self.prototypes) == 0

        def visit(tile: Tile) -> None:
            sums = np.zeros(len(tile.rows))
            weights, place = self.weights[tile.columns], (tile.matrix, tile.rows, tile.first)
            if is_first:
                coverage_kernels.costs(*place, weights, CHUNK, sums)
            else:
                coverage_kernels.gains(*place, self.nearest[tile.columns], weights, CHUNK, sums)
            parts[tile.positions, tile.group] += sums

        if isinstance(self.board, Oracle):
            self.board.scan(pull.arms, visit, parts, self.prototypes)
        else:
            self.board.scan(pull.arms, visit)
        # The running sum adds left to right: bits do not depend on how many groups share the work.
        total = np.cumsum(parts, axis=1)[:, -1] / self.weights.sum()
        if not np.isfinite(total).all():
            raise InvalidInput(
                f"The metric overflows {self.board.dtype} on these rows of source and target. "
                f"Rescale them, or pass float64."
            )
        n = len(pull.arms)
        return Moments(np.full(n, pull.n), -total if is_first else total, np.zeros(n))

    def commit(self, arms: Ids) -> ExactCoverage:
        nearest, labels, costs = self.nearest.copy(), self.labels.copy(), list(self.costs)
        for label, arm in enumerate(arms, start=len(self.prototypes)):
            distances = self.board.column(int(arm))
            labels[distances < nearest] = label
            np.minimum(nearest, distances, out=nearest)
            costs.append(float(nearest.astype(np.float64) @ self.weights / self.weights.sum()))
        return replace(
            self,
            nearest=nearest,
            labels=labels,
            prototypes=np.append(self.prototypes, arms),
            costs=tuple(costs),
        )
