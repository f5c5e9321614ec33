"""The problems: rows in several sizes, written once as .npy files that all contestants read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from benchmarks.common.data import mnist, paper_problem

_COMPONENTS = 50


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Rows and the numbers of prototypes; rows of MNIST are pixels or principal components.

    A problem with a separate target is the paper's: prototypes of 54,210 images are chosen from
    5,000 others. The name is that of the data, a dash and the size.
    """

    name: str
    n: int
    n_target: int
    d: int
    ks: tuple[int, ...]
    label: str = "MNIST"
    metric: str = "euclidean"

    @property
    def data(self) -> str:
        return data_of(self.name)

    @property
    def has_target(self) -> bool:
        return self.n_target != self.n

    @property
    def title(self) -> str:
        rows = f"{self.n:,} rows" + (f", target {self.n_target:,}" if self.has_target else "")
        metric = "" if self.metric == "euclidean" else f", {self.metric}"
        return f"{self.label}, {rows}, d = {self.d}{metric}"


def data_of(name: str) -> str:
    """Return the data of a problem; two problems of the same data differ in size only."""
    return name.rpartition("-")[0]


def _pixels(n: int, *ks: int) -> Problem:
    return Problem(name=f"mnist-{n}", n=n, n_target=n, d=784, ks=ks)


def _components(n: int, *ks: int) -> Problem:
    return Problem(name=f"pca{_COMPONENTS}-{n}", n=n, n_target=n, d=_COMPONENTS, ks=ks)


def _target(*ks: int) -> Problem:
    return Problem(name="mnist-target", n=5_000, n_target=54_210, d=784, ks=ks)


FULL = (
    _pixels(2_000, 10, 100),
    _pixels(5_000, 10, 100),
    _components(20_000, 100),
    _pixels(20_000, 10, 100),
    _target(10, 100),
    _components(60_000, 100),
    _pixels(60_000, 10, 100),
)
HEADLINE = (_pixels(20_000, 10, 100),)
QUICK = (_pixels(2_000, 10), _pixels(5_000, 100), _target(10))
HEADLINES = (
    "mnist-20000",
    "mnist-5000",
)  # figure of docs/benchmarks.md: the first that has results


class Data:
    """The rows of problems, as files in a folder.

    Parameters
    ----------
    mnist_folder
        Folder with the files of MNIST (benchmarks/common/data.py).
    folder
        Folder to write to.
    generators
        Functions that make rows of other data, by the name of the data.
    """

    def __init__(
        self,
        mnist_folder: Path | None,
        folder: Path,
        generators: Mapping[str, Callable[[int, int], np.ndarray]] = MappingProxyType({}),
    ) -> None:
        self._mnist_folder = mnist_folder
        self._folder = folder
        self._generators = generators

    def paths(self, problem: Problem) -> tuple[Path, Path | None]:
        """Return the files of source and target; the target is None if it is the source."""
        source = self._folder / f"{problem.name}.npy"
        target = self._folder / f"{problem.name}-target.npy" if problem.has_target else None
        if not source.exists():
            rows, others = self._rows(problem)
            if target is not None:
                np.save(target, others)
            np.save(source, rows)
        return source, target

    def _rows(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        if problem.data in self._generators:
            source = target = self._generators[problem.data](problem.n, problem.d)
        elif problem.has_target:
            source, _, target, _ = paper_problem(self._mnist_folder)
        else:
            whole = self._train if problem.d == self._train.shape[1] else self._principal
            source = target = whole[: problem.n]
        return np.ascontiguousarray(source), np.ascontiguousarray(target)

    @cached_property
    def _train(self) -> np.ndarray:
        return mnist(self._mnist_folder)[0]

    @cached_property
    def _principal(self) -> np.ndarray:
        centred = self._train - self._train.mean(axis=0)
        _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
        largest = directions[:, : -_COMPONENTS - 1 : -1]
        return centred @ largest.astype(np.float32)
