"""What was selected from what, at which cost, as words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.report._words import clean


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts of a selection.

    ``n_source`` is None where it is not known. ``guarantee``, ``certificate`` and ``command`` are
    "" where there is none; ``certified`` is the certificate's bound on cost / best cost.
    """

    k: int
    n_source: int | None
    n_target: int
    method: str
    metric: str
    cost: float
    cost_error: float
    evaluations: int
    evaluations_by_phase: Mapping[str, int]
    lookups: int
    seconds: float
    status: str
    guarantee: str
    certificate: str
    certified: float | None
    parameters: Mapping[str, str]
    command: str

    @property
    def searched(self) -> int:
        """Return the evaluations of the search, without those of the certificate."""
        return self.evaluations - self.evaluations_by_phase.get("certify", 0)

    @property
    def n_pairs(self) -> int | None:
        """Return |S||T|, where both are known."""
        return None if self.n_source is None else self.n_source * self.n_target

    @property
    def n_exact(self) -> int | None:
        """Return k|S||T|: what exact greedy computes without a matrix."""
        return None if self.n_pairs is None else self.k * self.n_pairs


def describe(selection: Any, *, n_source: int | None, n_target: int, command: str) -> About:
    """Return the facts of a selection."""
    certificate = selection.certificate
    problem = getattr(selection, "problem", None)
    if n_source is None and problem is not None:
        n_source = len(problem.source)
    return About(
        k=len(selection.indices),
        n_source=n_source,
        n_target=n_target,
        method=clean(selection.method),
        metric=clean(getattr(selection.metric, "name", selection.metric)),
        cost=float(selection.cost),
        cost_error=float(selection.cost_error),
        evaluations=int(selection.evaluations),
        evaluations_by_phase={clean(p): int(n) for p, n in selection.evaluations_by_phase.items()},
        lookups=int(selection.lookups),
        seconds=float(selection.seconds),
        status=clean(selection.status),
        guarantee="" if selection.guarantee is None else clean(selection.guarantee),
        certificate="" if certificate is None else clean(certificate),
        certified=_bound(certificate),
        parameters={clean(name): _told(value) for name, value in selection.parameters.items()},
        command=clean(command),
    )


def _bound(certificate: Any) -> float | None:
    if certificate is None or not np.isfinite(certificate.cost_ratio):
        return None
    return float(certificate.cost_ratio)


def _told(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return clean(value.__name__)
    return clean(value if isinstance(value, str) else repr(value))
