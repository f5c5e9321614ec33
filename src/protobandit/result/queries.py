"""Queries of a selection about rows: nearest prototypes, distances, barycentres, accuracies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import is_integer, is_missing, weights_or_ones
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.labels import numbered
from protobandit.foundation.threads import on_one_thread
from protobandit.metrics.default_metric import takes_objects
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem
from protobandit.result.record import SelectionRecord
from protobandit.rows.column_names import matched
from protobandit.rows.dask_rows import is_lazy, mapped, taken
from protobandit.rows.files.opening import as_opened
from protobandit.rows.frames import is_pandas_series
from protobandit.rows.group_means import group_means
from protobandit.rows.partitioned_rows import PartitionedRows
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.prepared_rows import prepare_rows
from protobandit.rows.preparation.transformer import FittedTransformer
from protobandit.rows.rows import Rows, is_sparse
from protobandit.rows.sparse_format import checked_csr


class Assignment(NamedTuple):
    """The nearest prototype of each row, and the distance to it.

    Attributes
    ----------
    labels
        Numbers of prototypes; 0 is the first.
    distances
        The distances to them.
    """

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
            Columns of frames are matched by name; other columns are left out. A 1-D array of as
            many numbers as a row has is one row, and so is a dict of values. For a precomputed
            metric: dissimilarities of shape (n, number of source rows).
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Returns
        -------
        Assignment
            Labels and distances; for a Dask collection, lazy arrays with the chunks of its rows.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2)
        >>> selection.assign([[8.0], [2.0]]).labels
        array([1, 0])
        """
        if is_lazy(rows):
            both = mapped(
                rows, _assigned_part, self._light(), name="rows", width=2, like=self.columns
            )
            return Assignment(
                both[:, 0].astype(np.int64), both[:, 1].astype(np.asarray(self.prototypes).dtype)
            )
        return _assigned(*self._oracle_for(rows, n_jobs))

    def distances(self, rows: Any, *, n_jobs: int | None = None) -> Floats:
        """Return d(row, prototype) for each row and prototype, shape (number of rows, k).

        Parameters
        ----------
        rows, n_jobs
            As in `assign`. For a Dask collection the result is a lazy array.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2, method="lazygreedy")
        >>> selection.take([0, 1, 9, 10]), selection.distances([[8.0], [2.0]]).tolist()
        ([1, 9], [[7.0, 1.0], [1.0, 7.0]])
        """
        if is_lazy(rows):
            lazy: Floats = mapped(
                rows,
                _distances_of_part,
                self._light(),
                name="rows",
                width=self.k,
                like=self.columns,
            )
            return lazy
        oracle, chosen = self._oracle_for(rows, n_jobs)
        out = np.empty((len(oracle.problem.target), self.k), dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            out[cut] = block.T

        _visit_blocks(oracle, chosen, visit)
        return out

    def explain(self, rows: Any, *, n: int | None = None, n_jobs: int | None = None) -> Explanation:
        """Return the nearest prototypes of each row, nearest first.

        Parameters
        ----------
        rows
            Rows as in `assign`.
        n
            The number of prototypes per row; by default 3, or all if there are fewer.
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2, method="lazygreedy")
        >>> selection.explain([[8.0]], n=2).indices
        array([[2, 1]])
        """
        n = min(3, self.k) if n is None else n
        if not (is_integer(n) and 1 <= n <= self.k):
            raise InvalidInput(
                f"n={n!r:.60} is not between 1 and the {self.k} prototypes. Pass an integer "
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

        Parameters
        ----------
        n_jobs
            The number of threads; None or -1 uses all available cores.

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

    def barycentres(
        self, rows: Any = None, *, weights: Any = None, n_jobs: int | None = None
    ) -> Any:
        """Return the barycentre of each prototype: the weighted mean of the rows nearest to it.

        This is the barycentric map of optimal transport. The best transport plan from the
        prototypes to the target moves the weight of every target row from its nearest prototype,
        so the image of a prototype is the mean of its cell. A prototype whose cell is empty has no
        image; its row is NaN. Barycentres are in the form the metric reads, prepared if rows were.
        Cost: k evaluations per target row.

        Parameters
        ----------
        rows
            The rows to average, as in `assign`; by default the target with its weights.
        weights
            The weights of ``rows``; equal by default.
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Returns
        -------
        array or CSR matrix
            One row of float64 per prototype. It is a CSR matrix if the rows are.

        References
        ----------
        Gurumoorthy, Jawanpuria, Mishra (2021), SPOT; Ferradans, Papadakis, Rabin, Peyré, Aujol
        (2013), Regularized discrete optimal transport.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [9.0]], [[1.0], [2.0], [8.0]], k=2)
        >>> sorted(selection.barycentres().ravel().tolist())
        [1.5, 8.0]
        """
        oracle, chosen = self._oracle_of_target(rows, weights, n_jobs)
        _require_columns(oracle.problem)
        problem, labels = oracle.problem, _assigned(oracle, chosen).labels
        return group_means(problem.target, labels, problem.target_weights, self.k)

    def nearest_accuracy(
        self,
        source_labels: Any,
        target_labels: Any = None,
        *,
        rows: Any = None,
        weights: Any = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the share of target rows that have the label of their nearest prototype.

        Rows count by their weights. The search does not see labels, so this says how well the
        prototypes represent classes that they were not told of. Cost: k evaluations per target row.

        Parameters
        ----------
        source_labels
            One label per source row. Only those of prototypes are used; others may be missing.
        target_labels
            One label per target row, or per row of ``rows``; None if the target is the source.
        rows, weights, n_jobs
            As in `barycentres`.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows, colours = [[0.0], [1.0], [8.0], [9.0]], ["red", "red", "blue", "red"]
        >>> pb.select(rows, k=2).nearest_accuracy(colours)
        0.75
        """
        oracle, chosen = self._oracle_of_target(rows, weights, n_jobs)
        own, true = self._label_numbers(oracle.problem, source_labels, target_labels, rows)
        return _accuracy(oracle.problem, own[_assigned(oracle, chosen).labels], true)

    def barycentric_accuracy(
        self,
        source_labels: Any,
        target_labels: Any = None,
        *,
        rows: Any = None,
        weights: Any = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the share of target rows that have the label of their nearest barycentre.

        A barycentre has the label of its prototype (see `barycentres`); a prototype with an empty
        cell takes no part. Rows and barycentres are compared by the metric of this selection. The
        paper of `methods.ProtoBandit` measures its prototypes by this accuracy. Cost: 2k
        evaluations per target row.

        Parameters
        ----------
        source_labels, target_labels, rows, weights, n_jobs
            As in `nearest_accuracy`.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows, colours = [[0.0], [1.0], [8.0], [9.0]], ["red", "red", "blue", "red"]
        >>> pb.select(rows, k=2).barycentric_accuracy(colours)
        0.75
        """
        oracle, chosen = self._oracle_of_target(rows, weights, n_jobs)
        problem = oracle.problem
        _require_columns(problem)
        own, true = self._label_numbers(problem, source_labels, target_labels, rows)
        labels = _assigned(oracle, chosen).labels
        weights = problem.target_weights
        used = np.flatnonzero(np.bincount(labels, weights, minlength=self.k))
        images = group_means(problem.target, labels, weights, self.k)[used]
        images = images.astype(problem.target.dtype)
        mapped = pose(images, problem.target, k=1, metric=problem.metric)
        oracle = Oracle(mapped, n_jobs=n_jobs)
        nearest = _assigned(oracle, np.arange(len(used))).labels
        return _accuracy(problem, own[used][nearest], true)

    def members(self, i: int) -> Ids:
        """Return the target rows nearest to prototype ``i`` (0 is the first), nearest first.

        Cost: k evaluations per target row; for several prototypes, call `assign` once instead.

        Parameters
        ----------
        i
            The number of the prototype; 0 is the first, and -1 the last.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2, method="lazygreedy")
        >>> selection.members(0)
        array([1, 0])
        """
        if not (is_integer(i) and -self.k <= i < self.k):
            raise InvalidInput(
                f"i={i!r:.60} is not one of the prototypes 0 to {self.k - 1}. Pass an integer in "
                f"this range."
            )
        labels, distances = self.assign(self._solved("Pass them to assign(rows) instead.").target)
        own = np.flatnonzero(labels == i % self.k)
        return own[np.argsort(distances[own], kind="stable")]

    def take(self, frame: Any) -> Any:
        """Return the rows of ``frame`` at the prototypes, with index and columns.

        Parameters
        ----------
        frame
            One row per source row: a DataFrame, an array or a list. Of a Dask collection with the
            partitions of the source only the partitions of prototypes are computed; the rows are
            returned in memory.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2, method="lazygreedy")
        >>> selection.take(["zero", "one", "nine", "ten"])
        ['one', 'nine']
        """
        if is_lazy(frame):
            source = None if self.problem is None else self.problem.source
            lengths = source.lengths if isinstance(source, PartitionedRows) else None
            return taken(frame, self.indices, None if lengths is None else lengths.tolist())
        self._require_source_length(frame)
        if is_sparse(frame):
            return checked_csr(frame, name="frame")[self.indices]
        if hasattr(frame, "iloc"):
            return frame.iloc[self.indices]
        if isinstance(frame, (list, tuple)):
            return [frame[i] for i in self.indices]
        return frame[self.indices]

    def _require_source_length(self, frame: Any, name: str = "frame") -> None:
        is_scalar = getattr(frame, "ndim", 1) == 0
        is_other = isinstance(frame, (str, bytes, memoryview, Mapping))
        if is_scalar or is_other or not hasattr(frame, "__getitem__"):
            raise InvalidInput(
                f"{name} is a {type(frame).__name__}, which has no rows to take. Pass a DataFrame, "
                f"an array or a list."
            )
        n = frame.shape[0] if hasattr(frame, "shape") else len(frame)
        least = int(self.indices.max()) + 1
        if n < least or (self.problem is not None and n != len(self.problem.source)):
            wanted = f"at least {least}" if self.problem is None else len(self.problem.source)
            raise InvalidInput(
                f"{name} has {n} rows but the source has {wanted}. Pass one row per source row."
            )

    def _light(self) -> Any:
        """Return this selection without the rows, for tasks that assign other rows."""
        return replace(self, problem=None)

    def _solved(self, advice: str) -> Problem:
        if self.problem is None:
            raise NotAvailable(
                f"This selection was loaded and does not hold the target rows. {advice} Or attach "
                f"its rows: selection.attached(source, target)."
            )
        return self.problem

    def _oracle_of_target(self, rows: Any, weights: Any, n_jobs: int | None) -> tuple[Oracle, Ids]:
        """Return the oracle of weighted rows, those of the target by default, and prototypes."""
        if rows is not None:
            return self._oracle_for(rows, n_jobs, weights)
        if weights is not None:
            raise InvalidInput(
                "weights are given without rows, but the target has its own weights. Pass the rows "
                "that they belong to, or leave weights out."
            )
        problem = self._solved("Pass them as rows=.")
        return self._oracle_for(problem.target, n_jobs, problem.weights)

    def _label_numbers(
        self, problem: Problem, source_labels: Any, target_labels: Any, rows: Any
    ) -> tuple[Ids, Ids]:
        """Return the labels of prototypes and of target rows as numbers; equal labels are equal."""
        values = self._source_labels(source_labels)
        own_names, own = numbered([values[i] for i in self.indices], self.k, "source_labels")
        if target_labels is None:
            solved = self.problem
            if rows is not None or solved is None or solved.target is not solved.source:
                raise InvalidInput(
                    "target_labels are missing, and the rows are not known to be the source. Pass "
                    "one label per row."
                )
            target_labels = source_labels
        names, true = numbered(target_labels, len(problem.target), "target_labels")
        number = {name: i for i, name in enumerate(own_names)}
        known = np.array([number.get(name, -1) for name in names], dtype=np.int64)
        if (known < 0).all() and not any(name in values for name in names):
            raise InvalidInput(
                f"target_labels such as {names[0]!r:.40} and source_labels such as "
                f"{own_names[0]!r:.40} have none in common. Pass labels of the same kind and type."
            )
        return own, known[true]

    def _source_labels(self, source_labels: Any) -> list[Any]:
        """Return the labels of source rows as a list; those of prototypes are not missing."""
        is_text = isinstance(source_labels, (str, bytes))
        if is_text or not hasattr(source_labels, "__len__"):
            raise InvalidInput(
                f"source_labels={source_labels!r:.40} is not a sequence. Pass one label per source "
                f"row."
            )
        self._require_source_length(source_labels, name="source_labels")
        is_array = hasattr(source_labels, "tolist")
        values: list[Any] = source_labels.tolist() if is_array else list(source_labels)
        for i in self.indices:
            if is_missing(values[i]):
                raise InvalidInput(
                    f"source_labels[{i}]={values[i]!r} is missing, but this source row is a "
                    f"prototype. Give every prototype a label."
                )
        return values

    def _oracle_for(self, rows: Any, n_jobs: int | None, weights: Any = None) -> tuple[Oracle, Ids]:
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
            problem, chosen = self._posed(rows, self.metric, weights)
        except InvalidInput as error:
            raise InvalidInput(f"rows do not fit this selection: {error}") from None
        return Oracle(problem, n_jobs=n_jobs), chosen

    def _posed(self, rows: Any, metric: Metric, weights: Any) -> tuple[Problem, Ids]:
        """Return a problem with ``rows`` as target, and the prototypes as rows of its source."""
        if metric.name != "precomputed":
            source, target = self.prototypes, self._prepared(rows)
            if isinstance(source, list):
                source, target = _as_objects(source), _as_objects(target)
            problem = pose(source, target, k=1, metric=metric, weights=weights)
            return problem, np.arange(self.k)
        problem = pose(rows, k=1, metric=metric, weights=weights)
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
        if isinstance(fitted, FittedTransformer):
            return fitted.rows(rows, name="rows")
        opened = as_opened(
            self._with_one_row(rows, fitted),
            name="rows",
            preparation=fitted,
            like=self.columns,
            takes_objects=takes_objects(self.metric),
        )
        if fitted is None:
            return matched(opened, self.columns, name="rows")
        return prepare_rows(fitted, opened, name="rows")

    def _with_one_row(self, rows: Any, fitted: FittedPreparation | None) -> Any:
        """Return a single row, such as a dict, an array or a Series of its numbers, as rows."""
        if isinstance(rows, Mapping) and all(isinstance(x, (Number, str)) for x in rows.values()):
            return [rows]
        prototypes = self.prototypes
        if not isinstance(prototypes, np.ndarray) or prototypes.ndim != 2:
            return rows
        if is_pandas_series(rows) and set(self.columns or "?") <= set(rows.index):
            rows = [rows[column] for column in self.columns or ()]
        is_flat = isinstance(rows, (list, tuple)) and all(isinstance(x, Number) for x in rows)
        if not is_flat and not (isinstance(rows, np.ndarray) and rows.ndim == 1):
            return rows
        width = prototypes.shape[1] if fitted is None else len(fitted.names) + len(fitted.levels)
        return np.asarray(rows)[None] if len(rows) == width > 1 else rows


def _assigned_part(rows: Any, selection: Queries) -> Doubles:
    """Return labels and distances of the rows of a part, side by side."""
    if len(rows) == 0:
        return np.empty((0, 2))
    with on_one_thread():
        return np.column_stack(selection.assign(rows)).astype(np.float64)


def _distances_of_part(rows: Any, selection: Queries) -> Doubles:
    if len(rows) == 0:
        return np.empty((0, selection.k))
    with on_one_thread():
        return selection.distances(rows).astype(np.float64)


def _visit_blocks(oracle: Oracle, prototypes: Ids, visit: Callable[[Floats, slice], None]) -> None:
    """Call ``visit`` with the distances of blocks of target rows to the prototypes."""
    with oracle.at_work(), oracle.during("assign"):
        oracle.each_chunk(prototypes, visit)


def _assigned(oracle: Oracle, prototypes: Ids) -> Assignment:
    """Return the nearest prototype of each target row."""
    n = len(oracle.problem.target)
    labels, distances = np.empty(n, dtype=np.int64), np.empty(n, dtype=oracle.dtype)

    def visit(block: Floats, cut: slice) -> None:
        labels[cut] = block.argmin(axis=0)
        distances[cut] = block.min(axis=0)

    _visit_blocks(oracle, prototypes, visit)
    return Assignment(labels, distances)


def _require_columns(problem: Problem) -> None:
    """Raise unless the target rows can be averaged."""
    target: Rows = problem.target
    if problem.metric.name == "precomputed" or target.kind not in ("dense", "sparse"):
        held = "dissimilarities" if problem.metric.name == "precomputed" else f"{target.kind}"
        raise InvalidInput(
            f"barycentres need rows of numbers, but the target holds {held}. Use "
            f"nearest_accuracy, or select rows of numbers."
        )


def _accuracy(problem: Problem, labels: Ids, true: Ids) -> float:
    """Return the share of the weight of target rows whose labels are the true ones."""
    weights = problem.target_weights
    return float(weights @ (labels == true) / weights.sum())


def _as_objects(rows: Any) -> Any:
    """Return a list as an array of objects, even if its items could form a numeric array."""
    if not isinstance(rows, (list, tuple)):
        return rows
    items = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        items[i] = row
    return items
