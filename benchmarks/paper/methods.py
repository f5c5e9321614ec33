"""How each method is run, and its cost by both rules of counting.

This file relies on internals of the library: `recorded` observes the rounds of greedy, and
`_without_swaps` shortens the schedule of lazybandit.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import mean_distance, search_evaluations
from benchmarks.common.counting import paper_comparisons, recorded, spotgreedy_comparisons
from benchmarks.common.replacing import replaced
from benchmarks.paper.grid import Key
from benchmarks.paper.problems import LabelledProblem
from protobandit.methods import LazyBandit, LazyGreedy, ProtoBandit
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder
from protobandit.problem.posing import pose
from protobandit.search.methods import lazybandit

# The schedule of lazybandit depends on the memory; this makes it the same on every machine.
LIMITS = pb.Limits(memory=6_000_000_000)
_TOLERANCE = 1e-5
_BLOCK = 256  # source rows whose distances are computed at once


class DistanceMismatch(Exception):
    """The distances of the library differ from those computed in float64."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with all of its distances, the largest of them, and the picks of exact greedy."""

    problem: LabelledProblem
    distances: np.ndarray
    scale: float
    greedy: np.ndarray

    @classmethod
    def of(cls, problem: LabelledProblem, k: int) -> Instance:
        """Compute all distances, and the first ``k`` picks of greedy; fewer are a prefix."""
        picks = _select(problem, k, LazyGreedy(memoize=True), np.random.default_rng(0)).indices
        distances = _all_distances(problem)
        return cls(problem, distances, float(distances.max()), picks)

    def check(self, k: int) -> None:
        """Raise unless the distances agree with a computation in float64."""
        indices = self.greedy[:k]
        ours = float(self.distances[indices].min(axis=0).mean(dtype=np.float64))
        exact = mean_distance(self.problem.source[indices], self.problem.target)
        if abs(ours - exact) > _TOLERANCE * exact:
            raise DistanceMismatch(
                f"The mean distance is {ours} by the distances of the library and {exact} in "
                f"float64; they may differ by {_TOLERANCE:g} of it. Check the metric's precision."
            )


def _all_distances(problem: LabelledProblem) -> np.ndarray:
    """Return the distances as the library computes them, one row per source row."""
    oracle = Oracle(pose(problem.source, problem.target, k=1), n_jobs=1)
    n_source, n_target = len(problem.source), len(problem.target)
    distances = np.empty((n_source, n_target), dtype=oracle.dtype)
    targets = oracle.targets(slice(0, n_target))
    for start in range(0, n_source, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n_source))
        oracle.tabulate(rows, targets, distances[rows[0] : rows[-1] + 1])
    return distances


@dataclass(frozen=True, eq=False)
class Outcome:
    """The prototypes of a method, its pulls, and its cost by the paper's rule and by ours."""

    indices: np.ndarray
    pulls: int
    comparisons: int
    evaluations: int


