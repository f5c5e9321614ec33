"""A few real rows that stand for many.

>>> import protobandit as pb
>>> pb.select([[0.0], [1.0], [9.0]], k=2).k
2

Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protobandit import methods
    from protobandit._answers import Assignment, Explanation, Silhouette
    from protobandit._certificate import Certificate
    from protobandit._checkpoint import Checkpoint
    from protobandit._constraints import Constraints
    from protobandit._errors import Interrupted, InvalidInput, NotAvailable, ProtobanditError
    from protobandit._estimators import KMedoids, PrototypeSelector
    from protobandit._goals import Coverage, MinGain
    from protobandit._guarantee import Guarantee
    from protobandit._limits import Limits
    from protobandit._metrics import METRICS, Metric, block_metric, metric
    from protobandit._plan import Plan, plan
    from protobandit._preparation import FittedPreparation, Preparation
    from protobandit._problem import Target
    from protobandit._run import Step
    from protobandit._select import select
    from protobandit._selection import Selection
    from protobandit._watch import Interrupt, Progress
    from protobandit.data import Stream

__version__ = "0.1.0"

_HOMES = {
    "Assignment": "_answers",
    "Certificate": "_certificate",
    "Checkpoint": "_checkpoint",
    "Constraints": "_constraints",
    "Coverage": "_goals",
    "Explanation": "_answers",
    "FittedPreparation": "_preparation",
    "Guarantee": "_guarantee",
    "Interrupt": "_watch",
    "Interrupted": "_errors",
    "InvalidInput": "_errors",
    "KMedoids": "_estimators",
    "Limits": "_limits",
    "METRICS": "_metrics",
    "Metric": "_metrics",
    "MinGain": "_goals",
    "NotAvailable": "_errors",
    "Plan": "_plan",
    "Preparation": "_preparation",
    "Progress": "_watch",
    "ProtobanditError": "_errors",
    "PrototypeSelector": "_estimators",
    "Selection": "_selection",
    "Silhouette": "_answers",
    "Step": "_run",
    "Stream": "data",
    "Target": "_problem",
    "block_metric": "_metrics",
    "methods": "methods",
    "metric": "_metrics",
    "plan": "_plan",
    "select": "_select",
}

__all__ = [
    "METRICS",
    "Assignment",
    "Certificate",
    "Checkpoint",
    "Constraints",
    "Coverage",
    "Explanation",
    "FittedPreparation",
    "Guarantee",
    "Interrupt",
    "Interrupted",
    "InvalidInput",
    "KMedoids",
    "Limits",
    "Metric",
    "MinGain",
    "NotAvailable",
    "Plan",
    "Preparation",
    "Progress",
    "ProtobanditError",
    "PrototypeSelector",
    "Selection",
    "Silhouette",
    "Step",
    "Stream",
    "Target",
    "block_metric",
    "methods",
    "metric",
    "plan",
    "select",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'protobandit' has no attribute {name!r}")
    module = import_module(f"protobandit.{home}")
    value = module if home == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
