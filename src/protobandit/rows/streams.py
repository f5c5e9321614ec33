"""Streams: rows that arrive in batches, possibly without end.

A method either gets the first rows of a stream as its target (`take_stream_rows`), or draws rows
as it needs them (`OpenStream`). Both read batches through a `StreamReader`, in order of arrival and
never a batch before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.rows.column_names import matched, names_of
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opening import as_opened
from protobandit.rows.preparation.tables import as_table
from protobandit.rows.rows import Rows, is_sparse

KEPT_ROWS = 50_000  # of a stream that is read while the search runs
_SKIPPED_ROWS = 4096


class Stream:
    """A target without a known end: batches of rows, read in order and only as far as needed.

    The search reads the rows in order of arrival. It assumes that later rows are exchangeable with
    earlier ones. This is not checked; ``Selection.status`` states the assumption, and
    ``Selection.rows_read`` the number of rows read.

    "protobandit" draws rows as its searches need them: each search reads new rows and drops them.
    Memory does not grow with the stream: up to 50,000 rows are kept, as the target of
    `Selection.members` and other queries. If the stream ends before the search does, the search
    starts again with the rows that were kept as its target, a ``callback`` sees steps from the
    first again, and ``Selection.warnings`` says so.

    Other methods read their target first.

    Parameters
    ----------
    batches
        An iterator of batches, or a function that returns one. A batch is anything that `select`
        accepts as rows; columns of frames are matched by name. An iterator can be used once; its
        unread batches remain available.
    rows
        Number of rows of the target. If None, "protobandit" reads as many as its searches need and
        "lazybandit" as many as its race needs; other methods read 50,000. 4,096 further rows are
        read to measure cost and mass. If the stream ends before them, all rows are the target.

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
        is_text = isinstance(batches, (str, bytes)) or getattr(batches, "ndim", 1) == 0
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
            made = self._batches()
            if isinstance(made, (str, bytes)) or not isinstance(made, Iterable):
                raise InvalidInput(
                    f"The function of this Stream returned {made!r:.40}, which is not an iterator "
                    f"of batches. Return an iterator of batches of rows."
                )
            return iter(made)
        batches = iter(self._batches)
        if batches is self._batches:
            if self._is_used:
                raise InvalidInput(
                    "The iterator of this Stream has been used and cannot be restarted. Pass a "
                    "function that returns a new iterator: Stream(lambda: iterator())."
                )
            self._is_used = True
        return batches


class StreamEnded(Exception):
    """An `OpenStream` ended before it had the rows that were asked for."""


