"""Write an image as PNG bytes, with the standard library only."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NONE, _UP = 0, 2  # filters: a line unchanged, or minus the line above it
# By the number of dimensions, grey or colour: the colour type and the filter that compresses well.
_KINDS = {2: (0, _NONE), 3: (2, _UP)}

HEAD = len(_SIGNATURE) + 25  # the first bytes, equal for all images of one shape


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image as PNG: (height, width) in grey, 0 is black, or (height, width, 3) in colour.

    Reference: Portable Network Graphics (PNG) Specification, W3C.
    """
    height, width = pixels.shape[:2]
    colour, kind = _KINDS[pixels.ndim]
    flat = pixels.reshape(height, -1)
    lines = np.empty((height, flat.shape[1] + 1), dtype=np.uint8)
    lines[:, 0] = kind  # each line starts with its filter
    lines[:, 1:] = flat
    if kind == _UP:
        lines[1:, 1:] -= flat[:-1]
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">II5B", width, height, 8, colour, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check
