"""The scikit-learn door: two estimators around `select`.

Rules
-----
1. ``__init__`` stores; ``fit`` validates and hands over to `select`; nothing is decided here.
2. Tables of numbers pass scikit-learn's own validation. Rows that only a caller's metric
   understands (strings, sequences of any length) pass as a list and have no features to name.
3. Fitted attributes speak of the rows of ``X`` as they were passed, whatever was searched.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import base
from sklearn.utils import _safe_indexing, validation

from protobandit._errors import InvalidInput
from protobandit._metrics import Metric, as_metric
from protobandit._problem import Problem, Target, pose
from protobandit._select import select
from protobandit._selection import Selection
from protobandit._typing import Doubles, Floats, Ids


class _PrototypeEstimator(
    base.ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    base.TransformerMixin,  # type: ignore[misc]
    base.BaseEstimator,  # type: ignore[misc]
):
    """What both estimators can do, whatever each calls its parameters and results."""

    _count_name: ClassVar[str]
    selection_: Selection

    def predict(self, X: Any) -> Ids:
        """Return the number of the prototype nearest to each row (0 is the first).

        Parameters
        ----------
        X
            Rows like those of ``fit``; with a precomputed metric their dissimilarities to all of
            them, shape (n, n_samples).
        """
        selection, rows = self._ready(X)
        return selection.assign(rows, n_jobs=self.n_jobs).labels

    def transform(self, X: Any) -> Floats:
        """Return d(row, prototype) for rows as in `predict`, shape (n, number of prototypes)."""
        selection, rows = self._ready(X)
        return selection.distances(rows, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the mean distance to the nearest prototype: more is better.

        Parameters
        ----------
        X, y
            Rows as in `predict`; ``y`` is ignored.
        sample_weight
            How much each row counts in the mean.
        """
        selection, rows = self._ready(X)
        distances = selection.assign(rows, n_jobs=self.n_jobs).distances.astype(np.float64)
        return -float(np.average(distances, weights=_as_weights(sample_weight, rows)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            measure = self._measure
        except InvalidInput:  # tags are asked for before `fit`, which will refuse it
            return tags
        tags.input_tags.pairwise = tags.input_tags.positive_only = measure.name == "precomputed"
        tags.input_tags.sparse = "sparse" in measure.kinds
        if not measure.is_expensive:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # What is stored or sent to another process answers as before, but leaves the data behind.
        state: dict[str, Any] = super().__getstate__()
        if "selection_" in state:
            state = {**state, "selection_": replace(state["selection_"], problem=None)}
        return state

    @property
    def _measure(self) -> Metric:
        return as_metric(self.metric)

    @property
    def _n_features_out(self) -> int:
        return self.selection_.k

    def _ready(self, X: Any) -> tuple[Selection, Any]:
        """Return the rows, and the selection with prototypes dense or sparse as the rows are."""
        validation.check_is_fitted(self)
        rows, selection = self._checked(X, reset=False), self.selection_
        prototypes = selection.prototypes
        if issparse(rows) and isinstance(prototypes, np.ndarray):
            selection = replace(selection, prototypes=csr_array(prototypes))
        elif isinstance(rows, np.ndarray) and hasattr(prototypes, "toarray"):
            selection = replace(selection, prototypes=prototypes.toarray())
        return selection, rows

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as an array, a CSR matrix or, for the caller's own metric, a list."""
        measure = self._measure
        if "objects" in measure.kinds and not _is_table(X):
            if reset:
                self._forget("n_features_in_", "feature_names_in_")
            return list(X)
        return validation.validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if "sparse" in measure.kinds else False,
            dtype="numeric",
            ensure_non_negative=measure.name == "precomputed",
        )

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _solve(self, X: Any, target: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Set what both estimators offer, and return all rows and the chosen ones."""
        rows = self._checked(X, reset=True)
        is_precomputed = self._measure.name == "precomputed"
        if is_precomputed:
            _require_square(rows, target)
        goal = self._goal(rows, target, sample_weight)
        self.selection_ = (self._select_present if target is None else self._select)(rows, goal)
        n, weights = validation._num_samples(goal.rows), goal.weights
        self.inertia_ = self.selection_.cost * float(n if weights is None else np.sum(weights))
        self.n_evaluations_ = self.selection_.evaluations
        return rows, None if is_precomputed else _safe_indexing(rows, self.selection_.indices)

    def _goal(self, rows: Any, target: Any, sample_weight: Any) -> Target:
        if target is None:
            return Target(rows, weights=_as_weights(sample_weight, rows))
        if sample_weight is not None:
            raise InvalidInput(
                "sample_weight weighs the rows of X, but a separate target is what is represented "
                "here. Pass target=Target(rows, weights=...) instead."
            )
        given = target if isinstance(target, Target) else Target(target)
        try:
            return Target(self._checked(given.rows, reset=False), weights=given.weights)
        except ValueError as error:
            raise InvalidInput(f"target does not fit X: {error}") from error

    def _select_present(self, rows: Any, goal: Target) -> Selection:
        """Select for the rows themselves; those of zero weight are as good as absent."""
        if goal.weights is None or goal.weights.all():
            return self._select(rows, goal)
        kept = np.flatnonzero(goal.weights)
        few = _safe_indexing(rows, kept)
        if self._measure.name == "precomputed":
            few = few[:, kept]
        selection = self._select(few, Target(few, weights=goal.weights[kept]))
        return _renumbered(selection, kept, pose(rows, goal, k=selection.k, metric=self.metric))

    def _select(self, rows: Any, goal: Target) -> Selection:
        name = self._count_name
        return select(
            rows,
            goal,
            k=_as_count(name, getattr(self, name), validation._num_samples(rows)),
            metric=self.metric,
            method=self.method,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _labels(self, rows: Any) -> Ids:
        self.n_evaluations_ += validation._num_samples(rows) * self.selection_.k
        return self.selection_.assign(rows, n_jobs=self.n_jobs).labels


class PrototypeSelector(_PrototypeEstimator):
    """Choose rows of ``X`` that stand for ``X``, or for a separate target.

    Minimises the weighted mean of d(target row, nearest chosen row).

    Parameters
    ----------
    n_prototypes
        How many: an int, or a fraction of the rows of ``X`` in (0, 1).
    metric, method, random_state, n_jobs
        As in `protobandit.select`. With metric="precomputed", ``X`` is the square matrix of
        dissimilarities; with a callable, rows may be anything it understands.
    compute_labels
        Whether ``fit`` also finds the nearest prototype of each row of ``X``.

    Attributes
    ----------
    prototype_indices_ : ndarray of shape (n_prototypes,)
        Rows of ``X``, best first: every prefix is itself a good smaller selection.
    prototypes_ : ndarray, CSR matrix or list
        Those rows, of the kind and type of ``X``; None with a precomputed metric.
    labels_ : ndarray of shape (n_samples,)
        The nearest prototype of each row of ``X``; absent with ``compute_labels=False``.
    mass_ : ndarray of shape (n_prototypes,)
        The share of the target each prototype stands for; sums to 1.
    gains_ : ndarray of shape (n_prototypes,)
        How much each pick lowered the mean distance; NaN for the first.
    inertia_ : float
        The sum over target rows of weight times distance to the nearest prototype; estimated when
        the method samples (``selection_.cost_error`` is then the standard error of the mean).
    n_evaluations_ : int
        Dissimilarities computed by ``fit``, n_samples * n_prototypes for ``labels_`` included.
    n_features_in_, feature_names_in_ : int, ndarray
        Columns of ``X``, and their names if it has some; absent when rows are not numbers.
    selection_ : Selection
        All that is known of the result. A pickled estimator leaves the data out of it.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> selector = pb.PrototypeSelector(n_prototypes=2).fit(rows)
    >>> sorted(selector.prototype_indices_.tolist())
    [1, 4]
    >>> selector.predict([[3.0]])
    array([0])
    """

    _count_name = "n_prototypes"

    def __init__(
        self,
        n_prototypes: int | float = 8,
        *,
        metric: Any = "euclidean",
        method: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        compute_labels: bool = True,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.metric = metric
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.compute_labels = compute_labels

    def fit(
        self, X: Any, y: Any = None, *, target: Any = None, sample_weight: Any = None
    ) -> PrototypeSelector:
        """Choose the prototypes.

        Parameters
        ----------
        X, y
            The rows to choose from; ``y`` is ignored.
        target
            The rows to represent, or a `Target` with weights; None means ``X`` itself. Under
            cross-validation pass a `Target`: a bare array that happens to have the length of ``X``
            would be cut into folds with it. A Pipeline does not transform it (bare rows can be
            named in its ``transform_input``).
        sample_weight
            How much each row of ``X`` counts as target. Rows of weight 0 are treated as absent:
            neither represented nor chosen, only labelled. For a separate target pass
            ``Target(rows, weights=...)`` instead.
        """
        rows, self.prototypes_ = self._solve(X, target, sample_weight)
        self.prototype_indices_ = self.selection_.indices
        self.mass_ = self.selection_.mass
        self.gains_ = self.selection_.gains
        self._forget("labels_")
        if self.compute_labels:
            self.labels_ = self._labels(rows)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, target: Any = None, sample_weight: Any = None
    ) -> Ids:
        """Do as `fit` does and return the nearest prototype of each row of ``X``."""
        self.fit(X, target=target, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)


class KMedoids(base.ClusterMixin, _PrototypeEstimator):  # type: ignore[misc]
    """Cluster rows around medoids: rows among them at the least mean distance from all.

    The names are those of scikit-learn-extra's estimator; the search is `protobandit.select`.

    Parameters
    ----------
    n_clusters
        How many: an int, or a fraction of the rows in (0, 1).
    metric, method, random_state, n_jobs
        As in `PrototypeSelector`.

    Attributes
    ----------
    medoid_indices_, cluster_centers_
        What `PrototypeSelector` calls ``prototype_indices_`` and ``prototypes_``.
    labels_, inertia_, n_evaluations_, n_features_in_, feature_names_in_, selection_
        As in `PrototypeSelector`.

    Examples
    --------
    >>> import protobandit as pb
    >>> model = pb.KMedoids(n_clusters=2).fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model.inertia_
    4.0
    >>> model.predict([[3.0], [9.0]]).tolist()
    [0, 1]
    """

    _count_name = "n_clusters"

    def __init__(
        self,
        n_clusters: int | float = 8,
        metric: Any = "euclidean",
        method: Any = "auto",
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Find the medoids; parameters as in `PrototypeSelector.fit`."""
        rows, self.cluster_centers_ = self._solve(X, None, sample_weight)
        self.medoid_indices_ = self.selection_.indices
        self.labels_ = self._labels(rows)
        return self


def _is_table(X: Any) -> bool:
    if issparse(X) or hasattr(X, "columns"):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    is_numbers = array.ndim == 2 and array.dtype.kind in "fiub"
    return is_numbers or array.ndim == 0  # not rows at all, which scikit-learn will say


def _as_count(name: str, count: Any, n: int) -> Any:
    """Return how many prototypes to choose, or refuse in the words of the estimator."""
    is_whole = isinstance(count, Integral) and not isinstance(count, bool)
    if is_whole and count > n > 0:
        raise InvalidInput(
            f"{name}={count} exceeds the {n} rows to choose from (n_samples={n}, not counting rows "
            f"of zero sample_weight). Pass {name} <= {n}."
        )
    is_share = isinstance(count, (float, np.floating)) and 0 < count < 1
    if not is_share and not (is_whole and count >= 1):
        raise InvalidInput(
            f"{name}={count!r:.40} is not allowed. Pass an int from 1 to {n}, or a fraction of the "
            f"rows in (0, 1)."
        )
    return count


def _as_weights(sample_weight: Any, rows: Any) -> Doubles | None:
    if sample_weight is None:
        return None
    weights: Doubles = validation._check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():  # scikit-learn refuses this too, from 1.9 on
        raise InvalidInput("sample_weight is zero for every row. Give some row a positive weight.")
    return weights


def _require_square(matrix: Any, target: Any) -> None:
    if target is not None or matrix.shape[0] != matrix.shape[1]:
        given = "a separate target" if target is not None else f"an X of shape {matrix.shape}"
        raise InvalidInput(
            f"metric='precomputed' got {given}. Pass the square matrix of the rows' own "
            f"dissimilarities and no target; a rectangular one goes to protobandit.select."
        )


def _renumbered(selection: Selection, kept: Ids, whole: Problem) -> Selection:
    """Return what was selected among the rows ``kept`` as rows of the whole problem."""
    indices = kept[selection.indices]
    return replace(
        selection,
        indices=indices,
        steps=tuple(replace(step, index=int(kept[step.index])) for step in selection.steps),
        prototypes=whole.source.take(indices),
        fingerprints={side: getattr(whole, side).fingerprint() for side in selection.fingerprints},
        problem=whole,
    )
