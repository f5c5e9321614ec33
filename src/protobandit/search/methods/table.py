"""The table of methods.

`select` takes a name of `METHODS`, or an instance such as ``LazyBandit(effort="thorough")``.
"""

from __future__ import annotations

from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.messages import suggestion
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
from protobandit.search.methods.method import Method
from protobandit.search.methods.mmd_critic import MMDCritic
from protobandit.search.methods.onebatch import OneBatch
from protobandit.search.methods.pam import PAM, FasterPAM, FastPAM1
from protobandit.search.methods.protobandit import ProtoBandit
from protobandit.search.methods.protodash import ProtoDash
from protobandit.search.methods.random_rows import Random
from protobandit.search.methods.refined import Refined

METHODS: dict[str, type[Any]] = {
    method.name: method
    for method in (
        LazyBandit,
        LocalSearch,
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
    """Return a method that was passed as a name or an instance.

    Parameters
    ----------
    method
        "auto", a name of `METHODS`, or an instance such as ``LazyBandit(effort="fast")``.

    Examples
    --------
    >>> import protobandit as pb
    >>> pb.methods.as_method("kcenter")
    KCenter()
    """
    if isinstance(method, str):
        if method == "auto":
            return Auto()
        if method in METHODS:
            chosen: Method = METHODS[method]()
            return chosen
    elif type(method) in (Auto, *METHODS.values()):
        passed: Method = method
        return passed
    raise InvalidInput(
        f"method={method!r:.60} is not known.{suggestion(method, METHODS)} Use one of "
        f"{['auto', *METHODS]}, or an instance such as methods.LazyBandit(effort='thorough')."
    )
