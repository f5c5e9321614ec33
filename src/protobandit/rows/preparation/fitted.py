"""FittedPreparation: the steps with their fitted numbers, applied to any rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Where
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.records import require_types
from protobandit.foundation.slices import cuts
from protobandit.foundation.threads import one_blas_thread
from protobandit.rows.columns import Columns
from protobandit.rows.preparation.encoding import filled_numbers, filled_texts, one_hot
from protobandit.rows.preparation.tables import as_table, fitted_columns, require_width
from protobandit.rows.rows import is_finite, is_sparse, working_dtype

VERSION = 1
_PRODUCT_ROWS = 256
_BLOCK_CELLS = 1 << 20
_PARAMETERS = ("standardize", "normalize", "pca", "categories", "impute")
_ARRAYS = ("fills", "offsets", "divisors", "centre", "components")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedPreparation:
    """A `Preparation` fitted on rows, which applies the same steps to any rows.

    Attributes
    ----------
    parameters
        The parameters of the `Preparation`.
    names, levels
        Names of the columns of numbers, and the categories of each other column by name.
    is_named
        Whether columns are matched by name. If False, they are matched by position.
    n_rows
        Number of rows it was fitted on.
    fills, commonest
        Values that replace missing numbers and missing categories. None and empty if missing values
        are not allowed.
    offsets, divisors
        Numbers subtracted from each column, and divisors applied after that. A divisor of 0 turns a
        column into zeros.
    centre, components, variance_share
        The principal components, one per row, and their share of the variance.
    """

    parameters: Mapping[str, Any]
    names: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    is_named: bool
    n_rows: int
    fills: Doubles | None = None
    commonest: Mapping[str, str] = field(default_factory=dict)
    offsets: Doubles | None = None
    divisors: Doubles | None = None
    centre: Doubles | None = None
    components: Doubles | None = None
    variance_share: float | None = None

    @property
    def features(self) -> tuple[str, ...] | None:
        """Return the names of the columns of unprepared rows, or None if they have no names."""
        return (*self.names, *self.levels) if self.is_named else None

    @property
    def n_columns(self) -> int:
        """Return the number of columns of prepared rows."""
        return self.n_encoded if self.components is None else len(self.components)

    @property
    def n_encoded(self) -> int:
        """Return the number of columns after categories are encoded as numbers.

        :meta private:
        """
        return len(self.names) + sum(len(x) + self.is_gower for x in self.levels.values())

    @property
    def is_gower(self) -> bool:
        """Return whether the Manhattan distance of prepared rows is Gower's distance."""
        return bool(self.parameters["categories"] == "gower")

    @property
    def has_equal_scales(self) -> bool:
        """Return whether all columns of numbers have the same scale after preparation."""
        return bool(self.parameters["standardize"]) or self.is_gower

    @property
    def fills_gaps(self) -> bool:
        """Return whether missing values are allowed."""
        return self.parameters["impute"] is not None

    def transform(self, rows: Any) -> Any:
        """Return prepared rows.

        Parameters
        ----------
        rows
            Rows with the columns it was fitted on, or the path of a file of rows. Columns of frames
            are matched by name; other columns are ignored. Columns of arrays are matched by
            position.

        Returns
        -------
        ndarray of shape (number of rows, ``n_columns``), or CSR matrix
            float32 if it represents the numbers of the rows exactly, else float64.
        """
        # Imported here, so that the file readers are loaded only on use.
        from protobandit.rows.files.opening import as_opened

        rows = as_opened(rows, name="rows", preparation=self)
        table = self.table(rows, name="rows")
        if is_sparse(table):
            return transform_sparse(table, self.divisors, self.parameters["normalize"])
        return self.all_rows(table, name="rows", dtype=self.dtype_of(table))

    # -- for the rest of the package ------------------------------------------------------------

    def table(self, rows: Any, *, name: str) -> Any:
        """Return the columns of ``rows`` that it was fitted on, or a CSR matrix.

        :meta private:
        """
        table = as_table(rows, name=name, categories=() if self.is_named else self.levels)
        if not is_sparse(table):
            return fitted_columns(
                table,
                names=self.names,
                categories=self.levels,
                is_named=self.is_named,
                name=name,
            )
        if self.offsets is not None or self.components is not None or self.levels:
            raise InvalidInput(
                f"{name} is a sparse matrix, but the preparation was fitted on dense rows and "
                f"would make it dense. Pass {name}.toarray()."
            )
        require_width(table.shape[1], len(self.names), name=name)
        return table

    @staticmethod
    def dtype_of(table: Any) -> np.dtype[Any]:
        """Return the type of the rows of a table after preparation.

        :meta private:
        """
        return working_dtype(np.dtype(table.dtype if is_sparse(table) else table.numbers.dtype))

    def all_rows(self, table: Columns, *, name: str, dtype: np.dtype[Any]) -> Any:
        """Return all rows of a matching table, prepared in blocks.

        :meta private:
        """
        out = np.empty((len(table), self.n_columns), dtype=dtype)
        with one_blas_thread():
            for cut in cuts(len(table), self.block_rows):
                out[cut] = self.block(table.take(cut), name=name, where=cut, dtype=dtype)
        return out

    @property
    def block_rows(self) -> int:
        """Return how many rows to prepare at once.

        :meta private:
        """
        return max(_PRODUCT_ROWS, _BLOCK_CELLS // max(1, self.n_encoded))

    def block(self, block: Columns, *, name: str, where: Where | None, dtype: np.dtype[Any]) -> Any:
        """Return a block of a matching table, prepared; ``where`` numbers its rows for errors.

        The bits of a prepared row do not depend on the other rows of the block.

        :meta private:
        """
        values = self.encoded(block, name=name, where=where)
        values = self.scaled(values)
        if self.components is not None and self.centre is not None:
            values = _projected(values - self.centre, self.components)
        if self.parameters["normalize"]:
            values = _unit(values)
        with np.errstate(over="ignore"):
            out = values.astype(dtype, copy=False)
        if not is_finite(out):
            raise InvalidInput(
                f"{name} has numbers that overflow {dtype} when prepared. Rescale them, or pass "
                f"float64."
            )
        return out

    def encoded(self, block: Columns, *, name: str, where: Where | None = None) -> Doubles:
        """Return numbers and encoded categories, without missing values.

        :meta private:
        """
        parts = [filled_numbers(block, self.fills, name=name, where=where)]
        for column, levels in self.levels.items():
            texts = filled_texts(block, column, self.commonest, name=name, where=where)
            # In Gower's distance, a category that was not fitted is as far from the others as they
            # are from each other.
            parts.append(one_hot(texts, levels, has_other=self.is_gower))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def scaled(self, values: Doubles) -> Doubles:
        """Return encoded rows, standardized or scaled for Gower's distance if requested.

        :meta private:
        """
        with np.errstate(over="ignore"):
            if self.offsets is not None:
                values -= self.offsets
            if self.divisors is not None:
                values /= np.where(self.divisors == 0, np.inf, self.divisors)
        return values

    # -- as JSON ---------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return it as values that JSON can hold; numbers keep every digit.

        :meta private:
        """
        document: dict[str, Any] = {"version": VERSION}
        for each in fields(self):
            value = getattr(self, each.name)
            document[each.name] = value.tolist() if isinstance(value, np.ndarray) else value
        document["levels"] = {column: list(texts) for column, texts in self.levels.items()}
        return {**document, "names": list(self.names), "parameters": dict(self.parameters)}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> FittedPreparation:
        """Return the preparation that `to_document` wrote.

        :meta private:
        """
        if not isinstance(document, Mapping) or document.get("version") != VERSION:
            version = document.get("version") if isinstance(document, Mapping) else None
            raise InvalidInput(
                f"preparation has version {version!r}, but this release reads {VERSION}. Save it "
                f"again with this release."
            )
        try:
            values = {each.name: document[each.name] for each in _FIELDS}
            values |= {name: load(values[name]) for name, load in _LOADERS.items()}
            loaded = FittedPreparation(**values)
            require_types(loaded)
            _require_shapes(loaded)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(
                f"preparation is incomplete ({type(error).__name__}: {error}). Pass what "
                f"to_document() returned."
            ) from None
        return loaded

    def __str__(self) -> str:
        asked = self._requested or "no steps"
        text = f"Rows were prepared ({asked}), as fitted on {self.n_rows:,} target rows"
        if self.variance_share is None:
            return f"{text}."
        share = f"{100 * self.variance_share:.1f} % of the variance"
        return f"{text}; {self.n_columns} components hold {share}."

    def __repr__(self) -> str:
        size = f"{self.n_rows:,} rows, {self.n_columns} columns"
        return f"FittedPreparation({self._requested}; {size})"

    @property
    def _requested(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.parameters.items() if value)


def _as_array(stored: Any) -> Doubles | None:
    return None if stored is None else np.asarray(stored, dtype=np.float64)


_FIELDS = fields(FittedPreparation)
_LOADERS: dict[str, Callable[[Any], Any]] = {
    "parameters": dict,
    "names": tuple,
    "levels": lambda stored: {column: tuple(texts) for column, texts in stored.items()},
    "commonest": dict,
    **dict.fromkeys(_ARRAYS, _as_array),
}


def _require_shapes(loaded: FittedPreparation) -> None:
    if set(loaded.parameters) != set(_PARAMETERS):
        raise ValueError(f"parameters are {list(loaded.parameters)}, not {list(_PARAMETERS)}")
    if (loaded.centre is None) != (loaded.components is None):
        raise ValueError("centre and components belong together")
    n, width = len(loaded.names), loaded.n_encoded
    rows = 0 if loaded.components is None else len(loaded.components)
    shapes = [(n,), (width,), (width,), (width,), (rows, width)]
    for name, shape in zip(_ARRAYS, shapes, strict=True):
        array = getattr(loaded, name)
        if array is not None and (array.shape != shape or not np.isfinite(array).all()):
            raise ValueError(f"{name} has shape {array.shape}, not {shape}, or is not finite")


def _projected(values: Doubles, components: Doubles) -> Doubles:
    """Return products, computed in blocks of one size so that the bits of a row never change."""
    out = np.empty((len(values), len(components)))
    for cut in cuts(len(values), _PRODUCT_ROWS):
        some = values[cut]
        n = len(some)
        if n < _PRODUCT_ROWS:
            some = np.concatenate([some, np.zeros((_PRODUCT_ROWS - n, values.shape[1]))])
        out[cut] = (some @ components.T)[:n]
    return out


def _unit(values: Doubles) -> Doubles:
    """Return rows of length 1, first divided by their largest entry so that no square overflows."""
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    values = values / np.where(largest == 0, 1.0, largest)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    return values / np.where(lengths == 0, 1.0, lengths)[:, None]


def transform_sparse(matrix: Any, divisors: Doubles | None, is_unit: bool) -> Any:
    """Return sparse rows, columns divided by ``divisors``; if ``is_unit``, rows of length 1."""
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
