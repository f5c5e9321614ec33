"""Reproduce the figures of the paper.

    python -m benchmarks.paper mnist --data DIR --out DIR [--runs 10] [--jobs 2] [--quick]
    python -m benchmarks.paper cifar10 --data DIR --out DIR [--runs 10] [--jobs 2] [--quick]
    python -m benchmarks.paper digits --out DIR
    python -m benchmarks.paper summary --out DIR

The first two compute every cell of a grid into DIR/mnist.csv or DIR/cifar10.csv, draw the figures
and write DIR/README.md. "digits" does the same with scikit-learn's digits, as a test. An
interrupted run resumes. "summary" only rewrites the figures and README.md from the complete runs.
Figures need matplotlib.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.common import sessions
from benchmarks.common.data import MissingData
from benchmarks.common.records import DamagedTable
from benchmarks.paper.cells import read_cells
from benchmarks.paper.grid import GRIDS
from benchmarks.paper.jobs import jobs_for, run_jobs
from benchmarks.paper.page import NoCompleteRun, write_report


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(arguments)
    try:
        if options.what != "summary":
            compute(options)
        for path in write_report(options.out):
            print(path)
    except (MissingData, DamagedTable, NoCompleteRun, OSError, ImportError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["mnist", "cifar10", "digits", "summary"])
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of tables and figures")
    parser.add_argument("--runs", type=_count, default=10)
    parser.add_argument("--jobs", type=_count, default=2, help="processes with one thread each")
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep existing cells (default), or delete them and start again",
    )
    parser.add_argument("--quick", action="store_true", help="a small part: one or two minutes")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed. Pass an integer >= 1.")
    return int(text)


def compute(options: argparse.Namespace) -> None:
    """Compute the missing cells."""
    is_small = options.quick and options.what != "digits"
    grid = GRIDS[f"{options.what}-quick" if is_small else options.what]
    table, notes = options.out / f"{grid.name}.csv", options.out / sessions.FILE
    if not options.resume:
        table.unlink(missing_ok=True)
        sessions.record(notes, grid.name, [])
    jobs = list(jobs_for(grid, options.data, options.runs, read_cells(table)))
    if not jobs:
        _print(f"All cells of {options.runs} runs are in {table}.")
        return
    command = command_of(options)
    with sessions.recorded(notes, grid.name, command, lambda: len(read_cells(table))):
        run_jobs(jobs, table, n_processes=options.jobs, report=_print)


def command_of(options: argparse.Namespace) -> str:
    """Return the command with DIR in place of folders."""
    parts = [f"python -m benchmarks.paper {options.what}"]
    parts += [] if options.what == "digits" else ["--data DIR"]
    parts += [f"--out DIR --runs {options.runs} --jobs {options.jobs}"]
    parts += ["--quick"] if options.quick else []
    return " ".join(parts)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
