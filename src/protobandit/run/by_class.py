"""Class by class: each class of the target is represented by source rows of the same class.

Each class is a separate problem. They are solved one after the other with one random generator, and
joined: the first prototype of each class first, then by how much each lowered the whole cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_integer, weights_or_ones
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.foundation.labels import as_labels, numbered
from protobandit.foundation.run_warning import RunWarning
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee, weakest
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.problem.problem import Problem
from protobandit.rows.messages import shortened
from protobandit.run.assessment import assess_prefix
from protobandit.run.checkpoint.identity import digest
from protobandit.run.outcome import EndKind, RunEnd, SearchResult, Step
from protobandit.run.progress.combined import CombinedProgress
from protobandit.run.search import chosen_method, identity, logs_evaluations, search
from protobandit.run.settings import Callback, RunSettings
from protobandit.search.control import INTERRUPTED, StopKind, StopReason
from protobandit.search.methods.method import Method
from protobandit.search.objectives.objective import ExtraResults


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProblem:
    """One class: its label, its rows, its share of the target's weight, and its problem."""

    label: Any
    sources: Ids
    targets: Ids
    share: float
    problem: Problem


def class_problems(whole: Problem, by: Any, k: Any) -> list[ClassProblem]:
    """Return the classes of a problem, each with its own ``k``."""
    names, sources, targets = _labelled(whole, by)
    weights = weights_or_ones(whole.weights, len(targets))
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


def by_class(whole: Problem, by: Any, k: Any, method: Any, settings: RunSettings) -> SearchResult:
    """Solve each class as a problem of its own, and return the joined result."""
    classes = class_problems(whole, by, k)
    limits = shared_limits(settings.limits, classes)
    chosen, _ = chosen_method(method, *largest_class([each.problem for each in classes], limits))
    settings = settings.with_open_checkpoint(
        lambda: _identity(whole, classes, chosen, settings.limits),
        has_log=logs_evaluations(whole, chosen),
    )
    try:
        return _solved(whole, classes, chosen, settings, limits)
    finally:
        if settings.file is not None:
            settings.file.close()


def _identity(
    whole: Problem, classes: list[ClassProblem], method: Method, limits: Limits
) -> dict[str, Any]:
    """Return what a checkpoint compares to recognise this call."""
    rows = [numbers for each in classes for numbers in (each.sources, each.targets)]
    sizes = {str(each.label): each.problem.k for each in classes}
    return {**identity(whole, method, limits), "k": sizes, "by": digest(*rows)}


def _solved(
    whole: Problem,
    classes: list[ClassProblem],
    method: Method,
    settings: RunSettings,
    shared: list[Limits],
) -> SearchResult:
    callbacks, combined = _ClassCallbacks(settings), _combined(classes, method, settings, shared)
    results: list[SearchResult] = []
    for i, (each, limits) in enumerate(zip(classes, shared, strict=True)):
        own = replace(
            settings,
            limits=limits,
            whole_limits=settings.limits,
            callback=callbacks.of(each),
            progress=None if combined is None else combined.on(i, each.label),
            name=str(i),
            is_last=each is classes[-1],
        )
        try:
            results.append(search(each.problem, method, own))
        except InvalidInput as error:
            raise InvalidInput(f"by: in the class {each.label!r}: {error}") from None
        except Interrupted:
            if not results:
                raise
            # Neither the user nor the callback: the class has found nothing in its time.
            late = StopReason(StopKind.SECONDS, settings.limits.seconds)
            return _joined(whole, classes, results, settings, callbacks.reason or late)
        if callbacks.reason is not None:
            break
    return _joined(whole, classes, results, settings, callbacks.reason)


def _combined(
    classes: list[ClassProblem], method: Method, settings: RunSettings, shared: list[Limits]
) -> CombinedProgress | None:
    if settings.progress is None:
        return None
    planned = [
        method.schedule(each.problem, limits).evaluations
        for each, limits in zip(classes, shared, strict=True)
    ]
    return CombinedProgress(settings.progress, [each.problem.k for each in classes], planned)


def require_plain(constraints: Any, until: Any) -> None:
    """Refuse what is not defined class by class."""
    for name, value in (("constraints", constraints), ("until", until)):
        if value is not None:
            raise InvalidInput(
                f"{name} is given with by=, where each class is a problem of its own. Select for "
                f"each class by itself, or leave {name} out."
            )


