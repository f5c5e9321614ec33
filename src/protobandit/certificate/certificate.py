"""`Certificate`: a bound on how far a selection can be from the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from protobandit.foundation.checks import is_number, rounded_up, significant
from protobandit.foundation.errors import InvalidInput


class Share(NamedTuple):
    """A lower bound on f / f*, f = C - cost, with the C for which it holds."""

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
        "exact": every dissimilarity was computed, and the confidence is 1. "rigorous": target rows
        were drawn, and the confidence holds for any data and any number of rows. "asymptotic": the
        same without reading the whole target, so that the bound and the ratio hold approximately,
        and only under the ``conditions``.
    confidence
        The probability with which the bound holds.
    cost, cost_margin
        The cost of the selection and its possible error: 0.0 if the cost is exact.
    cost_bound
        A lower bound on the cost of the best set; never above ``cost + cost_margin``.
    cost_ratio
        An upper bound on the cost, as a multiple of the cost of the best set: at least 1, and
        infinite if nothing is proven.
    evaluations
        The number of dissimilarities computed for the certificate.
    n_rows
        The number of target rows on which every source row was evaluated.
    statement
        The bound as a sentence.
    conditions
        What the bound assumes and the certificate cannot check, such as that no outlier was missed
        or that the target is the rows that were read from a stream.
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
        """Return a lower bound on f(M) / f(M*), f = C - cost, with its C.

        A larger C gives a higher ratio for the same selection; `cost_ratio` does not depend on C.

        Parameters
        ----------
        scale
            C, an upper bound on the dissimilarities.
        """
        highest = self.cost + self.cost_margin
        if not is_number(scale) or not math.isfinite(scale) or scale <= highest:
            raise InvalidInput(
                f"scale={scale!r:.60} is not an upper bound on the dissimilarities: their mean to "
                f"the nearest prototype is {highest:.6g}. Pass the largest dissimilarity, or more."
            )
        is_proven = math.isfinite(self.cost_ratio)
        ratio = (scale - highest) / (scale - self.cost_bound) if is_proven else 0.0
        return Share(ratio, float(scale))

    def __str__(self) -> str:
        conditions = " and ".join(self.conditions)
        return f"{self.statement}, provided that {conditions}" if conditions else self.statement

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


_CERTAINTY = {
    "exact": "For certain",
    "rigorous": "With probability at least {}",
    "asymptotic": "With probability about {}",
}


def statement_of(kind: str, confidence: float, ratio: float, *, k: int, n_rows: int) -> str:
    """Return the statement of a certificate, without a full stop."""
    if math.isinf(ratio):
        return (
            f"Nothing is proven: on {n_rows:,} target rows the best cost is only bounded by 0. "
            f"More evaluations may help"
        )
    certainty = _CERTAINTY[kind].format(significant(confidence, is_up=False))
    best = "source row" if k == 1 else f"{k:,} source rows"
    return f"{certainty}, the cost is at most {rounded_up(ratio)} times that of the best {best}"
