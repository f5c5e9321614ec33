"""How many rows of a stream a search reads."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.default_metric import chosen_metric, takes_objects
from protobandit.metrics.metrics import Metric
from protobandit.problem.constraints import as_feasibility
from protobandit.problem.goals import as_goal
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.rows.column_names import names_of
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opening import as_opened
from protobandit.rows.preparation.transformer import is_transformer
from protobandit.rows.streams import (
    KEPT_ROWS,
    Stream,
    StreamReader,
    StreamRows,
    all_stream_rows,
    take_stream_rows,
)
from protobandit.run.assessment import ASSESSED_ROWS
from protobandit.run.search import supporting_method
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
    if weights is not None:
        raise InvalidInput(
            "weights are given for a Stream, whose rows all count alike. Leave weights out."
        )
    if is_transformer(preparation):
        raise InvalidInput(
            "preparation is a transformer, which does not support a Stream. Pass "
            "transformer.transform(source), a Stream of transformed batches, and no preparation."
        )
    source = as_opened(
        source, name="source", preparation=preparation, takes_objects=takes_objects(metric)
    )
    measure, is_prepared = chosen_metric(metric, source, preparation), preparation is not None
    if measure.name == "precomputed":
        raise InvalidInput(
            "metric='precomputed' does not support a Stream as target. Pass another metric."
        )
    n_source = _n_rows(source)
    feasibility, goal = as_feasibility(constraints, n_source), as_goal(k, until)
    needs = feasibility.needs if goal is None else feasibility.needs | {"until"}
    chosen, _ = supporting_method(method, needs, goal)
    most = _rows_needed(n_source, k, measure, chosen, limits)
    reader = StreamReader(
        stream,
        takes_objects="objects" in measure.kinds,
        preparation=preparation,
        columns=None if is_prepared else names_of(source),
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
