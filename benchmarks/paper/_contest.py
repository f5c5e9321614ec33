"""How each method is run, and what it is charged by either rule."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks._referee import mean_distance
from benchmarks.paper._counting import (
    paper_comparisons,
    recorded,
    spotgreedy_comparisons,
)
from benchmarks.paper._grid import Key
from benchmarks.paper._problems import Posed
from protobandit.methods import LazyBandit, LazyGreedy, ProtoBandit
from protobandit.oracle.target_orders import RandomOrder
from protobandit.search.methods import lazybandit

# The same on every machine: how the race is laid out depends on the memory it may use.
LIMITS = pb.Limits(memory=6_000_000_000)
_AGREEMENT = 1e-5


class Disagreement(Exception):
    """The kept distances and the referee do not say the same."""


@dataclass(frozen=True, eq=False)
class Arena:
    """A problem with all of its distances, the largest of them, and exact greedy's picks."""

    posed: Posed
    distances: np.ndarray
    scale: float
    greedy: np.ndarray

    @classmethod
    def of(cls, posed: Posed, k: int) -> Arena:
        """Compute every distance, and greedy's first ``k`` picks: fewer are a prefix of them."""
        with recorded() as record:
            selection = _selected(posed, k, LazyGreedy(memoize=True), np.random.default_rng(0))
        distances = record.oracle.kept
        assert distances is not None
        return cls(posed, distances, float(distances.max()), selection.indices)

    def check(self, k: int) -> None:
        """Refuse distances that a referee in float64 does not confirm."""
        indices = self.greedy[:k]
        ours = float(self.distances[indices].min(axis=0).mean(dtype=np.float64))
        theirs = mean_distance(self.posed.source[indices], self.posed.target)
        if abs(ours - theirs) > _AGREEMENT * theirs:
            raise Disagreement(f"mean distance {ours} by what was kept, {theirs} by the referee.")


@dataclass(frozen=True, eq=False)
class Found:
    """What a method chose, and what that took: pulls, and the cost by the paper's rule and ours."""

    indices: np.ndarray
    pulls: int
    comparisons: int
    evaluations: int


