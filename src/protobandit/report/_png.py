"""A grey image as PNG bytes, with the standard library alone."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY_8_BIT = (8, 0, 0, 0, 0)  # depth, colour type, compression, filter, interlace


def png(grey: NDArray[np.uint8]) -> bytes:
    """Return an image of shape (height, width) as PNG; 0 is black, 255 is white.

    Reference: Portable Network Graphics (PNG) Specification, W3C.
    """
    height, width = grey.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each line opens with its filter: none
    lines[:, 1:] = grey
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">II5B", width, height, *_GREY_8_BIT)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check
