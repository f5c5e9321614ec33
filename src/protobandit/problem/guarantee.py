"""What is proven of a run, said as exactly as it is meant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A statement about f(M) = C - cost(M), against the best f* of any k source rows.

    Attributes
    ----------
    method
        The method it belongs to.
    statement
        The inequality, in words and symbols.
    epsilon, nu, delta
        Its constants; ``nu`` and ``delta`` are in units of ``scale``.
    nu_step
        The tolerance of one iteration, nu / (k (1 - 1/e - epsilon)).
    scale
        C; None when the statement holds for every C that bounds the dissimilarities.
    vacuous
        True when the statement, though true, says nothing: its right-hand side, with the f that
        was reached in place of f*, is not positive.
    conditions
        What it takes for granted.
    """

    method: str
    statement: str
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
