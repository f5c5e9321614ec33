"""Compare with other packages; each runs in its own environment.

    python -m benchmarks.comparison --data DIR --peers DIR --out DIR [--quick | --headline]
        [--large] [--problems NAME,...] [--seeds N] [--limit SECONDS] [--only NAME,...]
        [--minutes M] [--summary]

Creates the environments that --peers does not contain (benchmarks/peers/setup.py). Then all
contestants fit the same files with the same threads and limits. --out receives comparison.csv (one
row per fit; existing rows are kept, so an interrupted comparison resumes), comparison.json (how it
was run), a figure for each problem, and README.md with tables of ratios and the reasons of
failures. --summary only rewrites the figures and README.md. ``--headline`` makes only the fits of
the table in docs/benchmarks.md (two rounds, about five minutes on two cores; published with
--out docs/results/headline). ``--large`` compares on 60,000 to 1,000,000 rows with k up to 10,000
(benchmarks/comparison/large; published with --out docs/results/large); it takes many hours, so run
it in parts: ``--problems`` names some of them, ``--minutes`` starts no further fit after that time,
and an interrupted run resumes. ``--data`` is described in benchmarks/common/data.py.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from benchmarks.common import machine, sessions
from benchmarks.common.peers import SCRIPTS, python_of
from benchmarks.comparison import figure, fit, page, results
from benchmarks.comparison.contestants import (
    CONTESTANTS,
    HEADLINE_NAMES,
    REFERENCE,
    Contestant,
)
from benchmarks.comparison.large import contestants as large_contestants
from benchmarks.comparison.large import page as large_page
from benchmarks.comparison.large import problems as large_problems
from benchmarks.comparison.page import Conditions
from benchmarks.comparison.problems import FULL, HEADLINE, QUICK, Data, Problem
from benchmarks.comparison.results import Result
from benchmarks.comparison.schedule import Plan, run_plan
from benchmarks.peers import setup

_THREADS = 2
_SHARE = 0.75  # of the memory of the machine


def main() -> None:
    options = _parse()
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "comparison.csv"
    if not options.summary:
        _run(options, table)
    fits = results.read(table)
    if not fits:
        sys.exit("--summary: --out contains no comparison.csv. Run without --summary first.")
    if options.large:
        large_page.publish(options.out, fits, page.read_conditions(options.out))
        return
    for problem in page.problems_of(fits):
        figure.draw(fits, problem.name, problem.title, options.out)
    page.write(options.out, fits, page.read_conditions(options.out))


def _run(options: argparse.Namespace, table: Path) -> None:
    plan = _plan(options)
    reasons = _environments(options.peers, plan.contestants)
    limits = fit.Limits(
        seconds=plan.limit, threads=_THREADS, n_bytes=int(_SHARE * machine.total_bytes())
    )
    started, kept = perf_counter(), results.read(table)
    with tempfile.TemporaryDirectory() as folder:
        data = Data(options.data, Path(folder), large_problems.GENERATORS)
        _record_conditions(options, plan, limits, data, Path(folder))

        def run_fit(problem: Problem, contestant: Contestant, blank: Result) -> Result:
            if contestant.environment in reasons:
                return replace(blank, reason=reasons[contestant.environment])
            command = _command(contestant, options.peers)
            return fit.run(blank, command, *data.paths(problem), limits, problem.metric)

        n_results = 0
        try:
            for fits in run_plan(plan, kept, run_fit):
                results.write(table, fits)
                print(_line(fits[-1]), flush=True)
                n_results += 1
                if options.minutes and perf_counter() - started > 60 * options.minutes:
                    print("--minutes is over; run again to resume", flush=True)
                    break
        finally:
            minutes = math.ceil((perf_counter() - started) / 60)
            page.finish_session(options.out, n_results, minutes)


def _plan(options: argparse.Namespace) -> Plan:
    contestants = large_contestants.CONTESTANTS if options.large else CONTESTANTS
    if options.large:
        problems = large_problems.QUICK if options.quick else large_problems.FULL
    else:
        problems = QUICK if options.quick else HEADLINE if options.headline else FULL
    if options.only is not None:
        names = _names("--only", options.only, [c.name for c in contestants], "contestants")
        contestants = tuple(c for c in contestants if c.name in names)
    elif options.headline:
        contestants = tuple(c for c in contestants if c.name in HEADLINE_NAMES)
    if options.problems is not None:
        names = _names("--problems", options.problems, [p.name for p in problems], "problems")
        problems = tuple(p for p in problems if p.name in names)
    seeds = options.seeds or (1 if options.quick else 2 if options.headline else 3)
    if options.large:
        return Plan(
            problems=problems,
            contestants=contestants,
            seeds=seeds,
            limit=options.limit or (30.0 if options.quick else 600.0),
            once=120.0,
            first_seed=large_problems.FIRST_SEED,
            is_by_data=True,
        )
    return Plan(
        problems=problems,
        contestants=contestants,
        seeds=seeds,
        limit=options.limit or (8.0 if options.quick else 40.0),
        once=30.0,
    )


def _names(option: str, text: str, known: list[str], kind: str) -> set[str]:
    """Return the names that an option lists, or exit if one is unknown."""
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - set(known))
    if unknown:
        sys.exit(f"{option}: {unknown} are not {kind}. Use some of {known}.")
    return names


def _environments(folder: Path, contestants: tuple[Contestant, ...]) -> dict[str, str]:
    """Create missing environments; return the reasons for those that cannot be created."""
    reasons = {}
    for name in sorted({c.environment for c in contestants if c.environment is not None}):
        reason = setup.make(folder, name)
        if reason is not None:
            reasons[name] = reason
            print(f"{name} cannot be installed: {reason}", flush=True)
    return reasons


def _command(contestant: Contestant, peers: Path) -> list[str]:
    python = sys.executable
    if contestant.environment is not None:
        found = python_of(peers, contestant.environment)
        assert found is not None, contestant
        python = found
    return [python, str(SCRIPTS / contestant.script), *contestant.options]


def _record_conditions(
    options: argparse.Namespace, plan: Plan, limits: fit.Limits, data: Data, folder: Path
) -> None:
    """Write how the comparison is run, and how long a first call takes."""
    before = page.read_conditions(options.out)
    session = sessions.current(_command_line(options))
    earlier = [] if before is None else [*before.sessions]
    cold, cached = (None, None) if before is None else (before.cold_seconds, before.cached_seconds)
    if not options.large and (cold is None or earlier[-1].commit != session.commit):
        cold, cached = _first_calls(plan, limits, data, folder)
    conditions = Conditions(
        sessions=(*earlier, session),
        threads=limits.threads,
        limit=limits.seconds,
        once=plan.once,
        memory_gb=limits.n_bytes / 2**30,
        cold_seconds=cold,
        cached_seconds=cached,
    )
    page.write_conditions(options.out, conditions)


def _command_line(options: argparse.Namespace) -> str:
    """Return the command with DIR in place of folders."""
    parts = ["python -m benchmarks.comparison --data DIR --peers DIR --out DIR"]
    parts += [f"--{name}" for name in ("large", "quick", "headline") if getattr(options, name)]
    for name in ("seeds", "limit", "minutes"):
        value = getattr(options, name)
        parts += [f"--{name} {value:g}"] if value else []
    for name in ("problems", "only"):
        value = getattr(options, name)
        parts += [f"--{name} {shlex.quote(value)}"] if value else []
    return " ".join(parts)


def _first_calls(
    plan: Plan, limits: fit.Limits, data: Data, folder: Path
) -> tuple[float | None, float | None]:
    """Return the seconds of import and first call: before anything is compiled, and after."""
    ours = next((c for c in plan.contestants if c.name == REFERENCE), None)
    if ours is None:
        return None, None
    problem = next(p for p in plan.problems if p.n >= 5_000 and not p.has_target)
    _, _, blank = next(replace(plan, problems=(problem,), contestants=(ours,)).fits())
    os.environ["PROTOBANDIT_CODE_FOLDER"] = str(folder / "compiled")
    try:
        runs = [
            fit.run(blank, _command(ours, folder), *data.paths(problem), limits) for _ in range(2)
        ]
    finally:
        del os.environ["PROTOBANDIT_CODE_FOLDER"]
    if not all(run.is_done for run in runs):
        return None, None
    cold, cached = ((run.import_seconds or 0.0) + (run.first_seconds or 0.0) for run in runs)
    return cold, cached


def _line(result: Result) -> str:
    place = f"{result.problem:14} k = {result.k:<4} seed {result.seed}  {result.contestant:26}"
    if not result.is_done:
        return f"{place} {result.status}: {result.reason}"
    load = "" if result.others_cores is None else f"   others {result.others_cores:.2f} cores"
    return f"{place} {result.cost:.4f} in {result.seconds:.2f} s{load}"


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not allowed. Pass a number > 0.")
        return value

    return number


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--peers", type=Path, help="folder of the environments of other packages")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--large", action="store_true", help="the large-scale comparison")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="fewer problems: about five minutes")
    sizes.add_argument(
        "--headline", action="store_true", help="the table of docs/benchmarks.md only"
    )
    parser.add_argument(
        "--seeds", type=_positive(int), help="rounds; default 3, 2 with --headline, 1 with --quick"
    )
    parser.add_argument(
        "--limit",
        type=_positive(float),
        help="seconds per fit; default 40, 8 with --quick; with --large 600, 30 with --quick",
    )
    parser.add_argument("--problems", help="names of problems, separated by commas")
    parser.add_argument(
        "--minutes", type=_positive(float), help="start no further fit after this time"
    )
    parser.add_argument("--only", help="names of contestants, separated by commas")
    parser.add_argument("--summary", action="store_true", help="only write figures and README.md")
    options = parser.parse_args()
    if options.peers is None and not options.summary:
        parser.error("--peers is required. Pass a folder for the environments of other packages.")
    if options.large and options.headline:
        parser.error("--headline has no --large variant. Omit one of the two.")
    return options


if __name__ == "__main__":
    # Ends the running fit too: an exception reaches the `finally` that kills its process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    main()
