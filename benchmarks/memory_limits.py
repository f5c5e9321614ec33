"""The growth of the resident memory of `select` under `Limits(memory)`, for every method.

    python -m benchmarks.memory_limits [NAME …]

Each line is one problem in JSON: the limit, the growth at its peak after a warm-up call, or the
error if the call is refused. All rows are made from fixed seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import protobandit as pb
from benchmarks.plans import (
    clusters,
    heavy_tailed,
    mostly_equal,
    normal,
    peak_bytes,
    resident_bytes,
)
from protobandit.methods import METHODS

MB = 1_000_000
_WARM_ROWS = 1500


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem and a limit, in bytes."""

    rows: Callable[[int, int, int], Any]
    n: int
    columns: int
    k: int
    method: Any
    memory: int
    n_target: int | None = None


def _cases() -> dict[str, Case]:
    many: dict[str, Any] = {"rows": normal, "n": 20_000, "columns": 8, "k": 2_000}
    square: dict[str, Any] = {"rows": clusters, "n": 6_000, "columns": 16, "k": 50}
    tall: dict[str, Any] = {
        "rows": clusters, "n": 2_000, "columns": 8, "k": 20, "n_target": 60_000
    }  # fmt: skip
    heavy: dict[str, Any] = {"rows": heavy_tailed, "n": 60_000, "columns": 5, "k": 40}
    equal: dict[str, Any] = {"rows": mostly_equal, "n": 60_000, "columns": 5, "k": 60}
    fast = pb.methods.LazyBandit(effort="fast")
    pac = pb.methods.Refined(build="random", swaps="pac", nu=0.05, delta=0.05)
    local = pb.methods.Refined(build="random", swaps="local")
    cases = {
        "heavy tails": Case(**heavy, method=fast, memory=100 * MB),
        "mostly equal": Case(**equal, method=fast, memory=100 * MB),
        "local swaps": Case(**equal, method=local, memory=150 * MB),
        "large k": Case(**many, method=fast, memory=700 * MB),
        "very large k": Case(
            rows=normal, n=20_000, columns=8, k=5_000, method="auto", memory=1 * MB
        ),
        "clara, large k": Case(**many, method="clara", memory=180 * MB),
        "random, large k": Case(**many, method="random", memory=2 * MB),
        "mmd-critic, large k": Case(**many, method="mmd-critic", memory=2 * MB),
        "banditpam": Case(**square, method="banditpam", memory=60 * MB),
        "pac swaps": Case(**square, method=pac, memory=20 * MB),
    }
    for method in METHODS:
        cases[f"{method}, tall"] = Case(**tall, method=method, memory=60 * MB)
    return cases


CASES = _cases()


def measure(case: Case) -> dict[str, Any]:
    """Return the limit and the growth of the memory, or the refusal."""
    source = case.rows(case.n, case.columns, 0)
    target = None if case.n_target is None else case.rows(case.n_target, case.columns, 1)
    few = None if target is None else target[: 2 * _WARM_ROWS]
    pb.select(source[:_WARM_ROWS], few, k=5, method=case.method, random_state=1)
    limits, before = pb.Limits(memory=case.memory), resident_bytes()
    found: dict[str, Any] = {"limit": case.memory}
    try:
        pb.select(source, target, k=case.k, method=case.method, limits=limits, random_state=0)
    except pb.InvalidInput as error:
        return {**found, "refused": str(error)}
    after = peak_bytes()
    return {**found, "growth": None if before is None or after is None else after - before}


def main() -> None:
    """Measure some problems, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="problems; by default, all")
    for name in parser.parse_args().names or CASES:
        print(json.dumps({"name": name, **measure(CASES[name])}), flush=True)


if __name__ == "__main__":
    main()
