"""WORTH what? How much better the target is represented with one more source row."""

from protobandit.objectives._coverage import Coverage
from protobandit.objectives._criticism import criticisms
from protobandit.objectives._discrepancy import Discrepancy
from protobandit.objectives._embedding import Embedding, median_evaluations, median_gamma
from protobandit.objectives._finalists import Finalists
from protobandit.objectives._lead import lead
from protobandit.objectives._ledger import Ledger, Objective
from protobandit.objectives._medoids import Medoids, cell_costs, nearest_arms, nearest_rows
from protobandit.objectives._mixture import Mixture
from protobandit.objectives._neighbours import first_better
from protobandit.objectives._prefix_coverage import PrefixCoverage
from protobandit.objectives._prefixes import Prefixes
from protobandit.objectives._sampled import SampledCoverage
from protobandit.objectives._slots import STAY, Slots
from protobandit.objectives._swap import Standing

__all__ = [
    "STAY",
    "Coverage",
    "Discrepancy",
    "Embedding",
    "Finalists",
    "Ledger",
    "Medoids",
    "Mixture",
    "Objective",
    "PrefixCoverage",
    "Prefixes",
    "SampledCoverage",
    "Slots",
    "Standing",
    "cell_costs",
    "criticisms",
    "first_better",
    "lead",
    "median_evaluations",
    "median_gamma",
    "nearest_arms",
    "nearest_rows",
]
