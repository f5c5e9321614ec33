"""What source, target and prototypes are made of, by label or by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.text import clean, is_missing, plain

MOST_VALUES = 40
_MISSING = "(none)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Composition:
    """Shares by value: numbers ascending, words by how common they are in the target or source.

    ``source`` and ``target`` are None where their values are not known; ``mass`` is that of the
    prototypes with the value and ``counts`` how many these are. Of very many values the rarest are
    added up in the last, and ``n_merged`` says how many.
    """

    name: str
    values: tuple[str, ...]
    source: Doubles | None
    target: Doubles | None
    mass: Doubles
    counts: Ids
    n_merged: int = 0


class Agreement(NamedTuple):
    """The share of the weight whose rows carry their prototype's label.

    Rows without a label of their own, ``n_left_out`` of them, are left out.
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
    own = told(prototypes)
    sides = [None if given is None else told(given) for given in (source, target)]
    if weights is not None and sides[1] is not None and len(weights) != len(sides[1]):
        raise InvalidInput(
            f"{len(sides[1])} target {name}s for {len(weights)} weights. Pass one of each a row."
        )
    values = list(dict.fromkeys(v for given in (*sides[::-1], own) if given for v in given))
    place = {value: i for i, value in enumerate(values)}
    n = len(values)
    shares = [
        None if side is None else _shares(side, place, by)
        for side, by in zip(sides, (None, weights), strict=True)
    ]
    held = _sums(own, place, mass)
    counts = np.bincount([place[v] for v in own], minlength=n)
    leading = next((share for share in shares[::-1] if share is not None), held)
    order = _in_order(values, np.lexsort((-held, -leading)))
    return _merged(name, values, order, [*shares, held], counts)


def told(values: Iterable[Any]) -> list[str]:
    """Return labels as words, 1.0 as 1 is; what is missing has a word too."""
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_MISSING if is_missing(v) else clean(plain(v)) for v in items]


def agreement(
    own: Sequence[Any], of_prototypes: Sequence[Any], nearest: Ids, weights: Doubles
) -> Agreement | None:
    """Say how much of the weight carries its prototype's label; None where no row has a label.

    ``own`` is a label a row, ``of_prototypes`` a label a prototype, ``nearest`` which is a row's.
    """
    known, theirs = (
        np.fromiter((not is_missing(v) for v in side), dtype=bool, count=len(side))
        for side in (own, of_prototypes)
    )
    words = np.array([*told(own), *told(of_prototypes)], dtype=object)
    same = words[: len(own)] == words[len(own) :][nearest]
    total = float(weights[known].sum())
    if total <= 0:
        return None
    share = float(weights[known & theirs[nearest] & same].sum()) / total
    return Agreement(min(share, 1.0), int((~known).sum()))


def _in_order(values: list[str], by_share: Ids) -> Ids:
    """Return the order to show values in: that of numbers, if they are a few numbers."""
    if len(values) > MOST_VALUES:
        return by_share
    try:
        return np.argsort([float(value) for value in values], kind="stable")
    except ValueError:
        return by_share


def _shares(values: list[str], place: dict[str, int], weights: Any) -> Doubles:
    even = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    sums = _sums(values, place, even)
    shares: Doubles = sums / sums.sum()
    return shares


def _sums(values: list[str], place: dict[str, int], weights: Doubles) -> Doubles:
    sums = np.bincount([place[v] for v in values], weights, minlength=len(place))
    return sums.astype(np.float64)


def _merged(
    name: str, values: list[str], order: Ids, shares: list[Doubles | None], counts: Ids
) -> Composition:
    kept, rest = order, order[:0]
    if len(order) > MOST_VALUES:
        kept, rest = order[: MOST_VALUES - 1], order[MOST_VALUES - 1 :]

    def folded(numbers: Any) -> Any:
        if numbers is None:
            return None
        tail = [numbers[rest].sum()] if len(rest) else []
        return np.concatenate([numbers[kept], np.array(tail, dtype=numbers.dtype)])

    words = [values[i] for i in kept] + ([f"{len(rest):,} others"] if len(rest) else [])
    source, target, mass = (folded(share) for share in shares)
    return Composition(
        name=name,
        values=tuple(words),
        source=source,
        target=target,
        mass=mass,
        counts=folded(counts),
        n_merged=len(rest),
    )
