"""A gallery of prototypes as SVG: images, each with its share of the target.

Rules
-----
1. Arrays in, SVG text out. Nothing is read from or written to files.
2. The SVG is self-contained: images are embedded, fonts are the reader's, nothing is fetched.
3. All text that a caller passes is escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.png import png

_MARGIN = 28
_HEADER = 74
_FOOTER = 22
_TILE = 88  # the side of an image
_GAP = 16
_CARD = (_TILE + _GAP, _TILE + 48)  # from one card to the next: across, down
_MOST_COLUMNS = 10
_ADVANCE = {"title": 12.5, "subtitle": 8.5, "note": 7.5}  # pixels per character of a wide font
_LEAST_PIXELS = 96  # small images are enlarged here, because some viewers blur when they enlarge
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = """
.pb-page { fill: #faf9f7 }
.pb-tile { fill: none; stroke: #1f2328; stroke-opacity: .14 }
.pb-track { fill: #e9e6e0 }
.pb-bar { fill: #2f6fde }
.pb-image { image-rendering: pixelated }
.pb-text { fill: #1f2328; font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
.pb-title { font-size: 20px; font-weight: 600 }
.pb-subtitle { font-size: 14px }
.pb-share { font-size: 13px; font-weight: 600; text-anchor: end }
.pb-rank, .pb-note { font-size: 12px }
.pb-subtitle, .pb-rank, .pb-note { fill: #656c76 }
@media (prefers-color-scheme: dark) {
  .pb-page { fill: #14171c }
  .pb-tile { stroke: #e8eaed; stroke-opacity: .18 }
  .pb-track { fill: #2a2f37 }
  .pb-bar { fill: #6ea2ff }
  .pb-image { filter: invert(.93) }
  .pb-text { fill: #e8eaed }
  .pb-subtitle, .pb-rank, .pb-note { fill: #9aa3af }
}
"""


def gallery(
    images: Any,
    mass: Any,
    *,
    title: str,
    subtitle: str = "",
    note: str = "",
    names: Sequence[str] | None = None,
) -> str:
    """Return an SVG that shows images in the order given, each with its mass as text and bar.

    ``images`` has shape (k, height, width): 0 is the background, the largest value of all is black.
    Colours are inverted if the reader prefers a dark theme. ``mass`` is the share of the target
    that each prototype represents. ``title`` and ``subtitle`` are above the images, ``note`` is
    below. ``names`` are shown when the pointer is on an image.

    >>> svg = gallery([[[0, 1], [1, 0]]], [1.0], title="One prototype")
    >>> svg.startswith("<svg")
    True
    """
    pixels, shares = _as_grey(images), _as_shares(mass)
    labels = [f"image {i + 1}" for i in range(len(pixels))] if names is None else list(names)
    if not len(pixels) == len(shares) == len(labels):
        raise InvalidInput(
            f"gallery got {len(pixels)} images, {len(shares)} masses and {len(labels)} names. "
            f"Pass one mass and one name per image."
        )
    n_columns = _columns(len(pixels))
    width = _width(n_columns, title=title, subtitle=subtitle, note=note)
    height = _HEADER + _MARGIN // 2 + -(-len(pixels) // n_columns) * _CARD[1] + _FOOTER
    longest = float(shares.max()) or 1.0
    cards = (
        _card(i, pixels[i], float(shares[i]), labels[i], n_columns, longest)
        for i in range(len(pixels))
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-labelledby="pb-title pb-desc">',
            f'<title id="pb-title">{_safe(title)}</title>',
            f'<desc id="pb-desc">{_safe(_description(shares, labels))}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="pb-page" width="{width}" height="{height}" rx="12"/>',
            _text("title", _MARGIN, 42, title),
            _text("subtitle", _MARGIN, 68, subtitle),
            *cards,
            _text("note", _MARGIN, height - 18, note),
            "</svg>\n",
        )
    )


def _as_grey(images: Any) -> NDArray[np.uint8]:
    values = _as_numbers(images, "images")
    if values.ndim != 3 or 0 in values.shape:
        raise InvalidInput(
            f"images have shape {values.shape}. Pass (number of images, height, width), all at "
            f"least 1."
        )
    scaled = values / (values.max() or 1.0)
    # A blank frame: a drawing that touches the edge is hard to read.
    framed = np.pad(scaled, ((0, 0), (1, 1), (1, 1)))
    grey: NDArray[np.uint8] = np.rint(255 * (1 - framed)).astype(np.uint8)
    return grey


def _as_shares(mass: Any) -> Doubles:
    shares = _as_numbers(mass, "mass")
    if shares.ndim != 1 or (shares > 1).any():
        raise InvalidInput(
            f"mass has shape {shares.shape} and a largest value of {shares.max(initial=0):.6g}. "
            f"Pass one share per image, between 0 and 1."
        )
    return shares


def _as_numbers(values: Any, name: str) -> Doubles:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InvalidInput(
            f"{name} contain a negative or non-finite value. Pass finite numbers >= 0."
        )
    return numbers


def _columns(n: int) -> int:
    """Return the number of columns that makes rows of nearly equal length."""
    n_rows = -(-n // _MOST_COLUMNS)
    return -(-n // n_rows)


def _width(n_columns: int, **lines: str) -> int:
    """Return the width that the cards need, or the lines of text up to the width of full rows."""
    widest, cards = (2 * _MARGIN + n * _CARD[0] - _GAP for n in (_MOST_COLUMNS, n_columns))
    text = 2 * _MARGIN + max(len(line) * _ADVANCE[kind] for kind, line in lines.items())
    return max(cards, min(widest, int(text)))


def _card(
    i: int, pixels: NDArray[np.uint8], share: float, name: str, n_columns: int, longest: float
) -> str:
    x = _MARGIN + i % n_columns * _CARD[0]
    y = _HEADER + _MARGIN // 2 + i // n_columns * _CARD[1]
    bar = round(_TILE * share / longest, 2)
    return "\n".join(
        (
            f'<g transform="translate({x} {y})">',
            f"<title>{_safe(f'{i + 1}. {name}: {_percent(share)}')}</title>",
            f'<image class="pb-image" width="{_TILE}" height="{_TILE}" href="{_data(pixels)}"/>',
            f'<rect class="pb-tile" x="-.5" y="-.5" width="{_TILE + 1}" height="{_TILE + 1}"/>',
            _text("rank", 0, _TILE + 17, str(i + 1)),
            _text("share", _TILE, _TILE + 17, _percent(share)),
            f'<rect class="pb-track" y="{_TILE + 23}" width="{_TILE}" height="5" rx="2.5"/>',
            f'<rect class="pb-bar" y="{_TILE + 23}" width="{bar}" height="5" rx="2.5"/>',
            "</g>",
        )
    )


def _data(pixels: NDArray[np.uint8]) -> str:
    times = -(-_LEAST_PIXELS // max(pixels.shape))
    enlarged = pixels.repeat(times, axis=0).repeat(times, axis=1)
    return "data:image/png;base64," + b64encode(png(enlarged)).decode("ascii")


def _text(kind: str, x: int, y: int, content: str) -> str:
    return f'<text class="pb-text pb-{kind}" x="{x}" y="{y}">{_safe(content)}</text>'


def _description(shares: Doubles, names: Sequence[str]) -> str:
    return "; ".join(
        f"{name} ({_percent(share)})" for name, share in zip(names, shares, strict=True)
    )


def _percent(share: float) -> str:
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def _safe(text: str) -> str:
    """Escape markup, and replace characters that XML does not allow."""
    return escape(_NOT_XML.sub("\ufffd", text))
