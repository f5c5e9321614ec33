"""Prototypes of a table, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from protobandit.foundation.array_types import Ids
from protobandit.interfaces.estimators.base import PrototypeEstimator, as_count

_OTHERWISE = ", or 'auto'; None needs until= or a budget"


class PrototypeSelector(PrototypeEstimator):
    """Choose rows of ``X`` that stand for ``X``, or for a separate target.

    Minimises the weighted mean of d(target row, nearest chosen row).

    Parameters
    ----------
    n_prototypes
        How many: an int, or a fraction of the rows of ``X`` in (0, 1); "auto" for the knee of the
        curve of costs; None where ``until`` or a budget ends the search, where an int is a cap.
    metric, method, random_state, n_jobs
        As in `protobandit.select`. With metric="precomputed", ``X`` is the square matrix of
        dissimilarities; with a callable, rows may be anything it understands.
    preparation
        What to do to the rows first (`protobandit.Preparation`), fitted on the target. Frames may
        then hold texts and missing values, if it deals with them.
    constraints, until
        As in `protobandit.select`; ``constraints`` speak of the rows of ``X``.
    compute_labels
        Whether ``fit`` also finds the nearest prototype of each row of ``X``.

    Attributes
    ----------
    prototype_indices_ : ndarray of shape (n_prototypes,)
        Rows of ``X``, best first: every prefix is itself a good smaller selection.
    prototypes_ : ndarray, CSR matrix or list
        Those rows as they are in ``X``, of its kind and type; None with a precomputed metric.
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

    def __init__(
        self,
        n_prototypes: int | float | str | None = 8,
        *,
        metric: Any = "euclidean",
        preparation: Any = None,
        method: Any = "auto",
        constraints: Any = None,
        until: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        compute_labels: bool = True,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.metric = metric
        self.preparation = preparation
        self.method = method
        self.constraints = constraints
        self.until = until
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
            neither represented nor chosen, only labelled; with ``constraints`` they may be chosen.
            For a separate target pass ``Target(rows, weights=...)`` instead.
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

    def _asked(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        count = self.n_prototypes
        is_auto = isinstance(count, str) and count == "auto"
        has_end = self.until is not None or getattr(self.constraints, "budget", None) is not None
        if is_auto or (count is None and has_end):
            return count, self.method
        return as_count("n_prototypes", count, len(kept), _OTHERWISE), self.method
