"""What a page holds of the rows it shows, within a budget.

Theory of operation
-------------------
A page of 1,000 prototypes, their members and the points of a map shows up to 15,000 rows. What one
of them takes depends on the data, so a few are encoded at each level of detail, from the finest on,
and the first level at which all would fit is taken. Beyond the last, points of the map lose their
contents, and only prototypes and their members are shown.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.exhibit import RowDisplay
from protobandit.result.report.png import HEAD, png
from protobandit.result.report.text import as_json, cell, clean, shortened

BUDGET = 4_200_000  # characters
_CHUNK = 256  # rows taken at a time
_TRIED = 48  # rows encoded to see what all would take
_MOST_IN_CELL = 120  # characters


class Detail(NamedTuple):
    """Pixels a side, characters or columns: of a prototype, and of any other row."""

    prototypes: int
    rows: int


LADDERS = {
    "images": (Detail(96, 64), Detail(64, 48), Detail(64, 32), Detail(48, 24), Detail(32, 16)),
    "texts": (Detail(4000, 600), Detail(2000, 240), Detail(1000, 120), Detail(400, 60)),
    "records": (Detail(32, 32), Detail(32, 12), Detail(16, 8), Detail(8, 4)),
}
_UNITS = {"images": "pixels a side", "texts": "characters", "records": "columns"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Contents:
    """Rows as a page holds them.

    ``items`` are base64 PNGs without their common ``head``, texts, or lists of the ``columns``'
    values. ``is_cut`` says whether something was left out or made smaller.
    """

    kind: str
    items: list[Any]
    head: str = ""
    columns: tuple[str, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Wall:
    """Prototypes and other rows as a page holds them, and what was left out, in sentences."""

    prototypes: Contents
    rows: Contents
    notes: tuple[str, ...]


def hang(
    source: RowDisplay, target: RowDisplay, prototypes: Ids, *, essential: Ids, further: Ids
) -> Wall:
    """Encode the prototypes, the essential target rows, and the further ones if they fit.

    ``rows`` of the result holds the essential rows and then, unless left out, the further ones.
    """
    both = np.concatenate([essential, further])
    for ids in (both, essential):
        for level in range(min(len(LADDERS[source.kind]), len(LADDERS[target.kind]))):
            sides = LADDERS[source.kind][level].prototypes, LADDERS[target.kind][level].rows
            size = _size(source, prototypes, sides[0]) + _size(target, ids, sides[1])
            if size <= BUDGET:
                return _hung(source, target, prototypes, ids, sides, len(both))
    return _hung(source, target, prototypes, essential, sides, len(both))


def _hung(
    source: RowDisplay,
    target: RowDisplay,
    prototypes: Ids,
    ids: Ids,
    sides: tuple[int, int],
    n_wanted: int,
) -> Wall:
    ours, others = contents(source, prototypes, sides[0]), contents(target, ids, sides[1])
    notes = []
    cuts = ((ours, "Prototypes", sides[0]), (others, "Other rows", sides[1]))
    for shown, who, side in cuts:
        if shown.is_cut:
            notes.append(f"{who} are shown with at most {side:,} {_UNITS[shown.kind]}.")
    if len(ids) < n_wanted:
        notes.append("Points of the map show their number only, to keep the page small.")
    return Wall(prototypes=ours, rows=others, notes=tuple(notes))


def contents(exhibit: RowDisplay, ids: Ids, size: int) -> Contents:
    """Return these rows as a page holds them, in the order given."""
    order = np.argsort(ids, kind="stable")
    parts = [_ENCODERS[exhibit.kind](rows, size) for rows in _taken(exhibit, ids[order])]
    items: list[Any] = [None] * len(ids)
    for where, item in zip(order, (i for part in parts for i in part.items), strict=True):
        items[int(where)] = item
    first = parts[0] if parts else Contents(kind=exhibit.kind, items=[])
    _require_alike(parts)
    return Contents(
        kind=exhibit.kind,
        items=items,
        head=first.head,
        columns=first.columns,
        is_cut=any(part.is_cut for part in parts),
    )


def _require_alike(parts: list[Contents]) -> None:
    """Refuse rows that look one way in some calls of ``take`` and another way in others."""
    for part in parts[1:]:
        if part.columns != parts[0].columns:
            raise InvalidInput(
                f"take returned columns {list(parts[0].columns)!r:.80} for some rows and "
                f"{list(part.columns)!r:.80} for others. Return the same columns for all rows."
            )
        if part.head != parts[0].head:
            raise InvalidInput(
                "take returned images of different sizes for different rows. Return images of one "
                "height and width, all grey or all in colour."
            )


def _taken(exhibit: RowDisplay, ids: Ids) -> Iterator[Any]:
    for start in range(0, len(ids), _CHUNK):
        yield exhibit.rows(ids[start : start + _CHUNK])


def _size(exhibit: RowDisplay, ids: Ids, size: int) -> float:
    """Return about how many characters these rows take."""
    if len(ids) == 0:
        return 0.0
    tried = ids[np.linspace(0, len(ids) - 1, min(len(ids), _TRIED)).astype(np.int64)]
    return len(as_json(contents(exhibit, tried, size).items)) / len(tried) * len(ids)


def _images(pixels: NDArray[np.uint8], size: int) -> Contents:
    small = shrunk(pixels, size)
    encoded = [png(image) for image in small]
    return Contents(
        kind="images",
        items=[b64encode(data[HEAD:]).decode("ascii") for data in encoded],
        head=b64encode(encoded[0][:HEAD]).decode("ascii"),
        is_cut=small.shape != pixels.shape,
    )


def _texts(texts: list[Any], size: int) -> Contents:
    items = [shortened(text, size) for text in texts]
    return Contents(kind="texts", items=items, is_cut=any(len(str(t)) > size for t in texts))


def _records(columns: dict[str, Any], size: int) -> Contents:
    names = list(columns)[:size]
    values = [[cell(value, _MOST_IN_CELL) for value in columns[name]] for name in names]
    return Contents(
        kind="records",
        items=[list(row) for row in zip(*values, strict=True)],
        columns=tuple(clean(name) for name in names),
        is_cut=len(names) < len(columns),
    )


def shrunk(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return images whose longer side is at most ``side``: means of squares of pixels."""
    height, width = pixels.shape[1:3]
    times = -(-max(height, width) // side)
    if times == 1:
        return pixels
    edges = [(0, 0), (0, -height % times), (0, -width % times), *[(0, 0)] * (pixels.ndim - 3)]
    even = np.pad(pixels, edges, mode="edge")
    squares = even.reshape(
        len(even), even.shape[1] // times, times, even.shape[2] // times, times, *even.shape[3:]
    )
    means: NDArray[np.uint8] = np.rint(squares.mean(axis=(2, 4))).astype(np.uint8)
    return means


_ENCODERS: dict[str, Callable[[Any, int], Contents]] = {
    "images": _images,
    "texts": _texts,
    "records": _records,
}
