"""Write the tables of README.md and docs/benchmarks.md from the figures in docs/results.

    python -m benchmarks.readme

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; what is between is replaced.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks._files import write_text
from benchmarks.comparison import _results
from benchmarks.comparison._contestants import CONTESTANTS
from benchmarks.comparison._ratios import Line, lines

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
_RESULTS = ROOT / "docs" / "results"
_TABLE = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

# Method, epsilon and nu_step in benchmarks.paper's summary, and how they are called here.
_PAPER = {
    ("spot_m", "0", "0"): "`lazygreedy` (exact greedy, the whole matrix)",
    ("protobandit", "0.2", "0.05"): "`protobandit`, ε = 0.2, ν₀ = 0.05, early stop",
    ("uniform", "0", "0"): "one uniform sample of the target, greedy on it",
    ("lazybandit-fast", "0", "0"): '`lazybandit`, `effort="fast"`',
    ("lazybandit-balanced", "0", "0"): '`lazybandit`, `effort="balanced"`, the default',
    ("random", "0", "0"): "random rows",
}
_RACE = (
    "lazybandit 0.3",
    "lazybandit fast",
    "lazybandit balanced",
    "lazybandit thorough",
    "fasterpam",
    "MiniBatchKMeans + rows",
    "KMeans + rows",
    "OneBatchPAM",
    "sklearn-extra alternate",
    "kmedoids FasterPAM",
)


def main() -> None:
    for page in PAGES:
        write_text(page, renewed(page.read_text(encoding="utf-8")))


def renewed(words: str) -> str:
    """Return a page with its tables as the figures are now."""

    def table(found: re.Match[str]) -> str:
        return found[1] + "\n".join(TABLES[found[2]]()) + "\n" + found[4]

    return _TABLE.sub(table, words)


def paper_table() -> Iterator[str]:
    """Yield loss and evaluations on balanced MNIST, k = 100."""
    figures = _summary("mnist", skew="10", k="100")
    greedy = figures["spotgreedy", "0", "0", "evaluations"][0]
    memoised = figures["spot_m", "0", "0", "evaluations"][0]
    yield "| | evaluations | of SPOTgreedy's | of all pairs | loss of f |"
    yield "|---|---|---|---|---|"
    for key, name in _PAPER.items():
        n, _ = figures[(*key, "evaluations")]
        loss, spread = figures[(*key, "loss")]
        shares = f"{_share(n, greedy)} | {_share(n, memoised)}"
        yield f"| {name} | {_power(n)} | {shares} | {_percent(loss, spread)} |"


def race_table() -> Iterator[str]:
    """Yield cost and seconds of k-medoids of 20,000 images, 784 columns."""
    results = _results.read(_RESULTS / "race" / "race.csv")
    found = {k: {line.contestant: line for line in lines(results, "mnist-20000", k)} for k in _KS}
    yield "| | " + " | ".join(f"k = {k}: cost | seconds" for k in _KS) + " |"
    yield "|---" * (1 + 2 * len(_KS)) + "|"
    known = {contestant.name: contestant for contestant in CONTESTANTS}
    for name in _RACE:
        shown = f"`{name}`" if known[name].is_ours else name
        shown += " (matrix and fit)" if known[name].has_matrix else ""
        yield f"| {shown} | " + " | ".join(_cells(found[k].get(name)) for k in _KS) + " |"


_KS = (10, 100)
TABLES: dict[str, Callable[[], Iterator[str]]] = {"paper": paper_table, "race": race_table}


def _summary(name: str, **cell: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return mean and standard deviation by method, epsilon, nu_step and measure."""
    path = _RESULTS / "paper" / f"{name}-summary.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if all(r[c] == v for c, v in cell.items())]
    names = ("method", "epsilon", "nu_step", "measure")
    return {tuple(r[n] for n in names): (float(r["mean"]), float(r["sd"])) for r in rows}


def _cells(line: Line | None) -> str:
    if line is None:
        return "not within the limit | –"
    spread = line.cost_spread
    deviation = "" if spread is None else f" ± {spread * line.cost / line.cost_ratio:.4f}"
    return f"{line.cost:.4f}{deviation} | {line.seconds:.2f}"


def _share(n: float, whole: float) -> str:
    return "0" if n == 0 else "all" if n == whole else f"1/{float(f'{whole / n:.3g}'):,.0f}"


def _power(n: float) -> str:
    return f"{n:.1e}".replace("e+0", "e") if n else "0"


def _percent(mean: float, deviation: float) -> str:
    if mean == deviation == 0:
        return "0"
    sign = "−" if mean < 0 else ""
    return f"{sign}{100 * abs(mean):.2f} ± {100 * deviation:.2f} %"


if __name__ == "__main__":
    main()
