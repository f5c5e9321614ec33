"""How the pictures look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

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
def panels(
    path: Path, n: int = 1, *, n_rows: int = 1, width: float = 4.6, height: float = 3.7
) -> Iterator[Any]:
    """Give ``n`` axes beside each other, in one row or more, and write the picture when done."""
    try:
        import matplotlib as mpl
    except ImportError as missing:
        message = "The figures need matplotlib: pip install 'protobandit[plot]'."
        raise SystemExit(message) from missing
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "claims", "svg.fonttype": "path", "font.size": 9}):
        size = width * n, height * n_rows
        figure, axes = plt.subplots(n_rows, n, figsize=size, layout="constrained")
        for each in np.atleast_1d(axes).flat:
            each.spines[["top", "right"]].set_visible(False)
            each.grid(alpha=0.25)
        yield axes
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
        plt.close(figure)


def line(axes: Any, x: Sequence[float], series: Sequence[Sequence[float]], **style: Any) -> None:
    """Draw the mean of the seeds, and a band from the least to the largest."""
    values = np.asarray(series, dtype=float)
    axes.plot(
        x, values.mean(axis=0), **{"marker": "o", "markersize": 3.5, "linewidth": 1.6} | style
    )
    if len(values) > 1:
        colour = axes.lines[-1].get_color()
        axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.18, lw=0)


def legend_below(axes: Any, *, n_columns: int) -> None:
    """Name what these axes show, below the picture, column by column."""
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=7.5,
    )
