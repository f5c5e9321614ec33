"""The table of named methods, and their parameters.

`select` takes a name of `METHODS`, or a value such as ``LazyBandit(effort="thorough")``.
"""

from __future__ import annotations

from typing import Any

from protobandit._errors import InvalidInput
from protobandit.methods._alternate import Alternate
from protobandit.methods._banditpam import BanditPAM
from protobandit.methods._clara import Clara
from protobandit.methods._clarans import Clarans
from protobandit.methods._greedy import LazyGreedy, Random, SpotGreedy, StochasticGreedy
from protobandit.methods._kcenter import KCenter
from protobandit.methods._lazybandit import LazyBandit
from protobandit.methods._method import Method, Outcome, parameters_of
from protobandit.methods._mmd_critic import MMDCritic
from protobandit.methods._onebatch import OneBatch
from protobandit.methods._pam import PAM, FasterPAM, FastPAM1
from protobandit.methods._protobandit import SEARCHES, ProtoBandit
from protobandit.methods._protodash import ProtoDash
from protobandit.methods._refined import Refined
from protobandit.methods._thresholdgreedy import ThresholdGreedy

__all__ = [
    "METHODS",
    "PAM",
    "SEARCHES",
    "Alternate",
    "BanditPAM",
    "Clara",
    "Clarans",
    "FastPAM1",
    "FasterPAM",
    "KCenter",
    "LazyBandit",
    "LazyGreedy",
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

METHODS: dict[str, type[Any]] = {
    method.name: method
    for method in (
        LazyBandit,
        SpotGreedy,
        LazyGreedy,
        StochasticGreedy,
        ThresholdGreedy,
        ProtoBandit,
        PAM,
        FastPAM1,
        FasterPAM,
        Alternate,
        BanditPAM,
        OneBatch,
        Clara,
        Clarans,
        KCenter,
        MMDCritic,
        ProtoDash,
        Refined,
        Random,
    )
}


def as_method(method: Any) -> Method:
    """Return the method of this name, or the one passed; "auto" is lazybandit."""
    if isinstance(method, str):
        if method == "auto":
            return LazyBandit()
        if method in METHODS:
            chosen: Method = METHODS[method]()
            return chosen
    elif type(method) in METHODS.values():
        passed: Method = method
        return passed
    shown = f"{method!r:.60}"
    raise InvalidInput(
        f"method={shown} is not known. Use one of {['auto', *METHODS]}, or a value such as "
        f"methods.LazyBandit(effort='thorough')."
    )
