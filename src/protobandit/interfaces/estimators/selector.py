"""Prototype selection as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.estimators.base import PrototypeEstimator, as_count
from protobandit.problem.constraints import Constraints

_ALSO_ALLOWED = ", or 'auto'; None requires until= or a budget"


class PrototypeSelector(PrototypeEstimator):
    """Select rows of ``X`` that represent ``X``, or a separate target.

    Minimises the weighted mean of d(target row, nearest selected row).

    Parameters
    ----------
    n_prototypes
        Number of prototypes: an int, or a fraction of the rows of ``X`` in (0, 1). "auto" chooses
        the knee of the curve of costs. None is allowed if ``until`` or a budget ends the search;
        an int is then a maximum.
    metric, method, random_state, n_jobs
        As in `protobandit.select`. With metric="precomputed", ``X`` is the square matrix of
        dissimilarities; with a callable, rows may be any objects that it accepts.
    preparation
        How to prepare the rows: a `protobandit.Preparation`, or a transformer of scikit-learn;
        fitted on the target. Data frames may then hold texts and missing values, if the
        preparation handles them.
    constraints, until
        As in `protobandit.select`; ``constraints`` refer to the rows of ``X``.
    compute_labels
        Whether ``fit`` also computes the nearest prototype of each row of ``X``.

    Attributes
    ----------
    prototype_indices_ : ndarray of shape (n_prototypes,)
        Row numbers in ``X``, best first: every prefix is a good smaller selection.
    prototypes_ : ndarray, CSR matrix or list
        Those rows of ``X``, with its container and dtype; None with a precomputed metric.
    labels_ : ndarray of shape (n_samples,)
        The nearest prototype of each row of ``X``; absent with ``compute_labels=False``.
    mass_ : ndarray of shape (n_prototypes,)
        The fraction of the target that each prototype represents; sums to 1.
    gains_ : ndarray of shape (n_prototypes,)
        The decrease of the mean distance by each prototype; NaN for the first.
    inertia_ : float
        The sum over target rows of weight times distance to the nearest prototype; estimated when
        the method samples (``selection_.cost_error`` is then the standard error of the mean).
    n_evaluations_ : int
        Dissimilarities computed by ``fit``, including n_samples * n_prototypes for ``labels_``.
    n_features_in_, feature_names_in_ : int, ndarray
        Number of columns of ``X``, and their names if it has names; absent if rows are not numeric.
    selection_ : Selection
        The full result. A pickled estimator does not contain the data of the selection.

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
        metric: Any = None,
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
        """Select the prototypes.

        Parameters
        ----------
        X, y
            The rows to select from; ``y`` is ignored.
        target
            The rows to represent, or a `Target` with weights; None means ``X`` itself. In
            cross-validation pass a `Target`: an array with the length of ``X`` would be split into
            folds. A Pipeline does not transform the target, unless it is an array that is named in
            ``transform_input``.
        sample_weight
            Weights of the rows of ``X`` as target. Rows of weight 0 are neither represented nor
            selected, only labelled; with ``constraints`` they may be selected. For a separate
            target pass ``Target(rows, weights=...)`` instead.
        """
        if not isinstance(self.compute_labels, (bool, np.bool_)):
            raise InvalidInput(
                f"compute_labels={self.compute_labels!r:.40} is not allowed. Pass True or False."
            )
        rows, self.prototypes_ = self._solve(X, target, sample_weight)
        return self._with_results(rows)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, keep: float = 0.8
    ) -> PrototypeSelector:
        """Update the prototypes with more rows; the first call is `fit`.

        All rows so far must be in memory: an estimator that was unpickled cannot be updated.
        ``prototype_indices_`` count the rows of all calls, in their order; ``labels_`` are those of
        this ``X``. If `fit` got a separate target, ``X`` belongs to it.

        Parameters
        ----------
        X, y, sample_weight
            New rows as in `fit`; ``y`` is ignored.
        keep
            The least share of the prototypes that stays (`Selection.updated`).
        """
        if not hasattr(self, "selection_"):
            return self.fit(X, sample_weight=sample_weight)
        rows, self.prototypes_ = self._update(X, sample_weight, keep)
        return self._with_results(rows)

    def _with_results(self, rows: Any) -> PrototypeSelector:
        self.prototype_indices_ = self.selection_.indices
        self.mass_ = self.selection_.mass
        self.gains_ = self.selection_.gains
        self._remove("labels_")
        if self.compute_labels:
            self.labels_ = self._labels(rows)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, target: Any = None, sample_weight: Any = None
    ) -> Ids:
        """Call `fit` and return the nearest prototype of each row of ``X``.

        Parameters
        ----------
        X, y, target, sample_weight
            As in `fit`.
        """
        self.fit(X, target=target, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)

    def _prototype_rows(self) -> Any:
        return self.prototypes_

    def _k_and_method(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        count = self.n_prototypes
        is_auto = isinstance(count, str) and count == "auto"
        constraints = self.constraints
        has_budget = isinstance(constraints, Constraints) and constraints.budget is not None
        if is_auto or (count is None and (self.until is not None or has_budget)):
            return count, self.method
        return as_count("n_prototypes", count, len(kept), _ALSO_ALLOWED), self.method
