"""What prototypes answer about rows: which is nearest, how far, and how clearly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.problem import Problem, pose
from protobandit.rows.column_names import matched
from protobandit.rows.files.opening import open_if_path
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.prepared_rows import prepare_rows


class Assignment(NamedTuple):
    """For each row, which prototype is nearest (0 is the first) and how far away it is."""

    labels: Ids
    distances: Floats


class Explanation(NamedTuple):
    """For each row its nearest prototypes, nearest first: numbers, source rows, distances."""

    prototypes: Ids
    indices: Ids
    distances: Floats


class Silhouette(NamedTuple):
    """The medoid silhouette: its weighted mean, that of each prototype's rows, what it took.

    A prototype that is nearest to no row of any weight has NaN.
    """

    mean: float
    by_prototype: Doubles
    evaluations: int


class Answers:
    """What any set of prototypes can be asked; `Selection` holds the prototypes."""

    indices: Ids
    metric: Metric | str
    prototypes: Any
    preparation: FittedPreparation | None
    columns: tuple[str, ...] | None
    problem: Problem | None

    def assign(self, rows: Any, *, n_jobs: int | None = None) -> Assignment:
        """Return the nearest prototype of any rows.

        Parameters
        ----------
        rows
            Rows like the source's, as they were before any preparation, which is repeated; frames
            are matched by the names of their columns. For a precomputed metric:
            dissimilarities of shape (n, number of source rows).
        n_jobs
            Threads.

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

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return Assignment(labels, distances)

    def distances(self, rows: Any, *, n_jobs: int | None = None) -> Floats:
        """Return d(row, prototype) for any rows, shape (number of rows, k)."""
        oracle, chosen = self._oracle_for(rows, n_jobs)
        out = np.empty((len(oracle.problem.target), len(self.indices)), dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            out[cut] = block.T

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return out

    def explain(self, rows: Any, *, n: int | None = None, n_jobs: int | None = None) -> Explanation:
        """Return the ``n`` nearest prototypes of each row, nearest first; 3 if not given."""
        n = min(3, len(self.indices)) if n is None else n
        if not (is_whole(n) and 1 <= n <= len(self.indices)):
            raise InvalidInput(f"n={n!r} is not between 1 and the {len(self.indices)} prototypes.")
        oracle, chosen = self._oracle_for(rows, n_jobs)
        shape = len(oracle.problem.target), n
        nearest, distances = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            order = np.argsort(block, axis=0, kind="stable")[:n]
            nearest[cut] = order.T
            distances[cut] = np.take_along_axis(block, order, axis=0).T

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return Explanation(nearest, self.indices[nearest], distances)

    def _oracle_for(self, rows: Any, n_jobs: int | None) -> tuple[Oracle, Ids]:
        if isinstance(self.metric, str):
            raise NotAvailable(
                f"This selection was made with your own metric {self.metric!r}, which JSON cannot "
                f"hold. Load it with Selection.from_json(text, metric=your_function)."
            )
        if rows is None:
            raise InvalidInput("rows=None is not a set of rows. Pass rows like the source's.")
        try:
            problem, chosen = self._against(rows, self.metric)
        except InvalidInput as error:
            raise InvalidInput(f"rows do not fit this selection: {error}") from None
        return Oracle(problem, n_jobs=n_jobs), chosen

    def _against(self, rows: Any, metric: Metric) -> tuple[Problem, Ids]:
        """Pose ``rows`` as the target of the prototypes, and say which sources these are."""
        if metric.name != "precomputed":
            source, target = self.prototypes, self._repeated(rows)
            if isinstance(source, list):
                source, target = _as_objects(source), _as_objects(rows)
            return pose(source, target, k=1, metric=metric), np.arange(len(self.indices))
        problem = pose(rows, k=1, metric=metric)
        if len(problem.source) <= self.indices.max():
            raise InvalidInput(
                f"they have {len(problem.source)} columns; metric='precomputed' needs one for "
                f"each source row, at least {int(self.indices.max()) + 1}."
            )
        return problem, self.indices

    def _repeated(self, rows: Any) -> Any:
        """Return rows prepared as the source was; those of the problem have been."""
        if self.problem is not None and rows is self.problem.target:
            return rows
        fitted = self.preparation
        opened = open_if_path(rows, name="rows", has_categories=fitted is not None)
        if fitted is None:
            return matched(opened, self.columns, name="rows")
        return prepare_rows(fitted, opened, name="rows")


def silhouette(oracle: Oracle, prototypes: Ids) -> Silhouette:
    """Return the mean of 1 - D/E over the oracle's target rows, D and E the two least distances.

    Where both are zero, the row could not be nearer to its prototype, and counts as 1.
    Cost: k evaluations a target row, under the phase "assign".
    """
    weights = oracle.problem.weights
    n = len(oracle.problem.target)
    labels, clarity = np.empty(n, dtype=np.int64), np.empty(n)

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        near, second = np.partition(block, 1, axis=0)[:2].astype(np.float64)
        ratio = np.divide(near, second, out=np.zeros_like(near), where=second > 0)
        clarity[cut] = 1 - ratio

    with oracle.at_work(), oracle.during("assign"):
        oracle.each_chunk(prototypes, visit)
    share = np.ones(n) if weights is None else weights
    sums = np.bincount(labels, share * clarity, minlength=len(prototypes))
    mass = np.bincount(labels, share, minlength=len(prototypes))
    by_prototype = np.divide(sums, mass, out=np.full(len(mass), np.nan), where=mass > 0)
    return Silhouette(
        mean=float(share @ clarity / share.sum()),
        by_prototype=by_prototype,
        evaluations=oracle.evaluations.total(),
    )


def is_whole(value: Any) -> bool:
    """Tell whether ``value`` is an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _as_objects(rows: Any) -> Any:
    """Keep a list a list of objects, even where its items would make a table of numbers."""
    if not isinstance(rows, (list, tuple)):
        return rows
    items = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        items[i] = row
    return items
