"""Numbers so large or small that distances would overflow or underflow: convert or refuse them.

Extreme float32 numbers are ordinary float64 numbers, and are read as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric
from protobandit.rows.magnitudes import largest_of
from protobandit.rows.rows import Rows

_WIDEST = 1e15  # float32 numbers above it, or all below 1 / this, are read as float64
_SAMPLE = 2048  # rows that are looked at where not all were read


def in_range(
    source: Rows, target: Rows, metric: Metric, *, label: str = "metric"
) -> tuple[Rows, Rows]:
    """Return both sides, as float64 if float32 is too narrow; raise if float64 is too narrow.

    ``label`` is what the user calls the metric, for errors.
    """
    sides = {id(rows): rows for rows in (source, target) if rows.kind in ("dense", "sparse")}
    sizes = {} if metric.sizes is None else {r.name: _largest(r) for r in sides.values()}
    extreme = [size for size in sizes.values() if size]
    if not extreme:
        return source, target
    _require_supported(sizes, metric, label)
    if min(extreme) > 1 / _WIDEST and max(extreme) < _WIDEST:
        return source, target
    wide = {at: rows.with_dtype(np.dtype(np.float64)) for at, rows in sides.items()}
    return wide.get(id(source), source), wide.get(id(target), target)


def _largest(rows: Rows) -> float | None:
    """Return the largest absolute value if it is extreme, of a sample if not all were read."""
    if rows.is_checked:
        return rows.largest
    try:
        block = rows.sample(_SAMPLE)
    except InvalidInput:  # not finite; raised again when the search reads such a row
        return None
    return largest_of(block if isinstance(block, np.ndarray) else block.data)


def _require_supported(sizes: Mapping[str, float | None], metric: Metric, label: str) -> None:
    """Raise if an extreme size is beyond what the metric supports; None is an ordinary size."""
    assert metric.sizes is not None
    low, high = metric.sizes
    for name, size in sizes.items():
        if size is not None and size > high:
            raise InvalidInput(
                f"{name} holds numbers as large as {size:.3g}, where {label}={metric.name!r} "
                f"overflows. It supports numbers up to {high:g}. Divide all rows by "
                f"1e{math.ceil(math.log10(size))}."
            )
    largest = max(math.inf if size is None else size for size in sizes.values())
    if largest < low:
        raise InvalidInput(
            f"{' and '.join(sizes)}: no number exceeds {largest:.3g}, where {label}="
            f"{metric.name!r} underflows. It supports rows with numbers of at least {low:g}. "
            f"Multiply all rows by 1e{math.ceil(-math.log10(largest))}."
        )
