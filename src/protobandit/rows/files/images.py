"""A folder of images as rows of pixels, by Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.files.file_errors import first_line
from protobandit.rows.files.opened import Listed, Opened, ReadRequest
from protobandit.rows.files.sample_cache import MOST_HELD, spilled

SUFFIXES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".bmp",
    ".tif",
    ".tiff",
    ".webp",
    ".pgm",
    ".ppm",
    ".pbm",
)
_COMMON = (32, 32)  # height and width, where images differ


def open_images(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open images as one row each: grey or RGB bytes, resized to one size."""
    if asked.columns is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} holds images, which have no columns. Leave columns out."
        )
    size = asked.image_size or _size(paths, asked)
    shape = (*size, 3) if asked.is_colour else size
    n_pixels = int(np.prod(shape))

    def fill(out: np.ndarray[Any, Any]) -> None:
        for at, path in enumerate(paths):
            out[at] = _pixels(path, size, asked).ravel()

    rows: np.ndarray[Any, Any]
    if len(paths) * n_pixels <= MOST_HELD:
        rows = np.empty((len(paths), n_pixels), dtype=np.uint8)
        fill(rows)
    else:
        whole = (len(paths), n_pixels)
        rows = spilled(paths, list(shape), shape=whole, dtype=np.uint8, fill=fill, asked=asked)
    values = {
        "file": np.array([str(path) for path in paths], dtype=object),
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
        besides=Listed(values, shown=("file",)),
    )


def _size(paths: Sequence[Path], asked: ReadRequest) -> tuple[int, int]:
    """Return the height and width that all have in common, or else a small square."""
    sizes = set()
    for path in paths:
        with _image(path, asked) as image:
            sizes.add((image.height, image.width))
        if len(sizes) > 1:
            height, width = _COMMON
            asked.tell(
                f"{asked.shown} holds images of different sizes: all are resized to "
                f"{height} x {width} pixels. Choose another size by image_size= (--image-size)."
            )
            return _COMMON
    return sizes.pop()


def _pixels(path: Path, size: tuple[int, int], asked: ReadRequest) -> np.ndarray[Any, Any]:
    with _image(path, asked) as image:
        try:
            flat = _eight_bit(image).convert("RGB" if asked.is_colour else "L")
            if (flat.height, flat.width) != size:
                flat = flat.resize((size[1], size[0]), _pillow().Resampling.BILINEAR)
            return np.asarray(flat, dtype=np.uint8)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise InvalidInput(_undecodable(path, asked, error)) from None


def _eight_bit(image: Any) -> Any:
    """Return an image of 16 bits a pixel as one of 8; Pillow would cut its values off at 255."""
    if not image.mode.startswith("I"):
        return image
    values = np.clip(np.asarray(image, dtype=np.int64), 0, 65535) // 257
    return _pillow().fromarray(values.astype(np.uint8))


def _image(path: Path, asked: ReadRequest) -> Any:
    pillow = _pillow()
    try:
        return pillow.open(path)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise InvalidInput(_undecodable(path, asked, error)) from None


def _undecodable(path: Path, asked: ReadRequest, error: BaseException) -> str:
    return (
        f"{asked.name}: {path} cannot be read as an image: {first_line(error)}. Repair it, or move "
        f"it elsewhere."
    )


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotAvailable(
            "Images need Pillow. Install it by pip install 'protobandit[files]', or pass an array "
            "of pixels."
        ) from None
    return Image
