"""The cost and time of updating a selection, compared with selecting from scratch.

    python -m benchmarks.updates --out docs/results/updates

Old rows lie in 50 of 60 clusters, new rows in the last 20, so half of the new rows lie where there
were none. *Old* is the cost of the old prototypes on old and new rows. Times are processor seconds
on one thread, which hardly depend on what else runs; each is the smallest of three.

``summary`` writes the page from the figures without computing anything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.records import read_records, write_records

NAME = "updates"
CASES = ((2_000, 400, 50), (20_000, 4_000, 200), (50_000, 10_000, 200), (20_000, 4_000, 1_000))
KEEPS = (0.5, 0.8, 1.0)
_N_TIMES = 3
_N_COLUMNS = 16


@dataclass(frozen=True)
class Updated:
    """One update: costs on old and new rows, and processor seconds."""

    old_rows: int
    new_rows: int
    k: int
    keep: float
    kept: int
    old_cost: float
    updated_cost: float
    scratch_cost: float
    update_seconds: float
    scratch_seconds: float


def rows(random: np.random.Generator, n: int, first: int, stop: int) -> Any:
    """Return rows of the clusters ``first`` to ``stop - 1``."""
    centres = 3 * np.random.default_rng(7).normal(size=(60, _N_COLUMNS))
    own = centres[random.integers(first, stop, size=n)]
    return (own + random.normal(size=own.shape)).astype(np.float32)


def timed(call: Callable[[], pb.Selection]) -> tuple[pb.Selection, float]:
    """Return a selection, and the smallest number of processor seconds of several calls."""
    seconds = []
    for _ in range(_N_TIMES):
        start = process_time()
        found = call()
        seconds.append(process_time() - start)
    return found, min(seconds)


def measured(n_old: int, n_new: int, k: int) -> list[Updated]:
    """Compare updates with selecting from scratch."""
    random = np.random.default_rng(1)
    old, new = rows(random, n_old, 0, 50), rows(random, n_new, 40, 60)
    both = np.concatenate([old, new])
    before = pb.select(old, k=k, random_state=0, n_jobs=1)
    scratch, seconds = timed(lambda: pb.select(both, k=k, random_state=0, n_jobs=1))

    def cost(selection: pb.Selection) -> float:
        return float(selection.assign(both, n_jobs=1).distances.astype(np.float64).mean())

    found = []
    for keep in KEEPS:
        updated, own = timed(
            lambda keep=keep: before.updated(new, keep=keep, random_state=0, n_jobs=1)
        )
        found.append(
            Updated(
                old_rows=n_old,
                new_rows=n_new,
                k=k,
                keep=keep,
                kept=len(set(updated.indices) & set(before.indices)),
                old_cost=cost(before),
                updated_cost=cost(updated),
                scratch_cost=cost(scratch),
                update_seconds=own,
                scratch_seconds=seconds,
            )
        )
    return found


def page(records: list[Updated], made: list[sessions.Session]) -> str:
    """Return the page of the results."""
    lines = [
        "# Updating a selection",
        "",
        *sessions.machines({NAME: made[-1]}),
        "",
        "`selection.updated(new_rows)` against selecting from old and new rows from scratch. "
        "Costs are relative to those of the selection from scratch; *old* is that of the old "
        "prototypes. New rows lie half in clusters that the old rows did not have. *Time* is "
        "processor time relative to that of selecting from scratch.",
        "",
        "| old rows | new rows | k | keep | kept | old | updated | time |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {each.old_rows:,} | {each.new_rows:,} | {each.k:,} | {each.keep:g} | {each.kept:,} "
            f"| {each.old_cost / each.scratch_cost:.3f} "
            f"| {each.updated_cost / each.scratch_cost:.3f} "
            f"| {each.update_seconds / each.scratch_seconds:.2f} |"
            for each in records
        ),
        "",
        "Data: [updates.csv](updates.csv), [sessions.json](sessions.json). "
        "`python -m benchmarks.updates summary` writes this page from them.",
        "",
        *(f"- {session}" for session in made),
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", nargs="?", choices=("run", "summary"), default="run")
    parser.add_argument("--out", type=Path, default=Path("docs/results/updates"))
    options = parser.parse_args(arguments)
    data, log = options.out / f"{NAME}.csv", options.out / sessions.FILE
    if options.task == "run":
        typed = sys.argv[1:] if arguments is None else arguments
        command = " ".join(["python -m benchmarks.updates", *typed])
        records: list[Updated] = []
        sessions.record(log, NAME, [])
        with sessions.recorded(log, NAME, command, lambda: len(records)):
            for case in CASES:
                records += measured(*case)
                print(*records[-len(KEEPS) :], sep="\n", flush=True)
                write_records(data, Updated, records)
    write_text(
        options.out / "README.md", page(read_records(data, Updated), sessions.read(log)[NAME])
    )


if __name__ == "__main__":
    main()
