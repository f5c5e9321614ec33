"""The fields of a selection, declared once for its queries, figures, JSON and report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.run_warning import RunWarning
from protobandit.metrics.metrics import Metric
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.problem import Problem
from protobandit.problem.reference import Reference
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.transformer import FittedTransformer


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectionRecord:
    """What a `Selection` holds; see there for the meaning of each field.

    A report reads a selection without importing a search. The fields whose types belong to a
    search, and what is computed from these, are therefore declared in `Selection`.
    """

    indices: Ids
    costs: Doubles
    mass: Doubles
    cost_error: float
    evaluations_by_phase: Mapping[str, int]
    lookups: int
    guarantee: Guarantee | None
    status: str
    method: str
    parameters: Mapping[str, Any]
    metric: Metric | str
    prototypes: Any
    fingerprints: Mapping[str, str]
    coefficients: Doubles | None = None
    criticisms: Ids | None = None
    problem: Problem | None = None
    certificate: Certificate | None = None
    curve: Doubles | None = None
    spent: float | None = None
    prototype_labels: Any = None
    preparation: FittedPreparation | FittedTransformer | None = None
    columns: tuple[str, ...] | None = None
    columns_left_out: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()
    pulls: int = 0
    rows_read: int | None = None
    reference: Reference | None = None
    fixed: tuple[int, ...] = ()
    other_constraints: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        """Return the number of prototypes."""
        return len(self.indices)

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the target to its nearest prototype."""
        return float(self.costs[-1])

    @property
    def gains(self) -> Doubles:
        """Return how much each prototype lowered the cost; NaN for the first."""
        return np.concatenate([[np.nan], self.costs[:-1] - self.costs[1:]])  # never -0.0

    @property
    def evaluations(self) -> int:
        """Return the number of dissimilarities computed."""
        return sum(self.evaluations_by_phase.values())

    @property
    def budget(self) -> float | None:
        """Return the budget of the constraints; None without one, and after loading."""
        return None if self.problem is None else self.problem.feasibility.budget

    @property
    @abstractmethod
    def seconds(self) -> float:
        """Return the duration of the search."""

    @property
    @abstractmethod
    def knee(self) -> int | None:
        """Return the number of prototypes at the knee of the cost curve, if it is clear."""

    @property
    def metric_name(self) -> str:
        """Return the name of the metric, also where the metric itself was not saved."""
        return self.metric if isinstance(self.metric, str) else self.metric.name
