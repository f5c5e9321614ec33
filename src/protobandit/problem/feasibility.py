"""Feasibility: which rows a search may choose under the `Constraints` of one problem.

Theory of operation
-------------------
A selection of k rows has at least ``least[g]`` and at most ``most[g]`` rows of each group g. A
smaller set can be extended to such a selection exactly if no group exceeds its maximum and the rows
that the minima still need are no more than the rows that remain to be chosen. Such sets are the
independent sets of a matroid (El Halabi, Mitrović, Norouzi-Fard, Tardos, Vondrák 2020), so a greedy
step never leads to a set that cannot be completed: a group at its maximum is closed, and once all
remaining rows are needed for minima, only the groups below their minimum are open. Fixed rows are
chosen first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput

_ROUNDING = 1e-12  # relative to the budget

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Feasibility:
    """The constraints that a search must satisfy.

    ``fixed`` are source rows that are chosen first and never replaced. ``groups`` are the group
    numbers of all source rows, and ``names`` the user's labels of the groups; there is one group if
    no quota restricts the choice, which searches rely on. ``least`` and ``most`` are at most the
    size of the group. ``budget`` is the largest sum of ``prices``, or None. ``min_distance`` is the
    least distance between two chosen rows, unless both are fixed, or None. ``remark`` is what the
    user should know, or "".
    """

    fixed: Ids
    groups: Ids
    names: tuple[Any, ...]
    least: Ids
    most: Ids
    prices: Doubles | None = None
    budget: float | None = None
    min_distance: float | None = None
    remark: str = ""

    @classmethod
    def none(cls, n: int) -> Feasibility:
        """Return the feasibility without constraints: all ``n`` rows in one group."""
        return cls(
            fixed=np.empty(0, dtype=np.int64),
            groups=np.zeros(n, dtype=np.int64),
            names=("all",),
            least=np.zeros(1, dtype=np.int64),
            most=np.array([n], dtype=np.int64),
        )

    @cached_property
    def sizes(self) -> Ids:
        """Return the number of rows per group."""
        return np.bincount(self.groups, minlength=len(self.names))

    @cached_property
    def has_quotas(self) -> bool:
        """Return whether any minimum or maximum restricts the choice."""
        return bool(self.least.any() or (self.most < self.sizes).any())

    @property
    def is_uniform(self) -> bool:
        """Return whether any k rows that contain the fixed ones are feasible, ignoring costs."""
        return not self.has_quotas and self.min_distance is None

    @property
    def needs(self) -> frozenset[str]:
        """Return what a method must support: "fixed", "groups", "costs", "min_distance"."""
        parts = {
            "fixed": len(self.fixed) > 0,
            "groups": self.has_quotas,
            "costs": self.prices is not None,
            "min_distance": self.min_distance is not None,
        }
        return frozenset(name for name, is_needed in parts.items() if is_needed)

    @property
    def is_free(self) -> bool:
        """Return whether any k rows are feasible."""
        return not self.needs

    @property
    def capacity(self) -> int:
        """Return the largest number of rows that can be chosen, ignoring costs."""
        return int(self.most.sum())

    def among(self, arms: Ids) -> Feasibility:
        """Return the feasibility for the source rows ``arms`` only; without costs.

        ``arms`` must be sorted and contain the fixed rows.
        """
        return replace(
            self, fixed=np.searchsorted(arms, self.fixed), groups=self.groups[arms], prices=None
        )

    def counts(self, members: Ids) -> Ids:
        """Return the number of ``members`` per group."""
        return np.bincount(self.groups[members], minlength=len(self.names))

    def open_groups(self, members: Ids, n_left: int) -> Flags:
        """Return per group whether the next of ``n_left`` rows may come from it."""
        counts = self.counts(members)
        missing = np.maximum(self.least - counts, 0)
        if missing.sum() >= n_left:
            return np.asarray(missing > 0)
        return np.asarray(counts < self.most)

    def open_rows(self, members: Ids, n_left: int) -> Ids:
        """Return the source rows, ``members`` excluded, that may be the next of ``n_left`` rows."""
        is_other = np.ones(len(self.groups), dtype=bool)
        is_other[members] = False
        return self.open_among(np.flatnonzero(is_other), members, n_left)

    def open_among(self, arms: Ids, members: Ids, n_left: int) -> Ids:
        """Return which of ``arms`` may be the next of ``n_left`` rows; none of them is a member."""
        if self.has_quotas:
            arms = arms[self.open_groups(members, n_left)[self.groups[arms]]]
        if self.prices is not None:
            arms = arms[self.prices[arms] <= self._budget_left(members)]
        return arms

    def admitted(self, members: Ids, arms: Ids, n_left: int) -> Ids:
        """Return the positions in ``arms`` of those that can be added in this order.

        An arm that is not open at its turn is skipped; at most ``n_left`` arms are added.
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

    def _budget_left(self, members: Ids) -> float:
        assert self.prices is not None
        assert self.budget is not None
        # The rounding error of a sum must not exclude rows that fit the budget.
        return (self.budget - float(self.prices[members].sum())) + _ROUNDING * self.budget

    def draw(self, members: Ids, n_left: int, random: np.random.Generator) -> Ids:
        """Return ``n_left`` random rows, ``members`` excluded, that satisfy the quotas.

        The other rows are visited in random order: first those that minima need are chosen, then
        any that maxima allow.
        """
        is_other = np.ones(len(self.groups), dtype=bool)
        is_other[members] = False
        others = np.flatnonzero(is_other)
        if not self.has_quotas:
            return np.asarray(random.choice(others, size=n_left, replace=False))
        others = random.permutation(others)
        rank = self.counts(members)[self.groups[others]] + _ranks(self.groups[others])
        is_needed = rank < self.least[self.groups[others]]
        is_allowed = rank < self.most[self.groups[others]]
        order = np.concatenate([np.flatnonzero(is_needed), np.flatnonzero(is_allowed & ~is_needed)])
        return random.permutation(others[order[:n_left]])

    def allowed(self, members: Ids) -> Flags:
        """Return whether a row of each group may replace each prototype, as (n_groups, k) bools.

        ``members`` are the source rows of the prototypes. Fixed ones are never replaced, and no
        swap may violate a quota.
        """
        counts, own = self.counts(members), self.groups[members]
        may_enter, may_leave = counts < self.most, counts > self.least
        is_same = np.arange(len(self.names))[:, None] == own[None, :]
        exchangeable = is_same | (may_enter[:, None] & may_leave[own][None, :])
        return np.asarray(exchangeable & ~np.isin(members, self.fixed)[None, :])

    def paid(self, members: Ids) -> float | None:
        """Return the total cost of these rows, or None if rows have no costs."""
        return None if self.prices is None else float(self.prices[members].sum())

    def require_feasible(self, k: int) -> None:
        """Raise if no ``k`` rows satisfy the constraints."""
        if len(self.fixed) > k > 0:
            raise InvalidInput(
                f"constraints: {len(self.fixed)} rows are fixed but k={k}. Pass k >= "
                f"{len(self.fixed)}, or fix fewer rows."
            )
        self._require_quotas(k)
        if self.prices is not None:
            self._require_budget()

    def _require_quotas(self, k: int) -> None:
        needed = int(self.least.sum())
        if self.capacity == 0:
            raise InvalidInput("constraints: at_most allows no row of any group. Raise at_most.")
        if needed > k:
            raise InvalidInput(
                f"constraints: at_least requires {needed} rows in total but k={k}. Pass k >= "
                f"{needed}, or lower at_least."
            )
        if self.capacity < k:
            raise InvalidInput(
                f"constraints: at_most allows {self.capacity} rows in total but k={k}. Pass k <= "
                f"{self.capacity}, or raise at_most."
            )
        counts = self.counts(self.fixed)
        for group in np.flatnonzero(counts > self.most):
            raise InvalidInput(
                f"constraints: {counts[group]} fixed rows belong to group {self.names[group]!r}, "
                f"but at_most allows {self.most[group]}. Fix fewer rows, or raise at_most."
            )
        missing = int(np.maximum(self.least - counts, 0).sum())
        if missing > k - len(self.fixed):
            raise InvalidInput(
                f"constraints: at_least requires {missing} rows in addition to the "
                f"{len(self.fixed)} fixed rows, but k={k}. Pass k >= {missing + len(self.fixed)}, "
                f"or fix fewer rows."
            )

    def _require_budget(self) -> None:
        assert self.prices is not None
        assert self.budget is not None
        if len(self.fixed) and self._budget_left(self.fixed) < 0:
            raise InvalidInput(
                f"constraints: the fixed rows cost {self.prices[self.fixed].sum():g} but "
                f"budget={self.budget:g}. Raise the budget, or fix fewer rows."
            )
        cheapest = self.prices[self.most[self.groups] > 0].min(initial=np.inf)
        if not len(self.fixed) and cheapest > self._budget_left(self.fixed):
            raise InvalidInput(
                f"constraints: budget={self.budget:g} is less than the cost of the cheapest row, "
                f"{cheapest:g}. Raise the budget."
            )


def _ranks(groups: Ids) -> Ids:
    """Return per entry the number of earlier entries of the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    lengths = np.diff(starts, append=len(groups))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return ranks
