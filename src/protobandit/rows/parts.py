"""Rows in parts: what a task gets, and where tasks run.

Theory of operation
-------------------
A *part* is a block of rows that one task reads. A task is a pure function of the part, of one
object that all tasks share, and of the number of the part. So it may run anywhere, in any order,
and again after a worker was lost, and the result is the same. An *executor* runs one task per part:
on the threads of this process or on Dask.

The first pass takes a digest of every part. Later passes compare it, because the graph of a user
may return other rows each time it is computed, and every pass computes it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.rows.rows import strided

_DIGEST_ROWS = 64
_DIGEST_SUMS = 64  # of consecutive pieces of a part

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a collection.

    ``blocks`` is what its task reads, and ``weights`` the weights of its rows, both possibly still
    to be computed. ``n_rows`` and ``n_bytes`` are None if they are not known in advance.
    """

    number: int
    blocks: Any
    weights: Any = None
    n_rows: int | None = None
    n_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class PartForm:
    """How the blocks of a part are read.

    ``is_table`` is whether they are a frame or a mapping from names to columns, of which columns
    are chosen by the rules for frames; otherwise they are arrays that lie side by side. ``columns``
    are those to compare, if they are known, ``features`` the names of their numbers if a column is
    a vector, and ``left_out`` the reasons for other columns.
    """

    name: str
    is_table: bool = False
    columns: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class PartRows:
    """The rows of a part that was read: numbers, weights, and which columns they are."""

    numbers: np.ndarray[Any, Any]
    weights: Doubles | None = None
    features: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

    def __len__(self) -> int:
        return len(self.numbers)

    def digest(self) -> str:
        """Return a digest of some rows, and of sums over all numbers and weights."""
        found = hashlib.blake2b(digest_size=12)
        for array in (self.numbers, self.weights):
            if array is not None:
                found.update(f"{array.dtype.str} {array.shape} ".encode())
                found.update(array[strided(len(array), _DIGEST_ROWS)].tobytes())
                found.update(_sums(array).tobytes())
        return found.hexdigest()


class PartExecutor(Protocol):
    """Where the tasks of a call run.

    ``n_passes``, ``n_tasks``, ``n_sent`` and ``n_received`` count passes, tasks, the bytes of what
    tasks share, and the bytes of their results.
    """

    n_passes: int
    n_tasks: int
    n_sent: int
    n_received: int

    def run(
        self,
        task: Callable[..., Result],
        arguments: Mapping[int, tuple[Any, ...]],
        parts: Mapping[int, Part],
        shared: Any,
        doing: str,
        look: Callable[[int], None],
    ) -> Iterator[tuple[int, Result]]:
        """Call ``task(blocks, weights, shared, number, *arguments)`` for every part.

        Yield the number of each part with its result, in any order. ``doing`` names the pass.
        ``look`` is called now and then with the number of finished tasks; what it raises ends the
        pass. A task that fails raises `PartFailed`.
        """
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """All parts of a source or a target, and where their tasks run.

    ``carry_out`` is what a task does (`part_reading.carry_out`): it reads the part and calls a
    function with it. It is not imported here, because everything that uses a `Problem` would
    import the file readers.
    """

    form: PartForm
    parts: tuple[Part, ...]
    executor: PartExecutor
    carry_out: Callable[..., Any]
    shape: tuple[int, np.dtype[Any]] | None = None  # columns and type, if known in advance

    @property
    def lengths(self) -> list[int] | None:
        """Return the numbers of rows, if all are known in advance."""
        found = [part.n_rows for part in self.parts if part.n_rows is not None]
        return found if len(found) == len(self.parts) else None

    def run(
        self,
        function: Callable[[PartRows, Any, int], Result],
        shared: Any,
        *,
        doing: str,
        digests: Sequence[str] | None = None,
        numbers: Sequence[int] | None = None,
        look: Callable[[int], None] = lambda n_done: None,
    ) -> Iterator[tuple[int, Result]]:
        """Call ``function`` with every part, or with those of ``numbers``, and what is shared.

        ``digests`` are those of the first pass.
        """
        some = range(len(self.parts)) if numbers is None else numbers
        arguments = {
            number: (function, self.form, None if digests is None else digests[number])
            for number in some
        }
        parts = {number: self.parts[number] for number in some}
        return self.executor.run(self.carry_out, arguments, parts, shared, doing, look)


def writable(array: Any) -> Any:
    """Return an array that is not read-only, as those that another process sent may be.

    Kernels would be compiled again for read-only arrays.
    """
    return array if array.flags.writeable else array.copy()


def _sums(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return sums over consecutive pieces of the bytes of an array; fast, and no cryptography."""
    raw = array.ravel(order="K").view(np.uint8)
    words = raw[: len(raw) // 8 * 8].view(np.uint64)
    rest = raw[len(words) * 8 :].astype(np.uint64)
    if len(words) == 0:
        return rest
    at = np.unique(np.arange(_DIGEST_SUMS) * len(words) // _DIGEST_SUMS)
    return np.concatenate([np.add.reduceat(words, at), rest])
