"""Reproduce the paper's figures.

    python -m benchmarks.paper mnist --data DIR --out DIR [--runs 10] [--jobs 2] [--quick]
    python -m benchmarks.paper cifar10 --data DIR --out DIR [--runs 10] [--jobs 2] [--quick]
    python -m benchmarks.paper digits --out DIR
    python -m benchmarks.paper summary --out DIR

The first two compute every cell of a grid into DIR/mnist.csv or DIR/cifar10.csv, draw the figures
and write the summary, DIR/README.md; "digits" does so on scikit-learn's digits, to see that it
works. A run that was stopped goes on where it was. "summary" draws and writes what the cells of
whole runs so far have to say. Figures need matplotlib.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks._data import MissingData
from benchmarks.paper._cells import SpoiltTable, read_cells
from benchmarks.paper._grid import GRIDS
from benchmarks.paper._report import NothingYet, report
from benchmarks.paper._sessions import session
from benchmarks.paper._work import jobs_for, work


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks; return the exit code."""
    options = parse(arguments)
    try:
        if options.what != "summary":
            compute(options)
        for path in report(options.out):
            print(path)
    except (MissingData, SpoiltTable, NothingYet, OSError, ImportError) as error:
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
    parser.add_argument("--out", type=Path, required=True, help="folder for tables and figures")
    parser.add_argument("--runs", type=_count, default=10)
    parser.add_argument("--jobs", type=_count, default=2, help="processes of one thread each")
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on from the cells that are there (default), or begin anew",
    )
    parser.add_argument("--quick", action="store_true", help="a small part, in a minute or two")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1.")
    return int(text)


def compute(options: argparse.Namespace) -> None:
    """Compute the cells that are wanted and not yet there."""
    is_small = options.quick and options.what != "digits"
    grid = GRIDS[f"{options.what}-quick" if is_small else options.what]
    table = options.out / f"{grid.name}.csv"
    notes = table.with_suffix(".json")
    if not options.resume:
        table.unlink(missing_ok=True)
        notes.unlink(missing_ok=True)
    jobs = list(jobs_for(grid, options.data, options.runs, read_cells(table)))
    if not jobs:
        _say(f"All cells of {options.runs} runs are in {table}.")
        return
    with session(notes, command_of(options), lambda: len(read_cells(table))):
        work(jobs, table, n_processes=options.jobs, say=_say)


def command_of(options: argparse.Namespace) -> str:
    """Return the command without the folders of this machine."""
    words = [f"python -m benchmarks.paper {options.what}"]
    words += [] if options.what == "digits" else ["--data DIR"]
    words += [f"--out DIR --runs {options.runs} --jobs {options.jobs}"]
    words += ["--quick"] if options.quick else []
    return " ".join(words)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
