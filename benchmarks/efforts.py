"""Vary the constants of lazybandit one at a time on ten kinds of data.

    python -m benchmarks.efforts [--data DIR] [--seeds 2] [--only NAME,...] [--ks 10,50]
        [--out FILE]

Writes docs/results/efforts.json (or ``--out``); `python -m benchmarks.readme` makes the tables of
docs/how-it-works.md from it. Takes about five minutes on two cores.

The constants were chosen on MNIST; this shows how well they suit other data. Each setting changes
one constant of drivers/race/schedule.py and uses the effort at which it plans as many evaluations
as the default (effort "balanced"). "rows" changes the rows of the first rung and compensates with
the span, as far as the target allows. "arms" uses a random share of the source rows. No constant
was chosen with the seeds of this script.

Printed are the cost of each setting relative to the default, and the regret: the cost of the
default relative to the best setting. The best of many noisy means is biased, so the regret is an
upper estimate; "error" is the standard error of the difference over the seeds. The last lines are
means over all problems; "evaluations" shows which settings used more or fewer than the default,
including those that measure the cost of the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.cases import CASES, Case
from benchmarks.common.data import MissingData
from benchmarks.common.records import RESULTS, write_measurement
from benchmarks.common.replacing import replaced
from protobandit.search.drivers.race import schedule
from protobandit.search.methods import lazybandit
from protobandit.search.methods.effort import EFFORTS

FILE = RESULTS / "efforts.json"
_FIRST_SEED = 3000  # no constant was chosen with these seeds
LEVEL = EFFORTS["balanced"]
SETTINGS: dict[str, dict[str, float]] = {
    "default": {},
    "cells 4": {"_CELLS": 4},
    "cells 16": {"_CELLS": 16},
    "growth 2": {"_GROWTH": 2.0},
    "growth 5": {"_GROWTH": 5.0},
    "span 12": {"_SPAN": 12},
    "span 80": {"_SPAN": 80},
    "rows ×0.6": {"rows": 0.6},
    "rows ×1.6": {"rows": 1.6},
    "arms ×0.4": {"arms": 0.4},
    "passes 2": {"_PASSES": 2},
    "passes 4": {"_PASSES": 4},
}


def planned(case: Case, k: int, level: float) -> int:
    """Return the evaluations planned at this effort with the present constants."""
    n_source, n_target = case.sizes
    rungs = schedule.rungs_for(
        n_source=n_source,
        n_target=n_target,
        k=k,
        effort=level * (lazybandit._EXPENSIVE_EFFORT if case.is_expensive else 1.0),
        at_once=0,
        entries=10**9,
        evaluations=None,
    )
    return schedule.planned_evaluations(rungs, k, n_target)


def solve(function: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where an increasing function reaches ``wanted``, between ``low`` and ``high``."""
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return float(high)


def fitted(case: Case, k: int, setting: dict[str, float]) -> tuple[float, dict[str, float]]:
    """Return effort and constants at which a setting plans as many evaluations as the default."""
    wanted = planned(case, k, LEVEL)
    if "arms" in setting:
        fewer = case.with_fewer_sources(setting["arms"], 0)
        return solve(lambda level: planned(fewer, k, level), wanted, LEVEL / 20, LEVEL * 20), {}
    if "rows" in setting:
        level = LEVEL * setting["rows"]

        def with_span(span: float) -> float:
            with replaced(schedule, _SPAN=round(span)):
                return planned(case, k, level)

        return level, {"_SPAN": round(solve(with_span, wanted, 1.0, 1000.0))}
    with replaced(schedule, **setting):
        level = solve(lambda level: planned(case, k, level), wanted, LEVEL / 20, LEVEL * 20)
    return level, setting


def costs(case: Case, k: int, setting: dict[str, float], seeds: int) -> np.ndarray:
    """Return cost and evaluations of a setting, one row per seed."""
    level, values = fitted(case, k, setting)
    results = []
    with replaced(schedule, **values):
        for seed in range(_FIRST_SEED, _FIRST_SEED + seeds):
            own = case.with_fewer_sources(setting["arms"], seed) if "arms" in setting else case
            selection = pb.select(
                own.source,
                own.target,
                k=k,
                metric=own.metric,
                method=pb.methods.LazyBandit(effort=level),
                random_state=seed,
            )
            results.append((own.cost_of(selection.indices), selection.evaluations))
    return np.array(results)


def main() -> None:
    options, started = parse(), perf_counter()
    problems = []
    # By default all pairs of a small problem are computed; here small problems are sampled too.
    with replaced(lazybandit, AT_ONCE=0, _AT_ONCE_IF_EXPENSIVE=0):
        for name in options.only.split(","):
            try:
                case = CASES[name](options.data)
            except MissingData as reason:
                print(f"{name:14} skipped: {reason}")
                continue
            for k in map(int, options.ks.split(",")):
                results = [costs(case, k, setting, options.seeds) for setting in SETTINGS.values()]
                problems.append({"problem": name, "k": k, **figures_of(np.array(results))})
                print(problems[-1], flush=True)
    figures = {"seeds": options.seeds, "problems": problems, **summary(problems)}
    seconds = perf_counter() - started
    write_measurement(options.out, "benchmarks.efforts", figures, seconds=seconds)


def figures_of(results: np.ndarray) -> dict[str, Any]:
    """Return the figures of one problem from cost and evaluations by setting and seed."""
    costs, counts = results[:, :, 0], results[:, :, 1].mean(axis=1)
    means = costs.mean(axis=1)
    best = int(means.argmin())
    difference = (costs[0] - costs[best]) / means[best]
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else None
    return {
        "cost": float(means[0]),
        "best": [*SETTINGS][best],
        "regret": float(means[0] / means[best] - 1),
        "error": None if error is None else float(error),
        "excess": dict(zip(SETTINGS, (means / means[0] - 1).tolist(), strict=True)),
        "evaluations": dict(zip(SETTINGS, (counts / counts[0]).tolist(), strict=True)),
    }


def summary(problems: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over all problems by setting."""

    def mean(what: str, name: str) -> float:
        return float(np.mean([problem[what][name] for problem in problems]))

    return {
        "mean_excess": {name: mean("excess", name) for name in SETTINGS},
        "mean_evaluations": {name: mean("evaluations", name) for name in SETTINGS},
        "n_better": {
            name: sum(problem["excess"][name] < 0 for problem in problems) for name in SETTINGS
        },
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST and CIFAR-10")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--ks", default="10,50")
    parser.add_argument("--only", default=",".join(CASES), help=f"some of {','.join(CASES)}")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
