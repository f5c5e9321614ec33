"""The problem: rows, a metric, weights and k, validated once and frozen."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.constraints import as_feasibility
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.goals import MOST_TRIED, Goal, Knee, as_goal
from protobandit.rows.column_names import matched, names_of
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.frames import as_numbers
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.prepared_rows import PreparedRows, Sides, prepare_sides
from protobandit.rows.rows import DenseRows, NumberedRows, ObjectRows, Rows, SparseRows
from protobandit.rows.streams import Stream, StreamRows


class Target:
    """Target rows with their weights, as one value without a length.

    Cross-validation slices whatever has the length of ``X``; a `Target` has none, so it reaches
    every fold whole.

    Parameters
    ----------
    rows
        The rows to be represented.
    weights
        How much each row counts; None means all alike.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> source = np.arange(6.0).reshape(-1, 1)
    >>> target = pb.Target(np.array([[1.1], [4.2]]), weights=[3, 1])
    >>> pb.select(source, target, k=1).indices
    array([1])
    """

    def __init__(self, rows: Any, *, weights: Any = None) -> None:
        self.rows = rows
        self.weights = weights

    def __repr__(self) -> str:
        shape = getattr(self.rows, "shape", None)
        return f"Target(rows={type(self.rows).__name__}{shape or ''})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Choose ``k`` of ``source`` to stand for ``target``.

    ``weights`` are as the user gave them (their sum is ``total``), or None when all are alike.
    ``rules`` say which rows may be chosen together. Where a ``goal`` or a budget ends the search,
    ``k`` is the most it may choose. Of a stream, ``target`` are the rows that came first, to be
    read in their order, and ``fresh`` those on which prototypes are judged. ``preparation`` is what
    the rows went through, ``columns`` what their features are called where they did not and have
    names, and ``remark`` what the user should know of them.
    """

    source: Rows
    target: Rows
    metric: Metric
    weights: Doubles | None
    k: int
    feasibility: Feasibility
    goal: Goal | None = None
    fresh: Rows | None = None
    preparation: FittedPreparation | None = None
    columns: tuple[str, ...] | None = None
    remark: str = ""

    @property
    def needs(self) -> frozenset[str]:
        """Return what a method must support to solve this: "fixed", "groups", "costs", "until"."""
        return self.feasibility.needs | ({"until"} if self.goal is not None else set())

    @property
    def is_open_ended(self) -> bool:
        """Tell whether fewer than ``k`` prototypes can be all that was asked for."""
        return self.goal is not None or self.feasibility.budget is not None

    @property
    def total(self) -> float:
        """Return the sum of the weights."""
        return float(len(self.target)) if self.weights is None else float(self.weights.sum())

    def part(self, sources: Ids, targets: Ids, k: int) -> Problem:
        """Return the problem of choosing ``k`` of some source rows for some target rows."""
        matrix = self.metric.name == "precomputed"
        is_one = self.target is self.source and np.array_equal(sources, targets)
        own = _rows_of(self.source, sources)
        others = own if is_one else _rows_of(self.target, targets, sources if matrix else None)
        weights = None if self.weights is None else self.weights[targets]
        return Problem(
            source=own,
            target=others,
            metric=self.metric,
            weights=_uneven(weights),
            k=k,
            feasibility=Feasibility.none(len(sources)),
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type in which dissimilarities are kept."""
        is_narrow = self.target.kind == "dense" and self.target.dtype == np.float32
        return np.dtype(np.float32) if is_narrow else np.dtype(np.float64)


def pose(
    source: Any,
    target: Any = None,
    *,
    k: Any,
    weights: Any = None,
    metric: Any = "euclidean",
    constraints: Any = None,
    until: Any = None,
    preparation: Any = None,
) -> Problem:
    """Validate what the user passed and return the `Problem`."""
    measure = as_metric(metric)
    arrived = target if isinstance(target, StreamRows) else None
    if arrived is not None:
        target = arrived.rows
    if isinstance(target, Target):
        if weights is not None and target.weights is not None:
            raise InvalidInput("weights are given twice: in Target and as weights=. Pass one.")
        target, weights = target.rows, target.weights if weights is None else weights
    if isinstance(target, Stream):
        raise InvalidInput(
            "target is a Stream, which is taken by select() only, not by=, and without weights. "
            "Pass its rows."
        )
    is_one, is_prepared = target is None or target is source, preparation is not None
    source = open_if_path(source, name="source", has_categories=is_prepared)
    target = source if is_one else open_if_path(target, name="target", has_categories=is_prepared)
    remarked = [
        each for each in (source, target, arrived) if isinstance(each, (Opened, StreamRows))
    ]
    sides, columns = _prepared(source, target, preparation, measure), None
    if sides is not None:
        source, target = sides.source, sides.target
    elif measure.name != "precomputed":
        columns = names_of(source)
        target = source if is_one else matched(target, columns, name="target")
    if measure.name == "precomputed":
        sources, targets = _matrix_sides(source, target)
    else:
        sources, targets = _sides(source, target, measure)
    feasibility, goal = as_feasibility(constraints, len(sources)), as_goal(k, until)
    count = _most(k, feasibility, goal)
    _require_one_end(feasibility, goal)
    feasibility.require_feasible(count)
    return Problem(
        source=sources,
        target=targets,
        metric=measure,
        weights=_as_weights(weights, len(targets)),
        k=count,
        feasibility=feasibility,
        goal=goal,
        fresh=None if arrived is None else _fresh(arrived, sides, targets, measure),
        preparation=None if sides is None else sides.preparation,
        columns=columns,
        remark=_joined_remarks(remarked if sides is None else [*remarked, sides]),
    )


def _joined_remarks(parts: Sequence[Any]) -> str:
    return " ".join(dict.fromkeys(part.remark for part in parts if part.remark))


def _fresh(arrived: StreamRows, sides: Sides | None, targets: Rows, metric: Metric) -> Rows | None:
    if arrived.fresh is None:
        return None
    rows = arrived.fresh if sides is None else sides.preparation.transform(arrived.fresh)
    fresh = as_rows(rows, name="target", takes_objects="objects" in metric.kinds)
    return _widened(fresh, targets.dtype)


def _prepared(source: Any, target: Any, preparation: Any, metric: Metric) -> Sides | None:
    if preparation is None:
        return None
    if metric.name == "precomputed":
        raise InvalidInput(
            "preparation is given with metric='precomputed', where there are no rows to prepare. "
            "Leave it out, or pass the rows and another metric."
        )
    sides = prepare_sides(source, target, preparation)
    if sides.preparation.is_gower and metric.name != "manhattan":
        raise InvalidInput(
            f"categories='gower' makes rows whose manhattan distance is Gower's, but "
            f"metric={metric.name!r}. Pass metric='manhattan', or use categories='one-hot'."
        )
    return sides


def _rows_of(rows: Rows, ids: Ids, columns: Ids | None = None) -> Rows:
    """Return some rows as rows of their own, of a matrix only some columns."""
    if isinstance(rows, DenseRows):
        array = rows.array[ids] if columns is None else rows.array[np.ix_(ids, columns)]
        return DenseRows(array, name=rows.name, dtype=rows.dtype, is_checked=rows.is_checked)
    if isinstance(rows, SparseRows):
        return SparseRows(rows.matrix[ids], name=rows.name, dtype=rows.dtype)
    if isinstance(rows, NumberedRows):
        return NumberedRows(len(ids), name=rows.name)
    if rows.kind == "dense":
        return DenseRows(rows.take(ids), name=rows.name, dtype=rows.dtype)
    return ObjectRows(rows.take(ids), name=rows.name)


def _sides(source: Any, target: Any, metric: Metric) -> tuple[Rows, Rows]:
    takes_objects = "objects" in metric.kinds
    sources = as_rows(source, name="source", takes_objects=takes_objects)
    if target is None or target is source:
        targets = sources
    else:
        targets = as_rows(target, name="target", takes_objects=takes_objects)
    if takes_objects and targets.kind != sources.kind:
        sources, targets = _listed(sources, source), _listed(targets, target)
    for rows in (sources, targets):
        if rows.kind not in metric.kinds:
            allowed = " or ".join(sorted(metric.kinds))
            raise InvalidInput(
                f"{rows.name} holds {rows.kind} rows, which metric={metric.name!r} does not take "
                f"(it takes {allowed}). Convert the rows or choose another metric."
            )
    if targets.kind != sources.kind:
        raise InvalidInput(
            f"source holds {sources.kind} rows and target {targets.kind} rows. Pass both alike."
        )
    if targets.n_columns != sources.n_columns:
        raise InvalidInput(
            f"target has {targets.n_columns} columns but source has {sources.n_columns}. "
            f"Pass rows of the same features, in the same order."
        )
    return _in_one_dtype(sources, targets)


def _listed(rows: Rows, data: Any) -> Rows:
    """Return a list that happened to make a table of numbers as the list it was."""
    return ObjectRows(data, name=rows.name) if isinstance(data, (list, tuple)) else rows


def _in_one_dtype(sources: Rows, targets: Rows) -> tuple[Rows, Rows]:
    wide = np.promote_types(sources.dtype, targets.dtype)
    if targets is sources or sources.dtype == targets.dtype:
        return sources, targets
    return _widened(sources, wide), _widened(targets, wide)


def _widened(rows: Rows, dtype: np.dtype[Any]) -> Rows:
    if rows.dtype == dtype:
        return rows
    if isinstance(rows, DenseRows):
        return DenseRows(rows.array, name=rows.name, dtype=dtype, is_checked=rows.is_checked)
    if isinstance(rows, SparseRows):
        return SparseRows(rows.matrix, name=rows.name, dtype=dtype)
    if isinstance(rows, PreparedRows):
        return rows.widened(dtype)
    raise InvalidInput(
        f"{rows.name} gives {rows.dtype} rows where the other side gives {dtype}. Make both alike."
    )


def _matrix_sides(matrix: Any, target: Any) -> tuple[Rows, Rows]:
    if target is not None and target is not matrix:
        raise InvalidInput(
            "target is given together with metric='precomputed'. Pass the |target| x |source| "
            "matrix as the first argument and no target."
        )
    targets = as_rows(matrix, name="source")
    if not isinstance(targets, DenseRows):
        raise InvalidInput(
            f"metric='precomputed' got {targets.kind} rows as source. Pass a dense matrix."
        )
    assert targets.n_columns is not None
    return NumberedRows(targets.n_columns, name="source"), targets


def _as_weights(weights: Any, n: int) -> Doubles | None:
    if weights is None:
        return None
    values = _as_doubles(weights)
    if values is None:
        raise InvalidInput(f"weights={weights!r:.40} are not numbers. Pass {n} numbers.")
    if values.shape != (n,):
        raise InvalidInput(
            f"weights have shape {values.shape} but target has {n} rows. Pass one per target row."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        at = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0])
        raise InvalidInput(
            f"weights[{at}]={values[at]} is not allowed. Weights must be finite and >= 0."
        )
    if not values.any():
        raise InvalidInput(f"weights are all 0 ({n} of them). At least one must be positive.")
    with np.errstate(over="ignore"):
        if values.sum() == np.inf:
            raise InvalidInput(
                "weights sum to infinity, each being finite. Divide them by the largest."
            )
    return _uneven(values)


def _uneven(weights: Doubles | None) -> Doubles | None:
    """Return weights, or None where all are alike; where all are 0 no row counts more either."""
    return None if weights is None or (weights == weights[0]).all() else weights


def _as_doubles(values: Any) -> Doubles | None:
    try:
        numbers = as_numbers(np.asarray(values))
    except (ValueError, OverflowError):  # a ragged list, or numbers beyond float64
        return None
    if numbers.dtype.kind not in "fiub":
        return None
    # Strided memory would have the kernels compiled once more, to other bits.
    return np.asarray(numbers, dtype=np.float64, order="C")


def _most(k: Any, feasibility: Feasibility, goal: Goal | None) -> int:
    """Return how many prototypes there may be."""
    n = len(feasibility.groups)
    if isinstance(goal, Knee):
        return min(MOST_TRIED, feasibility.capacity)
    if k is None and (goal is not None or feasibility.budget is not None):
        return feasibility.capacity
    if isinstance(k, (list, tuple, np.ndarray)) and np.ndim(k) == 1 and len(k):
        return max(as_count(each, n) for each in k)
    return as_count(k, n)


def _require_one_end(feasibility: Feasibility, goal: Goal | None) -> None:
    if goal is None:
        return
    shown = "k='auto'" if isinstance(goal, Knee) else f"until={goal}"
    if feasibility.budget is not None:
        raise InvalidInput(
            f"{shown} is given with budget={feasibility.budget:g}, and each would end the search. "
            f"Pass one of them."
        )
    if feasibility.least.any():
        raise InvalidInput(
            f"{shown} may end the search before at_least is fulfilled. Pass k as a number, or "
            f"at_most only."
        )


def as_count(k: Any, n: int) -> int:
    """Return how many of ``n`` source rows ``k`` asks for."""
    if isinstance(k, (float, np.floating)):
        if not 0 < k < 1:
            raise InvalidInput(
                f"k={k} is neither a whole number nor a fraction. Pass an int from 1 to {n}, or a "
                f"fraction of the source rows in (0, 1)."
            )
        return max(1, round(float(k) * n))
    try:
        count = operator.index(k)
    except TypeError:
        count = None
    if count is None or isinstance(k, (bool, np.bool_)):
        raise InvalidInput(
            f"k={k!r:.40} is not a number of prototypes. Pass an int from 1 to {n}, several, a "
            f"fraction, or 'auto'; k=None needs until= or a budget."
        )
    if count < 1:
        raise InvalidInput(f"k={count} is less than 1. Pass an int from 1 to {n}.")
    if count > n:
        raise InvalidInput(f"k={count} exceeds the {n} source rows. Pass k <= {n}.")
    return count
