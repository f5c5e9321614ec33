"""The figures: comparisons, objective and accuracy against k, for each skew and epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.figures import pyplot, save
from benchmarks.paper.grid import METHODS, Setting
from benchmarks.paper.statistics import Results

_NU_COLOURS = ("#1f5fbf", "#56a3e8")


@dataclass(frozen=True)
class Panel:
    """One measure against k."""

    measure: str
    title: str
    is_log: bool = False


PANELS = (
    Panel("comparisons", "comparisons, the paper's rule", is_log=True),
    Panel("f", "objective f"),
    Panel("accuracy_nearest", "accuracy, nearest prototype"),
    Panel("evaluations", "comparisons, shared rows", is_log=True),
    Panel("normalised_loss", "normalised loss: 0 greedy, 1 random rows"),
    Panel("accuracy_barycentric", "accuracy, barycentric mapping"),
)


@dataclass(frozen=True)
class Line:
    """A method at given epsilon and nu, and its style."""

    label: str
    colour: str
    marker: str
    dashes: str
    settings: tuple[Setting, ...]


def lines_of(found: Results, skew: int, epsilon: float) -> Iterator[Line]:
    """Yield one line per method, and for ProtoBandit one per nu."""
    ks = found.grid.ks
    for method, label in METHODS.items():
        if method != "protobandit":
            settings = tuple(Setting(skew, k, method) for k in ks)
            yield Line(label.text, label.colour, label.marker, label.line, settings)
            continue
        for nu, colour in zip(found.grid.nu_steps, _NU_COLOURS, strict=False):
            settings = tuple(Setting(skew, k, method, epsilon, nu) for k in ks)
            yield Line(f"{label.text}, ν₀ = {nu:g}", colour, label.marker, label.line, settings)


def draw_figures(found: Results, folder: Path) -> list[Path]:
    """Draw all figures of a grid; return their files."""
    written: list[Path] = []
    with pyplot() as plt:
        for skew in found.grid.skews:
            for epsilon in found.grid.epsilons:
                figure = _figure(plt, found, skew, epsilon)
                written += _save(plt, figure, folder / figure_name(found, skew, epsilon))
        if len(found.grid.skews) > 1:
            written += _save(plt, _ratios(plt, found), folder / f"{found.grid.name}-ratios")
    return written


def figure_name(found: Results, skew: int, epsilon: float) -> str:
    """Return the name of the files of a figure, without the suffix."""
    part = f"-skew{skew}" if len(found.grid.skews) > 1 else ""
    return f"{found.grid.name}{part}-epsilon{epsilon:g}"


def _save(plt: Any, figure: Any, path: Path) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [path.with_name(path.name + suffix) for suffix in (".png", ".svg")]
    for file in files:
        save(figure, file, dpi=90)
    plt.close(figure)
    return files


def _figure(plt: Any, found: Results, skew: int, epsilon: float) -> Any:
    figure, axes = plt.subplots(2, 3, figsize=(12.5, 7.4))
    figure.subplots_adjust(0.045, 0.15, 0.99, 0.91, wspace=0.17, hspace=0.32)
    lines = list(lines_of(found, skew, epsilon))
    for panel, each in zip(PANELS, axes.flat, strict=True):
        _draw(each, panel, lines, found)
    sizes = f"|S| = {found.n_source:,}, |T| = {found.n_target[skew]:,}"
    skewed = f", skew θ = {skew} %" if len(found.grid.skews) > 1 else ""
    runs = f"{len(found.runs)} runs" if len(found.runs) > 1 else "1 run"
    figure.suptitle(
        f"{found.grid.title}{skewed}, ε = {epsilon:g}   ({sizes}; mean, standard deviation as bars "
        f"and range as thin lines over {runs})",
        fontsize=10,
    )
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
    return figure


def _draw(axes: Any, panel: Panel, lines: list[Line], found: Results) -> None:
    ks = found.grid.ks
    for at, line in enumerate(lines):
        spreads = [found.spreads[setting][panel.measure] for setting in line.settings]
        mean, sd, low, high = np.array([(s.mean, s.sd, s.low, s.high) for s in spreads]).T
        if panel.is_log and not mean.all():
            mean, low, high = (np.full(len(ks), np.nan) for _ in range(3))  # no comparisons
        elif not panel.is_log and line.settings[0].method == "spot_m":
            continue
        x = np.arange(len(ks)) + 0.018 * (at - (len(lines) - 1) / 2)
        axes.vlines(x, low, high, color=line.colour, linewidth=0.6)
        axes.errorbar(
            x,
            mean,
            yerr=None if np.isnan(sd).all() else np.nan_to_num(sd),
            color=line.colour,
            marker=line.marker,
            linestyle=line.dashes,
            markersize=4.5,
            linewidth=1.2,
            elinewidth=2.2,
            label=line.label,
        )
    axes.set_title(panel.title, fontsize=10)
    axes.set_xticks(range(len(ks)), [f"{k}" for k in ks])
    axes.set_xlabel("k")
    if panel.is_log:
        axes.set_yscale("log")


def _ratios(plt: Any, found: Results) -> Any:
    """Draw the comparisons of SPOTgreedy divided by those of others, against the target size."""
    grid = found.grid
    epsilon, nu = grid.epsilons[0], grid.nu_steps[0]
    chosen = {
        f"ProtoBandit, ε = {epsilon:g}, ν₀ = {nu:g}": ("#1f5fbf", "protobandit", epsilon, nu),
        "lazybandit fast": ("#e377c2", "lazybandit-fast"),
        "SPOT_M": ("#8c8c8c", "spot_m"),
    }
    titles = {"comparisons": "the paper's rule", "evaluations": "shared rows"}
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    figure.subplots_adjust(0.07, 0.29, 0.99, 0.88, wspace=0.05)
    n_rows = [found.n_target[skew] for skew in grid.skews]
    for each, (measure, title) in zip(axes, titles.items(), strict=True):
        for label, (colour, *setting) in chosen.items():
            for k, dashes in zip(grid.ks, ("-", "--", ":"), strict=False):
                y = [found.fewer(measure, skew, k, *setting) for skew in grid.skews]
                each.plot(
                    n_rows, y, dashes, color=colour, marker="o", ms=3.5, label=f"{label}, k = {k}"
                )
        each.axhline(100, color="#c0392b", linewidth=1)
        each.annotate(
            "100, as in the paper",
            (0.01, 100),
            xycoords=("axes fraction", "data"),
            va="bottom",
            color="#c0392b",
        )
        each.set(xscale="log", yscale="log", xlabel="target rows", title=title)
        ticks = [f"{n:,}\nθ = {skew} %" for skew, n in found.n_target.items()]
        each.set_xticks(n_rows, ticks, fontsize=8)
        each.set_xticks([], minor=True)
    axes[0].set_ylabel("comparisons of SPOTgreedy / comparisons")
    figure.suptitle(f"{grid.title}: comparisons against the size of the target", fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
    return figure
