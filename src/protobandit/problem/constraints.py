"""Constraints on a selection that the user may pass; checked and turned into `Feasibility`."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_integer, require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.labels import numbered
from protobandit.problem.feasibility import Feasibility
from protobandit.rows.messages import shortened, suggestion


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """Which rows a selection must contain, may contain, and what it may cost.

    Parameters
    ----------
    fixed
        Source rows that are always selected: their row numbers, a boolean mask of all source rows,
        a `Selection`, or with ``ids`` their ids. They count towards ``k`` and come first in the
        result.
    ids
        One id per source row, for ``fixed``, or the name of a column of the source.
    groups
        One label per source row, for ``at_least`` and ``at_most``, or the name of a column.
    at_least, at_most
        The smallest and the largest number of rows per group: an int for all groups, or a mapping
        from labels to ints. The key None stands for all other groups, which are not constrained
        without it. If ``at_least`` for all or all other groups exceeds the size of a group, all of
        its rows are selected, and ``status`` says so. Greedy methods reach at least half of the
        best feasible f (Fisher, Nemhauser, Wolsey 1978).
    costs, budget
        The cost of each source row (> 0), or the name of a column, and the largest total cost of
        the prototypes. Columns that are named here are not compared. ``k`` is
        then an upper bound, or None. Rows are chosen by gain per cost. If the best single
        affordable row is better than all rows chosen in this way, it is chosen first instead. This
        reaches at least (1 - 1/e) / 2 of the best affordable f (Khuller, Moss, Naor 1999; Leskovec
        et al. 2007). ``at_least`` is not supported with costs, since the budget may not suffice
        for the minima.

    min_distance
        The least distance between two prototypes (> 0), in the metric and after the preparation of
        the rows; fixed rows may be closer to each other. If no row is left that is far enough, the
        result has fewer than ``k`` prototypes, and ``status`` says so. Supported by greedy methods,
        of which "protobandit" is the fastest for many rows, and not with ``at_least`` or costs.
        Cost: one evaluation per source row and prototype.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pb.select(rows, k=2, constraints=pb.Constraints(fixed=[5])).indices
    array([5, 1])
    >>> quotas = pb.Constraints(groups=list("aaabbb"), at_most={"b": 0})
    >>> pb.select(rows, k=1, constraints=quotas).indices
    array([2])
    >>> prices = pb.Constraints(costs=[9, 1, 9, 9, 2, 9], budget=3)
    >>> selection = pb.select(rows, constraints=prices)
    >>> sorted(selection.indices.tolist()), selection.spent
    ([1, 4], 3.0)
    >>> apart = pb.Constraints(min_distance=3)
    >>> pb.select(rows, k=3, constraints=apart).indices
    array([2, 4])
    """

    fixed: Any = ()
    ids: Any = None
    groups: Any = None
    at_least: Any = None
    at_most: Any = None
    costs: Any = None
    budget: Any = None
    min_distance: Any = None

    def __post_init__(self) -> None:
        if self.fixed is None:
            object.__setattr__(self, "fixed", ())
        require_number(self.min_distance, "constraints: min_distance", above=0, allows_none=True)
        others = {"at_least": self.at_least, "costs": self.costs}
        for name, value in others.items():
            if self.min_distance is not None and value is not None:
                raise InvalidInput(
                    f"Constraints: {name} is given with min_distance, which may leave too few rows "
                    f"for it. Pass one of them."
                )
        has_quotas = self.at_least is not None or self.at_most is not None
        if has_quotas and self.groups is None:
            raise InvalidInput(
                "Constraints: at_least and at_most count rows per group, but groups=None. Pass "
                "groups=, one label per source row."
            )
        if self.groups is not None and not has_quotas:
            raise InvalidInput(
                "Constraints: groups is given but neither at_least nor at_most. Pass one of them."
            )
        if (self.costs is None) != (self.budget is None):
            given = "budget" if self.costs is None else "costs"
            raise InvalidInput(
                f"Constraints: {given} is given alone. Pass costs= and budget= together."
            )
        if self.costs is not None and self.at_least is not None:
            raise InvalidInput(
                "Constraints: at_least is given with costs, but a budget may not suffice for the "
                "minima. Pass at_most only, or no costs."
            )

    @property
    def named_columns(self) -> dict[str, str]:
        """Return the parameters that name a column of the source, and its name.

        :meta private:
        """
        values = {"ids": self.ids, "groups": self.groups, "costs": self.costs}
        return {option: value for option, value in values.items() if isinstance(value, str)}

    def feasibility(self, n: int) -> Feasibility:
        """Return the `Feasibility` of ``n`` source rows under these constraints.

        :meta private:
        """
        free = Feasibility.none(n)
        groups, names, least, most = free.groups, free.names, free.least, free.most
        remark = ""
        if self.groups is not None:
            names, groups = numbered(self.groups, n, "groups")
            sizes = np.bincount(groups, minlength=len(names))
            least = _as_quotas(self.at_least, names, "at_least", otherwise=0 * sizes)
            remark = _small_groups(self.at_least, names, least, sizes)
            least = np.where(_has_own(self.at_least, names), least, np.minimum(least, sizes))
            most = _as_quotas(self.at_most, names, "at_most", otherwise=sizes)
            _require_consistent(names, least, most, sizes)
            most = np.minimum(most, sizes)
            if not least.any() and (most == sizes).all():  # they restrict nothing
                groups, names, least, most = free.groups, free.names, free.least, free.most
        return Feasibility(
            fixed=_as_fixed(self.fixed, self.ids, n),
            groups=groups,
            names=names,
            least=least,
            most=most,
            prices=None if self.costs is None else _as_costs(self.costs, n),
            budget=None if self.budget is None else _as_budget(self.budget),
            min_distance=None if self.min_distance is None else float(self.min_distance),
            remark=remark,
        )


def as_feasibility(constraints: Any, n: int) -> Feasibility:
    """Return the `Feasibility` of ``n`` source rows under the constraints that the user passed."""
    if constraints is None:
        return Feasibility.none(n)
    if not isinstance(constraints, Constraints):
        raise InvalidInput(
            f"constraints={constraints!r:.40} is not known. Pass Constraints(fixed=…, groups=…, "
            f"at_least=…, at_most=…, costs=…, budget=…, min_distance=…)."
        )
    return constraints.feasibility(n)


def _as_fixed(fixed: Any, ids: Any, n: int) -> Ids:
    given = getattr(fixed, "indices", fixed)
    if getattr(given, "dtype", None) == np.bool_ or _is_mask(given):
        given = _mask_rows(given, n)
    elif ids is not None and given is fixed:
        given = _rows_with_ids(fixed, ids, n)
    try:
        rows = np.array([_index(i) for i in given], dtype=np.int64)
    except (TypeError, OverflowError):
        raise InvalidInput(
            f"constraints: fixed={fixed!r:.40} are not row numbers of the source. Pass ints from 0 "
            f"to {n - 1}, a mask, a Selection, or ids with ids=, one id per source row or a column."
        ) from None
    for i in rows[(rows < 0) | (rows >= n)]:
        raise InvalidInput(
            f"constraints: fixed holds {i}, which is not one of the {n} source rows. Pass ints "
            f"from 0 to {n - 1}."
        )
    values, counts = np.unique(rows, return_counts=True)
    for i in values[counts > 1]:
        raise InvalidInput(f"constraints: fixed holds {i} more than once. Pass each row once.")
    return rows


def _rows_with_ids(fixed: Any, ids: Any, n: int) -> Ids:
    names, numbers = numbered(ids, n, "ids")
    counts, place = np.bincount(numbers), {name: at for at, name in enumerate(names)}
    wanted = [fixed] if isinstance(fixed, str) or not hasattr(fixed, "__iter__") else list(fixed)
    for each in wanted:
        is_known = isinstance(each, Hashable) and each in place
        found = counts[place[each]] if is_known else 0
        if found != 1:
            alike = [name for name in names if str(name) == str(each)]
            hint = f" Did you mean {alike[0]!r}?" if alike else suggestion(each, map(str, names))
            hint = "" if is_known else hint
            raise InvalidInput(
                f"constraints: fixed holds {each!r}, which is the id of {found} source rows. Pass "
                f"ids of one row each.{hint}"
            )
    first = np.unique(numbers, return_index=True)[1]
    rows: Ids = first[[place[each] for each in wanted]]
    return rows


def _is_mask(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(type(x) is bool for x in given)


def _mask_rows(mask: Any, n: int) -> Ids:
    if np.shape(mask) != (n,):
        raise InvalidInput(
            f"constraints: fixed is a mask of shape {np.shape(mask)} for {n} source rows. Pass one "
            f"flag per source row, or row numbers."
        )
    return np.flatnonzero(np.asarray(mask))


def _index(value: Any) -> int:
    """Return a row number as an int; raise TypeError for a flag."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    return operator.index(value)


