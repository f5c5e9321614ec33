"""A selection's figures: what a report shows, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.run.knee import find_knee

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Plots:
    """What can be drawn of any set of prototypes; `Selection` holds the prototypes."""

    indices: Ids
    costs: Doubles
    mass: Doubles
    curve: Doubles | None
    problem: Any

    @property
    def knee(self) -> int | None:
        """Return after how many prototypes the cost bends most; None where none is clear.

        Only the first half of the curve is looked at, beyond which too few follow to tell: None of
        a few prototypes says nothing of the rows.
        """
        found = find_knee(convex(self.costs if self.curve is None else self.curve))
        return found.k if found.is_clear else None

    def plot_gains(self, *, ax: Axes | None = None) -> Axes:
        """Draw the cost against the number of prototypes, with the knee if there is one.

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.
        """
        from protobandit.result.report import figures

        return figures.gains(ax, self.costs, curve=self.curve, knee=self.knee)

    def plot_map(
        self,
        rows: Any = None,
        *,
        labels: Sequence[Any] | None = None,
        layout: str = "auto",
        n_sample: int = 5_000,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw target rows as points of a plane, with the prototypes on top.

        Cost: k evaluations a row drawn, and as many again for rows that are not numbers.

        Parameters
        ----------
        rows
            The target rows; not needed unless the selection was loaded.
        labels
            A class for each row, shown by colour.
        layout
            "pca", "umap", or "auto": UMAP where umap-learn is installed.
        n_sample
            Draw at most so many rows.
        random_state
            The seed of what is drawn at random.
        ax
            Where to draw; a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.composition import told
        from protobandit.result.report.exhibit import picked
        from protobandit.result.report.projection import plane
        from protobandit.result.report.sample import draw, taken

        asked, given = self._asked(rows)
        random = np.random.default_rng(random_state)
        sample = draw(asked, given, weights=None, n_sample=n_sample, random=random)
        _require_one_each(labels, sample.n_target, "labels", "target row")
        placed = plane(
            asked, taken(given, sample.ids), labels=sample.labels, layout=layout, random=random
        )
        own = picked(labels, sample.ids)
        return figures.scatter(
            ax, placed, mass=self.mass, labels=None if own is None else told(own)
        )

    def plot_composition(
        self,
        labels: Sequence[Any],
        *,
        target_labels: Sequence[Any] | None = None,
        weights: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the shares of each label among source rows, target rows and prototypes.

        Parameters
        ----------
        labels
            A label for each source row.
        target_labels
            A label for each target row, if the target is not the source.
        weights
            The weights of target rows; by default those of the problem, or even ones.
        ax
            Where to draw; a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.composition import compose
        from protobandit.result.report.exhibit import picked

        _require_one_each(labels, self._n_source(len(labels)), "labels", "source row")
        shares = compose(
            "label",
            prototypes=picked(labels, self.indices) or [],
            mass=self.mass,
            source=labels,
            target=target_labels,
            weights=self._weights(weights) if target_labels is not None else None,
        )
        return figures.bars(ax, shares)

    def plot_distances(
        self,
        rows: Any = None,
        *,
        weights: Any = None,
        n_sample: int = 20_000,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw how far target rows are from their nearest prototype: a histogram and quantiles.

        Cost: k evaluations a row looked at.

        Parameters
        ----------
        rows
            The target rows; not needed unless the selection was loaded.
        weights
            Their weights; by default those of the problem, or even ones.
        n_sample
            Look at no more than so many rows.
        random_state
            The seed of what is drawn at random.
        ax
            Where to draw; a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.distances import spread
        from protobandit.result.report.sample import draw

        asked, given = self._asked(rows)
        sample = draw(
            asked,
            given,
            weights=self._weights(weights) if rows is None else weights,
            n_sample=n_sample,
            random=np.random.default_rng(random_state),
        )
        return figures.histogram(ax, spread(sample, n_worst=0))

    def plot_gallery(self, images: Any, *, n: int = 50) -> Figure:
        """Draw the first ``n`` prototypes, each with the mass it stands for.

        Parameters
        ----------
        images
            An image for each source row: (rows, height, width) or (rows, height, width, 3).
        n
            Draw at most so many.
        """
        from protobandit.result.report import figures

        if n < 1:
            raise InvalidInput(f"n={n!r} is not a number of images. Pass 1 or more.")
        shape = np.shape(images)
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (3, 4)):
            raise InvalidInput(
                f"images have shape {shape}. Pass (source rows, height, width) or (source rows, "
                f"height, width, 3)."
            )
        _require_one_each(images, self._n_source(shape[0]), "images", "source row")
        first = self.indices[:n]
        return figures.pictures(np.asarray(images[first]), self.mass[:n], k=len(self.indices))

    def _asked(self, rows: Any) -> tuple[Any, Any]:
        """Return whom to ask of which rows; those of the problem are prepared already."""
        if rows is not None:
            return self, rows
        if self.problem is None:
            raise NotAvailable(
                "This selection was loaded and does not hold the target rows. Pass them as rows=."
            )
        return replace(cast(Any, self), preparation=None), self.problem.target

    def _weights(self, weights: Any) -> Any:
        return self.problem.weights if weights is None and self.problem is not None else weights

    def _n_source(self, given: int) -> int:
        """Return how many source rows there are: at least as many as prototypes tell of."""
        least = int(self.indices.max()) + 1
        return max(given, least) if self.problem is None else len(self.problem.source)


def convex(costs: Doubles) -> Doubles:
    """Return the largest convex curve below the costs.

    Greedy's gains never grow; those of prototypes that were sampled or swapped do, by chance, and
    would look like knees: on normal rows without clusters, 3 of 18 curves did, and 0 of their
    convex ones.
    """
    corners: list[int] = []
    for i in range(len(costs)):
        while len(corners) > 1 and _is_above(costs, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    return np.interp(np.arange(len(costs)), corners, costs[corners])


def _is_above(costs: Doubles, a: int, b: int, c: int) -> bool:
    """Return whether b lies on or above the line from a to c."""
    return bool((costs[b] - costs[a]) * (c - a) >= (costs[c] - costs[a]) * (b - a))


def _require_one_each(values: Any, n: int, name: str, what: str) -> None:
    if values is not None and len(values) != n:
        raise InvalidInput(f"{name} has {len(values)} values for {n} {what}s. Pass one a {what}.")
