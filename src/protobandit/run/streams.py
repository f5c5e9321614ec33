"""How many rows of a stream a search reads."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.constraints import as_feasibility
from protobandit.problem.goals import as_goal
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.rows.column_names import names_of
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.frame_columns import compared
from protobandit.rows.streams import (
    KEPT_ROWS,
    Stream,
    StreamReader,
    StreamRows,
    all_stream_rows,
    take_stream_rows,
)
from protobandit.run.assessment import ASSESSED_ROWS
from protobandit.run.search import chosen_method
from protobandit.search.methods.method import Method

_FIRST_ROWS = 1024  # which give the kind and the scale of the rows of an open stream
_FITTED_ROWS = 16_384  # on which a preparation is fitted


def read_stream(
    stream: Stream,
    source: Any,
    *,
    k: Any,
    weights: Any,
    metric: Any,
    method: Any,
    preparation: Any,
    constraints: Any,
    until: Any,
    limits: Limits,
) -> tuple[Any, StreamRows]:
    """Read the rows of a stream that the search needs, and those on which its result is judged.

    Return the source too, opened if it was a path. Whatever can be refused is refused before
    anything is read: an iterator can be used once.
    """
    measure = as_metric(metric)
    if weights is not None:
        raise InvalidInput(
            "weights are given for a Stream, whose rows all count alike. Leave weights out."
        )
    if measure.name == "precomputed":
        raise InvalidInput(
            "metric='precomputed' does not support a Stream as target. Pass another metric."
        )
    is_prepared = preparation is not None
    source = open_if_path(source, name="source", has_categories=is_prepared)
    n_source = _n_rows(source)
    feasibility, goal = as_feasibility(constraints, n_source), as_goal(k, until)
    needs = feasibility.needs if goal is None else feasibility.needs | {"until"}
    chosen, _ = chosen_method(method, needs, goal)
    most = _rows_needed(n_source, k, measure, chosen, limits)
    reader = StreamReader(
        stream,
        takes_objects="objects" in measure.kinds,
        is_prepared=is_prepared,
        columns=None if is_prepared else _columns(source, measure),
    )
    if stream.rows is None and chosen.draws_from_stream:
        return source, _first_stream_rows(reader, _FITTED_ROWS if is_prepared else _FIRST_ROWS)
    n_rows = min(most or stream.rows or KEPT_ROWS, stream.rows or most or KEPT_ROWS)
    if n_rows == stream.rows:
        reason = f", as many as Stream(rows={n_rows}) asks for"
    elif most is not None:
        reason = f", as many as {chosen.name} needs"
    else:
        reason = (
            f", because {chosen.name} reads its whole target before it starts (pass "
            f"Stream(rows=...) for another number)"
        )
    return source, take_stream_rows(reader, n_rows, ASSESSED_ROWS, reason=reason)


def _columns(source: Any, metric: Metric) -> tuple[str, ...] | None:
    """Return the compared columns of the source, if they have names."""
    if "objects" in metric.kinds:
        return names_of(source)
    _, choice = compared(source, name="source")
    return None if choice is None else choice.compared


def _n_rows(source: Any) -> int:
    """Return the number of source rows; raise if it is not a set of rows."""
    shape = getattr(source, "shape", None)
    if shape:
        return int(shape[0])
    is_sized = shape is None and isinstance(source, Sized)
    return len(source if is_sized else as_rows(source, name="source"))


def _first_stream_rows(reader: StreamReader, n: int) -> StreamRows:
    """Read the first rows of a stream; the search draws the others as it needs them."""
    rows = reader.read(n)
    if reader.n_read < n:
        return all_stream_rows(rows, reader.n_read)
    return StreamRows(rows=rows, fresh=None, n_read=n, reader=reader)


def _rows_needed(
    n_source: int, k: Any, metric: Metric, method: Method, limits: Limits
) -> int | None:
    """Return how many rows the method reads; None if that or k is not known."""
    if k is None or isinstance(k, str):
        return None
    counts = k if isinstance(k, (list, tuple)) else [k]
    most = max((as_count(each, n_source) for each in counts), default=1)
    return method.stream_rows(
        n_source=n_source, k=most, is_expensive=metric.is_expensive, limits=limits
    )
