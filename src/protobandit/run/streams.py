"""How many rows of a stream a search reads."""

from __future__ import annotations

from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.streams import (
    KEPT_ROWS,
    Stream,
    StreamReader,
    StreamRows,
    all_stream_rows,
    take_stream_rows,
)
from protobandit.run.assessment import ASSESSED_ROWS
from protobandit.search.methods.method import Method
from protobandit.search.methods.table import as_method

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
    limits: Limits,
) -> tuple[Any, StreamRows]:
    """Read the rows of a stream that the search needs, and those on which its result is judged.

    Return the source too, opened if it was a path.
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
    is_prepared, chosen = preparation is not None, as_method(method)
    source = open_if_path(source, name="source", has_categories=is_prepared)
    most = _rows_needed(source, k, measure, chosen, limits)
    takes_objects = "objects" in measure.kinds
    reader = StreamReader(stream, takes_objects=takes_objects, is_prepared=is_prepared)
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


def _first_stream_rows(reader: StreamReader, n: int) -> StreamRows:
    """Read the first rows of a stream; the search draws the others as it needs them."""
    rows = reader.read(n)
    if reader.n_read < n:
        return all_stream_rows(rows, reader.n_read)
    return StreamRows(rows=rows, fresh=None, n_read=n, reader=reader)


def _rows_needed(source: Any, k: Any, metric: Metric, method: Method, limits: Limits) -> int | None:
    """Return how many rows the method reads; None if that or k is not known."""
    if k is None or isinstance(k, str):
        return None
    shape = getattr(source, "shape", None)
    n_source = len(source) if shape is None else int(shape[0])
    counts = k if isinstance(k, (list, tuple)) else [k]
    most = max((as_count(each, n_source) for each in counts), default=1)
    return method.stream_rows(
        n_source=n_source, k=most, is_expensive=metric.is_expensive, limits=limits
    )
