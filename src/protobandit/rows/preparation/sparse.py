"""Prepare sparse rows: columns are scaled but not centred, so that rows stay sparse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.preparation.column_statistics import ColumnMoments
from protobandit.rows.rows import working_dtype

_UNSUPPORTED = {
    "pca": "it would make the rows dense. Reduce them with scikit-learn's TruncatedSVD first, or "
    "pass toarray()",
    "impute": "only NaN counts as missing there. Replace NaN by numbers",
    "categories": "it has no categories. Omit categories, or pass toarray()",
}


def require_sparse_steps(parameters: Mapping[str, Any], *, name: str) -> None:
    """Raise if a requested step does not support sparse rows."""
    for step, why in _UNSUPPORTED.items():
        if parameters[step] is not None:
            raise InvalidInput(
                f"{step}={parameters[step]!r} does not support a sparse matrix ({name}): {why}."
            )


def sparse_moments(matrix: Any) -> ColumnMoments:
    """Return mean and variance of each column; zeros count."""
    n, width = matrix.shape
    values, columns = matrix.data.astype(np.float64), matrix.indices
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.bincount(columns, values, minlength=width) / n
        squares = np.bincount(columns, (values - mean[columns]) ** 2, minlength=width)
        n_zeros = n - np.bincount(columns, minlength=width)
        return ColumnMoments(n, mean, (squares + n_zeros * mean**2) / n)


def transform_sparse(matrix: Any, divisors: Doubles | None, is_unit: bool) -> Any:
    """Return rows with columns divided by ``divisors`` and, if ``is_unit``, scaled to length 1."""
    out = matrix.astype(working_dtype(np.dtype(matrix.dtype)), copy=True)
    values = out.data.astype(np.float64)
    if divisors is not None:
        values /= np.where(divisors == 0, np.inf, divisors)[out.indices]
    if is_unit:
        rows = np.repeat(np.arange(out.shape[0]), np.diff(out.indptr))
        largest = np.zeros(out.shape[0])
        np.maximum.at(largest, rows, np.abs(values))
        values /= np.where(largest == 0, 1.0, largest)[rows]
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=out.shape[0]))
        values /= np.where(lengths == 0, 1.0, lengths)[rows]
    out.data = values.astype(out.dtype)
    return out
