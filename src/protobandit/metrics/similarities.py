"""Similarities: kernels, as records that an oracle can ask.

Rules
-----
1. A kernel k(row, row) is symmetric and positive semidefinite, and large where rows are alike: the
   opposite of a dissimilarity. So none stands in `METRICS`, but each is a `Metric` record, whose
   ``fill`` writes k(target j, source i): whoever asks for a kernel asks an oracle, and is counted.
2. As in `_metrics`: only the oracle calls a record, ``fill`` from several threads at once; nothing
   here keeps state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import dense_rows, sparse_distances
from protobandit.metrics.metrics import METRICS, Metric
from protobandit.metrics.operands import Operand

SQUARES = METRICS["sqeuclidean"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """A kernel: ``pairs`` is k(target, source), ``alone`` k(target, target) whatever the source."""

    pairs: Metric
    alone: Metric


def similarity(kernel: Any, *, gamma: float, degree: int, coef0: float) -> Similarity:
    """Return the kernel of this name with these parameters, or the user's own function."""
    if callable(kernel):
        return _own(kernel)
    parameters = {"gamma": float(gamma), "degree": int(degree), "coef0": float(coef0)}
    return KERNELS[kernel](**parameters)


def require_kernel(kernel: Any, *, degree: Any, coef0: Any) -> None:
    """Refuse what is no kernel, or no parameter of one."""
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        raise InvalidInput(
            f"kernel={kernel!r:.40} is not known. Use one of {list(KERNELS)}, or a function "
            f"f(A, B) that returns an array of shape (len(A), len(B))."
        )
    is_whole = isinstance(degree, (int, np.integer)) and not isinstance(degree, bool)
    if not (is_whole and degree >= 1):
        raise InvalidInput(f"degree={degree!r} is not allowed. Pass a whole number >= 1.")
    is_number = isinstance(coef0, (int, float, np.integer, np.floating))
    if not (is_number and not isinstance(coef0, bool) and 0 <= coef0 < math.inf):
        raise InvalidInput(f"coef0={coef0!r} is not allowed. Pass a finite number >= 0.")


# -- kernels of the table -------------------------------------------------------------------------


def _rbf(*, gamma: float, degree: int, coef0: float) -> Similarity:
    named = replace(SQUARES, name="rbf", parameters={"gamma": gamma}, bound=1.0, fill_pairs=None)
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
    return Similarity(
        pairs=Metric(name=name, prepare=_prepare, fill=pairs, kinds=kinds),
        alone=Metric(name=name, prepare=_prepare, fill=alone, kinds=kinds),
    )


KERNELS: dict[str, Callable[..., Similarity]] = {
    "rbf": _rbf,
    "linear": _linear,
    "polynomial": _polynomial,
}


def _prepare(block: Any, centre: Doubles | None) -> Operand:
    home = dense_rows if isinstance(block, np.ndarray) else sparse_distances
    return Operand(*home.FORMS["with_norms"](block))


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


# -- the user's own -------------------------------------------------------------------------------


def _own(function: Callable[..., Any]) -> Similarity:
    name = getattr(function, "__name__", type(function).__name__)
    record = Metric(
        name=name,
        prepare=_prepare_any,
        fill=partial(_fill_by_blocks, function=function, name=name),
        kinds=frozenset({"dense", "sparse", "objects"}),
        is_expensive=True,
    )
    alone = replace(record, fill=partial(_fill_row_by_row, function=function, name=name))
    return Similarity(pairs=record, alone=alone)


def _prepare_any(block: Any, centre: Doubles | None) -> Operand:
    return Operand(block if getattr(block, "ndim", 1) == 2 else list(block))


def _fill_by_blocks(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    values = np.asarray(function(targets.rows, sources.rows))
    if values.shape != out.T.shape or values.dtype.kind not in "fiub":
        raise InvalidInput(
            f"kernel={name!r} returned an array of shape {values.shape} and dtype {values.dtype} "
            f"for {len(targets)} and {len(sources)} rows. It must return numbers in the shape "
            f"{out.T.shape}."
        )
    out[...] = values.T
    if not np.isfinite(out).all():
        i, j = np.argwhere(~np.isfinite(out))[0]
        raise InvalidInput(
            f"kernel={name!r} gave {out[i, j]} for rows {j} and {i} of a block. A similarity must "
            f"be a finite number: correct the kernel or drop such rows."
        )


def _fill_row_by_row(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    for j in range(len(targets)):
        row = targets.take(slice(j, j + 1))
        _fill_by_blocks(row, row, out[:, j : j + 1], function=function, name=name)
