"""The figures of a report, drawn with matplotlib. No other file imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import NotAvailable
from protobandit.result.report.composition import Composition
from protobandit.result.report.projection import Projection
from protobandit.result.report.sample import SHARES, DistanceSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _SOFT, _WARN = "#2157c4", "#8a93a0", "#a63a0f"
_SIDES = {"source": _SOFT, "target": "#1d9a6c", "mass": _INK}
_COLOURS = (
    *("#2f6fde", "#d1622b", "#1d9a6c", "#b44ac0", "#a8850b"),
    *("#0f93b5", "#d8436d", "#6b7d1e", "#7457d6", "#a0522d"),
)
_MOST_COLUMNS = 10


def draw_gains(ax: Axes | None, costs: Doubles, *, curve: Doubles | None, knee: int | None) -> Axes:
    """Draw costs against the number of prototypes."""
    ax = _axes(ax)
    if curve is not None:
        ax.plot(np.arange(1, len(curve) + 1), curve, color=_SOFT, ls="--", lw=1, label="k='auto'")
    mark = "o" if len(costs) == 1 else None
    ax.plot(np.arange(1, len(costs) + 1), costs, color=_INK, lw=2, marker=mark, label="cost")
    if knee is not None:
        ax.axvline(knee, color=_WARN, ls=":", label=f"knee at {knee}")
    ax.set(xlabel="prototypes", ylabel="cost", ylim=(0, None))
    if knee is not None or curve is not None:
        ax.legend(frameon=False)
    return ax


def draw_map(
    ax: Axes | None, projection: Projection, *, mass: Doubles, labels: list[str] | None
) -> Axes:
    """Draw rows as points and prototypes as rings whose area grows with their mass."""
    ax = _axes(ax)
    if labels is None:
        _dots(ax, projection.rows, _SOFT)
    else:
        _coloured(ax, projection.rows, np.array(labels))
    size = 20 + 160 * mass / max(float(mass.max()), 1e-12)
    ax.scatter(
        projection.prototypes[:, 0],
        projection.prototypes[:, 1],
        s=size,
        facecolors="none",
        edgecolors="black",
        label="prototypes",
    )
    ax.legend(frameon=False, markerscale=1.5, fontsize="small")
    ax.set(title=projection.name, xticks=[], yticks=[], aspect="equal")
    return ax


def draw_composition(ax: Axes | None, shares: Composition) -> Axes:
    """Draw the shares of source, target and prototypes side by side."""
    ax = _axes(ax)
    sides = [
        (name, values)
        for name, values in zip(_SIDES, (shares.source, shares.target, shares.mass), strict=True)
        if values is not None
    ]
    places, height = np.arange(len(shares.values)), 0.8 / len(sides)
    for i, (name, values) in enumerate(sides):
        positions = places + (i - (len(sides) - 1) / 2) * height
        label = "mass of prototypes" if name == "mass" else name
        ax.barh(positions, 100 * values, height=height * 0.9, color=_SIDES[name], label=label)
    ax.set_yticks(places, [_literal(value) for value in shares.values])
    ax.invert_yaxis()
    ax.set(xlabel="share, %")
    ax.legend(frameon=False)
    return ax


def draw_distances(ax: Axes | None, distances: DistanceSummary) -> Axes:
    """Draw distances to the nearest prototype, with three quantiles."""
    ax = _axes(ax)
    ax.stairs(100 * distances.heights, distances.edges, fill=True, color=_INK, alpha=0.8)
    for share, style in ((0.5, "-"), (0.9, "--"), (0.99, ":")):
        value = distances.quantiles[SHARES.index(share)]
        ax.axvline(value, color=_WARN, ls=style, lw=1, label=f"{share:.0%} within {value:.4g}")
    ax.set(xlabel="distance to the nearest prototype", ylabel="share of the target, %")
    ax.legend(frameon=False)
    return ax


def draw_gallery(images: Any, mass: Doubles, *, k: int) -> Figure:
    """Draw images in a grid, each with its rank and mass above it."""
    n = len(images)
    n_columns = min(n, _MOST_COLUMNS)
    n_rows = -(-n // n_columns)
    figure: Figure = _pyplot().figure(
        figsize=(1.1 * n_columns, 1.35 * n_rows), layout="constrained"
    )
    for i, ax in enumerate(np.ravel(figure.subplots(n_rows, n_columns, squeeze=False))):
        ax.set_axis_off()
        if i < n:
            ax.imshow(images[i], cmap="gray", interpolation="nearest")
            ax.set_title(f"{i + 1}: {mass[i]:.1%}", fontsize="small")
    if n < k:
        figure.supxlabel(f"the first {n} of {k}", fontsize="small")
    return figure


def _coloured(ax: Axes, points: Doubles, labels: Any) -> None:
    values, counts = np.unique(labels, return_counts=True)
    common = values[np.argsort(-counts, kind="stable")[: len(_COLOURS)]]
    rest = ~np.isin(labels, common)
    if rest.any():
        _dots(ax, points[rest], _SOFT, label="other")
    for value, colour in zip(np.sort(common), _COLOURS, strict=False):
        _dots(ax, points[labels == value], colour, label=_literal(value))


def _dots(ax: Axes, points: Doubles, colour: str, *, label: str | None = None) -> None:
    ax.scatter(points[:, 0], points[:, 1], s=6, color=colour, alpha=0.7, linewidths=0, label=label)


def _literal(value: str) -> str:
    """Return a label that matplotlib shows unchanged.

    A dollar sign would start mathematics, and a leading underscore would hide the entry.
    """
    return " " + value.replace("$", r"\$")


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    new: Axes = _pyplot().subplots(layout="constrained")[1]
    return new


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise NotAvailable(
            "Figures require matplotlib, which is not installed. Install protobandit[plot]."
        ) from None
    return pyplot
