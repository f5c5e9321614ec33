"""Cost against time: one panel per k, with the name of each contestant beside its point."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.figures import pyplot, save
from benchmarks.comparison.contestants import CONTESTANTS, Contestant
from benchmarks.comparison.ratios import Line, lines
from benchmarks.comparison.results import FAILED, LIMIT, MISSING, SKIPPED, Result

_OURS, _THEIRS, _PALE = "#b3125a", "#33485c", "#8a949e"
_TICKS = (0, 0.1, 0.5, 1, 2, 4, 7, 10, 15, 20, 30, 50, 100)
_RINGS = (1.0, 1.9, 3.0, 4.5)  # distances at which a label is tried
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
_ABSENT = {
    (LIMIT, SKIPPED): "not within the limit",
    (FAILED,): "failed (reasons in README.md)",
    (MISSING,): "could not be installed",
}
_NEAR = 7.0  # points from a marker to its label


@dataclass(frozen=True, kw_only=True)
class Own:
    """The methods of this package: all names, and the engine that a line connects.

    The engine is the first word of its names; the second word is an effort.
    """

    engine: str
    names: frozenset[str]

    @classmethod
    def of(cls, engine: str, contestants: tuple[Contestant, ...]) -> Own:
        """Return the methods of this package among contestants."""
        return cls(engine=engine, names=frozenset(c.name for c in contestants if c.is_ours))

    def has_engine(self, name: str) -> bool:
        return name.split(" ")[0] == self.engine

    def legend(self) -> tuple[tuple[str, str, str], ...]:
        """Return texts, colours and colours of the inside."""
        return (
            (f"{self.engine}, one point per effort", _OURS, _OURS),
            ("other methods of this package", _OURS, "white"),
            ("other packages", _THEIRS, _THEIRS),
        )


_LAZYBANDIT = Own.of("lazybandit", CONTESTANTS)


def draw(
    results: list[Result], problem: str, title: str, folder: Path, own: Own = _LAZYBANDIT
) -> list[Path]:
    """Write folder/problem.svg and .png; nothing if no contestant finished."""
    ks = sorted({r.k for r in results if r.problem == problem and r.is_done})
    if not ks:
        return []
    with pyplot() as plt:
        figure, panels = plt.subplots(
            1, len(ks), figsize=(6.4 * len(ks), 5.6), squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(wspace=0.06)
        figure.suptitle(f"{title}: cost against time, lower left is better")
        for axes, k in zip(panels[0], ks, strict=True):
            _panel(axes, lines(results, problem, k), k, _absent(results, problem, k), own)
        figure.canvas.draw()
        figure.set_layout_engine("none")
        for axes in panels[0]:
            _label(axes, own)
        paths = [folder / f"{problem}.{form}" for form in ("svg", "png")]
        for path in paths:
            save(figure, path, dpi=150, bbox_inches="tight")
        plt.close(figure)
    return paths


def _panel(axes: Any, contestants: list[Line], k: int, absent: list[str], own: Own) -> None:
    axes.set_yscale("function", functions=(_root, _square))
    axes.set_xscale("log")
    points = [(line.seconds, 100 * (line.cost_ratio - 1), line.contestant) for line in contestants]
    efforts = sorted(p for p in points if own.has_engine(p[2]))
    if efforts:
        x, y, _ = zip(*efforts, strict=True)
        axes.plot(x, y, color=_OURS, linewidth=2, zorder=2)
    for x, y, name in points:
        is_ours = name in own.names
        colour = _OURS if is_ours else _THEIRS
        fill = colour if own.has_engine(name) or not is_ours else "white"
        axes.plot(x, y, "o", color=colour, markerfacecolor=fill, markersize=6, zorder=3)
    axes.points = points
    top = max(y for _, y, _ in points)
    axes.set_ylim(-0.008 * max(top, 0.5), 1.35 * max(top, 0.5))
    ticks = [tick for tick in _TICKS if tick <= 1.35 * max(top, 0.5)]
    axes.set_yticks(ticks, [f"+{tick:g} %" if tick else "best" for tick in ticks])
    axes.margins(x=0.16)
    axes.set(title=f"k = {k}", xlabel=_below(absent), ylabel="cost above the lowest (root scale)")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} s")
    axes.xaxis.set_minor_formatter("")
    for label, colour, fill in own.legend():
        axes.plot([], [], "o", color=colour, markerfacecolor=fill, label=label)
    axes.legend(loc="upper right", fontsize=8, frameon=False, borderaxespad=0)


def _below(absent: list[str]) -> str:
    paragraphs = ["seconds of the fit, including the matrix if it needs one", *absent]
    return "\n".join(textwrap.fill(text, 88) for text in paragraphs)


def _absent(results: Iterable[Result], problem: str, k: int) -> list[str]:
    """Return one line per reason, with the contestants that have no point."""
    here = [r for r in results if (r.problem, r.k) == (problem, k)]
    finished = {r.contestant for r in here if r.is_done}
    sentences = []
    for statuses, reason in _ABSENT.items():
        names = {r.contestant: None for r in here if r.status in statuses}  # in order, once each
        missed = [name for name in names if name not in finished]
        sentences += [f"{reason}: {', '.join(missed)}"] if missed else []
    return sentences


def _root(values: Any) -> Any:
    return np.sign(values) * np.sqrt(np.abs(values))


def _square(values: Any) -> Any:
    return np.sign(values) * np.square(values)


def _label(axes: Any, own: Own) -> None:
    """Put each name beside its point, away from other names, points and the line of the engine."""
    scale = axes.figure.dpi / 72
    frame = axes.get_window_extent()
    markers = [axes.transData.transform(point[:2]) for point in axes.points]
    reach = 5.5 * scale
    taken = [(x - reach, y - reach, x + reach, y + reach) for x, y in markers]
    legend = axes.get_legend().get_window_extent()
    taken.append((legend.x0, legend.y0, legend.x1, legend.y1))
    efforts = [m for m, p in zip(markers, axes.points, strict=True) if own.has_engine(p[2])]
    taken += _along(efforts)
    bounds = (frame.x0, frame.y0, frame.x1 + 30 * scale, frame.y1)
    for (x, y), (seconds, cost, name) in zip(markers, axes.points, strict=True):
        colour = _OURS if name in own.names else _THEIRS
        weight = "bold" if own.has_engine(name) else "normal"
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
    """Return the box that overlaps least, and its offset; near boxes are preferred."""
    best: tuple[float, Box, tuple[float, float]] | None = None
    for ring in _RINGS:
        for right, up in _SIDES:
            dx, dy = right * ring * near, up * ring * near
            left = x + dx - width * (right < 0) - width / 2 * (right == 0)
            bottom = y + dy - height / 2 - height / 2 * up
            box = (left, bottom, left + width, bottom + height)
            covered = sum(_overlap(box, other) for other in taken)
            outside = width * height - _overlap(box, bounds)
            penalty = covered + 3 * outside + 4 * near * ring
            if best is None or penalty < best[0]:
                best = penalty, box, (dx, dy)
    assert best is not None
    return best[1], best[2]


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _along(corners: list[Any], step: int = 12) -> list[Box]:
    """Return small boxes along the line through these points, from left to right."""
    ordered = sorted((float(x), float(y)) for x, y in corners)
    boxes = []
    for (x0, y0), (x1, y1) in pairwise(ordered):
        for i in range(step):
            x, y = (a + (b - a) * i / step for a, b in ((x0, x1), (y0, y1)))
            boxes.append((x - 2, y - 2, x + 2, y + 2))
    return boxes
