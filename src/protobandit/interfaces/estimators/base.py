"""What the estimators share: rows in, a selection inside, answers for new rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import base
from sklearn.utils import _safe_indexing, validation

from protobandit._select import select
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem, Target
from protobandit.result.selection import Selection
from protobandit.rows.streams import Stream


class PrototypeEstimator(
    base.ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    base.TransformerMixin,  # type: ignore[misc]
    base.BaseEstimator,  # type: ignore[misc]
):
    """What both estimators can do, whatever each calls its parameters and results."""

    selection_: Selection
    constraints: Any = None  # these number the rows of ``X``, so that none may be left out
    until: Any = None
    preparation: Any = None

    @abstractmethod
    def _asked(self, rows: Any, kept: Ids) -> tuple[Any, Any]:
        """Return how many of these rows to choose, and the method; they are ``kept`` of ``X``."""

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
        tags.input_tags.allow_nan = self._takes_gaps
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
    def _takes_gaps(self) -> bool:
        return bool(getattr(self.preparation, "fills_gaps", False))

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
        if self.preparation is not None and hasattr(X, "columns"):  # names and texts are its own
            return validation.validate_data(self, X, reset=reset, skip_check_array=True)
        return validation.validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if "sparse" in measure.kinds else False,
            dtype="numeric",
            ensure_non_negative=measure.name == "precomputed",
            ensure_all_finite="allow-nan" if self._takes_gaps else True,
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
        if isinstance(given.rows, Stream):
            raise InvalidInput(
                "target is a Stream, which fit does not take. Pass it to protobandit.select, or "
                "pass rows of it as the target."
            )
        try:
            return Target(self._checked(given.rows, reset=False), weights=given.weights)
        except ValueError as error:
            raise InvalidInput(f"target does not fit X: {error}") from error

    def _select_present(self, rows: Any, goal: Target) -> Selection:
        """Select for the rows themselves; those of zero weight are as good as absent."""
        if goal.weights is None or goal.weights.all() or self.constraints is not None:
            return self._select(rows, goal)
        kept = np.flatnonzero(goal.weights)
        few = _safe_indexing(rows, kept)
        if self._measure.name == "precomputed":
            few = few[:, kept]
        selection = self._select(few, Target(few, weights=goal.weights[kept]), kept)
        whole = pose(
            rows, goal, k=selection.k, metric=self.metric, preparation=selection.preparation
        )
        return _renumbered(selection, kept, whole)

    def _select(self, rows: Any, goal: Target, kept: Ids | None = None) -> Selection:
        everyone = np.arange(validation._num_samples(rows))
        k, method = self._asked(rows, everyone if kept is None else kept)
        return select(
            rows,
            goal,
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
    return is_numbers or array.ndim == 0  # not rows at all, which scikit-learn will say


def as_count(name: str, count: Any, n: int, otherwise: str = "") -> Any:
    """Return how many prototypes to choose, or refuse in the words of the estimator.

    ``otherwise`` tells what else the estimator takes.
    """
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
            f"rows in (0, 1){otherwise}."
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
