"""Counts of every method against those recorded.

    python -m benchmarks.counts [--accept] [--n-jobs N] [--elsewhere]

Ratios are to baselines.json: below 1 is better. ``--accept`` records the counts as they are now.
``--elsewhere`` runs all of it again in processes that compute otherwise: without compiled kernels,
with the BLAS kernels and the vector instructions of an older processor; the counts must not differ.
Ends with 1 where a count has grown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from benchmarks.counts._baselines import (
    ACCEPT,
    BASELINES,
    Counts,
    Record,
    changes,
    complaint,
    evaluations,
    measure_all,
    read,
    write,
)

_OTHERS = {
    "kernels in NumPy": {"NUMBA_DISABLE_JIT": "1"},
    "an older BLAS kernel": {"OPENBLAS_CORETYPE": "Prescott"},
    "no wide vectors": {
        "NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3,AVX512F,AVX512CD,AVX512_SKX",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
    },
}


def main() -> None:
    options = parse()
    record = measure_all(n_jobs=options.n_jobs)
    if options.json:
        json.dump(record, sys.stdout)
        return
    recorded = read() if BASELINES.exists() else {}
    show(record, recorded)
    if options.elsewhere:
        compare_elsewhere(record)
    if options.accept:
        write(record)
        print(f"\nrecorded in {BASELINES.name}; commit it with the reason")
        return
    raise SystemExit(judge(record, recorded))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accept", action="store_true", help="record the counts as they are now")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--elsewhere", action="store_true", help="compute otherwise, and compare")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def show(record: Record, recorded: Record) -> None:
    """Print every count, beside what was recorded."""
    print(f"{'problem':15}{'method':36}{'evaluations':>12}{'ratio':>8}{'cost':>14}{'ratio':>9}")
    for problem, methods in record.items():
        for method, now in methods.items():
            before = recorded.get(problem, {}).get(method)
            print(f"{problem:15}{method:36}{_line(now, before)}")


def _line(now: Counts, before: Counts | None) -> str:
    numbers = evaluations(now), now["cost"]
    if before is None:
        return f"{numbers[0]:12,}{'new':>8}{numbers[1]:14,}{'new':>9}"
    recorded = evaluations(before), before["cost"]
    ratios = [_ratio(n, b) for n, b in zip(numbers, recorded, strict=True)]
    told = [str(change) for change in changes(now, before)]
    marks = "  " + "; ".join(told) if told else ""
    return f"{numbers[0]:12,}{ratios[0]:8.3f}{numbers[1]:14,}{ratios[1]:9.4f}{marks}"


def _ratio(now: int, before: int) -> float:
    return now / before if before else float("inf") if now else 1.0


def judge(record: Record, recorded: Record) -> int:
    """Print what has grown, what has fallen and what is gone; return the exit code."""
    complaints, n_better = [], 0
    for problem, methods in record.items():
        for method, now in methods.items():
            before = recorded.get(problem, {}).get(method)
            said = complaint(problem, method, now, before)
            complaints += [said] if said else []
            n_better += said is None and now != before
    gone = _places(recorded) - _places(record)
    complaints += [f"{m!r} on {p!r} is recorded but is no more: `{ACCEPT}`." for p, m in gone]
    print("", *complaints, sep="\n")
    if n_better:
        print(f"{n_better} improved. Hold what was gained: `{ACCEPT}`.")
    if not complaints:
        print("nothing has grown")
    return int(bool(complaints))


def _places(record: Record) -> set[tuple[str, str]]:
    return {(problem, method) for problem, methods in record.items() for method in methods}


def compare_elsewhere(record: Record) -> None:
    """Print whether other ways to compute come to the same counts."""
    print()
    for name, environment in _OTHERS.items():
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.counts", "--json"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        other: Record = json.loads(done.stdout)
        differing = [
            f"{method} on {problem}: {change}"
            for problem, methods in record.items()
            for method, now in methods.items()
            for change in changes(other[problem][method], now)
        ]
        print(f"{name}: {'the same counts' if not differing else '; '.join(differing)}")


if __name__ == "__main__":
    main()
