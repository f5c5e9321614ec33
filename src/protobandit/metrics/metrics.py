"""Metrics: a table of records, and the functions that make a record of what a user passes.

Rules
-----
1. Only the oracle calls a metric. It calls ``fill`` from several threads at once.
2. ``fill(sources, targets, out)`` writes d(target j, source i) to ``out[i, j]``. Rows of ``out``
   are contiguous; ``out`` itself may be a slice of a wider matrix.
3. Records have no state. Every record can be pickled, unless it holds a user's function that
   cannot.
4. Importing this file loads no library except NumPy.

Conventions
-----------
A zero row has no direction: its cosine distance from every row is 1, as in scikit-learn. In
canberra and braycurtis, 0/0 counts as 0. Jaccard, dice, rogerstanimoto, russellrao, sokalsneath and
yule read rows as sets: only which numbers are not 0 matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import is_number
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.kernels import dense_rows, distances, sparse_distances
from protobandit.kernels.patches import compare_patches
from protobandit.metrics.operands import Operand
from protobandit.rows.messages import suggestion


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """How to compute a dissimilarity, block by block.

    Parameters
    ----------
    name
        The name that users pass.
    prepare
        ``prepare(block, centre)``: rows in the form that ``fill`` reads.
    fill
        ``fill(sources, targets, out)``: ``out[i, j]`` becomes d(target j, source i).
    fill_pairs
        ``fill_pairs(sources, targets, i, j, out)``, for dense rows: ``out[n]`` becomes
        d(target j[n], source i[n]). None where single pairs are no cheaper than a block.
    fill_patches
        ``fill_patches(rows, candidates, patches, run, at, out, judged)``, for dense rows: the
        distances of a run of `oracle.patches.Patches`, from ``out[at[p]]`` on. They are not kept if
        ``out`` is None, and the candidates are judged unless ``judged``, an
        `oracle.patches.Judged`, is None. None where a loop over the patches is used. The metric is
        symmetric if there is one.
    parameters
        The parameters that the user set.
    bound
        The largest possible value, or None if there is none.
    is_centred
        Whether dense rows should be prepared with a common `strided_centre`.
    is_product
        Whether a block is computed by a matrix product. Other metrics loop over columns, which is
        about ten times slower.
    kinds
        The kinds of rows it reads: dense, sparse, objects.
    is_expensive
        Whether few large calls are faster than many small ones.
    is_by_pairs
        Whether it compares rows pair by pair, so that a block may be split anywhere.
    is_own
        Whether it is a user's function. Only its name is saved to JSON.
    is_of_sets
        Whether it reads rows as sets, and so compares only which numbers are not 0.
    sizes
        How large the largest number of the rows must and may be, so that nothing underflows or
        overflows; None if any size is supported.
    obeys_triangle
        Whether it is known to be symmetric and to obey the triangle inequality, on any rows. (A
        row may have a distance from itself, as in russellrao.)
    """

    name: str
    prepare: Callable[[Any, Doubles | None], Operand]
    fill: Callable[[Operand, Operand, Floats], None]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bound: float | None = None
    is_centred: bool = False
    is_product: bool = False
    kinds: frozenset[str] = frozenset({"dense"})
    is_expensive: bool = False
    is_by_pairs: bool = False
    is_own: bool = False
    is_of_sets: bool = False
    sizes: tuple[float, float] | None = None
    obeys_triangle: bool = False
    fill_pairs: Callable[[Operand, Operand, Ids, Ids, Floats], None] | None = None
    fill_patches: Callable[..., None] | None = None

    def __repr__(self) -> str:
        return f"metric({self.name!r}, {dict(self.parameters)})" if self.parameters else self.name


def prepare(block: Any, centre: Doubles | None, *, form: str) -> Operand:
    """Return rows, not centred, in a form of `dense_rows` or `sparse_distances`."""
    home = dense_rows if isinstance(block, np.ndarray) else sparse_distances
    return Operand(*home.FORMS[form](block))


def _prepare_squares(block: Any, centre: Doubles | None) -> Operand:
    if centre is None or len(centre) <= distances.FEW_COLUMNS:
        return prepare(block, centre, form="with_norms")
    rows, _ = dense_rows.FORMS["plain"](block)
    near = dense_rows.shifted(rows, centre)
    return Operand(rows, dense_rows.squared_norms(near), near)


def _fill(
    sources: Operand,
    targets: Operand,
    out: Floats,
    *,
    name: str,
    is_checked: bool = False,
    **parameters: float,
) -> None:
    norms = () if sources.norms is None else (sources.norms, targets.norms)
    near: dict[str, Any] = {}
    if sources.near is not None:
        near = {"near": (sources.near, targets.near), "at": (sources.at, targets.at)}
    home = distances if isinstance(sources.given, np.ndarray) else sparse_distances
    home.FILLS[name](sources.given, targets.given, *norms, out, **near, **parameters)
    if is_checked:
        _require_dissimilarities(out, name)


def _fill_squares_of_pairs(
    sources: Operand, targets: Operand, i: Ids, j: Ids, out: Floats, *, is_root: bool
) -> None:
    i = i if sources.at is None else sources.at[i]
    j = j if targets.at is None else targets.at[j]
    distances.squares_of_pairs(sources.given, targets.given, i, j, is_root, out)


def _fill_squares_of_patches(
    rows: Operand,
    candidates: Operand,
    patches: Any,
    run: slice,
    at: Ids,
    out: Floats | None,
    judged: Any,
    *,
    is_root: bool,
    most: float = math.inf,
) -> None:
    left, right = (side.given if side.near is None else side.near for side in (rows, candidates))
    has_few_columns = left.shape[1] <= distances.FEW_COLUMNS
    compare_patches(
        left,
        rows.norms,
        patches.row_ids,
        patches.first[run],
        patches.last[run],
        right,
        candidates.norms,
        patches.candidate_ids,
        patches.begin[run],
        patches.end[run],
        at,
        _NEVER if has_few_columns else _CANDIDATES_FOR_PRODUCTS,
        *distances.GUARD[left.dtype],
        is_root,
        most,
        out is not None,
        np.empty(0, left.dtype) if out is None else out,
        *(_not_judged(left.dtype) if judged is None else judged.arrays(run)),
    )


@cache
def _not_judged(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return empty arrays in place of `oracle.patches.Judged.arrays`."""
    ids, slots, numbers = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, dtype)
    return ids, numbers, slots, numbers, numbers, np.empty((0, 0)), np.empty((0, 0))


