"""WORTH what? How much better the target is represented with one more source row."""

from protobandit.objectives._coverage import Coverage
from protobandit.objectives._ledger import Ledger, Objective
from protobandit.objectives._sampled import SampledCoverage
from protobandit.objectives._swap import Standing

__all__ = ["Coverage", "Ledger", "Objective", "SampledCoverage", "Standing"]
