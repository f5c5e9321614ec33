"""Keywords that people try with `select` and `plan`, and what to pass instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from protobandit.rows.messages import suggestion

P = ParamSpec("P")
R = TypeVar("R")

_MOST_CHARACTERS = 40  # of a value in a message
_KEYWORDS = {
    "k={0}": ("n", "n_clusters", "n_components", "n_medoids", "n_prototypes", "n_samples", "size"),
    "random_state={0}": ("rng", "random_seed", "seed"),
    "n_jobs={0}": ("jobs", "n_threads", "num_threads", "threads", "workers"),
    "metric={0}": ("affinity", "dissimilarity", "distance"),
    "weights={0}": ("sample_weight", "weight"),
    "by={0}": ("classes", "groupby", "labels", "stratify", "y"),
    "progress=True": ("verbose",),
    "constraints=Constraints({1}={0})": (
        "at_least",
        "at_most",
        "budget",
        "costs",
        "fixed",
        "groups",
        "ids",
        "min_distance",
    ),
    "limits=Limits({1}={0})": ("evaluations", "memory", "seconds"),
    "limits=Limits(seconds={0})": ("max_seconds", "time_limit", "timeout"),
    "preparation=Preparation({1}={0})": (
        "categories",
        "impute",
        "normalize",
        "pca",
        "standardize",
    ),
    "method=methods.Auto(effort={0})": ("effort",),
    "data.open_rows(source, {1}={0}) as the source": ("columns", "exclude", "sample", "where"),
}
_ADVICE = {name: advice for advice, names in _KEYWORDS.items() for name in names}


def with_advice(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function; for an unknown keyword, its error says what to pass instead.

    >>> @with_advice
    ... def select(k: int = 1) -> None:
    ...     pass
    >>> select(n_clusters=3)
    Traceback (most recent call last):
    TypeError: select() got an unexpected keyword argument 'n_clusters'. Pass k=3.
    """
    known = signature(function).parameters

    @wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        for name, value in keywords.items():
            if name not in known:
                advice, shown = _ADVICE.get(name, ""), repr(value)
                more = suggestion(name, known)
                if advice.partition("=")[0] in known or advice.startswith("data."):
                    shown = shown if len(shown) <= _MOST_CHARACTERS else "…"
                    more = f" Pass {advice.format(shown, name)}."
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {name!r}.{more}"
                )
        return function(*args, **keywords)

    return called