def _prepare_matrix(block: Any, centre: Doubles | None) -> Operand:
    return Operand(np.asarray(block))


def _fill_precomputed(sources: Operand, targets: Operand, out: Floats) -> None:
    out[...] = targets.rows[:, sources.rows].T
    _require_dissimilarities(out, "precomputed")


def prepare_any(block: Any, centre: Doubles | None) -> Operand:
    """Return rows as a user's function receives them: a matrix, or a list of objects."""
    return Operand(block if getattr(block, "ndim", 1) == 2 else list(block))


def _fill_by_pairs(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    target_rows = _single_rows(targets.rows)
    with refusing_stop_iteration(f"metric={name!r}"):
        for i, source in enumerate(_single_rows(sources.rows)):
            for j, target in enumerate(target_rows):
                value = function(target, source)
                if not _is_dissimilarity(value):
                    raise InvalidInput(_invalid_value_message(name, value, i, j))
                out[i, j] = value


@contextmanager
def refusing_stop_iteration(label: str) -> Iterator[None]:
    """Raise the StopIteration of a user's function as an error: generators would end silently."""
    try:
        yield
    except StopIteration:
        raise InvalidInput(
            f"{label} raised StopIteration, which ends the iteration of its caller. Correct the "
            f"function."
        ) from None


def _single_rows(rows: Any) -> list[Any]:
    is_sparse = not isinstance(rows, (list, np.ndarray))
    return [rows[i : i + 1] for i in range(rows.shape[0])] if is_sparse else list(rows)


def _is_dissimilarity(value: Any) -> bool:
    try:
        return math.isfinite(value) and value >= 0
    except (TypeError, ValueError, OverflowError):  # an array, a text, an int such as 10**400
        return False


def _fill_by_blocks(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], name: str
) -> None:
    call_on_block(sources, targets, out, function=function, label=f"metric={name!r}")
    _require_dissimilarities(out, name)


