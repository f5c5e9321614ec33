"""Cost, evaluations and time of every method on the same problems.

    python -m benchmarks.choosing [--data DIR] [--seeds 3] [--only NAME,...] [--out PAGE]

The problems are digits (1,797 rows, T = S) and, if MNIST is available, 2,000 test images as the
source and 10,000 training images as the target, with k = 20 and 100. Costs are recomputed in
float64 over the whole target and printed relative to exact greedy. Times are multiples of the time
of exact greedy in the same run. All figures are means over the seeds; the methods are interleaved.
``--out`` writes the tables, and one of what each method supports, between the markers of a page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import protobandit as pb
from benchmarks.common.costs import mean_distance
from benchmarks.common.data import MissingData, mnist
from benchmarks.common.files import write_text
from benchmarks.common.pages import with_tables
from protobandit.methods import METHODS

SUPPORTED = ("fixed", "groups", "costs", "until")
REFERENCE = "lazygreedy"
VALUES = {
    f"lazybandit {effort}": pb.methods.LazyBandit(effort=effort)
    for effort in ("fast", "balanced", "thorough")
}
BY_EFFORT = {"lazybandit"}  # listed once per effort


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
    options = parse()
    tables = []
    for task in tasks(options):
        tables.append(table(task, options))
        print(tables[-1], flush=True)
    if options.out:
        page = options.out.read_text(encoding="utf-8")
        new = {"methods": lambda: iter(["\n".join(tables)]), "supports": supports}
        write_text(options.out, with_tables(page, new))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="names of methods, separated by commas")
    parser.add_argument("--out", type=Path, help="page to write the tables to")
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


def table(task: Task, options: argparse.Namespace) -> str:
    """Return the results of all methods as Markdown, best cost first."""
    names = [name for name in (*VALUES, *METHODS) if name not in BY_EFFORT]
    if options.only:
        names = [name for name in names if name in {REFERENCE, *options.only.split(",")}]
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for name in names:
        run(task, name, seed=options.seeds)  # compile
    for seed in range(options.seeds):
        for name in names:
            runs[name].append(run(task, name, seed))
    means = {name: np.mean(results, axis=0) for name, results in runs.items()}
    exact = means[REFERENCE]
    n_pairs = len(task.source) * len(task.rows)
    lines = [
        f"**{task.name}** ({REFERENCE}: cost {exact[0]:.4f}, {exact[2]:.2f} s)\n",
        f"| `method=` | cost, relative to {REFERENCE} | evaluations / (S × T) | "
        f"time / {REFERENCE} |",
        "|---|---|---|---|",
    ]
    for name, (cost, evaluations, seconds) in sorted(means.items(), key=lambda item: item[1][0]):
        shares = f"{evaluations / n_pairs:.3g} | {seconds / exact[2]:.2g}"
        lines.append(f"| `{name}` | {cost / exact[0] - 1:+.2%} | {shares} |")
    return "\n".join(lines) + "\n"


def run(task: Task, name: str, seed: int) -> tuple[float, float, float]:
    """Return cost, evaluations and seconds."""
    started = perf_counter()
    method = VALUES.get(name, name)
    selection = pb.select(task.source, task.target, k=task.k, method=method, random_state=seed)
    seconds = perf_counter() - started
    return mean_distance(task.source[selection.indices], task.rows), selection.evaluations, seconds


def supports() -> Iterator[str]:
    """Yield a Markdown table of the constraints and goals that each method supports."""
    yield f"| `method=` | {' | '.join(SUPPORTED)} |"
    yield "|---" * (len(SUPPORTED) + 1) + "|"
    for name, method in METHODS.items():
        supported = getattr(method, "supports", frozenset())
        marks = " | ".join("yes" if part in supported else "–" for part in SUPPORTED)
        yield f"| `{name}` | {marks} |"


if __name__ == "__main__":
    main()
