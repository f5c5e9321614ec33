"""Write the figures of README.md and of the pages in docs from the data files in docs/results.

    python -m benchmarks.readme

Text between ``<!-- table NAME -->`` and ``<!-- end -->`` is replaced: tables, and sentences with
figures. Each ends with a line that names its data file, and the command, commit and date recorded
there. A test compares pages and data files, so a number that was edited by hand is found.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.claims.__main__ import CLAIMS
from benchmarks.claims.report import overview
from benchmarks.common import sessions
from benchmarks.common.files import write_text
from benchmarks.common.pages import scientific, table, with_tables
from benchmarks.common.records import RESULTS, Measurement, read_csv, read_measurement
from benchmarks.common.sessions import Session
from benchmarks.comparison import page as comparison_page
from benchmarks.comparison import results
from benchmarks.comparison.contestants import CONTESTANTS, HEADLINE_NAMES
from benchmarks.comparison.large.contestants import FAISS, MINIBATCH
from benchmarks.comparison.large.contestants import REFERENCE as PLAIN
from benchmarks.comparison.large.problems import FULL as LARGE
from benchmarks.comparison.large.ratios import Fits
from benchmarks.comparison.problems import HEADLINE
from benchmarks.comparison.ratios import Line, lines
from protobandit.methods import METHODS
from protobandit.result.report.number_format import format_duration

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
)
SUPPORTED = ("fixed", "groups", "costs", "min_distance", "until")

# Method, epsilon and nu_step in the summary of benchmarks.paper, and their names here.
_PAPER = {
    ("spot_m", "0", "0"): "`lazygreedy` (exact greedy, the whole matrix)",
    ("protobandit", "0.2", "0.05"): "`protobandit`, ε = 0.2, ν₀ = 0.05, early stop",
    ("uniform", "0", "0"): "one uniform sample of the target, greedy on it",
    ("lazybandit-fast", "0", "0"): '`lazybandit`, `effort="fast"`',
    ("lazybandit-balanced", "0", "0"): '`lazybandit`, `effort="balanced"`',
    ("random", "0", "0"): "random rows",
}
_RIVAL = "kmedoids FasterPAM"
_LARGE_COUNTS = (100, 1_000)  # numbers of prototypes of the table in README.md
DISTURBED = 0.2  # cores of other processes


def main() -> None:
    for page in PAGES:
        write_text(page, with_tables(page.read_text(encoding="utf-8"), blocks_for(page)))


def blocks_for(page: Path) -> dict[str, Callable[[], Iterator[str]]]:
    """Return the functions that make the blocks of a page; links are relative to it."""
    folder = Path(os.path.relpath(RESULTS, page.parent)).as_posix()
    return {name: partial(make, folder) for name, make in BLOCKS.items()}


# -- where figures come from ----------------------------------------------------------------------


def _measured(name: str) -> Measurement:
    return read_measurement(RESULTS / name)


def _data_line(folder: str, name: str, session: Session, remark: str = "") -> str:
    commit = f"commit {session.commit}" if session.commit else session.note
    where = f"[{name}]({folder}/{name})"
    return f"Data: {where}, {session.shown_command}, {commit}, {session.date}.{remark}"


def _load(cores: float | None) -> str:
    """Return how busy others kept the machine, on which times depend."""
    if cores is None:
        return ""
    warning = "; these times are not reliable" if cores > DISTURBED else ""
    return f" Other processes kept {cores:.1f} cores busy meanwhile{warning}."


# -- the paper's problems -------------------------------------------------------------------------


def paper(folder: str) -> Iterator[str]:
    """Yield loss and evaluations on balanced MNIST, k = 100."""
    figures = _summary("mnist", skew="10", k="100")
    greedy = figures["spotgreedy", "0", "0", "evaluations"][0]
    all_pairs = figures["spot_m", "0", "0", "evaluations"][0]
    yield "| | evaluations of the search | of SPOTgreedy's | of all pairs | loss of f |"
    yield "|---|---|---|---|---|"
    for key, name in _PAPER.items():
        n, _ = figures[(*key, "evaluations")]
        loss, deviation = figures[(*key, "loss")]
        shares = f"{_share(n, greedy)} | {_share(n, all_pairs)}"
        yield f"| {name} | {scientific(n)} | {shares} | {_percent(loss, deviation)} |"
    yield ""
    yield (
        "Evaluations of the search do not include the 409,600 (k × 4,096) with which a method that "
        "samples measures the cost of its result. The constants of `lazybandit` were chosen on "
        f"MNIST; [how it works]({folder.removesuffix('results')}how-it-works.md) tests them on "
        "other data."
    )
    yield ""
    held = sessions.read(RESULTS / "paper" / sessions.FILE)["mnist"][-1]
    yield _data_line(folder, "paper/mnist-summary.csv", held)


def paper_claims(folder: str) -> Iterator[str]:
    """Yield what the paper claims about its figures, and the results."""
    from benchmarks.paper.cells import read_cells
    from benchmarks.paper.grid import GRIDS
    from benchmarks.paper.page import _claims_on
    from benchmarks.paper.statistics import results as statistics

    held = sessions.read(RESULTS / "paper" / sessions.FILE)
    rows, data = [], []
    for name, grid in GRIDS.items():
        found = statistics(grid, read_cells(RESULTS / "paper" / f"{name}.csv"))
        if found is not None:
            rows += [*_claims_on(found)]
            data.append(_data_line(folder, f"paper/{name}.csv", held[name][-1]))
    yield table(["claim", "by the paper's rule", "by our rule (shared rows)", "verdict"], rows)
    yield ""
    yield " ".join(data)


def claims(folder: str) -> Iterator[str]:
    """Yield the other claims of the paper, and the results."""
    held = sessions.read(RESULTS / "claims" / sessions.FILE)
    reports = [
        claim.report(read_csv(path))
        for name, claim in CLAIMS.items()
        if (path := RESULTS / "claims" / f"{name}.csv").exists()
    ]
    yield overview(reports)
    yield ""
    yield " ".join(
        _data_line(folder, f"claims/{report.name}.csv", held[report.name][-1]) for report in reports
    )


def _summary(name: str, **setting: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return mean and standard deviation by method, epsilon, nu_step and measure."""
    path = RESULTS / "paper" / f"{name}-summary.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if all(r[c] == v for c, v in setting.items())]
    names = ("method", "epsilon", "nu_step", "measure")
    return {tuple(r[n] for n in names): (float(r["mean"]), float(r["sd"])) for r in rows}


