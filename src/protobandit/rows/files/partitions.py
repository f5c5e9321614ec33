"""Columns that the names of folders hold: ``year=2024/part-0.parquet`` has the column ``year``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from protobandit.rows.arrow import arrow


def are_partitions(folders: Sequence[str]) -> bool:
    """Return whether the names of all folders have the form ``name=value``."""
    return all(folder.partition("=")[0] and "=" in folder for folder in folders)


def partition_columns(files: Sequence[PurePath]) -> dict[str, Any]:
    """Return the values of each column, one per file, as an Arrow array: integers or texts.

    ``files`` are relative to the folder of the table. A value is missing where a file is not in
    such a folder.
    """
    folders = [[each for each in file.parts[:-1] if are_partitions([each])] for file in files]
    names = list(dict.fromkeys(each.partition("=")[0] for some in folders for each in some))
    if not names:
        return {}
    from pyarrow import dataset

    pa = arrow()
    rule = dataset.HivePartitioning(pa.schema([(name, pa.string()) for name in names]))
    rows = [dataset.get_partition_keys(rule.parse("/".join([*some, ""]))) for some in folders]
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    return {name: _integers(column) for name, column in columns.items()}


def _integers(texts: Any) -> Any:
    pa = arrow()
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return texts
