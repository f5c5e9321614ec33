"""The data of the paper's experiments, read from the files in which they are published.

``--data DIR`` contains the four idx files of MNIST (gzipped or not), in DIR or DIR/mnist, and
CIFAR-10, in DIR or DIR/cifar10: cifar-10-python.tar.gz, the folder cifar-10-batches-py that it
unpacks to, or cifar10-gray.npz with grey images (train_images, train_labels, test_images and
test_labels, uint8). Without ``--data``, scikit-learn's ``fetch_openml`` downloads MNIST, and
CIFAR-10 is not available.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from benchmarks.common import cifar as cifar_files


class MissingData(SystemExit):
    """A data file was not found. A script ends with this message, or skips the data set."""


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
    return _as_rows(*parts)


def _as_rows(
    train: np.ndarray, train_labels: np.ndarray, test: np.ndarray, test_labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    images = [i.reshape(len(i), -1).astype(np.float32) / 255 for i in (train, test)]
    return images[0], train_labels.astype(int), images[1], test_labels.astype(int)


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
    raise MissingData(
        f"{name}[.gz] is neither in {folder} nor in {folder / 'mnist'}. Put the four idx files of "
        f"MNIST there, or omit --data to download them with scikit-learn."
    )


def paper_problem(
    folder: Path | None, *, skew: int = 10, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return source rows and labels, target rows and labels of the paper's MNIST experiment.

    The source consists of 5,000 random test images. The target consists of all 5,421 fives of the
    training set and of random images of the other digits, 542,100 / skew rows in total; it is
    balanced for skew 10.
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


def cifar(folder: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return train rows, train labels, test rows, test labels of CIFAR-10 in grey.

    Rows are float32 in [0, 1]. Colours are converted by the luma of ITU-R 601 (cifar.py).
    """
    folders = [] if folder is None else [folder, folder / "cifar10"]
    for place in folders:
        for name, read in cifar_files.READERS.items():
            if (place / name).exists():
                return _as_rows(*read(place / name))
    where = f"neither in {folder} nor in {folders[1]}" if folders else "read only from --data DIR"
    raise MissingData(
        f"CIFAR-10 is {where}. Put one of {', '.join(cifar_files.READERS)} there; the archive is "
        f"the Python version on Alex Krizhevsky's page of the data set."
    )


def labelled_cifar_problem(
    folder: Path | None, *, variance: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return source rows and labels, target rows and labels of the paper's CIFAR-10 experiment.

    The source consists of the 10,000 test images, the target of the 50,000 training images. Rows
    are the principal components of the target that explain this share of its variance.
    """
    from sklearn.decomposition import PCA

    train, train_labels, test, test_labels = cifar(folder)
    components = PCA(variance, svd_solver="full").fit(train)
    return components.transform(test), test_labels, components.transform(train), train_labels


def cifar_problem(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return source and target rows of `labelled_cifar_problem`."""
    source, _, target, _ = labelled_cifar_problem(folder)
    return source, target
