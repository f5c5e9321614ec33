"""What is proven about a run, with all its constants and conditions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A statement about f(M) = C - cost(M), against the best f* of any k source rows.

    Where a condition says that d above C counts as C, cost(M) is the mean of min(d, C).

    Attributes
    ----------
    method
        The name of the method.
    statement
        The inequality, as text.
    epsilon, nu, delta
        The constants of the inequality; ``nu`` and ``delta`` are in units of ``scale``.
    nu_step
        The tolerance of one iteration, nu / (k (1 - 1/e - epsilon)).
    scale
        C; None if the statement holds for every C that bounds the dissimilarities.
    vacuous
        True if the statement is true but empty: its right-hand side, with the f that was reached
        in place of f*, is not positive.
    conditions
        The assumptions of the statement.
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
