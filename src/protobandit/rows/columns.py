"""Columns: rows of named features, some of them numbers and some of them categories.

What a DataFrame, an Arrow table or an array becomes where missing values and texts are still to be
dealt with; `protobandit.Preparation` turns it into rows a metric reads.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Where
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import as_floats, kind_of, number_type
from protobandit.rows.frames import as_numbers
from protobandit.rows.memory_maps import gather, is_mapped
from protobandit.rows.rows import working_dtype

_HELP = "Pass a 2-D array, a pandas or polars DataFrame, a pyarrow Table, or Columns."


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Rows as columns.

    Attributes
    ----------
    numbers
        A 2-D array of numbers, NaN where one is missing; it may have no columns, and it may be a
        memory map or anything else with a shape and a type that is read as ``numbers[where]``.
    names
        The names of its columns.
    categories
        By name, 1-D arrays of texts, None where a value is missing.
    is_named
        Whether the names came with the data; else they are positions, "0", "1" and so on.
    """

    numbers: Any
    names: tuple[str, ...]
    categories: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    is_named: bool = True

    def __post_init__(self) -> None:
        numbers = self.numbers if hasattr(self.numbers, "shape") else np.asarray(self.numbers)
        names = tuple(map(str, self.names))
        if len(numbers.shape) != 2 or numbers.dtype.kind not in "fiub":
            raise InvalidInput(
                f"numbers have shape {tuple(numbers.shape)} and type {numbers.dtype}. Pass a 2-D "
                f"array of numbers; one of no columns is np.empty((n, 0))."
            )
        if len(names) != numbers.shape[1]:
            raise InvalidInput(
                f"names has {len(names)} entries but numbers {numbers.shape[1]} columns. Pass one "
                f"name a column."
            )
        texts = {str(name): _as_texts(values) for name, values in self.categories.items()}
        _require_distinct([*names, *texts], "Columns")
        for name, values in texts.items():
            if len(values) != numbers.shape[0]:
                raise InvalidInput(
                    f"categories[{name!r}] has {len(values)} values but numbers "
                    f"{numbers.shape[0]} rows. Pass one value a row."
                )
        for key, value in (("numbers", numbers), ("names", names), ("categories", texts)):
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of all columns, numbers first."""
        return (*self.names, *self.categories)

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many rows and how many features there are."""
        return len(self), len(self.features)

    def take(self, where: Where) -> Columns:
        """Return some of the rows."""
        own = self.numbers
        return Columns(
            numbers=gather(own, where) if is_mapped(own) else own[where],
            names=self.names,
            categories={name: values[where] for name, values in self.categories.items()},
            is_named=self.is_named,
        )

    def to_numpy(self) -> Any:
        """Return the numbers, where there are no categories besides."""
        if self.categories:
            shown = ", ".join(repr(name) for name in list(self.categories)[:5])
            raise InvalidInput(
                f"These rows have columns of categories ({shown}), which metrics do not read. Pass "
                f"preparation=Preparation(categories='gower') or 'one-hot', or leave them out."
            )
        return self.numbers

    @staticmethod
    def of(
        data: Any,
        *,
        name: str = "rows",
        categories: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> Columns:
        """Return any table as columns.

        Parameters
        ----------
        data
            A 2-D array, a pandas or polars DataFrame, a pyarrow Table, or `Columns`, which are
            returned as they are.
        name
            What the user calls it, for errors.
        categories
            Columns that are categories whatever they hold; columns of texts are anyway.
        only
            The names to read where the data has them all; by default, and where one is missing,
            all columns are read.
        """
        if isinstance(data, Columns):
            return data
        for (library, kind), read in _READERS.items():
            loaded = getattr(sys.modules.get(library), kind, None)
            if loaded is not None and isinstance(data, loaded):
                found = list(read(data))
                if only is not None and set(only) <= {column for column, _ in found}:
                    found = [(column, values) for column, values in found if column in only]
                return _gathered(found, data.shape[0], name, categories)
        array = _as_array(data, name)
        if array.dtype.kind != "O" and not categories:
            names = tuple(map(str, range(array.shape[1])))
            return Columns(numbers=array, names=names, is_named=False)
        found = [(str(at), _of_objects(array[:, at])) for at in range(array.shape[1])]
        return replace(_gathered(found, len(array), name, categories), is_named=False)


# -- readers: of each column its name, and how to read it as what it is, or as a category ---------

Values = np.ndarray[Any, Any]
# read(is_category) returns floats, or texts as objects, or the name of a type that is neither.
Read = Callable[[bool], "Values | str"]


def _of_pandas(frame: Any) -> Iterator[tuple[str, Read]]:
    for at, column in enumerate(frame.columns):
        yield str(column), partial(_pandas_column, frame.iloc[:, at])


def _pandas_column(values: Any, is_category: bool) -> Values | str:
    dtype, kind = values.dtype, getattr(values.dtype, "kind", "O")
    if kind in "fiub" and not is_category:
        plain = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", np.float64)
        wide = working_dtype(np.dtype(plain))
        return np.asarray(values.to_numpy(dtype=wide, na_value=np.nan))
    if kind in "Mmc":
        return str(dtype)
    is_category |= type(dtype).__name__ == "CategoricalDtype"
    items = np.array(values.astype(object), dtype=object)
    items[np.asarray(values.isna(), dtype=bool)] = None
    return _settled(items, is_category)


def _of_polars(frame: Any) -> Iterator[tuple[str, Read]]:
    for column in frame.columns:
        yield column, partial(_polars_column, frame.get_column(column))


def _polars_column(values: Any, is_category: bool) -> Values | str:
    kind = str(values.dtype.base_type())
    is_number = values.dtype.is_numeric() or kind in ("Boolean", "Null")
    if is_number and not is_category:
        return _as_floats(values.to_numpy())
    if is_number or kind in ("String", "Categorical", "Enum", "Object"):
        return _settled(_as_objects(values.to_list()), is_category or kind != "Object")
    return str(values.dtype)


def _of_arrow(table: Any) -> Iterator[tuple[str, Read]]:
    for at, column in enumerate(table.column_names):
        yield column, partial(_arrow_column, table.column(at))


def _arrow_column(values: Any, is_category: bool) -> Values | str:
    kind = kind_of(values.type)
    if kind == "number" and not is_category:
        return as_floats(values, working_dtype(number_type(values.type)))
    if kind in ("number", "text"):
        return _settled(_as_objects(values.to_pylist()), True)
    return str(values.type)


def _of_objects(values: Values) -> Read:
    return lambda is_category: _settled(values.astype(object), is_category)


_READERS: dict[tuple[str, str], Callable[[Any], Iterator[tuple[str, Read]]]] = {
    ("pandas", "DataFrame"): _of_pandas,
    ("polars", "DataFrame"): _of_polars,
    ("pyarrow", "Table"): _of_arrow,
    ("pyarrow", "RecordBatch"): _of_arrow,
}


def _as_array(data: Any, name: str) -> Values:
    if not (isinstance(data, (list, tuple)) or hasattr(data, "__array__")):
        raise InvalidInput(f"{name} is a {type(data).__name__}, not a table of columns. {_HELP}")
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "fiub":
        masked: Any = data.astype(working_dtype(data.dtype))
        data = masked.filled(np.nan)
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.dtype.kind in "US":  # of a list of mixed rows NumPy makes texts only
            array = np.array(data, dtype=object)
    except ValueError:
        raise InvalidInput(f"{name} holds rows of different lengths. {_HELP}") from None
    if array.ndim != 2 or array.dtype.kind not in "fiubO":
        raise InvalidInput(
            f"{name} has shape {array.shape} and type {array.dtype}. Pass 2-D rows of numbers, or "
            f"of numbers and texts."
        )
    return array


def _gathered(
    found: list[tuple[str, Read]], n: int, name: str, categories: Collection[str]
) -> Columns:
    _require_distinct([column for column, _ in found], name)
    columns = {column: read(column in categories) for column, read in found}
    wrong = [f"{column!r} ({kind})" for column, kind in columns.items() if isinstance(kind, str)]
    if wrong:
        shown = ", ".join(wrong[:5]) + (", …" if len(wrong) > 5 else "")
        raise InvalidInput(
            f"{name} has column(s) that are neither numbers nor texts: {shown}. Leave them out, or "
            f"convert them first."
        )
    arrays = {c: values for c, values in columns.items() if not isinstance(values, str)}
    numbers = {c: values for c, values in arrays.items() if values.dtype != object}
    wide = np.result_type(*(v.dtype for v in numbers.values())) if numbers else np.dtype(np.float64)
    table = np.empty((n, len(numbers)), dtype=wide)
    for at, values in enumerate(numbers.values()):
        table[:, at] = values
    return Columns(
        numbers=table,
        names=tuple(numbers),
        categories={c: values for c, values in arrays.items() if values.dtype == object},
    )


# -- values ---------------------------------------------------------------------------------------


def _settled(items: np.ndarray[Any, Any], is_category: bool) -> np.ndarray[Any, Any] | str:
    """Return objects as numbers if they all are, as texts if some are, else the type in the way."""
    if not is_category:
        numbers = as_numbers(items)
        if numbers.dtype != object:
            return numbers
    texts = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        if not (_is_missing(item) or isinstance(item, (str, bool, int, float, np.generic))):
            return type(item).__name__
        texts[i] = _text(item)
    return texts


def _as_texts(values: Any) -> np.ndarray[Any, Any]:
    return np.fromiter(map(_text, values), dtype=object, count=len(values))


def _text(value: Any) -> str | None:
    if type(value) is str or value is None:
        return value
    if _is_missing(value):
        return None
    # A column of whole numbers with a gap is read as floats.
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _as_floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    floats = as_numbers(np.asarray(values))
    return floats.astype(working_dtype(floats.dtype), copy=False)


def _as_objects(values: list[Any]) -> np.ndarray[Any, Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _require_distinct(names: list[str], where: str) -> None:
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InvalidInput(f"{where} has the column {twice[0]!r} more than once. Rename one.")
