"""The paper's claims besides its figures, tested on real runs.

    python -m benchmarks.claims --out DIR [--data DIR] [--only NAME,...] [--seeds 5] [--peers DIR]
        [--summary]

Writes NAME.csv and NAME.svg for each claim, runs.json, which keeps how each was run, and README.md,
which says where our figures agree with the paper and where they do not. ``--only`` runs some of the
claims; README.md is about all whose figures are in --out. ``--summary`` runs none, and writes the
pictures and README.md anew from those figures. ``--peers`` is the folder of environments that
benchmarks/peers/setup.py makes; with it Lemma 1 is tried on the package kmedoids as well. Needs
matplotlib; `target` needs 3 GB for its file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks._files import put, write_text
from benchmarks.claims import _sessions, build, growth, medoids, optimum, target
from benchmarks.claims._page import page
from benchmarks.claims._report import Claim, Options, Report, csv_text, plain, read_csv

CLAIMS = {
    "target": Claim(target.measure, target.report),
    "growth": Claim(growth.measure, growth.report),
    "build": Claim(build.measure, build.report),
    "medoids": Claim(medoids.measure, medoids.report),
    "optimum": Claim(optimum.measure, optimum.report),
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
        _sessions.keep(given.out, name, _sessions.session(command(given)))
        show(publish(given.out, [name])[name])
        print(f"    {perf_counter() - started:.0f} s\n", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's idx files")
    parser.add_argument("--out", type=Path, required=True, help="where the results go")
    parser.add_argument("--only", type=_names, help=", ".join(CLAIMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers", type=Path, help="folder with the rivals' environments")
    parser.add_argument("--summary", action="store_true", help="write up what has been run")
    return parser.parse_args()


def _names(words: str) -> list[str]:
    names = words.split(",")
    for name in names:
        if name not in CLAIMS:
            message = f"{name!r} is no claim. Use some of {', '.join(CLAIMS)}."
            raise argparse.ArgumentTypeError(message)
    return names


def command(given: argparse.Namespace) -> str:
    """Return the command as it was given, but for the names of folders."""
    words = ["python -m benchmarks.claims"]
    words += [f"--{name} DIR" for name in ("data", "out", "peers") if getattr(given, name)]
    words += [f"--only {','.join(given.only)}"] if given.only else []
    return " ".join([*words, f"--seeds {given.seeds}"])


def show(report: Report) -> None:
    """Print the small tables and what was found."""
    print(plain(report.summary))
    for caption, table in report.more.items():
        print(f"\n  {caption}\n{plain(table)}")
    for line in (report.verdict, *report.findings):
        print(f"  {line}")


def publish(out: Path, names: Sequence[str]) -> dict[str, Report]:
    """Draw these claims, write the page of all that have figures, and return the reports."""
    reports = {
        name: _reported(claim, path)
        for name, claim in CLAIMS.items()
        if (path := out / f"{name}.csv").exists()
    }
    if not reports:
        sys.exit("No figures are in --out: there is nothing to write up. Leave --summary out.")
    for name in names:
        if name in reports:
            put(out / f"{name}.svg", reports[name].draw)
    write_text(out / "README.md", page([*reports.values()], _sessions.read(out)))
    return reports


def _reported(claim: Claim, path: Path) -> Report:
    try:
        return claim.report(read_csv(path))
    except KeyError as missing:
        message = f"{path.name} is of an older run and lacks {missing}. Run --only {path.stem}."
        raise SystemExit(message) from missing


if __name__ == "__main__":
    main()
