"""The cells: every setting of every method on every problem, run by run."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.paper import problems
from benchmarks.paper.problems import LabelledProblem


class Key(NamedTuple):
    """What identifies a cell; ``epsilon`` and ``nu_step`` are 0 for methods without them."""

    run: int
    skew: int
    k: int
    method: str
    epsilon: float = 0.0
    nu_step: float = 0.0

    @property
    def setting(self) -> Setting:
        """Return the key without its run."""
        return Setting(*self[1:])


class Setting(namedtuple("Setting", Key._fields[1:], defaults=Key._field_defaults.values())):
    """The fields of a `Key` without its run."""

    __slots__ = ()


@dataclass(frozen=True)
class Label:
    """Name and style of a method in figures and tables."""

    text: str
    colour: str
    marker: str
    line: str = "-"


# In this order cells are computed: the sample of "uniform" depends on "lazybandit-fast".
METHODS: dict[str, Label] = {
    "spotgreedy": Label("SPOTgreedy", "#222222", "s"),
    "spot_m": Label("SPOT_M", "#8c8c8c", "s", "--"),
    "random": Label("random rows", "#b08968", "x", ":"),
    "lazybandit-fast": Label("lazybandit fast", "#e377c2", "o"),
    "lazybandit-balanced": Label("lazybandit balanced", "#b5179e", "o"),
    "lazybandit-fast-build": Label("lazybandit fast, no swaps", "#e377c2", "v", "--"),
    "lazybandit-balanced-build": Label("lazybandit balanced, no swaps", "#b5179e", "v", "--"),
    "uniform": Label("uniform sample, greedy", "#2a9d8f", "D", "-."),
    "protobandit": Label("ProtoBandit", "#1f5fbf", "^"),
}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A data set and the settings to try on it.

    ``load(folder, skew, seed)`` returns the problem. If ``is_drawn`` is False, it is the same in
    every run, and runs differ only by the random numbers of the methods.
    """

    name: str
    title: str
    load: Callable[[Path | None, int, int], LabelledProblem]
    skews: tuple[int, ...]
    ks: tuple[int, ...]
    epsilons: tuple[float, ...]
    nu_steps: tuple[float, ...] = (0.05, 0.09)
    is_drawn: bool = True

    def keys(self, run: int, skew: int) -> Iterator[Key]:
        """Yield the cells of one problem in the order in which they are computed."""
        for method in METHODS:
            for k in self.ks:
                if method != "protobandit":
                    yield Key(run, skew, k, method)
                    continue
                for epsilon in self.epsilons:
                    for nu_step in self.nu_steps:
                        yield Key(run, skew, k, method, epsilon, nu_step)

    def all_keys(self, runs: int) -> Iterator[Key]:
        """Yield the cells of all problems, run by run."""
        for run in range(runs):
            for skew in self.skews:
                yield from self.keys(run, skew)


GRIDS: dict[str, Grid] = {
    grid.name: grid
    for grid in (
        Grid(
            name="mnist",
            title="MNIST",
            load=problems.mnist,
            skews=(10, 20, 50, 70, 100),
            ks=(100, 200, 500),
            epsilons=(0.2, 0.4),
        ),
        Grid(
            name="cifar10",
            title="CIFAR-10",
            load=problems.cifar10,
            skews=(0,),
            ks=(100, 200, 500),
            epsilons=(0.2,),
            is_drawn=False,
        ),
        Grid(
            name="mnist-quick",
            title="a part of MNIST",
            load=problems.small_mnist,
            skews=(10, 20),
            ks=(20, 50),
            epsilons=(0.2,),
        ),
        Grid(
            name="cifar10-quick",
            title="a part of CIFAR-10",
            load=problems.small_cifar10,
            skews=(0,),
            ks=(20, 50),
            epsilons=(0.2,),
            is_drawn=False,
        ),
        Grid(
            name="digits",
            title="scikit-learn's digits",
            load=problems.digits,
            skews=(10, 100),
            ks=(5, 10),
            epsilons=(0.2,),
        ),
    )
}