class _ClassCallbacks:
    """Passes steps to the callback as rows of the whole source, and records its answer."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.is_stopped = False

    @property
    def reason(self) -> StopReason | None:
        """Return what ends all searches, or None."""
        interrupt = self.settings.interrupt
        if self.is_stopped:
            return StopReason(StopKind.CALLBACK)
        return INTERRUPTED if interrupt is not None and interrupt.is_set() else None

    def of(self, each: ClassProblem) -> Callback | None:
        """Return the callback of one class."""
        callback = self.settings.callback
        if callback is None:
            return None

        def called(step: Step) -> bool:
            answer = callback(replace(step, index=int(each.sources[step.index])))
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
                f"k names the class {label!r}, but by= only has {shortened(map(repr, names))}. Use "
                f"these."
            )
    counts = np.zeros(len(names), dtype=np.int64)
    for label, c in place.items():
        if label not in k and sizes[c]:
            raise InvalidInput(
                f"k has no number for the class {label!r}. Pass one for each of "
                f"{shortened(map(repr, names))}."
            )
        value = k.get(label, 0)
        if not is_integer(value) or not min(1, sizes[c]) <= value <= sizes[c]:
            raise InvalidInput(
                f"k[{label!r}]={value!r:.40} is not allowed. Pass a whole number from "
                f"{min(1, sizes[c])} to {sizes[c]}, the source rows this class can use."
            )
        counts[c] = value
    return counts


def largest_class(problems: Sequence[Problem], shared: Sequence[Limits]) -> tuple[Problem, Limits]:
    """Return the problem with the most pairs and its limits; the method is chosen for it."""
    return max(zip(problems, shared, strict=True), key=lambda e: e[0].n_source * e[0].n_target)


def shared_limits(limits: Limits, classes: list[ClassProblem]) -> list[Limits]:
    """Return the limits of each class, in proportion to its pairs."""
    pairs = np.array([len(p.problem.source) * len(p.problem.target) for p in classes], dtype=float)

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
    classes: list[ClassProblem],
    results: list[SearchResult],
    settings: RunSettings,
    reason: StopReason | None,
) -> SearchResult:
    problem = replace(whole, k=sum(each.problem.k for each in classes))
    steps, labels, order = _in_order(classes, results)
    indices = np.array([step.index for step in steps], dtype=np.int64)
    oracle = Oracle(problem, n_jobs=settings.n_jobs)
    is_exact = all(result.assessment.error == 0 for result in results)
    assessment = assess_prefix(oracle, indices, is_exact=is_exact, random=settings.random)
    spent = Counter(oracle.counts.by_phase())
    for result in results:
        spent.update(result.evaluations_by_phase)
    is_stopped = len(indices) < problem.k
    n_target = len(problem.target)
    kind = EndKind.EXACT if assessment.n_rows == n_target else EndKind.SAMPLED
    end = RunEnd(
        kind=EndKind.STOPPED if is_stopped else kind,
        n_found=len(indices),
        k=problem.k,
        n_target=n_target,
        n_assessed=assessment.n_rows,
        reason=reason,
    )
    return SearchResult(
        problem=problem,
        method=results[0].method,
        parameters=results[0].parameters,
        indices=indices,
        steps=tuple(steps),
        assessment=assessment,
        evaluations_by_phase=dict(spent),
        lookups=sum(result.lookups for result in results),
        pulls=sum(result.pulls for result in results),
        guarantee=None if is_stopped else _guarantee(results),
        end=end,
        remarks=_remarks(classes, results),
        warnings=(*problem.warnings, *_warnings(classes, results)),
        extras=_extras(classes, results, order),
        labels=as_labels(labels),
    )


def _extras(
    classes: list[ClassProblem], results: list[SearchResult], order: list[int]
) -> ExtraResults:
    """Return coefficients, which hold within a class, and criticisms, as rows of the target."""
    coefficients = [result.extras.coefficients for result in results]
    criticisms = [
        None if result.extras.criticisms is None else each.targets[result.extras.criticisms]
        for each, result in zip(classes, results, strict=False)
    ]
    return ExtraResults(
        coefficients=_concatenated(coefficients, order), criticisms=_concatenated(criticisms)
    )


def _concatenated(parts: Sequence[Any], order: list[int] | None = None) -> Any:
    """Return all parts as one array, or None if one is missing."""
    if any(part is None for part in parts):
        return None
    whole = np.concatenate(parts)
    return whole if order is None else whole[order]


def _in_order(
    classes: list[ClassProblem], results: list[SearchResult]
) -> tuple[list[Step], list[Any], list[int]]:
    """Return the steps of all classes, best first, the label of each, and where it came from."""
    steps, labels, keys = [], [], []
    n = sum(sum(result.evaluations_by_phase.values()) for result in results)
    seconds = sum(result.steps[-1].seconds for result in results)
    for each, result in zip(classes, results, strict=False):
        drops = each.share * -np.diff(result.assessment.costs, prepend=np.nan)
        # A class keeps its own order, whatever its drops.
        ranks = np.minimum.accumulate(np.where(np.isnan(drops), np.inf, drops))
        for step, drop, rank in zip(result.steps, drops, ranks, strict=True):
            at = int(each.sources[step.index])
            steps.append(Step(index=at, gain=float(drop), evaluations=n, seconds=seconds))
            keys.append((-rank, -each.share))
            labels.append(each.label)
    order = sorted(range(len(steps)), key=keys.__getitem__)
    return [steps[i] for i in order], [labels[i] for i in order], order


def _guarantee(results: list[SearchResult]) -> Guarantee | None:
    """Return what is proven of every class; a mean of such bounds is such a bound."""
    common = weakest([result.guarantee for result in results])
    if common is None:
        return None
    what = "f counts" if common.cost_factor is None else "f, cost and cost* count"
    own = f"{what} prototypes of the target row's own class, k of each class as here"
    # ``cost_factor`` is about the cost with any prototypes.
    return replace(common, cost_factor=None, conditions=(*common.conditions, own))


def _remarks(classes: list[ClassProblem], results: list[SearchResult]) -> tuple[str, ...]:
    """Return that classes were solved one by one, and the remarks of each."""
    own = [
        f"In {each.label!r}: {' '.join(result.remarks)}"
        for each, result in zip(classes, results, strict=False)
        if result.remarks
    ]
    return (f"Each of the {len(classes)} classes was solved by itself.", *own)


def _warnings(classes: list[ClassProblem], results: list[SearchResult]) -> tuple[RunWarning, ...]:
    """Return the warnings of each class, which name it."""
    return tuple(
        replace(warning, message=f"in {each.label!r}: {warning.message}")
        for each, result in zip(classes, results, strict=False)
        for warning in result.warnings
    )
