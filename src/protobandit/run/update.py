"""Update an earlier selection with new rows: keep most prototypes, exchange the others.

The search is FasterPAM from the earlier prototypes: swaps that lower the cost of old and new rows,
as long as enough of the earlier prototypes remain. That is a quota of the group of the earlier
prototypes, so nothing here needs a search of its own.

If there are more than `_PAIRS` pairs of source rows and target rows, swaps are judged on a sample
of the target, and only the earlier prototypes and a sample of the source take part. Most of that
sample are rows that lie far from the earlier prototypes, because these are the rows worth adding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import independent_generator
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import WeightedSampler, draw_rows
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.posing import as_count
from protobandit.problem.problem import Problem, none_if_equal
from protobandit.rows.joined_rows import joined_rows
from protobandit.rows.rows import Rows
from protobandit.run.assessment import ASSESSED_ROWS, assess_or_refuse
from protobandit.run.outcome import EndKind, SearchResult
from protobandit.run.search import search
from protobandit.run.settings import RunSettings
from protobandit.search.methods.greedy import LazyGreedy
from protobandit.search.methods.pam import FasterPAM

_PAIRS = 2e7  # of source and target rows; more are sampled
_ROWS_PER_PROTOTYPE = (
    60  # sampled target rows; with fewer, swaps fit the sample instead of the rows
)
_LEAST_PER_PROTOTYPE = 5
_MOST_PAIRS = 6e7  # of sampled rows, which need less than 0.5 GB
_LEAST_ROWS = 4096
_LEAST_CANDIDATES = 1024
_EXACT_PAIRS = 2e8  # of prototypes and target rows, up to which the cost is exact
_FAR = 0.75  # of the candidates are drawn by their distance, the others at random
_KEY = 0x0FDA7E


class Earlier(Protocol):
    """What is needed of an earlier selection."""

    @property
    def indices(self) -> Ids: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Update:
    """The result of an update: how many earlier prototypes were kept, and how many are new."""

    result: SearchResult
    n_kept: int
    n_new: int


def with_new_rows(
    problem: Problem, new: Rows, weights: Doubles | None, share: float | None
) -> Problem:
    """Return the problem with more target rows, which are also source rows if all target rows are.

    ``share`` is that of the new rows in the weight; by default a new row weighs 1, or as much as an
    old row on average.
    """
    feasibility = problem.feasibility
    if not feasibility.is_uniform or feasibility.prices is not None:
        raise InvalidInput(
            "This selection was made with quotas, costs or a minimum distance, which an update "
            "does not support. Select from all rows with new constraints, and "
            "Constraints(fixed=...) for rows to keep."
        )
    old = problem.target_weights
    own = np.full(len(new), old.mean()) if weights is None else weights
    if share is not None:
        require_number(share, "share", above=0, below=1)
        own = own * (share / (1 - share) * old.sum() / own.sum())
    target = joined_rows(problem.target, new)
    is_one_set = problem.metric.name != "precomputed" and (
        problem.source is problem.target
        or problem.source.fingerprint() == problem.target.fingerprint()
    )
    source = target if is_one_set else problem.source
    return replace(
        problem,
        source=source,
        target=target,
        weights=none_if_equal(np.concatenate([old, own])),
        feasibility=replace(Feasibility.none(len(source)), fixed=feasibility.fixed),
        goal=None,
        fresh=None,
        stream=None,
        rows_read=None,
        conditions=(),
        warnings=(),
        remark="",
    )


def update(
    earlier: Earlier, problem: Problem, k: Any, keep: float, settings: RunSettings
) -> Update:
    """Return ``k`` prototypes of ``problem``, with a share ``keep`` of the earlier ones or more."""
    require_number(keep, "keep", at_least=0, at_most=1)
    before = earlier.indices
    count = len(before) if k is None else as_count(k, len(problem.source))
    n_kept = int(np.ceil(keep * len(before) - 1e-9))
    if count < max(n_kept, len(problem.feasibility.fixed)):
        raise InvalidInput(
            f"k={count} is less than the {n_kept} of {len(before)} prototypes that keep={keep:g} "
            f"keeps. Pass k >= {n_kept}, or a smaller keep."
        )
    random = independent_generator(settings.random, _KEY)
    own = replace(settings, random=random)
    parts = _Parts.of(problem, before, count, own)
    start = _start(parts, count, own)
    feasibility = replace(
        parts.problem.feasibility,
        groups=np.isin(parts.sources, before).astype(np.int64),
        names=("new", "earlier"),
        least=np.array([0, n_kept]),
        most=np.array([len(parts.sources) - len(before), len(before)]),
    )
    posed = replace(parts.problem, k=count, feasibility=feasibility)
    swapped = search(posed, FasterPAM(init=start), own)
    indices = parts.sources[swapped.indices]
    kept = int(np.isin(indices, before).sum())
    result = _of_all_rows(problem, parts, swapped, indices, own)
    return Update(result=result, n_kept=kept, n_new=len(indices) - kept)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Parts:
    """The source rows and target rows that take part, by number, and the problem of these."""

    sources: Ids
    earlier: Ids  # positions in ``sources``
    is_whole: bool
    problem: Problem
    spent: int

    @staticmethod
    def of(problem: Problem, before: Ids, k: int, settings: RunSettings) -> _Parts:
        n_source, n_target = len(problem.source), len(problem.target)
        if n_source * n_target <= _PAIRS:
            sources, targets, spent = np.arange(n_source), np.arange(n_target), 0
        else:
            sources, targets, spent = _sampled(problem, before, k, settings)
        part = problem.part(sources, targets, k)
        if len(targets) < n_target and problem.weights is not None:
            part = replace(part, weights=None)  # they were drawn by weight
        fixed = np.searchsorted(sources, problem.feasibility.fixed)
        return _Parts(
            sources=sources,
            earlier=np.searchsorted(sources, before),
            is_whole=len(sources) == n_source and len(targets) == n_target,
            problem=replace(part, feasibility=replace(part.feasibility, fixed=fixed)),
            spent=spent,
        )


def _sampled(problem: Problem, before: Ids, k: int, settings: RunSettings) -> tuple[Ids, Ids, int]:
    """Return source rows, the earlier prototypes among them, target rows, and evaluations."""
    random, n_target = settings.random, len(problem.target)
    affordable = max(_MOST_PAIRS / (len(before) + _LEAST_CANDIDATES), _LEAST_PER_PROTOTYPE * k)
    n_rows = int(min(n_target, max(_LEAST_ROWS, min(_ROWS_PER_PROTOTYPE * k, affordable))))
    targets = draw_rows(n_target, problem.weights, n_rows, random)
    n_candidates = int(max(_LEAST_CANDIDATES, _PAIRS / n_rows - len(before)))
    oracle, chosen = Oracle(problem, n_jobs=settings.n_jobs), [before, problem.feasibility.fixed]
    if problem.source is problem.target:
        nearest = np.empty(n_target)

        def visit(block: Floats, cut: slice) -> None:
            nearest[cut] = block.min(axis=0)

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(before, visit)
        far = nearest * problem.target_weights
        if 0 < far.sum() < np.inf:
            chosen.append(WeightedSampler(far).draw(int(_FAR * n_candidates), random))
            n_candidates -= len(chosen[-1])
    chosen.append(draw_rows(len(problem.source), None, n_candidates, random))
    return np.unique(np.concatenate(chosen)), targets, oracle.evaluations.total()


def _start(parts: _Parts, k: int, settings: RunSettings) -> tuple[int, ...]:
    """Return the earlier prototypes, greedily reduced or extended to ``k``, as positions."""
    n = len(parts.earlier)
    if k == n:
        return tuple(parts.earlier.tolist())
    problem, fixed = parts.problem, parts.earlier
    if k > n:
        more = replace(problem, k=k, feasibility=replace(problem.feasibility, fixed=fixed))
        return tuple(search(more, LazyGreedy(), settings).indices.tolist())
    own = np.searchsorted(np.sort(fixed), problem.feasibility.fixed)
    few = problem.part(np.sort(fixed), np.arange(len(problem.target)), k)
    few = replace(few, feasibility=replace(few.feasibility, fixed=own))
    return tuple(np.sort(fixed)[search(few, LazyGreedy(), settings).indices].tolist())


def _of_all_rows(
    problem: Problem, parts: _Parts, found: SearchResult, indices: Ids, settings: RunSettings
) -> SearchResult:
    """Return the result of a part as one of the whole problem, judged on the whole target."""
    whole = replace(problem, k=len(indices))
    steps = tuple(replace(step, index=int(i)) for step, i in zip(found.steps, indices, strict=True))
    result = replace(
        found,
        problem=whole,
        indices=indices,
        steps=steps,
        parameters={**found.parameters, "init": tuple(parts.sources[parts.earlier].tolist())},
        guarantee=None,
        passes=None,
    )
    if parts.is_whole:
        return result
    n_target = len(problem.target)
    is_exact = n_target * len(indices) <= _EXACT_PAIRS
    oracle = Oracle(whole, n_jobs=settings.n_jobs)
    with oracle.at_work():
        assessment = assess_or_refuse(
            oracle,
            indices,
            n_rows=n_target if is_exact else ASSESSED_ROWS,
            random=settings.random,
        )
    spent = dict(result.evaluations_by_phase)
    spent["assign"] = spent.get("assign", 0) + oracle.evaluations.total() + parts.spent
    end = replace(
        found.end,
        kind=EndKind.EXACT if is_exact else EndKind.SAMPLED,
        n_target=n_target,
        n_assessed=assessment.n_rows,
    )
    return replace(result, assessment=assessment, evaluations_by_phase=spent, end=end)