def run_method(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    """Run the method of a cell; ``spent`` contains the evaluations of lazybandit-fast by k."""
    return METHODS[key.method](instance, key, spent)


def generator_of(key: Key, method: str | None = None) -> np.random.Generator:
    """Return the random generator of a cell, or that of another method in the same cell."""
    name = zlib.crc32((method or key.method).encode())
    settings = round(1e6 * key.epsilon), round(1e6 * key.nu_step)
    return np.random.default_rng([key.run, key.skew, key.k, name, *settings])


def _select(
    problem: LabelledProblem, k: int, method: Any, random: np.random.Generator
) -> pb.Selection:
    return pb.select(
        problem.source,
        problem.target,
        k=k,
        method=method,
        random_state=random,
        n_jobs=1,
        limits=LIMITS,
    )


def _by_rounds(
    problem: LabelledProblem, k: int, method: Any, random: np.random.Generator
) -> Outcome:
    """Run a method that consists of rounds of greedy, and count each round."""
    with recorded() as record:
        selection = _select(problem, k, method, random)
    return Outcome(
        selection.indices,
        pulls=sum(each.n_pulls for each in record.rounds),
        comparisons=paper_comparisons(record.rounds),
        evaluations=search_evaluations(selection),
    )


def _spotgreedy(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    n = spotgreedy_comparisons(*instance.distances.shape, key.k)
    return Outcome(instance.greedy[: key.k], n, n, n)


def _spot_m(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    pulls = spotgreedy_comparisons(*instance.distances.shape, key.k)
    n_pairs = instance.distances.size
    return Outcome(instance.greedy[: key.k], pulls, n_pairs, n_pairs)


def _random(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    """Draw rows; the rows of a smaller k are a prefix."""
    order = generator_of(key._replace(k=0)).permutation(len(instance.distances))
    return Outcome(order[: key.k], 0, 0, 0)


def _protobandit(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    """Run the paper's method with distances in units of the largest, as in the paper."""
    method = ProtoBandit(epsilon=key.epsilon, nu_step=key.nu_step, scale=instance.scale)
    return _by_rounds(instance.problem, key.k, method, generator_of(key))


Method = Callable[[Instance, Key, dict[int, int]], Outcome]


def _lazybandit(effort: str) -> Method:
    """Return lazybandit, with the cost of its build and of all later reads."""

    def run(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
        method = LazyBandit(effort=effort)
        selection = _select(instance.problem, key.k, method, generator_of(key))
        built = _built(instance, key, effort)
        build = _build_outcome(instance, key, effort, built)
        # A read after the build is a pull with all k prototypes selected.
        after = selection.lookups - built.lookups
        return Outcome(
            selection.indices,
            pulls=build.pulls + after,
            comparisons=build.comparisons + after * (key.k + 1),
            evaluations=search_evaluations(selection),
        )

    return run


def _lazybandit_build(effort: str) -> Method:
    """Return lazybandit without swaps."""

    def run(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
        return _build_outcome(instance, key, effort, _built(instance, key, effort))

    return run


def _built(instance: Instance, key: Key, effort: str) -> pb.Selection:
    """Run lazybandit with the generator of its own cell, and end it after its build."""
    with _without_swaps():
        random = generator_of(key, f"lazybandit-{effort}")
        return _select(instance.problem, key.k, LazyBandit(effort=effort), random)


def _build_outcome(instance: Instance, key: Key, effort: str, built: pb.Selection) -> Outcome:
    """Return the cost of a build, which is greedy on the rows of the first rung.

    The pulls of the build cannot be observed, so this counts those of lazy greedy on the same rows,
    which has the same picks.
    """
    problem = instance.problem
    n_rows = built.evaluations_by_phase["build"] // len(problem.source)
    order = RandomOrder(len(problem.target), generator_of(key, f"lazybandit-{effort}"))
    return replace(_greedy_on(instance, order.read(0, n_rows), key.k), indices=built.indices)


def _greedy_on(instance: Instance, rows: np.ndarray, k: int) -> Outcome:
    """Run exact lazy greedy on some target rows; evaluating an arm is one pull per row."""
    problem = instance.problem
    labels = problem.target_labels[rows]
    sample = replace(problem, target=problem.target[rows], target_labels=labels)
    return _by_rounds(sample, k, LazyGreedy(memoize=True), np.random.default_rng(0))


def _without_swaps() -> AbstractContextManager[None]:
    """End lazybandit after its build; the library has no option for this."""
    scheduled = lazybandit.race_schedule

    def first_only(*situation: Any) -> Any:
        schedule = scheduled(*situation)
        build = replace(schedule.rungs[0], passes=0, n_finalists=0, n_trials=0, n_reads=0)
        return replace(schedule, rungs=(build,))

    return replaced(lazybandit, race_schedule=first_only)


def _uniform(instance: Instance, key: Key, spent: dict[int, int]) -> Outcome:
    """Run exact greedy on a uniform sample with the same evaluations as lazybandit-fast."""
    n_source, n_target = instance.distances.shape
    n_rows = min(n_target, max(1, round(spent[key.k] / n_source)))
    rows = generator_of(key).choice(n_target, n_rows, replace=False)
    return _greedy_on(instance, rows, key.k)


METHODS: dict[str, Method] = {
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
