"""The table of named methods, and their parameters.

`select` takes a name of `METHODS`, or a value such as ``LazyBandit(effort="thorough")``.
"""

from __future__ import annotations

from typing import Any

from protobandit._errors import InvalidInput
from protobandit.methods._greedy import LazyGreedy, Random, SpotGreedy, StochasticGreedy
from protobandit.methods._lazybandit import LazyBandit
from protobandit.methods._method import Method, Outcome, parameters_of
from protobandit.methods._protobandit import SEARCHES, ProtoBandit
from protobandit.methods._refined import Refined

__all__ = [
    "METHODS",
    "SEARCHES",
    "LazyBandit",
    "LazyGreedy",
    "Method",
    "Outcome",
    "ProtoBandit",
    "Random",
    "Refined",
    "SpotGreedy",
    "StochasticGreedy",
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
        ProtoBandit,
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
