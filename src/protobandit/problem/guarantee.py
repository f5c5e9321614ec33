"""What is proven about a run, with all its constants and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protobandit.foundation.checks import rounded_up


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A statement about the cost, or about f(M) = C - cost(M).

    cost* and f* are the best cost and the best f of any k source rows.

    Where a condition says that d above C counts as C, cost(M) is the mean of min(d, C).

    Attributes
    ----------
    method
        The name of the method.
    statement
        The inequalities, as text.
    cost_factor
        The cost is at most this multiple of cost*; None if no such factor is proven.
    probability
        The probability with which the statement holds; 1.0 if it is certain.
    epsilon, nu, delta
        The constants of the inequalities; ``nu`` is in units of ``scale``, and so is ``delta`` if
        the statement is about E[f].
    nu_step
        The tolerance of one iteration, nu / (k (1 - 1/e - epsilon)).
    scale
        C; None if the statement holds for every C that bounds the dissimilarities, or if ``nu`` is
        a share of the cost.
    vacuous
        True if the statement is true but empty: its right-hand side, with the f that was reached
        in place of f*, is not positive.
    conditions
        The assumptions of the statement.
    """

    method: str
    statement: str
    cost_factor: float | None = None
    probability: float = 1.0
    epsilon: float = 0.0
    nu: float = 0.0
    delta: float = 0.0
    nu_step: float = 0.0
    scale: float | None = None
    vacuous: bool = False
    conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.statement]
        if self.conditions:
            parts.append("provided that " + " and ".join(self.conditions))
        text = ", ".join(parts)
        return f"{text} (vacuous: the right-hand side is not positive)" if self.vacuous else text


def weakest(guarantees: Sequence[Guarantee | None]) -> Guarantee | None:
    """Return what all of these certainly state, or None.

    Factors of the cost may differ: the largest holds for all.
    """
    certain = [each for each in guarantees if each is not None and each.probability == 1]
    if len(certain) < len(guarantees):
        return None
    first = certain[0]
    if all(each == first for each in certain):
        return first
    factors = [each.cost_factor for each in certain if each.cost_factor is not None]
    if len(factors) < len(certain) or any(each.conditions for each in certain):
        return None
    return factor_guarantee(first.method, max(factors))


def factor_guarantee(method: str, factor: float) -> Guarantee:
    """Return the guarantee that the cost is at most ``factor`` times the best one."""
    return Guarantee(
        method=method, statement=f"cost <= {rounded_up(factor)} cost*", cost_factor=factor
    )
