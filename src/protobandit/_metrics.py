"""Metrics: a table of records, and the doors through which a user's own come in.

Rules
-----
1. Only the oracle calls a metric. It hands each side's blocks to ``prepare`` once, and prepared
   sides to ``fill`` as often as it likes, from several threads.
2. ``fill(sources, targets, out)`` writes d(target j, source i) to ``out[i, j]``. Rows of ``out``
   are contiguous; ``out`` itself may be a slice of a wider matrix.
3. Nothing here keeps state. Every record can be pickled, unless a user's own function cannot.
4. NumPy is all that importing this file loads.

Conventions
-----------
Cosine and correlation are half the squared distance of rows scaled to length 1, so that rows of one
direction are at 0 exactly and nearly parallel ones keep their digits. A zero row has no direction:
it is at cosine distance 1 from every row, as in scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._typing import Doubles, Floats, Where
from protobandit.kernels import _distances, _sparse

_CENTRE_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows in the form one metric reads, with their norms where it wants them.

    ``rows`` is a C-contiguous array, a CSR matrix, a list of objects, or the column numbers of a
    precomputed matrix.
    """

    rows: Any
    norms: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows) if isinstance(self.rows, list) else int(self.rows.shape[0])

    def take(self, where: Where) -> Prepared:
        """Return these rows, prepared."""
        if isinstance(self.rows, list) and not isinstance(where, slice):
            return Prepared([self.rows[i] for i in where])
        rows = self.rows[where]
        if isinstance(rows, np.ndarray):
            rows = np.ascontiguousarray(rows)
        return Prepared(rows, None if self.norms is None else self.norms[where])


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """How to compute a dissimilarity, block by block.

    Parameters
    ----------
    name
        What the user calls it.
    prepare
        ``prepare(block, centre)``: rows in the form ``fill`` reads.
    fill
        ``fill(sources, targets, out)``: ``out[i, j]`` becomes d(target j, source i).
    parameters
        What the user may have set.
    bound
        The largest value it can take, if there is one.
    is_centred
        Whether dense rows should be prepared with a common `strided_centre`.
    kinds
        The kinds of rows it reads: dense, sparse, objects.
    is_expensive
        Whether it is a user's own function, for which few large calls beat many small ones.
    """

    name: str
    prepare: Callable[[Any, Doubles | None], Prepared]
    fill: Callable[[Prepared, Prepared, Floats], None]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bound: float | None = None
    is_centred: bool = False
    kinds: frozenset[str] = frozenset({"dense"})
    is_expensive: bool = False


