"""Class by class: each class of the target is represented by source rows of its own.

The classes are problems of their own, solved one after the other with one stream of chance, and
joined: the first prototype of each class first, then by what each brought to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.foundation.labels import as_labels, numbered
from protobandit.oracle.oracle import PHASES, Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.problem.problem import Problem
from protobandit.run.checkpoint.identity import digest
from protobandit.run.progress.combined import CombinedProgress
from protobandit.run.search import Status, assessed_rows, call_of, fingerprints, search
from protobandit.run.settings import RunSettings, Step
from protobandit.search.methods.method import Method
from protobandit.search.methods.table import as_method


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProblem:
    """One class: its label, its rows, its share of the target's weight, and its problem."""

    label: Any
    sources: Ids
    targets: Ids
    share: float
    problem: Problem


def parts_of(whole: Problem, by: Any, k: Any) -> list[ClassProblem]:
    """Return the classes of a problem, each with its own ``k``."""
    names, sources, targets = _labelled(whole, by)
    weights = np.ones(len(targets)) if whole.weights is None else whole.weights
    shares = np.bincount(targets, weights, len(names)) / weights.sum()
    is_asked = np.bincount(targets, minlength=len(names)) > 0
    sizes = np.bincount(sources, minlength=len(names))
    counts = _counts(k, names, np.where(is_asked, sizes, 0), shares)
    return [
        ClassProblem(
            label=names[c],
            sources=(own := np.flatnonzero(sources == c)),
            targets=(others := np.flatnonzero(targets == c)),
            share=float(shares[c]),
            problem=whole.part(own, others, int(counts[c])),
        )
        for c in np.flatnonzero(is_asked)
    ]


def by_class(whole: Problem, by: Any, k: Any, method: Any, means: RunSettings) -> dict[str, Any]:
    """Solve each class by itself, and return the fields of the joined selection."""
    chosen = as_method(method)
    parts = parts_of(whole, by, k)
    shared = _shared(means.limits, parts)
    means = means.opened(lambda: _call_of(whole, parts, chosen, means.limits))
    try:
        return _solved(whole, parts, chosen, means, shared)
    finally:
        if means.store is not None:
            means.store.close()


def _call_of(
    whole: Problem, parts: list[ClassProblem], method: Method, limits: Limits
) -> dict[str, Any]:
    """Return what a checkpoint must know of this call to tell it from others."""
    rows = [numbers for part in parts for numbers in (part.sources, part.targets)]
    sizes = {str(part.label): part.problem.k for part in parts}
    return {**call_of(whole, method, limits), "k": sizes, "by": digest(*rows)}


def _solved(
    whole: Problem,
    parts: list[ClassProblem],
    method: Method,
    means: RunSettings,
    shared: list[Limits],
) -> dict[str, Any]:
    watch, combined = _ClassCallbacks(means), _chorus(parts, method, means, shared)
    solved: list[dict[str, Any]] = []
    for i, (part, limits) in enumerate(zip(parts, shared, strict=True)):
        own = replace(
            means,
            limits=limits,
            callback=watch.on(part),
            progress=None if combined is None else combined.on(i, part.label),
            name=str(i),
            is_last=part is parts[-1],
        )
        try:
            solved.append(search(part.problem, method, own))
        except InvalidInput as error:
            raise InvalidInput(f"by: in the class {part.label!r}: {error}") from None
        except Interrupted:
            if not solved:
                raise
        if watch.reason is not None:
            break
    return _joined(whole, parts, solved, means, watch)


def _chorus(
    parts: list[ClassProblem], method: Method, means: RunSettings, shared: list[Limits]
) -> CombinedProgress | None:
    if means.progress is None:
        return None
    planned = [
        method.forecast(part.problem, limits).evaluations
        for part, limits in zip(parts, shared, strict=True)
    ]
    return CombinedProgress(means.progress, [part.problem.k for part in parts], planned)


def require_plain(constraints: Any, until: Any) -> None:
    """Refuse what is not defined class by class."""
    for name, value in (("constraints", constraints), ("until", until)):
        if value is not None:
            raise InvalidInput(
                f"{name} is given with by=, where each class is a problem of its own. Select for "
                f"each class by itself, or leave {name} out."
            )