def find(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    """Run the method of a cell; ``spent`` holds, by k, the evaluations of lazybandit-fast."""
    return CONTESTANTS[key.method](arena, key, spent)


def seed_of(key: Key, method: str | None = None) -> np.random.Generator:
    """Return the chance of a cell; ``method`` lends that of another method."""
    name = zlib.crc32((method or key.method).encode())
    settings = round(1e6 * key.epsilon), round(1e6 * key.nu_step)
    return np.random.default_rng([key.run, key.skew, key.k, name, *settings])


def _selected(posed: Posed, k: int, method: Any, random: np.random.Generator) -> pb.Selection:
    return pb.select(
        posed.source,
        posed.target,
        k=k,
        method=method,
        random_state=random,
        n_jobs=1,
        limits=LIMITS,
    )


def _played(posed: Posed, k: int, method: Any, random: np.random.Generator) -> Found:
    """Run a method that plays rounds, and charge for each."""
    with recorded() as record:
        selection = _selected(posed, k, method, random)
    return Found(
        selection.indices,
        pulls=sum(each.n_pulls for each in record.rounds),
        comparisons=paper_comparisons(record.rounds),
        evaluations=_evaluations(selection),
    )


def _evaluations(selection: pb.Selection) -> int:
    return sum(selection.evaluations_by_phase[phase] for phase in ("build", "swap"))


def _spotgreedy(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    n = spotgreedy_comparisons(*arena.distances.shape, key.k)
    return Found(arena.greedy[: key.k], n, n, n)


def _spot_m(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    pulls = spotgreedy_comparisons(*arena.distances.shape, key.k)
    return Found(arena.greedy[: key.k], pulls, arena.distances.size, arena.distances.size)


def _random(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    """Draw rows; a smaller k gets the first of the same rows."""
    order = seed_of(key._replace(k=0)).permutation(len(arena.distances))
    return Found(order[: key.k], 0, 0, 0)


def _protobandit(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    """Run the paper's method on distances in units of the largest, as the paper has them."""
    method = ProtoBandit(epsilon=key.epsilon, nu_step=key.nu_step, scale=arena.scale)
    return _played(arena.posed, key.k, method, seed_of(key))


def _lazybandit(effort: str) -> Callable[[Arena, Key, dict[int, int]], Found]:
    """Return lazybandit, charged for its build and for whatever it reads afterwards."""

    def run(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
        selection = _selected(arena.posed, key.k, LazyBandit(effort=effort), seed_of(key))
        built = _built(arena, key, effort)
        build = _charged_build(arena, key, effort, built)
        # What is read after the build is a pull with all k prototypes in place.
        after = selection.lookups - built.lookups
        return Found(
            selection.indices,
            pulls=build.pulls + after,
            comparisons=build.comparisons + after * (key.k + 1),
            evaluations=_evaluations(selection),
        )

    return run


def _lazybandit_build(effort: str) -> Callable[[Arena, Key, dict[int, int]], Found]:
    """Return lazybandit as far as its first swap."""

    def run(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
        return _charged_build(arena, key, effort, _built(arena, key, effort))

    return run


def _built(arena: Arena, key: Key, effort: str) -> pb.Selection:
    """Run lazybandit with the seed of its own cell, but end it after its build."""
    with _without_swaps():
        random = seed_of(key, f"lazybandit-{effort}")
        return _selected(arena.posed, key.k, LazyBandit(effort=effort), random)


def _charged_build(arena: Arena, key: Key, effort: str, built: pb.Selection) -> Found:
    """Charge for a build: greedy on the rows of the first rung.

    How often it looks at which arm is not seen from outside, so the pulls are those of lazy greedy,
    which picks the same, played on the same rows.
    """
    posed = arena.posed
    n_rows = built.evaluations_by_phase["build"] // len(posed.source)
    order = RandomOrder(len(posed.target), seed_of(key, f"lazybandit-{effort}"))
    return replace(_greedy_on(arena, order.read(0, n_rows), key.k), indices=built.indices)


def _greedy_on(arena: Arena, rows: np.ndarray, k: int) -> Found:
    """Run exact greedy, lazily, on some of the target rows; a look at an arm is a pull at each."""
    posed = arena.posed
    sample = replace(posed, target=posed.target[rows], target_labels=posed.target_labels[rows])
    return _played(sample, k, LazyGreedy(memoize=True), np.random.default_rng(0))


@contextmanager
def _without_swaps() -> Iterator[None]:
    """End the race after its build; no option of the library does."""
    planned = lazybandit.planned_rungs

    def first_only(*situation: Any) -> list[Any]:
        return [replace(planned(*situation)[0], passes=0, n_finalists=0, n_trials=0)]

    lazybandit.planned_rungs = first_only
    try:
        yield
    finally:
        lazybandit.planned_rungs = planned


def _uniform(arena: Arena, key: Key, spent: dict[int, int]) -> Found:
    """Run exact greedy on one uniform sample, of as many rows as lazybandit-fast could pay for."""
    n_source, n_target = arena.distances.shape
    n_rows = min(n_target, max(1, round(spent[key.k] / n_source)))
    return _greedy_on(arena, seed_of(key).choice(n_target, n_rows, replace=False), key.k)


CONTESTANTS: dict[str, Callable[[Arena, Key, dict[int, int]], Found]] = {
    "spotgreedy": _spotgreedy,
    "spot_m": _spot_m,
    "random": _random,
    "lazybandit-fast": _lazybandit("fast"),
    "lazybandit-balanced": _lazybandit("balanced"),
    "lazybandit-fast-build": _lazybandit_build("fast"),
    "lazybandit-balanced-build": _lazybandit_build("balanced"),
    "uniform": _uniform,
    "protobandit": _protobandit,
}
