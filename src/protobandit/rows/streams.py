"""Streams: rows that arrive in batches, possibly without end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.preparation.tables import as_table
from protobandit.rows.rows import DenseRows, SparseRows


class Stream:
    """A target without a known end: batches of rows, read in order and only as far as needed.

    The search reads the rows in order of arrival. It assumes that later rows are exchangeable with
    earlier ones. This is not checked; ``Selection.status`` states the assumption.

    Parameters
    ----------
    batches
        An iterator of batches, or a function that returns one. A batch is anything that `select`
        accepts as rows. An iterator can be used once; its unread batches remain available.
    rows
        Number of rows of the target. If None, "lazybandit" reads as many as its race needs, and
        other methods read 50,000. Up to 4,096 further rows are read to measure cost and mass.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> random = np.random.default_rng(0)
    >>> def batches():
    ...     while True:
    ...         yield random.normal(size=(100, 2))
    >>> source = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> pb.select(source, pb.Stream(batches), k=1).indices
    array([0])
    """

    def __init__(
        self,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        *,
        rows: int | None = None,
    ) -> None:
        is_text = isinstance(batches, (str, bytes))
        if is_text or not (callable(batches) or isinstance(batches, Iterable)):
            raise InvalidInput(
                f"Stream got {batches!r:.40}, which is not an iterator of batches. Pass an "
                f"iterator of batches of rows, or a function that returns one."
            )
        require_integer(rows, "rows", allows_none=True)
        self.rows = None if rows is None else int(rows)
        self._batches = batches
        self._is_used = False

    def __repr__(self) -> str:
        return f"Stream({type(self._batches).__name__}, rows={self.rows})"

    def batches(self) -> Iterator[Any]:
        """Return an iterator over the batches from the first one."""
        if callable(self._batches):
            return iter(self._batches())
        batches = iter(self._batches)
        if batches is self._batches:
            if self._is_used:
                raise InvalidInput(
                    "The iterator of this Stream has been used and cannot be restarted. Pass a "
                    "function that returns a new iterator: Stream(lambda: iterator())."
                )
            self._is_used = True
        return batches


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamRows:
    """The rows read from a stream: the target, and further rows for the assessment.

    ``fresh`` are the further rows, None if the stream ended before them. ``remark`` is a sentence
    for the status.
    """

    rows: Any
    fresh: Any
    remark: str


def take_stream_rows(
    stream: Stream, n_rows: int, n_fresh: int, *, takes_objects: bool, is_prepared: bool
) -> StreamRows:
    """Read the target and the fresh rows after it, and no further batch.

    ``is_prepared`` is whether the rows will be prepared, so that batches are kept as `Columns`.
    """
    found: list[Any] = []
    n_found = 0
    for number, batch in enumerate(stream.batches()):
        if _is_empty(batch):
            continue
        rows = _rows(batch, f"batch {number} of the stream", takes_objects, is_prepared)
        if found:
            _require_same_kind(found[0], rows, number)
        found.append(rows)
        n_found += len(rows)
        if n_found >= n_rows + n_fresh:
            break
    if not found:
        raise InvalidInput("The stream ended before its first row. Pass a stream with rows.")
    if n_found < n_rows + n_fresh:
        remark = f"The stream ended after {n_found:,} rows; all of them are the target."
        return StreamRows(rows=_joined(found, 0, n_found), fresh=None, remark=remark)
    return StreamRows(
        rows=_joined(found, 0, n_rows),
        fresh=_joined(found, n_rows, n_rows + n_fresh),
        remark=(
            f"The target is the first {n_rows:,} rows of a stream, in order of arrival; later rows "
            f"are assumed to be exchangeable with them."
        ),
    )


def _is_empty(batch: Any) -> bool:
    shape = getattr(batch, "shape", None)
    return (shape[0] if shape else len(batch) if hasattr(batch, "__len__") else 1) == 0


def _rows(batch: Any, name: str, takes_objects: bool, is_prepared: bool) -> Any:
    batch = open_if_path(batch, name=name, has_categories=is_prepared)
    if is_prepared:
        table = as_table(batch, name=name)
        if isinstance(table, Columns):  # and not a sparse matrix
            return table
    return as_rows(batch, name=name, takes_objects=takes_objects)


def _require_same_kind(first: Any, rows: Any, number: int) -> None:
    a, b = _description(first), _description(rows)
    if a != b:
        raise InvalidInput(
            f"batch {number} of the stream holds {b}, but the first batch holds {a}. Pass batches "
            f"of the same kind and columns."
        )


def _description(rows: Any) -> str:
    if isinstance(rows, Columns):
        return f"the columns {list(rows.features)!s:.80}"
    width = "" if rows.n_columns is None else f" of {rows.n_columns} column(s)"
    return f"{rows.kind} rows{width}"


def _joined(found: list[Any], start: int, stop: int) -> Any:
    """Return the rows from ``start`` to ``stop`` of all batches as one set."""
    parts, first = [], 0
    for rows in found:
        low, high = max(start - first, 0), min(stop - first, len(rows))
        if low < high:
            parts.append(rows.take(slice(low, high)))
        first += len(rows)
    if isinstance(found[0], DenseRows):
        return np.concatenate(parts)
    if isinstance(found[0], SparseRows):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    if isinstance(found[0], Columns):
        numbers = np.concatenate([part.numbers for part in parts])
        texts = {
            name: np.concatenate([part.categories[name] for part in parts])
            for name in parts[0].categories
        }
        return replace(parts[0], numbers=numbers, categories=texts)
    return [item for part in parts for item in part]