# -- other packages -------------------------------------------------------------------------------


def large(folder: str) -> Iterator[str]:
    """Yield cost and time of two rivals relative to the plain call, on large problems."""
    fits = results.read(RESULTS / "large" / "comparison.csv")
    cases = [(k, rival) for k in _LARGE_COUNTS for rival in (FAISS, MINIBATCH)]
    header = [f"{rival.removesuffix(' + rows')}, k = {k:,}" for k, rival in cases]
    yield "| | " + " | ".join(f"{name}: cost | time" for name in header) + " |"
    yield "|---" * (1 + 2 * len(header)) + "|"
    for problem in LARGE:
        ratios = [Fits(fits, problem.name, k).ratio(rival, PLAIN) for k, rival in cases]
        cells = [
            "– | –" if each is None else f"{each.cost[0] - 1:+.1%} | {each.time[0]:.2g}"
            for each in ratios
        ]
        yield f"| {problem.title} | {' | '.join(cells)} |"
    yield ""
    conditions = comparison_page.read_conditions(RESULTS / "large")
    assert conditions is not None
    remark = " Some constants were chosen on MNIST and on clusters, with other seeds."
    if len(conditions.sessions) > 1:
        remark = f" Other fits: other sessions, listed with the results.{remark}"
    yield _data_line(folder, "large/comparison.csv", conditions.sessions[-1], remark)


