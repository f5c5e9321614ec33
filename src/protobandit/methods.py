"""The named methods and their parameters, for use as ``select(..., method=...)``.

`select` takes a name of `METHODS`, or a value such as ``LazyBandit(effort="thorough")``.
"""

from protobandit.search.methods.alternate import Alternate
from protobandit.search.methods.auto import Auto
from protobandit.search.methods.banditpam import BanditPAM
from protobandit.search.methods.clara import Clara
from protobandit.search.methods.clarans import Clarans
from protobandit.search.methods.greedy import (
    LazyGreedy,
    SpotGreedy,
    StochasticGreedy,
    ThresholdGreedy,
)
from protobandit.search.methods.kcenter import KCenter
from protobandit.search.methods.lazybandit import LazyBandit
from protobandit.search.methods.localsearch import LocalSearch
from protobandit.search.methods.method import Method, Outcome, parameters_of
from protobandit.search.methods.mmd_critic import MMDCritic
from protobandit.search.methods.onebatch import OneBatch
from protobandit.search.methods.pam import PAM, FasterPAM, FastPAM1
from protobandit.search.methods.protobandit import SEARCHES, ProtoBandit
from protobandit.search.methods.protodash import ProtoDash
from protobandit.search.methods.random_rows import Random
from protobandit.search.methods.refined import Refined
from protobandit.search.methods.table import METHODS, as_method

__all__ = [
    "METHODS",
    "PAM",
    "SEARCHES",
    "Alternate",
    "Auto",
    "BanditPAM",
    "Clara",
    "Clarans",
    "FastPAM1",
    "FasterPAM",
    "KCenter",
    "LazyBandit",
    "LazyGreedy",
    "LocalSearch",
    "MMDCritic",
    "Method",
    "OneBatch",
    "Outcome",
    "ProtoBandit",
    "ProtoDash",
    "Random",
    "Refined",
    "SpotGreedy",
    "StochasticGreedy",
    "ThresholdGreedy",
    "as_method",
    "parameters_of",
]
