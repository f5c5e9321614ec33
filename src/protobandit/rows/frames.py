"""DataFrames become arrays of numbers; of tuples where only the user's own metric reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.rows import working_dtype


def as_numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return objects that are all numbers as floats (None as NaN), anything else as it is."""
    if array.dtype.kind != "O" or any(isinstance(value, (str, bytes)) for value in array.flat):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


def _from_pandas(frame: Any, name: str, takes_objects: bool) -> np.ndarray[Any, Any]:
    types = list(frame.dtypes)
    columns = zip(frame.columns, types, strict=True)
    wrong = [str(column) for column, t in columns if getattr(t, "kind", "O") not in "fiub"]
    if wrong and takes_objects:
        return _tuples(frame.itertuples(index=False, name=None), len(frame))
    if wrong:
        raise InvalidInput(_not_numbers(name, wrong))
    if all(isinstance(t, np.dtype) for t in types):
        return np.asarray(frame.to_numpy(dtype=np.result_type(np.bool_, *types)))
    wide = np.result_type(*(working_dtype(_numpy_dtype(t)) for t in types))
    return np.asarray(frame.to_numpy(dtype=wide, na_value=np.nan))


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    is_plain = isinstance(dtype, np.dtype)
    return np.dtype(dtype if is_plain else getattr(dtype, "numpy_dtype", np.float64))


def _from_polars(frame: Any, name: str, takes_objects: bool) -> np.ndarray[Any, Any]:
    wrong = [c for c, t in frame.schema.items() if not (t.is_numeric() or str(t) == "Boolean")]
    if wrong and takes_objects:
        return _tuples(frame.iter_rows(), len(frame))
    if wrong:
        raise InvalidInput(_not_numbers(name, wrong))
    return as_numbers(np.asarray(frame.to_numpy()))


def _tuples(rows: Iterable[tuple[Any, ...]], n: int) -> np.ndarray[Any, Any]:
    return np.fromiter(rows, dtype=object, count=n)


def _not_numbers(name: str, wrong: list[str]) -> str:
    shown = ", ".join(repr(c) for c in wrong[:5]) + (", …" if len(wrong) > 5 else "")
    return (
        f"{name} has column(s) that are not numbers: {shown}. "
        f"Select the numeric columns or encode the others first."
    )


# By the library whose DataFrame it reads: read(frame, name, takes_objects).
FRAMES: dict[str, Callable[[Any, str, bool], np.ndarray[Any, Any]]] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
}
