"""Pose a problem: check what the user passes and return a `Problem`."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.checks import is_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.run_warning import RunWarning
from protobandit.metrics.default_metric import chosen_metric, takes_objects
from protobandit.metrics.metrics import Metric
from protobandit.problem.constraints import Constraints, as_feasibility
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.goals import MOST_TRIED, Goal, Knee, as_goal
from protobandit.problem.problem import Problem, Target, none_if_equal
from protobandit.problem.ranges import in_range
from protobandit.rows.column_choice import (
    FRAME,
    ColumnChoice,
    OptionNames,
    described,
    owners_of,
)
from protobandit.rows.column_names import matched, names_of
from protobandit.rows.column_warnings import column_warnings, some_rows
from protobandit.rows.columns import Columns, are_names
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import as_opened, open_rows
from protobandit.rows.object_arrays import as_numbers
from protobandit.rows.preparation.prepared_rows import (
    Sides,
    prepare_rows,
    prepare_sides,
    transform_sides,
)
from protobandit.rows.preparation.transformer import is_transformer
from protobandit.rows.rows import DenseRows, NumberedRows, ObjectRows, Rows
from protobandit.rows.streams import OpenStream, Stream, StreamRows

# Metrics in which a column counts the more, the more it varies.
_SCALES_MATTER = {"euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "cosine"}
_LEAST_WEIGHT = 1e-30  # a largest weight below it, or above 1 / this, is scaled

# What guarantees assume about a stream whose rows are drawn while the search runs.
DRAWS_OF_STREAM = (
    "the rows of the stream are independent draws from one distribution, which is the target"
)


def rows_of_stream(n: int) -> str:
    """Return what other guarantees, and certificates, say about a target of ``n`` rows."""
    return f"the target is the first {n:,} rows that were read from the stream"


def pose(
    source: Any,
    target: Any = None,
    *,
    k: Any,
    weights: Any = None,
    metric: Any = None,
    constraints: Any = None,
    until: Any = None,
    preparation: Any = None,
) -> Problem:
    """Check the arguments that the user passed and return the `Problem`."""
    takes_any = takes_objects(metric)
    if is_integer(target) or isinstance(target, (float, np.floating)):
        raise InvalidInput(f"target={target} is a number, not rows. Pass k={target}.")
    stream = target if isinstance(target, StreamRows) else None
    if stream is not None:
        target = stream.rows
    if isinstance(target, Target):
        if weights is not None and target.weights is not None:
            raise InvalidInput("weights are given twice: in Target and as weights=. Pass one.")
        target, weights = target.rows, target.weights if weights is None else weights
    if isinstance(target, Stream):
        raise InvalidInput(
            "target is a Stream, which only select() supports, without by= and without weights. "
            "Pass the rows of the stream instead."
        )
    target = None if target is source else target
    is_same = target is None
    sides: Sides | None = None
    choice: ColumnChoice | None = None
    if is_transformer(preparation):
        done = transform_sides(source, target, preparation)
        sides, source, target = done, done.source, done.target
    else:
        source, target = _opened_sides(
            source,
            target,
            preparation,
            takes_any=takes_any,
            of_source=_of_source(constraints),
            of_target=_of_target(weights),
        )
        choice = _choice(source, target, preparation)
    target, chosen = source if is_same else target, chosen_metric(metric, source, preparation)
    constraints = _with_values(constraints, source)
    if isinstance(weights, str):
        weights = _named(target, weights, option="weights", name="target")
    remarks = [
        each.remark for each in (source, target, stream) if isinstance(each, (Opened, StreamRows))
    ]
    options = source.options if isinstance(source, Opened) else FRAME
    raw = source
    _require_preparable(preparation, chosen)
    if sides is None and preparation is not None:
        sides = prepare_sides(source, target, preparation)
        _require_gower(sides, chosen)
    if sides is not None:
        source, target, raw = sides.source, sides.target, sides.table
        remarks.append(sides.remark)
    if chosen.name == "precomputed":
        sources, targets = _matrix_sides(source, target)
    else:
        sources, targets = _sides(source, target, chosen)
    sources, targets = in_range(sources, targets, chosen)
    warnings: tuple[RunWarning, ...] = ()
    if choice is not None and (chosen.name != "precomputed" or choice.left_out):
        remarks.append(described(choice))
        warnings = _column_warnings(raw, sources, choice, chosen, preparation, options)
    feasibility, goal = as_feasibility(constraints, len(sources)), as_goal(k, until)
    count = _largest_k(k, feasibility, goal)
    _require_one_stop(feasibility, goal)
    feasibility.require_feasible(count)
    return Problem(
        source=sources,
        target=targets,
        metric=chosen,
        weights=_as_weights(weights, len(targets)),
        k=count,
        feasibility=feasibility,
        goal=goal,
        **({} if stream is None else _stream_fields(stream, sides, targets, chosen)),
        preparation=None if sides is None else sides.preparation,
        columns=None if choice is None else choice.compared,
        columns_left_out={} if choice is None else choice.left_out,
        warnings=(*warnings, *(() if stream is None else stream.warnings)),
        remark=" ".join(dict.fromkeys(part for part in (*remarks, feasibility.remark) if part)),
    )


def with_obsm(source: Any, obsm: str | None) -> Any:
    """Return the source, or the array ``obsm`` of an AnnData object; the target follows it."""
    return source if obsm is None else open_rows(source, obsm=obsm, options=FRAME)


def with_classes(
    source: Any, target: Any, by: Any, weights: Any, preparation: Any
) -> tuple[Any, Any, Any]:
    """Return both sides and the classes of their rows.

    If ``by`` is the name of a column, both sides are opened and the classes are read from it.
    """
    if not isinstance(by, str):
        return source, target, by
    classes, weighed = {by: "classes, by="}, _of_target(weights)
    is_same = target is None or target is source
    given = target if isinstance(target, Target) else Target(target)
    rows = None if is_same else given.rows
    source, rows = _opened_sides(
        source, rows, preparation, of_source=classes, of_target=classes | weighed
    )
    labels = _named(source, by, option="by", name="source").tolist()
    if is_same:
        return source, None, labels
    others = _named(rows, by, option="by", name="target").tolist()
    return source, Target(rows, weights=given.weights), (labels, others)


def _of_source(constraints: Any) -> dict[str, str]:
    """Return the columns of the source that constraints name, with their use."""
    named = constraints.named_columns if isinstance(constraints, Constraints) else {}
    return {column: f"{option}, Constraints({option}=)" for option, column in named.items()}


def _of_target(weights: Any) -> dict[str, str]:
    """Return the column of the target that ``weights`` names, if it does."""
    return {weights: "weights, weights="} if isinstance(weights, str) else {}


def _named(rows: Any, column: str, *, option: str, name: str) -> Any:
    """Return the values of a column that an argument names."""
    if not isinstance(rows, Opened):
        raise InvalidInput(
            f"{option}={column!r} names a column, but {name} has no named columns here. Pass one "
            f"value per row, or a frame."
        )
    return rows.column(column)


def _with_values(constraints: Any, source: Any) -> Any:
    """Return constraints in which columns of the source are replaced by their values."""
    if not isinstance(constraints, Constraints):
        return constraints
    values = {
        option: _named(source, column, option=option, name="source")
        for option, column in constraints.named_columns.items()
    }
    return replace(constraints, **values)


def _opened_sides(
    source: Any,
    target: Any,
    preparation: Any,
    *,
    takes_any: bool = False,
    of_source: Mapping[str, str],
    of_target: Mapping[str, str],
) -> tuple[Any, Any]:
    """Open both sides; the target is None if it is the source.

    The target gets the columns of the source, in their order. Only a preparation, which is fitted
    on the target, uses the columns of the target. ``of_source`` and ``of_target`` are columns that
    other arguments name, with their use. They are not compared.
    """
    is_one = target is None

    def opened(rows: Any, name: str, like: tuple[str, ...] | None = None, others: str = "") -> Any:
        named = of_source if name == "source" else of_target
        return as_opened(
            rows,
            name=name,
            preparation=preparation,
            like=like,
            others=others,
            without={**of_source, **of_target} if is_one else named,
            perhaps={**of_source, **of_target},
            takes_objects=takes_any,
        )

    if target is None:
        return opened(source, "source"), None
    if preparation is not None:
        target = opened(target, "target")
        return opened(source, "source", names_of(target), "missing from target"), target
    source = opened(source, "source")
    names = names_of(source)
    target = opened(target, "target", names, "missing from source")
    return source, matched(target, names, name="target")


def _choice(source: Any, target: Any, preparation: Any) -> ColumnChoice | None:
    """Return the compared columns of opened rows, if they have names.

    With a preparation, which is fitted on the target, these are the columns of the target.
    """
    is_source = target is None or preparation is None
    if isinstance(target, Columns) and isinstance(source, Opened):  # the rows of a stream
        is_source |= owners_of(target.features, source.columns) == list(source.columns)
    for rows in (source,) if is_source else (target, source):
        if isinstance(rows, Columns) and rows.is_named:
            return ColumnChoice(rows.features, {})
        columns = rows.columns or rows.features if isinstance(rows, Opened) else ()
        if are_names(columns) or (isinstance(rows, Opened) and rows.left_out):
            return ColumnChoice(columns, rows.left_out)
    return None


def _column_warnings(
    raw: Any,
    sources: Rows,
    choice: ColumnChoice,
    metric: Metric,
    preparation: Any,
    options: OptionNames,
) -> tuple[RunWarning, ...]:
    """Return warnings about the compared columns of rows; ``raw`` is the source as it came in."""
    sample = _sample(raw, sources, choice)
    if sample is None:
        return ()
    is_scaled = metric.name not in _SCALES_MATTER or (
        preparation is not None and preparation.has_equal_scales
    )
    return column_warnings(sample, choice.compared, is_scaled=is_scaled, options=options)


def _sample(raw: Any, sources: Rows, choice: ColumnChoice) -> Columns | None:
    """Return some rows as columns with names; None if they have no such columns."""
    if isinstance(raw, Columns):
        return raw.take(some_rows(*raw.shape))
    features = raw.features if isinstance(raw, Opened) else choice.compared
    if sources.kind != "dense" or sources.n_columns != len(features):
        return None
    numbers = sources.take(some_rows(len(sources), len(features)))
    return None if len(set(features)) < len(features) else Columns(numbers=numbers, names=features)


def _stream_fields(
    stream: StreamRows, sides: Sides | None, targets: Rows, metric: Metric
) -> dict[str, Any]:
    """Return the fields of a problem whose target is a stream."""

    def convert(rows: Any) -> Rows:
        if sides is None:
            later = as_rows(rows, name="target", takes_objects="objects" in metric.kinds)
        else:
            later = prepare_rows(sides.preparation, rows, name="target")
        return later.with_dtype(targets.dtype)

    reader, fresh = stream.reader, stream.fresh
    return {
        "fresh": None if fresh is None else convert(fresh),
        "stream": None if reader is None else OpenStream(reader, stream.rows, convert),
        "rows_read": stream.n_read,
        "conditions": (rows_of_stream(len(targets)) if reader is None else DRAWS_OF_STREAM,),
    }


def _require_preparable(preparation: Any, metric: Metric) -> None:
    if preparation is not None and metric.name == "precomputed":
        raise InvalidInput(
            "preparation is given with metric='precomputed', but a matrix has no rows to prepare. "
            "Leave preparation out, or pass the rows and another metric."
        )


def _require_gower(sides: Sides, metric: Metric) -> None:
    if sides.preparation.is_gower and metric.name != "manhattan":
        raise InvalidInput(
            f"categories='gower' requires metric='manhattan', which then is Gower's distance, but "
            f"metric={metric.name!r}. Pass metric='manhattan', or use categories='one-hot'."
        )


def _sides(source: Any, target: Any, metric: Metric) -> tuple[Rows, Rows]:
    takes_any = "objects" in metric.kinds
    sources = as_rows(source, name="source", takes_objects=takes_any)
    if target is None or target is source:
        targets = sources
    else:
        targets = as_rows(target, name="target", takes_objects=takes_any)
    if takes_any and targets.kind != sources.kind:
        sources, targets = _as_objects(sources, source), _as_objects(targets, target)
    for rows in (sources, targets):
        if rows.kind not in metric.kinds:
            allowed = " or ".join(sorted(metric.kinds))
            raise InvalidInput(
                f"{rows.name} holds {rows.kind} rows, which metric={metric.name!r} does not "
                f"support (it supports {allowed}). Convert the rows or choose another metric."
            )
    if targets.kind != sources.kind:
        raise InvalidInput(
            f"source holds {sources.kind} rows and target {targets.kind} rows. Pass both in the "
            f"same format."
        )
    if targets.n_columns != sources.n_columns:
        raise InvalidInput(
            f"target has {targets.n_columns} columns but source has {sources.n_columns}. "
            f"Pass rows of the same features, in the same order."
        )
    wide = np.promote_types(sources.dtype, targets.dtype)
    if targets is sources or sources.dtype == targets.dtype:
        return sources, targets
    return sources.with_dtype(wide), targets.with_dtype(wide)


def _as_objects(rows: Rows, data: Any) -> Rows:
    """Return a list that was read as a table of numbers as a list of objects again."""
    return ObjectRows(data, name=rows.name) if isinstance(data, (list, tuple)) else rows


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
    values = _as_float64(weights)
    if values is None:
        raise InvalidInput(f"weights={weights!r:.40} are not numbers. Pass {n} numbers >= 0.")
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
    return none_if_equal(_of_ordinary_size(values))


def _of_ordinary_size(weights: Doubles) -> Doubles:
    """Return weights, multiplied by a power of two if they are extremely large or small.

    Only their shares matter, and a power of two does not round them.
    """
    largest = float(weights.max())
    if _LEAST_WEIGHT < largest < 1 / _LEAST_WEIGHT:
        return weights
    return np.ldexp(weights, -math.frexp(largest)[1])


def _as_float64(values: Any) -> Doubles | None:
    try:
        numbers = as_numbers(np.asarray(values))
    except (ValueError, OverflowError):  # a ragged list, or numbers too large for float64
        return None
    if numbers.dtype.kind not in "fiub":
        return None
    # For strided arrays the kernels would be compiled again, and their results could differ in the
    # last bits.
    return np.asarray(numbers, dtype=np.float64, order="C")


def _largest_k(k: Any, feasibility: Feasibility, goal: Goal | None) -> int:
    """Return the largest number of prototypes that the search may choose."""
    n = len(feasibility.groups)
    if isinstance(goal, Knee):
        return min(MOST_TRIED, feasibility.capacity)
    if k is None and (goal is not None or feasibility.budget is not None):
        return feasibility.capacity
    if isinstance(k, (list, tuple, np.ndarray)) and np.ndim(k) == 1 and len(k):
        return max(as_count(each, n) for each in k)
    return as_count(k, n)


def _require_one_stop(feasibility: Feasibility, goal: Goal | None) -> None:
    if goal is None:
        return
    shown = "k='auto'" if isinstance(goal, Knee) else f"until={goal}"
    if feasibility.budget is not None:
        raise InvalidInput(
            f"{shown} is given with budget={feasibility.budget:g}, but both end the search. Pass "
            f"one of them."
        )
    if feasibility.least.any():
        raise InvalidInput(
            f"{shown} may end the search before at_least is satisfied. Pass k as a number, or "
            f"at_most only."
        )


def as_count(k: Any, n: int) -> int:
    """Return the number of prototypes that ``k`` means for ``n`` source rows."""
    if isinstance(k, (float, np.floating)):
        if not 0 < k < 1:
            raise InvalidInput(
                f"k={k} is neither an integer nor a fraction. Pass an int from 1 to {n}, or a "
                f"fraction of the source rows in (0, 1)."
            )
        return max(1, round(float(k) * n))
    try:
        count = operator.index(k)
    except TypeError:
        count = None
    if count is None or isinstance(k, (bool, np.bool_)):
        raise InvalidInput(
            f"k={k!r:.40} is not a number of prototypes. Pass an int from 1 to {n}, a list of "
            f"ints, a fraction, or 'auto'; k=None needs until= or a budget."
        )
    if count < 1:
        raise InvalidInput(f"k={count} is less than 1. Pass an int from 1 to {n}.")
    if count > n:
        raise InvalidInput(f"k={count} exceeds the {n} source rows. Pass k <= {n}.")
    return count
