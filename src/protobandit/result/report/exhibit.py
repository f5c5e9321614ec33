"""What rows look like: images, texts or records, what they are called and which class they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput

KINDS = ("images", "texts", "records")


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDisplay:
    """How to show rows of the source or of the target.

    Parameters
    ----------
    kind
        "images", "texts" or "records".
    take
        ``take(ids)`` returns these rows: images as uint8 of shape (n, height, width) or (n, height,
        width, 3), texts as a list, records as a dictionary of columns. It is called with a few
        hundred ascending numbers at a time.
    names
        What each row is called; its number by default.
    labels
        The class of each row, if there are classes.
    n
        How many rows there are; by default as many as names or labels.
    """

    kind: str
    take: Callable[[Ids], Any]
    names: Sequence[Any] | None = None
    labels: Sequence[Any] | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(f"kind={self.kind!r} is not a kind of exhibit. Use one of {KINDS}.")
        if not callable(self.take):
            raise InvalidInput(
                f"take is a {type(self.take).__name__}. Pass a function of row numbers."
            )
        lengths = {len(v) for v in (self.names, self.labels) if v is not None}
        lengths |= set() if self.n is None else {self.n}
        if len(lengths) > 1:
            raise InvalidInput(
                f"names, labels and n speak of {' and '.join(map(str, sorted(lengths)))} rows. "
                f"Pass one name and one label a row."
            )

    @property
    def n_rows(self) -> int | None:
        """Return how many rows there are, where that is known."""
        given = self.names if self.names is not None else self.labels
        return self.n if given is None else len(given)

    def rows(self, ids: Ids) -> Any:
        """Return these rows as ``take`` gives them, checked."""
        return _CHECKS[self.kind](self.take(ids), len(ids))


def picked(values: Sequence[Any] | None, ids: Ids) -> list[Any] | None:
    """Return some of the values, if there are values."""
    if values is None:
        return None
    if hasattr(values, "iloc"):
        return list(values.iloc[ids])
    return [values[int(i)] for i in ids]


def _images(rows: Any, n: int) -> Any:
    pixels = np.asarray(rows)
    is_image = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[3] == 3)
    if not is_image or pixels.dtype != np.uint8 or len(pixels) != n or 0 in pixels.shape[1:]:
        raise InvalidInput(
            f"take returned {pixels.dtype} of shape {pixels.shape} for {n} images. Return uint8 of "
            f"shape ({n}, height, width) or ({n}, height, width, 3)."
        )
    return pixels


def _texts(rows: Any, n: int) -> Any:
    if isinstance(rows, (str, bytes)) or len(rows) != n:
        raise InvalidInput(f"take returned {len(rows)} texts for {n} rows. Return one a row.")
    return list(rows)


def _records(rows: Any, n: int) -> Any:
    if not isinstance(rows, Mapping) or not rows:
        raise InvalidInput(
            f"take returned a {type(rows).__name__} for records, or one without columns. Return a "
            f"dictionary of columns, one at least."
        )
    for name, values in rows.items():
        if len(values) != n:
            raise InvalidInput(
                f"take returned {len(values)} values of column {name!r} for {n} rows. Return one "
                f"a row."
            )
    return dict(rows)


_CHECKS: dict[str, Callable[[Any, int], Any]] = {
    "images": _images,
    "texts": _texts,
    "records": _records,
}
