"""Cost against time: a panel for each k, every contestant named beside its point."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any

from benchmarks._files import put
from benchmarks.comparison._contestants import CONTESTANTS
from benchmarks.comparison._ratios import Line, lines
from benchmarks.comparison._results import FAILED, LIMIT, MISSING, SKIPPED, Result

_OURS, _THEIRS, _PALE = "#b3125a", "#33485c", "#8a949e"
_FLAGSHIP = "lazybandit "
_OWN_NAMES = {contestant.name for contestant in CONTESTANTS if contestant.is_ours}
_TICKS = (0, 0.1, 0.5, 1, 2, 4, 7, 10, 15, 20, 30, 50, 100)
_RINGS = (1.0, 1.9, 3.0, 4.5)
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
_KEY = (
    ("lazybandit, by effort", _OURS, _OURS),
    ("other methods of this package", _OURS, "white"),
    ("other packages", _THEIRS, _THEIRS),
)
_ABSENT = {
    (LIMIT, SKIPPED): "not within the limit",
    (FAILED,): "failed (README.md says why)",
    (MISSING,): "could not be installed",
}
_NEAR = 7.0  # points from a marker to its label
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "race",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 9,
    "lines.markersize": 6,
}


def draw(results: list[Result], problem: str, title: str, folder: Path) -> list[Path]:
    """Write folder/problem.svg and .png; nothing if nobody ended."""
    import matplotlib as mpl

    ks = sorted({r.k for r in results if r.problem == problem and r.is_done})
    if not ks:
        return []
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(_STYLE):
        figure, panels = plt.subplots(
            1, len(ks), figsize=(6.4 * len(ks), 5.6), squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(wspace=0.06)
        figure.suptitle(f"{title}: cost against time, lower left is better")
        for axes, k in zip(panels[0], ks, strict=True):
            _panel(axes, lines(results, problem, k), k, _absent(results, problem, k))
        figure.canvas.draw()
        figure.set_layout_engine("none")
        for axes in panels[0]:
            _label(axes)
        paths = [folder / f"{problem}.{form}" for form in ("svg", "png")]
        for path in paths:
            _save(figure, path)
        plt.close(figure)
    return paths


def _panel(axes: Any, contestants: list[Line], k: int, absent: list[str]) -> None:
    axes.set_yscale("function", functions=(_squeezed, _stretched))
    axes.set_xscale("log")
    points = [(line.seconds, 100 * (line.cost_ratio - 1), line.contestant) for line in contestants]
    flagship = sorted(p for p in points if p[2].startswith(_FLAGSHIP))
    if flagship:
        x, y, _ = zip(*flagship, strict=True)
        axes.plot(x, y, color=_OURS, linewidth=2, zorder=2)
    for x, y, name in points:
        is_ours = name in _OWN_NAMES
        colour = _OURS if is_ours else _THEIRS
        fill = colour if name.startswith(_FLAGSHIP) or not is_ours else "white"
        axes.plot(x, y, "o", color=colour, markerfacecolor=fill, zorder=3)
    axes.race_points = points
    top = max(y for _, y, _ in points)
    axes.set_ylim(-0.008 * max(top, 0.5), 1.35 * max(top, 0.5))
    ticks = [tick for tick in _TICKS if tick <= 1.35 * max(top, 0.5)]
    axes.set_yticks(ticks, [f"+{tick:g} %" if tick else "best" for tick in ticks])
    axes.margins(x=0.16)
    axes.set(title=f"k = {k}", xlabel=_below(absent), ylabel="cost above the lowest (root scale)")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} s")
    axes.xaxis.set_minor_formatter("")
    for words, colour, fill in _KEY:
        axes.plot([], [], "o", color=colour, markerfacecolor=fill, label=words)
    axes.legend(loc="upper right", fontsize=8, frameon=False, borderaxespad=0)
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)


def _below(absent: list[str]) -> str:
    paragraphs = ["seconds of the fit, with its matrix where it needs one", *absent]
    return "\n".join(textwrap.fill(words, 88) for words in paragraphs)


def _absent(results: Iterable[Result], problem: str, k: int) -> list[str]:
    """Return who has no point, and why, in a sentence for each reason."""
    here = [r for r in results if (r.problem, r.k) == (problem, k)]
    there = {r.contestant for r in here if r.is_done}
    sentences = []
    for statuses, words in _ABSENT.items():
        names = {r.contestant: None for r in here if r.status in statuses}  # in order, once each
        missed = [name for name in names if name not in there]
        sentences += [f"{words}: {', '.join(missed)}"] if missed else []
    return sentences


def _squeezed(values: Any) -> Any:
    import numpy as np

    return np.sign(values) * np.sqrt(np.abs(values))


def _stretched(values: Any) -> Any:
    import numpy as np

    return np.sign(values) * np.square(values)


def _label(axes: Any) -> None:
    """Put each name beside its point, away from other names, points and the flagship's line."""
    scale = axes.figure.dpi / 72
    frame = axes.get_window_extent()
    markers = [axes.transData.transform(point[:2]) for point in axes.race_points]
    reach = 5.5 * scale
    taken = [(x - reach, y - reach, x + reach, y + reach) for x, y in markers]
    key = axes.get_legend().get_window_extent()
    taken.append((key.x0, key.y0, key.x1, key.y1))
    taken += _along([m for m, p in zip(markers, axes.race_points, strict=True) if _is_flagship(p)])
    bounds = (frame.x0, frame.y0, frame.x1 + 30 * scale, frame.y1)
    for (x, y), (seconds, cost, name) in zip(markers, axes.race_points, strict=True):
        colour = _OURS if name in _OWN_NAMES else _THEIRS
        weight = "bold" if name.startswith(_FLAGSHIP) else "normal"
        text = axes.text(seconds, cost, name, color=colour, weight=weight, fontsize=8.5)
        size = text.get_window_extent()
        box, offset = _best_place(x, y, size.width, size.height, taken, bounds, _NEAR * scale)
        taken.append(box)
        text.remove()
        far = hypot(*offset) > 1.3 * _NEAR * scale
        axes.annotate(
            name,
            (seconds, cost),
            xytext=((box[0] - x) / scale, (box[1] - y + 0.22 * size.height) / scale),
            textcoords="offset points",
            color=colour,
            weight=weight,
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": _PALE, "linewidth": 0.6} if far else None,
        )