def _as_quotas(quotas: Any, names: tuple[Any, ...], name: str, *, otherwise: Ids) -> Ids:
    """Return one number per group."""
    if quotas is None:
        return otherwise
    if not isinstance(quotas, Mapping):
        return np.full(len(names), _as_quota(quotas, name), dtype=np.int64)
    out = otherwise.copy()
    place = {label: i for i, label in enumerate(names)}
    if None in quotas:  # no label is None
        out[:] = _as_quota(quotas[None], f"{name}[None]")
    for label, value in quotas.items():
        if label is None:
            continue
        if label not in place:
            raise InvalidInput(
                f"constraints: {name} names the group {label!r}, but groups only has "
                f"{shortened(map(repr, names))}. Use one of these."
            )
        out[place[label]] = _as_quota(value, f"{name}[{label!r}]")
    return out


def _has_own(quotas: Any, names: tuple[Any, ...]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for each group whether a number was given for it, and not for all groups."""
    own = quotas if isinstance(quotas, Mapping) else ()
    return np.array([label in own for label in names], dtype=np.bool_)


def _small_groups(quotas: Any, names: tuple[Any, ...], least: Ids, sizes: Ids) -> str:
    """Return a sentence on the groups that have fewer rows than asked for of all groups."""
    small = np.flatnonzero((least > sizes) & ~_has_own(quotas, names))
    if not len(small):
        return ""
    shown = shortened(f"{names[g]!r} ({sizes[g]:,} of {least[g]:,})" for g in small)
    return f"Groups with fewer rows than at_least asks for are selected completely: {shown}."


def _as_quota(value: Any, name: str) -> int:
    if not is_integer(value) or value < 0:
        raise InvalidInput(
            f"constraints: {name}={value!r:.40} is not a number of rows. Pass an integer >= 0, or "
            f"a mapping from labels to such integers."
        )
    return min(int(value), int(np.iinfo(np.int64).max))


def _require_consistent(names: tuple[Any, ...], least: Ids, most: Ids, sizes: Ids) -> None:
    for g in np.flatnonzero(least > sizes):
        raise InvalidInput(
            f"constraints: at_least requires {least[g]} rows of group {names[g]!r}, which has "
            f"{sizes[g]}. Lower at_least for this group."
        )
    for g in np.flatnonzero(least > most):
        raise InvalidInput(
            f"constraints: at_least requires {least[g]} rows of group {names[g]!r} but at_most "
            f"allows {most[g]}. Lower at_least or raise at_most."
        )


def _as_costs(costs: Any, n: int) -> Doubles:
    try:
        values = np.array(costs, dtype=np.float64 if np.isrealobj(costs) else "U")
        values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"constraints: costs={costs!r:.40} are not numbers. Pass {n} numbers > 0."
        ) from None
    if values.shape != (n,):
        raise InvalidInput(
            f"constraints: costs have shape {values.shape} but source has {n} rows. Pass one per "
            f"source row."
        )
    for at in np.flatnonzero(~((values > 0) & np.isfinite(values))):
        raise InvalidInput(
            f"constraints: costs[{at}]={values[at]} is not allowed. Costs must be finite and > 0. "
            f"Give a row that is already paid for any cost > 0, fix it, and add the cost to the "
            f"budget."
        )
    return values


def _as_budget(budget: Any) -> float:
    require_number(budget, "constraints: budget", above=0)
    return float(budget)