class StreamReader:
    """Reads rows of a stream in order of arrival.

    Parameters
    ----------
    stream
        The stream, which is read from its first batch.
    takes_objects
        Whether rows need not be numbers.
    preparation
        How the rows will be prepared, or None. Batches to be prepared are kept as `Columns`.
    columns
        The names of the columns of the source, in whose order the rows are read. If None, these
        are the names of the first batch that has names.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        takes_objects: bool,
        preparation: Any = None,
        columns: tuple[str, ...] | None = None,
    ) -> None:
        self.n_read = 0
        self._batches = enumerate(stream.batches())
        self._takes_objects = takes_objects
        self._preparation = preparation
        self._columns, self._named = columns, "source"
        self._kind = ""  # of the first batch
        self._batch: Any = []  # the last one that was read, and the first row of it that was not
        self._at = 0

    def read(self, n: int) -> Any:
        """Return the next ``n`` rows, fewer if the stream ends, None if it has ended before."""
        found, n_found = [], 0
        while n_found < n:
            if self._at == len(self._batch) and not self._has_next_batch():
                break
            stop = min(self._at + n - n_found, len(self._batch))
            block = self._batch.take(slice(self._at, stop))
            # The next batch may be written to the memory of this one.
            found.append(block.copy() if isinstance(block, np.ndarray) else block)
            n_found += stop - self._at
            self._at = stop
        self.n_read += n_found
        return join(found) if found else None

    def _has_next_batch(self) -> bool:
        """Read the next batch that has rows; return False if there is none."""
        for number, batch in self._batches:
            if _is_empty(batch):
                continue
            name = f"batch {number} of the stream"
            rows = self._rows(batch, name)
            self._kind = self._kind or _description(rows)
            _require_same_kind(self._kind, rows, number)
            self._batch, self._at = rows, 0
            return True
        return False

    def _rows(self, batch: Any, name: str) -> Any:
        batch = as_opened(
            batch,
            name=name,
            preparation=self._preparation,
            like=self._columns,
            takes_objects=self._takes_objects,
        )
        if self._preparation is not None:
            table = as_table(batch, name=name)
            if isinstance(table, Columns):  # and not a sparse matrix
                return table
        elif self._columns is None:
            self._columns, self._named = names_of(batch), name
        else:
            batch = matched(batch, self._columns, name=name, other=self._named)
        return as_rows(batch, name=name, takes_objects=self._takes_objects)


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamRows:
    """The rows read from a stream: the target, and further rows for the assessment.

    Attributes
    ----------
    rows
        The target; if there is a ``reader``, the first rows only.
    fresh
        The further rows; None if the stream ended before them, or if there is a ``reader``.
    n_read
        The number of rows read so far.
    remark
        A sentence for the status.
    warnings
        A warning if the stream has ended.
    reader
        What reads the rest, if the method draws rows as it needs them.
    """

    rows: Any
    fresh: Any
    n_read: int
    remark: str = ""
    warnings: tuple[RunWarning, ...] = ()
    reader: StreamReader | None = None


def take_stream_rows(
    reader: StreamReader, n_rows: int, n_fresh: int, *, reason: str = ""
) -> StreamRows:
    """Read the target and the fresh rows after it, and no further batch.

    ``reason`` says why the target has this number of rows.
    """
    rows, fresh = reader.read(n_rows), reader.read(n_fresh)
    n = reader.n_read
    if n < n_rows + n_fresh:
        return all_stream_rows(rows if fresh is None else join([rows, fresh]), n)
    return StreamRows(
        rows=rows,
        fresh=fresh,
        n_read=n,
        remark=(
            f"The target is the first {n_rows:,} rows of a stream, in order of arrival{reason}; "
            f"later rows are assumed to be exchangeable with them. {n_fresh:,} of these judge the "
            f"result."
        ),
    )


def all_stream_rows(rows: Any, n: int) -> StreamRows:
    """Return the ``n`` rows of a stream that has ended as the target; raise if there are none."""
    if rows is None:
        raise InvalidInput("The stream ended before its first row. Pass a stream with rows.")
    message = (
        f"the stream ended after {n:,} rows; all of them are the target, and the result says "
        f"nothing about other rows."
    )
    ended = RunWarning(WarningKind.STREAM_ENDED, message)
    return StreamRows(rows=rows, fresh=None, n_read=n, warnings=(ended,))


class OpenStream:
    """A stream as a target that is read while the search runs.

    The first ``KEPT_ROWS`` rows are kept: they are the target of later queries, and of a second
    search if the stream ends too early. All others are dropped once they have been used.

    Parameters
    ----------
    reader
        What reads the rows.
    first
        The rows that were read already.
    convert
        Returns rows in the form that the metric reads.
    """

    def __init__(self, reader: StreamReader, first: Any, convert: Callable[[Any], Rows]) -> None:
        self._reader = reader
        self._convert = convert
        self._kept: list[Any] = [first]
        self._n_kept = reader.n_read

    @property
    def n_read(self) -> int:
        """Return the number of rows read so far."""
        return self._reader.n_read

    def draw(self, n: int) -> Rows:
        """Return the next ``n`` rows; raise `StreamEnded` if there are fewer."""
        before = self.n_read
        rows = self._reader.read(n)
        n_found = self.n_read - before
        if n_found and self._n_kept < KEPT_ROWS:
            n_taken = min(n_found, KEPT_ROWS - self._n_kept)
            self._kept.append(_first_rows(rows, n_taken))
            self._n_kept += n_taken
        if n_found < n:
            raise StreamEnded
        return self._convert(rows)

    def skip_to(self, n_read: int) -> None:
        """Read on until ``n_read`` rows have been read, as an earlier run did."""
        while self.n_read < n_read:
            self.draw(min(_SKIPPED_ROWS, n_read - self.n_read))

    def kept(self) -> Rows:
        """Return the rows that were kept."""
        return self._convert(join(self._kept))


def _is_empty(batch: Any) -> bool:
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return len(shape) > 0 and shape[0] == 0
    return hasattr(batch, "__len__") and len(batch) == 0


def _require_same_kind(first: str, rows: Any, number: int) -> None:
    found = _description(rows)
    if found != first:
        raise InvalidInput(
            f"batch {number} of the stream holds {found}, but the first batch holds {first}. Pass "
            f"batches of the same kind and columns."
        )


def _description(rows: Any) -> str:
    if isinstance(rows, Columns):
        return f"the columns {list(rows.features)!s:.80}"
    width = "" if rows.n_columns is None else f" of {rows.n_columns} column(s)"
    return f"{rows.kind} rows{width}"


def _first_rows(rows: Any, n: int) -> Any:
    """Return the first rows of what `join` returned."""
    return rows.take(slice(0, n)) if isinstance(rows, Columns) else rows[:n]


def join(parts: list[Any]) -> Any:
    """Return blocks of rows of one kind as one: an array, a CSR matrix, `Columns` or a list."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, Columns):
        numbers = np.concatenate([part.numbers for part in parts])
        texts = {
            name: np.concatenate([part.categories[name] for part in parts])
            for name in first.categories
        }
        return replace(first, numbers=numbers, categories=texts)
    if is_sparse(first):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return [item for part in parts for item in part]