class _ClassCallbacks:
    """Passes steps on to the callback, as rows of the whole source, and remembers its answer."""

    def __init__(self, means: RunSettings) -> None:
        self.means = means
        self.is_stopped = False

    @property
    def reason(self) -> str | None:
        """Return what ends all searches, as words, or None."""
        interrupt = self.means.interrupt
        if self.is_stopped:
            return "the callback"
        return "an interruption" if interrupt is not None and interrupt.is_set() else None

    def on(self, part: ClassProblem) -> Any:
        """Return the callback of one class."""
        callback = self.means.callback
        if callback is None:
            return None

        def called(step: Step) -> bool:
            answer = callback(replace(step, index=int(part.sources[step.index])))
            self.is_stopped = isinstance(answer, (bool, np.bool_)) and bool(answer)
            return self.is_stopped

        return called


# -- what was asked for ---------------------------------------------------------------------------


def _labelled(whole: Problem, by: Any) -> tuple[tuple[Any, ...], Ids, Ids]:
    """Return the classes, and the number of each source row's and each target row's."""
    n_source, n_target = len(whole.source), len(whole.target)
    is_one = whole.target is whole.source or (
        whole.metric.name == "precomputed" and n_source == n_target
    )
    if isinstance(by, tuple) and len(by) == 2 and all(_is_sequence(labels) for labels in by):
        own, others = by
    elif is_one:
        names, sources = numbered(by, n_source, "by")
        return names, sources, sources
    else:
        raise InvalidInput(
            "by holds labels of the source rows only, but there is a separate target. Pass a pair "
            "by=(labels of source rows, labels of target rows)."
        )
    names, sources = numbered(own, n_source, "by[0]")
    target_names, targets = numbered(others, n_target, "by[1]")
    place = {label: c for c, label in enumerate(names)}
    for label in target_names:
        if label not in place:
            raise InvalidInput(
                f"by: the class {label!r} has target rows but no source rows. Give it some, or "
                f"leave its rows out of the target."
            )
    return names, sources, np.array([place[label] for label in target_names])[targets]


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def _counts(k: Any, names: Sequence[Any], sizes: Ids, shares: Doubles) -> Ids:
    """Return how many prototypes each class gets; classes of size 0 get none."""
    if isinstance(k, Mapping):
        return _as_mapped(k, names, sizes)
    if k is None or isinstance(k, (str, list, tuple, np.ndarray)):
        raise InvalidInput(
            f"k={k!r:.40} is given with by=, where each class has a number of its own. Pass an "
            f"int, a fraction, or a mapping from labels to numbers."
        )
    total, n_classes = as_count(k, int(sizes.sum())), int((sizes > 0).sum())
    if total < n_classes:
        raise InvalidInput(
            f"k={total} is less than the {n_classes} classes of by=. Pass k >= {n_classes}, or a "
            f"mapping from labels to numbers."
        )
    counts = np.minimum(sizes, 1)
    for _ in range(total - n_classes):
        owed = np.where(counts < sizes, total * shares - counts, -np.inf)
        counts[owed.argmax()] += 1
    return counts


def _as_mapped(k: Mapping[Any, Any], names: Sequence[Any], sizes: Ids) -> Ids:
    place = {label: c for c, label in enumerate(names)}
    for label in k:
        if label not in place:
            raise InvalidInput(
                f"k names the class {label!r}, but by= only has {list(names)!r:.80}. Use these."
            )
    counts = np.zeros(len(names), dtype=np.int64)
    for label, c in place.items():
        if label not in k and sizes[c]:
            raise InvalidInput(
                f"k has no number for the class {label!r}. Pass one for each of "
                f"{list(names)!r:.80}."
            )
        value = k.get(label, 0)
        is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_whole or not min(1, sizes[c]) <= value <= sizes[c]:
            raise InvalidInput(
                f"k[{label!r}]={value!r:.40} is not allowed. Pass a whole number from "
                f"{min(1, sizes[c])} to {sizes[c]}, the source rows this class can use."
            )
        counts[c] = value
    return counts


def _shared(limits: Limits, parts: list[ClassProblem]) -> list[Limits]:
    """Return the limits of each class, in proportion to its pairs."""
    pairs = np.array([len(p.problem.source) * len(p.problem.target) for p in parts], dtype=float)

    def limited(share: float) -> Limits:
        n, seconds = limits.evaluations, limits.seconds
        return Limits(
            evaluations=None if n is None else max(1, int(n * share)),
            seconds=None if seconds is None else seconds * share,
            memory=limits.memory,
        )

    return [limited(float(share)) for share in pairs / pairs.sum()]