def call_on_block(
    sources: Operand, targets: Operand, out: Floats, *, function: Callable[..., Any], label: str
) -> None:
    """Write what a user's function of two blocks returns; raise if the shape or type is wrong."""
    with refusing_stop_iteration(label):
        values = np.asarray(function(targets.rows, sources.rows))
    if values.shape != out.T.shape or values.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{label} returned an array of shape {values.shape} and dtype {values.dtype} for "
            f"{len(targets)} target rows and {len(sources)} source rows. It must return numbers "
            f"in an array of shape {out.T.shape}. Correct the function."
        )
    out[...] = values.T


def _require_dissimilarities(out: Floats, name: str) -> None:
    if out.size == 0 or (out.min() >= 0 and out.max() < np.inf):
        return
    i, j = np.argwhere(~(np.isfinite(out) & (out >= 0)))[0]
    raise InvalidInput(_invalid_value_message(name, out[i, j], i, j))


def _invalid_value_message(name: str, value: Any, i: int, j: int) -> str:
    return (
        f"metric={name!r} gave {value!s:.40} for target row {j} and source row {i} of a block. "
        f"A dissimilarity must be a finite number >= 0. Correct the metric or drop such rows."
    )


def prepare_texts(block: Any, centre: Doubles | None, *, name: str) -> Operand:
    """Return the texts; raise if a row is not a str."""
    for text in block:
        if not isinstance(text, str):
            raise InvalidInput(
                f"metric={name!r} compares texts, and one row is {text!r:.40} "
                f"({type(text).__name__}). Pass rows of type str, or use another metric."
            )
    return Operand(list(block))


