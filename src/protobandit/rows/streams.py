"""Rows that arrive batch by batch, and may never end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows
from protobandit.rows.rows import DenseRows, SparseRows


class Stream:
    """An endless target: batches of rows, read as they come and no further than needed.

    The order of arrival is the order in which the search meets the rows. That later rows are like
    earlier ones, exchangeable with them, is the caller's claim; ``Selection.status`` says so.

    Parameters
    ----------
    batches
        An iterator of batches, each of which is anything `select` takes as rows, or a function that
        returns such an iterator. An iterator can be used once; what it has left can be read on.
    rows
        How many rows are the target. None leaves that to "lazybandit", which reads as many as its
        race needs; for other methods it means 50,000. Up to 4,096 further rows are read, on which
        cost and mass are measured.

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
                f"Stream got {batches!r:.40}, which gives no batches. Pass an iterator of batches "
                f"of rows, or a function that returns one."
            )
        is_count = isinstance(rows, (int, np.integer)) and not isinstance(rows, bool)
        if rows is not None and (not is_count or rows < 1):
            raise InvalidInput(
                f"rows={rows!r:.40} is no number of rows. Pass an int >= 1, or None."
            )
        self.rows = None if rows is None else int(rows)
        self._batches = batches
        self._is_used = False

    def __repr__(self) -> str:
        return f"Stream({type(self._batches).__name__}, rows={self.rows})"

    def batches(self) -> Iterator[Any]:
        """Return the batches from their beginning."""
        if callable(self._batches):
            return iter(self._batches())
        batches = iter(self._batches)
        if batches is self._batches:
            if self._is_used:
                raise InvalidInput(
                    "This Stream has been read already, and an iterator cannot start again. Pass a "
                    "function that returns a new one: Stream(lambda: iterator())."
                )
            self._is_used = True
        return batches


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamRows:
    """What was read of a stream: the target, and further rows on which to judge.

    ``fresh`` is None where the stream ended before there were any.
    """

    rows: Any
    fresh: Any
    remark: str


def take_stream_rows(
    stream: Stream, n_rows: int, n_fresh: int, *, takes_objects: bool, is_prepared: bool
) -> StreamRows:
    """Read the target and the fresh rows behind it, and no batch beyond.

    ``is_prepared`` tells whether batches are tables that will be prepared.
    """
    found: list[Any] = []
    n_found = 0
    for number, batch in enumerate(stream.batches()):
        if _is_empty(batch):
            continue
        rows = _rows(batch, f"batch {number} of the stream", takes_objects, is_prepared)
        if found:
            _require_alike(found[0], rows, number)
        found.append(rows)
        n_found += len(rows)
        if n_found >= n_rows + n_fresh:
            break
    if not found:
        raise InvalidInput("The stream ended before its first row. Pass one that has rows.")
    if n_found < n_rows + n_fresh:
        whole = _joined(found, 0, n_found)
        return StreamRows(rows=whole, fresh=None, remark=_ended(n_found))
    return StreamRows(
        rows=_joined(found, 0, n_rows),
        fresh=_joined(found, n_rows, n_rows + n_fresh),
        remark=_endless(n_rows),
    )


def _ended(n: int) -> str:
    return f"The stream ended after {n:,} rows, and all of them are the target."


def _endless(n: int) -> str:
    return (
        f"The target is the first {n:,} rows of a stream, in order of arrival; that those to come "
        f"are like them (exchangeable) is the caller's claim."
    )


def _is_empty(batch: Any) -> bool:
    shape = getattr(batch, "shape", None)
    return (shape[0] if shape else len(batch) if hasattr(batch, "__len__") else 1) == 0


def _rows(batch: Any, name: str, takes_objects: bool, is_prepared: bool) -> Any:
    if is_prepared and not hasattr(batch, "tocsr"):
        return Columns.of(batch, name=name)
    return as_rows(batch, name=name, takes_objects=takes_objects)


def _require_alike(first: Any, rows: Any, number: int) -> None:
    a, b = _likeness(first), _likeness(rows)
    if a != b:
        raise InvalidInput(
            f"batch {number} of the stream holds {b}, the first one {a}. Make them alike."
        )


def _likeness(rows: Any) -> str:
    if isinstance(rows, Columns):
        return f"the columns {list(rows.features)!s:.80}"
    width = "" if rows.n_columns is None else f" of {rows.n_columns} column(s)"
    return f"{rows.kind} rows{width}"


def _joined(found: list[Any], start: int, stop: int) -> Any:
    """Return the rows from ``start`` to ``stop`` of all batches, as one."""
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
        return Columns(
            numbers=np.concatenate([part.numbers for part in parts]),
            names=parts[0].names,
            categories={
                name: np.concatenate([part.categories[name] for part in parts])
                for name in parts[0].categories
            },
            is_named=parts[0].is_named,
        )
    return [item for part in parts for item in part]
