"""The data of the paper's experiments, read from the standard files.

``--data DIR`` holds MNIST's four idx files (gzipped or not), in DIR or in DIR/mnist, and
cifar10-gray.npz, in DIR or in DIR/cifar10. Without it, scikit-learn's ``fetch_openml`` downloads
MNIST, and CIFAR-10 is left out.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np


class MissingData(SystemExit):
    """A file that is not where it should be; a script ends with this sentence, or goes on."""


def mnist(folder: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return train rows, train labels, test rows, test labels; rows are float32 in [0, 1]."""
    if folder is None:
        return _openml()
    parts = [
        _idx(folder, name)
        for name in (
            "train-images-idx3-ubyte",
            "train-labels-idx1-ubyte",
            "t10k-images-idx3-ubyte",
            "t10k-labels-idx1-ubyte",
        )
    ]
    images = [p.reshape(len(p), -1).astype(np.float32) / 255 for p in parts[::2]]
    return images[0], parts[1].astype(int), images[1], parts[3].astype(int)


def _openml() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    rows, labels = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    rows = rows.astype(np.float32) / 255
    labels = labels.astype(int)
    return rows[:60000], labels[:60000], rows[60000:], labels[60000:]


def _idx(folder: Path, name: str) -> np.ndarray:
    for path in (
        folder / name,
        folder / f"{name}.gz",
        folder / "mnist" / name,
        folder / "mnist" / f"{name}.gz",
    ):
        if path.exists():
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            n_dimensions = raw[3]
            shape = np.frombuffer(raw, ">i4", n_dimensions, offset=4)
            return np.frombuffer(raw, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)
    raise MissingData(f"{name}[.gz] is neither in {folder} nor in {folder / 'mnist'}.")


def paper_problem(
    folder: Path | None, *, skew: int = 10, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return source rows and labels, target rows and labels of the paper's MNIST experiment.

    The source is 5,000 random test images. The target holds all 5,421 fives of the train set and
    random images of the other digits, 542,100 / skew rows in all; skew 10 is balanced.
    """
    train, train_labels, test, test_labels = mnist(folder)
    random = np.random.default_rng(seed)
    chosen = random.choice(len(test), 5000, replace=False)
    fives = np.flatnonzero(train_labels == 5)
    size = round(100 * len(fives) / skew)
    each, extra = divmod(size - len(fives), 9)
    others = [
        random.choice(np.flatnonzero(train_labels == digit), each + (i < extra), replace=False)
        for i, digit in enumerate(d for d in range(10) if d != 5)
    ]
    rows = random.permutation(np.concatenate([fives, *others]))
    return test[chosen], test_labels[chosen], train[rows], train_labels[rows]


def cifar(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return train rows and test rows of CIFAR-10 in grey, float32 in [0, 1].

    They come from cifar10-gray.npz: train_images and test_images, uint8 of 32 x 32.
    """
    places = [] if folder is None else [folder, folder / "cifar10"]
    for path in (place / "cifar10-gray.npz" for place in places):
        if path.exists():
            with np.load(path) as file:
                images = file["train_images"], file["test_images"]
            train, test = (i.reshape(len(i), -1).astype(np.float32) / 255 for i in images)
            return train, test
    raise MissingData(f"cifar10-gray.npz is in none of {[str(place) for place in places]}.")


def cifar_problem(folder: Path | None, *, variance: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return source (10,000 test) and target (50,000 train) rows, as principal components."""
    from sklearn.decomposition import PCA

    train, test = cifar(folder)
    components = PCA(variance, svd_solver="full").fit(train)
    return components.transform(test), components.transform(train)