def strided_centre(*blocks: Floats) -> Doubles | None:
    """Return a point near which to put the origin, or None where that would gain nothing.

    It is the mean of evenly spaced rows, in the columns whose mean exceeds their spread: there the
    subtraction is exact or nearly so. Elsewhere it would only round.
    """
    samples = [block[:: -(-len(block) // _CENTRE_ROWS)] for block in blocks if len(block)]
    if not samples:
        return None
    n = sum(map(len, samples))
    mean = sum(sample.sum(axis=0, dtype=np.float64) for sample in samples) / n
    square = sum(np.square(sample - mean).sum(axis=0) for sample in samples) / n
    centre: Doubles = np.where(mean**2 > square, mean, 0.0)
    return centre if centre @ centre > square.sum() else None


# -- metrics with kernels -------------------------------------------------------------------------


def _home(rows: Any) -> ModuleType:
    """Return the folder's file that reads rows of this kind."""
    return _distances if isinstance(rows, np.ndarray) else _sparse


def _prepare(block: Any, centre: Doubles | None, *, form: str) -> Prepared:
    if centre is not None:
        # Any point serves as the centre; one of the rows' own type makes differences exact.
        block = np.subtract(np.asarray(block), centre.astype(block.dtype), order="C")
    return Prepared(*_home(block).FORMS[form](block))


def _prepare_profiles(block: Floats, centre: Doubles | None) -> Prepared:
    constant = np.flatnonzero(block.max(axis=1) == block.min(axis=1))
    if len(constant):
        raise InvalidInput(
            f"metric='correlation' is undefined for a constant row, such as row {constant[0]} of a "
            f"block ({len(constant)} such row(s)). Drop those rows or use another metric."
        )
    return _prepare(block, centre, form="profiles")


def _prepare_points(block: Floats, centre: Doubles | None) -> Prepared:
    if block.shape[1] != 2:
        raise InvalidInput(
            f"metric='haversine' got rows of {block.shape[1]} column(s). It takes exactly 2: "
            f"latitude and longitude in radians (numpy.radians converts degrees)."
        )
    return _prepare(block, centre, form="plain")


def _fill(
    sources: Prepared, targets: Prepared, out: Floats, *, name: str, **parameters: float
) -> None:
    norms = () if sources.norms is None else (sources.norms, targets.norms)
    fill = _home(sources.rows).FILLS[name]
    fill(sources.rows, targets.rows, *norms, out, **parameters)


def _fill_checked(sources: Prepared, targets: Prepared, out: Floats, *, name: str) -> None:
    _fill(sources, targets, out, name=name)
    _require_dissimilarities(out, name)


# -- a precomputed matrix -------------------------------------------------------------------------


def _prepare_matrix(block: Any, centre: Doubles | None) -> Prepared:
    return Prepared(np.asarray(block))


def _fill_precomputed(sources: Prepared, targets: Prepared, out: Floats) -> None:
    out[...] = targets.rows[:, sources.rows].T
    _require_dissimilarities(out, "precomputed")


# -- the user's own -------------------------------------------------------------------------------


def _prepare_any(block: Any, centre: Doubles | None) -> Prepared:
    return Prepared(block if getattr(block, "ndim", 1) == 2 else list(block))


def _fill_by_pairs(
    sources: Prepared, targets: Prepared, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    target_rows = _single_rows(targets.rows)
    for i, source in enumerate(_single_rows(sources.rows)):
        for j, target in enumerate(target_rows):
            value = function(target, source)
            if not _is_dissimilarity(value):
                raise InvalidInput(_refusal(name, value, i, j))
            out[i, j] = value


def _single_rows(rows: Any) -> list[Any]:
    if isinstance(rows, (list, np.ndarray)):
        return list(rows)
    return [rows[i : i + 1] for i in range(rows.shape[0])]


def _is_dissimilarity(value: Any) -> bool:
    try:
        return math.isfinite(value) and value >= 0
    except (TypeError, ValueError):
        return False


def _fill_by_blocks(
    sources: Prepared, targets: Prepared, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    values = np.asarray(function(targets.rows, sources.rows))
    if values.shape != out.T.shape or values.dtype.kind not in "fiub":
        raise InvalidInput(
            f"metric={name!r} returned an array of shape {values.shape} and dtype {values.dtype} "
            f"for {len(targets)} target rows and {len(sources)} source rows. It must return "
            f"numbers in the shape {out.T.shape}."
        )
    out[...] = values.T
    _require_dissimilarities(out, name)


def _require_dissimilarities(out: Floats, name: str) -> None:
    if out.size == 0 or (out.min() >= 0 and out.max() < np.inf):
        return
    i, j = np.argwhere(~(np.isfinite(out) & (out >= 0)))[0]
    raise InvalidInput(_refusal(name, out[i, j], i, j))


def _refusal(name: str, value: Any, i: int, j: int) -> str:
    return (
        f"metric={name!r} gave {value!s:.40} for target row {j} and source row {i} of a block. "
        f"A dissimilarity must be a finite number >= 0: correct the metric or drop such rows."
    )


def block_metric(function: Callable[[Any, Any], Any]) -> Metric:
    """Make a metric of a function that compares many rows at once.

    Parameters
    ----------
    function
        ``function(A, B)`` returns an array of shape ``(len(A), len(B))``; ``A`` are target rows and
        ``B`` source rows, as arrays, CSR matrices or lists, whichever the user passed.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0], [1.0], [9.0]])
    >>> pb.select(rows, k=1, metric=pb.block_metric(lambda A, B: abs(A - B.T))).indices
    array([1])
    """
    if not callable(function):
        raise InvalidInput(
            f"block_metric got {function!r:.40}, which cannot be called. Pass a function f(A, B) "
            f"that returns an array of shape (len(A), len(B))."
        )
    return _own(function, _fill_by_blocks)


def _own(function: Callable[..., Any], fill: Callable[..., None]) -> Metric:
    name = getattr(function, "__name__", type(function).__name__)
    return Metric(
        name=name,
        prepare=_prepare_any,
        fill=partial(fill, function=function, name=name),
        kinds=frozenset({"dense", "sparse", "objects"}),
        is_expensive=True,
    )


# -- metrics of SciPy that have no kernel here ----------------------------------------------------


def _is_variances(value: Doubles) -> bool:
    return value.ndim == 1 and bool((value > 0).all())


def _is_square(value: Doubles) -> bool:
    return value.ndim == 2 and value.shape[0] == value.shape[1]


# What SciPy would else estimate from each block on its own, so that it must be given.
_NEEDED: dict[str, tuple[str, Callable[[Doubles], bool], str]] = {
    "seuclidean": ("V", _is_variances, "the variance of each column, all positive"),
    "mahalanobis": ("VI", _is_square, "the inverse covariance of the columns, a square matrix"),
}
_ADAPTED: dict[str, type] = {
    "dice": np.bool_,
    "jensenshannon": np.float64,
    "mahalanobis": np.float64,
    "rogerstanimoto": np.bool_,
    "russellrao": np.bool_,
    "seuclidean": np.float64,
    "sokalsneath": np.bool_,
    "yule": np.bool_,
}


def _adapted(name: str, parameters: Mapping[str, Any]) -> Metric:
    values = {key: _as_needed(name, value) for key, value in parameters.items()}
    if name in _NEEDED and not values:
        key, _, meaning = _NEEDED[name]
        raise InvalidInput(
            f"metric={name!r} needs parameters={{{key!r}: ...}}: {meaning}. "
            f"Pass metric({name!r}, {{{key!r}: ...}})."
        )
    return Metric(
        name=name,
        prepare=partial(_prepare_adapted, dtype=_ADAPTED[name], parameters=values),
        fill=partial(_fill_adapted, name=name, parameters=values),
        parameters=values,
    )


def _as_needed(name: str, value: Any) -> Doubles:
    key, is_good, meaning = _NEEDED[name]
    try:
        numbers: Doubles = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all() or not is_good(numbers):
        raise InvalidInput(
            f"parameters={{{key!r}: {value!r:.40}}} do not fit metric={name!r}. {key} is {meaning}."
        )
    return numbers


def _prepare_adapted(
    block: Floats, centre: Doubles | None, *, dtype: type, parameters: Mapping[str, Doubles]
) -> Prepared:
    for key, value in parameters.items():
        if len(value) != block.shape[1]:
            raise InvalidInput(
                f"parameters={{{key!r}: ...}} are for {len(value)} column(s) but the rows have "
                f"{block.shape[1]}. Pass parameters of the rows' own columns."
            )
    return Prepared(np.ascontiguousarray(block, dtype=dtype))


def _fill_adapted(
    sources: Prepared, targets: Prepared, out: Floats, *, name: str, parameters: Mapping[str, Any]
) -> None:
    from scipy.spatial.distance import cdist

    with np.errstate(all="ignore"):
        out[...] = cdist(sources.rows, targets.rows, name, **parameters)
    _require_dissimilarities(out, name)


# -- the table, and its doors ---------------------------------------------------------------------


def _with_kernel(name: str, form: str = "plain", **properties: Any) -> Metric:
    is_sparse = name in _sparse.FILLS
    defaults = {
        "prepare": partial(_prepare, form=form),
        "fill": partial(_fill, name=name),
        "kinds": frozenset({"dense", "sparse"} if is_sparse else {"dense"}),
    }
    return Metric(name=name, **(defaults | properties))


METRICS: dict[str, Metric] = {
    measure.name: measure
    for measure in (
        _with_kernel("euclidean", "with_norms", is_centred=True),
        _with_kernel("sqeuclidean", "with_norms", is_centred=True),
        _with_kernel("cosine", "directions", bound=2.0),
        _with_kernel("correlation", prepare=_prepare_profiles, bound=2.0),
        _with_kernel("manhattan"),
        _with_kernel("chebyshev"),
        _with_kernel("hamming", bound=1.0),
        _with_kernel("jaccard", "sets", bound=1.0),
        _with_kernel("canberra"),
        _with_kernel("braycurtis", fill=partial(_fill_checked, name="braycurtis")),
        # Not pi itself: in float32 it is rounded up.
        _with_kernel("haversine", prepare=_prepare_points, bound=float(np.float32(np.pi))),
        Metric(name="precomputed", prepare=_prepare_matrix, fill=_fill_precomputed),
    )
}
_ALIASES = {"l1": "manhattan", "l2": "euclidean", "cityblock": "manhattan"}
_SPECIAL_POWERS = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}


def _minkowski(p: Any) -> Metric:
    if isinstance(p, (str, bool)) or not (np.isreal(p) and np.ndim(p) == 0 and p > 0):
        raise InvalidInput(
            f"parameters={{'p': {p!r:.40}}} do not fit metric='minkowski'. p is a number > 0."
        )
    parameters = {"p": float(p)}
    if p in _SPECIAL_POWERS:
        return replace(METRICS[_SPECIAL_POWERS[p]], name="minkowski", parameters=parameters)
    fill = partial(_fill, name="minkowski", p=float(p))
    return _with_kernel("minkowski", fill=fill, parameters=parameters)


METRICS["minkowski"] = _minkowski(2.0)


def metric(name: str, parameters: Mapping[str, Any] | None = None) -> Metric:
    """Return the metric of this name, with these parameters.

    Parameters
    ----------
    name
        As in scikit-learn and SciPy: one of `METRICS`, or a boolean or statistical metric of SciPy.
    parameters
        ``{"p": number}`` for minkowski (2 by default), ``{"V": variances}`` for seuclidean,
        ``{"VI": matrix}`` for mahalanobis; none for the others.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 0.0]])
    >>> pb.select(rows, k=1, metric=pb.metric("minkowski", {"p": 3})).indices
    array([1])
    """
    name = _ALIASES.get(name, name)
    if name not in METRICS and name not in _ADAPTED:
        raise InvalidInput(_unknown(name))
    given = dict(parameters or {})
    allowed = {"minkowski": "p"}.get(name) or _NEEDED.get(name, (None,))[0]
    if set(given) - {allowed}:
        raise InvalidInput(
            f"parameters={sorted(given)} do not fit metric={name!r}. "
            f"It takes {'none' if allowed is None else repr(allowed)}."
        )
    if name in _ADAPTED:
        return _adapted(name, given)
    return _minkowski(given["p"]) if given else METRICS[name]


def as_metric(measure: Any) -> Metric:
    """Return ``measure``, whatever a user may pass as ``metric``, as a `Metric`.

    A plain callable follows scikit-learn's convention, f(row, row) -> number, and is called as
    f(target row, source row), once a pair.
    """
    if isinstance(measure, Metric):
        return measure
    if isinstance(measure, str):
        return metric(measure)
    if callable(measure):
        return _own(measure, _fill_by_pairs)
    raise InvalidInput(_unknown(measure))


def _unknown(name: Any) -> str:
    known = ", ".join(sorted({*METRICS, *_ADAPTED}))
    return (
        f"metric={name!r:.40} is not known. Use one of {known}, "
        f"a callable f(row, row) -> number, or block_metric(f)."
    )
