"""Every bar of the flagship with its figure, in one run.

    python -m benchmarks.flagship --data DIR [--peers DIR] [--seeds 5] [--only NAME,...]

Prints OK or "not reached" for each and stops at none: seconds depend on who else is at work on the
machine, so they appear as ratios of what ran side by side, with a line on how much of the machine
others took. Evaluations and costs do not depend on that; a ratio of times is worth little unless
others took next to nothing. ``--data`` is described in benchmarks/_data.py, ``--peers`` is a folder
made by benchmarks/peers/setup.py, of which interpret is used. How it fares against other k-medoids
is measured by benchmarks.comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks._data import MissingData
from benchmarks._others import Others
from benchmarks.bars._bar import Bar, Options
from benchmarks.bars.clock import clock, threads
from benchmarks.bars.growth import growth
from benchmarks.bars.objective import cifar, mnist
from benchmarks.bars.strings import strings

PARTS: dict[str, Callable[[Options], Iterator[Bar | str]]] = {
    part.__name__: part for part in (mnist, cifar, clock, growth, strings, threads)
}


def main() -> None:
    names, options = parse()
    bars: list[Bar] = []
    for name in names:
        print(f"\n{name}", flush=True)
        others = Others()
        bars += show(PARTS[name](options))
        cores = others.cores()
        if cores is not None:
            print(f"    other processes kept {cores:.2f} cores busy meanwhile")
    missed = [bar for bar in bars if not bar.is_reached]
    print(f"\n{len(bars) - len(missed)} of {len(bars)} bars reached")
    print(*missed, sep="\n")


def show(lines: Iterator[Bar | str]) -> list[Bar]:
    bars = []
    try:
        for line in lines:
            print(line, flush=True)
            bars += [line] if isinstance(line, Bar) else []
    except (MissingData, ImportError) as reason:
        print(f"    left out: {reason}")
    return bars


def parse() -> tuple[list[str], Options]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's and CIFAR-10's files")
    parser.add_argument("--peers", type=Path, help="folder with the rivals' environments")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    given = parser.parse_args()
    names = given.only.split(",")
    unknown = set(names) - set(PARTS)
    if unknown:
        parser.error(f"--only: {sorted(unknown)} not among {list(PARTS)}")
    return names, Options(data=given.data, peers=given.peers, seeds=given.seeds)


if __name__ == "__main__":
    main()
