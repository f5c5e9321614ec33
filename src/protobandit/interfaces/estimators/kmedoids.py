"""k-medoids as a scikit-learn estimator, with the parameter names of scikit-learn-extra."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn import base
from sklearn.exceptions import ConvergenceWarning

from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.estimators.base import PrototypeEstimator, as_count
from protobandit.search.drivers.pick import SwapPasses
from protobandit.search.methods.alternate import Alternate
from protobandit.search.methods.initial_rows import as_init, row_numbers
from protobandit.search.methods.pam import FasterPAM
from protobandit.search.methods.table import METHODS

_AUTO = "auto"


class KMedoids(base.ClusterMixin, PrototypeEstimator):  # type: ignore[misc]
    """Cluster rows around medoids: the rows with the smallest mean distance to all rows.

    Parameters and attributes have the names of scikit-learn-extra's estimator; the search is
    `protobandit.select`. Clusters are numbered best first: the first medoid is the best single one.

    Parameters
    ----------
    n_clusters
        Number of clusters: an int, or a fraction of the rows in (0, 1).
    metric
        As in `PrototypeSelector`.
    method
        "alternate", "pam", or any other method of `protobandit.select`. "auto" is "auto" of
        `select`, or "fasterpam" if ``init`` is given.
    init
        Initial medoids of "pam", "fastpam1", "fasterpam" and "alternate": "build", "random",
        "heuristic", "k-medoids++", row numbers of ``X``, rows of ``X``, or a `Selection`. "auto" is
        the default of the method. If rows are given, their number replaces ``n_clusters``.
    max_iter
        Maximum number of passes, for a method that is given by name and makes passes; 0 keeps the
        initial medoids. scikit-learn's ConvergenceWarning is issued if it was too small.
    random_state, n_jobs
        As in `PrototypeSelector`.

    Attributes
    ----------
    medoid_indices_, cluster_centers_
        Like ``prototype_indices_`` and ``prototypes_`` of `PrototypeSelector`.
    n_iter_ : int
        Number of passes; 1 for a method that makes no passes.
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

    def __init__(
        self,
        n_clusters: int | float = 8,
        metric: Any = "euclidean",
        method: Any = _AUTO,
        init: Any = _AUTO,
        max_iter: int = 300,
        random_state: Any = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.method = method
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Find the medoids.

        Parameters
        ----------
        X, y
            The rows to cluster; ``y`` is ignored.
        sample_weight
            Weights of the rows. Rows of weight 0 are only labelled.
        """
        rows, self.cluster_centers_ = self._solve(X, None, sample_weight)
        return self._with_results(rows)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, keep: float = 0.8
    ) -> KMedoids:
        """Update the medoids with more rows; the first call is `fit`.

        All rows so far must be in memory: an estimator that was unpickled cannot be updated.
        ``medoid_indices_`` count the rows of all calls, in their order; ``labels_`` are those of
        this ``X``.

        Parameters
        ----------
        X, y, sample_weight
            New rows as in `fit`; ``y`` is ignored.
        keep
            The least share of the medoids that stays (`Selection.updated`).
        """
        if not hasattr(self, "selection_"):
            return self.fit(X, sample_weight=sample_weight)
        rows, self.cluster_centers_ = self._update(X, sample_weight, keep)
        return self._with_results(rows)

    def _with_results(self, rows: Any) -> KMedoids:
        self.medoid_indices_ = self.selection_.indices
        self.labels_ = self._labels(rows)
        passes = self.selection_.passes
        self.n_iter_ = 1 if passes is None else passes.n_passes
        self._warn_if_not_converged(passes)
        self._warn_of_empty_clusters()
        return self

    def _prototype_rows(self) -> Any:
        return self.cluster_centers_

    def _k_and_method(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        require_integer(self.max_iter, "max_iter", at_least=0)
        if _is_auto(self.init):
            return as_count("n_clusters", self.n_clusters, len(kept)), self._method()
        start = as_init(_init_in(self.init, rows, kept))
        count = self.n_clusters
        if not isinstance(start, str) and len(start) != count:
            _warn(f"init holds {len(start)} rows: n_clusters={count} is replaced by {len(start)}.")
            count = len(start)
        return as_count("n_clusters", count, len(kept)), self._method(start)

    def _method(self, init: Any = None) -> Any:
        """Return the method with the parameters it takes from this estimator."""
        is_auto = _is_auto(self.method)
        if is_auto and init is None:
            return self.method
        is_name = isinstance(self.method, str) and self.method in METHODS
        kind = FasterPAM if is_auto else METHODS[self.method] if is_name else None
        names = {field.name for field in fields(kind)} if kind else set()
        if init is not None and "init" not in names:
            supporting = [name for name, each in METHODS.items() if _has_init(each)]
            raise InvalidInput(
                f"method={self.method!r:.60} does not support init={self.init!r:.60}. Use one of "
                f"{supporting} by name, or init='auto'."
            )
        if kind is None:  # a method with its own parameters, or an error that `select` raises
            return self.method
        given = {"max_iter": self.max_iter, **({} if init is None else {"init": init})}
        return kind(**{name: value for name, value in given.items() if name in names})

    def _warn_if_not_converged(self, passes: SwapPasses | None) -> None:
        if passes is not None and passes.ended_by is not None:
            _warn(
                f"Maximum number of iteration reached before convergence ({passes.ended_by}). "
                f"Increase max_iter to improve the fit.",
                ConvergenceWarning,
            )

    def _warn_of_empty_clusters(self) -> None:
        if self.selection_.method != Alternate.name:  # only there a cluster can stay empty
            return
        for label in np.setdiff1d(np.arange(self.selection_.k), self.labels_):
            _warn(
                f"Cluster {label} is empty! No row is nearer to its medoid than to all others. "
                f"Pass a smaller n_clusters, or use method='pam'."
            )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == _AUTO


def _has_init(method: type[Any]) -> bool:
    return "init" in {field.name for field in fields(method)}


def _init_in(init: Any, rows: Any, kept: Ids) -> Any:
    """Return initial rows of ``X``, given by number or by value, as row numbers of ``rows``."""
    numbers = row_numbers(init)
    if numbers is None:
        is_table = hasattr(init, "__array__") and np.ndim(init) == 2
        return [_row_number(row, rows) for row in np.asarray(init)] if is_table else init
    missing = np.setdiff1d(numbers, kept)
    if len(missing):
        raise InvalidInput(
            f"init names row {missing[0]}, which is missing from X or has zero sample_weight. Pass "
            f"numbers of other rows."
        )
    return np.searchsorted(kept, numbers)


def _row_number(row: Any, rows: Any) -> int:
    is_comparable = isinstance(rows, np.ndarray) and row.shape == rows.shape[1:]
    is_equal = (rows == row).all(axis=1) if is_comparable else np.zeros(1, dtype=bool)
    if not is_equal.any():
        raise InvalidInput(
            f"init holds {row!r:.60}, which is not a row of X. Pass rows of X, or their numbers."
        )
    return int(is_equal.argmax())


def _warn(message: str, category: type[Warning] = UserWarning) -> None:
    warnings.warn(message, category, stacklevel=4)