def _headline_lines() -> dict[int, dict[str, Line]]:
    """Return the contestants of the headline problem by k and name."""
    (problem,) = HEADLINE
    fits = results.read(RESULTS / "headline" / "comparison.csv")
    return {k: {line.contestant: line for line in lines(fits, problem.name, k)} for k in problem.ks}


def comparison(folder: str) -> Iterator[str]:
    """Yield cost and time of k-medoids of 20,000 images with 784 columns."""
    (problem,) = HEADLINE
    fits = results.read(RESULTS / "headline" / "comparison.csv")
    found = _headline_lines()
    yield "| | " + " | ".join(f"k = {k}: cost | time" for k in problem.ks) + " |"
    yield "|---" * (1 + 2 * len(problem.ks)) + "|"
    contestants = {contestant.name: contestant for contestant in CONTESTANTS}
    for name in HEADLINE_NAMES:
        shown = f"`{name}`" if contestants[name].is_ours else name
        shown += " (matrix and fit)" if contestants[name].has_matrix else ""
        yield f"| {shown} | " + " | ".join(_cells(found[k].get(name)) for k in problem.ks) + " |"
    yield ""
    for k in problem.ks:
        if _RIVAL in found[k]:
            yield from (_against(found[k], k), "")
    loads = [fit.others_cores for fit in fits if fit.others_cores is not None]
    conditions = comparison_page.read_conditions(RESULTS / "headline")
    assert conditions is not None
    load = _load(sum(loads) / len(loads) if loads else None)
    yield _data_line(folder, "headline/comparison.csv", conditions.sessions[-1], load)


def _cells(line: Line | None) -> str:
    if line is None:
        return "not within the limit | –"
    spread = line.cost_spread
    deviation = "" if spread is None else f" ± {spread * line.cost / line.cost_ratio:.4f}"
    time = "–" if line.time_ratio is None else f"{line.time_ratio:.2g}"
    return f"{line.cost:.4f}{deviation} | {time}"


def _against(found: dict[str, Line], k: int) -> str:
    """Return cost and time of the efforts relative to the best known rival."""
    rival = found[_RIVAL]
    parts = [
        f"`{effort}` {line.cost / rival.cost - 1:+.2%} in {line.seconds / rival.seconds:.2g}"
        for effort in ("fast", "balanced", "thorough")
        if (line := found.get(f"lazybandit {effort}")) is not None
    ]
    return f"Cost and time relative to {_RIVAL}, k = {k}: {', '.join(parts)} of its time."


# -- measurements of the library ------------------------------------------------------------------


def timing(folder: str) -> Iterator[str]:
    """Yield times of methods in units of a product, of threads, and of first calls."""
    measurement = _measured("timing.json")
    figures = measurement.figures
    yield "| MNIST as in the paper, k = 100 | time |"
    yield "|---|---|"
    for name, ratio in figures["methods"].items():
        yield f"| `{name}` | {ratio:.2g} times the float32 product S·Tᵀ on two threads |"
    yield from _threads("lazybandit", figures["threads"]["lazybandit"])
    yield ""
    yield "| clusters, 100,000 rows of 64 columns, k = 1,000 | time |"
    yield "|---|---|"
    ratio = figures["passes"]["passes"]
    yield f"| passes of `localsearch` | {ratio:.2g} times a product of as many multiply-adds |"
    yield from _threads("localsearch", figures["threads"]["localsearch"])
    yield ""
    yield "| new process, MNIST, k = 10 | time |"
    yield "|---|---|"
    calls = figures["calls"]
    yield f"| `import protobandit` | {calls['import']:.2f} s |"
    for method, rows in (("lazybandit", "2,000"), ("localsearch", "20,000")):
        yield (
            f"| import and first `select()` of {rows} rows (`{method}`) | "
            f"{calls[f'{method} first call']:.1f} s; "
            f"{calls[f'{method} compiling call']:.1f} s if code has to be compiled |"
        )
    yield ""
    parts = ("methods", "passes", "threads", "calls")
    loads = [figures[f"{name}_others_cores"] or 0.0 for name in parts]
    yield _data_line(folder, "timing.json", measurement.session, _load(max(loads)))


