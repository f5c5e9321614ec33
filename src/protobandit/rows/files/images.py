"""Read images as rows of pixels with Pillow.

All headers are read before any pixel is decoded. So an image that is too large, of another format
or with another type of pixels is refused at once. Pillow tries only the formats listed here: others
may start programs, as PostScript does.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest
from protobandit.rows.files.row_cache import MOST_HELD, cached
from protobandit.rows.messages import reason_of

_DEFAULT_SIZE = (32, 32)  # height and width, if images have different sizes
# Pillow's names of the formats in `protobandit.rows.files.formats`; PPM includes PGM and PBM.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
_BYTES = np.dtype(np.uint8)
# Modes of Pillow in which pixels keep values beyond 8 bits.
_WIDE = {"I": np.dtype(np.int32), "F": np.dtype(np.float32)}


@dataclass(frozen=True)
class _Headers:
    """What the headers of all images say; ``size`` is None if their sizes differ."""

    size: tuple[int, int] | None
    dtype: np.dtype[Any]
    n_reduced: int  # images with 16 bits per colour, of which Pillow reads 8


def open_images(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open images as one row each, of one size.

    Pixels are bytes, grey or RGB, unless they are grey with 16 or 32 bits or floats: these keep
    their values.
    """
    if asked.columns is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} holds images, which have no columns. Omit columns."
        )
    headers = _headers(paths, asked)
    size = asked.image_size or headers.size or _default_size(asked)
    shape = (*size, 3) if asked.is_colour else size
    n_pixels = int(np.prod(shape))

    def fill(out: np.ndarray[Any, Any]) -> None:
        for at, path in enumerate(paths):
            out[at] = _pixels(path, size, out.dtype, asked).ravel()

    rows: np.ndarray[Any, Any]
    whole = (len(paths), n_pixels)
    if len(paths) * n_pixels * headers.dtype.itemsize <= MOST_HELD:
        rows = np.empty(whole, dtype=headers.dtype)
        fill(rows)
    else:
        key = list(shape)
        rows = cached(paths, key, shape=whole, dtype=headers.dtype, fill=fill, asked=asked)
    values = {
        "file": np.array([asked.shown_file(path) for path in paths], dtype=object),
        "folder": np.array([path.parent.name for path in paths], dtype=object),
    }
    return Opened(
        path=asked.shown,
        format="images",
        rows=rows,
        kind="images",
        features=tuple(map(str, range(n_pixels))),
        image_shape=shape,
        n_total=len(paths),
        names=tuple(values),
        remark=_remark(headers, asked),
        other_columns=ColumnsInMemory(values, shown=("file",)),
    )


def _headers(paths: Sequence[Path], asked: ReadRequest) -> _Headers:
    sizes: set[tuple[int, int]] = set()
    first_paths: dict[np.dtype[Any], Path] = {}
    n_reduced = 0
    for path in paths:
        with _image(path, asked) as image:
            sizes.add((image.height, image.width))
            dtype = _WIDE.get(image.mode[:1], _BYTES)
            n_reduced += dtype == _BYTES and _has_sixteen_bits(image)
        if first_paths.setdefault(dtype, path) is path and len(first_paths) > 1:
            one, other = [f"{each} ({kind})" for kind, each in first_paths.items()]
            raise InvalidInput(
                f"{asked.name}: {one} and {other} have pixels of different types, whose values "
                f"cannot be compared. Convert all images to one type."
            )
    return _Headers(sizes.pop() if len(sizes) == 1 else None, dtype, n_reduced)


def _has_sixteen_bits(image: Any) -> bool:
    """Return whether the pixels in the file have 16 bits per colour."""
    return any(";16" in str(tile[3]) for tile in image.tile)


def _remark(headers: _Headers, asked: ReadRequest) -> str:
    if not headers.n_reduced:
        return ""
    return (
        f"{headers.n_reduced:,} image(s) of {asked.shown} have 16 bits per colour, of which the "
        f"upper 8 were read."
    )


def _default_size(asked: ReadRequest) -> tuple[int, int]:
    height, width = _DEFAULT_SIZE
    asked.tell(
        f"{asked.shown} holds images of different sizes: all are resized to "
        f"{height} x {width} pixels. Choose another size with image_size= (--image-size)."
    )
    return _DEFAULT_SIZE


def _pixels(
    path: Path, size: tuple[int, int], dtype: np.dtype[Any], asked: ReadRequest
) -> np.ndarray[Any, Any]:
    wide = next((mode for mode, each in _WIDE.items() if each == dtype), None)
    with _image(path, asked) as image, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pillow, about palettes and metadata
        try:
            flat = image.convert(wide or ("RGB" if asked.is_colour else "L"))
            if (flat.height, flat.width) != size:
                flat = flat.resize((size[1], size[0]), _pillow().Resampling.BILINEAR)
            values = np.asarray(flat, dtype=dtype)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise InvalidInput(_undecodable(path, asked, error)) from None
    return values[..., None].repeat(3, axis=2) if wide and asked.is_colour else values


def _image(path: Path, asked: ReadRequest) -> Any:
    """Open an image without decoding it; raise if it has too many pixels."""
    pillow = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of pixels is checked below
            image = pillow.open(path, formats=_FORMATS)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise InvalidInput(_undecodable(path, asked, error)) from None
    most, n_pixels = pillow.MAX_IMAGE_PIXELS, image.width * image.height
    if most is not None and n_pixels > most:
        image.close()
        raise InvalidInput(
            f"{asked.name}: {path} has {n_pixels:,} pixels; at most {most:,} are decoded. Reduce "
            f"it, or set PIL.Image.MAX_IMAGE_PIXELS."
        )
    return image


def _undecodable(path: Path, asked: ReadRequest, error: BaseException) -> str:
    return (
        f"{asked.name}: {path} cannot be read as an image: {reason_of(error)}. Repair it, or move "
        f"it elsewhere."
    )


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotAvailable(
            "Images need Pillow, which is not installed. Run pip install 'protobandit[files]', or "
            "pass an array of pixels."
        ) from None
    return Image
