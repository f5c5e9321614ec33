"""Time and memory against k and against the number of rows, one line per contestant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks.common.figures import legend_below, panels
from benchmarks.comparison.large.contestants import OURS, RANDOM, RIVALS
from benchmarks.comparison.large.ratios import growth_bytes
from benchmarks.comparison.problems import Problem, data_of
from benchmarks.comparison.results import Result

_OURS = ("#b3125a", "#e389ac", "#f5c3d6", "#b59aa6", "#6a0f34", "#f2557a", "#d08700")
_THEIRS = ("#1f4e79", "#5b9bd5", "#2e7d32", "#7a5195", "#b08cc9", "#00897b")
_RANDOM = "#9aa0a6"
_LEAST_MB = 1.0  # of a logarithmic axis


def _styles() -> dict[str, dict[str, Any]]:
    """Return colours and markers by contestant: full lines are ours."""
    styles: dict[str, dict[str, Any]] = {
        RANDOM: {"color": _RANDOM, "marker": ".", "linestyle": ":"}
    }
    for name, colour in zip(OURS, _OURS, strict=True):
        styles[name] = {"color": colour, "marker": "o"}
    for name, colour in zip(RIVALS, _THEIRS, strict=True):
        styles[name] = {"color": colour, "marker": "s", "linestyle": "--"}
    return styles


STYLES = _styles()


def draw_against_k(results: list[Result], problems: Iterable[Problem], path: Path) -> bool:
    """Write time and memory against k, one column per problem; return whether there is any."""
    columns = [
        (p.title.replace(", ", "\n", 1), [r for r in results if r.problem == p.name])
        for p in problems
    ]
    return _draw([c for c in columns if len(_steps(c[1], _k)) > 1], _k, "k", path)


def draw_against_rows(results: list[Result], path: Path) -> bool:
    """Write time and memory against |S|, one column per k; only data of several sizes count."""
    done = [r for r in results if r.is_done]
    columns = []
    for data, k in sorted({(data_of(r.problem), r.k) for r in done}):
        fits = [r for r in done if (data_of(r.problem), r.k) == (data, k)]
        columns.append((f"{data}, k = {k:,}", fits))
    return _draw([c for c in columns if len(_steps(c[1], _n)) > 1], _n, "rows |S|", path)


def _k(result: Result) -> int:
    return result.k


def _n(result: Result) -> int:
    return result.n


def _steps(results: Iterable[Result], x: Callable[[Result], int]) -> list[int]:
    return sorted({x(r) for r in results if r.is_done})


def _draw(
    columns: list[tuple[str, list[Result]]], x: Callable[[Result], int], label: str, path: Path
) -> bool:
    if not columns:
        return False
    names = {r.contestant for _, fits in columns for r in fits if r.is_done}
    with panels(path, len(columns), n_rows=2, width=3.6, height=3.1) as axes:
        grid = axes.reshape(2, len(columns))
        for i, (title, fits) in enumerate(columns):
            for name in filter(names.__contains__, STYLES):
                _curve(grid[0, i], fits, name, x, _seconds)
                _curve(grid[1, i], fits, name, x, _megabytes)
            grid[0, i].set_title(title, fontsize=9)
            grid[1, i].set_xlabel(label)
            for panel in grid[:, i]:
                panel.set(xscale="log", yscale="log")
                steps = _steps(fits, x)
                panel.set_xticks(steps, [f"{step:,}" for step in steps])
                panel.minorticks_off()
        grid[0, 0].set_ylabel("seconds")
        grid[1, 0].set_ylabel("growth of memory in MB")
        legend_below(grid[0, 0], n_columns=min(6, 2 * len(columns)))
    return True


def _curve(
    axes: Any,
    fits: list[Result],
    name: str,
    x: Callable[[Result], int],
    value: Callable[[list[Result]], float | None],
) -> None:
    """Plot a contestant; one without a point here is still in the legend."""
    mine = [r for r in fits if r.contestant == name and r.is_done]
    points = [(step, value([r for r in mine if x(r) == step])) for step in _steps(mine, x)]
    known = [(step, y) for step, y in points if y is not None]
    steps, heights = [step for step, _ in known], [y for _, y in known]
    axes.plot(steps, heights, label=name, markersize=4, linewidth=1.4, **STYLES[name])


def _seconds(runs: list[Result]) -> float:
    return geometric_mean([run.seconds or 0.0 for run in runs])


def _megabytes(runs: list[Result]) -> float | None:
    growth = growth_bytes(runs)
    return None if growth is None else max(growth / 1e6, _LEAST_MB)
