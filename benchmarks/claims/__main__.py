"""Test the claims of the paper other than its figures.

    python -m benchmarks.claims --out DIR [--data DIR] [--only NAME,...] [--seeds 5] [--peers DIR]
        [--summary]

Writes NAME.csv and NAME.svg for each claim, sessions.json (how each claim was run) and README.md,
which compares the results with the paper. ``--only`` runs some of the claims; README.md covers all
claims with figures in --out. ``--summary`` runs no claim and only rewrites figures and README.md.
``--peers`` is the folder of environments that benchmarks/peers/setup.py creates; with it, Lemma 1
is also tested with the package kmedoids. Needs matplotlib; `target` needs 3 GB of disk space.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.claims import build, growth, medoids, optimum, small, target
from benchmarks.claims.report import Claim, Options, Report, page
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.pages import plain
from benchmarks.common.records import csv_text, read_csv

CLAIMS = {
    "target": Claim(target.measure, target.report),
    "growth": Claim(growth.measure, growth.report),
    "build": Claim(build.measure, build.report),
    "medoids": Claim(medoids.measure, medoids.report),
    "optimum": Claim(optimum.measure, optimum.report),
    "small": Claim(small.measure, small.report),
}


def main() -> None:
    given = parse()
    names = given.only or list(CLAIMS)
    given.out.mkdir(parents=True, exist_ok=True)
    if given.summary:
        publish(given.out, names)
        return
    options = Options(data=given.data, peers=given.peers, seeds=given.seeds)
    for name in names:
        started = perf_counter()
        print(f"{name}:", flush=True)
        rows = CLAIMS[name].measure(options)
        write_text(given.out / f"{name}.csv", csv_text(rows))
        sessions.record(given.out / sessions.FILE, name, [sessions.current(command(given))])
        show(publish(given.out, [name])[name])
        print(f"    {perf_counter() - started:.0f} s\n", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--only", type=_names, help=", ".join(CLAIMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers", type=Path, help="folder of the environments of other packages")
    parser.add_argument("--summary", action="store_true", help="only write figures and README.md")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in CLAIMS:
            message = f"{name!r} is not a claim. Use some of {', '.join(CLAIMS)}."
            raise argparse.ArgumentTypeError(message)
    return names


def command(given: argparse.Namespace) -> str:
    """Return the command with DIR in place of folders."""
    parts = ["python -m benchmarks.claims"]
    parts += [f"--{name} DIR" for name in ("data", "out", "peers") if getattr(given, name)]
    parts += [f"--only {','.join(given.only)}"] if given.only else []
    return " ".join([*parts, f"--seeds {given.seeds}"])


def show(report: Report) -> None:
    """Print the tables and the findings."""
    print(plain(report.summary))
    for caption, rows in report.more.items():
        print(f"\n  {caption}\n{plain(rows)}")
    for line in (report.verdict, *report.findings):
        print(f"  {line}")


def publish(out: Path, names: Sequence[str]) -> dict[str, Report]:
    """Draw these claims, write the page of all claims with figures, and return the reports."""
    reports = {
        name: _reported(claim, path)
        for name, claim in CLAIMS.items()
        if (path := out / f"{name}.csv").exists()
    }
    if not reports:
        sys.exit("--summary: --out contains no figures. Run without --summary first.")
    for name in names:
        if name in reports:
            reports[name].draw(out / f"{name}.svg")
    held = {name: each[-1] for name, each in sessions.read(out / sessions.FILE).items()}
    write_text(out / "README.md", page([*reports.values()], held))
    return reports


def _reported(claim: Claim, path: Path) -> Report:
    try:
        return claim.report(read_csv(path))
    except KeyError as missing:
        raise SystemExit(
            f"{path.name} is from an older version: the column {missing} is missing. Run "
            f"--only {path.stem} again."
        ) from missing


if __name__ == "__main__":
    main()
