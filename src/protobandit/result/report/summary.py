"""The facts of a selection at the top of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.metrics.metrics import Metric
from protobandit.result.queries import Queries
from protobandit.result.report.safe_text import clean, integral_as_int, shortened

_MOST_VALUE = 200  # characters
_MOST_COLUMNS = 40
# The confidence of a certificate, by its kind.
_CONFIDENCE = {
    "exact": "for certain",
    "rigorous": "with probability ≥ {:g}",
    "asymptotic": "with probability of about {:g}",
}


@dataclass(frozen=True, kw_only=True)
class SelectionSummary:
    """The facts of a selection; texts are "" where there is nothing to show.

    ``n_source`` is None if it is not known. ``metric`` is followed by its parameters. ``spent`` is
    the cost of the prototypes and the budget. ``certified`` is the certificate's bound on cost /
    best cost, with this ``confidence``. ``command`` repeats the selection.
    """

    selection: Queries
    n_source: int | None
    n_target: int
    method: str
    metric: str
    preparation: str
    columns: str
    columns_left_out: str
    classes: str
    spent: str
    status: str
    warnings: tuple[str, ...]
    guarantee: str
    certificate: str
    certified: float | None
    confidence: str
    parameters: Mapping[str, str]
    command: str

    @property
    def search_evaluations(self) -> int:
        """Return the evaluations of the search, without those of the certificate."""
        return self.selection.evaluations - self.selection.evaluations_by_phase.get("certify", 0)

    @property
    def n_pairs(self) -> int | None:
        """Return |S||T|, or None if |S| is not known."""
        return None if self.n_source is None else self.n_source * self.n_target

    @property
    def n_exact(self) -> int | None:
        """Return k|S||T|, the evaluations of exact greedy without a matrix."""
        return None if self.n_pairs is None else self.selection.k * self.n_pairs


def summarize(
    selection: Queries, *, n_source: int | None, n_target: int, command: str
) -> SelectionSummary:
    """Return the facts of a selection."""
    certificate = selection.certificate
    if n_source is None and selection.problem is not None:
        n_source = len(selection.problem.source)
    return SelectionSummary(
        selection=selection,
        n_source=n_source,
        n_target=n_target,
        method=clean(selection.method),
        metric=_metric(selection.metric),
        preparation=_text(selection.preparation),
        columns=_listed(selection.columns or ()),
        columns_left_out=_reasons(selection.columns_left_out),
        classes=_classes(selection.prototype_labels),
        spent=_spent(selection),
        status=clean(selection.status),
        warnings=tuple(clean(warning) for warning in selection.warnings),
        guarantee=_text(selection.guarantee),
        certificate=_text(certificate),
        certified=_bound(certificate),
        confidence=""
        if certificate is None
        else _CONFIDENCE[certificate.kind].format(certificate.confidence),
        parameters={clean(name): _parameter(value) for name, value in selection.parameters.items()},
        command=clean(command),
    )


def _text(value: object) -> str:
    return "" if value is None else clean(value)


def _listed(items: Iterable[str]) -> str:
    """Return the first columns, and the number of all if there are more."""
    texts = list(items)
    rest = f", … ({len(texts):,} in all)" if len(texts) > _MOST_COLUMNS else ""
    return clean(", ".join(texts[:_MOST_COLUMNS]) + rest)


def _reasons(left_out: Mapping[str, str]) -> str:
    """Return the columns of each reason why they are left out."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{_listed(names)} ({clean(why)})" for why, names in by_reason.items())


def _metric(metric: Metric | str) -> str:
    """Return a metric's name, followed by its parameters if it has any."""
    if isinstance(metric, str):
        return clean(metric)
    name = clean(metric.name)
    shown = ", ".join(
        f"{clean(key)}={_parameter(integral_as_int(value))}"
        for key, value in metric.parameters.items()
    )
    return f"{name} ({shown})" if shown else name


def _classes(labels: Any) -> str:
    if labels is None:
        return ""
    n = len({clean(label) for label in labels})
    return f"Prototypes were selected per class (by=), for {n:,} class{'' if n == 1 else 'es'}."


def _spent(selection: Queries) -> str:
    if selection.spent is None:
        return ""
    budget = selection.budget
    return f"{selection.spent:,.6g}" + ("" if budget is None else f" of a budget of {budget:,.6g}")


def _bound(certificate: Certificate | None) -> float | None:
    if certificate is None or not np.isfinite(certificate.cost_ratio):
        return None
    return float(certificate.cost_ratio)


def _parameter(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return clean(value.__name__)
    if isinstance(value, np.ndarray) and value.size > 1:
        return f"numbers of shape {value.shape}"
    value = value.item() if isinstance(value, np.generic) else value
    return shortened(value if isinstance(value, str) else repr(value), _MOST_VALUE)
