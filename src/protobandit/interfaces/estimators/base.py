"""The base class of the estimators: validate rows, select, and predict for new rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import base
from sklearn.utils import _safe_indexing, get_tags, validation

from protobandit._select import select
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import is_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.default_metric import chosen_metric
from protobandit.metrics.metrics import Metric
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem, Target
from protobandit.result.selection import Selection
from protobandit.rows.containers import require_readable
from protobandit.rows.dask_rows import is_lazy
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import as_opened, is_plain
from protobandit.rows.frames import is_frame
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.preparation import Preparation
from protobandit.rows.sparse_format import checked_csr
from protobandit.rows.streams import Stream
from protobandit.run.in_parts import has_lazy_rows, require_supported

_ALL_ROWS: Any = range(1 << 62)  # of a collection, whose number is not known


class PrototypeEstimator(
    base.ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    base.TransformerMixin,  # type: ignore[misc]
    base.BaseEstimator,  # type: ignore[misc]
):
    """The behaviour of both estimators, which name their parameters and results differently."""

    selection_: Selection
    constraints: Any = None  # these refer to row numbers of ``X``, so no row may be left out
    until: Any = None
    preparation: Any = None

    @abstractmethod
    def _k_and_method(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        """Return k and the method for ``rows``, which are the rows ``kept`` of ``X``."""

    def predict(self, X: Any) -> Ids:
        """Return the label of the prototype nearest to each row (0 is the first).

        Parameters
        ----------
        X
            Rows like those of ``fit``; with a precomputed metric, their dissimilarities to all
            rows of ``fit``, shape (n, n_samples).
        """
        selection, rows = self._selection_and_rows(X)
        return selection.assign(rows, n_jobs=self.n_jobs).labels

    def transform(self, X: Any) -> Floats:
        """Return the distances of rows to all prototypes, shape (n, number of prototypes).

        This is the convention of `sklearn.cluster.KMeans`: the result has one column per prototype,
        not the columns of ``X``. `get_prototypes` returns the prototypes themselves.

        Parameters
        ----------
        X
            Rows as in `predict`.
        """
        selection, rows = self._selection_and_rows(X)
        return selection.distances(rows, n_jobs=self.n_jobs)

    def get_prototypes(self, X: Any = None) -> Any:
        """Return the selected rows, best first.

        Parameters
        ----------
        X
            A table with one row per row of ``fit``, such as the frame before preprocessing, whose
            rows are returned; by default those of ``fit``.
        """
        validation.check_is_fitted(self)
        if X is not None:
            return self.selection_.take(X)
        return self._prototype_rows()

    @abstractmethod
    def _prototype_rows(self) -> Any:
        """Return the attribute with the selected rows; None for a precomputed metric."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the negative mean distance to the nearest prototype; larger is better.

        Parameters
        ----------
        X, y
            Rows as in `predict`; ``y`` is ignored.
        sample_weight
            Weights of the rows in the mean.
        """
        selection, rows = self._selection_and_rows(X)
        distances = selection.assign(rows, n_jobs=self.n_jobs).distances.astype(np.float64)
        return -float(np.average(distances, weights=_as_weights(sample_weight, rows)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            measure = self._measure
        except InvalidInput:  # scikit-learn reads tags before `fit`, which raises this error
            return tags
        tags.input_tags.pairwise = tags.input_tags.positive_only = measure.name == "precomputed"
        tags.input_tags.sparse = "sparse" in measure.kinds
        tags.input_tags.allow_nan = self._allows_missing
        if not measure.is_expensive:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # A pickled estimator predicts as before, but does not contain the data of ``fit``.
        state: dict[str, Any] = super().__getstate__()
        if "selection_" in state:
            state = {**state, "selection_": replace(state["selection_"], problem=None)}
        return state

    @property
    def _measure(self) -> Metric:
        return self._measure_of(None)

    def _measure_of(self, rows: Any) -> Metric:
        return chosen_metric(self.metric, rows, self.preparation)

    @property
    def _allows_missing(self) -> bool:
        preparation = self.preparation  # any object; `select` raises if it is of another type
        if isinstance(preparation, (Preparation, FittedPreparation)):
            return preparation.fills_gaps
        has_tags = hasattr(preparation, "__sklearn_tags__") and not isinstance(preparation, type)
        return has_tags and get_tags(preparation).input_tags.allow_nan

    @property
    def _n_features_out(self) -> int:
        return self.selection_.k

    def _selection_and_rows(self, X: Any) -> tuple[Selection, Any]:
        """Return the selection, its prototypes dense or sparse like the rows, and the rows."""
        validation.check_is_fitted(self)
        if is_lazy(X):
            return self.selection_, X
        rows, selection = self._checked(X, reset=False), self.selection_
        prototypes, is_sparse = selection.prototypes, issparse(selection.prototypes)
        if issparse(rows) and isinstance(prototypes, np.ndarray):
            selection = replace(selection, prototypes=csr_array(prototypes))
        elif isinstance(rows, np.ndarray) and is_sparse:
            selection = replace(selection, prototypes=prototypes.toarray())
        return selection, rows

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as an array, a CSR matrix or, for a user's metric, a list."""
        require_readable(X, name="X")
        measure = self._measure_of(X)
        if issparse(X):
            X = checked_csr(X, name="X")  # scikit-learn would convert it without a full check
        if "objects" in measure.kinds and not _is_table(X):
            if reset:
                self._remove("n_features_in_", "feature_names_in_")
            return list(X)
        if self.preparation is not None and hasattr(X, "columns"):  # it handles names and texts
            return validation.validate_data(self, X, reset=reset, skip_check_array=True)
        X = _with_vectors_as_array(X)
        return validation.validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if "sparse" in measure.kinds else False,
            dtype="numeric",
            ensure_non_negative=measure.name == "precomputed",
            ensure_all_finite="allow-nan" if self._allows_missing else True,
        )

    def _remove(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _solve(self, X: Any, target: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Set the attributes of both estimators; return all rows and the selected rows."""
        if has_lazy_rows(X, target, sample_weight):
            return X, self._solve_in_parts(X, target, sample_weight)
        rows = self._checked(X, reset=True)
        is_precomputed = self._measure.name == "precomputed"
        if is_precomputed:
            _require_square(rows, target)
        represented = self._represented(rows, target, sample_weight)
        solve = self._select_weighted if target is None else self._select
        self.selection_ = solve(rows, represented)
        n, weights = validation._num_samples(represented.rows), represented.weights
        self.inertia_ = self.selection_.cost * float(n if weights is None else np.sum(weights))
        self.n_evaluations_ = self.selection_.evaluations
        return rows, None if is_precomputed else _safe_indexing(rows, self.selection_.indices)

    def _solve_in_parts(self, X: Any, target: Any, sample_weight: Any) -> Any:
        """Select from a Dask collection, which scikit-learn cannot check; return the prototypes."""
        init = getattr(self, "init", "auto")
        require_supported(init=None if isinstance(init, str) and init == "auto" else init)
        k, method = self._k_and_method(X, _ALL_ROWS)
        found = select(
            X,
            target,
            k=k,
            weights=sample_weight,
            metric=self.metric,
            preparation=self.preparation,
            method=method,
            constraints=self.constraints,
            until=self.until,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        assert found.problem is not None
        self._remove("feature_names_in_")
        self.selection_ = found
        self.n_features_in_ = found.prototypes.shape[1]
        if found.columns is not None and len(found.columns) == self.n_features_in_:
            self.feature_names_in_ = np.array(found.columns, dtype=object)
        self.inertia_ = found.cost * found.problem.total
        self.n_evaluations_ = found.evaluations
        return found.prototypes

    def _update(self, X: Any, sample_weight: Any, keep: float) -> tuple[Any, Any]:
        """Update the attributes of both estimators; return the new rows and the prototypes."""
        if self.preparation is not None:
            raise InvalidInput(
                "partial_fit does not support preparation=. Prepare the rows before you pass them, "
                "or call fit with all rows."
            )
        selection, rows = self._selection_and_rows(X)
        weights = _as_weights(sample_weight, rows)
        self.selection_ = selection.updated(
            rows, keep=keep, weights=weights, random_state=self.random_state, n_jobs=self.n_jobs
        )
        problem = self.selection_.problem
        assert problem is not None
        self.inertia_ = self.selection_.cost * problem.total
        self.n_evaluations_ = self.selection_.evaluations
        is_precomputed = self._measure.name == "precomputed"
        return rows, None if is_precomputed else self.selection_.prototypes

    def _represented(self, rows: Any, target: Any, sample_weight: Any) -> Target:
        """Return the rows to represent and their weights."""
        if target is None:
            return Target(rows, weights=_as_weights(sample_weight, rows))
        if sample_weight is not None:
            raise InvalidInput(
                "sample_weight gives weights of the rows of X, but a separate target is "
                "represented. Pass target=Target(rows, weights=...) instead."
            )
        given = target if isinstance(target, Target) else Target(target)
        if isinstance(given.rows, Stream):
            raise InvalidInput(
                "target is a Stream, which fit does not support. Pass it to protobandit.select, or "
                "pass an array of its rows as the target."
            )
        try:
            return Target(self._checked(given.rows, reset=False), weights=given.weights)
        except ValueError as error:
            raise InvalidInput(f"target does not match X: {error}") from error

    def _select_weighted(self, rows: Any, target: Target) -> Selection:
        """Select for the rows themselves, without the rows of zero weight."""
        if target.weights is None or target.weights.all() or self.constraints is not None:
            return self._select(rows, target)
        kept = np.flatnonzero(target.weights)
        few = _safe_indexing(rows, kept)
        if self._measure.name == "precomputed":
            few = few[:, kept]
        selection = self._select(few, Target(few, weights=target.weights[kept]), kept)
        whole = pose(
            rows, target, k=selection.k, metric=self.metric, preparation=selection.preparation
        )
        return _renumbered(selection, kept, whole)

    def _select(self, rows: Any, target: Target, kept: Ids | None = None) -> Selection:
        kept = np.arange(validation._num_samples(rows)) if kept is None else kept
        k, method = self._k_and_method(rows, kept)
        return select(
            rows,
            target,
            k=k,
            metric=self.metric,
            preparation=self.preparation,
            method=method,
            constraints=self.constraints,
            until=self.until,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _labels(self, rows: Any) -> Ids:
        if is_lazy(rows):  # the labels are lazy too
            return self.selection_.assign(rows).labels
        self.n_evaluations_ += validation._num_samples(rows) * self.selection_.k
        return self.selection_.assign(rows, n_jobs=self.n_jobs).labels


def _is_table(X: Any) -> bool:
    if issparse(X) or hasattr(X, "columns"):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    is_numbers = array.ndim == 2 and array.dtype.kind in "fiub"
    return is_numbers or array.ndim == 0  # a scalar: scikit-learn raises for it


def as_count(name: str, count: Any, n: int, also_allowed: str = "") -> Any:
    """Return the number of prototypes, or raise with the parameter's name in the message.

    ``also_allowed`` is added to the values that the message lists.
    """
    if is_integer(count) and count > n > 0:
        raise InvalidInput(
            f"{name}={count} exceeds the {n} rows to select from (n_samples={n}, without rows of "
            f"zero sample_weight). Pass {name} <= {n}."
        )
    is_fraction = isinstance(count, (float, np.floating)) and 0 < count < 1
    if not is_fraction and not (is_integer(count) and count >= 1):
        raise InvalidInput(
            f"{name}={count!r:.40} is not allowed. Pass an int from 1 to {n}, or a fraction of the "
            f"rows in (0, 1){also_allowed}."
        )
    return count


def _as_weights(sample_weight: Any, rows: Any) -> Doubles | None:
    if sample_weight is None:
        return None
    if isinstance(sample_weight, (complex, np.complexfloating)):  # scikit-learn only warns
        raise InvalidInput(f"sample_weight={sample_weight} is complex. Pass real numbers.")
    weights: Doubles = validation._check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():  # scikit-learn raises for this too, since 1.9
        raise InvalidInput(
            "sample_weight is zero for every row. Pass a positive weight for at least one row."
        )
    return weights


def _require_square(matrix: Any, target: Any) -> None:
    if target is not None or matrix.shape[0] != matrix.shape[1]:
        given = "a separate target" if target is not None else f"an X of shape {matrix.shape}"
        raise InvalidInput(
            f"metric='precomputed' got {given}. Pass the square matrix of dissimilarities between "
            f"the rows and no target, or pass a rectangular matrix to protobandit.select."
        )


def _renumbered(selection: Selection, kept: Ids, whole: Problem) -> Selection:
    """Return the selection with its row numbers among ``kept`` turned into those of all rows."""
    indices = kept[selection.indices]
    return replace(
        selection,
        indices=indices,
        steps=tuple(replace(step, index=int(kept[step.index])) for step in selection.steps),
        prototypes=whole.source.take(indices),
        fingerprints={side: getattr(whole, side).fingerprint() for side in selection.fingerprints},
        problem=whole,
    )


def _with_vectors_as_array(X: Any) -> Any:
    """Return the vectors of a frame as an array; anything else is returned unchanged."""
    if is_plain(X) or not is_frame(X):
        return X
    opened = as_opened(X, name="X")
    has_vectors = isinstance(opened, Opened) and opened.columns != opened.features
    return opened.rows if has_vectors else X
