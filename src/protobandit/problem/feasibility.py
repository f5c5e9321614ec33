"""Which rows a search may take: what `Constraints` means for one problem.

Theory of operation
-------------------
With at least ``least[g]`` and at most ``most[g]`` rows of each group g and k in all, a set can grow
into an allowed one of k rows exactly if no group is beyond its maximum and what the minima still
need is no more than the rows still to come. Such sets are the independent sets of a matroid (El
Halabi, Mitrović, Norouzi-Fard, Tardos, Vondrák 2020), so that a greedy step never leads into a
dead end: a group at its maximum is closed, and when all rows to come are needed for minima only
the groups in need are open. Rows that are fixed are taken first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput

_ROUNDING = 1e-12  # of a budget

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Feasibility:
    """What a search must heed.

    Attributes
    ----------
    fixed
        Source rows that are taken first and stay.
    groups
        The group number of every source row.
    names
        The user's label of each group.
    least, most
        How many rows of each group there must and may be; no more than the group has.
    prices, budget
        What each row costs and what all may cost together, or None.
    """

    fixed: Ids
    groups: Ids
    names: tuple[Any, ...]
    least: Ids
    most: Ids
    prices: Doubles | None = None
    budget: float | None = None

    @classmethod
    def none(cls, n: int) -> Feasibility:
        """Return the rules of a problem without constraints: all ``n`` rows in one group."""
        return cls(
            fixed=np.empty(0, dtype=np.int64),
            groups=np.zeros(n, dtype=np.int64),
            names=("all",),
            least=np.zeros(1, dtype=np.int64),
            most=np.array([n], dtype=np.int64),
        )

    @cached_property
    def sizes(self) -> Ids:
        """Return how many rows each group has."""
        return np.bincount(self.groups, minlength=len(self.names))

    @cached_property
    def has_quotas(self) -> bool:
        """Tell whether groups matter at all."""
        return bool(self.least.any() or (self.most < self.sizes).any())

    @property
    def needs(self) -> frozenset[str]:
        """Return what a method must support: of "fixed", "groups" and "costs"."""
        parts = {
            "fixed": len(self.fixed) > 0,
            "groups": self.has_quotas,
            "costs": self.prices is not None,
        }
        return frozenset(name for name, is_needed in parts.items() if is_needed)

    @property
    def is_free(self) -> bool:
        """Tell whether any k rows will do."""
        return not self.needs

    @property
    def capacity(self) -> int:
        """Return how many rows can be taken at most, whatever they cost."""
        return int(self.most.sum())

    def among(self, arms: Ids) -> Feasibility:
        """Return the rules for these source rows alone, in order; the fixed ones are among them."""
        return replace(
            self, fixed=np.searchsorted(arms, self.fixed), groups=self.groups[arms], prices=None
        )

    def counts(self, members: Ids) -> Ids:
        """Return how many of ``members`` each group has."""
        return np.bincount(self.groups[members], minlength=len(self.names))

    def open_groups(self, members: Ids, n_left: int) -> Flags:
        """Tell which groups the next of ``n_left`` rows may come from."""
        counts = self.counts(members)
        missing = np.maximum(self.least - counts, 0)
        if missing.sum() >= n_left:
            return np.asarray(missing > 0)
        return np.asarray(counts < self.most)

    def open_rows(self, members: Ids, n_left: int) -> Ids:
        """Return the source rows that the next of ``n_left`` may be, beside ``members``."""
        is_other = np.ones(len(self.groups), dtype=bool)
        is_other[members] = False
        return self.open_among(np.flatnonzero(is_other), members, n_left)

    def open_among(self, arms: Ids, members: Ids, n_left: int) -> Ids:
        """Return which of ``arms``, none a member, may be the next of ``n_left`` rows."""
        if self.has_quotas:
            arms = arms[self.open_groups(members, n_left)[self.groups[arms]]]
        if self.prices is not None:
            arms = arms[self.prices[arms] <= self._money_left(members)]
        return arms

    def admitted(self, members: Ids, arms: Ids, n_left: int) -> Ids:
        """Return which of ``arms`` can be taken one after the other, at most ``n_left``.

        These are positions in ``arms``.
        """
        if not self.has_quotas and self.prices is None:
            return np.arange(min(len(arms), n_left))
        taken: list[int] = []
        for position in range(len(arms)):
            if len(taken) == n_left:
                break
            so_far = np.append(members, arms[taken])
            if len(self.open_among(arms[[position]], so_far, n_left - len(taken))):
                taken.append(position)
        return np.array(taken, dtype=np.int64)

    def _money_left(self, members: Ids) -> float:
        assert self.prices is not None
        assert self.budget is not None
        # What fits the budget must not miss it by the rounding of a sum.
        return (self.budget - float(self.prices[members].sum())) + _ROUNDING * self.budget

    def draw(self, members: Ids, n_left: int, random: np.random.Generator) -> Ids:
        """Return ``n_left`` random rows beside ``members`` that fulfil the quotas.

        In a random order the rows that minima need are taken, then any that maxima allow.
        """
        others = np.setdiff1d(np.arange(len(self.groups)), members)
        if not self.has_quotas:
            return np.asarray(random.choice(others, size=n_left, replace=False))
        others = random.permutation(others)
        rank = self.counts(members)[self.groups[others]] + _ranks(self.groups[others])
        is_needed = rank < self.least[self.groups[others]]
        is_allowed = rank < self.most[self.groups[others]]
        order = np.concatenate([np.flatnonzero(is_needed), np.flatnonzero(is_allowed & ~is_needed)])
        return random.permutation(others[order[:n_left]])

    def allowed(self, members: Ids) -> Flags:
        """Tell whether a row of a group may take the place of a prototype, (n_groups, k).

        ``members`` are the prototypes, as source rows; a fixed one stays, and no exchange may break
        a quota.
        """
        counts, own = self.counts(members), self.groups[members]
        may_enter, may_leave = counts < self.most, counts > self.least
        is_same = np.arange(len(self.names))[:, None] == own[None, :]
        exchangeable = is_same | (may_enter[:, None] & may_leave[own][None, :])
        return np.asarray(exchangeable & ~np.isin(members, self.fixed)[None, :])

    def paid(self, members: Ids) -> float | None:
        """Return what these rows cost, or None where rows have no costs."""
        return None if self.prices is None else float(self.prices[members].sum())

    def require_feasible(self, k: int) -> None:
        """Refuse rules that no ``k`` rows can fulfil."""
        if len(self.fixed) > k:
            raise InvalidInput(
                f"constraints: {len(self.fixed)} rows are fixed but k={k}. Pass k >= "
                f"{len(self.fixed)}, or fix fewer."
            )
        self._require_quotas(k)
        if self.prices is not None:
            self._require_money()

    def _require_quotas(self, k: int) -> None:
        needed = int(self.least.sum())
        if needed > k:
            raise InvalidInput(
                f"constraints: at_least asks for {needed} rows in all but k={k}. Pass k >= "
                f"{needed}, or lower at_least."
            )
        if self.capacity < k:
            raise InvalidInput(
                f"constraints: at_most leaves {self.capacity} rows in all but k={k}. Pass k <= "
                f"{self.capacity}, or raise at_most."
            )
        counts = self.counts(self.fixed)
        self._require_room_for_fixed(counts)
        missing = int(np.maximum(self.least - counts, 0).sum())
        if missing > k - len(self.fixed):
            raise InvalidInput(
                f"constraints: at_least needs {missing} rows beside the {len(self.fixed)} fixed "
                f"ones, which leave {k - len(self.fixed)} of k={k}. Pass k >= "
                f"{missing + len(self.fixed)}, or fix fewer."
            )

    def _require_room_for_fixed(self, counts: Ids) -> None:
        for group in np.flatnonzero(counts > self.most):
            raise InvalidInput(
                f"constraints: {counts[group]} fixed rows are of group {self.names[group]!r}, but "
                f"at_most allows {self.most[group]}. Fix fewer, or raise at_most."
            )

    def _require_money(self) -> None:
        assert self.prices is not None
        assert self.budget is not None
        if len(self.fixed) and self._money_left(self.fixed) < 0:
            raise InvalidInput(
                f"constraints: the fixed rows cost {self.prices[self.fixed].sum():g} but "
                f"budget={self.budget:g}. Raise the budget, or fix fewer."
            )
        cheapest = self.prices[self.most[self.groups] > 0].min(initial=np.inf)
        if not len(self.fixed) and cheapest > self._money_left(self.fixed):
            raise InvalidInput(
                f"constraints: budget={self.budget:g} is less than the cheapest row costs, "
                f"{cheapest:g}. Raise the budget."
            )


def _ranks(groups: Ids) -> Ids:
    """Return how many earlier entries are of the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    lengths = np.diff(starts, append=len(groups))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return ranks
