"""What is done to rows before a metric reads them: asked for, fitted on the target, repeated."""

from protobandit._preparation._fitted import FittedPreparation
from protobandit._preparation._recipe import Preparation
from protobandit._preparation._rows import PreparedRows
from protobandit._preparation._sides import Sides, prepare_sides, rows_by

__all__ = [
    "FittedPreparation",
    "Preparation",
    "PreparedRows",
    "Sides",
    "prepare_sides",
    "rows_by",
]
