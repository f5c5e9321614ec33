"""Small far clusters: which methods find a cluster that few target rows belong to.

    python -m benchmarks.pockets [--seeds 20] [--first-seed 0] [--other-seeds 5] [--only TEXT]
                                 [--processes 1] [--out docs/results/pockets]

Each problem has one large cluster with standard deviation 1 and a small one far away ("pocket"). A
run fails if its cost over the whole target is more than 10 % above the reference. The reference is
the best of three FasterPAM starts on a sample that contains the pocket. Only problems count where
the pocket has more than 5 % of the cost of an answer without it. Constants of the search were
chosen on seeds from 1000 on.

With --out every run is added to ``pockets.csv`` there, runs that the file has already are not
repeated, and a page is written. ``sessions.json`` has command, commit and date.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import protobandit as pb
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.pages import table
from benchmarks.common.records import append, appending, read_records
from protobandit.methods import LazyBandit, Refined

_TOO_MUCH = 1.1  # times the reference
_MATTERS = 0.05  # share of the cost of an answer without the pocket
_SAMPLE = 1_500  # target rows of the reference, without the pocket
_POCKET_SAMPLE = 300  # and of the pocket
_CHUNK = 20_000
_WEIGHT_OF_ROWS = 20.0  # a pocket by weight has this many times fewer rows

EFFORTS: dict[str, Any] = {e: LazyBandit(effort=e) for e in ("fast", "balanced", "thorough")}
OTHERS: dict[str, Any] = {
    "protobandit": "protobandit",
    "banditpam": "banditpam",
    "onebatch": "onebatch",
    "clara": "clara",
    "clarans": "clarans",
    "refined (local)": Refined(swaps="local"),
    "random": "random",
}


@dataclass(frozen=True, kw_only=True)
class Pocket:
    """A problem: the share of the pocket in the target, its distance, and the form of the rows.

    ``form`` is "other rows" (S and T differ), "same rows" (S = T) or "by weight" (few target rows
    with a large weight). For cosine the large cluster lies at ``distance`` from the origin and the
    pocket on the other side of it.
    """

    n_columns: int
    metric: str
    share: float
    distance: float
    form: str
    k: int = 10

    @property
    def name(self) -> str:
        """Return a short description."""
        return (
            f"{self.metric}, {self.n_columns} columns, {self.share:.2%} at {self.distance:g}, "
            f"{self.form}"
        )

    def draw(self, seed: int) -> Instance:
        """Return rows and weights."""
        random = np.random.default_rng([seed, self.n_columns, round(1e6 * self.share)])
        direction = random.normal(size=self.n_columns)
        shift = self.distance * direction / np.linalg.norm(direction)
        centre, pocket = (shift, -shift) if self.metric == "cosine" else (0 * shift, shift)

        def rows(n: int, n_pocket: int) -> tuple[np.ndarray, np.ndarray]:
            is_pocket = random.permutation(n) < n_pocket
            noise = random.normal(size=(n, self.n_columns))
            return noise + np.where(is_pocket[:, None], pocket, centre), is_pocket

        if self.form == "same rows":
            target, is_pocket = rows(6_000, round(6_000 * self.share))
            return Instance(self, target, target, None, is_pocket, is_pocket)
        n_pocket, weights = round(60_000 * self.share), None
        if self.form == "by weight":
            n_pocket = max(1, round(n_pocket / _WEIGHT_OF_ROWS))
        target, is_pocket = rows(60_000, n_pocket)
        if self.form == "by weight":
            each = self.share / (1 - self.share) * (60_000 - n_pocket) / n_pocket
            weights = np.where(is_pocket, each, 1.0)
        source, in_pocket = rows(600, max(2, round(600 * self.share)))
        return Instance(self, source, target, weights, in_pocket, is_pocket)


@dataclass(frozen=True, eq=False)
class Instance:
    """The rows of a problem, and which of them belong to the pocket."""

    problem: Pocket
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    in_pocket: np.ndarray
    is_pocket: np.ndarray

    def solve(self, method: Any, seed: int) -> pb.Selection:
        """Return the selection of a method."""
        is_same = self.source is self.target
        return pb.select(
            self.source,
            None if is_same else self.target,
            k=self.problem.k,
            metric=self.problem.metric,
            weights=self.weights,
            method=method,
            random_state=seed,
            n_jobs=1,
        )

    def nearest(self, indices: np.ndarray) -> np.ndarray:
        """Return the weighted distance of each target row to the nearest of these rows."""
        chosen = self.source[indices]
        nearest = np.concatenate(
            [
                distances(block, chosen, self.problem.metric).min(axis=1)
                for block in np.array_split(self.target, -(-len(self.target) // _CHUNK))
            ]
        )
        return nearest if self.weights is None else nearest * self.weights

    def cost(self, indices: np.ndarray) -> float:
        """Return the mean over the whole target, in float64."""
        n = len(self.target) if self.weights is None else self.weights.sum()
        return float(self.nearest(indices).sum() / n)

    def reference(self) -> float:
        """Return the best cost of three FasterPAM starts on a sample with the pocket."""
        return min(self.cost(self._sampled(seed, has_pocket=True)) for seed in range(3))

    def share_without(self) -> float:
        """Return the share of the pocket in the cost of an answer that does not know it."""
        nearest = self.nearest(self._sampled(0, has_pocket=False))
        return float(nearest[self.is_pocket].sum() / nearest.sum())

    def _sampled(self, seed: int, *, has_pocket: bool) -> np.ndarray:
        """Return the prototypes that FasterPAM finds on a sample."""
        random = np.random.default_rng([seed, len(self.target)])
        others = random.choice(np.flatnonzero(~self.is_pocket), _SAMPLE, replace=False)
        own = random.permutation(np.flatnonzero(self.is_pocket))[:_POCKET_SAMPLE]
        rows = np.concatenate([others, own]) if has_pocket else others
        p = self.problem.share
        weights = np.append(
            np.full(len(others), (1 - p) / len(others)), np.full(len(own), p / len(own))
        )
        source = np.flatnonzero(~self.in_pocket)
        if len(source) > _SAMPLE:
            source = random.choice(source, _SAMPLE, replace=False)
        if has_pocket:
            pocket = random.permutation(np.flatnonzero(self.in_pocket))[:_POCKET_SAMPLE]
            source = np.append(source, pocket)
        found = pb.select(
            self.source[source],
            self.target[rows],
            k=self.problem.k,
            metric=self.problem.metric,
            weights=weights[: len(rows)],
            method="fasterpam",
            random_state=seed,
            n_jobs=1,
        )
        return source[found.indices]


def distances(target: np.ndarray, source: np.ndarray, metric: str) -> np.ndarray:
    """Return the distances in float64, computed independently of the package."""
    name = "cityblock" if metric == "manhattan" else metric
    return np.maximum(cdist(target, source, name), 0)


_SHAPES = [
    (2, "euclidean", 0.005, 2000),
    (2, "euclidean", 0.0005, 100),
    (2, "euclidean", 0.01, 10),
    (2, "manhattan", 0.002, 30),
    (2, "sqeuclidean", 0.0005, 30),
    (20, "euclidean", 0.0005, 2000),
    (20, "euclidean", 0.001, 500),
    (20, "manhattan", 0.01, 100),
    (20, "sqeuclidean", 0.001, 100),
    (20, "cosine", 0.005, 30),
    (100, "euclidean", 0.002, 2000),
    (100, "manhattan", 0.001, 2000),
    (100, "cosine", 0.002, 200),
]
# S and T differ in every shape; the two other forms take turns.
PROBLEMS = [
    Pocket(n_columns=d, metric=metric, share=share, distance=distance, form=form)
    for number, (d, metric, share, distance) in enumerate(_SHAPES)
    for form in ("other rows", ("same rows", "by weight")[number % 2])
]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: its cost in units of the reference, and the share of the pocket without it."""

    problem: str
    method: str
    seed: int
    ratio: float
    share: float
    evaluations: int
    n_warnings: int

    @property
    def counts(self) -> bool:
        """Return whether the pocket matters."""
        return self.share > _MATTERS

    @property
    def fails(self) -> bool:
        """Return whether the run lost a pocket that matters."""
        return self.counts and self.ratio > _TOO_MUCH


