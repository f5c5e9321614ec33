"""k-medoids, as a scikit-learn estimator with the names of scikit-learn-extra's."""

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
    """Cluster rows around medoids: rows among them at the least mean distance from all.

    The names are those of scikit-learn-extra's estimator; the search is `protobandit.select`.
    Clusters are numbered by what they bring: the first medoid is the best single one.

    Parameters
    ----------
    n_clusters
        How many: an int, or a fraction of the rows in (0, 1).
    metric
        As in `PrototypeSelector`.
    method
        "alternate", "pam", or any other method of `protobandit.select`. "auto" is that of `select`,
        or "fasterpam" where ``init`` says where to start.
    init
        Where "pam", "fastpam1", "fasterpam" and "alternate" start: "build", "random", "heuristic",
        "k-medoids++", the numbers of rows of ``X``, those rows themselves, or a `Selection`. "auto"
        is what the method does of itself. Given rows say how many clusters there are.
    max_iter
        How many passes at most, for a method by name that goes in passes; 0 leaves the start as it
        is. scikit-learn's ConvergenceWarning says if they were too few.
    random_state, n_jobs
        As in `PrototypeSelector`.

    Attributes
    ----------
    medoid_indices_, cluster_centers_
        What `PrototypeSelector` calls ``prototype_indices_`` and ``prototypes_``.
    n_iter_ : int
        How many passes were made; 1 for a method that does not go in passes.
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
        """Find the medoids; parameters as in `PrototypeSelector.fit`."""
        rows, self.cluster_centers_ = self._solve(X, None, sample_weight)
        self.medoid_indices_ = self.selection_.indices
        self.labels_ = self._labels(rows)
        passes = self.selection_.passes
        self.n_iter_ = 1 if passes is None else passes.n_passes
        self._warn_of_early_end(passes)
        self._warn_of_empty_clusters()
        return self

    def _asked(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        require_integer(self.max_iter, "max_iter", at_least=0)
        if _is_word(self.init, _AUTO):
            return as_count("n_clusters", self.n_clusters, len(kept)), self._method()
        start = as_init(_present(self.init, rows, kept))
        count = self.n_clusters
        if not isinstance(start, str) and len(start) != count:
            _warn(f"init holds {len(start)} rows, so n_clusters={count} is taken as {len(start)}.")
            count = len(start)
        return as_count("n_clusters", count, len(kept)), self._method(start)

    def _method(self, init: Any = None) -> Any:
        """Return the method with the parameters it takes from this estimator."""
        is_auto = _is_word(self.method, _AUTO)
        if is_auto and init is None:
            return self.method
        is_name = isinstance(self.method, str) and self.method in METHODS
        kind = FasterPAM if is_auto else METHODS[self.method] if is_name else None
        names = {field.name for field in fields(kind)} if kind else set()
        if init is not None and "init" not in names:
            able = [name for name, each in METHODS.items() if _takes_init(each)]
            raise InvalidInput(
                f"init={self.init!r:.60} is not for method={self.method!r:.60}. Use one of {able} "
                f"by name, or init='auto'."
            )
        if kind is None:  # a value, with parameters of its own, or what `select` will refuse
            return self.method
        given = {"max_iter": self.max_iter, **({} if init is None else {"init": init})}
        return kind(**{name: value for name, value in given.items() if name in names})

    def _warn_of_early_end(self, passes: SwapPasses | None) -> None:
        if passes is not None and passes.ended_by is not None:
            _warn(
                f"Maximum number of iteration reached before convergence ({passes.ended_by}). "
                f"Raise it to improve the fit.",
                ConvergenceWarning,
            )

    def _warn_of_empty_clusters(self) -> None:
        if self.selection_.method != Alternate.name:  # there an empty cluster cannot move
            return
        for label in np.setdiff1d(np.arange(self.selection_.k), self.labels_):
            _warn(
                f"Cluster {label} is empty! Every row is as near to another medoid, and its own "
                f"stays where it is. Ask for fewer clusters, or use method='pam'."
            )


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _takes_init(method: type[Any]) -> bool:
    return "init" in {field.name for field in fields(method)}


def _present(init: Any, rows: Any, kept: Ids) -> Any:
    """Return rows of ``X`` that are given, by number or as they are, as numbers of ``rows``."""
    numbers = row_numbers(init)
    if numbers is None:
        is_table = hasattr(init, "__array__") and np.ndim(init) == 2
        return [_place(row, rows) for row in np.asarray(init)] if is_table else init
    missing = np.setdiff1d(numbers, kept)
    if len(missing):
        raise InvalidInput(
            f"init names row {missing[0]}, which X has not, or with zero sample_weight. Pass "
            f"numbers of other rows."
        )
    return np.searchsorted(kept, numbers)


def _place(row: Any, rows: Any) -> int:
    is_comparable = isinstance(rows, np.ndarray) and row.shape == rows.shape[1:]
    is_there = (rows == row).all(axis=1) if is_comparable else np.zeros(1, dtype=bool)
    if not is_there.any():
        raise InvalidInput(
            f"init holds {row!r:.60}, which is not a row of X. Pass rows of X, or their numbers."
        )
    return int(is_there.argmax())


def _warn(words: str, category: type[Warning] = UserWarning) -> None:
    warnings.warn(words, category, stacklevel=4)
