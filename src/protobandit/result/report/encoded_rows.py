"""Rows encoded for a page, within a size budget.

Theory of operation
-------------------
A page with 1,000 prototypes, their members and the points of a map shows up to 15,000 rows. The
size of an encoded row depends on the data. A few rows are therefore encoded at each level of
detail, from the finest to the coarsest, and the first level is used at which all rows are expected
to fit. If all rows do not fit at the coarsest level, the points of the map lose their contents, and
only prototypes and their members are encoded.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.slices import cuts
from protobandit.result.report.png import HEAD, png
from protobandit.result.report.row_display import RowDisplay
from protobandit.result.report.safe_text import cell_value, clean, script_json, shortened

BUDGET = 4_200_000  # characters
_CHUNK = 256  # rows taken at a time
_N_TRIAL = 48  # rows encoded to estimate the size of all
_MOST_IN_CELL = 120  # characters
_MOST_IN_WIDE_CELL = 600  # if there is room for many columns
_MANY_COLUMNS = 32


class DetailLevel(NamedTuple):
    """Pixels per side, characters or columns: of a prototype, and of any other row."""

    prototypes: int
    rows: int


LEVELS = {
    kind: tuple(DetailLevel(*sizes) for sizes in levels)
    for kind, levels in {
        "images": ((96, 64), (64, 48), (64, 32), (48, 24), (32, 16)),
        "texts": ((4000, 600), (2000, 240), (1000, 120), (400, 60)),
        "records": ((32, 32), (32, 12), (16, 8), (8, 4)),
    }.items()
}
_UNITS = {"images": "pixels per side", "texts": "characters", "records": "columns"}


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRows:
    """Rows in the form the page holds them; ``kind`` is "images", "texts" or "records".

    ``items`` holds per row a base64 PNG without the common ``head``, a text, or a list with one
    value per column. ``is_cut`` is whether anything was left out or made smaller.
    """

    kind: str
    items: list[Any]
    head: str = ""
    columns: tuple[str, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class PageRows:
    """The encoded prototypes and target rows of a page, and notes on what was left out."""

    prototypes: EncodedRows
    rows: EncodedRows
    notes: tuple[str, ...]


def encode_within_budget(
    source: RowDisplay, target: RowDisplay, prototypes: Ids, *, essential: Ids, further: Ids
) -> PageRows:
    """Encode the prototypes, the essential target rows, and the further ones if they fit.

    ``rows`` of the result holds the essential rows first, then the further ones unless they were
    left out.
    """
    both = np.concatenate([essential, further])
    for ids in (both, essential):
        for level in range(min(len(LEVELS[source.kind]), len(LEVELS[target.kind]))):
            sizes = DetailLevel(
                LEVELS[source.kind][level].prototypes, LEVELS[target.kind][level].rows
            )
            n_characters = _estimated_length(source, prototypes, sizes.prototypes)
            n_characters += _estimated_length(target, ids, sizes.rows)
            if n_characters <= BUDGET:
                return _page_rows(source, target, prototypes, ids, sizes, len(both))
    return _page_rows(source, target, prototypes, essential, sizes, len(both))


def _page_rows(
    source: RowDisplay,
    target: RowDisplay,
    prototypes: Ids,
    ids: Ids,
    sizes: DetailLevel,
    n_wanted: int,
) -> PageRows:
    ours, others = encode(source, prototypes, sizes.prototypes), encode(target, ids, sizes.rows)
    notes = [
        f"{name} are shown with at most {size:,} {_UNITS[encoded.kind]}."
        for encoded, name, size in (
            (ours, "Prototypes", sizes.prototypes),
            (others, "Other rows", sizes.rows),
        )
        if encoded.is_cut
    ]
    if len(ids) < n_wanted:
        notes.append("Points of the map show their number only, to keep the page small.")
    return PageRows(prototypes=ours, rows=others, notes=tuple(notes))


def encode(display: RowDisplay, ids: Ids, size: int) -> EncodedRows:
    """Encode the rows with these numbers, in the order given."""
    order = np.argsort(ids, kind="stable")
    chunks = (display.rows(ids[order[cut]]) for cut in cuts(len(ids), _CHUNK))
    parts = [_ENCODERS[display.kind](rows, size) for rows in chunks]
    items: list[Any] = [None] * len(ids)
    for position, item in zip(order, (i for part in parts for i in part.items), strict=True):
        items[int(position)] = item
    first = parts[0] if parts else EncodedRows(kind=display.kind, items=[])
    _require_same_form(parts)
    return EncodedRows(
        kind=display.kind,
        items=items,
        head=first.head,
        columns=first.columns,
        is_cut=any(part.is_cut for part in parts),
    )


def _require_same_form(parts: list[EncodedRows]) -> None:
    """Raise if calls of ``take`` returned different columns or images of different sizes."""
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


def _estimated_length(display: RowDisplay, ids: Ids, size: int) -> float:
    """Return about how many characters these rows take when encoded."""
    if len(ids) == 0:
        return 0.0
    trial = ids[np.linspace(0, len(ids) - 1, min(len(ids), _N_TRIAL)).astype(np.int64)]
    return len(script_json(encode(display, trial, size).items)) / len(trial) * len(ids)


def _encoded_images(pixels: NDArray[np.uint8], size: int) -> EncodedRows:
    small = shrunk(pixels, size)
    encoded = [png(image) for image in small]
    return EncodedRows(
        kind="images",
        items=[b64encode(data[HEAD:]).decode("ascii") for data in encoded],
        head=b64encode(encoded[0][:HEAD]).decode("ascii"),
        is_cut=small.shape != pixels.shape,
    )


def _encoded_texts(texts: list[Any], size: int) -> EncodedRows:
    items = [shortened(text, size) for text in texts]
    return EncodedRows(kind="texts", items=items, is_cut=any(len(str(t)) > size for t in texts))


def _encoded_records(columns: dict[str, Any], size: int) -> EncodedRows:
    names = list(columns)[:size]
    most = _MOST_IN_WIDE_CELL if size >= _MANY_COLUMNS else _MOST_IN_CELL
    values = [[cell_value(value, most) for value in columns[name]] for name in names]
    return EncodedRows(
        kind="records",
        items=[list(row) for row in zip(*values, strict=True)],
        columns=tuple(clean(name) for name in names),
        is_cut=len(names) < len(columns),
    )


def shrunk(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return images whose longer side is at most ``side``, by averaging squares of pixels."""
    height, width = pixels.shape[1:3]
    factor = -(-max(height, width) // side)
    if factor == 1:
        return pixels
    edges = [(0, 0), (0, -height % factor), (0, -width % factor), *[(0, 0)] * (pixels.ndim - 3)]
    padded = np.pad(pixels, edges, mode="edge")
    squares = padded.reshape(
        len(padded),
        padded.shape[1] // factor,
        factor,
        padded.shape[2] // factor,
        factor,
        *padded.shape[3:],
    )
    means: NDArray[np.uint8] = np.rint(squares.mean(axis=(2, 4))).astype(np.uint8)
    return means


_ENCODERS: dict[str, Callable[[Any, int], EncodedRows]] = {
    "images": _encoded_images,
    "texts": _encoded_texts,
    "records": _encoded_records,
}
