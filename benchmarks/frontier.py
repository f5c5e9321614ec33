"""Loss of f against evaluations on MNIST: lazybandit, its parts, and alternatives.

    python -m benchmarks.frontier --data DIR [--k 100] [--seeds 3] [--out docs/frontier.svg]

The loss is that of f = 1 - cost / C against exact greedy in the same run; a negative loss is better
than exact greedy. The figure needs matplotlib.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import largest_distance, mean_distance, search_evaluations
from benchmarks.common.data import paper_problem
from benchmarks.common.figures import pyplot, save
from benchmarks.common.replacing import replaced
from protobandit.search.drivers.race import schedule


def main() -> None:
    options = parse()
    source, _, target, _ = paper_problem(options.data)
    scale = largest_distance(source, target)
    greedy = pb.select(source, target, k=options.k, method="lazygreedy")
    f_greedy = 1 - greedy.cost / scale

    def loss(selection: pb.Selection) -> float:
        f = 1 - mean_distance(source[selection.indices], target) / scale
        return 100 * (f_greedy - f) / f_greedy

    lines: dict[str, list[tuple[float, float]]] = {}
    for name, runs in curves(source, target, options).items():
        lines[name] = [
            tuple(np.mean([(search_evaluations(s), loss(s)) for s in seeds], axis=0))
            for seeds in runs
        ]
        for evaluations, lost in lines[name]:
            print(f"{name:34s} {evaluations:10.3g} evaluations   {lost:7.3f} % loss", flush=True)
    if options.out:
        draw(lines, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="file of the figure")
    return parser.parse_args()


def seeds_of(options: argparse.Namespace) -> range:
    """Return seeds with which no constant was chosen."""
    return range(1000, 1000 + options.seeds)


def curves(
    source: np.ndarray, target: np.ndarray, options: argparse.Namespace
) -> dict[str, Iterator[list[pb.Selection]]]:
    """Return, by name, the selections of all seeds at each setting."""

    def runs(methods: list, **constants: float) -> Iterator[list[pb.Selection]]:
        for method in methods:
            with replaced(schedule, **constants):
                yield [
                    pb.select(source, target, k=options.k, method=method, random_state=seed)
                    for seed in seeds_of(options)
                ]

    def samples() -> Iterator[list[pb.Selection]]:
        for n in (500, 1000, 2000, 4000, 8000):
            yield [sampled(source, target, n, options.k, seed) for seed in seeds_of(options)]

    bandit = pb.methods.LazyBandit
    return {
        "one sample, greedy": samples(),
        "protobandit": runs([pb.methods.ProtoBandit(nu_step=n) for n in (0.1, 0.05, 0.025)]),
        "race, every arm everywhere": runs([bandit(effort=e) for e in (0.5, 1, 2)], _CELLS=10**6),
        "lazybandit (race near home cells)": runs([bandit(effort=e) for e in (0.5, 1, 2.5, 4.5)]),
        "with finalists, shaken": runs([bandit(effort=e) for e in (5, 6)]),
    }


def sampled(source: np.ndarray, target: np.ndarray, n: int, k: int, seed: int) -> pb.Selection:
    rows = np.random.default_rng(seed).choice(len(target), n, replace=False)
    return pb.select(source, target[rows], k=k, method="lazygreedy")


def draw(lines: dict[str, list[tuple[float, float]]], options: argparse.Namespace) -> None:
    with pyplot() as plt:
        figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
        _plot(axes, lines, options.k)
        save(figure, options.out)
        plt.close(figure)


def _plot(axes: Any, lines: dict[str, list[tuple[float, float]]], k: int) -> None:
    styles = {"marker": "o", "linewidth": 1.8, "markersize": 5}
    colours = ["#9aa0a6", "#d08700", "#5b8def", "#c2185b", "#7b1fa2"]
    for (name, points), colour in zip(lines.items(), colours, strict=True):
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=colour, label=name, **styles)
    axes.axhline(0, color="#444", linewidth=0.8, linestyle="--")
    axes.annotate(
        "exact greedy (2.7e8 evaluations)",
        (0.99, 0),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=9,
        color="#444",
    )
    axes.set(
        xscale="log",
        xlabel="evaluations",
        ylabel="loss of f, %",
        title=f"MNIST, |S| = 5,000, |T| = 54,210, k = {k}",
    )
    axes.xaxis.set_minor_formatter("")
    axes.legend(frameon=False)


if __name__ == "__main__":
    main()
