"""`plan` compared with what `select` then needs: evaluations, memory and seconds.

    python -m benchmarks.plans [--size large|small] [--out docs/results/plans.json]

Every problem runs in its own process, after a warm-up on a part of it. Memory is the growth of the
resident memory at its peak. Seconds are reliable only on an idle machine; how busy other processes
kept it is recorded. All problems are made from fixed seeds, so no data folder is needed.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.machine import OtherLoad

_OUT = Path("docs/results/plans.json")
_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_SCALES = {"small": 1, "large": 6}

Rows = np.ndarray[Any, np.dtype[np.float32]]


# -- rows of different shapes ----------------------------------------------------------------------


def normal(n: int, columns: int, seed: int = 0) -> Rows:
    """Return normal rows."""
    return np.random.default_rng(seed).normal(size=(n, columns)).astype(np.float32)


def clumped(n: int, columns: int, seed: int = 0) -> Rows:
    """Return rows of which nine in ten lie close together."""
    random = np.random.default_rng(seed)
    centres = 20 * random.normal(size=(5, columns))
    labels = np.where(random.random(n) < 0.9, 0, random.integers(1, 5, n))
    spread = np.where(labels == 0, 0.05, 3.0)[:, None]
    return (centres[labels] + spread * random.normal(size=(n, columns))).astype(np.float32)


def heavy_tailed(n: int, columns: int, seed: int = 0) -> Rows:
    """Return rows of a Cauchy distribution."""
    random = np.random.default_rng(seed)
    return random.standard_t(1.0, size=(n, columns)).astype(np.float32)


def few_columns(n: int, columns: int, seed: int = 0) -> Rows:
    """Return a table with rounded, skewed and categorical columns."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, columns))
    rows[:, 0] = np.round(rows[:, 0])
    rows[:, 1] = random.pareto(1.2, n)
    rows[:, 2] = random.integers(0, 3, n)
    return rows.astype(np.float32)


def clusters(n: int, columns: int, seed: int = 0) -> Rows:
    """Return 300 clusters with Zipf sizes."""
    random = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, 301)
    labels = random.choice(300, n, p=sizes / sizes.sum())
    centres = 4 * np.random.default_rng(99).normal(size=(300, columns))
    return (centres[labels] + random.normal(size=(n, columns))).astype(np.float32)


def repeated(n: int, columns: int, seed: int = 0) -> Rows:
    """Return 400 distinct rows, some of them very often."""
    random = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, 401)
    return normal(400, columns, seed)[random.choice(400, n, p=sizes / sizes.sum())]


def mostly_equal(n: int, columns: int, seed: int = 0) -> Rows:
    """Return rows of which 95 % are equal."""
    rows = normal(n, columns, seed)
    rows[np.random.default_rng(seed).random(n) < 0.95] = 0
    return rows


