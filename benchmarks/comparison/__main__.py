"""Race against every rival, each in an environment of its own.

    python -m benchmarks.comparison --data DIR --peers DIR --out DIR [--quick] [--seeds N]
        [--limit SECONDS] [--only NAME,...] [--summary]

Makes the environments that --peers lacks (benchmarks/peers/setup.py), then lets everybody fit the
same files with the same threads within the same limit. --out gets race.csv (a row a fit; what is
there already is kept, so a race goes on where it was stopped), a picture for each problem, and
README.md with tables of ratios and failures with their reasons. --summary writes the pictures and
README.md anew and races no more. ``--data`` is described in benchmarks/_data.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import _machine
from benchmarks._files import write_text
from benchmarks._peers import SCRIPTS, python_of
from benchmarks.comparison import _cell, _picture, _results, _summary
from benchmarks.comparison._contestants import CONTESTANTS, REFERENCE, Contestant
from benchmarks.comparison._problems import FULL, QUICK, Data, Problem
from benchmarks.comparison._results import Result
from benchmarks.comparison._rounds import Plan, race
from benchmarks.comparison._summary import Circumstances
from benchmarks.peers import setup

_THREADS = 2
_SHARE = 0.75  # of the machine's memory


def main() -> None:
    given = _parse()
    given.out.mkdir(parents=True, exist_ok=True)
    table = given.out / "race.csv"
    if not given.summary:
        _run(given, table)
    results = _results.read(table)
    if not results:
        sys.exit(f"{table.name} is not in --out: there is nothing to sum up.")
    for problem in _summary.raced(results):
        _picture.draw(results, problem.name, problem.title, given.out)
    kept = json.loads((given.out / "race.json").read_text(encoding="utf-8"))
    _summary.write(given.out, results, Circumstances(**kept))


def _run(given: argparse.Namespace, table: Path) -> None:
    plan = _plan(given)
    reasons = _environments(given.peers, plan.contestants)
    rules = _cell.Rules(
        limit=plan.limit, threads=_THREADS, n_bytes=int(_SHARE * _machine.total_bytes())
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Data(given.data, Path(folder))
        _note(given, plan, rules, data, Path(folder))

        def fit(problem: Problem, contestant: Contestant, blank: Result) -> Result:
            if contestant.environment in reasons:
                return replace(blank, reason=reasons[contestant.environment])
            command = _command(contestant, given.peers)
            return _cell.run(blank, command, *data.paths(problem), rules)

        for results in race(plan, _results.read(table), fit):
            _results.write(table, results)
            print(_line(results[-1]), flush=True)


def _plan(given: argparse.Namespace) -> Plan:
    known = [contestant.name for contestant in CONTESTANTS]
    names = known if given.only is None else [name.strip() for name in given.only.split(",")]
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"--only: {unknown} do not race. Use some of {known}.")
    return Plan(
        problems=QUICK if given.quick else FULL,
        contestants=tuple(c for c in CONTESTANTS if c.name in names),
        seeds=given.seeds or (1 if given.quick else 3),
        limit=given.limit or (8.0 if given.quick else 40.0),
        once=30.0,
    )


def _environments(folder: Path, contestants: tuple[Contestant, ...]) -> dict[str, str]:
    """Make what is missing; return the reasons of those that cannot be made."""
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


def _note(
    given: argparse.Namespace, plan: Plan, rules: _cell.Rules, data: Data, folder: Path
) -> None:
    """Keep how the race is run, and how long a first call takes."""
    path = given.out / "race.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    former, commit = before.get("commit", ""), _machine.commit()
    cold, cached = before.get("cold_seconds"), before.get("cached_seconds")
    if cold is None or not former.endswith(commit):
        cold, cached = _first_calls(plan, rules, data, folder)
    words = ["--quick"] if given.quick else []
    words += [
        f"--{name} {getattr(given, name):g}" for name in ("seeds", "limit") if getattr(given, name)
    ]
    words += [f"--only {shlex.quote(given.only)}"] if given.only else []
    circumstances = Circumstances(
        command=" ".join(
            ["python -m benchmarks.comparison --data DIR --peers DIR --out DIR", *words]
        ),
        machine=_machine.describe(),
        date=_machine.today(),
        threads=rules.threads,
        limit=rules.limit,
        once=plan.once,
        memory_gb=rules.n_bytes / 2**30,
        cold_seconds=cold,
        cached_seconds=cached,
        commit=", ".join(dict.fromkeys([*filter(None, former.split(", ")), commit])),
    )
    keep(given.out, circumstances)


def keep(folder: Path, circumstances: Circumstances) -> None:
    """Write folder/race.json, for README.md to be made from."""
    write_text(folder / "race.json", json.dumps(asdict(circumstances), indent=1) + "\n")


def _first_calls(
    plan: Plan, rules: _cell.Rules, data: Data, folder: Path
) -> tuple[float | None, float | None]:
    """Return the seconds of imports and first call, with nothing compiled before, and again."""
    ours = next((c for c in plan.contestants if c.name == REFERENCE), None)
    if ours is None:
        return None, None
    problem = next(p for p in plan.problems if p.n >= 5_000 and not p.has_target)
    _, _, blank = next(replace(plan, problems=(problem,), contestants=(ours,)).cells())
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "compiled")
    try:
        runs = [
            _cell.run(blank, _command(ours, folder), *data.paths(problem), rules) for _ in range(2)
        ]
    finally:
        del os.environ["NUMBA_CACHE_DIR"]
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
    def number(words: str) -> float:
        value = kind(words)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{words} is not positive")
        return value

    return number


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's files")
    parser.add_argument("--peers", type=Path, help="folder of the rivals' environments")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="about five minutes")
    parser.add_argument("--seeds", type=_positive(int), help="rounds; 3, or 1 with --quick")
    parser.add_argument(
        "--limit", type=_positive(float), help="seconds of a fit; 40, or 8 with --quick"
    )
    parser.add_argument("--only", help="some contestants, separated by commas")
    parser.add_argument("--summary", action="store_true", help="sum up what has been run")
    given = parser.parse_args()
    if given.peers is None and not given.summary:
        parser.error("--peers: name a folder for the rivals' environments")
    return given


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # with its contestant
    main()
