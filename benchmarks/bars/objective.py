"""How near to exact greedy, at how many evaluations: MNIST as in the paper, and CIFAR-10.

The loss of f is (f_greedy - f) / f_greedy with f = 1 - cost / C, where C is the largest distance.
Exact greedy runs beside it; the costs of all are computed anew over all of the target in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import protobandit as pb
from benchmarks._data import cifar_problem, paper_problem
from benchmarks._referee import mean_distance
from benchmarks.bars._bar import Bar, Options, by_seed, lazybandit, search_evaluations
from benchmarks.mnist import largest

_FAST = {100: (5.0e6, 0.0030), 200: (8.0e6, 0.0050), 500: (1.1e7, 0.0075)}
_BETTER = {100: "balanced", 200: 4.5}
_BETTER_EVALUATIONS = 3e7
_CIFAR_K, _CIFAR_FEWER, _CIFAR_LOSS = 100, 3000, 0.0040


@dataclass(frozen=True)
class Contest:
    """A problem and exact greedy's picks on it; greedy for a smaller k is a prefix of them."""

    source: np.ndarray
    target: np.ndarray
    picks: np.ndarray
    scale: float

    @classmethod
    def on(cls, source: np.ndarray, target: np.ndarray, k: int) -> Contest:
        """Run exact greedy."""
        picks = pb.select(source, target, k=k, method="lazygreedy").indices
        return cls(source, target, picks, largest(source, target))

    def f(self, indices: np.ndarray) -> float:
        """Return 1 - cost / C of these prototypes."""
        return 1 - mean_distance(self.source[indices], self.target) / self.scale

    def results(self, k: int, effort: str | float, seeds: int) -> tuple[np.ndarray, np.ndarray]:
        """Return evaluations and losses of f, one of each a seed."""
        best = self.f(self.picks[:k])
        evaluations, losses = [], []
        for seed in range(seeds):
            selection = lazybandit(self.source, self.target, k=k, effort=effort, seed=seed)
            evaluations.append(search_evaluations(selection))
            losses.append((best - self.f(selection.indices)) / best)
        return np.array(evaluations), np.array(losses)


def mnist(options: Options) -> Iterator[Bar | str]:
    source, _, target, _ = paper_problem(options.data)
    contest = Contest.on(source, target, max(_FAST))
    yield f"MNIST, S {source.shape}, T {target.shape}, C = {contest.scale:.4f}; means of seeds"
    for k, (most, loss) in _FAST.items():
        evaluations, losses = contest.results(k, "fast", options.seeds)
        yield Bar(f"k = {k}, fast: evaluations", evaluations.mean(), most)
        yield Bar(f"k = {k}, fast: loss of f", losses.mean(), loss, form=".3%")
        fewer = k * len(source) * len(target) / evaluations.mean()
        yield f"    1/{fewer:,.0f} of SPOTgreedy; losses by seed {by_seed(losses, '.3%')}"
    for k, effort in _BETTER.items():
        evaluations, losses = contest.results(k, effort, options.seeds)
        name = f"k = {k}, effort {effort}"
        yield Bar(f"{name}: evaluations", evaluations.mean(), _BETTER_EVALUATIONS)
        yield Bar(f"{name}: loss of f", losses.mean(), 0.0, form=".3%")
        yield f"    losses by seed {by_seed(losses, '.3%')}"


def cifar(options: Options) -> Iterator[Bar | str]:
    source, target = cifar_problem(options.data)
    contest = Contest.on(source, target, _CIFAR_K)
    yield f"CIFAR-10 in grey, S {source.shape}, T {target.shape}, C = {contest.scale:.4f}"
    evaluations, losses = contest.results(_CIFAR_K, "fast", options.seeds)
    fewer = _CIFAR_K * len(source) * len(target) / evaluations.mean()
    yield Bar(f"k = {_CIFAR_K}, fast: SPOTgreedy / evaluations", fewer, _CIFAR_FEWER, True, ",.0f")
    yield Bar(f"k = {_CIFAR_K}, fast: loss of f", losses.mean(), _CIFAR_LOSS, form=".3%")
    yield f"    {evaluations.mean():.3g} evaluations, losses by seed {by_seed(losses, '.3%')}"
