"""Random rows of a collection, drawn in one pass over its parts.

Theory of operation
-------------------
The key of a row with weight w is -ln(u) / w, where u in (0, 1) is a hash of the seed, the number of
the part and the number of the row in it. The rows with the smallest keys are a random sample: a
uniform one if the weights are equal, otherwise one in which a row is drawn in proportion to its
weight, without replacement (Efraimidis and Spirakis 2006). A key depends on nothing but the seed
and the place of its row, so neither lengths of parts nor their order must be known.

A task cannot return as many rows as the whole sample has. It returns those with the smallest keys,
about twice as many as it is expected to have if lengths are unknown. Where a part is so much larger
than others that this is too few, its rows count more: a row is in the sample if its key is below t,
the smaller one of the limits of the sample and of its part, which has the probability
1 - exp(-w t). Its weight divided by this probability makes every sum over the sample unbiased
(Cohen and Kaplan 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.magnitudes import largest_of
from protobandit.rows.parts import PartRows, Parts
from protobandit.rows.rows import is_finite

_MORE = 2.0  # times as many rows as expected, if the lengths of parts are not known
_SPARE = 16
_DEVIATIONS = 6.0
_STEP = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """How many rows a sample has.

    At most ``n_rows`` rows, and at most ``n_bytes`` bytes, where a row needs ``row_factor`` times
    its bytes and ``row_bytes`` more. ``n_total`` is the number of all rows, if it is known.
    """

    seed: int
    n_rows: int
    n_bytes: int
    n_parts: int
    n_total: int | None
    row_factor: float = 1.0
    row_bytes: int = 0
    least_rows: int = 1

    def size(self, n_columns: int, itemsize: int) -> int:
        """Return the number of rows of the sample."""
        each = self.row_factor * n_columns * itemsize + self.row_bytes
        return max(min(self.n_rows, int(self.n_bytes / each)), self.least_rows)

    def share(self, n: int, size: int) -> int:
        """Return how many rows a part of ``n`` rows returns."""
        if self.n_total is None:
            expected = _MORE * size / self.n_parts
        else:
            expected = min(1.0, size / max(self.n_total, 1)) * n
        return min(n, math.ceil(expected + _DEVIATIONS * math.sqrt(expected) + _SPARE))


@dataclass(frozen=True, kw_only=True, eq=False)
class PartSurvey:
    """What the first pass learns from a part, with its rows of the smallest keys.

    ``cut`` is the smallest key of the other rows. ``bad`` is the row, the column and the value of
    the first number that is not finite.
    """

    n_rows: int
    n_bytes: int
    digest: str
    dtype: np.dtype[Any]
    n_columns: int
    features: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    largest: float | None
    bad: tuple[int, int, float] | None
    total: float
    ids: Ids
    keys: Doubles
    rows: np.ndarray[Any, Any]
    weights: Doubles | None
    cut: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampled:
    """Rows of a sample in the order of the collection.

    ``ids`` are their numbers in it, ``weights`` what they count; None if all count the same.
    """

    ids: Ids
    rows: np.ndarray[Any, Any]
    weights: Doubles | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """What the first pass has learned from a collection."""

    parts: tuple[PartSurvey, ...]
    sampled: Sampled

    @property
    def lengths(self) -> Ids:
        return np.array([part.n_rows for part in self.parts], dtype=np.int64)

    @property
    def n_rows(self) -> int:
        return int(self.lengths.sum())

    @property
    def is_whole(self) -> bool:
        """Return whether the sample has all rows."""
        return len(self.sampled.ids) == self.n_rows

    @property
    def digests(self) -> list[str]:
        return [part.digest for part in self.parts]

    @property
    def first(self) -> PartSurvey:
        """Return a part that has rows, which knows the columns."""
        return next(part for part in self.parts if part.n_rows)


def uniform_hashes(seed: int, part: int, rows: Ids) -> Doubles:
    """Return a number in (0, 1) for each row of a part."""
    mask = (1 << 64) - 1
    start = _mixed(np.array([seed & mask], dtype=np.uint64))
    own = _mixed(start + np.uint64((part * _STEP + 1) & mask))
    with np.errstate(over="ignore"):
        values = _mixed(own + rows.astype(np.uint64) * np.uint64(_STEP))
    return ((values >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(_MIX[0])
        values = (values ^ (values >> np.uint64(27))) * np.uint64(_MIX[1])
    return values ^ (values >> np.uint64(31))


def survey_part(part: PartRows, request: SampleRequest, number: int) -> PartSurvey:
    """Return what the first pass needs of a part: this is its task."""
    numbers, weights, n = part.numbers, part.weights, len(part)
    size = request.size(max(1, numbers.shape[1]), numbers.dtype.itemsize)
    bad = _first_bad(numbers)
    keys = -np.log(uniform_hashes(request.seed, number, np.arange(n)))
    if weights is not None:
        keys = np.divide(keys, weights, out=np.full(n, np.inf), where=weights > 0)
    n_own = 0 if bad else request.share(n, size)
    order = np.argsort(keys, kind="stable")
    ids = np.sort(order[:n_own])
    return PartSurvey(
        n_rows=n,
        n_bytes=numbers.nbytes,
        digest=part.digest(),
        dtype=numbers.dtype,
        n_columns=numbers.shape[1],
        features=part.features,
        columns=part.columns,
        left_out=part.left_out,
        remark=part.remark,
        largest=None if bad or n == 0 else largest_of(numbers),
        bad=bad,
        total=float(n if weights is None else weights.sum()),
        ids=ids,
        keys=keys[ids],
        rows=np.array(numbers[ids], order="C"),  # not a view, which would keep the whole part
        weights=None if weights is None else weights[ids],
        cut=float(keys[order[n_own]]) if n_own < n else math.inf,
    )


def _first_bad(numbers: np.ndarray[Any, Any]) -> tuple[int, int, float] | None:
    if numbers.dtype.kind != "f" or is_finite(numbers):
        return None
    row, column = np.argwhere(~np.isfinite(numbers))[0]
    return int(row), int(column), float(numbers[row, column])


def survey(parts: Parts, request: SampleRequest, look: Any) -> Survey:
    """Make the first pass over a collection: lengths, digests, a sample; raise for bad numbers."""
    name, found = parts.form.name, {}
    for number, one in parts.run(survey_part, request, doing=f"sampling the {name}", look=look):
        found[number] = one
    every = tuple(found[number] for number in sorted(found))
    _require_rows(every, name)
    return Survey(parts=every, sampled=_sampled(every, request))


def _require_rows(parts: Sequence[PartSurvey], name: str) -> None:
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    first = next((part for part in parts if part.n_rows), None)
    if first is None:
        raise InvalidInput(f"{name} has 0 rows in {len(parts)} parts. Pass at least one row.")
    for number, part in enumerate(parts):
        if part.bad is not None:
            row, column, value = part.bad
            raise InvalidInput(
                f"{name} contains {value} in part {number} at row {row} of the part (row "
                f"{starts[number] + row:,} of all), column {_column(part, column)}. "
                f"Dissimilarities need finite numbers. Drop such rows, or replace the values: "
                f"dropna() or fillna() of a DataFrame, dask.array.nan_to_num of an array."
            )
        if part.n_rows and (part.n_columns, part.features) != (first.n_columns, first.features):
            raise InvalidInput(
                f"{name}: part {number} has the compared columns {_listed(part)}, other parts have "
                f"{_listed(first)}. Pass a collection with the same columns in all parts, such as "
                f"{name}[['a', 'b']]."
            )
    if first.n_columns == 0:
        raise InvalidInput(f"{name} has no columns. Pass at least one.")
    if not sum(part.total for part in parts) > 0:
        raise InvalidInput(f"weights of {name} are all 0. At least one must be positive.")


def _column(part: PartSurvey, column: int) -> str:
    return repr(part.features[column]) if part.features else str(column)


def _listed(part: PartSurvey) -> str:
    return f"{list(part.features[:8])}" if part.features else f"0 to {part.n_columns - 1}"


def _sampled(parts: Sequence[PartSurvey], request: SampleRequest) -> Sampled:
    """Return the sample of all parts: the rows with the smallest keys."""
    first = next(part for part in parts if part.n_rows)
    dtype = np.result_type(*(part.dtype for part in parts if part.n_rows))
    size = request.size(first.n_columns, first.dtype.itemsize)
    keys = np.concatenate([part.keys for part in parts])
    limit = math.inf
    if len(keys) > size:
        limit = float(np.partition(keys, size)[size])
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    ids, rows, weights = [], [], []
    for start, part in zip(starts, parts, strict=False):
        kept = (part.keys < limit) if math.isfinite(limit) else np.ones(len(part.ids), dtype=bool)
        if not kept.any():
            continue
        own = np.ones(int(kept.sum())) if part.weights is None else part.weights[kept]
        below = min(limit, part.cut)
        if math.isfinite(below):
            own = np.divide(own, -np.expm1(-own * below), out=np.zeros(len(own)), where=own > 0)
        ids.append(start + part.ids[kept])
        rows.append(part.rows[kept])
        weights.append(own)
    counts = np.concatenate(weights)
    are_equal = bool((counts == counts[0]).all())
    return Sampled(
        ids=np.concatenate(ids),
        rows=np.concatenate(rows).astype(dtype, copy=False),
        weights=None if are_equal else counts / counts.mean(),
    )