def fill_edits(sources: Operand, targets: Operand, out: Floats, *, is_normalized: bool) -> None:
    """Write the number of edits between texts, divided by the longer length if normalized."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise NotAvailable(
            "metric='levenshtein' requires rapidfuzz, which is not installed. Run "
            "pip install 'protobandit[text]', or pass your own function as metric."
        ) from None
    out[...] = process.cdist(
        sources.rows,
        targets.rows,
        scorer=Levenshtein.normalized_distance if is_normalized else Levenshtein.distance,
        dtype=np.float64 if is_normalized else np.int32,
    )


def block_metric(function: Callable[[Any, Any], Any]) -> Metric:
    """Return a metric that calls a function of many rows at once.

    Parameters
    ----------
    function
        ``function(A, B)`` returns an array of shape ``(len(A), len(B))``; ``A`` are target rows and
        ``B`` source rows. They are arrays, CSR matrices or lists, like the rows that were passed.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0], [1.0], [9.0]])
    >>> pb.select(rows, k=1, metric=pb.block_metric(lambda A, B: abs(A - B.T))).indices
    array([1])
    """
    if not callable(function):
        raise InvalidInput(
            f"block_metric got {function!r:.40}, which is not callable. Pass a function f(A, B) "
            f"that returns an array of shape (len(A), len(B))."
        )
    return _own(function, _fill_by_blocks)


def _own(function: Callable[..., Any], fill: Callable[..., None]) -> Metric:
    name = getattr(function, "__name__", type(function).__name__)
    return Metric(
        name=name,
        prepare=prepare_any,
        fill=partial(fill, function=function, name=name),
        kinds=frozenset({"dense", "sparse", "objects"}),
        is_expensive=True,
        is_by_pairs=fill is _fill_by_pairs,
        is_own=True,
    )


_CANDIDATES_FOR_PRODUCTS = 4  # of a patch: with fewer, sums of differences are faster
_NEVER = np.iinfo(np.int64).max
_SQUARES = 1e-145, 1e145
_SUMS = 0.0, 1e250


# -- the table ------------------------------------------------------------------------------------


def _with_kernel(name: str, form: str = "plain", **properties: Any) -> Metric:
    defaults: dict[str, Any] = {
        "prepare": partial(prepare, form=form),
        "fill": partial(_fill, name=name),
        "kinds": frozenset({"dense", "sparse"} if name in sparse_distances.FILLS else {"dense"}),
        "is_of_sets": form in ("sets", "flags"),
    }
    return Metric(name=name, **(defaults | properties))


def _with_check(name: str, form: str = "plain", **properties: Any) -> Metric:
    return _with_kernel(name, form, fill=partial(_fill, name=name, is_checked=True), **properties)


def _squares(*, is_root: bool) -> dict[str, Any]:
    pairs = partial(_fill_squares_of_pairs, is_root=is_root)
    return {
        "prepare": _prepare_squares,
        "is_centred": True,
        "is_product": True,
        "sizes": _SQUARES,
        "fill_pairs": pairs,
        "fill_patches": partial(_fill_squares_of_patches, is_root=is_root),
    }


def _angles() -> dict[str, Any]:
    patches = partial(_fill_squares_of_patches, is_root=False, most=2.0)
    return {"bound": 2.0, "is_product": True, "fill_patches": patches}


def _of_texts(name: str, **properties: Any) -> Metric:
    return Metric(
        name=name,
        prepare=partial(prepare_texts, name=name),
        fill=partial(fill_edits, is_normalized="bound" in properties),
        kinds=frozenset({"objects"}),
        is_expensive=True,
        is_by_pairs=True,
        **properties,
    )


METRICS: dict[str, Metric] = {
    measure.name: measure
    for measure in (
        _with_kernel("euclidean", obeys_triangle=True, **_squares(is_root=True)),
        _with_kernel("sqeuclidean", **_squares(is_root=False)),
        _with_kernel("cosine", "directions", **_angles()),
        _with_kernel("correlation", "profiles", **_angles()),
        _with_kernel("manhattan", sizes=_SUMS, obeys_triangle=True),
        _with_kernel("chebyshev", sizes=_SUMS, obeys_triangle=True),
        _with_kernel("hamming", bound=1.0, obeys_triangle=True),
        _with_kernel("jaccard", "sets", bound=1.0, is_product=True, obeys_triangle=True),
        _with_kernel("canberra", sizes=_SUMS, obeys_triangle=True),
        _with_check("braycurtis", sizes=_SUMS),
        _with_check("dice", "flags", bound=1.0),
        _with_check("rogerstanimoto", "flags", bound=1.0, obeys_triangle=True),
        _with_check("russellrao", "flags", bound=1.0, obeys_triangle=True),
        _with_check("sokalsneath", "flags", bound=1.0, obeys_triangle=True),
        _with_check("yule", "flags", bound=2.0),
        _with_check("jensenshannon", sizes=_SUMS, obeys_triangle=True),
        # Not pi itself: float32 rounds it up.
        _with_kernel("haversine", "points", bound=float(np.float32(np.pi)), obeys_triangle=True),
        _of_texts("levenshtein", obeys_triangle=True),
        _of_texts("levenshtein-normalized", bound=1.0),
        Metric(name="precomputed", sizes=_SUMS, prepare=_prepare_matrix, fill=_fill_precomputed),
    )
}
ALIASES = {
    "l1": "manhattan",
    "l2": "euclidean",
    "cityblock": "manhattan",
    "chebychev": "chebyshev",
    "cos": "cosine",
    "matching": "hamming",
}
# For each metric that takes a parameter: its key, and the values allowed.
PARAMETERS: dict[str, dict[str, str]] = {
    "minkowski": {"p": "a number > 0; 2 by default"},
    "seuclidean": {"V": "one positive variance per column"},
    "mahalanobis": {"VI": "the inverse covariance, a symmetric matrix"},
}
_OPTION_EXAMPLES = {"p": "p=3", "V": "V='[1, 4]'", "VI": "VI='[[1, 0], [0, 4]]'"}
_SPECIAL_POWERS = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}


def _minkowski(p: Any) -> Metric:
    if not is_number(p) or not p > 0:
        raise InvalidInput(_value_message("minkowski", "p", p, "a number > 0"))
    power = float(p)
    if power in _SPECIAL_POWERS:
        return replace(METRICS[_SPECIAL_POWERS[power]], name="minkowski", parameters={"p": power})
    fill = partial(_fill, name="minkowski", p=power)
    return _with_kernel(
        "minkowski", fill=fill, parameters={"p": power}, sizes=_SUMS, obeys_triangle=power >= 1
    )


def _seuclidean(V: Any) -> Metric:
    variances = _numbers(V)
    if variances.ndim != 1 or not ((variances > 0) & (variances < np.inf)).all():
        raise InvalidInput(_value_message("seuclidean", "V", V, "one positive variance per column"))
    return _mapped_euclidean("seuclidean", {"V": variances}, 1 / np.sqrt(variances))


def _mahalanobis(VI: Any) -> Metric:
    inverse = _numbers(VI)
    root = dense_rows.square_root(inverse)
    if root is None:
        allowed = "a symmetric matrix, the inverse covariance, without negative eigenvalues"
        raise InvalidInput(_value_message("mahalanobis", "VI", VI, allowed))
    return _mapped_euclidean("mahalanobis", {"VI": inverse}, root)


def _numbers(value: Any) -> Doubles:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _mapped_euclidean(name: str, parameters: Mapping[str, Doubles], by: Doubles) -> Metric:
    return Metric(
        name=name,
        prepare=partial(_prepare_mapped, by=by),
        fill=METRICS["euclidean"].fill,
        fill_patches=METRICS["euclidean"].fill_patches,
        parameters=parameters,
        is_centred=True,
        is_product=True,
        sizes=_SQUARES,
        obeys_triangle=True,
    )


def _prepare_mapped(block: Floats, centre: Doubles | None, *, by: Doubles) -> Operand:
    if len(by) != block.shape[1]:
        raise InvalidInput(
            f"parameters of the metric are for {len(by)} column(s) but the rows have "
            f"{block.shape[1]}. Pass one parameter per column of the rows."
        )
    rows = block if centre is None else dense_rows.shifted(block, centre)
    return prepare(dense_rows.mapped(rows, by), None, form="with_norms")


_MAKERS: dict[str, tuple[str, Callable[[Any], Metric]]] = {
    "minkowski": ("p", _minkowski),
    "seuclidean": ("V", _seuclidean),
    "mahalanobis": ("VI", _mahalanobis),
}
METRICS["minkowski"] = _minkowski(2.0)


def metric(name: str, parameters: Mapping[str, Any] | None = None) -> Metric:
    """Return the metric with this name and these parameters.

    Parameters
    ----------
    name
        As in scikit-learn and SciPy. jaccard, dice, rogerstanimoto, russellrao, sokalsneath and
        yule compare which numbers are not 0, so rows without zeros are all identical to them.
    parameters
        ``{"p": number}`` for minkowski (2 by default), ``{"V": variances}`` for seuclidean,
        ``{"VI": matrix}`` for mahalanobis. Other metrics take none.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 0.0]])
    >>> pb.select(rows, k=1, metric=pb.metric("minkowski", {"p": 3})).indices
    array([1])
    """
    if not isinstance(name, str) or ALIASES.get(name, name) not in {*METRICS, *_MAKERS}:
        raise InvalidInput(_unknown_message(name))
    name = ALIASES.get(name, name)
    if not parameters and name in METRICS:
        return METRICS[name]
    key, make = _MAKERS.get(name, ("", None))
    if make is None or not isinstance(parameters, Mapping) or set(parameters) != {key}:
        raise InvalidInput(_parameters_message(name, parameters))
    return make(parameters[key])


def as_metric(measure: Any) -> Metric:
    """Return a user's ``metric`` argument as a `Metric`.

    A plain callable is called as f(target row, source row) -> number, once per pair.
    """
    if isinstance(measure, Metric):
        return measure
    if isinstance(measure, str):
        return metric(measure)
    if callable(measure):
        return _own(measure, _fill_by_pairs)
    raise InvalidInput(_unknown_message(measure))


def _unknown_message(name: Any) -> str:
    known = sorted({*METRICS, *_MAKERS, *ALIASES})
    return (
        f"metric={name!r:.40} is not known.{suggestion(name, known)} Use one of "
        f"{', '.join(each for each in known if each not in ALIASES)}, a callable f(row, row) -> "
        f"number, or block_metric(f)."
    )


def _parameters_message(name: str, given: Any) -> str:
    """Return the message for parameters that a metric does not take."""
    allowed = "It takes none. Leave them out."
    for key in PARAMETERS.get(name, ()):
        example = f"{{{key!r}: ...}}"
        allowed = (
            f"It takes {example}, as in metric=protobandit.metric({name!r}, {example}) "
            f"(--metric-param {_OPTION_EXAMPLES[key]})."
        )
    return f"parameters={given!r:.40} is not allowed for metric={name!r}. {allowed}"


def _value_message(name: str, key: str, value: Any, allowed: str) -> str:
    """Return the message for a parameter with an invalid value."""
    return (
        f"parameters={{{key!r}: {value!r:.40}}} is not allowed for metric={name!r}. {key} must be "
        f"{allowed}."
    )
