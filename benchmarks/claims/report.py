"""The report on a claim, and the page of all reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.common.pages import escaped, markdown, table
from benchmarks.common.sessions import Session, machines

Row: TypeAlias = dict[str, Any]

_TITLE = "# The other claims of the paper"
_COUNTS = (
    "*Evaluations*, our count, are dissimilarities computed by the search, without those that "
    "measure the cost of its result. *Comparisons* follow the paper's rule: no distance is stored, "
    "so a pull of an arm at a target row costs |M| + 1. Counts hardly depend on the machine. "
    "Seconds do, and are noisy if other processes use it."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Folders of the data and of the environments of other packages, and the number of seeds."""

    data: Path | None = None
    peers: Path | None = None
    seeds: int = 5


@dataclass(frozen=True, kw_only=True)
class Report:
    """One claim: the words of the paper, the results, and whether they agree.

    ``summary`` is the main table, ``more`` contains further tables by caption. ``draw`` writes the
    figure to a path.
    """

    name: str
    title: str
    claim: str
    verdict: str
    findings: Sequence[str]
    summary: Sequence[Row]
    more: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    setting: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Claim:
    """How to measure the figures of a claim, and how to report on them."""

    measure: Callable[[Options], list[Row]]
    report: Callable[[list[Row]], Report]


def page(reports: Sequence[Report], sessions: Mapping[str, Session]) -> str:
    """Return the page: an overview, then one section per claim."""
    known = {report.name: sessions[report.name] for report in reports if report.name in sessions}
    parts = [_TITLE, *machines(known), _COUNTS, overview(reports)]
    parts += [section(report, sessions.get(report.name)) for report in reports]
    return "\n\n".join(parts) + "\n"


def overview(reports: Sequence[Report]) -> str:
    """Return a table of the claims and their verdicts."""
    rows = [[escaped(report.title), escaped(report.verdict)] for report in reports]
    return table(["claim", "result"], rows)


def section(report: Report, session: Session | None = None) -> str:
    """Return the section of a claim."""
    parts = [
        f"## {report.title}",
        f"> {escaped(report.claim)}",
        f"**{escaped(report.verdict)}**",
        "\n".join(f"- {escaped(finding)}" for finding in report.findings),
        markdown(report.summary),
    ]
    for caption, rows in report.more.items():
        parts += [escaped(caption), markdown(rows)]
    parts += [
        f"![{report.title}]({report.name}.svg)",
        f"{escaped(report.setting)} All figures: [{report.name}.csv]({report.name}.csv).",
        f"Run on {session}." if session else "Date and command were not recorded.",
    ]
    return "\n\n".join(parts)
