"""ProtoBandit of the paper's figures with several first batches of KL-LUCB.

    python -m benchmarks.paper.first_batches --data DIR --out DIR [--runs 3]

Computes DIR/first-batch.csv and writes DIR/first-batch.md, which compares with exact greedy and
with the early stop of DIR/mnist.csv and DIR/cifar10.csv on the same draws. An interrupted run
resumes. Without --data only the page is written.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.common import sessions
from benchmarks.common.costs import mean_distance, search_evaluations
from benchmarks.common.counting import paper_comparisons, recorded
from benchmarks.common.files import write_text
from benchmarks.common.pages import scientific, table
from benchmarks.common.records import append, appending, read_records
from benchmarks.paper.cells import Cell, read_cells
from benchmarks.paper.grid import GRIDS, Key
from benchmarks.paper.methods import generator_of
from benchmarks.paper.problems import LabelledProblem
from protobandit import select
from protobandit.methods import ProtoBandit

NAME = "first-batch"
BATCHES = (0, 32, 256, 1024)  # 0 is the default


class Case(NamedTuple):
    """A setting of the paper: data set, share of fives, k, epsilon and nu of an iteration."""

    dataset: str
    skew: int
    k: int
    epsilon: float
    nu_step: float


# Balanced MNIST and CIFAR-10, the cheapest settings first; k = 500 only with the first epsilon.
CASES = [
    *(Case("mnist", 10, 100, e, nu) for e in (0.2, 0.4) for nu in (0.05, 0.09)),
    *(Case("cifar10", 0, 100, 0.2, nu) for nu in (0.05, 0.09)),
    *(Case("mnist", 10, 200, e, nu) for e in (0.2, 0.4) for nu in (0.05, 0.09)),
    *(Case("cifar10", 0, 200, 0.2, nu) for nu in (0.05, 0.09)),
    *(Case("mnist", 10, 500, 0.2, nu) for nu in (0.05, 0.09)),
]


@dataclass(frozen=True, kw_only=True)
class BatchCell:
    """One run with one first batch; ``first_pulls`` are the pulls of the first batches."""

    dataset: str
    run: int
    skew: int
    k: int
    epsilon: float
    nu_step: float
    first_batch: int
    n_proven: int
    pulls: int
    first_pulls: int
    comparisons: int
    evaluations: int
    f: float

    @property
    def case(self) -> Case:
        return Case(*(getattr(self, name) for name in Case._fields))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper.first_batches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder with mnist.csv")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    path, held = options.out / f"{NAME}.csv", options.out / sessions.FILE
    earlier = {name: read_cells(options.out / f"{name}.csv") for name in ("mnist", "cifar10")}
    if options.data is not None:
        command = (
            f"python -m benchmarks.paper.first_batches --data DIR --out DIR --runs {options.runs}"
        )
        with sessions.recorded(held, NAME, command, lambda: len(read_records(path, BatchCell))):
            done = {(c.case, c.run, c.first_batch) for c in read_records(path, BatchCell)}
            with appending(path, BatchCell) as file:
                for cell in compute(options.data, options.runs, earlier, done):
                    append(file, cell)
                    print(cell, file=sys.stderr, flush=True)
    text = page(read_records(path, BatchCell), earlier, sessions.read(held).get(NAME, []))
    write_text(options.out / f"{NAME}.md", text)
    return 0


def compute(
    folder: Path, runs: int, earlier: dict[str, list[Cell]], done: set[tuple[Case, int, int]]
) -> Iterator[BatchCell]:
    """Yield the missing cells, problem by problem for equal settings."""
    loaded: dict[tuple[str, int], LabelledProblem] = {}
    for case in CASES:
        scales = {c.run: c.scale for c in earlier[case.dataset] if c.skew == case.skew}
        for run in range(runs):
            missing = [b for b in BATCHES if (case, run, b) not in done]
            grid = GRIDS[case.dataset]
            seed = run if grid.is_drawn else 0
            if missing and (case.dataset, seed) not in loaded:
                loaded[case.dataset, seed] = grid.load(folder, case.skew, seed)
            for batch in missing:
                problem = loaded[case.dataset, seed]
                yield run_one(case, run, batch, problem, scales[run])


def run_one(case: Case, run: int, batch: int, problem: LabelledProblem, scale: float) -> BatchCell:
    """Run one setting with the random numbers of its cell in the grid of the paper."""
    key = Key(run, case.skew, case.k, "protobandit", case.epsilon, case.nu_step)
    method = ProtoBandit(
        epsilon=case.epsilon, nu_step=case.nu_step, scale=scale, first_batch=batch or None
    )
    with recorded() as record:
        selection = select(
            problem.source,
            problem.target,
            k=case.k,
            method=method,
            random_state=generator_of(key),
            n_jobs=1,
        )
    n_arms = math.ceil(len(problem.source) / case.k * -math.log(case.epsilon))
    rows = batch or default_batch(case, n_arms)
    cost = mean_distance(problem.source[selection.indices], problem.target)
    return BatchCell(
        **case._asdict(),
        run=run,
        first_batch=batch,
        n_proven=int(selection.guarantee is not None),
        pulls=sum(each.n_pulls for each in record.rounds),
        first_pulls=case.k * n_arms * rows,
        comparisons=paper_comparisons(record.rounds),
        evaluations=search_evaluations(selection),
        f=1 - cost / scale,
    )


def default_batch(case: Case, n_arms: int) -> int:
    """Return the first batch that the library chooses."""
    from protobandit.search.arms.kl_lucb import KLLUCB

    return KLLUCB(nu=case.nu_step, delta=ProtoBandit().delta / case.k).first_batch(n_arms)


# -- the page --------------------------------------------------------------------------------------


def page(
    cells: Sequence[BatchCell],
    earlier: dict[str, list[Cell]],
    held: Sequence[sessions.Session],
) -> str:
    """Return the page of all settings that have every batch in at least one run."""
    rows = [row for case in CASES for row in _rows(case, cells, earlier[case.dataset])]
    header = [
        *("data", "k", "ε", "ν₀", "first batch", "evaluations", "of the early stop"),
        *("paper's rule", "of SPOTgreedy", "pulls in first batches", "loss", "proven"),
    ]
    return (
        "\n\n".join(
            [
                _HEAD,
                *(f"Run on {s}. Machine: {s.machine}." for s in held),
                table(header, rows),
                _NOTES,
            ]
        )
        + "\n"
    )


def _rows(case: Case, cells: Sequence[BatchCell], earlier: Sequence[Cell]) -> Iterator[list[str]]:
    mine = [cell for cell in cells if cell.case == case]
    runs = set.intersection(*({c.run for c in mine if c.first_batch == b} for b in BATCHES))
    if not runs:
        return
    on = {"mnist": "MNIST, θ = 10", "cifar10": "CIFAR-10"}[case.dataset]
    old = [c for c in earlier if c.run in runs and (c.skew, c.k) == (case.skew, case.k)]
    exact = {c.run: c for c in old if c.method == "spotgreedy"}
    settings = ("protobandit", case.epsilon, case.nu_step)
    early = [c for c in old if (c.method, c.epsilon, c.nu_step) == settings]
    whole = _mean([c.comparisons for c in exact.values()])
    start = [on, str(case.k), f"{case.epsilon:g}", f"{case.nu_step:g}"]
    before = _mean([c.evaluations for c in early])
    lost = _mean([1 - c.f / exact[c.run].f for c in early])
    compared = _mean([c.comparisons for c in early])
    yield [
        *(*start, "early stop (before)", scientific(before), "1.00", scientific(compared)),
        *(f"1/{whole / compared:,.0f}", "", f"{lost:.2%}", f"0 of {len(early)}"),
    ]
    for batch in BATCHES:
        some = [c for c in mine if c.first_batch == batch and c.run in runs]
        count = _mean([c.evaluations for c in some])
        compared = _mean([c.comparisons for c in some])
        share = _mean([c.first_pulls / c.pulls for c in some])
        lost = _mean([1 - c.f / exact[c.run].f for c in some])
        per_arm = round(some[0].first_pulls / _first_arms(case, earlier))
        name = str(batch) if batch else f"{per_arm} (default)"
        yield [
            *(*start, name, scientific(count), f"{count / before:.2f}", scientific(compared)),
            *(f"1/{whole / compared:,.0f}", f"{share:.0%}", f"{lost:.2%}"),
            f"{sum(c.n_proven for c in some)} of {len(some)}",
        ]


def _first_arms(case: Case, earlier: Sequence[Cell]) -> int:
    """Return the number of arms of all iterations together."""
    return case.k * math.ceil(earlier[0].n_source / case.k * -math.log(case.epsilon))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


_HEAD = """\
# The first batch of KL-LUCB

Written by `python -m benchmarks.paper.first_batches --out DIR` from first-batch.csv, mnist.csv and
cifar10.csv in this folder."""

_NOTES = ""


if __name__ == "__main__":
    sys.exit(main())
