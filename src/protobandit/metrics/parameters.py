"""What parameters metrics take, in words."""

from __future__ import annotations

from typing import Any

PARAMETERS: dict[str, dict[str, str]] = {  # of each metric that takes one: what it is
    "minkowski": {"p": "a number > 0; 2 by default"},
    "seuclidean": {"V": "one positive variance a column"},
    "mahalanobis": {"VI": "the inverse covariance, a symmetric matrix"},
}
_OPTIONS = {"p": "p=3", "V": "V='[1, 4]'", "VI": "VI='[[1, 0], [0, 4]]'"}


def others(name: str, given: Any) -> str:
    """Return the sentence for parameters that a metric does not take."""
    allowed = "It takes none: leave them out."
    for key in PARAMETERS.get(name, ()):
        takes = f"{{{key!r}: ...}}"
        allowed = (
            f"It takes {takes}, as in metric=protobandit.metric({name!r}, {takes}) "
            f"(--metric-param {_OPTIONS[key]})."
        )
    return f"parameters={given!r:.40} do not fit metric={name!r}. {allowed}"


def misfit(name: str, key: str, value: Any, allowed: str) -> str:
    """Return the sentence for a parameter of a wrong value."""
    return f"parameters={{{key!r}: {value!r:.40}}} do not fit metric={name!r}. {key} is {allowed}."
