"""The page: an overview, then a section for each claim that has figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.claims._report import Report, escaped, markdown
from benchmarks.claims._sessions import Session

_TITLE = "# The rest of the paper's claims, on real runs"
_COUNTS = (
    "*Evaluations*, our count, are dissimilarities computed. *Comparisons* are counted by the "
    "paper's rule: nothing is kept, so a pull of an arm at a target row costs |M| + 1. Counts "
    "hardly depend on the machine; seconds do, and are noisy where others use it."
)


def page(reports: Sequence[Report], sessions: Mapping[str, Session]) -> str:
    """Return the whole page."""
    parts = [_TITLE, *_machines(reports, sessions), _COUNTS, overview(reports)]
    parts += [section(report, sessions.get(report.name)) for report in reports]
    return "\n\n".join(parts) + "\n"


def _machines(reports: Sequence[Report], sessions: Mapping[str, Session]) -> list[str]:
    """Return on what the claims were run: in one sentence, or one for each machine."""
    names: dict[str, list[str]] = {}
    for report in reports:
        if report.name in sessions:
            names.setdefault(sessions[report.name].machine, []).append(report.name)
    if len(names) == 1 and len(*names.values()) == len(reports):
        return [f"Run on {next(iter(names))}."]
    return [f"Run on {machine}: {', '.join(some)}." for machine, some in names.items()]


def overview(reports: Sequence[Report]) -> str:
    """Return a table of the claims, and what became of them."""
    lines = [["claim", "on our runs"], ["---", "---"], *([r.title, r.verdict] for r in reports)]
    cells = ((escaped(cell).replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def section(report: Report, held: Session | None = None) -> str:
    """Return what the page says of a claim."""
    how = f"Run on {held}." if held else "When and how it was run was not written down."
    parts = [
        f"## {report.title}",
        f"> {escaped(report.claim)}",
        f"**{escaped(report.verdict)}**",
        "\n".join(f"- {escaped(finding)}" for finding in report.findings),
        markdown(report.summary),
    ]
    for caption, table in report.more.items():
        parts += [escaped(caption), markdown(table)]
    parts += [
        f"![{report.title}]({report.name}.svg)",
        f"{escaped(report.setting)} All figures: [{report.name}.csv]({report.name}.csv).",
        how,
    ]
    return "\n\n".join(parts)
