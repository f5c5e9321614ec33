"""The work of ``protobandit compile``: small problems that use the loops of the usual calls."""

from __future__ import annotations

import numpy as np

from protobandit._select import select
from protobandit.foundation.array_types import Floats
from protobandit.foundation.errors import NotAvailable
from protobandit.kernels.jit import CompiledCode, compiled_code

_MANY_COLUMNS, _FEW_COLUMNS = 16, 4  # distances of few columns have loops of their own


def compile_usual() -> CompiledCode:
    """Compile what the default method uses for numbers, and what certifies its results.

    The kernels of other metrics and methods are compiled when they are first used.
    """
    select(np.arange(9.0)[:, None], k=2, random_state=0)
    found = compiled_code()
    if not found.compiled | found.loaded:
        raise NotAvailable(
            "Nothing can be compiled: llvmlite cannot be used, or PROTOBANDIT_NUMPY_ONLY is set. "
            "Install llvmlite, or unset the variable."
        )
    if found.folder is None:  # known before the work
        return found
    for dtype in (np.float32, np.float64):
        random = np.random.default_rng(0)
        for n_columns in (_MANY_COLUMNS, _FEW_COLUMNS):
            _solve(random.normal(size=(6000, n_columns)).astype(dtype))
        # A race of several rungs needs more rows.
        rows = random.normal(size=(12_000, _MANY_COLUMNS)).astype(dtype)
        select(rows, k=30, method="lazybandit", random_state=0).certify()
    return compiled_code()


def _solve(rows: Floats) -> None:
    """Solve problems of all sizes that the default method distinguishes."""
    source, target = rows[:3000], rows[3000:]
    weights = np.arange(1.0, len(target) + 1)
    select(rows[:300], k=5, random_state=0).certify()
    select(rows[:300], k=5, metric="cosine", random_state=0)
    select(source, target[:300], k=5, random_state=0)
    for k in (5, 300, 2000):  # a greedy start, random rows, an index of prototypes
        select(rows, k=k, method="localsearch", random_state=0)
    select(source, target, k=20, weights=weights, method="localsearch", random_state=0).certify()