Box = tuple[float, float, float, float]


def _best_place(
    x: float, y: float, width: float, height: float, taken: list[Box], bounds: Box, near: float
) -> tuple[Box, tuple[float, float]]:
    """Return the box that covers least, the nearest of several, and how far it is moved."""
    best: tuple[float, Box, tuple[float, float]] | None = None
    for ring in _RINGS:
        for right, up in _SIDES:
            dx, dy = right * ring * near, up * ring * near
            left = x + dx - width * (right < 0) - width / 2 * (right == 0)
            bottom = y + dy - height / 2 - height / 2 * up
            box = (left, bottom, left + width, bottom + height)
            covered = sum(_overlap(box, other) for other in taken)
            outside = width * height - _overlap(box, bounds)
            worth = covered + 3 * outside + 4 * near * ring
            if best is None or worth < best[0]:
                best = worth, box, (dx, dy)
    assert best is not None
    return best[1], best[2]


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _along(corners: list[Any], step: int = 12) -> list[Box]:
    """Return small boxes along a line through these corners, from left to right."""
    ordered = sorted((float(x), float(y)) for x, y in corners)
    boxes = []
    for (x0, y0), (x1, y1) in pairwise(ordered):
        for i in range(step):
            x, y = (a + (b - a) * i / step for a, b in ((x0, x1), (y0, y1)))
            boxes.append((x - 2, y - 2, x + 2, y + 2))
    return boxes


def _is_flagship(point: tuple[float, float, str]) -> bool:
    return point[2].startswith(_FLAGSHIP)


def _save(figure: Any, path: Path) -> None:
    metadata = {"Date": None} if path.suffix == ".svg" else None
    put(path, lambda to: figure.savefig(to, dpi=150, metadata=metadata, bbox_inches="tight"))
