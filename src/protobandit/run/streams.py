"""How many rows of a stream a search reads."""

from __future__ import annotations

from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.limits import Limits
from protobandit.problem.posing import as_count
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.streams import Stream, StreamRows, take_stream_rows
from protobandit.run.assessment import ASSESSED_ROWS
from protobandit.search.methods.method import Method
from protobandit.search.methods.table import as_method

_ROWS = 50_000  # rows of the target for methods that do not know how many they read


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
    source = open_if_path(source, name="source", has_categories=preparation is not None)
    most = _rows_needed(source, k, measure, as_method(method), limits)
    n_rows = min(most or stream.rows or _ROWS, stream.rows or most or _ROWS)
    arrived = take_stream_rows(
        stream,
        n_rows,
        ASSESSED_ROWS,
        takes_objects="objects" in measure.kinds,
        is_prepared=preparation is not None,
    )
    return source, arrived


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
