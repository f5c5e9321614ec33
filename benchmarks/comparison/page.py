"""README.md of a comparison: how it was run, tables of ratios, failures, contestants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.common.files import write_text
from benchmarks.common.sessions import Session, merged
from benchmarks.comparison.contestants import CONTESTANTS, REFERENCE, Contestant
from benchmarks.comparison.problems import FULL, HEADLINES, QUICK, Problem
from benchmarks.comparison.ratios import Line, lines
from benchmarks.comparison.results import MISSING, Result
from benchmarks.peers.setup import packages

_FILE = "comparison.json"
_DISTURBED = 0.2  # cores of other processes
_PROBLEMS = {problem.name: problem for problem in QUICK + FULL}


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a comparison was run; stored in comparison.json.

    ``limit`` and ``once`` are in seconds; a fit that took longer than ``once`` is not repeated.
    ``cold_seconds`` is the time of a first call before anything was compiled, ``cached_seconds``
    that of a first call in a later process.
    """

    sessions: tuple[Session, ...]
    threads: int
    limit: float
    once: float
    memory_gb: float
    cold_seconds: float | None = None
    cached_seconds: float | None = None


def read_conditions(folder: Path) -> Conditions | None:
    """Return the conditions in a folder, or None."""
    path = folder / _FILE
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    sessions = tuple(Session(**each) for each in record.pop("sessions"))
    return Conditions(sessions=sessions, **record)


def write_conditions(folder: Path, conditions: Conditions) -> None:
    """Write the conditions to a folder."""
    write_text(folder / _FILE, json.dumps(asdict(conditions), indent=1) + "\n")


def finish_session(folder: Path, n_results: int, minutes: int) -> None:
    """Record what the last session did; one that added no result is removed."""
    conditions = read_conditions(folder)
    assert conditions is not None
    *earlier, last = conditions.sessions
    done = [replace(last, n_results=n_results, minutes=minutes)] if n_results or not earlier else []
    write_conditions(folder, replace(conditions, sessions=(*earlier, *done)))


def write(folder: Path, results: list[Result], conditions: Conditions | None) -> None:
    """Write folder/README.md."""
    write_text(folder / "README.md", "\n".join(_paragraphs(results, conditions)) + "\n")


def problems_of(results: list[Result]) -> list[Problem]:
    """Return the problems that have results, the smallest first."""
    names = {result.problem for result in results}
    found = [problem for name, problem in _PROBLEMS.items() if name in names]
    return sorted(found, key=lambda p: (p.n * p.n_target * p.d, p.name))


def _paragraphs(results: list[Result], conditions: Conditions | None) -> Iterator[str]:
    yield from ("# Comparison with other packages", "")
    if conditions is not None:
        yield from condition_lines(conditions)
    yield from load_lines(results)
    names = [problem.name for problem in problems_of(results)]
    headline = next((name for name in (*HEADLINES, *names) if name in names), None)
    if headline is not None:
        yield from ("", f"![Cost against time]({headline}.svg)")
    yield from ("", "## Ratios", "")
    yield (
        "Cost is divided by the lowest mean cost on the same problem; ± is the standard deviation "
        f"over the seeds on that scale. Time is divided by the time of {REFERENCE} in the same "
        "round (geometric mean over the rounds, and their range). † marks methods that need the "
        "whole matrix: their time includes computing it, and the time of the matrix is given after "
        "the seconds. Packages that expect a matrix get the one of scikit-learn's "
        "pairwise_distances. MB is the peak of memory above the memory of the process before the "
        "fit. Methods of this package are in bold. Differences smaller than the standard "
        "deviations are not significant. The constants of `lazybandit` were chosen on MNIST, with "
        "other seeds; [how it works](../../how-it-works.md#are-the-defaults-fitted-to-mnist) tests "
        "them on other data."
    )
    for problem in problems_of(results):
        yield from _table(results, problem)
    yield from failure_lines(results, CONTESTANTS)
    yield from contestant_lines(results, CONTESTANTS)


def condition_lines(conditions: Conditions) -> Iterator[str]:
    """Yield how a comparison was run."""
    c = conditions
    for session in merged(c.sessions):
        yield from (f"Run on {session}. Machine: {session.machine}.", "")
    yield (
        f"Each fit has its own process with {c.threads} threads, {c.limit:g} s and "
        f"{c.memory_gb:.0f} GB of memory. Only the fit is timed: imports, reading the rows and a "
        "first fit of a few rows come before. All contestants read the same float32 files. The "
        "cost is recomputed from the returned row numbers, in float64, over all target rows."
    )
    yield ""
    yield (
        "Each round has one seed, and the contestants are interleaved. Contestants that draw no "
        f"random numbers, and fits that took over {c.once:g} s, run in the first round only. After "
        "a fit exceeds the limit, larger fits of the same contestant are not tried."
    )
    if c.cold_seconds is not None and c.cached_seconds is not None:
        yield ""
        yield (
            "A first call of protobandit in a new process (4,200 rows, k = 13), imports included, "
            f"takes {c.cold_seconds:.1f} s if nothing has been compiled before, and "
            f"{c.cached_seconds:.1f} s afterwards."
        )