# -- joining --------------------------------------------------------------------------------------


def _joined(
    whole: Problem,
    parts: list[ClassProblem],
    solved: list[dict[str, Any]],
    means: RunSettings,
    watch: _ClassCallbacks,
) -> dict[str, Any]:
    k = sum(part.problem.k for part in parts)
    problem = replace(whole, k=k)
    steps, labels, order = _in_order(parts, solved)
    indices = np.array([step.index for step in steps], dtype=np.int64)
    oracle = Oracle(problem, n_jobs=means.n_jobs)
    is_exact = all(each["cost_error"] == 0 for each in solved)
    result = assessed_rows(oracle, indices, is_exact, means.random)
    spent = Counter(oracle.evaluations)
    for each in solved:
        spent.update(each["evaluations_by_phase"])
    is_stopped = len(indices) < k
    kind = Status.SETTLED if result.n_rows == len(problem.target) else Status.SAMPLED
    words = (Status.STOPPED if is_stopped else kind).told(
        n=len(indices),
        k=k,
        n_target=len(problem.target),
        n_assessed=result.n_rows,
        reason=watch.reason or "a limit",
    )
    return {
        "indices": indices,
        "costs": result.costs,
        "mass": result.mass,
        "cost_error": result.error,
        "evaluations_by_phase": {phase: spent[phase] for phase in PHASES},
        "lookups": sum(each["lookups"] for each in solved),
        "guarantee": None if is_stopped else _guarantee(solved),
        "status": " ".join([words, *_remarks(parts, solved)]),
        "steps": tuple(steps),
        "method": solved[0]["method"],
        "parameters": solved[0]["parameters"],
        "metric": problem.metric,
        "prototypes": problem.source.take(indices),
        "fingerprints": fingerprints(problem),
        "problem": problem,
        "prototype_labels": as_labels(labels),
        **_besides(parts, solved, order),
    }


def _besides(
    parts: list[ClassProblem], solved: list[dict[str, Any]], order: list[int]
) -> dict[str, Any]:
    """Return what some methods find besides: coefficients within a class, rows of the target."""
    found: dict[str, Any] = {}
    if all(each.get("coefficients") is not None for each in solved):
        found["coefficients"] = np.concatenate([each["coefficients"] for each in solved])[order]
    if all(each.get("criticisms") is not None for each in solved):
        own = zip(parts, solved, strict=False)
        found["criticisms"] = np.concatenate([p.targets[each["criticisms"]] for p, each in own])
    return found


def _in_order(
    parts: list[ClassProblem], solved: list[dict[str, Any]]
) -> tuple[list[Step], list[Any], list[int]]:
    """Return the steps of all classes, best first, the label of each, and where it came from."""
    steps, labels, keys = [], [], []
    n = sum(sum(each["evaluations_by_phase"].values()) for each in solved)
    seconds = sum(each["steps"][-1].seconds for each in solved)
    for part, each in zip(parts, solved, strict=False):
        drops = part.share * -np.diff(each["costs"], prepend=np.nan)
        # A class keeps its own order, whatever its drops.
        ranks = np.minimum.accumulate(np.where(np.isnan(drops), np.inf, drops))
        for step, drop, rank in zip(each["steps"], drops, ranks, strict=True):
            at = int(part.sources[step.index])
            steps.append(Step(index=at, gain=float(drop), evaluations=n, seconds=seconds))
            keys.append((-rank, -part.share))
            labels.append(part.label)
    order = sorted(range(len(steps)), key=keys.__getitem__)
    return [steps[i] for i in order], [labels[i] for i in order], order


def _guarantee(solved: list[dict[str, Any]]) -> Guarantee | None:
    """Return what is proven of every class; a mean of such bounds is such a bound."""
    first: Guarantee | None = solved[0]["guarantee"]
    if first is None or any(each["guarantee"] != first for each in solved):
        return None
    own = "f counts prototypes of the target row's own class, k of each class as here"
    return replace(first, conditions=(*first.conditions, own))


def _remarks(parts: list[ClassProblem], solved: list[dict[str, Any]]) -> list[str]:
    tails = [each["status"].partition(". ")[2] for each in solved]
    said = [f"In {part.label!r}: {tail}" for part, tail in zip(parts, tails, strict=False) if tail]
    return [f"Each of the {len(parts)} classes was solved by itself.", *said]
