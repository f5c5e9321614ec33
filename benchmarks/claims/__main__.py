"""The paper's claims besides its figures, tested on real runs.

    python -m benchmarks.claims --data DIR --out DIR [--only NAME,...] [--seeds 5] [--peers DIR]

Writes NAME.csv and NAME.svg for each claim, and README.md, which says where our figures agree with
the paper and where they do not. ``--only`` runs some claims and leaves the rest of README.md as it
is. ``--peers`` is the folder of environments that benchmarks/peers/setup.py makes; with it Lemma 1
is tried on the package kmedoids as well. Needs matplotlib; `target` needs 3 GB for its file.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter

from benchmarks.claims._report import (
    Claim,
    Options,
    Report,
    csv_text,
    overview,
    plain,
    section,
    with_section,
    write_text,
)
from benchmarks.claims.build import build
from benchmarks.claims.growth import growth
from benchmarks.claims.medoids import medoids
from benchmarks.claims.optimum import optimum
from benchmarks.claims.target import target
from benchmarks.paper._machine import machine

CLAIMS: dict[str, Claim] = {
    "target": target,
    "growth": growth,
    "build": build,
    "medoids": medoids,
    "optimum": optimum,
}
_TITLE = "# The rest of the paper's claims, on real runs\n"


def main() -> None:
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    settings = Options(data=options.data, peers=options.peers, seeds=options.seeds)
    for name in options.only:
        started = perf_counter()
        print(f"{name}:", flush=True)
        report = CLAIMS[name](settings)
        show(report)
        publish(report, options.out, options.seeds)
        print(f"    {perf_counter() - started:.0f} s\n", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's idx files")
    parser.add_argument("--out", type=Path, required=True, help="where the results go")
    parser.add_argument("--only", type=_names, default=list(CLAIMS), help=", ".join(CLAIMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers", type=Path, help="folder with the rivals' environments")
    return parser.parse_args()


def _names(words: str) -> list[str]:
    names = words.split(",")
    for name in names:
        if name not in CLAIMS:
            message = f"{name!r} is no claim. Use some of {', '.join(CLAIMS)}."
            raise argparse.ArgumentTypeError(message)
    return names


def show(report: Report) -> None:
    """Print the small table and what was found."""
    print(plain(report.summary))
    for line in (report.verdict, *report.findings):
        print(f"  {line}")


def publish(report: Report, out: Path, n_seeds: int) -> None:
    """Write the figures of a claim, its picture, and its section of the page."""
    write_text(out / f"{report.name}.csv", csv_text(report.rows))
    beside = out / f"{report.name}.new.svg"
    report.draw(beside)
    beside.replace(out / f"{report.name}.svg")
    page = out / "README.md"
    before = page.read_text(encoding="utf-8") if page.exists() else _TITLE
    told = with_section(before, "how", how(n_seeds))
    told = with_section(told, "overview", overview(told))
    told = with_section(told, report.name, section(report))
    write_text(page, with_section(told, "overview", overview(told)))


def how(n_seeds: int) -> str:
    """Return how the figures came about: the command, the machine and the date."""
    here = machine()
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
    today = datetime.now(tz=timezone.utc).date().isoformat()
    return "\n".join(
        [
            f"    python -m benchmarks.claims --data DIR --out DIR --peers DIR --seeds {n_seeds}",
            "",
            f"{today}, {here['processor']}, {here['cores']} cores, {here['memory_gb']} GB, "
            f"{here['system']}, Python {here['python']}, {versions}. Counts hardly depend on the "
            f"machine; seconds were taken while others used it, and are noisy.",
            "",
            "*Evaluations*, our count, are dissimilarities computed. *Comparisons* are counted by "
            "the paper's rule: nothing is kept, so a pull of an arm at a target row costs |M| + 1.",
        ]
    )


if __name__ == "__main__":
    main()
