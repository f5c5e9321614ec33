"""The call that a checkpoint belongs to, as text and digests that can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit._version import __version__
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem


def identity_of(
    problem: Problem,
    fingerprints: Mapping[str, str],
    method: tuple[str, Mapping[str, Any]],
    limits: Limits,
) -> dict[str, Any]:
    """Return what must be equal to resume a search: all but time, threads and listeners."""
    feasibility, metric = problem.feasibility, problem.metric
    # A user's own function may have the name of a built-in metric.
    name = f"{metric.name} (your function)" if metric.is_own else metric.name
    return {
        "protobandit": __version__,
        **fingerprints,
        "stream": "none" if problem.stream is None else "read as needed",
        "weights": digest(problem.weights),
        "k": problem.k,
        "metric": _words((name, dict(metric.parameters))),
        "dtype": str(problem.dtype),
        "preparation": _prepared(problem),
        "method": _words((method[0], dict(method[1]))),
        "until": _words(problem.goal),
        "constraints": digest(
            feasibility.fixed,
            feasibility.groups,
            feasibility.least,
            feasibility.most,
            feasibility.prices,
            feasibility.budget,
            feasibility.min_distance,
        ),
        "limits": _words({"evaluations": limits.evaluations, "memory": limits.memory}),
    }


def _prepared(problem: Problem) -> str:
    made = problem.preparation
    return "none" if made is None else digest(json.dumps(made.to_document(), sort_keys=True))


def digest(*values: Any) -> str:
    """Return a short digest of arrays and plain values."""
    found = hashlib.blake2b(digest_size=8)
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(f"{value.dtype} {value.shape}".encode())
            found.update(np.ascontiguousarray(value).tobytes())
        else:
            found.update(_words(value).encode())
    return "none" if all(value is None for value in values) else found.hexdigest()


def _words(value: Any) -> str:
    """Return a text of a value that is the same in every process."""
    if isinstance(value, Mapping):
        parts = (f"{key}={_words(value[key])}" for key in sorted(value, key=str))
        return ", ".join(parts)
    if isinstance(value, np.ndarray):
        return digest(value)
    if isinstance(value, (tuple, list)):
        return " ".join(part for part in (_words(each) for each in value) if part)
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value.item() if isinstance(value, np.generic) else value)
