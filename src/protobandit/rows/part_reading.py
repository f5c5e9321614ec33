"""What a task does: read its part, compare it with the first pass, and call a function with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.threads import on_one_thread
from protobandit.rows.convert import unmasked
from protobandit.rows.files.opened import Opened, ReadRequest
from protobandit.rows.files.opening import as_opened
from protobandit.rows.files.table_rows import opened_table
from protobandit.rows.frames import column_table
from protobandit.rows.object_arrays import as_numbers
from protobandit.rows.parts import PartForm, PartRows, Result
from protobandit.rows.rows import is_sparse


def carry_out(
    blocks: Any,
    weights: Any,
    shared: Any,
    number: int,
    function: Callable[[PartRows, Any, int], Result],
    form: PartForm,
    digest: str | None,
) -> Result:
    """Read a part and call the function with it: what a task does."""
    with on_one_thread():
        part = read_part(blocks, weights, form, number)
        if digest is not None and part.digest() != digest:
            raise InvalidInput(
                f"{form.name}: part {number} changed between passes: its rows are not those of the "
                f"first pass. Call {form.name}.persist() first, or make its graph deterministic."
            )
        return function(part, shared, number)


def read_part(blocks: Any, weights: Any, form: PartForm, number: int) -> PartRows:
    """Return the rows of a part whose blocks have been computed."""
    place = f"{form.name}: part {number}"
    read = _table if form.is_table else _arrays
    part = read(blocks, form, place)
    if part.numbers.ndim != 2 or part.numbers.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{place} holds {part.numbers.ndim}-D {part.numbers.dtype} values. Pass a collection "
            f"whose parts are 2-D and numeric."
        )
    if weights is None:
        return part
    values = np.asarray(weights, dtype=np.float64).ravel()
    if len(values) != len(part):
        raise InvalidInput(
            f"{place} has {len(part):,} rows but its weights have {len(values):,}. Pass weights "
            f"with the same partitions as the rows."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        at = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0])
        raise InvalidInput(
            f"{place}: weights[{at}]={values[at]} is not allowed. Weights must be finite and >= 0."
        )
    return PartRows(**{**part.__dict__, "weights": values})


def _arrays(blocks: Any, form: PartForm, place: str) -> PartRows:
    """Return arrays that lie side by side as rows."""
    for block in blocks:
        if is_sparse(block) or not hasattr(block, "__array__"):
            kind = type(block)
            raise InvalidInput(
                f"{place} is a {kind.__module__.partition('.')[0]} {kind.__name__}, which is not "
                f"read in blocks. Pass a collection of NumPy arrays, such as "
                f"{form.name}.map_blocks(lambda block: block.toarray())."
            )
    arrays = [as_numbers(unmasked(block)) for block in blocks]
    return PartRows(
        numbers=arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1),
        features=form.features or form.columns or (),
        columns=form.columns or (),
        left_out=form.left_out,
    )


def _table(blocks: Any, form: PartForm, place: str) -> PartRows:
    """Return the compared columns of a frame, or of a mapping from names to columns."""
    n = len(next(iter(blocks.values()))) if isinstance(blocks, Mapping) else len(blocks)
    if n == 0:  # which has no say in the choice of columns
        return PartRows(numbers=np.empty((0, 0)))
    if isinstance(blocks, Mapping):
        table = column_table(dict(blocks), shown=place, name=form.name)
        opened = opened_table(table, ReadRequest(shown=place, name=form.name, like=form.columns))
    else:
        opened = as_opened(blocks, name=form.name, like=form.columns)
    if not isinstance(opened, Opened) or opened.kind != "numbers":
        raise InvalidInput(
            f"{place} has no columns of numbers. Pass a collection with numeric columns."
        )
    return PartRows(
        numbers=np.asarray(opened.rows),
        features=opened.features,
        columns=opened.columns or opened.features,
        left_out=opened.left_out,
        remark=opened.remark,
    )
