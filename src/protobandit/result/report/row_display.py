"""How to show rows: as images, texts or records, with names and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import require_choice
from protobandit.foundation.errors import InvalidInput


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDisplay:
    """How to show the rows of the source or of the target.

    Parameters
    ----------
    kind
        "images", "texts" or "records".
    take
        ``take(ids)`` returns the rows with these numbers: images as uint8 of shape (n, height,
        width) or (n, height, width, 3), texts as a list, records as a dictionary of columns. It is
        called with a few hundred ascending numbers at a time.
    names
        The name of each row; its number by default.
    labels
        The class of each row, if there are classes.
    n
        The number of rows; by default the number of names or labels.
    """

    kind: str
    take: Callable[[Ids], Any]
    names: Sequence[Any] | None = None
    labels: Sequence[Any] | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        require_choice(self.kind, "kind", _CHECKS)
        if not callable(self.take):
            raise InvalidInput(
                f"take is a {type(self.take).__name__}. Pass a function of row numbers."
            )
        lengths = {len(v) for v in (self.names, self.labels) if v is not None}
        lengths |= set() if self.n is None else {self.n}
        if len(lengths) > 1:
            raise InvalidInput(
                f"names, labels and n disagree: {' and '.join(map(str, sorted(lengths)))} rows. "
                f"Pass one name and one label per row."
            )

    @property
    def n_rows(self) -> int | None:
        """Return the number of rows, or None if it is not known."""
        given = self.names if self.names is not None else self.labels
        return self.n if given is None else len(given)

    def rows(self, ids: Ids) -> Any:
        """Return the rows with these numbers from ``take``, after checking them."""
        return _CHECKS[self.kind](self.take(ids), len(ids))


def values_at(values: Sequence[Any] | None, ids: Ids) -> list[Any] | None:
    """Return the values at these positions, or None if there are no values."""
    if values is None:
        return None
    if hasattr(values, "iloc"):
        return list(values.iloc[ids])
    return [values[int(i)] for i in ids]


def _checked_images(rows: Any, n: int) -> Any:
    pixels = np.asarray(rows)
    is_image = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[3] == 3)
    if not is_image or pixels.dtype != np.uint8 or len(pixels) != n or 0 in pixels.shape[1:]:
        raise InvalidInput(
            f"take returned {pixels.dtype} of shape {pixels.shape} for {n} images. Return uint8 of "
            f"shape ({n}, height, width) or ({n}, height, width, 3)."
        )
    return pixels


def _checked_texts(rows: Any, n: int) -> Any:
    if isinstance(rows, (str, bytes)):
        raise InvalidInput(
            f"take returned a single {type(rows).__name__} for {n} rows of texts. Return a list of "
            f"{n} texts."
        )
    if len(rows) != n:
        raise InvalidInput(f"take returned {len(rows)} texts for {n} rows. Return one per row.")
    return list(rows)


def _checked_records(rows: Any, n: int) -> Any:
    if not isinstance(rows, Mapping) or not rows:
        got = f"a {type(rows).__name__}" if not isinstance(rows, Mapping) else "no columns"
        raise InvalidInput(
            f"take returned {got} for records. Return a dictionary with at least one column."
        )
    for name, values in rows.items():
        if len(values) != n:
            raise InvalidInput(
                f"take returned {len(values)} values of column {name!r} for {n} rows. Return one "
                f"per row."
            )
    return dict(rows)


_CHECKS: dict[str, Callable[[Any, int], Any]] = {
    "images": _checked_images,
    "texts": _checked_texts,
    "records": _checked_records,
}
