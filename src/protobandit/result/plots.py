"""The figures of a selection: the contents of a report, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.result.queries import Queries
from protobandit.run.knee import find_knee

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Plots(Queries):
    """The figures of a `Selection`."""

    @property
    def knee(self) -> int | None:
        """Return the number of prototypes at the knee of the cost curve; None without a clear knee.

        Only the first half of the curve is searched, because a knee cannot be recognised with few
        costs after it. With few prototypes, None says nothing about the rows.
        """
        found = find_knee(convex(self.costs if self.curve is None else self.curve))
        return found.k if found.is_clear else None

    def plot_gains(self, *, ax: Axes | None = None) -> Axes:
        """Draw the cost against the number of prototypes, with the knee if there is one.

        Parameters
        ----------
        ax
            The axes to draw on; those of a new figure by default.
        """
        from protobandit.result.report import figures

        return figures.draw_gains(ax, self.costs, curve=self.curve, knee=self.knee)

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

        Cost: k evaluations per row drawn; twice as many if rows are not numeric.

        Parameters
        ----------
        rows
            The target rows; needed only if the selection was loaded.
        labels
            The class of each target row, shown by colour.
        layout
            "pca", "umap" or "auto", which uses UMAP if umap-learn is installed.
        n_sample
            The largest number of rows to draw.
        random_state
            The seed of everything random.
        ax
            The axes to draw on; those of a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.composition import label_texts
        from protobandit.result.report.projection import project
        from protobandit.result.report.row_display import values_at
        from protobandit.result.report.sample import draw_sample, rows_at

        selection, target = self._with_target(rows)
        random = np.random.default_rng(random_state)
        sample = draw_sample(selection, target, weights=None, n_sample=n_sample, random=random)
        _require_one_each(labels, sample.n_target, "labels", "target row")
        projection = project(
            selection,
            rows_at(target, sample.ids),
            labels=sample.labels,
            layout=layout,
            random=random,
        )
        drawn = values_at(labels, sample.ids)
        return figures.draw_map(
            ax,
            projection,
            mass=self.mass,
            labels=None if drawn is None else label_texts(drawn),
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
            The label of each source row.
        target_labels
            The label of each target row, if the target is not the source.
        weights
            The weights of target rows; by default those of the problem, or equal weights.
        ax
            The axes to draw on; those of a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.composition import compose
        from protobandit.result.report.row_display import values_at

        _require_one_each(labels, self._n_source(len(labels)), "labels", "source row")
        shares = compose(
            "label",
            prototypes=values_at(labels, self.indices) or [],
            mass=self.mass,
            source=labels,
            target=target_labels,
            weights=self._weights(weights) if target_labels is not None else None,
        )
        return figures.draw_composition(ax, shares)

    def plot_distances(
        self,
        rows: Any = None,
        *,
        weights: Any = None,
        n_sample: int = 20_000,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a histogram of the distances to the nearest prototype, with quantiles.

        Cost: k evaluations per row drawn.

        Parameters
        ----------
        rows
            The target rows; needed only if the selection was loaded.
        weights
            Their weights; by default those of the problem, or equal weights.
        n_sample
            The largest number of rows to draw at random.
        random_state
            The seed of everything random.
        ax
            The axes to draw on; those of a new figure by default.
        """
        from protobandit.result.report import figures
        from protobandit.result.report.sample import draw_sample, summarize_distances

        selection, target = self._with_target(rows)
        sample = draw_sample(
            selection,
            target,
            weights=self._weights(weights) if rows is None else weights,
            n_sample=n_sample,
            random=np.random.default_rng(random_state),
        )
        return figures.draw_distances(ax, summarize_distances(sample, n_worst=0))

    def plot_gallery(self, images: Any, *, n: int = 50) -> Figure:
        """Draw the images of the first ``n`` prototypes, each with its mass.

        Parameters
        ----------
        images
            One image per source row: (rows, height, width) or (rows, height, width, 3).
        n
            The largest number of images to draw.
        """
        from protobandit.result.report import figures

        require_integer(n, "n")
        shape = np.shape(images)
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (3, 4)):
            raise InvalidInput(
                f"images have shape {shape}. Pass (source rows, height, width) or (source rows, "
                f"height, width, 3)."
            )
        _require_one_each(images, self._n_source(shape[0]), "images", "source row")
        first = self.indices[:n]
        return figures.draw_gallery(np.asarray(images[first]), self.mass[:n], k=len(self.indices))

    def _with_target(self, rows: Any) -> tuple[Queries, Any]:
        """Return the selection to query and the target rows.

        Rows of the problem are prepared already, so the selection must not prepare them again.
        """
        if rows is not None:
            return self, rows
        if self.problem is None:
            raise NotAvailable(
                "This selection was loaded and does not hold the target rows. Pass them as rows=."
            )
        return replace(self, preparation=None), self.problem.target

    def _weights(self, weights: Any) -> Any:
        return self.problem.weights if weights is None and self.problem is not None else weights

    def _n_source(self, given: int) -> int:
        """Return the number of source rows; after loading, ``given`` if prototypes allow it."""
        least = int(self.indices.max()) + 1
        return max(given, least) if self.problem is None else len(self.problem.source)


def convex(costs: Doubles) -> Doubles:
    """Return the largest convex curve below the costs.

    The gains of greedy never increase. Those of sampled or swapped prototypes sometimes do, at
    random, and then look like knees. On normal rows without clusters, 3 of 18 curves had such a
    knee; none of their convex curves had one.
    """
    corners: list[int] = []
    values = costs.tolist()  # numbers of Python are faster one by one
    for i in range(len(values)):
        while len(corners) > 1 and _is_above(values, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    return np.interp(np.arange(len(costs)), corners, costs[corners])


def _is_above(costs: list[float], a: int, b: int, c: int) -> bool:
    """Return whether b lies on or above the line from a to c."""
    return bool((costs[b] - costs[a]) * (c - a) >= (costs[c] - costs[a]) * (b - a))


def _require_one_each(values: Any, n: int, name: str, what: str) -> None:
    if values is not None and len(values) != n:
        raise InvalidInput(f"{name} has {len(values)} values for {n} {what}s. Pass one per {what}.")
