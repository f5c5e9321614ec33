"""The prototypes of a selection as a table: one row each, with columns of the source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.result.queries import Queries
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.opening import open_rows


def prototype_columns(selection: Queries, rows: Any = None) -> dict[str, Any]:
    """Return rank, row, mass, gain, cost and what else is known, then columns of the source.

    ``rows`` has one row per source row; by default the rows of the selection, if they are known as
    they were passed.
    """
    columns: dict[str, Any] = {
        "rank": np.arange(1, selection.k + 1),
        "row": selection.indices,
        "mass": selection.mass,
        "gain": selection.gains,
        "cost": selection.costs,
    }
    if selection.coefficients is not None:
        columns["coefficient"] = selection.coefficients
    if selection.prototype_labels is not None:
        columns["label"] = list(selection.prototype_labels)
    if selection.fixed:
        columns["is_fixed"] = np.isin(selection.indices, selection.fixed)
    shown = own_columns(selection) if rows is None else columns_at(rows, selection.indices)
    for name, values in shown.items():
        columns[f"source_{name}" if name in columns else name] = values
    return columns


def own_columns(selection: Queries) -> dict[str, Any]:
    """Return the named columns of the prototypes, if rows were not prepared."""
    rows, names = selection.prototypes, selection.columns
    is_table = isinstance(rows, np.ndarray) and rows.ndim == 2 and selection.preparation is None
    if isinstance(rows, list):
        return {"value": rows}
    if not is_table or names is None:
        return {}
    if len(names) < rows.shape[1]:  # a column of vectors, or several columns with vectors
        return {names[0]: list(rows)} if len(names) == 1 else {}
    return {name: rows[:, at] for at, name in enumerate(names)}


def as_table(rows: Any, columns: tuple[str, ...] | None) -> Any:
    """Return rows to be shown as a frame, a mapping of columns, an array or a list.

    ``rows`` may also be a file, which has the compared ``columns``, a list of dicts, a lazy frame,
    an AnnData object (its ``obs``) or a Dataset.
    """
    if isinstance(rows, (str, Path)):
        rows = open_rows(rows, name="rows", columns=columns)
    if isinstance(rows, Opened):
        return rows.records(np.arange(len(rows)))
    if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], Mapping):
        names = dict.fromkeys(name for row in rows for name in row)
        return {str(name): [row.get(name) for row in rows] for name in names}
    if hasattr(rows, "obsm"):
        return {"obs_names": rows.obs_names, **{name: rows.obs[name] for name in rows.obs}}
    if hasattr(rows, "data_vars"):
        return {str(name): np.asarray(each.values) for name, each in rows.data_vars.items()}
    is_lazy = hasattr(rows, "collect") and not hasattr(rows, "__len__")
    return rows.collect() if is_lazy else rows


def length_of(rows: Any) -> int:
    """Return the number of rows of a table, or of values."""
    if isinstance(rows, dict):
        return len(next(iter(rows.values()), ()))
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def columns_at(rows: Any, ids: Ids) -> dict[str, Any]:
    """Return the columns of some rows of a frame, a mapping of columns, an array or a list."""
    names = names_of(rows)
    if names is not None:
        if len(set(map(str, names))) < len(names):
            raise InvalidInput(
                f"rows have several columns of one name ({names!r:.100}). Give each its own name."
            )
        return {str(name): column_at(rows, name, ids) for name in names}
    if isinstance(rows, (list, tuple)):
        return {"value": [rows[i] for i in ids]}
    if hasattr(rows, "toarray"):  # sparse
        chosen = rows[ids].toarray()
        return {f"column {at}": chosen[:, at] for at in range(chosen.shape[1])}
    array = np.asarray(rows)
    if array.ndim == 2:
        return {f"column {at}": array[ids, at] for at in range(array.shape[1])}
    if array.ndim == 1:
        return {"value": array[ids]}
    raise InvalidInput(
        f"rows have shape {array.shape}, which is not a table. Pass a DataFrame, a 2-D array or a "
        f"list."
    )


def names_of(rows: Any) -> list[Any] | None:
    """Return the names of the columns of a frame or a mapping; None if there are none."""
    if isinstance(rows, dict):
        return list(rows)
    if hasattr(rows, "column_names"):  # pyarrow
        return list(rows.column_names)
    return list(rows.columns) if hasattr(rows, "columns") else None


def column_at(rows: Any, name: Any, ids: Ids) -> list[Any]:
    """Return the values of one column in some rows."""
    values = rows[name]
    if hasattr(values, "iloc"):
        values = values.iloc[ids]
    elif hasattr(values, "to_pylist"):
        return list(values.take(ids).to_pylist())
    elif hasattr(values, "to_list"):
        return list(values[ids.tolist()].to_list())
    else:
        return [values[i] for i in ids]
    return list(values.tolist())


def as_frame(columns: dict[str, Any], like: Any = None) -> Any:
    """Return a table as a frame of polars or pyarrow if ``like`` is one, else of pandas."""
    home = type(like).__module__.partition(".")[0]
    if home == "polars":
        import polars

        return polars.DataFrame(columns)
    if home == "pyarrow":
        import pyarrow

        return pyarrow.table(columns)
    try:
        import pandas
    except ImportError:
        raise NotAvailable(
            "to_frame needs pandas. Install it with: pip install protobandit[pandas]"
        ) from None
    return pandas.DataFrame(columns)
