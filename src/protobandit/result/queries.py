"""Queries of a selection about rows: nearest prototypes, distances, silhouette."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import is_integer, weights_or_ones
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem
from protobandit.result.record import SelectionRecord
from protobandit.rows.column_names import matched
from protobandit.rows.files.opening import open_if_path
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


class Queries(SelectionRecord):
    """The questions about rows that a `Selection` answers."""

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
        out = np.empty((len(oracle.problem.target), self.k), dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            out[cut] = block.T

        _visit_blocks(oracle, chosen, visit)
        return out

    def explain(self, rows: Any, *, n: int | None = None, n_jobs: int | None = None) -> Explanation:
        """Return the ``n`` nearest prototypes of each row, nearest first; 3 by default.

        The other parameters are those of `assign`.
        """
        n = min(3, self.k) if n is None else n
        if not (is_integer(n) and 1 <= n <= self.k):
            raise InvalidInput(
                f"n={n!r} is not between 1 and the {self.k} prototypes. Pass an integer "
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

    def silhouette(self, *, n_jobs: int | None = None) -> Silhouette:
        """Return the medoid silhouette, a measure of how clearly rows belong to their prototypes.

        It is the weighted mean over target rows of 1 - D/E, where D and E are the distances to the
        nearest and second nearest prototype: 0 if they are equal, 1 if the row is at its prototype
        (also if D = E = 0, because it cannot be nearer). Cost: k evaluations per target row, which
        the result counts.

        References
        ----------
        Van der Laan, Pollard, Bryan (2003), A new partitioning around medoids algorithm; Lenssen,
        Schubert (2022), Clustering by direct optimization of the medoid silhouette.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> round(pb.select(rows, k=2).silhouette().mean, 3)
        0.933
        """
        if self.k < 2:
            raise InvalidInput("silhouette needs 2 prototypes or more, not 1. Select with k >= 2.")
        oracle = Oracle(self._solved("Compute it before saving."), n_jobs=n_jobs)
        n = len(oracle.problem.target)
        labels, values = np.empty(n, dtype=np.int64), np.empty(n)

        def visit(block: Floats, cut: slice) -> None:
            labels[cut] = block.argmin(axis=0)
            near, second = np.partition(block, 1, axis=0)[:2].astype(np.float64)
            ratio = np.divide(near, second, out=np.zeros_like(near), where=second > 0)
            values[cut] = 1 - ratio

        _visit_blocks(oracle, self.indices, visit)
        share = weights_or_ones(oracle.problem.weights, n)
        sums = np.bincount(labels, share * values, minlength=self.k)
        mass = np.bincount(labels, share, minlength=self.k)
        return Silhouette(
            mean=float(share @ values / share.sum()),
            by_prototype=np.divide(sums, mass, out=np.full(self.k, np.nan), where=mass > 0),
            evaluations=oracle.evaluations.total(),
        )

    def members(self, i: int) -> Ids:
        """Return the target rows nearest to prototype ``i`` (0 is the first), nearest first.

        Cost: k evaluations per target row; for several prototypes, call `assign` once instead.
        """
        if not (is_integer(i) and -self.k <= i < self.k):
            raise InvalidInput(
                f"i={i!r} is not one of the prototypes 0 to {self.k - 1}. Pass an integer in this "
                f"range."
            )
        labels, distances = self.assign(self._solved("Pass them to assign(rows) instead.").target)
        own = np.flatnonzero(labels == i % self.k)
        return own[np.argsort(distances[own], kind="stable")]

    def take(self, frame: Any) -> Any:
        """Return the rows of ``frame`` at the prototypes, with index and columns.

        ``frame`` has one row per source row: a DataFrame, an array or a list.
        """
        self._require_source_length(frame)
        if hasattr(frame, "iloc"):
            return frame.iloc[self.indices]
        if isinstance(frame, (list, tuple)):
            return [frame[i] for i in self.indices]
        return frame[self.indices]

    def _require_source_length(self, frame: Any) -> None:
        if not hasattr(frame, "__getitem__") or isinstance(frame, (str, bytes, Mapping)):
            raise InvalidInput(
                f"frame is a {type(frame).__name__}, which has no rows to take. Pass a DataFrame, "
                f"an array or a list."
            )
        n = frame.shape[0] if hasattr(frame, "shape") else len(frame)
        least = int(self.indices.max()) + 1
        if n < least or (self.problem is not None and n != len(self.problem.source)):
            wanted = f"at least {least}" if self.problem is None else len(self.problem.source)
            raise InvalidInput(
                f"frame has {n} rows but the source has {wanted}. Pass one row per source row."
            )

    def _solved(self, advice: str) -> Problem:
        if self.problem is None:
            raise NotAvailable(
                f"This selection was loaded and does not hold the target rows. {advice} Or attach "
                f"its rows: selection.attached(source, target)."
            )
        return self.problem

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
            return pose(source, target, k=1, metric=metric), np.arange(self.k)
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
