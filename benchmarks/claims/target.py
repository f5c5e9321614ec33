"""Claim: the number of comparisons does not depend on the size of the target.

The target is a memory map in a temporary folder, 2.6 GB for 10 million rows, deleted at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims.measures import (
    CLUSTERS,
    COLUMNS,
    by_seed,
    exponent,
    mixture,
    rows_of_mixture,
    run,
    scale_sentence,
    upper_scale,
)
from benchmarks.claims.report import Options, Report, Row
from benchmarks.common.costs import mean_distance
from benchmarks.common.figures import COLOURS, legend_below, panels, plot_mean
from protobandit.methods import LazyBandit, LazyGreedy, ProtoBandit

_SIZES = tuple(10**n for n in range(3, 8))
_MOST_EXACT = 10**5  # target rows up to which exact greedy is run
_SOURCE, _K, _TEST = 2000, 20, 20_000
_METHODS = ("protobandit", "lazybandit fast", "lazybandit balanced")
_MANY = 10**5  # more target rows than any method reads
_FLAT = 0.02  # a smaller power counts as no growth


def measure(options: Options) -> list[Row]:
    source, test = rows_of_mixture(_SOURCE, 1), rows_of_mixture(_TEST, 2)
    rows: list[Row] = []
    with mapped_target(_SIZES[-1]) as everything:
        scale = upper_scale(source, everything)
        for n_target in _SIZES:
            rows += _runs(source, everything[:n_target], test, scale, options.seeds)
            print(f"    |T| = {n_target:,}", flush=True)
    return rows


def _methods(n_target: int, scale: float) -> dict[str, Any]:
    methods: dict[str, Any] = {
        "protobandit": ProtoBandit(scale=scale, early_stop=True),
        "lazybandit fast": LazyBandit(effort="fast"),
        "lazybandit balanced": LazyBandit(effort="balanced"),
    }
    return methods | ({"exact greedy": LazyGreedy()} if n_target <= _MOST_EXACT else {})


def _runs(
    source: np.ndarray, rows: np.ndarray, test: np.ndarray, scale: float, n_seeds: int
) -> Iterator[Row]:
    for name, method in _methods(len(rows), scale).items():
        run(source, rows[:2000], k=2, method=method, seed=0)  # compile
        is_bandit = name == "protobandit"
        for seed in range(1 if name == "exact greedy" else n_seeds):
            found = run(source, rows, k=_K, method=method, seed=seed)
            yield {
                "n_target": len(rows),
                "method": name,
                "seed": seed,
                "evaluations": found.evaluations,
                "comparisons": found.comparisons if is_bandit else None,
                "scale": scale if is_bandit else None,
                "seconds": found.seconds,
                "cpu_seconds": found.cpu_seconds,
                "cost": mean_distance(source[found.selection.indices], test),
            }


@contextmanager
def mapped_target(n_rows: int) -> Iterator[np.ndarray]:
    """Provide a memory map of rows of the mixture, and delete it at the end."""
    needed = 4 * COLUMNS * n_rows
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if free < 1.2 * needed:
            raise SystemExit(
                f"target: the folder of temporary files has {free / 1e9:.1f} GB of free space and "
                f"{needed / 1e9:.1f} GB are needed. Set TMPDIR to another folder."
            )
        path = Path(folder) / "rows.bin"
        with path.open("wb") as file:
            for block in mixture(n_rows, 3):
                block.tofile(file)
        rows = np.memmap(path, dtype=np.float32, mode="r", shape=(n_rows, COLUMNS))
        yield rows
        del rows


# -- the report ----------------------------------------------------------------------------------


def report(rows: list[Row]) -> Report:
    sizes = sorted({row["n_target"] for row in rows})
    last = [n for n in sizes if n >= _MANY]
    late = [row for row in rows if row["n_target"] in last]
    grown, changes, findings = {}, [], []
    for name in _METHODS:
        x, series = by_seed(late, "n_target", "evaluations", method=name)
        grown[name] = exponent(x, series)
        means = np.mean(series, axis=0)
        changes.append(means.max() / means.min() - 1)
        findings.append(
            f"{name}: {means[0]:.3g} evaluations at |T| = {x[0]:,} and {means[-1]:.3g} at "
            f"{x[-1]:,}. Between these sizes the power of |T| is {grown[name]}."
        )
    findings += [_small_targets(rows, sizes), _costs(rows, last)]
    is_flat = all(abs(each.fit) < _FLAT for each in grown.values())
    return Report(
        name="target",
        title="Comparisons do not depend on the size of the target",
        claim="Our key technical result is that the similarity computations required by the "
        "proposed ProtoBandit is independent of the target set size |T|.",
        verdict=f"It holds for protobandit and for lazybandit: from |T| = {last[0]:,} to "
        f"{last[-1]:,} no mean count changes by more than {max(changes):.1%}."
        if is_flat
        else "It does not hold for all methods: see the powers.",
        findings=findings,
        summary=[_line(rows, n) for n in sizes],
        setting=f"|S| = {_SOURCE:,}, k = {_K}, {COLUMNS} columns, {CLUSTERS} clusters, float32, "
        f"target on disk as a memory map. protobandit: epsilon 0.2, nu per iteration 0.05, kl-lucb "
        f"with early stop. {scale_sentence(rows)} Seconds are processor time of all threads.",
        draw=lambda path: _draw(path, rows, sizes),
    )


def _small_targets(rows: list[Row], sizes: list[int]) -> str:
    small = _mean(rows, sizes[0], "lazybandit balanced", "evaluations")
    computed = (
        f"all {small:.3g} pairs"
        if small == _SOURCE * sizes[0]
        else f"{small:.3g} of {_SOURCE * sizes[0]:.3g} pairs"
    )
    return (
        f"If the target is smaller than the sample, lazybandit reads all of it: at |T| = "
        f"{sizes[0]:,} it computes {computed}. Exact greedy needs |S||T| evaluations if it stores "
        f"distances and k |S||T| otherwise: {_SOURCE * sizes[-1]:.3g} and "
        f"{_K * _SOURCE * sizes[-1]:.3g} at |T| = {sizes[-1]:,}."
    )


def _costs(rows: list[Row], sizes: list[int]) -> str:
    costs = {
        name: f"{min(of_sizes):.3f} to {max(of_sizes):.3f}"
        for name in _METHODS
        for of_sizes in [[_mean(rows, n, name, "cost") for n in sizes]]
    }
    return (
        f"The cost does not depend on |T| either. The mean distance of {_TEST:,} other rows is, "
        f"over these sizes, {costs['protobandit']} for protobandit, {costs['lazybandit fast']} and "
        f"{costs['lazybandit balanced']} for lazybandit (fast, balanced). For exact greedy at "
        f"|T| = {_MOST_EXACT:,} it is {_mean(rows, _MOST_EXACT, 'exact greedy', 'cost'):.3f}."
    )


def _mean(rows: list[Row], n_target: int, method: str, what: str) -> float:
    chosen = [r[what] for r in rows if r["n_target"] == n_target and r["method"] == method]
    return float(np.mean(chosen))


def _line(rows: list[Row], n_target: int) -> Row:
    found: Row = {"|T|": f"{n_target:,}"}
    for name in _METHODS:
        found[name] = _mean(rows, n_target, name, "evaluations")
    found["protobandit, paper's rule"] = _mean(rows, n_target, "protobandit", "comparisons")
    found["|S||T|"] = f"{_SOURCE * n_target:.3g}"
    for name in ("protobandit", "lazybandit balanced"):
        found[f"{name}, s"] = f"{_mean(rows, n_target, name, 'cpu_seconds'):.2f}"
    return found


def _draw(path: Path, rows: list[Row], sizes: list[int]) -> None:
    with panels(path, 2) as (counts, clock):
        for name in _METHODS:
            style = {"color": COLOURS[name], "label": name}
            plot_mean(counts, *by_seed(rows, "n_target", "evaluations", method=name), **style)
            plot_mean(clock, *by_seed(rows, "n_target", "cpu_seconds", method=name), **style)
        by_rule = by_seed(rows, "n_target", "comparisons", method="protobandit")
        name = "protobandit, paper's rule"
        plot_mean(counts, *by_rule, color=COLOURS[name], linestyle="--", label=name)
        style = {"color": COLOURS["spotgreedy"]}
        plot_mean(clock, *by_seed(rows, "n_target", "cpu_seconds", method="exact greedy"), **style)
        grid = np.array(sizes, dtype=float)
        counts.plot(grid, _SOURCE * grid, **style, label="exact greedy, stored distances: |S||T|")
        label = "SPOTgreedy, nothing stored: k|S||T|"
        counts.plot(grid, _K * _SOURCE * grid, **style, linestyle=":", label=label)
        counts.set(xscale="log", yscale="log", xlabel="|T|", ylabel="comparisons")
        clock.set(xscale="log", yscale="log", xlabel="|T|", ylabel="processor seconds")
        legend_below(counts, n_columns=3)
