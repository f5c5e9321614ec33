"""Rows of numbers: which values they hold, and in which container they are passed.

Both are tables. An entry of `STYLES` makes values, one of `CONTAINERS` wraps them and returns what
is passed together with the numbers it stands for. Names in `ORDINARY_STYLES` and
`ORDINARY_CONTAINERS` must be accepted; others may be accepted or refused, but not be wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.fuzz.distances import OF_FLAGS, OF_SHARES

Random = np.random.Generator


@dataclass
class Table:
    """Rows as they are passed, the numbers they stand for (None if unknown), and their names."""

    given: Any
    numbers: Any
    style: str
    container: str

    @property
    def is_ordinary(self) -> bool:
        return self.style in ORDINARY_STYLES and self.container in ORDINARY_CONTAINERS

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.given)


# -- values ---------------------------------------------------------------------------------------


def _normal(random: Random, n: int, d: int) -> Any:
    return random.normal(size=(n, d))


def _whole(random: Random, n: int, d: int) -> Any:
    return random.integers(0, 5, size=(n, d)).astype(float)


def _repeated(random: Random, n: int, d: int) -> Any:
    return _normal(random, max(1, n // 4), d)[random.integers(0, max(1, n // 4), size=n)]


def _clusters(random: Random, n: int, d: int) -> Any:
    return 100 * random.normal(size=(3, d))[random.integers(0, 3, size=n)] + _normal(random, n, d)


def _with(value: float) -> Callable[[Random, int, int], Any]:
    def make(random: Random, n: int, d: int) -> Any:
        rows = _normal(random, n, d)
        rows[random.integers(0, n), random.integers(0, d)] = value
        return rows

    return make


def _scaled(exponent: float) -> Callable[[Random, int, int], Any]:
    return lambda random, n, d: _normal(random, n, d) * 10.0**exponent


def _mixed(random: Random, n: int, d: int) -> Any:
    return _normal(random, n, d) * 10.0 ** random.integers(-300, 300, size=(n, 1))


STYLES: dict[str, Callable[[Random, int, int], Any]] = {
    "normal": _normal,
    "whole": _whole,
    "repeated": _repeated,
    "clusters": _clusters,
    "offset": lambda random, n, d: _normal(random, n, d) + 1e6,
    "zeros": lambda random, n, d: np.zeros((n, d)),
    "sparse": lambda random, n, d: _whole(random, n, d) * (random.random((n, d)) < 0.3),
    "large": _scaled(30),
    "small": _scaled(-30),
    "huge": _scaled(300),
    "tiny": _scaled(-300),
    "subnormal": _scaled(-310),
    "mixed": _mixed,
    "outlier": _with(1e200),
    "nan": _with(np.nan),
    "inf": _with(np.inf),
    "minus inf": _with(-np.inf),
    "minus zero": _with(-0.0),
}
ORDINARY_STYLES = frozenset({"normal", "whole", "repeated", "clusters", "offset", "minus zero"})


def values(random: Random, metric: str, n: int, d: int, style: str) -> Any:
    """Return values of a style for which the metric is defined, if the style is ordinary."""
    rows = STYLES[style](random, n, d)
    if metric in OF_SHARES:
        return abs(rows) + (style in ORDINARY_STYLES)
    if metric in OF_FLAGS and style in ORDINARY_STYLES:
        rows = (rows > 0.5).astype(float)
        rows[:, 0] = 1  # no empty set, for which some of these metrics are not defined
        return rows
    if metric == "haversine" and style in ORDINARY_STYLES:
        return np.remainder(rows, 1.5)
    if metric == "correlation" and style in ORDINARY_STYLES:
        return rows + np.arange(d) * 1.25  # no constant row
    if metric == "cosine" and style in ORDINARY_STYLES:
        return rows + 0.25  # no zero row
    return rows


# -- containers -----------------------------------------------------------------------------------


def _as(dtype: Any) -> Callable[[Random, Any], tuple[Any, Any]]:
    def make(random: Random, rows: Any) -> tuple[Any, Any]:
        with np.errstate(all="ignore"):
            given = rows.astype(dtype)
        return given, given.astype(np.float64)

    return make


def _whole_as(dtype: Any) -> Callable[[Random, Any], tuple[Any, Any]]:
    def make(random: Random, rows: Any) -> tuple[Any, Any]:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        with np.errstate(all="ignore"):
            given = np.clip(np.nan_to_num(np.round(rows)), max(low, -1e9), min(high, 1e9))
        return given.astype(dtype), given

    return make


def _kept(wrap: Callable[[Any], Any]) -> Callable[[Random, Any], tuple[Any, Any]]:
    return lambda random, rows: (wrap(rows), rows)


def _lost(wrap: Callable[[Any], Any]) -> Callable[[Random, Any], tuple[Any, Any]]:
    return lambda random, rows: (wrap(rows), None)


def _strided(random: Random, rows: Any) -> tuple[Any, Any]:
    wide = np.full((2 * len(rows), 3 * rows.shape[1]), np.nan)
    wide[::2, ::3] = rows
    return wide[::2, ::3], rows


def _masked(random: Random, rows: Any) -> tuple[Any, Any]:
    return np.ma.masked_array(rows, mask=random.random(rows.shape) < 0.1), None


def _read_only(rows: Any) -> Any:
    copy = rows.copy()
    copy.flags.writeable = False
    return copy


def _structured(rows: Any) -> Any:
    return np.array([tuple(row) for row in rows], [(f"c{i}", "f8") for i in range(rows.shape[1])])


def _matrix(rows: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(rows)


def _stored(kind: str) -> Callable[[Any], Any]:
    def make(rows: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of formats that are slow for such rows
            return getattr(sparse, kind)(rows)

    return make


def _unsorted(random: Random, rows: Any) -> tuple[Any, Any]:
    """Return a CSR matrix with unsorted columns, repeated entries and stored zeros."""
    n, d = rows.shape
    columns = [np.concatenate([random.permutation(d), random.integers(0, d, 2)]) for _ in rows]
    halves = np.array([np.bincount(each, minlength=d) for each in columns])
    data = [(row / half)[each] for row, half, each in zip(rows, halves, columns, strict=True)]
    bounds = np.arange(n + 1) * (d + 2)
    given = sparse.csr_array(
        (np.concatenate(data), np.concatenate(columns), bounds), shape=rows.shape
    )
    return given, given.toarray()


def _broken_sparse(random: Random, rows: Any) -> tuple[Any, Any]:
    """Return a sparse matrix whose index arrays point elsewhere."""
    given = getattr(sparse, str(random.choice(["csr_array", "csc_array", "bsr_array"])))(rows)
    part = given.indices if random.random() < 0.6 else given.indptr
    if len(part):
        odd = [-1, rows.shape[1], rows.shape[1] + 1, 10**6, 2**31 - 1, -(2**31)]
        part[random.integers(0, len(part))] = odd[random.integers(0, len(odd))]
    return given, None


def _pandas(rows: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])


def _nullable(rows: Any) -> Any:
    return _pandas(rows).convert_dtypes()


def _polars(rows: Any) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{i}": rows[:, i] for i in range(rows.shape[1])})


def _pyarrow(rows: Any) -> Any:
    import pyarrow as pa

    return pa.table({f"c{i}": rows[:, i] for i in range(rows.shape[1])})


def _vectors(rows: Any) -> Any:
    import pandas as pd

    return pd.Series(list(rows))


def _dicts(rows: Any) -> Any:
    return [{f"c{i}": value for i, value in enumerate(row)} for row in rows.tolist()]


def _dataset(rows: Any) -> Any:
    import xarray as xr

    return xr.Dataset({"v": (("row", "column"), rows)})


def _with_text(rows: Any) -> Any:
    return _pandas(rows).assign(label="a")


CONTAINERS: dict[str, Callable[[Random, Any], tuple[Any, Any]]] = {
    "array": _kept(np.array),
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "longdouble": _as(np.longdouble),
    "big-endian": _as(">f8"),
    "int8": _whole_as(np.int8),
    "int64": _whole_as(np.int64),
    "uint16": _whole_as(np.uint16),
    "bool": lambda random, rows: (rows > 0.5, (rows > 0.5).astype(float)),
    "objects": _kept(lambda rows: rows.astype(object)),
    "list": _kept(lambda rows: rows.tolist()),
    "tuples": _kept(lambda rows: tuple(map(tuple, rows.tolist()))),
    "list of arrays": _kept(list),
    "Fortran": _kept(np.asfortranarray),
    "strided": _strided,
    "reversed": _kept(lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1]),
    "read-only": _kept(_read_only),
    "matrix": _kept(_matrix),
    "memoryview": _kept(lambda rows: memoryview(np.ascontiguousarray(rows))),
    "unmasked": _kept(np.ma.masked_array),
    "masked": _masked,
    "structured": _lost(_structured),
    "csr": _kept(_stored("csr_array")),
    "csr matrix": _kept(_stored("csr_matrix")),
    "csc": _kept(_stored("csc_array")),
    "coo": _kept(_stored("coo_array")),
    "bsr": _kept(_stored("bsr_array")),
    "lil": _kept(_stored("lil_array")),
    "dok": _kept(_stored("dok_array")),
    "dia": _kept(_stored("dia_array")),
    "unsorted csr": _unsorted,
    "broken sparse": _broken_sparse,
    "pandas": _kept(_pandas),
    "pandas nullable": _kept(_nullable),
    "polars": _kept(_polars),
    "pyarrow": _kept(_pyarrow),
    "lazy polars": _kept(lambda rows: _polars(rows).lazy()),
    "series of vectors": _kept(_vectors),
    "column of vectors": _kept(lambda rows: _vectors(rows).to_frame("v")),
    "dicts": _kept(_dicts),
    "xarray": _kept(_dataset),
    "pandas with texts": _lost(_with_text),
    "complex": _lost(lambda rows: rows + 1j),
    "texts": _lost(lambda rows: rows.astype(str)),
    "bytes": _lost(lambda rows: rows.astype("S")),
    "dates": _lost(lambda rows: np.zeros(rows.shape, dtype="M8[s]")),
    "objects with None": _lost(lambda rows: np.where(rows > 1, None, rows)),
    "objects with dicts": _lost(lambda rows: [[{} for _ in row] for row in rows]),
    "ragged": _lost(lambda rows: [row[: 1 + i % len(row)].tolist() for i, row in enumerate(rows)]),
    "one dimension": _lost(np.ravel),
    "three dimensions": _lost(lambda rows: rows[:, :, None]),
    "no dimension": _lost(lambda rows: np.array(1.0)),
    "no rows": _lost(lambda rows: rows[:0]),
    "no columns": _lost(lambda rows: rows[:, :0]),
    "empty list": _lost(lambda rows: []),
    "empty texts": _lost(lambda rows: ["" for _ in rows]),
    "huge integers": _lost(lambda rows: [[10**400 for _ in row] for row in rows]),
    "generator": _lost(lambda rows: (row for row in rows)),
    "set": _lost(lambda rows: {1, 2}),
    "dictionary": _lost(lambda rows: {"a": rows}),
}
ORDINARY_CONTAINERS = frozenset(
    {
        *("array", "float32", "float16", "int8", "int64", "uint16", "objects", "list", "tuples"),
        *("list of arrays", "Fortran", "strided", "reversed", "read-only", "big-endian"),
        *("unmasked", "csr", "csr matrix", "csc", "coo", "bsr", "unsorted csr"),
        *("pandas", "polars"),
    }
)


def table(random: Random, metric: str, n: int, d: int, *, share_odd: float) -> Table:
    """Return rows in a container; style and container are odd with this probability each."""
    style = _drawn(random, STYLES, ORDINARY_STYLES, share_odd)
    container = _drawn(random, CONTAINERS, ORDINARY_CONTAINERS, share_odd)
    rows = values(random, metric, n, d, style)
    return wrapped(random, rows, style, container)


def wrapped(random: Random, rows: Any, style: str, container: str) -> Table:
    """Return these values in a container."""
    given, numbers = CONTAINERS[container](random, rows)
    if numbers is not None and not np.isfinite(numbers).all():
        numbers = None
    return Table(given, numbers, style, container)


def _drawn(random: Random, names: Any, ordinary: frozenset[str], share_odd: float) -> str:
    is_odd = random.random() < share_odd
    return str(random.choice([name for name in names if (name in ordinary) != is_odd]))