def _threads(method: str, ratios: dict[str, float]) -> Iterator[str]:
    for name, ratio in ratios.items():
        if ratio != 1:
            yield f"| `{method}`, {name} | {ratio:.2g} times one thread |"


def sizes(folder: str) -> Iterator[str]:
    """Yield memory and bytes read for large files."""
    measurement = _measured("sizes.json")
    npy, parquet = measurement.figures["npy"], measurement.figures["parquet"]
    n_source, k = measurement.figures["n_source"], measurement.figures["k"]
    yield "| target file | read | memory | time |"
    yield "|---|---|---|---|"
    yield (
        f"| .npy, {npy['rows']:,} rows, {npy['bytes'] / 1e9:.2g} GB | "
        f"{npy['bytes_read'] / npy['bytes']:.1%} of the file | {npy['peak_mb']:.0f} MB, "
        f"{npy['memory_above_few_mb']:+.0f} MB against {npy['few_rows']:,} rows | "
        f"{npy['time_of_few']:.2g} times that of its first {npy['few_rows']:,} rows |"
    )
    again = "nothing" if not parquet["bytes_read_again"] else "a cached sample"
    yield (
        f"| Parquet, {parquet['rows']:,} rows sorted by class, {parquet['bytes'] / 1e9:.2g} GB | "
        f"one pass, then {again} of the file | {parquet['peak_mb']:.0f} MB | "
        f"a sample of {parquet['sample']:,} rows, whose class shares differ by "
        f"{parquet['class_spread'] - 1:.1%} at most |"
    )
    yield ""
    remark = f" k = {k} of {n_source:,} source rows."
    yield _data_line(folder, "sizes.json", measurement.session, remark)


def cluster(folder: str) -> Iterator[str]:
    """Yield cost, time, memory and bytes of searches on a local cluster."""
    measurement = _measured("cluster.json")
    figures = measurement.figures
    yield table(
        ["k", "files", "run", "cost", "time", "driver", "largest worker", "sent and received"],
        [_cluster_cells(found) for found in figures["results"]],
    )
    yield ""
    remark = (
        f" {figures['rows']:,} rows of {figures['columns']} columns in Parquet files. Cost and "
        "time are relative to one machine with the same files; the cost is that of all rows. "
        "Memory is the largest resident memory, which includes the pages of a file that is mapped "
        "on one machine."
    )
    yield _data_line(folder, "cluster.json", measurement.session, remark)


def _cluster_cells(found: dict[str, Any]) -> list[str]:
    """Return the line of one search."""
    workers, traffic = found["workers"], found["traffic"]
    run = f"{workers} workers" if workers > 1 else "1 worker" if workers else "one machine"
    if found.get("kills"):
        run += ", one killed" if found["was_killed"] else ", none killed in time"
    moved = traffic and traffic["bytes_shared"] * workers + traffic["bytes_received"]
    return [
        f"{found['k']:,}",
        found["data"],
        run,
        f"{found.get('cost_ratio', 1):.4f}",
        f"{found['time_ratio']:.2f}" if workers else f"1 ({found['seconds']:.0f} s)",
        f"{found['driver_bytes'] / 1e9:.2g} GB",
        f"{found['worker_bytes'] / 1e9:.2g} GB" if workers else "–",
        f"{moved / 1e9:.2g} GB" if moved else "–",
    ]


def cluster_prediction(folder: str) -> Iterator[str]:
    """Yield predicted time and bytes on clusters."""
    measurement = _measured("cluster.json")
    yield table(
        ["k", "rows", "workers", "predicted time", "predicted bytes"],
        [
            [
                f"{each['k']:,}",
                scientific(each["rows"]),
                str(each["workers"]),
                format_duration(each["seconds"]),
                f"{(each['bytes_shared'] + each['bytes_received']) / 1e9:.2g} GB",
            ]
            for each in measurement.figures["prediction"]
        ],
    )
    yield ""
    remark = (
        " **A prediction**, not a measurement: time is that of the driver plus work per row, and "
        "bytes per worker and part, of the runs with one and two workers."
    )
    yield _data_line(folder, "cluster.json", measurement.session, remark)


