"""How far a selection can be from the best one, said as exactly as it is meant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

from protobandit.foundation.errors import InvalidInput


class Share(NamedTuple):
    """A share of the best f = C - cost that is reached, with the C it holds for."""

    ratio: float
    scale: float

    def __str__(self) -> str:
        return f"f >= {self.ratio:.4f} f* with C = {self.scale:.6g}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """A bound on cost(M) / cost(M*), where M* is the best set of as many source rows.

    Attributes
    ----------
    kind
        "rigorous": the confidence holds for any data and any number of rows. "asymptotic": it is
        approached as the rows become many. "exact": every dissimilarity was computed, and the
        confidence is 1.
    confidence
        How likely what is said here is to be true, whatever the data.
    cost, cost_margin
        The cost of the selection, and how far off it may be: 0.0 where it is exact.
    cost_bound
        The cost of the best set is at least this.
    cost_ratio
        The cost is at most this many times that of the best set; infinite when nothing is proven.
    evaluations
        Dissimilarities computed for it.
    n_rows
        Target rows on which every source row was judged.
    statement
        The same in words.
    conditions
        What it takes for granted.
    """

    kind: str
    confidence: float
    cost: float
    cost_margin: float
    cost_bound: float
    cost_ratio: float
    evaluations: int
    n_rows: int
    statement: str
    conditions: tuple[str, ...] = ()

    def f_ratio(self, scale: float) -> Share:
        """Return a lower bound on f(M) / f(M*), f = C - cost, and the C it belongs to.

        A larger C makes the same selection look better; `cost_ratio` needs none.

        Parameters
        ----------
        scale
            C, a bound on the dissimilarities.
        """
        highest = self.cost + self.cost_margin
        if not is_real(scale) or not math.isfinite(scale) or scale <= highest:
            raise InvalidInput(
                f"scale={scale!r} is not a bound on the dissimilarities: their mean to the nearest "
                f"prototype is {highest:.6g} already. Pass the largest dissimilarity, or more."
            )
        is_proven = math.isfinite(self.cost_ratio)
        ratio = (scale - highest) / (scale - self.cost_bound) if is_proven else 0.0
        return Share(ratio, float(scale))

    def __str__(self) -> str:
        given = " and ".join(self.conditions)
        return f"{self.statement}, provided that {given}" if given else self.statement

    def __repr__(self) -> str:
        margin = f" ± {self.cost_margin:.2g}" if self.cost_margin else ""
        lines = (
            f"Certificate ({self.kind}, confidence {self.confidence:g})",
            f"  cost ratio   at most {rounded_up(self.cost_ratio)}",
            f"  cost         {self.cost:.6g}{margin}",
            f"  best cost    at least {self.cost_bound:.6g}",
            f"  evaluations  {self.evaluations:,} on {self.n_rows:,} target rows",
            f"  statement    {self}",
        )
        return "\n".join(lines)


def is_real(value: Any) -> bool:
    """Return whether a value is a number and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def rounded_up(ratio: float) -> str:
    """Return a ratio to four places, less than it is by a millionth at most."""
    return f"{math.ceil(ratio * 1e4 - 0.01) / 1e4:.4f}" if math.isfinite(ratio) else "inf"


_CERTAINTY = {
    "exact": "For certain",
    "rigorous": "With probability at least {:g}",
    "asymptotic": "With probability about {:g}",
}


def stated(kind: str, confidence: float, ratio: float, *, k: int, n_rows: int) -> str:
    """Return what a ratio of costs means, as a sentence without its full stop."""
    if math.isinf(ratio):
        return (
            f"Nothing is proven: on {n_rows:,} target rows the best cost is only bounded by 0. "
            f"More evaluations may help"
        )
    surely = _CERTAINTY[kind].format(confidence)
    best = "source row" if k == 1 else f"{k:,} source rows"
    return f"{surely}, the cost is at most {rounded_up(ratio)} times that of the best {best}"
