"""Cases of calls with values that make no sense, and of metrics that misbehave."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import protobandit as pb
from benchmarks.fuzz.attempts import Planned, Report
from benchmarks.fuzz.rows import Random
from protobandit.methods import METHODS

_ROWS = np.random.default_rng(0).normal(size=(12, 3))

WILD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 11, 12, 13, 10**20, 10**400, -(10**400), 2**63),
    *(0.0, -0.0, 0.5, 1.0, 1.5, 3.0, 1e-300, 1e20, 1e300, math.nan, math.inf, -math.inf, -1.0),
    *("", "x", "auto", "3", "\x1b[31m", "a\nb", b"x", "fast", "random"),
    *((), [], [1], [1, 2], [0, 0], ["a"] * 12, [None] * 12, {}, {"a": 1}, {0: 2}, {None: 1}),
    *(np.array(3), np.array([]), np.arange(3), np.ones(12), np.zeros(12), -np.ones(12)),
    *(np.full(12, np.nan), np.full(12, np.inf), np.ones((12, 1)), np.ones((2, 2)), np.eye(3)),
    *(np.int8(3), np.uint64(2**63), np.float32(0.5), np.float16(3), np.bool_(True)),
    *(np.array(["a"] * 12), np.array([None] * 12), np.array([1, "a"], dtype=object)),
    *(Decimal(3), Fraction(1, 2), 3 + 0j, object(), range(3), {1, 2}),
    *(np.datetime64("2020"), slice(3), Ellipsis, NotImplemented, _ROWS, _ROWS.tolist()),
)


def wild(random: Random) -> Any:
    return WILD[random.integers(len(WILD))]


def _arguments(random: Random, allowed: dict[str, Any], n_wild: int) -> dict[str, Any]:
    """Return arguments in which some are wild."""
    names = random.permutation(list(allowed))[:n_wild]
    return {**allowed, **{str(name): wild(random) for name in names}}


_SELECT = dict.fromkeys(
    ("target", "weights", "constraints", "until", "by", "n_jobs", "limits"), None
) | {"k": 3, "metric": "euclidean", "preparation": None, "method": "auto"}
_MORE = {"random_state": 0, "callback": None, "progress": None, "interrupt": None}


def _select(random: Random) -> Callable[[], Any]:
    passed = _arguments(random, _SELECT | _MORE, int(random.integers(1, 3)))
    source = wild(random) if random.random() < 0.1 else _ROWS
    return lambda: pb.select(source, **passed)


def _plan(random: Random) -> Callable[[], Any]:
    passed = _arguments(random, _SELECT, int(random.integers(1, 3)))
    return lambda: pb.plan(_ROWS, **passed)


def _record(kind: Any, name: str, k: Any = 3) -> Callable[[Random], Callable[[], Any]]:
    """Return a maker of calls of `select` with a record some of whose fields are wild."""

    def make(random: Random) -> Callable[[], Any]:
        names = [each.name for each in fields(kind)]
        count = int(random.integers(1, 1 + min(3, len(names))))
        passed = {str(each): wild(random) for each in random.permutation(names)[:count]}
        if kind in (pb.Coverage, pb.Certified):
            passed = {"share": 0.5, "radius": 1.0, **passed} if kind is pb.Coverage else passed
        return lambda: pb.select(_ROWS, k=k, **{name: kind(**passed)}, random_state=0)

    return make


def _method(random: Random) -> Callable[[], Any]:
    kind = METHODS[str(random.choice(list(METHODS)))]
    names = [each.name for each in fields(kind)]
    passed = {str(each): wild(random) for each in random.permutation(names)[:2]}
    return lambda: pb.select(_ROWS, k=3, method=kind(**passed), random_state=0)


def _metric(random: Random) -> Callable[[], Any]:
    name = str(random.choice(["minkowski", "seuclidean", "mahalanobis", "euclidean", "p"]))
    parameters = {str(random.choice(["p", "V", "VI"])): wild(random)}
    return lambda: pb.select(_ROWS, k=3, metric=pb.metric(name, parameters))


def _estimator(random: Random) -> Callable[[], Any]:
    kind = [pb.KMedoids, pb.PrototypeSelector][random.integers(2)]
    names = [each for each in kind().get_params() if each != "compute_labels"]
    passed = {str(each): wild(random) for each in random.permutation(names)[:2]}
    fitted = {"sample_weight": wild(random)} if random.random() < 0.3 else {}
    return lambda: kind(**passed).fit(_ROWS, **fitted)


_CALLS: tuple[tuple[str, Callable[[Random], Callable[[], Any]]], ...] = (
    ("select", _select),
    ("plan", _plan),
    ("Constraints", _record(pb.Constraints, "constraints")),
    ("Limits", _record(pb.Limits, "limits")),
    ("Coverage", _record(pb.Coverage, "until", None)),
    ("Preparation", _record(pb.Preparation, "preparation")),
    ("method", _method),
    ("metric", _metric),
    ("estimator", _estimator),
)


def hostile_call(random: Random, report: Report) -> None:
    """Call something with wild values; it must be refused, or give rows that exist."""
    name, make = _CALLS[random.integers(len(_CALLS))]
    call = make(random)
    names = call.__code__.co_freevars
    cells = [each.cell_contents for each in call.__closure__ or ()]
    report.describe(call=name, **dict(zip(names, cells, strict=True)))
    found = report.made(
        call,
        errors_of="sklearn" if name == "estimator" else "",
        expected=(UserWarning, ConvergenceWarning) if name == "estimator" else (),
    )
    indices = getattr(getattr(found, "selection_", found), "indices", None)
    if indices is not None:
        is_valid = len(set(indices.tolist())) == len(indices) and len(indices)
        if not is_valid or indices.min() < 0:
            report.complaints.append(f"accepted, with the indices {indices}")


_CHOSEN: list[Any] = []


def hostile_query(random: Random, report: Report) -> None:
    """Ask a selection something that makes no sense."""
    if not _CHOSEN:
        _CHOSEN.append(pb.select(_ROWS, k=3, random_state=0))
    chosen = _CHOSEN[0]
    queries: dict[str, tuple[str, ...]] = {
        "assign": ("rows", "n_jobs"),
        "distances": ("rows", "n_jobs"),
        "explain": ("rows", "n", "n_jobs"),
        "at": ("k", "random_state", "n_jobs"),
        "extended": ("k", "method", "random_state", "n_jobs", "limits", "callback"),
        "certify": ("confidence", "kind", "evaluations", "random_state", "n_jobs"),
        "members": ("i",),
        "take": ("frame",),
        "attached": ("source", "target", "weights", "metric"),
        "from_json": ("text", "metric"),
    }
    ordinary = {"rows": _ROWS, "k": 2, "i": 0, "frame": _ROWS, "source": _ROWS, "text": "{}"}
    name = str(random.choice(list(queries)))
    names = queries[name]
    passed = {each: ordinary[each] for each in names if each in ordinary}
    count = int(random.integers(1, 3))
    passed |= {str(each): wild(random) for each in random.permutation(names)[:count]}
    report.describe(query=name, **passed)
    report.made(lambda: getattr(chosen, name)(**passed))


def hostile_metric(random: Random, report: Report) -> None:
    """Select by a function that fails, or that returns something other than numbers >= 0."""
    value = wild(random)
    at = int(random.integers(0, 40))
    is_block, is_raising = random.random() < 0.4, random.random() < 0.2
    calls = 0

    def pairs(t: Any, s: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > at and is_raising:
            raise Planned
        return value if calls > at else abs(float(np.sum(t) - np.sum(s)))

    def block(targets: Any, sources: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > at // 8 and is_raising:
            raise Planned
        if calls > at // 8:
            return value
        return np.ones((len(targets), len(sources)))

    method = str(random.choice(["auto", *METHODS]))
    report.describe(method=method, value=value, after=at, block=is_block, raises=is_raising)
    metric = pb.block_metric(block) if is_block else pairs
    report.made(lambda: pb.select(_ROWS, k=3, metric=metric, method=method, random_state=0))
