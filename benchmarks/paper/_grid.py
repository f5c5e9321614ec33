"""Which cells there are: every setting of every method on every problem, run by run."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.paper import _problems
from benchmarks.paper._problems import Posed


class Key(NamedTuple):
    """What names a cell; ``epsilon`` and ``nu_step`` are 0 where a method has none."""

    run: int
    skew: int
    k: int
    method: str
    epsilon: float = 0.0
    nu_step: float = 0.0

    @property
    def setting(self) -> Setting:
        """Return the cell whatever the run."""
        return Setting(*self[1:])


class Setting(namedtuple("Setting", Key._fields[1:], defaults=Key._field_defaults.values())):
    """A cell whatever the run: what a `Key` names after its first field."""

    __slots__ = ()


@dataclass(frozen=True)
class Label:
    """How a method is drawn and written."""

    text: str
    colour: str
    marker: str
    line: str = "-"


# The order is that of the work: "uniform" is sized by what "lazybandit-fast" has spent.
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

    ``load(folder, skew, seed)`` poses the problem; where ``is_drawn`` is False it is always the
    same, and runs differ by the methods' own chance only.
    """

    name: str
    title: str
    load: Callable[[Path | None, int, int], Posed]
    skews: tuple[int, ...]
    ks: tuple[int, ...]
    epsilons: tuple[float, ...]
    nu_steps: tuple[float, ...] = (0.05, 0.09)
    is_drawn: bool = True

    def keys(self, run: int, skew: int) -> Iterator[Key]:
        """Yield the cells of one problem, in the order of the work."""
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
            load=_problems.mnist,
            skews=(10, 20, 50, 70, 100),
            ks=(100, 200, 500),
            epsilons=(0.2, 0.4),
        ),
        Grid(
            name="cifar10",
            title="CIFAR-10",
            load=_problems.cifar10,
            skews=(0,),
            ks=(100, 200, 500),
            epsilons=(0.2,),
            is_drawn=False,
        ),
        Grid(
            name="mnist-quick",
            title="a part of MNIST",
            load=_problems.small_mnist,
            skews=(10, 20),
            ks=(20, 50),
            epsilons=(0.2,),
        ),
        Grid(
            name="cifar10-quick",
            title="a part of CIFAR-10",
            load=_problems.small_cifar10,
            skews=(0,),
            ks=(20, 50),
            epsilons=(0.2,),
            is_drawn=False,
        ),
        Grid(
            name="digits",
            title="scikit-learn's digits",
            load=_problems.digits,
            skews=(10, 100),
            ks=(5, 10),
            epsilons=(0.2,),
        ),
    )
}
