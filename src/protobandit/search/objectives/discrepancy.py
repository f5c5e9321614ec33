"""How far the prototypes, each counting alike, are from the target in a kernel's eyes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Moments, Pull
from protobandit.search.objectives.embedding import Embedding


@dataclass(frozen=True, kw_only=True, eq=False)
class Discrepancy:
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
    """

    embedding: Embedding
    own: Embedding | None
    prototypes: Ids
    sums: Doubles
    linear: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, embedding: Embedding, own: Embedding | None = None) -> Discrepancy:
        """Return the discrepancy of no prototype."""
        return cls(
            embedding=embedding,
            own=own,
            prototypes=np.empty(0, dtype=np.int64),
            sums=np.zeros(len(embedding.means)),
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
    def is_bounding(self) -> bool:
        return False

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

    def gains(self, means: Doubles) -> Doubles:
        return means

    def witness(self) -> Doubles:
        """Return for each target row how much more alike it is to the target than to M."""
        assert self.own is not None, "the target has not been compared with itself"
        is_one = self.own is self.embedding
        sums = self.sums if is_one else self.embedding.sums(self.prototypes)
        witness: Doubles = self.own.means - sums / len(self.prototypes)
        return witness
