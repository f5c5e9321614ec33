"""Dask collections as parts: the only file of `rows` that imports Dask.

A 2-D array, a DataFrame, or an xarray object with Dask chunks becomes one part per row of chunks or
per partition. Only ``to_delayed``, ``chunks`` and ``map_blocks`` of a collection are used, so that
unknown lengths, empty chunks and chunks of any size are ordinary input.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.convert import unmasked
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.table_parts import TableParts, read_table_part
from protobandit.rows.part_reading import carry_out, read_part
from protobandit.rows.parts import Part, PartExecutor, PartForm, Parts

_LIBRARIES = {"dask", "dask_expr"}


def is_lazy(data: Any) -> bool:
    """Return whether ``data`` is a Dask collection, or holds one; nothing is imported."""
    if isinstance(data, Opened):
        return isinstance(data.rows, TableParts)
    if "dask" not in sys.modules or not hasattr(data, "__dask_graph__"):
        return False
    # An xarray object in memory has the method too, and returns None.
    return data.__dask_graph__() is not None


def lazy_parts(
    data: Any, *, name: str, weights: Any = None, executor: PartExecutor, like: Any = None
) -> Parts:
    """Return a collection as parts.

    Parameters
    ----------
    data
        A Dask array or DataFrame, or an xarray object with Dask chunks.
    name
        The name of the rows in messages.
    weights
        A 1-D collection with the same partitions, one number per row if lengths are known, or the
        name of a column of a DataFrame or Dataset, which is then not compared.
    executor
        Where the tasks run.
    like
        The columns to compare, or None. Columns without names are compared by position.
    """
    if isinstance(data, Opened):
        if like is not None and data.has_names and tuple(like) != data.columns:
            raise InvalidInput(
                f"{name} has the columns {list(data.columns[:8])}, not those of the source, or in "
                f"another order. Pass open_rows(path, columns={list(like)}, in_parts=True)."
            )
        return _of_files(data, name, weights, executor)
    if isinstance(weights, str):
        data, weights = _without_column(data, weights, name)
    is_table, columns = False, None if like is None else tuple(like)
    if _library(data) == "xarray":
        data, is_table, names = _xarray_blocks(data, name)
        if not is_table:
            data, columns = _ordered(data, names, columns, name)
    elif _is_array(data):
        columns = None
    if isinstance(data, dict):
        blocks, lengths, sizes = _of_columns(data)
    elif _is_array(data):
        blocks, lengths, sizes = _of_array(data, name)
    elif hasattr(data, "dtypes") and isinstance(getattr(data, "npartitions", None), int):
        is_table, blocks = True, list(data.to_delayed())
        lengths, sizes = [None] * len(blocks), [None] * len(blocks)
    else:
        raise InvalidInput(
            f"{name} is a dask {type(data).__name__}, which cannot be read in blocks of rows. Pass "
            f"a 2-D dask.array or a dask.dataframe, for example by to_dataframe()."
        )
    own, shape = _weights_of(weights, lengths, name), None
    if _is_array(data) and data.dtype.kind != "O" and not math.isnan(data.shape[1]):
        shape = int(data.shape[1]), data.dtype
    return Parts(
        form=PartForm(name=name, is_table=is_table, columns=columns),
        parts=tuple(
            Part(number, block, weight, n_rows, n_bytes)
            for number, (block, weight, n_rows, n_bytes) in enumerate(
                zip(blocks, own, lengths, sizes, strict=True)
            )
        ),
        executor=executor,
        carry_out=carry_out,
        shape=shape,
    )


def _of_files(data: Opened, name: str, weights: Any, executor: PartExecutor) -> Parts:
    """Return Parquet files as parts."""
    import dask

    rows: TableParts = data.rows
    read = dask.delayed(read_table_part, pure=True)
    layout = dask.delayed(rows.layout, traverse=False)
    lengths: list[int | None] = [part.n_rows for part in rows.parts]
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    own = _weights_of(weights, lengths, name)
    return Parts(
        form=PartForm(
            name=name, columns=data.columns, features=data.features, left_out=data.left_out
        ),
        parts=tuple(
            Part(
                number,
                [read(part, layout, rows.shown, name)],
                own[number],
                part.n_rows,
                part.n_rows * row_bytes,
            )
            for number, part in enumerate(rows.parts)
        ),
        executor=executor,
        carry_out=carry_out,
        shape=(rows.shape[1], rows.dtype),
    )


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _without_column(data: Any, column: str, name: str) -> tuple[Any, Any]:
    """Return a collection without its column of weights, and that column."""
    names = list(getattr(data, "data_vars", getattr(data, "columns", ())))
    if column not in names:
        raise InvalidInput(
            f"weights={column!r} is not a column of {name}. Pass the name of a column of a "
            f"DataFrame or Dataset, or one number per row."
        )
    return data[[each for each in names if each != column]], data[column]


def _is_array(data: Any) -> bool:
    # A Delayed has every attribute, but its values are not known.
    return hasattr(data, "chunks") and isinstance(getattr(data, "ndim", None), int)


def _ordered(
    data: Any, own: tuple[str, ...] | None, columns: tuple[str, ...] | None, name: str
) -> tuple[Any, tuple[str, ...] | None]:
    """Return the columns of an array in the order of given names, if it has names itself."""
    if own is None or columns is None or own == columns:
        return data, own
    missing = [column for column in columns if column not in own]
    if missing:
        raise InvalidInput(
            f"{name} has no column(s) {missing[:8]}. Pass the columns of the source, in any order."
        )
    return data[:, [own.index(column) for column in columns]], columns


def _of_array(data: Any, name: str) -> tuple[list[Any], list[int | None], list[int | None]]:
    """Return the chunks of each row of chunks, their lengths and their bytes."""
    if data.ndim != 2:
        raise InvalidInput(
            f"{name} is a dask array with {data.ndim} dimension(s). Pass a 2-D array: "
            f"reshape(len(X), -1), or X[:, None] for one column."
        )
    if data.dtype.kind not in "fiubO":
        raise InvalidInput(f"{name} is a dask array of {data.dtype}. Pass numbers.")
    blocks = [list(row) for row in data.to_delayed()]
    lengths = [_known(n) for n in data.chunks[0]]
    width = data.shape[1]
    each = None if math.isnan(width) else int(width) * data.dtype.itemsize
    return blocks, lengths, [None if n is None or each is None else n * each for n in lengths]


def _known(n: float) -> int | None:
    return None if math.isnan(n) else int(n)


def _of_columns(
    data: dict[str, Any],
) -> tuple[list[Any], list[int | None], list[int | None]]:
    """Return the chunks of columns by name, for each block of rows."""
    first = next(iter(data.values()))
    blocks: list[Any] = [{} for _ in first.chunks[0]]
    for name, array in data.items():
        for number, chunks in enumerate(array.to_delayed()):
            blocks[number][name] = chunks if array.ndim == 1 else chunks[0]
    lengths = [_known(n) for n in first.chunks[0]]
    width = sum(array.dtype.itemsize * math.prod(array.shape[1:]) for array in data.values())
    return blocks, lengths, [None if n is None else n * width for n in lengths]


def _xarray_blocks(data: Any, name: str) -> tuple[Any, bool, tuple[str, ...] | None]:
    """Return the Dask arrays of an xarray object, whether they are columns, and their names."""
    if not hasattr(data, "data_vars"):
        names = None
        if data.ndim == 2 and data.dims[1] in getattr(data, "coords", ()):
            names = tuple(str(each) for each in data.coords[data.dims[1]].values)
        return data.data, False, names
    firsts = {variable.dims[:1] for variable in data.data_vars.values()}
    if len(firsts) != 1 or firsts == {()} or any(v.ndim > 2 for v in data.data_vars.values()):
        raise InvalidInput(
            f"{name} is a Dataset whose variables do not have one first dimension in common and at "
            f"most two. Pass some of them, such as {name}[['a', 'b']]."
        )
    rows = firsts.pop()[0]
    unified = data.unify_chunks()
    lengths = unified.chunks[rows]
    arrays = {
        str(key): each.chunk({rows: lengths, **dict.fromkeys(each.dims[1:], -1)}).data
        for key, each in unified.data_vars.items()
    }
    return arrays, True, None


def _weights_of(weights: Any, lengths: Sequence[int | None], name: str) -> list[Any]:
    """Return the weights of each part: chunks of a collection, or pieces of an array."""
    if weights is None:
        return [None] * len(lengths)
    if is_lazy(weights):
        values = weights.data if _library(weights) == "xarray" else weights
        n_dimensions = getattr(values, "ndim", None)
        if not isinstance(n_dimensions, int) or n_dimensions != 1:
            raise InvalidInput(
                f"weights are a {type(values).__name__} that is not 1-D. Pass a 1-D dask.array or "
                f"a column of the frame, such as weights[:, 0]."
            )
        chunks = np.asarray(values.to_delayed(), dtype=object).ravel().tolist()
        if len(chunks) != len(lengths):
            raise InvalidInput(
                f"weights have {len(chunks)} partition(s) but {name} has {len(lengths)}. Pass 1-D "
                f"weights with the same partitions as the rows, such as a column of the frame."
            )
        return chunks
    if isinstance(weights, str):
        raise InvalidInput(
            f"weights={weights!r} names a column, but {name} are files in parts. Pass one number "
            f"per row, or dask.dataframe.read_parquet(path) as {name}."
        )
    numbers = np.asarray(weights, dtype=np.float64)
    known = [n for n in lengths if n is not None]
    if len(known) < len(lengths):
        raise InvalidInput(
            f"weights are an array, but the lengths of the partitions of {name} are not known. "
            f"Pass weights as a collection with the same partitions."
        )
    if numbers.shape != (sum(known),):
        raise InvalidInput(
            f"weights have shape {numbers.shape} but {name} has {sum(known):,} rows. Pass one per "
            f"row."
        )
    return np.split(numbers, np.cumsum(known)[:-1])


def taken(data: Any, ids: Ids, lengths: Sequence[int] | None) -> Any:
    """Return some rows of a collection in memory, in the order of ``ids``.

    ``lengths`` are those of the partitions, where they are known from elsewhere. Only the
    partitions of these rows are computed.
    """
    import dask

    parts = lazy_parts(data, name="frame", executor=_NO_EXECUTOR).parts
    found: Sequence[int | None] = [part.n_rows for part in parts]
    if any(n is None for n in found) and lengths is not None and len(lengths) == len(parts):
        found = lengths
    elif any(n is None for n in found):
        read_length = dask.delayed(_length)
        found = dask.compute(*(read_length(part.blocks) for part in parts))
    starts = np.cumsum([0, *(n for n in found if n is not None)])
    if starts[-1] <= ids.max():
        raise InvalidInput(
            f"frame has {starts[-1]:,} rows, but source row {ids.max():,} was selected. Pass one "
            f"row per source row."
        )
    at = np.searchsorted(starts, ids, side="right") - 1
    used = [int(number) for number in np.unique(at)]
    read = dask.delayed(_taken)
    wanted = [(parts[n].blocks, ids[at == n] - starts[n], starts[n + 1] - starts[n]) for n in used]
    values = dask.compute(*(read(*each) for each in wanted))
    order = np.argsort(np.concatenate([np.flatnonzero(at == n) for n in used]), kind="stable")
    if hasattr(values[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(list(values)).iloc[order]
    return np.concatenate(values)[order]


def _length(blocks: Any) -> int:
    return len(blocks[0] if isinstance(blocks, list) else blocks)


def _taken(blocks: Any, ids: Ids, n_rows: int) -> Any:
    whole = np.concatenate(blocks, axis=1) if isinstance(blocks, list) else blocks
    if isinstance(whole, dict):
        raise InvalidInput("frame is a Dataset. Pass frame.to_dask_dataframe(), or one variable.")
    if len(whole) != n_rows:
        raise InvalidInput(
            f"frame has a partition of {len(whole):,} rows where the source has {n_rows:,}. Pass "
            f"the collection that was the source."
        )
    return whole.iloc[ids] if hasattr(whole, "iloc") else whole[ids]


def mapped(
    data: Any,
    function: Callable[[Any, Any], Any],
    shared: Any,
    *,
    name: str,
    width: int,
    like: tuple[str, ...] | None,
) -> Any:
    """Return a lazy 2-D float64 array with ``width`` columns and the row chunks of a collection.

    Each chunk is ``function(part, shared)``, where the part is a frame or an array; ``like`` are
    the columns to compare, if they have names.
    """
    import dask
    import dask.array

    parts = lazy_parts(data, name=name, executor=_NO_EXECUTOR, like=like)
    one = dask.delayed(shared, traverse=False)
    call = dask.delayed(_mapped, pure=True)
    chunks = [
        dask.array.from_delayed(
            call(part.blocks, one, function, parts.form),
            shape=(math.nan if part.n_rows is None else part.n_rows, width),
            dtype=np.float64,
        )
        for part in parts.parts
    ]
    return dask.array.concatenate(chunks, axis=0, allow_unknown_chunksizes=True)


def _mapped(blocks: Any, shared: Any, function: Any, form: PartForm) -> Any:
    if isinstance(blocks, dict):  # the columns of a Dataset
        read = read_part(blocks, None, form, 0)
        return function(read.numbers, shared)
    if form.is_table:
        return function(blocks, shared)
    arrays = [unmasked(block) for block in blocks] if len(blocks) > 1 else blocks
    return function(arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1), shared)


class _NoExecutor:
    """Stands for an executor where only the parts of a collection are needed."""

    n_passes = n_tasks = n_sent = n_received = 0

    def run(self, *_: Any) -> Any:
        raise NotImplementedError


_NO_EXECUTOR = _NoExecutor()
