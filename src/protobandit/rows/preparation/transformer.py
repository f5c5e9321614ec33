"""A transformer or Pipeline of scikit-learn as the preparation of rows.

A transformer gets what the user passed, a frame as a frame, because its columns may be selected by
name. What it returns are the rows. JSON cannot hold a transformer, so that it holds its repr only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.generators import as_generator
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import as_opened, is_plain
from protobandit.rows.frames import frame_of, is_frame, native_frame
from protobandit.rows.memory_maps import Joined
from protobandit.rows.messages import reason_of
from protobandit.rows.rows import Rows

MOST_ROWS = 65_536  # on which a transformer is fitted
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def is_transformer(preparation: Any) -> bool:
    """Return whether ``preparation`` is an object with the methods of a transformer."""
    if isinstance(preparation, (FittedTransformer, type)):
        return not isinstance(preparation, type)
    return hasattr(preparation, "fit") and hasattr(preparation, "transform")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedTransformer:
    """A fitted transformer of scikit-learn, which prepares any rows.

    Attributes
    ----------
    transformer
        The transformer; None after loading, until it is passed to `Selection.from_json`.
    description
        Its repr.
    n_rows
        Number of rows it was fitted on; None if it was passed fitted.
    """

    transformer: Any
    description: str
    n_rows: int | None = None

    @property
    def is_gower(self) -> bool:
        """Return False: a transformer does not define Gower's distance."""
        return False

    def transform(self, rows: Any) -> Any:
        """Return prepared rows: an array, or a CSR matrix.

        Parameters
        ----------
        rows
            Rows of the kind it was fitted on, or the path of a file of rows.
        """
        prepared = self.rows(rows, name="rows")
        return prepared.take(slice(0, len(prepared)))

    def rows(self, data: Any, *, name: str) -> Rows:
        """Return prepared rows; ``name`` is for errors."""
        if self.transformer is None:
            raise NotAvailable(
                f"This selection was made with your own transformer {self.description}, which is "
                f"not part of the JSON text. Load it with Selection.from_json(text, "
                f"preparation=your_fitted_transformer)."
            )
        given = _as_input(data, name)
        try:
            found = self.transformer.transform(given)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInput(
                f"{name} cannot be transformed by {self._name}: {reason_of(error)}. Pass rows like "
                f"those that it was fitted on."
            ) from None
        rows = as_rows(as_opened(found, name=name), name=name)
        if rows.kind not in ("dense", "sparse") or len(rows) != _length(given):
            raise InvalidInput(
                f"{self._name} returned {len(rows):,} {rows.kind} rows for the {_length(given):,} "
                f"rows of {name}. Pass a transformer that returns numbers, one row for each row."
            )
        return rows

    @property
    def _name(self) -> str:
        return type(self.transformer).__name__

    def with_transformer(self, transformer: Any) -> FittedTransformer:
        """Return the same with a transformer that the user passed after loading."""
        passed = fitted_transformer(transformer)
        if passed is None:
            raise InvalidInput(
                f"preparation={transformer!r:.60} is not fitted. Pass the transformer that the "
                f"selection was made with: selection.preparation.transformer, saved by joblib."
            )
        if passed.description != self.description:
            raise InvalidInput(
                f"preparation={passed.description:.60} is not the {self.description:.60} that the "
                f"selection was made with. Pass that one."
            )
        return passed

    def to_document(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {"transformer": self.description, "n_rows": self.n_rows}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> FittedTransformer:
        """Return what `to_document` wrote, without the transformer."""
        n_rows = document["n_rows"]
        return FittedTransformer(
            transformer=None,
            description=str(document["transformer"]),
            n_rows=None if n_rows is None else int(n_rows),
        )

    def __str__(self) -> str:
        fitted = "" if self.n_rows is None else f", as fitted on {self.n_rows:,} target rows"
        return f"Rows were transformed by {self.description}{fitted}."

    def __repr__(self) -> str:
        return f"FittedTransformer({self.description})"


def fitted_transformer(transformer: Any) -> FittedTransformer | None:
    """Return a fitted transformer, or None if it is not fitted."""
    if isinstance(transformer, FittedTransformer):
        return transformer
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return None
    except TypeError:  # not an estimator of scikit-learn, which says nothing about it
        pass
    return FittedTransformer(transformer=transformer, description=_described(transformer))


def fit_transformer(transformer: Any, data: Any, *, name: str) -> FittedTransformer:
    """Return the transformer if it is fitted, else a copy of it that is fitted on the rows."""
    fitted = fitted_transformer(transformer)
    if fitted is not None:
        return fitted
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    given = _as_input(data, name)
    n = _length(given)
    if n == 0:
        raise InvalidInput(f"{name} has 0 rows. Pass at least one.")
    if n > MOST_ROWS:
        drawn = as_generator(0).choice(n, MOST_ROWS, replace=False, shuffle=False)
        given = _safe_indexing(given, np.sort(drawn))
    own = clone(transformer) if hasattr(transformer, "get_params") else deepcopy(transformer)
    try:
        own.fit(given)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(
            f"{type(transformer).__name__} cannot be fitted on {name}: {reason_of(error)}. Pass "
            f"rows that it supports, or a transformer that is fitted."
        ) from None
    return FittedTransformer(
        transformer=own, description=_described(transformer), n_rows=min(n, MOST_ROWS)
    )


def _described(transformer: Any) -> str:
    """Return the repr of a transformer in one line, without addresses of functions."""
    return " ".join(_ADDRESS.sub("", repr(transformer)).split())


def _as_input(data: Any, name: str) -> Any:
    """Return rows in a form that transformers read: a frame, array, sparse matrix or list."""
    if is_plain(data) and not isinstance(data, (Opened, Columns, Rows, Joined)):
        return data
    if not isinstance(data, (str, Path, Opened, Columns, Rows, Joined)) and is_frame(data):
        return native_frame(data, name=name)
    opened = as_opened(data, name=name, has_categories=True)
    rows = opened.rows if isinstance(opened, Opened) else opened
    if isinstance(rows, Columns):
        numbers = {each: rows.numbers[:, at] for at, each in enumerate(rows.names)}
        return frame_of({**numbers, **rows.categories})
    if isinstance(opened, Opened) and opened.has_names and isinstance(rows, np.ndarray):
        return frame_of({each: rows[:, at] for at, each in enumerate(opened.features)})
    if isinstance(rows, Rows):
        return rows.take(slice(0, len(rows)))
    return np.asarray(rows) if isinstance(rows, Joined) else rows


def _length(given: Any) -> int:
    shape = getattr(given, "shape", None)
    return int(shape[0]) if shape else len(given)