def load_lines(results: list[Result]) -> Iterator[str]:
    """Yield how busy other processes kept the machine."""
    loads = [r.others_cores for r in results if r.others_cores is not None]
    if not loads:
        return
    n_disturbed = sum(load > _DISTURBED for load in loads)
    warning = " These times are not reliable." if median(loads) > _DISTURBED else ""
    yield ""
    yield (
        f"Other processes kept {median(loads):.2f} cores busy (median over fits; more than "
        f"{_DISTURBED} in {n_disturbed} of {len(loads)} fits).{warning}"
    )


def _table(results: list[Result], problem: Problem) -> Iterator[str]:
    ks = sorted({r.k for r in results if r.problem == problem.name})
    by_k = {k: {line.contestant: line for line in lines(results, problem.name, k)} for k in ks}
    yield from ("", f"### {problem.title}", "")
    heads = ["cost", "time", "seconds", "MB", "seeds"]
    yield "| | " + " | ".join(f"k = {k}: {heads[0]} | " + " | ".join(heads[1:]) for k in ks) + " |"
    yield "|---" * (1 + len(heads) * len(ks)) + "|"
    last = by_k[ks[-1]]
    order = sorted(
        (c for c in CONTESTANTS if any(c.name in found for found in by_k.values())),
        key=lambda c: last[c.name].cost if c.name in last else float("inf"),
    )
    for contestant in order:
        cells = [_cells(by_k[k].get(contestant.name), k) for k in ks]
        yield f"| {shown_name(contestant)} | " + " | ".join(cells) + " |"


def _cells(line: Line | None, k: int) -> str:
    if line is None:
        return " | ".join("–" * 5)
    fewer = "" if line.n_prototypes == k else f" ({line.n_prototypes} rows)"
    spread = "" if line.cost_spread is None else f" ± {line.cost_spread:.4f}"
    matrix = "" if line.matrix_seconds is None else f" (matrix {line.matrix_seconds:.2g})"
    memory = "–" if line.extra_mb is None else f"{line.extra_mb:,.0f}"
    cost, seconds = f"{line.cost_ratio:.4f}{spread}{fewer}", f"{line.seconds:.3g}{matrix}"
    return f"{cost} | {_time(line)} | {seconds} | {memory} | {line.n_seeds}"


def _time(line: Line) -> str:
    if line.time_ratio is None or line.time_range is None:
        return "–"
    smallest, largest = (f"{ratio:.3g}" for ratio in line.time_range)
    spread = f" ({smallest} to {largest})" if smallest != largest else ""
    return f"{line.time_ratio:.3g}{spread}"


def shown_name(contestant: Contestant) -> str:
    """Return a name as Markdown: † if it needs a matrix, bold if it is ours."""
    name = contestant.name + (" †" if contestant.has_matrix else "")
    return f"**{name}**" if contestant.is_ours else name


def failure_lines(results: list[Result], contestants: tuple[Contestant, ...]) -> Iterator[str]:
    """Yield a table of the reasons of fits without a result."""
    failed: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if not result.is_done:
            failed.setdefault((result.contestant, result.reason), []).append(result)
    yield from ("", "## Fits without a result", "")
    if not failed:
        yield "All contestants finished all fits."
        return
    yield from ("| | reason | problems |", "|---|---|---|")
    order = [contestant.name for contestant in contestants]
    for (name, reason), cells in sorted(failed.items(), key=lambda item: order.index(item[0][0])):
        where = sorted({(r.n * r.n_target * r.d, r.problem, r.k) for r in cells})
        places = "all" if cells[0].status == MISSING else _places(where)
        yield f"| {name} | {reason} | {places} |"


def _places(where: list[tuple[int, str, int]]) -> str:
    return ", ".join(f"{problem} k = {k}" for _, problem, k in where)


def contestant_lines(results: list[Result], contestants: tuple[Contestant, ...]) -> Iterator[str]:
    """Yield a table of the contestants and their packages."""
    yield from ("", "## Contestants", "")
    yield from ("| | package | Python | separate target | |", "|---|---|---|---|---|")
    for contestant in contestants:
        runs = [r for r in results if r.contestant == contestant.name]
        version, python = next(((r.version, r.python) for r in runs if r.is_done), ("", "–"))
        target = "yes" if contestant.takes_target else "no"
        package = _package(contestant, version)
        yield f"| {shown_name(contestant)} | {package} | {python} | {target} | {contestant.note} |"


def _package(contestant: Contestant, version: str) -> str:
    if contestant.environment is None:
        return f"protobandit {version}".strip()
    return packages(contestant.environment)[0].replace("==", " ")
