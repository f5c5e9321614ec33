"""README.md and figures of the large-scale comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from benchmarks.common.files import write_text
from benchmarks.common.pages import table
from benchmarks.comparison import figure
from benchmarks.comparison.large import figures
from benchmarks.comparison.large.bars import LEAST_K, TOLERANCE, Verdict, frontiers, verdicts
from benchmarks.comparison.large.contestants import CONTESTANTS, REFERENCE, STATED
from benchmarks.comparison.large.problems import FULL, QUICK
from benchmarks.comparison.large.ratios import Fits
from benchmarks.comparison.page import (
    Conditions,
    condition_lines,
    contestant_lines,
    failure_lines,
    load_lines,
    shown_name,
)
from benchmarks.comparison.problems import Problem
from benchmarks.comparison.results import LIMIT, Result

_OWN = figure.Own.of("auto", CONTESTANTS)
_NONE = "–"


def publish(folder: Path, results: list[Result], conditions: Conditions | None) -> None:
    """Write README.md and the figures."""
    problems = _problems_of(results)
    pictures = []
    for problem in problems:
        if figure.draw(results, problem.name, problem.title, folder, _OWN):
            pictures.append((f"{problem.title}: cost against time", f"{problem.name}.svg"))
    if figures.draw_against_k(results, problems, folder / "against-k.svg"):
        pictures.append(("Time and memory against k", "against-k.svg"))
    if figures.draw_against_rows(results, folder / "against-rows.svg"):
        pictures.append(("Time and memory against the number of rows", "against-rows.svg"))
    lines = _paragraphs(results, problems, conditions, pictures)
    write_text(folder / "README.md", "\n".join(lines) + "\n")


def _problems_of(results: list[Result]) -> list[Problem]:
    names = {result.problem for result in results}
    return [problem for problem in QUICK + FULL if problem.name in names]


def _paragraphs(
    results: list[Result],
    problems: list[Problem],
    conditions: Conditions | None,
    pictures: list[tuple[str, str]],
) -> Iterator[str]:
    yield from ("# Comparison at large scale", "")
    if conditions is not None:
        yield from condition_lines(conditions)
    yield from load_lines(results)
    yield from _total(results, conditions)
    yield ""
    yield (
        "All rows but MNIST are generated, from seeds on which no constant of this package was "
        "chosen; some constants of both engines were chosen on MNIST, with other seeds of the "
        "fits. The embeddings are synthetic: none of the packages used here contains real "
        "ones. They are rows of length 1 with clusters and a decaying spectrum, and are "
        "compared by cosine; k-means runs on these rows. A method that finds centres is "
        "followed by the nearest distinct rows, and its time includes finding them. A "
        "contestant that reached the limit is not tried at a larger k or on more rows of the "
        "same data."
    )
    yield from _bars(results)
    yield from _frontier(results)
    yield from ("", "## Pictures")
    for title, name in pictures:
        yield from ("", f"![{title}]({name})")
    yield from ("", "## Ratios", "")
    yield (
        f"Cost and time are divided by those of **{REFERENCE}**, the plain call, in the same "
        "round: geometric mean over the rounds, with the range in brackets. A cost above 1 is "
        "worse than ours, a time above 1 is slower. MB is the growth of memory during the fit. "
        "Methods of this package are in bold."
    )
    for problem in problems:
        for k in sorted({r.k for r in results if r.problem == problem.name}):
            yield from ("", f"### {problem.title}, k = {k:,}", "")
            yield _table(Fits(results, problem.name, k), k)
    yield from failure_lines(results, CONTESTANTS)
    yield from contestant_lines(results, CONTESTANTS)


def _total(results: list[Result], conditions: Conditions | None) -> Iterator[str]:
    """Yield the total time of the fits and, if known, of the sessions."""
    seconds = sum(r.limit if r.status == LIMIT else r.seconds or 0.0 for r in results)
    sessions = () if conditions is None else conditions.sessions
    minutes = sum(session.minutes or 0 for session in sessions)
    whole = f"; the sessions took {minutes:,} min, with imports and the computation of costs"
    yield ""
    yield (
        f"Total time: the {len(results):,} fits took {seconds / 60:,.0f} min"
        f"{whole if minutes else ''}."
    )


def _bars(results: list[Result]) -> Iterator[str]:
    found = [*verdicts(results)]
    yield from ("", "## Goals", "")
    yield (
        "Cost and time of ours divided by those of the rival in the same rounds (geometric means), "
        f"beside goals that were set before the measurement. For k = 100 ours is `{STATED}`, the "
        f"same effort on all data, or the same effort as the rival's; for larger k it is the plain "
        f"call. "
        f"Met: {_count(found, 'met')}, missed: {_count(found, 'missed')}, open: "
        f"{_count(found, 'open')} of {len(found)}."
    )
    yield ""
    header = ["problem", "ours", "rival", "cost", "goal", "time", "goal", "GB", "goal", "verdict"]
    yield table(header, [_bar_row(verdict) for verdict in found])
    yield ""
    yield (
        "Not part of this grid: k = 100,000, and sources larger than memory "
        "([scaling](../../scaling.md))."
    )


def _bar_row(verdict: Verdict) -> list[str]:
    bar, ratio = verdict.bar, verdict.ratio
    aim = "" if bar.aim is None else f" (aim {bar.aim:.3f})"
    is_aim = bar.aim is not None and ratio is not None and ratio.cost[0] <= bar.aim
    is_reached = is_aim and verdict.status == "met"
    reason = f": {verdict.reason}" if verdict.reason else ", aim reached" if is_reached else ""
    return [
        f"{bar.problem} k = {bar.k:,}",
        f"**{bar.ours}**",
        bar.rival,
        _NONE if ratio is None else f"{ratio.cost[0]:.4f}",
        f"{'<' if bar.is_strict else '≤'} {bar.cost:.3f}{aim}",
        _NONE if ratio is None else f"{ratio.time[0]:.3g}",
        f"≤ {bar.time:.3g}",
        _NONE if verdict.growth is None else f"{verdict.growth / 1e9:.2f}",
        _NONE if bar.gigabytes is None else f"≤ {bar.gigabytes:g}",
        f"**{verdict.status}**{reason}",
    ]


def _count(found: list[Verdict], status: str) -> int:
    return sum(verdict.status == status for verdict in found)


def _frontier(results: list[Result]) -> Iterator[str]:
    found = [*frontiers(results)]
    missed = [each for each in found if not each.is_met]
    yield from ("", "### Our best cost in the time of a rival", "")
    yield (
        f"For k ≥ {LEAST_K}, no rival (random rows excluded) should be more than {TOLERANCE:.1%} "
        "below the best cost of our methods in its own time. This holds in "
        f"{len(found) - len(missed)} of {len(found)} cases." + (" The others:" if missed else "")
    )
    if missed:
        rows = [
            [
                f"{each.problem} k = {each.k:,}",
                each.rival,
                "all of ours are slower" if each.ours is None else f"**{each.ours}**",
                _NONE if each.cost is None else f"{each.cost:.4f}",
            ]
            for each in missed
        ]
        yield ""
        yield table(["problem", "rival", "best of ours in its time", "its cost / ours"], rows)


def _table(fits: Fits, k: int) -> str:
    names = set(fits.names())
    contestants = [c for c in CONTESTANTS if c.name in names]
    contestants.sort(key=lambda c: geometric_mean([r.cost or 0.0 for r in fits.of(c.name)]))
    rows = []
    for contestant in contestants:
        runs, ratio = fits.of(contestant.name), fits.ratio(contestant.name, REFERENCE)
        growth = fits.growth(contestant.name)
        fewest = min(run.n_prototypes or 0 for run in runs)
        rows.append(
            [
                shown_name(contestant) + ("" if fewest == k else f" ({fewest:,} rows)"),
                _NONE if ratio is None else _ranged(ratio.cost, ".4f"),
                _NONE if ratio is None else _ranged(ratio.time, ".3g"),
                f"{geometric_mean([run.seconds or 0.0 for run in runs]):.3g}",
                _NONE if growth is None else f"{growth / 1e6:,.0f}",
                str(len(runs)),
            ]
        )
    return table(["", "cost", "time", "seconds", "MB", "seeds"], rows, rule="---:")


def _ranged(values: tuple[float, float, float], form: str) -> str:
    mean, smallest, largest = (format(value, form) for value in values)
    return mean if smallest == largest else f"{mean} ({smallest} to {largest})"