def strings(folder: str) -> Iterator[str]:
    """Yield evaluations and loss on strings under edit distance."""
    measurement = _measured("edit_distance.json")
    figures = measurement.figures
    rows = [
        [
            f"`lazybandit {effort}`",
            f"1/{1 / found['share']:.3g} of all pairs",
            f"{found['loss']:.2%}",
        ]
        for effort in ("fast", "balanced", "thorough")
        for found in [figures[effort]]
    ]
    rows.append(["random rows", "0", f"{figures['random']['loss']:.2%}"])
    problem = f"{figures['n']:,} strings, edit distance, k = {figures['k']}"
    yield table([problem, "evaluations", "loss of f"], rows)
    yield ""
    remark = (
        " Evaluations include those that measure the cost of the result; the loss is against "
        "exact greedy on all pairs. The effort for a function of the user was chosen on strings "
        "of this kind."
    )
    yield _data_line(folder, "edit_distance.json", measurement.session, remark)


def certificate(folder: str) -> Iterator[str]:
    """Yield how tight the certificates of one selection are."""
    measurement = _measured("certificate.json")
    figures = measurement.figures
    rows = [
        [
            str(problem["k"]),
            each["kind"],
            "default" if each.get("budget", 0) is None else "given",
            scientific(each["evaluations"]),
            "nothing proven" if each["ratio"] is None else f"{each['ratio']:.3f}",
        ]
        for problem in figures["problems"]
        for each in problem["certificates"]
    ]
    header = ["k", "kind", "`evaluations=`", "evaluations", "cost / best cost is at most"]
    yield table(header, rows)
    yield ""
    remark = (
        f" The prototypes are those of `{figures['method']}`; ratios are medians over seeds "
        f"({figures['seeds']}), with 95 % confidence."
    )
    yield _data_line(folder, "certificate.json", measurement.session, remark)


def shared_rows(folder: str) -> Iterator[str]:
    """Yield the powers of k by which the count of ProtoBandit grows."""
    measurement = _measured("shared_rows.json")
    figures = measurement.figures
    steps = [f"{a} to {b}" for a, b in pairwise(figures["k"])]
    rows = [
        [
            f"`{each['search']}`",
            name,
            *(f"{power:.2f}" for power in found["powers"]),
            f"{found['fit']:.2f}",
        ]
        for each in figures["searches"]
        for name, found in (("paper's rule", each["alone"]), ("shared rows", each["shared"]))
    ]
    header = ["`search=`", "count", *(f"power of k, {step}" for step in steps), "overall fit"]
    yield table(header, rows)
    yield ""
    remark = (
        f" |S| = {figures['n_source']:,}, |T| = {figures['n_target']:,}, ν = {figures['nu']:.3g}. "
        f"Counts are those of the search, without measuring the cost of the result."
    )
    yield _data_line(folder, "shared_rows.json", measurement.session, remark)


def frontier(folder: str) -> Iterator[str]:
    """Yield loss against evaluations of lazybandit, its parts and alternatives."""
    measurement = _measured("frontier.json")
    figures = measurement.figures
    rows = [
        [
            point["curve"],
            point["setting"],
            scientific(point["evaluations"]),
            _percent(point["loss"], point["deviation"]),
        ]
        for point in figures["points"]
    ]
    yield table(["", "setting", "evaluations", "loss of f"], rows)
    yield ""
    remark = (
        f" Means over seeds ({figures['seeds']}); evaluations include the "
        f"{figures['judging_evaluations']:,} that measure the cost of the result."
    )
    yield _data_line(folder, "frontier.json", measurement.session, remark)


