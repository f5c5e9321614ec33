import struct
import zlib

import numpy as np
import pytest

from protobandit.result.report.png import png


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the chunks of a PNG after checking its signature and every checksum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (check,) = struct.unpack_from(">I", data, at + 8 + length)
        assert check == zlib.crc32(kind + content)
        found.append((kind, content))
        at += 12 + length
    return found


def decode(data: bytes) -> np.ndarray:
    (_, header), (_, body), _ = chunks(data)
    width, height = struct.unpack_from(">II", header)
    lines = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(height, width + 1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (28, 28)])
def test_pixels_are_kept(shape):
    grey = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(decode(png(grey)), grey)


def test_the_header_is_that_of_an_8_bit_grey_image():
    parts = chunks(png(np.zeros((2, 3), dtype=np.uint8)))
    assert [kind for kind, _ in parts] == [b"IHDR", b"IDAT", b"IEND"]
    assert parts[0][1] == struct.pack(">II5B", 3, 2, 8, 0, 0, 0, 0)
