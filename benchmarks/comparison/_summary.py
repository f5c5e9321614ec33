"""README.md of a race: how it was run, by whom, tables of ratios, failures, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks._files import write_text
from benchmarks.comparison._contestants import CONTESTANTS, REFERENCE, Contestant
from benchmarks.comparison._problems import FULL, HEADLINES, QUICK, Problem
from benchmarks.comparison._ratios import Line, lines
from benchmarks.comparison._results import MISSING, Result
from benchmarks.peers.setup import packages

_DISTURBED = 0.2
_PROBLEMS = {problem.name: problem for problem in QUICK + FULL}


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """How a race was run; kept beside its results."""

    command: str
    machine: str
    date: str
    threads: int
    limit: float
    once: float
    memory_gb: float
    cold_seconds: float | None = None
    cached_seconds: float | None = None
    commit: str = ""


def write(folder: Path, results: list[Result], circumstances: Circumstances) -> None:
    """Write folder/README.md."""
    write_text(folder / "README.md", "\n".join(_paragraphs(results, circumstances)) + "\n")


def raced(results: list[Result]) -> list[Problem]:
    """Return the problems that results are of, the smallest first."""
    names = {result.problem for result in results}
    found = [problem for name, problem in _PROBLEMS.items() if name in names]
    return sorted(found, key=lambda p: (p.n * p.n_target * p.d, p.name))


def _paragraphs(results: list[Result], circumstances: Circumstances) -> Iterator[str]:
    yield from ("# A race against every rival", "")
    yield from _how(results, circumstances)
    names = [problem.name for problem in raced(results)]
    headline = next((name for name in (*HEADLINES, *names) if name in names), None)
    if headline is not None:
        yield from ("", f"![Cost against time]({headline}.svg)")
    yield from ("", "## Ratios", "")
    yield (
        "Cost is divided by the lowest mean cost on the same problem; ± is the standard deviation "
        "over the seeds on that scale. Time is divided by that of "
        f"{REFERENCE} in the same round (geometric mean over the rounds, and their range). † is "
        "timed with the making of its whole matrix, and how long that takes is said beside the "
        "seconds; rivals that are given a matrix get scikit-learn's pairwise_distances. MB is the "
        "peak of memory beyond what the process held before the fit. Methods of this package are "
        "in bold. Rows that are not apart by more than the deviations are not apart."
    )
    for problem in raced(results):
        yield from _table(results, problem)
    yield from _failures(results)
    yield from _who(results)


def _how(results: list[Result], circumstances: Circumstances) -> Iterator[str]:
    c = circumstances
    at = f" at commit {c.commit}" if c.commit else ""
    yield from ("```", c.command, "```", "")
    yield (
        f"Run on {c.date}{at}: {c.machine}. Every fit is a process of its own with {c.threads} "
        f"threads, {c.limit:g} s and {c.memory_gb:.0f} GB of memory. The clock runs for the fit "
        "alone: imports, reading the rows and a first fit of a few rows come before. Rows are the "
        "same float32 files for all; the cost is computed anew from the row numbers that come "
        "back, in float64, over all target rows."
    )
    yield ""
    yield (
        "Rounds have a seed each, and all contestants take turns in them. Those that draw no "
        f"random numbers, and fits that took over {c.once:g} s, run in the first round only. After "
        "a fit that did not end in time, no larger one is tried."
    )
    loads = [r.others_cores for r in results if r.others_cores is not None]
    if loads:
        n_disturbed = sum(load > _DISTURBED for load in loads)
        yield ""
        yield (
            f"Other processes kept {median(loads):.2f} cores busy (median over fits; more than "
            f"{_DISTURBED} in {n_disturbed} of {len(loads)} fits)."
            + (" These times are disturbed." if median(loads) > _DISTURBED else "")
        )
    if c.cold_seconds is not None and c.cached_seconds is not None:
        yield ""
        yield (
            "A first call of ours in a fresh process (4,200 rows, k = 13), imports included, takes "
            f"{c.cold_seconds:.1f} s when nothing has been compiled before, and "
            f"{c.cached_seconds:.1f} s afterwards."
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
        yield f"| {_shown(contestant)} | " + " | ".join(cells) + " |"


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
    least, most = (f"{ratio:.3g}" for ratio in line.time_range)
    return f"{line.time_ratio:.3g}" + (f" ({least} to {most})" if least != most else "")


def _shown(contestant: Contestant) -> str:
    name = contestant.name + (" †" if contestant.has_matrix else "")
    return f"**{name}**" if contestant.is_ours else name


def _failures(results: list[Result]) -> Iterator[str]:
    failed: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if not result.is_done:
            failed.setdefault((result.contestant, result.reason), []).append(result)
    yield from ("", "## Not done", "")
    if not failed:
        yield "Every contestant ended every fit it can be asked for."
        return
    yield from ("| | reason | where |", "|---|---|---|")
    order = [contestant.name for contestant in CONTESTANTS]
    for (name, reason), cells in sorted(failed.items(), key=lambda item: order.index(item[0][0])):
        where = sorted({(r.n * r.n_target * r.d, r.problem, r.k) for r in cells})
        places = "everywhere" if cells[0].status == MISSING else _places(where)
        yield f"| {name} | {reason} | {places} |"


def _places(where: list[tuple[int, str, int]]) -> str:
    return ", ".join(f"{problem} k = {k}" for _, problem, k in where)


def _who(results: list[Result]) -> Iterator[str]:
    yield from ("", "## Who raced", "")
    yield from ("| | package | Python | separate target | |", "|---|---|---|---|---|")
    for contestant in CONTESTANTS:
        runs = [r for r in results if r.contestant == contestant.name]
        version, python = next(((r.version, r.python) for r in runs if r.is_done), ("", "–"))
        target = "yes" if contestant.takes_target else "no"
        package = _package(contestant, version)
        yield f"| {_shown(contestant)} | {package} | {python} | {target} | {contestant.note} |"


def _package(contestant: Contestant, version: str) -> str:
    if contestant.environment is None:
        return f"protobandit {version}".strip()
    return packages(contestant.environment)[0].replace("==", " ")
