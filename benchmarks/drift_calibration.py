"""How often drift is reported, for rows of the same distribution and for rows that have changed.

    python -m benchmarks.drift_calibration --out docs/results/drift [--draws 1000] [--processes 2]

Each draw is a new data set: rows are drawn, prototypes are selected, the reference is computed, and
new rows are drawn and compared with it. A *false alarm* is p < 0.05 for new rows of the same
distribution; 5 % are expected. In most cases there are only 10 rows per prototype, so the cost of
new rows is much larger than the cost of the selection, and a reference without correction would
report drift always.

It takes about an hour of one core. ``summary`` writes the page from the figures without computing
anything. The constants of the reference (`_SHARED`, `_TAIL`, none for weights) were chosen on draws
of seeds from 10,000 on; the published figures use seeds from 50,000 on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import protobandit as pb
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.records import read_records, write_records

FIRST_SEED = 50_000
NAME = "calibration"
NEW_ROWS = (20, 200, 2_000, 10_000)
_LEVEL = 0.05


@dataclass(frozen=True)
class Alarms:
    """How often drift was reported in one case."""

    family: str
    rows: int
    k: int
    change: str
    new_rows: int
    draws: int
    alarms: int
    median_ratio: float
    uncorrected_ratio: float


# -- families -------------------------------------------------------------------------------------

_CENTRES = 4 * np.random.default_rng(7).normal(size=(20, 8))


def gaussian(random: np.random.Generator, n: int) -> Any:
    """Five columns."""
    return random.normal(size=(n, 5))


def clusters(random: np.random.Generator, n: int) -> Any:
    """20 clusters in eight columns, of very different sizes."""
    shares = 1 / np.arange(1, 21)
    return _CENTRES[random.choice(20, n, p=shares / shares.sum())] + random.normal(size=(n, 8))


def heavy(random: np.random.Generator, n: int) -> Any:
    """Student's t with two degrees of freedom: the variance of distances is infinite."""
    return random.standard_t(2, size=(n, 4))


def mixed(random: np.random.Generator, n: int) -> Any:
    """Numbers of different scales, counts and a text column with rare values."""
    names = np.array(["red", "green", "blue", "rare"])
    return pd.DataFrame(
        {
            "income": random.lognormal(10, 0.7, n),
            "age": random.integers(18, 90, n),
            "visits": random.poisson(2, n),
            "colour": names[random.choice(4, n, p=[0.5, 0.3, 0.17, 0.03])],
        }
    )


