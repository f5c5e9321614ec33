"""Every method on the same problems: cost, evaluations, time.

    python -m benchmarks.choosing [--data DIR] [--seeds 3] [--only NAME,...] [--out PAGE]

Digits (1,797 rows, source and target in one) and, with MNIST at hand, 2,000 test images for 10,000
train images, k = 20 and 100. Costs are computed anew in float64 over all of the target and printed
against exact greedy's; seconds are printed as multiples of its time in the same run, means over the
seeds, methods taking turns. ``--out`` puts the tables, and one of what each method heeds, between
the markers of that page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import protobandit as pb
from benchmarks._data import MissingData, mnist
from benchmarks._referee import mean_distance
from protobandit.methods import METHODS

HEEDED = ("fixed", "groups", "costs", "until")
RULER = "lazygreedy"
VALUES = {
    f"lazybandit {effort}": pb.methods.LazyBandit(effort=effort)
    for effort in ("fast", "balanced", "thorough")
}
DESCRIBED = {"lazybandit"}  # by its efforts


@dataclass(frozen=True)
class Task:
    """A problem with a name; the target is the source where it is None."""

    name: str
    source: np.ndarray
    target: np.ndarray | None
    k: int

    @property
    def rows(self) -> np.ndarray:
        """Return the rows to be represented."""
        return self.source if self.target is None else self.target


def main() -> None:
    options = parse()
    tables = []
    for task in tasks(options):
        tables.append(table(task, options))
        print(tables[-1], flush=True)
    if options.out:
        put(options.out, "tables", "\n".join(tables))
        put(options.out, "supports", heeded())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's idx files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="names of methods, separated by commas")
    parser.add_argument("--out", type=Path, help="the page to put the tables in")
    return parser.parse_args()


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    from sklearn.datasets import load_digits

    digits = load_digits().data.astype(np.float32)
    for k in (20, 100):
        yield Task(f"digits, 1,797 rows, k = {k}", digits, None, k)
    try:
        train, _, test, _ = mnist(options.data)
    except MissingData as reason:
        print(f"MNIST is left out: {reason}")
        return
    random = np.random.default_rng(0)
    source = test[random.choice(len(test), 2000, replace=False)]
    target = train[random.choice(len(train), 10_000, replace=False)]
    for k in (20, 100):
        yield Task(f"MNIST, S = 2,000, T = 10,000, k = {k}", source, target, k)


def table(task: Task, options: argparse.Namespace) -> str:
    """Return the results of all methods as Markdown, best cost first."""
    names = [name for name in (*VALUES, *METHODS) if name not in DESCRIBED]
    if options.only:
        names = [name for name in names if name in {RULER, *options.only.split(",")}]
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for name in names:
        run(task, name, seed=options.seeds)  # compile
    for seed in range(options.seeds):
        for name in names:
            runs[name].append(run(task, name, seed))
    means = {name: np.mean(results, axis=0) for name, results in runs.items()}
    exact = means[RULER]
    n_pairs = len(task.source) * len(task.rows)
    lines = [
        f"**{task.name}** ({RULER}: cost {exact[0]:.4f}, {exact[2]:.2f} s)\n",
        f"| `method=` | cost, against {RULER} | evaluations / (S × T) | time, against {RULER} |",
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


def heeded() -> str:
    """Return, as Markdown, which constraints and goals each method heeds."""
    lines = [f"| `method=` | {' | '.join(HEEDED)} |", "|---" * (len(HEEDED) + 1) + "|"]
    for name, method in METHODS.items():
        supports = getattr(method, "supports", frozenset())
        marks = " | ".join("yes" if part in supports else "–" for part in HEEDED)
        lines.append(f"| `{name}` | {marks} |")
    return "\n".join(lines) + "\n"


def put(page: Path, name: str, tables: str) -> None:
    """Replace what stands between the markers of this name on a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n{tables}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