def runs(problem: Pocket, seed: int, methods: dict[str, Any]) -> list[Run]:
    """Return the runs of some methods on one instance."""
    instance = problem.draw(seed)
    share, reference = instance.share_without(), instance.reference()
    found = []
    for name, method in methods.items():
        selection = instance.solve(method, seed)
        found.append(
            Run(
                problem=problem.name,
                method=name,
                seed=seed,
                ratio=instance.cost(selection.indices) / reference,
                share=share,
                evaluations=selection.evaluations,
                n_warnings=len(selection.warnings),
            )
        )
    return found


def summary(found: list[Run]) -> list[list[str]]:
    """Return one row per method: runs that count, failures, failures without a warning, ..."""
    rows = []
    for method in dict.fromkeys(run.method for run in found):
        own = [run for run in found if run.method == method and run.counts]
        failed = [run for run in own if run.fails]
        rows.append(
            [
                method,
                f"{len(own):,}",
                f"{len(failed):,}",
                f"{sum(run.n_warnings == 0 for run in failed):,}",
                f"{sum(run.n_warnings > 0 for run in own if not run.fails):,}",
                f"{max(run.ratio for run in own):.3f}",
                f"{np.median([run.ratio for run in own]):.3f}",
                f"{np.mean([run.evaluations for run in own]):.2g}",
            ]
        )
    return rows