def regrets(folder: str) -> Iterator[str]:
    """Yield how much better another constant would be, by data set."""
    measurement = _measured("efforts.json")
    rows = [
        [
            each["problem"],
            str(each["k"]),
            f"{each['cost']:.4f}",
            "none" if each["best"] == "default" else each["best"],
            f"{each['regret']:.2%}",
            "–" if each["error"] is None else f"{each['error']:.2%}",
        ]
        for each in measurement.figures["problems"]
    ]
    worst = max(measurement.figures["problems"], key=lambda each: each["regret"])
    yield table(["data set", "k", "cost", "best other setting", "regret", "standard error"], rows)
    yield ""
    yield (
        f"The largest regret is {worst['regret']:.2%} ({worst['problem']}, k = {worst['k']}). "
        f"{_data_line(folder, 'efforts.json', measurement.session)}"
    )


def settings(folder: str) -> Iterator[str]:
    """Yield the cost of each constant relative to the default, over all data sets."""
    measurement = _measured("efforts.json")
    figures = measurement.figures
    rows = [
        [
            name,
            f"{figures['mean_excess'][name]:+.2%}",
            f"{figures['n_better'][name]} of {len(figures['problems'])}",
            f"{figures['mean_evaluations'][name]:.2f} times",
        ]
        for name in figures["mean_excess"]
        if name != "default"
    ]
    yield table(["setting", "cost against the default", "better in", "evaluations"], rows)
    yield ""
    yield _data_line(folder, "efforts.json", measurement.session)


def methods(folder: str) -> Iterator[str]:
    """Yield cost, evaluations and time of every method on the same problems."""
    measurement = _measured("choosing.json")
    for problem in measurement.figures["problems"]:
        yield from _method_table(problem)
    remark = _load(measurement.figures["others_cores"])
    yield _data_line(folder, "choosing.json", measurement.session, remark)


def _method_table(problem: dict[str, Any]) -> Iterator[str]:
    reference = problem["reference"]
    yield f"**{problem['name']}** ({reference}: cost {problem['reference_cost']:.4f})"
    yield ""
    header = ["`method=`", f"cost, relative to {reference}", "evaluations / (S × T)"]
    rows = [
        [
            f"`{each['method']}`",
            f"{each['excess']:+.2%}" + _plus_minus(each["deviation"]),
            f"{each['share']:.3g}",
            f"{each['time']:.2g}",
        ]
        for each in problem["methods"]
    ]
    yield table([*header, f"time / {reference}"], rows)
    yield ""


def _plus_minus(deviation: float | None) -> str:
    return f" ± {deviation:.2%}" if deviation else ""


def supports(folder: str) -> Iterator[str]:
    """Yield the constraints and goals that each method supports; these are not measurements."""
    yield f"| `method=` | {' | '.join(SUPPORTED)} |"
    yield "|---" * (len(SUPPORTED) + 1) + "|"
    for name, method in METHODS.items():
        supported = getattr(method, "supports", frozenset())
        marks = " | ".join("yes" if part in supported else "–" for part in SUPPORTED)
        yield f"| `{name}` | {marks} |"


BLOCKS: dict[str, Callable[[str], Iterator[str]]] = {
    "large": large,
    "paper": paper,
    "paper-claims": paper_claims,
    "claims": claims,
    "comparison": comparison,
    "timing": timing,
    "sizes": sizes,
    "cluster": cluster,
    "cluster-prediction": cluster_prediction,
    "strings": strings,
    "certificate": certificate,
    "shared-rows": shared_rows,
    "frontier": frontier,
    "regrets": regrets,
    "settings": settings,
    "methods": methods,
    "supports": supports,
}


def _share(n: float, whole: float) -> str:
    return "0" if n == 0 else "all" if n == whole else f"1/{float(f'{whole / n:.3g}'):,.0f}"


def _percent(mean: float, deviation: float | None) -> str:
    """Return a share in percent, with its standard deviation if that is known."""
    if mean == deviation == 0:
        return "0"
    sign = "−" if mean < 0 else ""
    spread = "" if deviation is None else f" ± {100 * deviation:.2f}"
    return f"{sign}{100 * abs(mean):.2f}{spread} %"


if __name__ == "__main__":
    main()
