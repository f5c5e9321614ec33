"""Queries of a selection about rows: nearest prototypes, distances, silhouette."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import is_integer, weights_or_ones
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem
from protobandit.rows.column_names import matched
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.prepared_rows import prepare_rows


class Assignment(NamedTuple):
    """The nearest prototype of each row (0 is the first) and the distance to it."""

    labels: Ids
    distances: Floats


class Explanation(NamedTuple):
    """The nearest prototypes of each row, nearest first.

    Attributes
    ----------
    prototypes
        Numbers of prototypes; 0 is the first.
    indices
        Their source rows.
    distances
        The distances to them.
    """

    prototypes: Ids
    indices: Ids
    distances: Floats


class Silhouette(NamedTuple):
    """The medoid silhouette.

    Attributes
    ----------
    mean
        The weighted mean over target rows.
    by_prototype
        The weighted mean over the rows nearest to each prototype; NaN if none of them has weight.
    evaluations
        The dissimilarities computed for it.
    """

    mean: float
    by_prototype: Doubles
    evaluations: int


class Queries:
    """The queries of a `Selection`, which has the attributes declared here."""

    indices: Ids
    metric: Metric | str
    prototypes: Any
    preparation: FittedPreparation | None
    columns: tuple[str, ...] | None
    problem: Problem | None

    def assign(self, rows: Any, *, n_jobs: int | None = None) -> Assignment:
        """Return the nearest prototype of each row.

        Parameters
        ----------
        rows
            Rows in the form of the source rows, before any preparation, which is applied here.
            Columns of frames are matched by name. For a precomputed metric: dissimilarities of
            shape (n, number of source rows).
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2)
        >>> selection.assign([[8.0], [2.0]]).labels
        array([1, 0])
        """
        oracle, chosen = self._oracle_for(rows, n_jobs)
        n = len(oracle.problem.target)
        labels, distances = np.empty(n, dtype=np.int64), np.empty(n, dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            labels[cut] = block.argmin(axis=0)
            distances[cut] = block.min(axis=0)

        _visit_blocks(oracle, chosen, visit)
        return Assignment(labels, distances)

    def distances(self, rows: Any, *, n_jobs: int | None = None) -> Floats:
        """Return d(row, prototype) for each row and prototype, shape (number of rows, k).

        Parameters are those of `assign`.
        """
        oracle, chosen = self._oracle_for(rows, n_jobs)
        out = np.empty((len(oracle.problem.target), len(self.indices)), dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            out[cut] = block.T

        _visit_blocks(oracle, chosen, visit)
        return out

    def explain(self, rows: Any, *, n: int | None = None, n_jobs: int | None = None) -> Explanation:
        """Return the ``n`` nearest prototypes of each row, nearest first; 3 by default.

        The other parameters are those of `assign`.
        """
        n = min(3, len(self.indices)) if n is None else n
        if not (is_integer(n) and 1 <= n <= len(self.indices)):
            raise InvalidInput(
                f"n={n!r} is not between 1 and the {len(self.indices)} prototypes. Pass an integer "
                f"in this range."
            )
        oracle, chosen = self._oracle_for(rows, n_jobs)
        shape = len(oracle.problem.target), n
        nearest, distances = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            order = np.argsort(block, axis=0, kind="stable")[:n]
            nearest[cut] = order.T
            distances[cut] = np.take_along_axis(block, order, axis=0).T

        _visit_blocks(oracle, chosen, visit)
        return Explanation(nearest, self.indices[nearest], distances)

    def _oracle_for(self, rows: Any, n_jobs: int | None) -> tuple[Oracle, Ids]:
        if isinstance(self.metric, str):
            raise NotAvailable(
                f"This selection was made with your own metric {self.metric!r}, which is not "
                f"part of the JSON text. Load it with "
                f"Selection.from_json(text, metric=your_function)."
            )
        if rows is None:
            raise InvalidInput(
                "rows=None is not a set of rows. Pass rows in the form of the source rows."
            )
        try:
            problem, chosen = self._posed(rows, self.metric)
        except InvalidInput as error:
            raise InvalidInput(f"rows do not fit this selection: {error}") from None
        return Oracle(problem, n_jobs=n_jobs), chosen

    def _posed(self, rows: Any, metric: Metric) -> tuple[Problem, Ids]:
        """Return a problem with ``rows`` as target, and the prototypes as rows of its source."""
        if metric.name != "precomputed":
            source, target = self.prototypes, self._prepared(rows)
            if isinstance(source, list):
                source, target = _as_objects(source), _as_objects(rows)
            return pose(source, target, k=1, metric=metric), np.arange(len(self.indices))
        problem = pose(rows, k=1, metric=metric)
        if len(problem.source) <= self.indices.max():
            raise InvalidInput(
                f"they have {len(problem.source)} columns; metric='precomputed' needs one for each "
                f"source row, at least {int(self.indices.max()) + 1}. Pass dissimilarities of "
                f"shape (n, number of source rows)."
            )
        return problem, self.indices

    def _prepared(self, rows: Any) -> Any:
        """Return rows prepared as the source was; those of the problem are prepared already."""
        if self.problem is not None and rows is self.problem.target:
            return rows
        fitted = self.preparation
        opened = open_if_path(rows, name="rows", has_categories=fitted is not None)
        if fitted is None:
            return matched(opened, self.columns, name="rows")
        return prepare_rows(fitted, opened, name="rows")


def silhouette(oracle: Oracle, prototypes: Ids) -> Silhouette:
    """Return the weighted mean of 1 - D/E over the oracle's target rows.

    D and E are the distances to the nearest and the second nearest prototype. A row with D = E = 0
    counts as 1, because it cannot be nearer to its prototype.
    Cost: k evaluations per target row, in the phase "assign".
    """
    weights = oracle.problem.weights
    n = len(oracle.problem.target)
    labels, values = np.empty(n, dtype=np.int64), np.empty(n)

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        near, second = np.partition(block, 1, axis=0)[:2].astype(np.float64)
        ratio = np.divide(near, second, out=np.zeros_like(near), where=second > 0)
        values[cut] = 1 - ratio

    _visit_blocks(oracle, prototypes, visit)
    share = weights_or_ones(weights, n)
    sums = np.bincount(labels, share * values, minlength=len(prototypes))
    mass = np.bincount(labels, share, minlength=len(prototypes))
    by_prototype = np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0)
    return Silhouette(
        mean=float(share @ values / share.sum()),
        by_prototype=by_prototype,
        evaluations=oracle.evaluations.total(),
    )


def _visit_blocks(oracle: Oracle, prototypes: Ids, visit: Callable[[Floats, slice], None]) -> None:
    """Call ``visit`` with the distances of blocks of target rows to the prototypes."""
    with oracle.at_work(), oracle.during("assign"):
        oracle.each_chunk(prototypes, visit)


def _as_objects(rows: Any) -> Any:
    """Return a list as an array of objects, even if its items could form a numeric array."""
    if not isinstance(rows, (list, tuple)):
        return rows
    items = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        items[i] = row
    return items
