"""Cases of `select` whose answer is known: numbers, own metrics, texts, matrices, classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

import protobandit as pb
from benchmarks.fuzz.attempts import Report
from benchmarks.fuzz.distances import DEFINITIONS, Wide, distances, edits, rounded_size
from benchmarks.fuzz.judge import (
    Truth,
    compared,
    judged,
    judged_assignment,
    judged_certificate,
)
from benchmarks.fuzz.rows import Random, Table, table, values, wrapped
from protobandit.methods import METHODS, SEARCHES, LazyBandit

_PRECISIONS = {"float32": 2.0**-24, "float64": 2.0**-53}
_PRODUCT_PRECISION = 2.0**-40  # digits cancel in products of sparse rows, and of many columns
_SURE = 1 - 1e-9  # a confidence that never fails by chance
_OF_KERNELS = ("mmd-critic", "protodash")  # they compute similarities besides, and may refuse
_VARIED: dict[str, tuple[Any, ...]] = {
    "memoize": (True, False),
    "search": tuple(SEARCHES),
    "early_stop": (True,),
    "first_batch": (3, 7),
    "n_criticisms": (2,),
    "r": (2, 3),
    "batch": (7,),
    "init": ("build", "random", "heuristic", "k-medoids++"),
    "n_swaps": (3,),
    "swaps": ("best", "local", "pac"),
    "n_samples": (2,),
    "numlocal": (1,),
    "maxneighbor": (30,),
    "batch_size": (9,),
    "weighting": ("uniform",),
    "effort": ("fast", "thorough", 0.3),
    "max_iter": (0, 1),
    "build": ("random",),
}


def method(random: Random, needs: frozenset[str] = frozenset()) -> Any:
    """Return a method that usually supports what is needed, by name or with a changed parameter."""
    if random.random() < 0.2:
        return "auto"
    is_any = random.random() < 0.1
    names = [name for name in METHODS if is_any or needs <= _supports(name)]
    kind = METHODS[str(random.choice(names))]
    varied = [each.name for each in fields(kind) if each.name in _VARIED]
    if not varied or random.random() < 0.4:
        return kind.name
    name = str(random.choice(varied))
    options = _VARIED[name]
    return replace(kind(), **{name: options[random.integers(len(options))]})


def _supports(chosen: Any) -> frozenset[str]:
    if isinstance(chosen, str) and chosen == "auto":
        return frozenset({"fixed", "groups", "costs", "until", "certified"})
    kind = METHODS[chosen] if isinstance(chosen, str) else chosen
    return frozenset(kind.supports | ({"certified"} if kind.name == LazyBandit.name else set()))


def name_of(chosen: Any) -> str:
    return chosen if isinstance(chosen, str) else chosen.name


@dataclass
class Demand:
    """What else is asked of a selection: arguments of `select`, and the same for the judge."""

    arguments: dict[str, Any]
    truth: dict[str, Any]
    needs: frozenset[str] = frozenset()
    is_feasible: bool = True  # False also if it is not known


_DEMANDS = ("none", "none", "fixed", "groups", "costs", "goal", "auto", "limits", "certified")


def demand(random: Random, n: int) -> Demand:
    """Return k, constraints and a goal for ``n`` source rows."""
    k = int(random.choice([1, n, random.integers(1, n + 1), min(n, random.integers(1, 6))]))
    kind = str(random.choice(_DEMANDS))
    if kind == "fixed":
        fixed = random.permutation(n)[: random.integers(0, k + 1)].tolist()
        given = pb.Constraints(fixed=fixed)
        needs = frozenset({"fixed"} if fixed else ())
        return Demand({"k": k, "constraints": given}, {"k": k, "fixed": fixed}, needs)
    if kind == "groups":
        return _quotas(random, n, k)
    if kind == "costs":
        prices = random.choice([1.0, 2.0, 0.1, 1e-3, 7.5], size=n)
        budget = float(prices.min() * random.integers(1, 20))
        given = pb.Constraints(costs=prices, budget=budget)
        truth = {"k": n, "prices": prices, "budget": budget, "has_k": False}
        return Demand({"constraints": given}, truth, frozenset({"costs"}))
    if kind == "goal":
        goals = [
            pb.Coverage(float(random.choice([0.1, 0.5, 1.0])), radius=float(random.random() * 3)),
            pb.MinGain(float(random.choice([1e-3, 0.1, 1.0]))),
        ]
        goal = goals[random.integers(2)]
        return Demand({"until": goal}, {"k": n, "has_k": False}, frozenset({"until"}), False)
    if kind == "auto":
        return Demand({"k": "auto"}, {"k": n, "has_k": False}, frozenset({"until"}))
    if kind == "certified":
        goal = pb.Certified(float(random.choice([1, 1.05, 2])), confidence=_SURE)
        given = {"k": k, "until": goal, "limits": pb.Limits(evaluations=10**6)}
        return Demand(given, {"k": k}, frozenset({"certified"}))
    if kind == "limits":
        limits = pb.Limits(evaluations=int(random.choice([1, 10, 1000, 10**9])), seconds=1e6)
        return Demand({"k": k, "limits": limits}, {"k": k, "has_k": False}, is_feasible=False)
    return Demand({"k": k}, {"k": k})


def _quotas(random: Random, n: int, k: int) -> Demand:
    n_groups = int(random.integers(1, 4))
    groups = np.concatenate([np.arange(n_groups), random.integers(0, n_groups, size=n)])[:n]
    sizes = np.bincount(groups, minlength=n_groups)
    least = random.integers(0, 3, size=n_groups)
    most = random.integers(0, 2 + k, size=n_groups)
    labels = [("a", "b", "c")[g] for g in groups]
    given = pb.Constraints(
        groups=labels,
        at_least={("a", "b", "c")[g]: int(least[g]) for g in range(n_groups) if sizes[g]},
        at_most={("a", "b", "c")[g]: int(most[g]) for g in range(n_groups) if sizes[g]},
    )
    most, least = np.minimum(most, sizes), np.where(sizes > 0, least, 0)
    is_feasible = bool((least <= most).all() and least.sum() <= k <= most.sum())
    truth = {"k": k, "groups": groups, "least": least, "most": most}
    return Demand(
        {"k": k, "constraints": given}, truth, frozenset({"groups"}), is_feasible=is_feasible
    )


def weights(random: Random, n: int) -> tuple[Any, Any]:
    """Return weights as they are passed, and as numbers."""
    kind = str(random.choice(["none", "none", "random", "zeros", "extreme"]))
    if kind == "none":
        return None, np.ones(n)
    drawn = random.random(n) + 0.01
    if kind == "zeros":
        drawn[random.random(n) < 0.5] = 0
        drawn[random.integers(n)] = 1
    if kind == "extreme":
        drawn *= float(random.choice([1e-300, 1e-100, 1e100, 1e300]))
    return drawn, drawn


def _size(random: Random) -> int:
    return int(random.choice([1, 2, random.integers(2, 9), random.integers(9, 30), 60]))


def _is_defined(name: str, rows: Table) -> bool:
    """Return whether the metric is defined for all rows: rounding may make a row constant."""
    if rows.numbers is None or name not in ("correlation", "cosine"):
        return rows.numbers is not None
    middle = rows.numbers.mean(axis=1, keepdims=True) if name == "correlation" else 0
    return bool((rows.numbers != middle).any(axis=1).all())


def numbers(random: Random, report: Report) -> None:
    """Select from numbers in any container, by any method, metric and constraint."""
    name = str(random.choice(list(DEFINITIONS)))
    metric = pb.metric("minkowski", {"p": 3}) if name == "minkowski3" else pb.metric(name)
    d = 2 if name == "haversine" else int(random.choice([1, 2, 3, 8, 20]))
    share_odd = float(random.choice([0, 0, 0.3]))
    source = table(random, name, _size(random), d, share_odd=share_odd)
    target = None
    if random.random() < 0.5:
        target = table(random, name, _size(random), d, share_odd=share_odd)
    both = [source] if target is None else [source, target]
    layouts = {each.is_sparse for each in both}
    is_taken = layouts == {False} or (layouts == {True} and "sparse" in metric.kinds)
    is_due = is_taken and d > 1 and all(e.is_ordinary and _is_defined(name, e) for e in both)
    solved(
        random,
        report,
        source=source,
        target=target,
        metric=metric,
        definition=lambda t, s: distances(name, t, s),
        size=lambda unit: rounded_size(name, unit),
        is_due=is_due,
    )


def large(random: Random, report: Report) -> None:
    """Select from rows that are too many for most methods to read them all."""
    name = str(random.choice(["euclidean", "manhattan", "sqeuclidean", "cosine"]))
    style = str(random.choice(["normal", "whole", "repeated", "clusters"]))
    container = str(random.choice(["array", "float32", "csr", "Fortran"]))
    n, n_target = int(random.integers(100, 300)), int(random.integers(1_000, 4_000))
    both = values(random, name, n + n_target, 2, style)
    solved(
        random,
        report,
        source=wrapped(random, both[:n], style, container),
        target=wrapped(random, both[n:], style, container),
        metric=name,
        definition=lambda t, s: distances(name, t, s),
        size=lambda unit: rounded_size(name, unit),
        is_due=True,
    )


def solved(
    random: Random,
    report: Report,
    *,
    source: Table,
    target: Table | None,
    metric: Any,
    definition: Callable[[Any, Any], Any],
    size: Callable[[float], float] = lambda unit: 0.0,
    is_due: bool = False,
    count: Callable[[], int] | None = None,
) -> None:
    """Select and judge the selection and what can be asked of it."""
    represented = source if target is None else target
    n = _length(source)
    asked = demand(random, n)
    chosen = method(random, asked.needs)
    given_weights, true_weights = weights(random, _length(represented))
    arguments = {
        "source": source.given,
        "target": None if target is None else target.given,
        "metric": metric,
        "method": chosen,
        "weights": given_weights,
        "random_state": int(random.integers(1000)),
        **asked.arguments,
    }
    shown = f"{source.style} {source.container}"
    shown += "" if target is None else f" for {target.style} {target.container}"
    report.describe(n=n, rows=shown, **{k: arguments[k] for k in ("metric", "method")})
    report.describe(weights=None if given_weights is None else "given", **asked.arguments)
    is_supported = asked.needs <= _supports(chosen) and name_of(chosen) not in _OF_KERNELS
    is_extreme = given_weights is not None and not 1e-9 < np.max(given_weights) < 1e9
    is_due = is_due and is_supported and asked.is_feasible and not is_extreme
    selection = report.made(lambda: pb.select(**arguments, n_jobs=1), is_due=is_due)
    if selection is None or source.numbers is None or represented.numbers is None:
        return
    counted = count() if count else None
    d = definition(represented.numbers, source.numbers)
    unit = precision(selection)
    truth = Truth(d, true_weights, precision=unit, size=size(unit), **asked.truth)
    report.complaints += judged(selection, truth)
    if "until" in asked.arguments:
        report.complaints += _goal(selection, asked.arguments["until"], truth)
    if counted is not None and name_of(chosen) not in _OF_KERNELS:
        spent = sum(selection.evaluations_by_phase.values())
        if spent != counted:
            report.complaints.append(f"{spent} evaluations where the metric computed {counted}")
    _asked_twice(random, report, arguments, selection)
    _queried(random, report, selection, represented, truth)
    _planned(report, arguments, selection)


def _length(rows: Table) -> int:
    if rows.numbers is not None:
        return len(rows.numbers)
    shape = getattr(rows.given, "shape", None)
    try:
        return max(1, shape[0] if shape else len(rows.given))
    except (TypeError, IndexError):
        return 1


def precision(selection: Any) -> float:
    """Return the unit of rounding of the distances of a selection."""
    dtype = getattr(selection.prototypes, "dtype", np.dtype(float))
    unit = _PRECISIONS.get(dtype.name, 2.0**-53)
    shape = getattr(selection.prototypes, "shape", ())
    is_product = sparse.issparse(selection.prototypes) or (len(shape) > 1 and shape[1] > 8)
    return max(unit, _PRODUCT_PRECISION) if is_product else unit


def _goal(selection: Any, goal: Any, truth: Truth) -> list[str]:
    chosen = selection.indices
    if isinstance(goal, pb.Certified):
        return judged_certificate(selection.certificate, chosen, truth)
    if (
        selection.parameters.get("r") != 1
    ):  # several rows are picked by their gains before the first
        return []
    if isinstance(goal, pb.Coverage):
        nearest = np.minimum.accumulate(truth.d[:, chosen], axis=1)
        slack = truth.slack(goal.radius)
        sure = truth.shares @ (nearest <= goal.radius - slack)
        perhaps = truth.shares @ (nearest <= goal.radius + slack)
        complaints = []
        if perhaps[-1] < goal.share - 1e-9:
            complaints.append(f"{goal} is not reached: {perhaps[-1]}")
        if len(chosen) > 1 and sure[-2] > goal.share + 1e-9:
            complaints.append(f"{goal} was reached earlier: {sure}")
        return complaints
    true = truth.costs(chosen)
    if (true[:-1] - true[1:] < goal.gain - truth.slack(true[:-1])).any():
        return [f"{goal} with costs {true}"]
    return []


def _asked_twice(random: Random, report: Report, arguments: Any, selection: Any) -> None:
    if random.random() < 0.3:
        again = report.made(lambda: pb.select(**arguments, n_jobs=3), is_due=True)
        if again is not None:
            report.complaints += compared(selection, again, "the number of threads")


def _queried(
    random: Random, report: Report, selection: Any, represented: Table, truth: Truth
) -> None:
    """Judge assign, certify, at and JSON of a selection."""
    d = truth.d[:, selection.indices]
    rows = represented.given
    if random.random() < 0.4:
        found = report.made(lambda: selection.assign(rows), is_due=True)
        if found is not None:
            report.complaints += judged_assignment(found.labels, found.distances, d, truth)
    if random.random() < 0.4:
        kind = str(random.choice(["auto", "exact", "rigorous"]))
        state = int(random.integers(1000))
        found = report.made(
            lambda: selection.certify(confidence=_SURE, kind=kind, random_state=state), is_due=True
        )
        if found is not None:
            report.complaints += judged_certificate(found, selection.indices, truth)
    if random.random() < 0.2:
        k = int(random.integers(1, selection.k + 1))
        found = report.made(lambda: selection.at(k), is_due=True)
        if found is not None and not np.array_equal(found.indices, selection.indices[:k]):
            report.complaints.append(f"at({k}) has the indices {found.indices}")
    if random.random() < 0.1 and selection.k < truth.d.shape[1]:
        k = int(random.integers(selection.k, truth.d.shape[1] + 1))
        found = report.made(lambda: selection.extended(k, random_state=0))
        if found is not None:
            first = selection.indices.tolist()
            report.complaints += judged(found, replace(truth, k=k, fixed=first, has_k=False))
    if random.random() < 0.3:
        text = report.made(selection.to_json, is_due=True)
        own = selection.metric if callable(getattr(selection.metric, "fill", None)) else None
        loaded = report.made(lambda: pb.Selection.from_json(text, metric=own), is_due=True)
        if loaded is not None:
            report.complaints += compared(selection, loaded, "JSON")
            first, second = (
                report.made(lambda each=each: each.assign(rows), is_due=True)
                for each in (selection, loaded)
            )
            if first and second and not np.array_equal(first.distances, second.distances):
                report.complaints.append("JSON changes the distances of assign")


def _planned(report: Report, arguments: Mapping[str, Any], selection: Any) -> None:
    """Check that an accepted call has a plan, and keeps it."""
    passed = {k: v for k, v in arguments.items() if k != "random_state"}
    plan = report.made(lambda: pb.plan(**passed), is_due=True)
    if plan is None:
        return
    spent = sum(selection.evaluations_by_phase.get(phase, 0) for phase in ("build", "swap"))
    if plan.most_evaluations is not None and spent > plan.most_evaluations:
        report.complaints.append(f"{spent} evaluations; planned at most {plan.most_evaluations}")
    if plan.method != selection.method:
        report.complaints.append(f"planned {plan.method}, ran {selection.method}")


# -- metrics of the user, texts, matrices, classes ------------------------------------------------


def _skewed(t: Any, s: Any) -> float:
    difference = np.asarray(t, dtype=float) - np.asarray(s, dtype=float)
    return float(np.maximum(difference, 0).sum() + 3 * np.maximum(-difference, 0).sum())


class Counted:
    """A metric of the user that counts its calls."""

    def __init__(self, function: Callable[[Any, Any], float]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, t: Any, s: Any) -> float:
        self.calls += 1
        return self.function(t, s)

    def block(self, targets: Any, sources: Any) -> Any:
        self.calls += len(targets) * len(sources)
        return np.array([[self.function(t, s) for s in sources] for t in targets])

    def pairs(self, target: Any, source: Any) -> Any:
        """Return all dissimilarities without counting them."""
        return np.array([[self.function(t, s) for s in source] for t in target], dtype=Wide)


def own_metric(random: Random, report: Report) -> None:
    """Select by an asymmetric function, which counts its calls."""
    counted = Counted(_skewed)
    d = int(random.integers(1, 4))
    tables = [
        Table(rows, rows, "normal", "array")
        for rows in (
            values(
                random, "", _size(random), d, str(random.choice(["normal", "whole", "repeated"]))
            )
            for _ in range(2)
        )
    ]
    solved(
        random,
        report,
        source=tables[0],
        target=tables[1] if random.random() < 0.5 else None,
        metric=counted if random.random() < 0.6 else pb.block_metric(counted.block),
        definition=counted.pairs,
        is_due=True,
        count=lambda: counted.calls,
    )


def texts(random: Random, report: Report) -> None:
    """Select from texts by their edit distance."""
    letters = ["a", "b", "é", "\U0001f600", "\x00", " "]
    rows = [
        "".join(random.choice(letters, size=random.integers(0, 8))) for _ in range(_size(random))
    ]
    known = Counted(lambda t, s: float(edits(t, s)))
    is_own = random.random() < 0.5
    given = [rows, tuple(rows), np.array(rows, dtype=object)][random.integers(3)]
    solved(
        random,
        report,
        source=Table(given, rows, "texts", type(given).__name__),
        target=None,
        metric=known if is_own else "levenshtein",
        definition=known.pairs,
        is_due=True,
        count=(lambda: known.calls) if is_own else None,
    )


def matrix(random: Random, report: Report) -> None:
    """Select by a matrix of dissimilarities."""
    n = _size(random)
    d = random.random((_size(random), n)) * float(random.choice([1, 1e-12, 1e12]))
    dtype = str(random.choice(["f8", "f4"]))
    given = d.astype(dtype)
    asked = demand(random, n)
    chosen = method(random, asked.needs)
    arguments = {"metric": "precomputed", "method": chosen, "random_state": 0, **asked.arguments}
    report.describe(n=n, dtype=dtype, **arguments)
    is_due = asked.is_feasible and asked.needs <= _supports(chosen)
    is_due = is_due and name_of(chosen) not in _OF_KERNELS
    selection = report.made(lambda: pb.select(given, **arguments), is_due=is_due)
    if selection is None:
        return
    unit = _PRECISIONS[given.dtype.name]
    truth = Truth(given.astype(Wide), np.ones(len(d)), precision=unit, **asked.truth)
    report.complaints += judged(selection, truth)
    _asked_twice(random, report, {"source": given, **arguments}, selection)


def by_class(random: Random, report: Report) -> None:
    """Select class by class."""
    n = max(6, _size(random))
    rows = values(random, "", n, 2, str(random.choice(["normal", "whole", "repeated"])))
    labels = np.concatenate([[0, 1, 2], random.integers(0, 3, size=n - 3)])
    k = int(random.integers(3, n + 1))
    chosen = method(random)
    report.describe(n=n, k=k, method=chosen)
    is_due = name_of(chosen) not in _OF_KERNELS and k <= n // 2
    selection = report.made(
        lambda: pb.select(rows, k=k, by=labels, method=chosen, random_state=0), is_due=is_due
    )
    if selection is None:
        return
    truth = Truth(distances("euclidean", rows, rows), np.ones(n), k, precision=2.0**-53, has_k=True)
    chosen_rows = selection.indices
    if set(labels[chosen_rows].tolist()) != {0, 1, 2}:
        report.complaints.append(f"a class has no prototype: {labels[chosen_rows]}")
    if not np.array_equal(labels[chosen_rows], selection.prototype_labels):
        report.complaints.append("prototype_labels are not those of the rows")
    cost = float(truth.costs(chosen_rows)[-1])
    if selection.cost_error == 0 and not math.isclose(
        selection.cost, cost, rel_tol=1e-9, abs_tol=1e-12
    ):
        report.complaints.append(f"cost {selection.cost} where {cost} is true")
