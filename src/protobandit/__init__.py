"""A few real rows that stand for many.

>>> import protobandit as pb
>>> pb.select([[0.0], [1.0], [9.0]], k=2).k
2

Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from protobandit._version import __version__ as __version__

if TYPE_CHECKING:
    from protobandit import data, methods
    from protobandit._plan import Plan, plan
    from protobandit._select import select
    from protobandit.certificate.certificate import Certificate
    from protobandit.foundation.errors import (
        Interrupted,
        InvalidInput,
        NotAvailable,
        PartFailed,
        ProtobanditError,
    )
    from protobandit.foundation.run_warning import RunWarning, WarningKind
    from protobandit.interfaces.estimators.kmedoids import KMedoids
    from protobandit.interfaces.estimators.selector import PrototypeSelector
    from protobandit.metrics.metrics import METRICS, Metric, block_metric, metric
    from protobandit.problem.constraints import Constraints
    from protobandit.problem.goals import Certified, Coverage, MinGain
    from protobandit.problem.guarantee import Guarantee
    from protobandit.problem.limits import Limits
    from protobandit.problem.problem import Target
    from protobandit.problem.reference import Reference
    from protobandit.result.drift import Drift
    from protobandit.result.queries import Assignment, Explanation, Silhouette
    from protobandit.result.selection import Selection
    from protobandit.rows.preparation.fitted import FittedPreparation
    from protobandit.rows.preparation.preparation import Preparation
    from protobandit.rows.streams import Stream
    from protobandit.run.checkpoint.checkpoint import Checkpoint
    from protobandit.run.executors.traffic import Traffic
    from protobandit.run.goal_outcome import GoalOutcome
    from protobandit.run.outcome import Step
    from protobandit.run.progress.reporter import Interrupt, Progress


_HOMES = {
    "Assignment": "result.queries",
    "Certificate": "certificate.certificate",
    "Certified": "problem.goals",
    "Checkpoint": "run.checkpoint.checkpoint",
    "Constraints": "problem.constraints",
    "Coverage": "problem.goals",
    "Drift": "result.drift",
    "Explanation": "result.queries",
    "FittedPreparation": "rows.preparation.fitted",
    "GoalOutcome": "run.goal_outcome",
    "Guarantee": "problem.guarantee",
    "Interrupt": "run.progress.reporter",
    "Interrupted": "foundation.errors",
    "InvalidInput": "foundation.errors",
    "KMedoids": "interfaces.estimators.kmedoids",
    "Limits": "problem.limits",
    "METRICS": "metrics.metrics",
    "Metric": "metrics.metrics",
    "MinGain": "problem.goals",
    "NotAvailable": "foundation.errors",
    "PartFailed": "foundation.errors",
    "Plan": "_plan",
    "Preparation": "rows.preparation.preparation",
    "Progress": "run.progress.reporter",
    "ProtobanditError": "foundation.errors",
    "PrototypeSelector": "interfaces.estimators.selector",
    "Reference": "problem.reference",
    "RunWarning": "foundation.run_warning",
    "Selection": "result.selection",
    "Silhouette": "result.queries",
    "Step": "run.outcome",
    "Stream": "rows.streams",
    "Target": "problem.problem",
    "Traffic": "run.executors.traffic",
    "WarningKind": "foundation.run_warning",
    "block_metric": "metrics.metrics",
    "data": "data",
    "methods": "methods",
    "metric": "metrics.metrics",
    "plan": "_plan",
    "select": "_select",
}
# What people look for here, but a selection has.
_OF_SELECTIONS = {
    **{
        name: f"selection.{name}()"
        for name in ("assign", "certify", "drift", "explain", "extended", "report", "save")
    },
    "load": "Selection.load(path)",
    "update": "selection.updated(new_rows)",
}

__all__ = [
    "METRICS",
    "Assignment",
    "Certificate",
    "Certified",
    "Checkpoint",
    "Constraints",
    "Coverage",
    "Drift",
    "Explanation",
    "FittedPreparation",
    "GoalOutcome",
    "Guarantee",
    "Interrupt",
    "Interrupted",
    "InvalidInput",
    "KMedoids",
    "Limits",
    "Metric",
    "MinGain",
    "NotAvailable",
    "PartFailed",
    "Plan",
    "Preparation",
    "Progress",
    "ProtobanditError",
    "PrototypeSelector",
    "Reference",
    "RunWarning",
    "Selection",
    "Silhouette",
    "Step",
    "Stream",
    "Target",
    "Traffic",
    "WarningKind",
    "block_metric",
    "data",
    "methods",
    "metric",
    "plan",
    "select",
]


if not TYPE_CHECKING:  # or every name would exist for a type checker

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            advice = f". Call {_OF_SELECTIONS[name]}" if name in _OF_SELECTIONS else ""
            raise AttributeError(f"module 'protobandit' has no attribute {name!r}{advice}")
        module = import_module(f"protobandit.{home}")
        value = module if home == name else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