def _tilted(random: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Rows of a wide Gaussian with weights that describe a shifted, narrower one."""
    rows = 1.3 * random.normal(size=(n, 3))
    centre, scale = np.array([0.5, 0, 0]), 1.0
    log = -((rows - centre) ** 2).sum(1) / (2 * scale**2) + (rows**2).sum(1) / (2 * 1.3**2)
    return rows, np.exp(log - log.max())


def _of_weights(random: np.random.Generator, n: int) -> Any:
    """Rows of the distribution that `_tilted` describes."""
    return random.normal(size=(n, 3)) + np.array([0.5, 0, 0])


FAMILIES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "gaussian": gaussian,
    "clusters": clusters,
    "heavy-tailed": heavy,
    "mixed columns": mixed,
    "weights": _of_weights,
}


def shifted(random: np.random.Generator, n: int, size: float) -> Any:
    """Gaussian rows, one column moved by so many standard deviations."""
    rows = gaussian(random, n)
    rows[:, 0] += size
    return rows


def with_new_cluster(random: np.random.Generator, n: int, share: float) -> Any:
    """Gaussian rows, some of which form a cluster six standard deviations away."""
    rows = gaussian(random, n)
    rows[random.random(n) < share, 0] += 6
    return rows


CHANGES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "one column moved by 0.5 sd": partial(shifted, size=0.5),
    "one column moved by 1 sd": partial(shifted, size=1.0),
    "2 % in a new cluster": partial(with_new_cluster, share=0.02),
    "10 % in a new cluster": partial(with_new_cluster, share=0.10),
}


@dataclass(frozen=True)
class Case:
    """One line of the table for each number of new rows."""

    family: str
    rows: int
    k: int
    change: str = ""
    new_rows: tuple[int, ...] = NEW_ROWS
    draws_share: float = 1.0


CASES = (
    Case("gaussian", 200, 20),
    Case("clusters", 200, 20),
    *(Case(family, 200, 20) for family in ("heavy-tailed", "mixed columns", "weights")),
    *(Case("gaussian", 200, 20, change, (50, 200, 1_000), 0.1) for change in CHANGES),
    Case("gaussian", 200, 2),
    Case("gaussian", 1_000, 100),
    Case("gaussian", 4_000, 2),
)


def one_draw(case: Case, seed: int) -> list[tuple[float, float, float]]:
    """Return p-value, ratio and uncorrected ratio for each number of new rows."""
    random = np.random.default_rng([seed, case.rows, case.k])
    weights: Any = None
    preparation: Any = None
    if case.family == "weights":
        rows, weights = _tilted(random, case.rows)
    else:
        rows = FAMILIES[case.family](random, case.rows)
    if case.family == "mixed columns":
        preparation = pb.Preparation(standardize=True, categories="one-hot")
    selection = pb.select(
        rows, k=case.k, weights=weights, preparation=preparation, random_state=seed, n_jobs=1
    )
    draw = CHANGES[case.change] if case.change else FAMILIES[case.family]
    found = []
    for n in case.new_rows:
        drift = selection.drift(draw(random, n), n_jobs=1)
        found.append((drift.p_value, drift.ratio, drift.cost / selection.cost))
    return found


def alarms(case: Case, first_seed: int, draws: int, each: Any = map) -> list[Alarms]:
    """Return how often drift is reported in a case; ``each`` is a `map`, perhaps of processes."""
    n = max(1, round(draws * case.draws_share))
    found = np.array(list(each(partial(one_draw, case), range(first_seed, first_seed + n))))
    return [
        Alarms(
            family=case.family,
            rows=case.rows,
            k=case.k,
            change=case.change or "none",
            new_rows=size,
            draws=n,
            alarms=int((found[:, i, 0] < _LEVEL).sum()),
            median_ratio=float(np.median(found[:, i, 1])),
            uncorrected_ratio=float(np.median(found[:, i, 2])),
        )
        for i, size in enumerate(case.new_rows)
    ]


# -- page -----------------------------------------------------------------------------------------


def page(records: list[Alarms], made: list[sessions.Session]) -> str:
    """Return the page of the results."""
    same = [each for each in records if each.change == "none"]
    other = [each for each in records if each.change != "none"]
    shares = [each.alarms / each.draws for each in same]
    lines = [
        "# How often drift is reported",
        "",
        *sessions.machines({"calibration": made[-1]}),
        "",
        "Each draw is a new data set with its own selection, reference and new rows. *Alarms* are "
        "draws with p < 0.05. *Ratio* is the median of cost / reference cost; *uncorrected* is the "
        "median of cost / cost of the selection.",
        "",
        "## New rows of the same distribution",
        "",
        f"5 % of alarms are expected; found were {min(shares):.1%} to {max(shares):.1%}. The error "
        f"of a share of 1,000 draws is 0.7 %.",
        "",
        *_table(same, has_change=False),
        "",
        "In *weights*, rows of one Gaussian have weights that describe another, from which the new "
        "rows are drawn. *heavy-tailed* rows have distances of infinite variance.",
        "",
        "## New rows that have changed",
        "",
        *_table(other, has_change=True),
        "",
        "Data: [calibration.csv](calibration.csv), [sessions.json](sessions.json). "
        "`python -m benchmarks.drift_calibration summary` writes this page from them.",
        "",
        *(f"- {session}" for session in made),
        "",
    ]
    return "\n".join(lines)


def _table(records: list[Alarms], *, has_change: bool) -> list[str]:
    first = "change" if has_change else "distribution"
    lines = [
        f"| {first} | rows | k | new rows | draws | alarms | ratio | uncorrected |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in records:
        name = each.change if has_change else each.family
        lines.append(
            f"| {name} | {each.rows:,} | {each.k} | {each.new_rows:,} | {each.draws:,} | "
            f"{each.alarms / each.draws:.1%} | {each.median_ratio:.3f} | "
            f"{each.uncorrected_ratio:.3f} |"
        )
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", nargs="?", choices=("run", "summary"), default="run")
    parser.add_argument("--out", type=Path, default=Path("docs/results/drift"))
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--first-case", type=int, default=0, help="keep the figures before it")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    data, log = options.out / f"{NAME}.csv", options.out / sessions.FILE
    if options.task == "run":
        typed = sys.argv[1:] if arguments is None else arguments
        command = " ".join(["python -m benchmarks.drift_calibration", *typed])
        n_kept = sum(len(case.new_rows) for case in CASES[: options.first_case])
        records = read_records(data, Alarms)[:n_kept] if n_kept else []
        if not n_kept:
            sessions.record(log, NAME, [])
        with (
            sessions.recorded(log, NAME, command, lambda: len(records)),
            ProcessPoolExecutor(options.processes) as pool,
        ):
            each = partial(pool.map, chunksize=10)
            for case in CASES[options.first_case :]:
                found = alarms(case, options.first_seed, options.draws, each)
                print(*found, sep="\n", flush=True)
                records += found
                write_records(data, Alarms, records)
    write_text(
        options.out / "README.md", page(read_records(data, Alarms), sessions.read(log)[NAME])
    )


if __name__ == "__main__":
    main()