# -- problems --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem: rows of a shape, and what else is passed to `select`."""

    rows: Callable[[int, int, int], Rows]
    n: int
    columns: int
    k: int
    effort: str = "balanced"
    n_target: int | None = None
    metric: Any = "euclidean"
    is_weighted: bool = False
    method: Any = None

    def arguments(self, scale: int, share: float = 1.0) -> dict[str, Any]:
        """Return the arguments of `plan` and `select`; ``share`` is that of the rows."""
        n = round(scale * self.n * share)
        target = None
        if self.n_target is not None:
            target = self.rows(round(scale * self.n_target * share), self.columns, 1)
        n_target = n if target is None else len(target)
        weights = np.random.default_rng(2).pareto(1.5, n_target) + 0.01
        return {
            "source": self.rows(n, self.columns, 0),
            "target": target,
            "k": min(self.k, n // 2) if share < 1 else self.k,
            "weights": weights if self.is_weighted else None,
            "metric": self.metric,
            "method": self.method or pb.methods.LazyBandit(effort=self.effort),
        }


def _taxicab(targets: Any, sources: Any) -> Any:
    return abs(targets[:, None, :] - sources[None, :, :]).sum(axis=2)


CASES = {
    "normal, fast": Case(rows=normal, n=20_000, columns=10, k=20, effort="fast"),
    "few columns": Case(rows=few_columns, n=16_000, columns=5, k=40),
    "clumped": Case(rows=clumped, n=16_000, columns=5, k=20, effort="fast"),
    "heavy-tailed": Case(rows=heavy_tailed, n=20_000, columns=5, k=80, effort="fast"),
    "large k": Case(rows=normal, n=12_000, columns=20, k=400, effort="fast"),
    "S other than T": Case(rows=normal, n=5_000, columns=20, k=40, n_target=60_000),
    "uneven weights": Case(
        rows=clusters, n=8_000, columns=16, k=30, n_target=40_000, is_weighted=True
    ),
    "manhattan": Case(rows=clusters, n=16_000, columns=16, k=50, effort="fast", metric="manhattan"),
    "own metric": Case(rows=normal, n=5_000, columns=3, k=10, metric=pb.block_metric(_taxicab)),
    "cosine": Case(rows=normal, n=16_000, columns=30, k=50, effort="fast", metric="cosine"),
    "small": Case(rows=normal, n=1_500, columns=8, k=10),
    "k near |S|": Case(rows=normal, n=3_000, columns=8, k=2_600, effort="fast"),
    "thorough": Case(rows=clusters, n=6_000, columns=10, k=20, effort="thorough"),
    "few k": Case(rows=heavy_tailed, n=16_000, columns=4, k=5, effort="fast"),
    "repeated": Case(rows=repeated, n=16_000, columns=5, k=30, effort="fast"),
    "mostly equal": Case(rows=mostly_equal, n=16_000, columns=5, k=60, effort="fast"),
}


@dataclass(frozen=True)
class Comparison:
    """What was planned, and what a run needed."""

    name: str
    planned: dict[str, float | None]
    needed: dict[str, float | None]
    ratios: dict[str, float | None] = field(default_factory=dict)


def compare(name: str, case: Case, scale: int) -> Comparison:
    """Plan and solve a problem in this process."""
    pb.select(**case.arguments(scale, share=0.2), random_state=1)  # compile, start threads
    arguments = case.arguments(scale)
    plan = pb.plan(**arguments)
    started, before = perf_counter(), resident_bytes()
    chosen = pb.select(**arguments, random_state=0)
    seconds, after = perf_counter() - started, peak_bytes()
    memory = None if before is None or after is None else float(after - before)
    phases = chosen.evaluations_by_phase
    planned = {
        "evaluations": float(plan.evaluations),
        "most_evaluations": plan.most_evaluations and float(plan.most_evaluations),
        "memory": float(plan.memory),
        "seconds": plan.seconds,
    }
    needed = {
        "evaluations": float(phases["build"] + phases["swap"]),
        "memory": memory,
        "seconds": seconds,
    }
    ratios = {what: _ratio(needed[what], planned[what]) for what in needed}
    return Comparison(name, planned, needed, ratios)


def _ratio(needed: float | None, planned: float | None) -> float | None:
    return None if needed is None or not planned else needed / planned


def resident_bytes() -> int | None:
    """Return the resident memory, from which the peak is measured; None if it is unknown."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # so that freed memory is not used again unseen
        _PEAK.write_text("5", encoding="ascii")  # the peak starts at the present value
        return _status_bytes("VmRSS")
    return None


def peak_bytes() -> int | None:
    """Return the peak of the resident memory; None if it is unknown."""
    return _status_bytes("VmHWM") if _STATUS.exists() else None


def _status_bytes(name: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


# -- the benchmark ---------------------------------------------------------------------------------


def measured(names: list[str], size: str) -> Iterator[Comparison]:
    """Yield the comparison of each problem, made in a process of its own."""
    for name in names:
        command = [sys.executable, "-m", "benchmarks.plans", "--one", name, "--size", size]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        yield Comparison(**json.loads(done.stdout))


def main() -> None:
    """Compare all problems, print a table and write a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(_SCALES), default="large")
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--one", choices=list(CASES))
    parser.add_argument("--all", action="store_true", help="all problems in this process, as JSON")
    options = parser.parse_args()
    scale = _SCALES[options.size]
    if options.one or options.all:
        for name in [options.one] if options.one else CASES:
            print(json.dumps(asdict(compare(name, CASES[name], scale))), flush=True)
        return
    load, results = OtherLoad(), []
    for each in measured(list(CASES), options.size):
        shown = {what: None if r is None else round(r, 2) for what, r in each.ratios.items()}
        print(f"{each.name:16} needed / planned: {shown}", flush=True)
        results.append(asdict(each))
    load.print()
    session = sessions.current(f"python -m benchmarks.plans --size {options.size}")
    record = {"session": asdict(session), "other_load": load.cores(), "results": results}
    write_text(options.out, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
