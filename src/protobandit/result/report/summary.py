"""What was selected from what, at which cost, as words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.result.report.text import clean, plain, shortened

_MOST_VALUE = 200  # characters
# How sure a certificate is, by its kind.
_SURELY = {
    "exact": "for certain",
    "rigorous": "with probability ≥ {:g}",
    "asymptotic": "with probability of about {:g}",
}


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts of a selection.

    ``n_source`` is None where it is not known. ``guarantee``, ``certificate``, ``certainty`` (how
    sure the certificate is), ``preparation``, ``classes``, ``spent`` and ``command`` are "" where
    there is none; ``metric`` has its parameters with it; ``certified`` is the certificate's bound
    on cost / best cost.
    """

    k: int
    n_source: int | None
    n_target: int
    method: str
    metric: str
    preparation: str
    classes: str
    spent: str
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
    certainty: str
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
        metric=_metric(selection.metric),
        preparation=_words(getattr(selection, "preparation", None)),
        classes=_classes(getattr(selection, "prototype_labels", None)),
        spent=_spent(selection, problem),
        cost=float(selection.cost),
        cost_error=float(selection.cost_error),
        evaluations=int(selection.evaluations),
        evaluations_by_phase={clean(p): int(n) for p, n in selection.evaluations_by_phase.items()},
        lookups=int(selection.lookups),
        seconds=float(selection.seconds),
        status=clean(selection.status),
        guarantee=_words(selection.guarantee),
        certificate=_words(certificate),
        certified=_bound(certificate),
        certainty="" if certificate is None else _certainty(certificate),
        parameters={clean(name): _told(value) for name, value in selection.parameters.items()},
        command=clean(command),
    )


def _words(value: Any) -> str:
    return "" if value is None else clean(value)


def _metric(metric: Any) -> str:
    """Return a metric's name, with its parameters if it has any."""
    name = clean(getattr(metric, "name", metric))
    given = getattr(metric, "parameters", None) or {}
    told = ", ".join(f"{clean(key)}={_told(plain(value))}" for key, value in given.items())
    return f"{name} ({told})" if told else name


def _classes(labels: Any) -> str:
    if labels is None:
        return ""
    n = len({clean(label) for label in labels})
    return f"Prototypes were chosen class by class (by=), for {n:,} class{'' if n == 1 else 'es'}."


def _spent(selection: Any, problem: Any) -> str:
    spent = getattr(selection, "spent", None)
    if spent is None:
        return ""
    budget = getattr(getattr(problem, "feasibility", None), "budget", None)
    return f"{spent:,.6g}" + ("" if budget is None else f" of a budget of {budget:,.6g}")


def _bound(certificate: Any) -> float | None:
    if certificate is None or not np.isfinite(certificate.cost_ratio):
        return None
    return float(certificate.cost_ratio)


def _certainty(certificate: Any) -> str:
    return _SURELY[certificate.kind].format(certificate.confidence)


def _told(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return clean(value.__name__)
    if isinstance(value, np.ndarray) and value.size > 1:
        return f"numbers of shape {value.shape}"
    value = value.item() if isinstance(value, np.generic) else value
    return shortened(value if isinstance(value, str) else repr(value), _MOST_VALUE)