HEADER = [
    "method",
    "runs",
    "more than 10 % above",
    "of these without warning",
    "other runs with warning",
    "worst ratio",
    "median ratio",
    "evaluations",
]


def page(found: list[Run], done: list[sessions.Session]) -> str:
    """Return the results as a Markdown page."""
    by_problem = [
        [
            problem,
            f"{min(own):.0%} to {max(own):.0%}",
            *(
                f"{max(r.ratio for r in found if (r.problem, r.method) == (problem, m)):.3f}"
                for m in EFFORTS
            ),
        ]
        for problem in dict.fromkeys(run.problem for run in found)
        if (own := [run.share for run in found if run.problem == problem])
    ]
    methods = summary(found)
    return "\n".join(
        [
            "# Small far clusters",
            "",
            "The target is one cluster with standard deviation 1 and a small one far away: 0.05 % "
            "to 1 % of the rows (or of the weight), 10 to 2,000 standard deviations away. k = 10, "
            f"{len(by_problem)} problems. The reference is the best of three FasterPAM starts on a "
            "sample that contains the small cluster. Runs count if this cluster has more than 5 % "
            "of the cost of an answer without it. Costs are computed over the whole target. "
            "Evaluations include those that judge the result.",
            "",
            "`auto` is `balanced` here. Methods below the efforts of lazybandit ran on fewer "
            "seeds. Of these only refined (local) searches for such clusters; the others warn if "
            "few far rows have much of the cost. In their runs without a warning the small cluster "
            "has less than 8 % of the cost of the result; the other rows make the difference.",
            "",
            table(HEADER, methods, rule="---:"),
            "",
            "## By problem",
            "",
            "Distances are in standard deviations. The second column is the share of the small "
            "cluster in the cost of an answer without it. The others are the worst ratios.",
            "",
            table(["problem", "share of the cost", *EFFORTS], by_problem, rule="---:"),
            "",
            *(f"- {session}" for session in done),
            "",
            f"All runs: [pockets.csv](pockets.csv). Run on {done[-1].machine}.",
            "",
        ]
    )


def _tasks(
    options: argparse.Namespace, known: list[Run]
) -> list[tuple[Pocket, int, dict[str, Any]]]:
    """Return problems, seeds and methods that have not run yet; one seed after the other."""
    done = {(run.problem, run.seed, run.method) for run in known}
    tasks = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for problem in PROBLEMS:
            methods = EFFORTS | (OTHERS if seed - options.first_seed < options.other_seeds else {})
            left = {n: m for n, m in methods.items() if (problem.name, seed, n) not in done}
            if left and options.only in problem.name:
                tasks.append((problem, seed, left))
    return tasks


def _measured(options: argparse.Namespace, known: list[Run]) -> Iterator[Run]:
    """Print and yield new runs."""
    tasks = _tasks(options, known)
    with ProcessPoolExecutor(options.processes) as pool:
        for some in pool.map(runs, *zip(*tasks, strict=True)) if tasks else ():
            for run in some:
                print(
                    f"{run.problem:55} {run.seed:5} {run.method:16} {run.ratio:9.4f} "
                    f"{run.share:6.1%} {run.evaluations:12,}"
                    f"{'  warned' if run.n_warnings else ''}{'  FAILS' if run.fails else ''}",
                    flush=True,
                )
                yield run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--other-seeds", type=int, default=5, help="seeds of the other methods")
    parser.add_argument("--only", default="", help="problems whose name contains this text")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, help="directory of the data file and the page")
    options = parser.parse_args()
    found = list(_measured(options, [])) if options.out is None else _recorded(options)
    print("", "  ".join(HEADER), *("  ".join(row) for row in summary(found)), sep="\n")


def _recorded(options: argparse.Namespace) -> list[Run]:
    """Add new runs to the data file and write the page; return all runs."""
    path, about = options.out / "pockets.csv", options.out / sessions.FILE
    command = (
        f"python -m benchmarks.pockets --seeds {options.seeds} --first-seed {options.first_seed} "
        f"--other-seeds {options.other_seeds} --out DIR"
    )
    known = read_records(path, Run)
    with (
        sessions.recorded(about, "pockets", command, lambda: len(read_records(path, Run))),
        appending(path, Run) as file,
    ):
        for run in _measured(options, known):
            append(file, run)
    found = sorted(read_records(path, Run), key=_place)
    write_text(options.out / "README.md", page(found, sessions.read(about)["pockets"]))
    return found


def _place(run: Run) -> tuple[int, int]:
    """Return where a run belongs in tables."""
    names = [*EFFORTS, *OTHERS]
    return [problem.name for problem in PROBLEMS].index(run.problem), names.index(run.method)


if __name__ == "__main__":
    main()
