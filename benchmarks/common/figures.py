"""Figures: one style, and files that depend on neither the date nor the version of Matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.files import replace_file

# Text stays text in an SVG, and identifiers are the same in every run.
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "protobandit",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}
COLOURS = {
    "lazybandit": "#c2185b",
    "lazybandit fast": "#e389ac",
    "lazybandit balanced": "#c2185b",
    "lazybandit thorough": "#6a0f34",
    "protobandit": "#d08700",
    "protobandit, paper's rule": "#8a5a00",
    "spotgreedy": "#4a6fa5",
    "fasterpam": "#2e7d32",
    "random": "#9aa0a6",
    "bound": "#444444",
}


@contextmanager
def pyplot() -> Iterator[Any]:
    """Provide matplotlib.pyplot without a display and in the common style."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'protobandit[plot]'.") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        yield plt


@contextmanager
def panels(
    path: Path, n: int = 1, *, n_rows: int = 1, width: float = 4.6, height: float = 3.7
) -> Iterator[Any]:
    """Provide the axes of ``n`` panels per row, and save the figure at the end of the block."""
    with pyplot() as plt:
        size = width * n, height * n_rows
        figure, axes = plt.subplots(n_rows, n, figsize=size, layout="constrained")
        yield axes
        save(figure, path, dpi=110)
        plt.close(figure)


def save(figure: Any, path: Path, **options: Any) -> None:
    """Write a figure as .svg or .png, made smaller."""
    reduce, metadata = _FORMATS[path.suffix]

    def write(partial: Path) -> None:
        figure.savefig(partial, metadata=metadata, **options)
        reduce(partial)

    replace_file(path, write)


def _reduce_png(path: Path) -> None:
    """Keep 128 colours: the figures have fewer, apart from smoothed edges."""
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(128).save(path, optimize=True)


def _reduce_svg(path: Path) -> None:
    """Keep two decimals of coordinates, and remove the indentation."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)
    path.write_text(re.sub(r"\s*\n\s*", "\n", text), encoding="utf-8")


# How to reduce a file, and the metadata to leave out: date and software.
_FORMATS: dict[str, tuple[Any, dict[str, None]]] = {
    ".png": (_reduce_png, {"Software": None}),
    ".svg": (_reduce_svg, {"Date": None}),
}


def plot_mean(
    axes: Any, x: Sequence[float], series: Sequence[Sequence[float]], **style: Any
) -> None:
    """Plot the mean over the seeds, and a band from the smallest to the largest value."""
    values = np.asarray(series, dtype=float)
    axes.plot(
        x, values.mean(axis=0), **{"marker": "o", "markersize": 3.5, "linewidth": 1.6} | style
    )
    if len(values) > 1:
        colour = axes.lines[-1].get_color()
        axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.18, lw=0)


def legend_below(axes: Any, *, n_columns: int) -> None:
    """Put the legend of these axes below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=7.5,
    )
