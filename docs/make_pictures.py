"""Make the pictures of README and of the user guide.

    python docs/make_pictures.py [NAME ...]

Writes docs/pictures/NAME.png for each picture, or for the named ones. Data come with scikit-learn
or are generated from a fixed seed, so the same call draws the same picture.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

import protobandit as pb

FOLDER = Path(__file__).parent / "pictures"
GREY, BLUE, RED, GREEN = "#b9bec7", "#1f5fbf", "#c4441c", "#2a7d46"
SEED = 0


def main(names: list[str]) -> None:
    """Make the pictures with these names, or all."""
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "font.family": "DejaVu Sans"})
    unknown = {*names} - {*PICTURES}
    if unknown:
        sys.exit(
            f"{', '.join(sorted(unknown))}: not a picture. Pass some of {', '.join(PICTURES)}."
        )
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(FOLDER / f"{name}.png", dpi=130, bbox_inches="tight", facecolor="white")
        plt.close(figure)


# -- data -----------------------------------------------------------------------------------------


def plane(seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    """Return points of five clusters of unequal size in the plane, and their clusters."""
    random = np.random.default_rng(seed)
    centres = np.array([[0, 0], [4, 1], [1.5, 4], [5.5, 5], [8.5, 2.5]], float)
    sizes, widths = (240, 160, 110, 60, 30), (0.9, 0.6, 0.7, 0.5, 0.4)
    parts = zip(centres, sizes, widths, strict=True)
    points = [c + w * random.normal(size=(n, 2)) for c, n, w in parts]
    return np.vstack(points), np.repeat(np.arange(5), sizes)


def _panel(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    for side in axes.spines.values():
        side.set_color("#dddddd")


def _rows(axes: Any, points: np.ndarray, colour: Any = GREY, size: float = 7) -> None:
    axes.scatter(*points.T, s=size, c=colour, linewidths=0)


def _prototypes(axes: Any, points: np.ndarray, colour: str = RED, marker: str = "o") -> None:
    axes.scatter(
        *points.T, s=70, c=colour, edgecolors="white", linewidths=1.4, marker=marker, zorder=3
    )


# -- pictures -------------------------------------------------------------------------------------


def digits() -> Any:
    """Draw 20 digits that represent 1,797, and the cost against that of random rows."""
    rows, _ = load_digits(return_X_y=True)
    selection = pb.select(rows, k=20, random_state=SEED)
    labels = selection.assign(rows).labels
    where = TSNE(2, init="pca", random_state=SEED).fit_transform(rows)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.9), gridspec_kw={"width_ratios": [1.45, 1], "wspace": 0.22}
    )
    left.scatter(*where.T, s=6, c=plt.cm.tab20(labels / 19), linewidths=0, alpha=0.75)
    for row in selection.indices:
        image = OffsetImage(16 - rows[row].reshape(8, 8), cmap="gray", zoom=2.0)
        frame = {"edgecolor": "#333333", "linewidth": 0.8, "boxstyle": "square,pad=0.1"}
        left.add_artist(AnnotationBbox(image, where[row], frameon=True, bboxprops=frame))
    _panel(left, "20 of 1,797 handwritten digits represent all of them")
    left.set_aspect("auto")
    ks = [2, 5, 10, 20, 30, 50, 75, 100]
    chosen = [pb.select(rows, k=k, random_state=SEED).cost for k in ks]
    drawn = [
        np.mean([pb.select(rows, k=k, method="random", random_state=i).cost for i in range(20)])
        for k in ks
    ]
    right.plot(ks, drawn, "o-", c=GREY, label="random rows (mean of 20)")
    right.plot(ks, chosen, "o-", c=BLUE, label="pb.select")
    right.axhline(chosen[ks.index(50)], c=BLUE, lw=0.8, ls=":")
    right.annotate(
        "50 selected rows are better\nthan 100 random rows",
        (50, chosen[ks.index(50)]),
        (28, 11),
        arrowprops={"arrowstyle": "-", "color": BLUE},
    )
    right.set_title("Mean distance to the nearest selected row", loc="left")
    right.set_xlabel("number of selected rows, k")
    right.set_ylim(0)
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def standardize() -> Any:
    """Draw the prototypes of two columns with unequal scales, as they are and standardized."""
    random = np.random.default_rng(SEED)
    age = np.concatenate([random.normal(m, 4, 100) for m in (25, 45, 65)])
    income = random.lognormal(10.3, 0.5, 300)
    rows = np.column_stack([age, income])
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
    for axes, prepared in zip(panels, (None, pb.Preparation(standardize=True)), strict=True):
        selection = pb.select(rows, k=6, preparation=prepared, random_state=SEED)
        labels = selection.assign(rows).labels
        axes.scatter(age, income / 1000, s=9, c=plt.cm.Set2(labels), linewidths=0)
        _prototypes(axes, rows[selection.indices] / [1, 1000])
        axes.set_xlabel("age, years")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_title("as they are: only income counts", loc="left")
    panels[1].set_title("standardize=True: both columns count", loc="left")
    panels[0].set_ylabel("income, thousands")
    return figure


def methods() -> Any:
    """Draw what the mean distance, the largest distance and random rows choose."""
    points, _ = plane()
    points = np.vstack([points, [[-4, 6], [11, 6.5], [10.5, -2]]])
    titles = {
        "auto": "auto: lowest mean distance",
        "kcenter": "kcenter: lowest largest distance",
        "random": "random rows",
    }
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4))
    for axes, (method, title) in zip(panels, titles.items(), strict=True):
        selection = pb.select(points, k=9, method=method, random_state=3)
        distances = selection.assign(points).distances
        _rows(axes, points)
        _prototypes(axes, points[selection.indices])
        _panel(axes, title)
        axes.set_xlabel(f"mean {distances.mean():.2f}, largest {distances.max():.2f}")
    return figure


def cells() -> Any:
    """Draw the cells of eight prototypes, with their mass."""
    points, _ = plane()
    selection = pb.select(points, k=8, random_state=SEED)
    found = selection.assign(points)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.9), gridspec_kw={"width_ratios": [1.5, 1], "wspace": 0.2}
    )
    colours = plt.cm.Set2(np.arange(8))
    for row, label in zip(points, found.labels, strict=True):
        left.plot(
            *zip(row, points[selection.indices[label]], strict=True), c=colours[label], lw=0.5
        )
    _rows(left, points, colours[found.labels])
    _prototypes(left, points[selection.indices])
    for rank, (row, share) in enumerate(zip(selection.indices, selection.mass, strict=True), 1):
        frame = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.8}
        at = (7, 5) if rank != 1 else (-38, 6)
        left.annotate(
            f"{rank}: {share:.0%}",
            points[row],
            at,
            textcoords="offset points",
            bbox=frame,
            zorder=4,
        )
    _panel(left, "rank and mass of each prototype, and its cell")
    right.hist(found.distances, bins=30, color=GREY)
    right.axvline(selection.cost, c=RED, label=f"cost: the mean, {selection.cost:.2f}")
    right.set_title("distance to the nearest prototype", loc="left")
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    right.set_ylabel("rows")
    return figure


def constraints() -> Any:
    """Draw what each kind of constraint changes."""
    points, group = plane()
    price = 1 + points[:, 0] - points[:, 0].min()
    corner = int(points.sum(axis=1).argmax())
    asked = {
        "no constraint, k=8": None,
        "fixed=[…] (square)": pb.Constraints(fixed=[corner]),
        "at_least=1, at_most=2 per colour": pb.Constraints(groups=group, at_least=1, at_most=2),
        "min_distance=2.2": pb.Constraints(min_distance=2.2),
        "costs grow to the right, budget=30": pb.Constraints(costs=price, budget=30.0),
        "by= colour": None,
    }
    figure, panels = plt.subplots(2, 3, figsize=(11, 6.4))
    for axes, (title, rule) in zip(panels.flat, asked.items(), strict=True):
        by = group if title.startswith("by") else None
        selection = pb.select(points, k=8, constraints=rule, by=by, random_state=SEED)
        _rows(axes, points, plt.cm.Set2(group))
        _prototypes(axes, points[selection.indices])
        if rule is not None and len(selection.fixed):
            _prototypes(axes, points[[*selection.fixed]], "black", "s")
        _panel(axes, title)
        axes.set_xlabel(f"{selection.k} prototypes, cost {selection.cost:.2f}")
    return figure


def drift() -> Any:
    """Draw prototypes before new rows come, their drift, and their update."""
    points, group = plane()
    old, new = points[group < 3], np.vstack([points[group >= 3], plane(1)[0][:60]])
    selection = pb.select(old, k=8, random_state=SEED)
    updated = selection.updated(new, keep=0.7, random_state=SEED)
    found = selection.drift(new)
    both = np.vstack([old, new])
    kept = np.isin(updated.indices, selection.indices)
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharex=True, sharey=True)
    titles = ("select(old)", f"drift(new): cost ratio {found.ratio:.1f}", "updated(new, keep=0.7)")
    for axes, title in zip(panels, titles, strict=True):
        _rows(axes, old)
        _panel(axes, title)
    for axes in panels[1:]:
        _rows(axes, new, GREEN)
    for axes in panels[:2]:
        _prototypes(axes, old[selection.indices])
    _prototypes(panels[2], both[updated.indices[kept]])
    _prototypes(panels[2], both[updated.indices[~kept]], "black", "s")
    panels[1].scatter(*new[found.worst_rows].T, s=60, edgecolors="black", facecolors="none")
    panels[0].set_xlabel("grey: old rows")
    panels[1].set_xlabel("green: new rows; circles: worst ones")
    panels[2].set_xlabel("squares: exchanged prototypes")
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "digits": digits,
    "standardize": standardize,
    "methods": methods,
    "cells": cells,
    "constraints": constraints,
    "drift": drift,
}


if __name__ == "__main__":
    main(sys.argv[1:])
