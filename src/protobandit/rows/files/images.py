"""Read images as rows of pixels with Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest
from protobandit.rows.files.row_cache import MOST_HELD, cached
from protobandit.rows.messages import reason_of

_DEFAULT_SIZE = (32, 32)  # height and width, if images have different sizes


def open_images(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open images as one row each: grey or RGB bytes of one size."""
    if asked.columns is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} holds images, which have no columns. Omit columns."
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
        rows = cached(paths, list(shape), shape=whole, dtype=np.uint8, fill=fill, asked=asked)
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
        other_columns=ColumnsInMemory(values, shown=("file",)),
    )


def _size(paths: Sequence[Path], asked: ReadRequest) -> tuple[int, int]:
    """Return the common height and width of all images, or a default if they differ."""
    sizes = set()
    for path in paths:
        with _image(path, asked) as image:
            sizes.add((image.height, image.width))
        if len(sizes) > 1:
            height, width = _DEFAULT_SIZE
            asked.tell(
                f"{asked.shown} holds images of different sizes: all are resized to "
                f"{height} x {width} pixels. Choose another size with image_size= (--image-size)."
            )
            return _DEFAULT_SIZE
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
    """Return an image with 8 bits per pixel; Pillow would clip 16-bit values at 255."""
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
