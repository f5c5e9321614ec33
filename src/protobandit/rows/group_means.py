"""Weighted means of groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.slices import cuts
from protobandit.rows.rows import Rows

_BLOCK_ROWS = 8192  # rows of one product


def group_means(rows: Rows, groups: Ids, weights: Doubles, n_groups: int) -> Any:
    """Return the weighted mean of the dense or sparse rows of each group, in float64.

    ``groups`` and ``weights`` have one number per row. A group without weight is NaN. The means of
    sparse rows are a CSR matrix. Rows are read in blocks, in their order, so the bits do not depend
    on threads.
    """
    from scipy.sparse import csr_array, csr_matrix

    assert rows.n_columns is not None, "objects have no mean"
    is_sparse, shape = rows.kind == "sparse", (n_groups, rows.n_columns)
    totals = np.bincount(groups, weights, minlength=n_groups)
    shares = weights / np.where(totals > 0, totals, 1.0)[groups]  # no sum of rows can overflow
    means: Any = csr_array(shape) if is_sparse else np.zeros(shape)
    for cut in cuts(len(groups), _BLOCK_ROWS):
        block, at = rows.take(cut), np.arange(cut.stop - cut.start)
        members = csr_array((shares[cut], (groups[cut], at)), shape=(n_groups, len(at)))
        means = means + members @ (csr_array(block) if is_sparse else block)
    empty = np.flatnonzero(totals == 0)
    if not is_sparse:
        means[empty] = np.nan
        return means
    if len(empty):
        where = np.indices((len(empty), rows.n_columns)).reshape(2, -1)
        none = np.full(where.shape[1], np.nan), (empty[where[0]], where[1])
        means = means + csr_array(none, shape=shape)
    return csr_matrix(means)
