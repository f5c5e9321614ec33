"""Rows of two sets as one set."""

from __future__ import annotations

import numpy as np

from protobandit.rows.rows import DenseRows, ObjectRows, Rows, SparseRows


def joined_rows(first: Rows, second: Rows) -> Rows:
    """Return the rows of ``first``, then those of ``second``, which are of the same kind.

    The result is in memory, also if a part is a file.
    """
    parts = [rows.take(slice(0, len(rows))) for rows in (first, second)]
    dtype = np.promote_types(first.dtype, second.dtype)
    if first.kind == "sparse":
        from scipy.sparse import vstack

        return SparseRows(vstack(parts, format="csr"), name=first.name, dtype=dtype)
    if first.kind == "objects":
        return ObjectRows([*parts[0], *parts[1]], name=first.name)
    return DenseRows(np.concatenate(parts), name=first.name, dtype=dtype)
