"""Loss of f against evaluations on MNIST: lazybandit, its parts, and alternatives.

    python -m benchmarks.frontier --data DIR [--k 100] [--seeds 3] [--out FILE] [--draw]

Writes docs/results/frontier.json (or ``--out``) and docs/frontier.svg, which is drawn from it;
``--draw`` only draws. Then `python -m benchmarks.readme` writes the table. Takes about three
minutes on two cores.

The loss is that of f = 1 - cost / C against exact greedy in the same run; a negative loss is better
than exact greedy. Evaluations are all that a call makes, including those that measure the cost of
its result on fresh rows; greedy on one sample, which measures nothing, is given the same number of
them. The figure needs matplotlib.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import largest_distance, mean_distance
from benchmarks.common.data import paper_problem
from benchmarks.common.figures import pyplot, save
from benchmarks.common.pages import scientific
from benchmarks.common.records import RESULTS, read_measurement, write_measurement
from benchmarks.common.replacing import replaced
from protobandit.search.drivers.race import schedule

FILE = RESULTS / "frontier.json"
PICTURE = RESULTS.parent / "frontier.svg"
_JUDGED = 4096  # fresh rows on which a method that samples measures its cost
_SAMPLES = (500, 1000, 2000, 4000, 8000)
_COLOURS = {
    "greedy on one sample": "#9aa0a6",
    "protobandit": "#d08700",
    "lazybandit without home cells": "#5b8def",
    "lazybandit": "#c2185b",
    "lazybandit with perturbation": "#7b1fa2",
}


def main() -> None:
    options = parse()
    if not options.draw:
        started = perf_counter()
        figures = measure(options)
        seconds = perf_counter() - started
        write_measurement(options.out, "benchmarks.frontier", figures, seconds=seconds)
    draw(read_measurement(options.out).figures, options.picture)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the points of all curves, means over the seeds, with those of exact greedy."""
    source, _, target, _ = paper_problem(options.data)
    scale = largest_distance(source, target)
    greedy = pb.select(source, target, k=options.k, method="lazygreedy")
    f_greedy = 1 - greedy.cost / scale

    def loss(selection: pb.Selection) -> float:
        f = 1 - mean_distance(source[selection.indices], target) / scale
        return (f_greedy - f) / f_greedy

    points = []
    for name, settings in curves(source, target, options).items():
        for setting, runs in settings:
            losses, counts = [loss(s) for s, _ in runs], [n for _, n in runs]
            points.append(
                {
                    "curve": name,
                    "setting": setting,
                    "evaluations": float(np.mean(counts)),
                    "loss": float(np.mean(losses)),
                    "deviation": float(np.std(losses, ddof=1)) if len(losses) > 1 else None,
                }
            )
            print(
                f"{name:32} {setting:10} {np.mean(counts):10.3g} evaluations   "
                f"{np.mean(losses):8.3%} loss",
                flush=True,
            )
    return {
        "n_source": len(source),
        "n_target": len(target),
        "k": options.k,
        "seeds": options.seeds,
        "greedy_evaluations": greedy.evaluations,
        "judging_evaluations": judging(options.k, len(target)),
        "points": points,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="file of the figure")
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    return parser.parse_args()


def judging(k: int, n_target: int) -> int:
    """Return the evaluations that measure the cost of a result on fresh rows."""
    return k * min(n_target, _JUDGED)


def curves(
    source: np.ndarray, target: np.ndarray, options: argparse.Namespace
) -> dict[str, Iterator[tuple[str, list[tuple[pb.Selection, int]]]]]:
    """Return, by name, the settings with selections and evaluations of all seeds."""
    seeds = range(1000, 1000 + options.seeds)  # no constant was chosen with these seeds

    def runs(name: str, values: tuple[float, ...], make: Any, **constants: float) -> Any:
        for value in values:
            with replaced(schedule, **constants):
                selections = [
                    pb.select(source, target, k=options.k, method=make(value), random_state=seed)
                    for seed in seeds
                ]
            yield f"{name} {value:g}", [(s, s.evaluations) for s in selections]

    def samples() -> Any:
        extra = judging(options.k, len(target))
        for n in _SAMPLES:
            selections = [sampled(source, target, n, options.k, seed) for seed in seeds]
            yield f"{n:,} rows", [(s, s.evaluations + extra) for s in selections]

    def bandit(effort: float) -> pb.methods.LazyBandit:
        return pb.methods.LazyBandit(effort=effort)

    def protobandit(nu_step: float) -> pb.methods.ProtoBandit:
        return pb.methods.ProtoBandit(nu_step=nu_step)

    return {
        "greedy on one sample": samples(),
        "protobandit": runs("ν₀ =", (0.1, 0.05, 0.025), protobandit),
        "lazybandit without home cells": runs("effort", (0.5, 1, 2), bandit, _CELLS=10**6),
        "lazybandit": runs("effort", (0.5, 1, 2.5, 4.5), bandit),
        "lazybandit with perturbation": runs("effort", (5, 6), bandit),
    }


def sampled(source: np.ndarray, target: np.ndarray, n: int, k: int, seed: int) -> pb.Selection:
    rows = np.random.default_rng(seed).choice(len(target), n, replace=False)
    return pb.select(source, target[rows], k=k, method="lazygreedy")


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw the curves of a data file."""
    with pyplot() as plt:
        figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
        _plot(axes, figures)
        save(figure, path)
        plt.close(figure)


def _plot(axes: Any, figures: dict[str, Any]) -> None:
    for name, colour in _COLOURS.items():
        own = [point for point in figures["points"] if point["curve"] == name]
        x, y = [p["evaluations"] for p in own], [100 * p["loss"] for p in own]
        axes.plot(x, y, color=colour, label=name, marker="o", linewidth=1.8, markersize=5)
    axes.axhline(0, color="#444", linewidth=0.8, linestyle="--")
    axes.annotate(
        f"exact greedy ({scientific(figures['greedy_evaluations'])} evaluations)",
        (0.99, 0),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=9,
        color="#444",
    )
    axes.set(
        xscale="log",
        xlabel="evaluations, including those that measure the cost of the result",
        ylabel="loss of f against exact greedy, %",
        title=(
            f"MNIST, |S| = {figures['n_source']:,}, |T| = {figures['n_target']:,}, "
            f"k = {figures['k']}, seeds: {figures['seeds']}"
        ),
    )
    ticks = (1e6, 3e6, 1e7, 3e7, 1e8)
    axes.set_xticks(ticks, [f"{tick:.0e}".replace("e+0", "e") for tick in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False)


if __name__ == "__main__":
    main()
