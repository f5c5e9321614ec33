"""Similarities: kernels as `Metric` records, so that an oracle can compute and count them.

Rules
-----
1. A kernel k(row, row) is symmetric and positive semidefinite, and large where rows are similar:
   the opposite of a dissimilarity. So no kernel is in `METRICS`. But each is a `Metric` record
   whose ``fill`` writes k(target j, source i), because every kernel value goes through an oracle
   and is counted.
2. As in `metrics.metrics`, only the oracle calls a record, ``fill`` from several threads at once,
   and records have no state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Floats
from protobandit.foundation.checks import require_integer, require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.metrics.metrics import METRICS, Metric, call_on_block, prepare, prepare_any
from protobandit.metrics.operands import Operand

SQUARES = METRICS["sqeuclidean"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """A kernel: ``pairs`` computes k(target, source), ``alone`` k(target, target)."""

    pairs: Metric
    alone: Metric


def similarity(kernel: Any, *, gamma: float, degree: int, coef0: float) -> Similarity:
    """Return the kernel with this name and these parameters, or of a user's function."""
    if callable(kernel):
        return _own(kernel)
    parameters = {"gamma": float(gamma), "degree": int(degree), "coef0": float(coef0)}
    return KERNELS[kernel](**parameters)


def require_kernel(kernel: Any, *, degree: Any, coef0: Any) -> None:
    """Raise unless this is a kernel and these are valid parameters."""
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        raise InvalidInput(
            f"kernel={kernel!r:.40} is not known. Use one of {list(KERNELS)}, or a function "
            f"f(A, B) that returns an array of shape (len(A), len(B))."
        )
    require_integer(degree, "degree")
    require_number(coef0, "coef0", at_least=0)


# -- kernels of the table -------------------------------------------------------------------------


def _rbf(*, gamma: float, degree: int, coef0: float) -> Similarity:
    named = replace(
        SQUARES,
        name="rbf",
        parameters={"gamma": gamma},
        bound=1.0,
        fill_pairs=None,
        fill_patches=None,
    )
    return Similarity(
        pairs=replace(named, fill=partial(_fill_rbf, gamma=gamma)),
        alone=replace(named, fill=_fill_with_one),
    )


def _linear(*, gamma: float, degree: int, coef0: float) -> Similarity:
    return _of_products("linear", _fill_products, _fill_with_norms)


def _polynomial(*, gamma: float, degree: int, coef0: float) -> Similarity:
    parameters: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
    fills = (_fill_products, _fill_with_norms)
    powers = (partial(_fill_powers, products=fill, **parameters) for fill in fills)
    return _of_products("polynomial", *powers)


def _of_products(name: str, pairs: Callable[..., None], alone: Callable[..., None]) -> Similarity:
    kinds = frozenset({"dense", "sparse"})
    form = partial(prepare, form="with_norms")
    record = Metric(name=name, prepare=form, fill=pairs, kinds=kinds, is_product=True)
    return Similarity(pairs=record, alone=replace(record, fill=alone))


KERNELS: dict[str, Callable[..., Similarity]] = {
    "rbf": _rbf,
    "linear": _linear,
    "polynomial": _polynomial,
}


def _fill_rbf(sources: Operand, targets: Operand, out: Floats, *, gamma: float) -> None:
    SQUARES.fill(sources, targets, out)
    with np.errstate(over="ignore"):
        np.multiply(out, -gamma, out=out)
    np.exp(out, out=out)


def _fill_with_one(sources: Operand, targets: Operand, out: Floats) -> None:
    out[...] = 1.0


def _fill_products(sources: Operand, targets: Operand, out: Floats) -> None:
    left, right = sources.rows, targets.rows
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(left, np.ndarray):
            np.matmul(left, right.T, out=out)
        else:
            out[...] = (left.astype(np.float64) @ right.astype(np.float64).T).toarray()


def _fill_with_norms(sources: Operand, targets: Operand, out: Floats) -> None:
    with np.errstate(over="ignore"):
        out[...] = targets.norms


def _fill_powers(
    sources: Operand,
    targets: Operand,
    out: Floats,
    *,
    products: Callable[..., None],
    gamma: float,
    degree: int,
    coef0: float,
) -> None:
    products(sources, targets, out)
    with np.errstate(over="ignore", invalid="ignore"):
        np.multiply(out, gamma, out=out)
        np.add(out, coef0, out=out)
        base = out.copy()
        for _ in range(degree - 1):
            np.multiply(out, base, out=out)


# -- functions of users ---------------------------------------------------------------------------


def _own(function: Callable[..., Any]) -> Similarity:
    name = getattr(function, "__name__", type(function).__name__)
    record = Metric(
        name=name,
        prepare=prepare_any,
        fill=partial(_fill_by_blocks, function=function, name=name),
        kinds=frozenset({"dense", "sparse", "objects"}),
        is_expensive=True,
    )
    alone = replace(record, fill=partial(_fill_row_by_row, function=function, name=name))
    return Similarity(pairs=record, alone=alone)


def _fill_by_blocks(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    call_on_block(sources, targets, out, function=function, label=f"kernel={name!r}")
    if not np.isfinite(out).all():
        i, j = np.argwhere(~np.isfinite(out))[0]
        raise InvalidInput(
            f"kernel={name!r} gave {out[i, j]} for target row {j} and source row {i} of a block. A "
            f"similarity must be a finite number. Correct the kernel or drop such rows."
        )


def _fill_row_by_row(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    for j in range(len(targets)):
        row = targets.take(slice(j, j + 1))
        _fill_by_blocks(row, row, out[:, j : j + 1], function=function, name=name)
