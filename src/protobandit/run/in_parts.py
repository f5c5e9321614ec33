"""Problems whose rows are parts of a Dask collection: the first pass, and what it becomes.

The first pass reads every part once: lengths, digests, bad numbers, and a sample. If the sample has
all rows, the problem is an ordinary one in memory. Otherwise source or target stay in parts
(`PartitionedRows`), and the search makes passes over the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import Interrupted, InvalidInput
from protobandit.foundation.generators import state_of
from protobandit.metrics.metrics import as_metric
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count, pose
from protobandit.problem.problem import Problem, Target
from protobandit.problem.ranges import in_range
from protobandit.rows.column_choice import FRAME
from protobandit.rows.column_names import matched, names_of
from protobandit.rows.convert import as_rows
from protobandit.rows.dask_rows import is_lazy, lazy_parts
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import as_opened
from protobandit.rows.part_sampling import Sampled, SampleRequest, Survey, survey, uniform_hashes
from protobandit.rows.partitioned_rows import PartitionedRows
from protobandit.rows.parts import PartExecutor, PartForm, PartRows, Parts
from protobandit.rows.rows import DenseRows, Rows
from protobandit.run.assessment import ASSESSED_ROWS
from protobandit.run.checkpoint.identity import digest
from protobandit.run.executors.dask_executor import DaskExecutor
from protobandit.run.executors.thread_executor import array_parts
from protobandit.run.executors.traffic import Traffic
from protobandit.run.settings import RunSettings
from protobandit.search.drivers.localsearch.part_search import EXPECTED_PASSES, pass_evaluations
from protobandit.search.drivers.localsearch.schedule import Size
from protobandit.search.methods.auto import Auto
from protobandit.search.methods.localsearch import LocalSearch
from protobandit.search.methods.method import Schedule
from protobandit.search.methods.table import as_method

MOST_BYTES = 1 << 29  # of the sample and its lists, on the driver
FRESH_ROWS = 4 * ASSESSED_ROWS  # of the target, which measure the result
DRIFT_ROWS = 1 << 17  # of new rows, which measure the drift
_ROW_FACTOR = 2.5  # copies of a row that a search on the sample has at its peak
_ROW_BYTES = 256  # of the lists of a row
_SOURCE, _TARGET, _FRESH = 1, 2, 3
_MANY = 1 << 40  # rows, where their number is not known yet


@dataclass(frozen=True, kw_only=True, eq=False)
class PosedInParts:
    """A problem from collections, the method for it, and where its tasks run."""

    problem: Problem
    method: Any
    executors: tuple[PartExecutor, ...]
    n_parts: int

    def traffic(self) -> Traffic:
        """Return what has been moved so far."""
        return Traffic(
            parts=self.n_parts,
            passes=sum(each.n_passes for each in self.executors),
            tasks=sum(each.n_tasks for each in self.executors),
            bytes_shared=sum(each.n_sent for each in self.executors),
            bytes_received=sum(each.n_received for each in self.executors),
        )


def has_lazy_rows(*rows: Any) -> bool:
    """Return whether any of these are a Dask collection; weights in a `Target` count too."""
    return any(
        is_lazy(each) or (isinstance(each, Target) and has_lazy_rows(each.rows, each.weights))
        for each in rows
    )


def require_supported(**given: Any) -> None:
    """Raise if an argument is given that collections do not support."""
    for name, value in given.items():
        if value is not None:
            advice = "Leave it out"
            if name == "preparation":
                advice = (
                    "Prepare the collection itself, such as by dask.dataframe.get_dummies(source), "
                    "source.fillna(0) or (source - source.mean()) / source.std()"
                )
            raise InvalidInput(
                f"{name}= is not supported for Dask collections. {advice}, or pass rows in "
                f"memory: a sample of the collection, such as source.sample(frac=0.01).compute()."
            )


def pose_in_parts(
    source: Any,
    target: Any,
    *,
    k: Any,
    weights: Any,
    metric: Any,
    method: Any,
    settings: RunSettings,
) -> PosedInParts:
    """Make the first pass over collections and return the problem."""
    _require_metric(metric)
    asked = _Sides(source, target, weights, settings.n_jobs)
    sides = [asked.source()]
    level, count = _level(method), _count(k, sides[0])
    seed = _seed(settings)
    n_rows = judged_rows(count, level)
    look = _look(settings)
    found: list[Survey] = []
    for is_target in (True,) if asked.is_same else (False, True):
        if found:
            sides.append(asked.target(found[0].first.columns))
        parts = sides[-1]
        request = sample_request(
            parts,
            n_rows + (FRESH_ROWS if is_target else 0),
            settings.limits,
            seed=seed + (_TARGET if is_target else _SOURCE),
            least=count,
        )
        found.append(survey(parts, request, look))
    surveys = found[0], found[-1]
    _require_k(count, surveys[0].n_rows)
    problem = _problem(sides, surveys, k=k, count=count, metric=metric, seed=seed)
    chosen: Any = method
    if problem.is_in_parts:
        chosen = LocalSearch(effort=as_method(method).effort)  # type: ignore[attr-defined]
    executors = {id(parts.executor): parts.executor for parts in sides}
    return PosedInParts(
        problem=problem,
        method=chosen,
        executors=tuple(executors.values()),
        n_parts=sum(len(parts.parts) for parts in sides),
    )


def sampled_rows(
    rows: Any, weights: Any, columns: tuple[str, ...] | None, n_jobs: int | None
) -> Sampled:
    """Return at most `DRIFT_ROWS` rows of a collection, drawn by one pass; always the same ones."""
    parts = _side(rows, weights, "new_rows", executor=DaskExecutor(), n_jobs=n_jobs, like=columns)
    request = sample_request(parts, DRIFT_ROWS, Limits(), seed=0, least=1)
    return survey(parts, request, lambda n_done: None).sampled


@dataclass(frozen=True, kw_only=True)
class PlanInParts:
    """What a call on collections would do.

    ``problem`` is that of the sample, without its numbers: only its size is right.
    """

    problem: Problem
    method: Any
    schedule: Schedule
    n_source: int
    parts: int
    passes: int
    tasks: int
    bytes_moved: int


def plan_in_parts(
    source: Any,
    target: Any,
    *,
    k: Any,
    weights: Any,
    metric: Any,
    method: Any,
    limits: Limits,
    n_jobs: int | None,
) -> PlanInParts:
    """Return what a call would do; where lengths or columns are unknown, every part is read once.

    The number of workers is not known: what tasks share is counted once per pass.
    """
    _require_metric(metric)
    asked = _Sides(source, target, weights, n_jobs)
    sides = [asked.source()]
    level, count = _level(method), _count(k, sides[0])
    shapes = [_shape(sides[0])]
    if not asked.is_same:
        sides.append(asked.target(shapes[0].columns))
        shapes.append(_shape(sides[1]))
    n_source, n_target = shapes[0].n_rows, shapes[-1].n_rows
    _require_k(count, n_source)
    rows = []
    for shape, parts in zip(shapes, sides, strict=True):
        request = sample_request(parts, judged_rows(count, level), limits, seed=0, least=count)
        n = min(shape.n_rows, request.size(shape.n_columns, shape.dtype.itemsize))
        # Zeros that need no memory: nothing is computed with them.
        zeros = np.broadcast_to(np.zeros(1, dtype=shape.dtype), (n, shape.n_columns))
        rows.append(DenseRows(zeros, name=parts.form.name))
    problem = Problem(
        source=rows[0],
        target=rows[-1],
        metric=as_metric("euclidean" if metric is None else metric),
        weights=None,
        k=count,
        feasibility=Feasibility.none(len(rows[0])),
    )
    is_whole = len(rows[0]) == n_source and len(rows[-1]) == n_target
    chosen = as_method(method)
    if isinstance(chosen, Auto):
        chosen = chosen.engine(problem, limits) if is_whole else LocalSearch(effort=chosen.effort)
    schedule = chosen.schedule(problem, limits)
    n_passes = 0 if len(rows[0]) == n_source else EXPECTED_PASSES
    judged = len(rows[-1])
    row_bytes = [row.dtype.itemsize * (row.n_columns or 0) for row in rows]
    moved = sum(len(row) * each for row, each in zip(rows, row_bytes, strict=True))
    if n_passes:
        each_pass = pass_evaluations(n_source, count, schedule.stages[-1], judged)
        schedule = replace(
            schedule,
            evaluations=schedule.evaluations + n_passes * each_pass,
            most_evaluations=None,
            reductions=(),
        )
        lists = schedule.stages[-1].width.n_near * (4 + problem.distance_dtype.itemsize)
        shared = judged * (row_bytes[-1] + lists + 8) + count * row_bytes[0]
        moved += n_passes * (shared + len(sides[0].parts) * count * row_bytes[0])
    return PlanInParts(
        problem=problem,
        method=chosen,
        schedule=schedule,
        n_source=n_source,
        parts=sum(len(parts.parts) for parts in sides),
        passes=len(sides) + n_passes,
        tasks=sum(len(parts.parts) for parts in sides) + n_passes * len(sides[0].parts),
        bytes_moved=moved,
    )


@dataclass(frozen=True)
class _Shape:
    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    columns: tuple[str, ...]


def _shape(parts: Parts) -> _Shape:
    """Return the size of a collection; each part is read if it is not known in advance."""
    lengths = parts.lengths
    if lengths is not None and parts.shape is not None:
        return _Shape(sum(lengths), *parts.shape, parts.form.columns or ())
    found = [shape for _, shape in parts.run(_part_shape, None, doing="counting rows")]
    known = [shape for shape in found if shape.n_rows]
    if not known:
        raise InvalidInput(f"{parts.form.name} has 0 rows. Pass at least one.")
    dtype = np.result_type(*(shape.dtype for shape in known))
    n_rows = sum(shape.n_rows for shape in known)
    return _Shape(n_rows, known[0].n_columns, dtype, known[0].columns)


def _part_shape(part: PartRows, shared: None, number: int) -> _Shape:
    return _Shape(len(part), part.numbers.shape[1], part.numbers.dtype, part.columns)


# -- what is asked --------------------------------------------------------------------------------


def _require_metric(metric: Any) -> None:
    if metric is None:
        return
    chosen = as_metric(metric)
    if "dense" not in chosen.kinds or chosen.name == "precomputed":
        raise InvalidInput(
            f"metric={chosen.name!r} does not compare rows of numbers, which Dask collections "
            f"hold. Pass a metric such as 'euclidean'."
        )


def _level(method: Any) -> float:
    chosen = as_method(method)
    if not isinstance(chosen, (Auto, LocalSearch)):
        raise InvalidInput(
            f"method={chosen.name!r} does not support Dask collections. Use 'auto' or "
            f"'localsearch', or pass rows in memory."
        )
    return LocalSearch(effort=chosen.effort).level


def _count(k: Any, parts: Parts) -> int:
    """Return the largest number of prototypes; a fraction needs known lengths."""
    if isinstance(k, (list, tuple, np.ndarray)) and np.ndim(k) == 1 and len(k):
        return max(_count(each, parts) for each in k)
    if isinstance(k, str) or k is None:
        raise InvalidInput(
            f"k={k!r} is not supported for Dask collections. Pass an int, or a list of ints."
        )
    lengths = parts.lengths
    if isinstance(k, (float, np.floating)) and lengths is None:
        raise InvalidInput(
            f"k={k} is a fraction of the source rows, whose number is not known. Pass an int."
        )
    return as_count(k, _MANY if lengths is None else sum(lengths))


def _require_k(k: int, n: int) -> None:
    if k > n:
        raise InvalidInput(f"k={k} exceeds the {n} source rows. Pass k <= {n}.")


def _seed(settings: RunSettings) -> int:
    """Return the seed of the keys of rows.

    A call without random_state has a fixed one, so that it can be resumed.
    """
    if not settings.is_seeded:
        return 0
    return int(digest(repr(state_of(settings.random))), 16)


def judged_rows(k: int, level: float) -> int:
    """Return how many target rows a search on one machine would judge in its last stage."""
    size = Size(
        n_source=_MANY,
        n_target=_MANY,
        k=k,
        is_same=True,
        is_indexed=True,
        row_bytes=0.0,
        itemsize=4,
    )
    return max(stage.n_rows for stage in size.stages(level))


def sample_request(
    parts: Parts, n_rows: int, limits: Limits, *, seed: int, least: int
) -> SampleRequest:
    """Return how many rows the sample of a side has."""
    lengths = parts.lengths
    return SampleRequest(
        seed=seed,
        n_rows=n_rows,
        n_bytes=MOST_BYTES if limits.memory is None else limits.memory,
        n_parts=len(parts.parts),
        n_total=None if lengths is None else sum(lengths),
        row_factor=_ROW_FACTOR,
        row_bytes=_ROW_BYTES,
        least_rows=2 * least,
    )


def _look(settings: RunSettings) -> Callable[[int], None]:
    interrupt = settings.interrupt

    def look(n_done: int) -> None:
        if interrupt is not None and interrupt.is_set():
            raise Interrupted("The search was interrupted during the first pass over the parts.")

    return look


# -- sides ----------------------------------------------------------------------------------------


class _Sides:
    """The parts of the source and of the target, which has the columns of the source."""

    def __init__(self, source: Any, target: Any, weights: Any, n_jobs: int | None) -> None:
        if isinstance(target, Target):
            if weights is not None and target.weights is not None:
                raise InvalidInput("weights are given twice: in Target and as weights=. Pass one.")
            target, weights = target.rows, target.weights if weights is None else weights
        self.is_same = target is None or target is source
        self._source, self._target, self._weights = source, target, weights
        self._side = partial(_side, executor=DaskExecutor(), n_jobs=n_jobs)

    def source(self) -> Parts:
        weights = self._weights if self.is_same else None
        return self._side(self._source, weights, "source")

    def target(self, columns: tuple[str, ...]) -> Parts:
        """Return the target; ``columns`` are the names of those of the source, if it has names."""
        return self._side(self._target, self._weights, "target", like=columns or None)


def _side(
    data: Any,
    weights: Any,
    name: str,
    *,
    executor: PartExecutor,
    n_jobs: int | None,
    like: tuple[str, ...] | None = None,
) -> Parts:
    if is_lazy(data):
        return lazy_parts(data, name=name, weights=weights, executor=executor, like=like)
    if isinstance(weights, str):
        raise InvalidInput(
            f"weights={weights!r} names a column of rows in memory, and other rows are a Dask "
            f"collection. Pass the numbers, such as weights={name}[{weights!r}], and {name} "
            f"without this column."
        )
    if is_lazy(weights):
        weights = weights.compute()
    opened = matched(as_opened(data, name=name, like=like), like, name=name)
    rows = as_rows(opened, name=name)
    if not isinstance(rows, DenseRows):
        raise InvalidInput(
            f"{name} holds {rows.kind} rows, and the other side is a Dask collection of numbers. "
            f"Pass rows of numbers."
        )
    values = None if weights is None else np.asarray(weights, dtype=np.float64)
    if values is not None and values.shape != (len(rows),):
        raise InvalidInput(
            f"weights have shape {values.shape} but {name} has {len(rows)} rows. Pass one per row."
        )
    form = PartForm(name=name)
    if isinstance(opened, Opened):
        form = replace(
            form, columns=names_of(opened), features=opened.features, left_out=opened.left_out
        )
    return array_parts(rows.array, values, form=form, n_jobs=n_jobs)


# -- the problem ----------------------------------------------------------------------------------


def _problem(
    sides: Sequence[Parts],
    surveys: tuple[Survey, Survey],
    *,
    k: Any,
    count: int,
    metric: Any,
    seed: int,
) -> Problem:
    """Return the problem: in memory where the samples have all rows, else in parts."""
    is_same = len(sides) == 1
    source, target = surveys
    fresh: Ids = np.empty(0, dtype=np.int64)
    judged = target.sampled
    if not target.is_whole:
        fresh, judged = _split(target.sampled, seed)
    first = judged if is_same else source.sampled
    whole = _posed(source, target, first, judged, is_same=is_same, k=count, metric=metric)
    if source.is_whole and target.is_whole:
        return whole if k == count else replace(whole, k=count)
    rows: list[Rows] = [whole.source, whole.target]
    if not source.is_whole:
        rows[0] = PartitionedRows(sides[0], source, first, name="source")
    if is_same:
        rows[1] = rows[0]
    elif not target.is_whole:
        rows[1] = PartitionedRows(sides[1], target, judged, name="target")
    wide = np.promote_types(*(each.dtype for each in rows))
    rows = [each.with_dtype(wide) for each in rows[: 1 if is_same else 2]]
    sources, targets = in_range(rows[0], rows[-1], whole.metric)
    return replace(
        whole,
        source=sources,
        target=targets,
        weights=None if targets.is_partitioned else whole.weights,
        feasibility=Feasibility.none(len(first.ids)),
        fresh=_fresh(target.sampled, fresh, targets, seed) if targets.is_partitioned else None,
    )


def _split(sampled: Sampled, seed: int) -> tuple[Ids, Sampled]:
    """Return positions of fresh rows in a sample, and the other rows, on which moves are judged."""
    n = len(sampled.ids)
    n_fresh = min(FRESH_ROWS, n // 4)
    order = np.argsort(uniform_hashes(seed + _FRESH, 0, sampled.ids), kind="stable")
    fresh, rest = np.sort(order[:n_fresh]), np.sort(order[n_fresh:])
    weights = None if sampled.weights is None else sampled.weights[rest]
    return fresh, Sampled(ids=sampled.ids[rest], rows=sampled.rows[rest], weights=weights)


def _fresh(sampled: Sampled, fresh: Ids, target: Rows, seed: int) -> DenseRows:
    """Return rows that measure the result, all of which count the same."""
    if sampled.weights is not None:
        own: Doubles = sampled.weights[fresh]
        shares = (np.arange(len(fresh)) + 0.5) / len(fresh)
        fresh = fresh[np.searchsorted(np.cumsum(own) / own.sum(), shares)]
    return DenseRows(sampled.rows[fresh], name="target", dtype=target.dtype)


def _posed(
    source: Survey,
    target: Survey,
    first: Sampled,
    judged: Sampled,
    *,
    is_same: bool,
    k: int,
    metric: Any,
) -> Problem:
    """Return the problem of the samples, which checks the metric, the columns and k."""
    own = _opened(source, first)
    other = None if is_same else _opened(target, judged)
    return pose(own, other, k=k, weights=judged.weights, metric=metric)


def _opened(found: Survey, sampled: Sampled) -> Any:
    """Return rows of a sample, with the names of their columns if they have names."""
    part = found.first
    if not part.features:
        return sampled.rows
    return Opened(
        path="dask collection",
        format="dask",
        rows=sampled.rows,
        kind="numbers",
        features=part.features,
        n_total=found.n_rows,
        columns=part.columns,
        left_out=part.left_out,
        remark=part.remark,
        options=FRAME,
    )
