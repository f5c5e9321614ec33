"""Cost, evaluations and time of every method on the same problems.

    python -m benchmarks.choosing [--data DIR] [--seeds 3] [--only NAME,...] [--out FILE]

Writes docs/results/choosing.json (or ``--out``); `python -m benchmarks.readme` makes the tables of
docs/choosing-a-method.md from it. Takes about four minutes on two cores.

The problems are digits (1,797 rows, T = S) and, if MNIST is available, 2,000 test images as the
source and 10,000 training images as the target, with k = 20 and 100. Costs are recomputed in
float64 over the whole target and given relative to exact greedy. Evaluations are all that a call
makes, including those that measure the cost of its result. Times are multiples of the time of exact
greedy in the same run. All figures are means over the seeds, with which no constant was chosen; the
methods are interleaved. `pam`, which is slow and draws no random numbers, runs once.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import mean_distance
from benchmarks.common.data import MissingData, mnist
from benchmarks.common.machine import OtherLoad
from benchmarks.common.records import RESULTS, write_measurement
from protobandit.methods import METHODS

FILE = RESULTS / "choosing.json"
REFERENCE = "lazygreedy"
VALUES = {
    f"lazybandit {effort}": pb.methods.LazyBandit(effort=effort)
    for effort in ("fast", "balanced", "thorough")
}
BY_EFFORT = {"lazybandit"}  # listed once per effort
_ONCE = {"pam"}
_FIRST_SEED = 2000  # no constant was chosen with these seeds


@dataclass(frozen=True)
class Task:
    """A problem with a name; a target of None is the source."""

    name: str
    source: np.ndarray
    target: np.ndarray | None
    k: int

    @property
    def rows(self) -> np.ndarray:
        """Return the target rows."""
        return self.source if self.target is None else self.target


def main() -> None:
    options, started, load = parse(), perf_counter(), OtherLoad()
    figures = [figures_of(task, options) for task in tasks(options)]
    write_measurement(
        options.out,
        "benchmarks.choosing",
        {"seeds": options.seeds, "others_cores": load.cores(), "problems": figures},
        seconds=perf_counter() - started,
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="names of methods, separated by commas")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    return parser.parse_args()


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    from sklearn.datasets import load_digits

    digits = load_digits().data.astype(np.float32)
    for k in (20, 100):
        yield Task(f"digits, 1,797 rows, k = {k}", digits, None, k)
    try:
        train, _, test, _ = mnist(options.data)
    except MissingData as reason:
        print(f"MNIST is skipped: {reason}")
        return
    random = np.random.default_rng(0)
    source = test[random.choice(len(test), 2000, replace=False)]
    target = train[random.choice(len(train), 10_000, replace=False)]
    for k in (20, 100):
        yield Task(f"MNIST, S = 2,000, T = 10,000, k = {k}", source, target, k)


def figures_of(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of all methods on a problem, lowest cost first."""
    names = [name for name in (*VALUES, *METHODS) if name not in BY_EFFORT]
    if options.only:
        names = [name for name in names if name in {REFERENCE, *options.only.split(",")}]
    _compile(task, names)
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for i in range(options.seeds):
        for name in names:
            if i == 0 or name not in _ONCE:
                runs[name].append(run(task, name, _FIRST_SEED + i))
    means = {name: np.mean(results, axis=0).tolist() for name, results in runs.items()}
    cost, _, seconds = means[REFERENCE]
    n_pairs = len(task.source) * len(task.rows)
    print(task.name, flush=True)
    return {
        "name": task.name,
        "reference": REFERENCE,
        "reference_cost": cost,
        "reference_seconds": seconds,
        "methods": [
            {
                "method": name,
                "excess": means[name][0] / cost - 1,
                "deviation": _deviation([each[0] / cost for each in runs[name]]),
                "share": means[name][1] / n_pairs,
                "time": means[name][2] / seconds,
            }
            for name in sorted(means, key=lambda name: means[name][0])
        ],
    }


def _deviation(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _compile(task: Task, names: list[str]) -> None:
    """Run every method once, so that compilation is in no time; most of them on a few rows.

    lazybandit does something else with a few rows.
    """
    few = Task("", task.source[:300], None if task.target is None else task.target[:300], 5)
    for name in names:
        run(task if name in VALUES else few, name, _FIRST_SEED - 1)


def run(task: Task, name: str, seed: int) -> tuple[float, float, float]:
    """Return cost, evaluations and seconds."""
    started = perf_counter()
    method = VALUES.get(name, name)
    selection = pb.select(task.source, task.target, k=task.k, method=method, random_state=seed)
    seconds = perf_counter() - started
    return mean_distance(task.source[selection.indices], task.rows), selection.evaluations, seconds


if __name__ == "__main__":
    main()
