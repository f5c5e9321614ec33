"""Compare the evaluations of every method with the recorded baselines.

    python -m benchmarks.counts [--accept] [--n-jobs N] [--elsewhere]

Ratios are relative to baselines.json: below 1 is better. ``--accept`` records the present counts.
``--elsewhere`` repeats everything without compiled kernels, with the BLAS kernels of an older
processor, and without wide vector instructions; the counts must be the same. The exit code is 1 if
a count has increased.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from benchmarks.counts.baselines import (
    ACCEPT,
    BASELINES,
    Counts,
    Record,
    changes,
    evaluations,
    measure_all,
    read,
    regression,
    write,
)

_ENVIRONMENTS = {
    "kernels in NumPy": {"PROTOBANDIT_NUMPY_ONLY": "1"},
    "an older BLAS kernel": {"OPENBLAS_CORETYPE": "Prescott"},
    "no wide vectors": {
        "NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3,AVX512F,AVX512CD,AVX512_SKX",
        "PROTOBANDIT_PROCESSOR": "x86-64",
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
        print(f"\nrecorded in {BASELINES.name}; commit the file with the reason")
        return
    raise SystemExit(check(record, recorded))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accept", action="store_true", help="record the present counts")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument(
        "--elsewhere", action="store_true", help="also compare other ways to compute"
    )
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def show(record: Record, recorded: Record) -> None:
    """Print every count beside the recorded one."""
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
    notes = [str(change) for change in changes(now, before)]
    marks = "  " + "; ".join(notes) if notes else ""
    return f"{numbers[0]:12,}{ratios[0]:8.3f}{numbers[1]:14,}{ratios[1]:9.4f}{marks}"


def _ratio(now: int, before: int) -> float:
    return now / before if before else float("inf") if now else 1.0


def check(record: Record, recorded: Record) -> int:
    """Print which counts increased, decreased or are obsolete; return the exit code."""
    problems, n_better = [], 0
    for problem, methods in record.items():
        for method, now in methods.items():
            before = recorded.get(problem, {}).get(method)
            message = regression(problem, method, now, before)
            problems += [message] if message else []
            n_better += message is None and now != before
    obsolete = _places(recorded) - _places(record)
    problems += [
        f"{m!r} on {p!r} is recorded but no longer measured. Remove it with `{ACCEPT}`."
        for p, m in obsolete
    ]
    print("", *problems, sep="\n")
    if n_better:
        print(f"{n_better} improved. Record them with `{ACCEPT}`.")
    if not problems:
        print("no count has increased")
    return int(bool(problems))


def _places(record: Record) -> set[tuple[str, str]]:
    return {(problem, method) for problem, methods in record.items() for method in methods}


def compare_elsewhere(record: Record) -> None:
    """Print whether other ways to compute give the same counts."""
    print()
    for name, environment in _ENVIRONMENTS.items():
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
