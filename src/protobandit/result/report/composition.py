"""Shares of each label or group among source rows, target rows and prototypes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_missing, weights_or_ones
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.safe_text import clean, integral_as_int

MOST_VALUES = 40
_MISSING = "(none)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Composition:
    """Shares by value of a label or group; ``name`` is "label" or "group".

    ``values`` are numbers, ascending, or other values by their share in the target, or else in the
    source. If there are very many, the last entry sums up the ``n_merged`` rarest. ``source`` and
    ``target`` are None if their values are not known. ``mass`` and ``counts`` are the mass and the
    number of the prototypes with each value.
    """

    name: str
    values: tuple[str, ...]
    source: Doubles | None
    target: Doubles | None
    mass: Doubles
    counts: Ids
    n_merged: int = 0


class Agreement(NamedTuple):
    """The share of the weight of target rows that have the label of their nearest prototype.

    Rows without a label are left out; there are ``n_left_out`` of them.
    """

    share: float
    n_left_out: int


def compose(
    name: str,
    *,
    prototypes: Sequence[Any],
    mass: Doubles,
    source: Sequence[Any] | None = None,
    target: Sequence[Any] | None = None,
    weights: Any = None,
) -> Composition:
    """Return the shares of each value among source rows, target rows (by weight) and prototypes."""
    own = label_texts(prototypes)
    sides = [None if given is None else label_texts(given) for given in (source, target)]
    if weights is not None and sides[1] is not None and len(weights) != len(sides[1]):
        raise InvalidInput(
            f"The target has {len(sides[1])} {name}s but {len(weights)} weights. Pass one of each "
            f"per target row."
        )
    values = list(dict.fromkeys(v for given in (*sides[::-1], own) if given for v in given))
    place = {value: i for i, value in enumerate(values)}
    n = len(values)
    shares = [
        None if side is None else _shares(side, place, by)
        for side, by in zip(sides, (None, weights), strict=True)
    ]
    mass_by_value = _sums(own, place, mass)
    counts = np.bincount([place[v] for v in own], minlength=n)
    leading = next((share for share in shares[::-1] if share is not None), mass_by_value)
    order = _display_order(values, np.lexsort((-mass_by_value, -leading)))
    return _with_rarest_merged(name, values, order, [*shares, mass_by_value], counts)


def label_texts(values: Iterable[Any]) -> list[str]:
    """Return labels as text: 1.0 as "1", and missing ones as "(none)"."""
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_MISSING if is_missing(v) else clean(integral_as_int(v)) for v in items]


def label_agreement(
    labels: Sequence[Any], prototype_labels: Sequence[Any], nearest: Ids, weights: Doubles
) -> Agreement | None:
    """Return the share of the weight of rows that have their prototype's label.

    ``nearest`` is the nearest prototype of each row. None if no row with weight has a label.
    """
    is_known, is_prototype_known = (
        np.fromiter((not is_missing(v) for v in side), dtype=bool, count=len(side))
        for side in (labels, prototype_labels)
    )
    texts = np.array([*label_texts(labels), *label_texts(prototype_labels)], dtype=object)
    is_same = texts[: len(labels)] == texts[len(labels) :][nearest]
    total = float(weights[is_known].sum())
    if total <= 0:
        return None
    share = float(weights[is_known & is_prototype_known[nearest] & is_same].sum()) / total
    return Agreement(min(share, 1.0), int((~is_known).sum()))


def _display_order(values: list[str], by_share: Ids) -> Ids:
    """Return the order of the values: ascending if all are numbers and few, else by share."""
    if len(values) > MOST_VALUES:
        return by_share
    try:
        return np.argsort([float(value) for value in values], kind="stable")
    except ValueError:
        return by_share


def _shares(values: list[str], place: dict[str, int], weights: Any) -> Doubles:
    given = None if weights is None else np.asarray(weights, dtype=np.float64)
    sums = _sums(values, place, weights_or_ones(given, len(values)))
    shares: Doubles = sums / sums.sum()
    return shares


def _sums(values: list[str], place: dict[str, int], weights: Doubles) -> Doubles:
    sums = np.bincount([place[v] for v in values], weights, minlength=len(place))
    return sums.astype(np.float64)


def _with_rarest_merged(
    name: str, values: list[str], order: Ids, shares: list[Doubles | None], counts: Ids
) -> Composition:
    kept, rest = order, order[:0]
    if len(order) > MOST_VALUES:
        kept, rest = order[: MOST_VALUES - 1], order[MOST_VALUES - 1 :]

    def merged(numbers: Any) -> Any:
        if numbers is None:
            return None
        tail = [numbers[rest].sum()] if len(rest) else []
        return np.concatenate([numbers[kept], np.array(tail, dtype=numbers.dtype)])

    names = [values[i] for i in kept] + ([f"{len(rest):,} others"] if len(rest) else [])
    source, target, mass = (merged(share) for share in shares)
    return Composition(
        name=name,
        values=tuple(names),
        source=source,
        target=target,
        mass=mass,
        counts=merged(counts),
        n_merged=len(rest),
    )
