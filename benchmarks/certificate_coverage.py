"""How often certificates are right, on families of problems whose best set is known.

    python -m benchmarks.certificate_coverage --out docs/results/certificates [--problems 200]
        [--processes 2]

A problem has 10,000 target rows and few source rows, so the best set is found by enumeration. A set
that is not the best is certified with the default budget. A certificate is wrong if its bound on
the best cost is too high or its ratio is too low. The kinds that draw rows are tested on the same
problems; "known" and "estimated" say whether the cost of the selection was exact. In the family
"unseen" the condition of the asymptotic kind does not hold: one row, which is often not drawn,
carries a third of the cost or more, and the selection does not serve it.

It takes a few minutes on two cores.

``summary`` writes the page from the figures without computing anything. The seeds of the published
problems start at 10,000; constants were chosen with seeds below 1,000.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import binom

import protobandit as pb
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.records import read_records, write_records

N_TARGET = 10_000
FIRST_SEED = 10_000
CONFIDENCE = 0.95
NAME = "coverage"
_ROUNDING = 1e-9
_KINDS = ("rigorous", "asymptotic, estimated", "asymptotic, known")


@dataclass(frozen=True, eq=False)
class Instance:
    """A set that is not the best: its cost, the best cost, and the selection to certify."""

    selection: pb.Selection
    cost: float
    best: float


@dataclass(frozen=True)
class Coverage:
    """The certificates of one kind on one family."""

    family: str
    kind: str
    problems: int
    wrong: int
    unproven: int
    median_ratio: float
    median_true_ratio: float


Rows = tuple[np.ndarray, "np.ndarray | None"]  # distances, one row per target row; and weights


# -- families -------------------------------------------------------------------------------------


def binary(random: np.random.Generator, n: int, n_source: int) -> Rows:
    """Distances are 0 or 1."""
    return (random.random((n, n_source)) < random.uniform(0.3, 0.95, n_source)) * 1.0, None


def _rare(share: float) -> Callable[[np.random.Generator, int, int], Rows]:
    def rare(random: np.random.Generator, n: int, n_source: int) -> Rows:
        target = random.normal(size=(n, 2))
        is_far = np.zeros(n, dtype=bool)
        is_far[random.choice(n, max(1, round(share * n)), replace=False)] = True
        # Together the far rows weigh from half to twice as much as the others.
        target[is_far] += random.uniform(0.5, 2) * 1.25 / share / np.sqrt(2)
        source = target[random.choice(np.flatnonzero(~is_far), n_source, replace=False)]
        source[0] = target[is_far.argmax()]
        return cdist(target, source), None

    return rare


def heavy(random: np.random.Generator, n: int, n_source: int) -> Rows:
    """Rows of a distribution with an infinite variance."""
    target = random.standard_t(random.uniform(1.3, 2.2), size=(n, 2))
    return cdist(target, target[random.choice(n, n_source, replace=False)]), None


def uneven(random: np.random.Generator, n: int, n_source: int) -> Rows:
    """Rows in clusters, with weights of which few make up most of the total; some are 0."""
    centres = 6 * random.normal(size=(5, 2))
    target = centres[random.integers(5, size=n)] + random.normal(size=(n, 2))
    weights = random.pareto(1.2, size=n) * (random.random(n) < 0.9)
    return cdist(target, target[random.choice(n, n_source, replace=False)]), weights


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Rows]] = {
    "binary": binary,
    "1 in 100": _rare(1 / 100),
    "1 in 1,000": _rare(1 / 1000),
    "heavy-tailed": heavy,
    "uneven weights": uneven,
    "unseen": _rare(1 / N_TARGET),
}


def instance(family: str, seed: int, *, n_target: int = N_TARGET) -> Instance:
    """Return a problem of the family, and the second best set or one in the middle."""
    random = np.random.default_rng([seed, list(FAMILIES).index(family)])
    k = int(random.integers(1, 4))
    distances, weights = FAMILIES[family](random, n_target, k + int(random.integers(2, 5)))
    sets = list(combinations(range(distances.shape[1]), k))
    wide = distances.astype(np.float64)
    costs = [float(np.average(wide[:, list(s)].min(axis=1), weights=weights)) for s in sets]
    order = np.argsort(costs)
    if family == "unseen":
        order = np.array([each for each in order if 0 not in sets[each]])
        chosen = int(order[0])
    else:
        chosen = int(order[1 if seed % 2 else len(order) // 2])
    made = pb.select(distances, k=k, metric="precomputed", weights=weights, method="random")
    selection = replace(
        made,
        indices=np.array(sets[chosen]),
        costs=np.full(k, costs[chosen]),
        cost_error=0.0,
    )
    return Instance(selection=selection, cost=costs[chosen], best=min(costs))


# -- certificates ---------------------------------------------------------------------------------


def certificate(case: Instance, kind: str, seed: int, **options: Any) -> pb.Certificate:
    """Return the certificate of a kind, such as "asymptotic, known"."""
    name, _, cost = kind.partition(", ")
    error = case.cost / 100 if cost == "estimated" else 0.0
    selection = replace(case.selection, cost_error=error)
    return selection.certify(kind=name, random_state=seed, n_jobs=1, **options)


def is_wrong(case: Instance, found: pb.Certificate) -> bool:
    """Return whether a certificate claims too much."""
    is_bound_wrong = found.cost_bound > case.best * (1 + _ROUNDING)
    return is_bound_wrong or found.cost_ratio * case.best < case.cost * (1 - _ROUNDING)


def coverage(family: str, seeds: range, kinds: tuple[str, ...] = _KINDS) -> list[Coverage]:
    """Certify the problems of a family with every kind."""
    return list(_coverage(family, seeds, kinds))


def _coverage(family: str, seeds: range, kinds: tuple[str, ...]) -> Iterator[Coverage]:
    found: dict[str, list[pb.Certificate]] = {kind: [] for kind in kinds}
    wrong, true_ratios = dict.fromkeys(kinds, 0), []
    for seed in seeds:
        case = instance(family, seed)
        true_ratios.append(case.cost / case.best if case.best > 0 else np.inf)
        for kind in kinds:
            made = certificate(case, kind, seed)
            found[kind].append(made)
            wrong[kind] += is_wrong(case, made)
    for kind in kinds:
        ratios = [made.cost_ratio for made in found[kind]]
        yield Coverage(
            family=family,
            kind=kind,
            problems=len(ratios),
            wrong=wrong[kind],
            unproven=int(np.isinf(ratios).sum()),
            median_ratio=float(np.median(ratios)),
            median_true_ratio=float(np.median(true_ratios)),
        )


# -- page -----------------------------------------------------------------------------------------


def page(records: list[Coverage], made: list[sessions.Session]) -> str:
    """Return the page of the results."""
    n = max(each.problems for each in records)
    most = int(binom.ppf(0.999, n, 1 - CONFIDENCE))
    lines = [
        "# How often certificates are right",
        "",
        *sessions.machines({"coverage": made[-1]}),
        "",
        f"{n} problems per family, {N_TARGET:,} target rows, confidence "
        f"{CONFIDENCE:g}, default budget. *Wrong* is the number of certificates that claim too "
        f"much. At this confidence {n * (1 - CONFIDENCE):.0f} of {n} may be wrong on "
        f"average; more than {most} would show with 99.9 % certainty that the confidence is not "
        f"reached. *Unproven* is the number that state that nothing is proven. *Ratio* is the "
        f"median of the certified ratios, *true* the median of cost / best cost.",
        "",
        "| family | kind | problems | wrong | unproven | ratio | true |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in records:
        ratio = f"{each.median_ratio:.3f}" if np.isfinite(each.median_ratio) else "–"
        counts = f"{each.problems} | {each.wrong} | {each.unproven}"
        ratios = f"{ratio} | {each.median_true_ratio:.3f}"
        lines.append(f"| {each.family} | {each.kind} | {counts} | {ratios} |")
    lines += [
        "",
        "In the family *unseen* one row carries a third of the cost or more, and the selection "
        "does not serve it. A sample that does not contain it cannot show it. The asymptotic kind "
        "states this condition; if the cost is only estimated, its certificates can be wrong here. "
        "The rigorous kind compares every row with the prototypes and needs no such condition.",
        "",
        "An asymptotic certificate with an estimated cost becomes rigorous where the whole target "
        "costs no more than the drawn rows. Here that is the case for k = 1 and at least four "
        "source rows, in about two problems of nine.",
        "",
        "Data: [coverage.csv](coverage.csv), [sessions.json](sessions.json). "
        "`python -m benchmarks.certificate_coverage summary` writes this page from them.",
        "",
        *(f"- {session}" for session in made),
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", nargs="?", choices=("run", "summary"), default="run")
    parser.add_argument("--out", type=Path, default=Path("docs/results/certificates"))
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    data, log = options.out / f"{NAME}.csv", options.out / sessions.FILE
    if options.task == "run":
        typed = sys.argv[1:] if arguments is None else arguments
        command = " ".join(["python -m benchmarks.certificate_coverage", *typed])
        seeds = range(options.first_seed, options.first_seed + options.problems)
        records: list[Coverage] = []
        sessions.record(log, NAME, [])
        with (
            sessions.recorded(log, NAME, command, lambda: len(records)),
            ProcessPoolExecutor(options.processes) as pool,
        ):
            for found in pool.map(partial(coverage, seeds=seeds), options.family):
                print(*found, sep="\n", flush=True)
                records += found
        write_records(data, Coverage, records)
    write_text(
        options.out / "README.md", page(read_records(data, Coverage), sessions.read(log)[NAME])
    )


if __name__ == "__main__":
    main()
