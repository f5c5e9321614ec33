"""CIFAR-10 in grey, from the published files or from images that are already grey.

Colours are converted by the luma of ITU-R 601, 0.299 R + 0.587 G + 0.114 B, rounded to a byte.
"""

from __future__ import annotations

import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = "test_batch"
_LUMA = (299, 587, 114)  # in thousandths: integers are rounded the same way on every machine


class Images(NamedTuple):
    """Train and test images (uint8, one row or one square per image) and their classes."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def from_grey(path: Path) -> Images:
    """Read an .npz of train_images, train_labels, test_images and test_labels."""
    with np.load(path) as file:
        return Images(*(file[name] for name in Images._fields))


def from_folder(path: Path) -> Images:
    """Read the unpacked distribution: data_batch_1 to data_batch_5 and test_batch."""
    found = {}
    for name in (*_TRAIN, _TEST):
        if (path / name).exists():
            with (path / name).open("rb") as file:
                found[name] = grey_batch(file)
    return _joined(found, path)


def from_archive(path: Path) -> Images:
    """Read the same files from the published archive."""
    found = {}
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            name = Path(member.name).name
            file = archive.extractfile(member) if name in (*_TRAIN, _TEST) else None
            if file is not None:
                found[name] = grey_batch(file)
    return _joined(found, path)


READERS: dict[str, Callable[[Path], Images]] = {
    "cifar10-gray.npz": from_grey,
    "cifar-10-batches-py": from_folder,
    "cifar-10-python.tar.gz": from_archive,
}


def _joined(found: dict[str, tuple[np.ndarray, np.ndarray]], path: Path) -> Images:
    missing = [name for name in (*_TRAIN, _TEST) if name not in found]
    if missing:
        raise FileNotFoundError(f"{path} does not contain {', '.join(missing)}. Download it again.")
    images, labels = zip(*(found[name] for name in _TRAIN), strict=True)
    return Images(np.concatenate(images), np.concatenate(labels), *found[_TEST])


def grey_batch(file: IO[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return the grey images of a pickled batch, one per row, and their labels."""
    batch = _Unpickler(file, encoding="bytes").load()
    return luma(batch[b"data"]), np.array(batch[b"labels"])


def luma(rows: np.ndarray) -> np.ndarray:
    """Return grey rows for rows of all red values, then all green, then all blue."""
    planes = rows.reshape(len(rows), 3, -1)
    thousandths = sum(share * planes[:, i].astype(np.int32) for i, share in enumerate(_LUMA))
    return ((thousandths + 500) // 1000).astype(np.uint8)


def _dtype(code: Any, is_aligned: int = 0, is_copied: int = 1) -> np.dtype:
    name = code.decode() if isinstance(code, bytes) else code
    return np.dtype(name, align=bool(is_aligned), copy=bool(is_copied))


_REBUILD = np.empty(0).__reduce__()[0]  # its module depends on the version of NumPy
_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): _REBUILD,
    ("numpy._core.multiarray", "_reconstruct"): _REBUILD,
}


class _Unpickler(pickle.Unpickler):
    """Creates only arrays: a pickle could otherwise run any code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(
                f"A batch of CIFAR-10 contains only arrays, got {module}.{name}. Download it again."
            )
        return _KNOWN[module, name]
