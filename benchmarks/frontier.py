"""Quality against evaluations: the race, what it is made of, and the alternatives, on MNIST.

    python -m benchmarks.frontier --data DIR [--k 100] [--seeds 3] [--out docs/frontier.svg]

Loss is that of f = 1 - cost / C against exact greedy, computed in the same run; below zero is
better than exact greedy. Needs matplotlib for the picture.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import protobandit as pb
from benchmarks._data import paper_problem
from benchmarks.mnist import largest, mean_distance
from protobandit.search.drivers.race import schedule


def main() -> None:
    options = parse()
    source, _, target, _ = paper_problem(options.data)
    scale = largest(source, target)
    greedy = pb.select(source, target, k=options.k, method="lazygreedy")
    f_greedy = 1 - greedy.cost / scale

    def loss(selection: pb.Selection) -> float:
        return 100 * (f_greedy - (1 - mean_distance(selection, target) / scale)) / f_greedy

    lines: dict[str, list[tuple[float, float]]] = {}
    for name, runs in curves(source, target, options).items():
        lines[name] = [
            tuple(np.mean([(spent(s), loss(s)) for s in seeds], axis=0)) for seeds in runs
        ]
        for evaluations, lost in lines[name]:
            print(f"{name:34s} {evaluations:10.3g} evaluations   {lost:7.3f} % loss", flush=True)
    if options.out:
        draw(lines, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's idx files")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where to write the picture")
    return parser.parse_args()


def seeds_of(options: argparse.Namespace) -> range:
    """Return seeds that no constant was chosen on."""
    return range(1000, 1000 + options.seeds)


def spent(selection: pb.Selection) -> int:
    return sum(selection.evaluations_by_phase[phase] for phase in ("build", "swap"))


def curves(
    source: np.ndarray, target: np.ndarray, options: argparse.Namespace
) -> dict[str, Iterator[list[pb.Selection]]]:
    """Return, by name, the selections of all seeds at each level."""

    def runs(methods: list, **constants: float) -> Iterator[list[pb.Selection]]:
        for method in methods:
            with patched(**constants):
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


@contextmanager
def patched(**constants: float) -> Iterator[None]:
    before = {name: getattr(schedule, name) for name in constants}
    for name, value in constants.items():
        setattr(schedule, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(schedule, name, value)


def sampled(source: np.ndarray, target: np.ndarray, n: int, k: int, seed: int) -> pb.Selection:
    rows = np.random.default_rng(seed).choice(len(target), n, replace=False)
    return pb.select(source, target[rows], k=k, method="lazygreedy")


def draw(lines: dict[str, list[tuple[float, float]]], options: argparse.Namespace) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
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
        xlabel="dissimilarities computed",
        ylabel="loss of f, %",
        title=f"MNIST, |S| = 5,000, |T| = 54,210, k = {options.k}",
    )
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(options.out)


if __name__ == "__main__":
    main()
