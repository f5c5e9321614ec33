"""Write the tables of README.md and docs/benchmarks.md from the figures in docs/results.

    python -m benchmarks.readme

A table lies between ``<!-- table NAME -->`` and ``<!-- end -->``; the text between is replaced.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.common.files import write_text
from benchmarks.common.pages import scientific, with_tables
from benchmarks.comparison import results
from benchmarks.comparison.contestants import CONTESTANTS
from benchmarks.comparison.ratios import Line, lines

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
_RESULTS = ROOT / "docs" / "results"

# Method, epsilon and nu_step in the summary of benchmarks.paper, and their names here.
_PAPER = {
    ("spot_m", "0", "0"): "`lazygreedy` (exact greedy, the whole matrix)",
    ("protobandit", "0.2", "0.05"): "`protobandit`, ε = 0.2, ν₀ = 0.05, early stop",
    ("uniform", "0", "0"): "one uniform sample of the target, greedy on it",
    ("lazybandit-fast", "0", "0"): '`lazybandit`, `effort="fast"`',
    ("lazybandit-balanced", "0", "0"): '`lazybandit`, `effort="balanced"`, the default',
    ("random", "0", "0"): "random rows",
}
_COMPARED = (
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
_KS = (10, 100)


def main() -> None:
    for page in PAGES:
        write_text(page, with_tables(page.read_text(encoding="utf-8"), TABLES))


def paper_table() -> Iterator[str]:
    """Yield loss and evaluations on balanced MNIST, k = 100."""
    figures = _summary("mnist", skew="10", k="100")
    greedy = figures["spotgreedy", "0", "0", "evaluations"][0]
    all_pairs = figures["spot_m", "0", "0", "evaluations"][0]
    yield "| | evaluations | of SPOTgreedy's | of all pairs | loss of f |"
    yield "|---|---|---|---|---|"
    for key, name in _PAPER.items():
        n, _ = figures[(*key, "evaluations")]
        loss, deviation = figures[(*key, "loss")]
        shares = f"{_share(n, greedy)} | {_share(n, all_pairs)}"
        yield f"| {name} | {scientific(n)} | {shares} | {_percent(loss, deviation)} |"


def comparison_table() -> Iterator[str]:
    """Yield cost and seconds of k-medoids of 20,000 images with 784 columns."""
    fits = results.read(_RESULTS / "comparison" / "comparison.csv")
    found = {k: {line.contestant: line for line in lines(fits, "mnist-20000", k)} for k in _KS}
    yield "| | " + " | ".join(f"k = {k}: cost | seconds" for k in _KS) + " |"
    yield "|---" * (1 + 2 * len(_KS)) + "|"
    contestants = {contestant.name: contestant for contestant in CONTESTANTS}
    for name in _COMPARED:
        shown = f"`{name}`" if contestants[name].is_ours else name
        shown += " (matrix and fit)" if contestants[name].has_matrix else ""
        yield f"| {shown} | " + " | ".join(_cells(found[k].get(name)) for k in _KS) + " |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "paper": paper_table,
    "comparison": comparison_table,
}


def _summary(name: str, **setting: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return mean and standard deviation by method, epsilon, nu_step and measure."""
    path = _RESULTS / "paper" / f"{name}-summary.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if all(r[c] == v for c, v in setting.items())]
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


def _percent(mean: float, deviation: float) -> str:
    if mean == deviation == 0:
        return "0"
    sign = "−" if mean < 0 else ""
    return f"{sign}{100 * abs(mean):.2f} ± {100 * deviation:.2f} %"


if __name__ == "__main__":
    main()
