"""Call the library with random arguments, ordinary and hostile, and judge every answer.

    python -m benchmarks.fuzz [--seed S] [--minutes M | --cases N] [--kind KIND]
    python -m benchmarks.fuzz --seed S --case N

A case follows from its seed and its number alone, so the second form repeats one. Cases run in
batches, each in its own process: if the interpreter crashes, the case that was running is named. An
accepted call must be right by brute force, a refused one must raise an error of the library that is
one clear message. The exit code is 1 if a case failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import sys
import time
from collections.abc import Iterator

from benchmarks.fuzz.batches import run_batch, run_here
from benchmarks.fuzz.cases import KINDS, Outcome, run_case
from benchmarks.fuzz.summary import Summary

_BATCH = 250


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case, and show what it does")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, help="how many cases; 1000 by default")
    parser.add_argument("--minutes", type=float, help="run as long as this instead")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only cases of this kind")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.batch:
        run_here(asked.seed, range(asked.first, asked.first + asked.cases), asked.kind)
        return 0
    if asked.case is not None:
        return _show(run_case(asked.seed, asked.case, kind=asked.kind))
    summary = Summary(asked.seed, asked.kind)
    for numbers in _batches(asked):
        for outcome in run_batch(asked.seed, numbers, asked.kind):
            summary.add(outcome)
            if outcome.complaints:
                print(summary.line(outcome), flush=True)
    print(summary)
    return 1 if summary.failures else 0


def _batches(asked: argparse.Namespace) -> Iterator[range]:
    """Yield numbers of cases until there are enough, or until the time is over."""
    end = time.monotonic() + 60 * (asked.minutes or 0)
    last = asked.first + (asked.cases or 1_000)
    for start in itertools.count(asked.first, _BATCH):
        if time.monotonic() >= end if asked.minutes else start >= last:
            return
        yield range(start, start + _BATCH if asked.minutes else min(start + _BATCH, last))


def _show(outcome: Outcome) -> int:
    print(f"case {outcome.number} ({outcome.kind}): {outcome.text}")
    print(f"{outcome.verdict}. {outcome.refusal or ''}")
    for complaint in outcome.complaints:
        print(f"  {complaint}")
    return 1 if outcome.complaints else 0


if __name__ == "__main__":
    faulthandler.enable()
    sys.exit(main())
