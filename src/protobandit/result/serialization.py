"""Write a selection as JSON and read it back, without pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.labels import as_labels
from protobandit.foundation.records import require_types
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.metrics.metrics import metric as named_metric
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.reference import Reference
from protobandit.result.record import SelectionRecord
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.transformer import FittedTransformer
from protobandit.rows.sparse_format import checked_csr
from protobandit.run.outcome import Step

FORMAT = "protobandit selection"
VERSION = 1
_REFERENCE_DIGITS = 6  # of distances that are only compared with others


Loaded = TypeVar("Loaded", bound=SelectionRecord)


def dump(selection: Any) -> str:
    """Return a `Selection` as JSON text."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "method": selection.method,
        "parameters": dict(selection.parameters),
        "metric": _dump_metric(selection.metric),
        "indices": selection.indices,
        "costs": selection.costs,
        "gains": [None, *selection.gains[1:].tolist()],
        "cost": selection.cost,
        "cost_error": _null_for_nan(selection.cost_error),
        "mass": selection.mass,
        "coefficients": selection.coefficients,
        "criticisms": selection.criticisms,
        "evaluations": selection.evaluations,
        "evaluations_by_phase": dict(selection.evaluations_by_phase),
        "lookups": selection.lookups,
        "pulls": selection.pulls,
        "rows_read": selection.rows_read,
        "guarantee": selection.guarantee,
        "certificate": _optional(_dump_certificate, selection.certificate),
        "status": selection.status,
        "warnings": [_dump_warning(warning) for warning in selection.warnings],
        "steps": [_dump_step(step) for step in selection.steps],
        "prototypes": _dump_rows(selection.prototypes),
        "preparation": _optional(lambda each: each.to_document(), selection.preparation),
        "columns": selection.columns,
        "columns_left_out": dict(selection.columns_left_out),
        "fingerprints": dict(selection.fingerprints),
        "curve": selection.curve,
        "spent": selection.spent,
        "prototype_labels": selection.prototype_labels,
        "reference": _optional(_dump_reference, selection.reference),
        "fixed": selection.fixed,
        "other_constraints": selection.other_constraints,
    }
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"This selection cannot be written as JSON: {error}. Rows must consist of numbers, "
            f"strings, or lists of them."
        ) from None


def load(
    text: str, kind: Callable[..., Loaded], *, metric: Any = None, preparation: Any = None
) -> Loaded:
    """Return the `Selection` that ``text`` contains, without its problem.

    ``kind`` is `Selection`, which imports this module. A selection made with a callable needs its
    ``metric``, and one made with a transformer its ``preparation``.
    """
    document = _parse(text)
    try:
        saved = kind(
            indices=_ids(document["indices"]),
            costs=_doubles(document["costs"]),
            mass=_doubles(document["mass"]),
            coefficients=_optional(_doubles, document.get("coefficients")),
            criticisms=_optional(_ids, document.get("criticisms")),
            cost_error=_nan_for_null(document["cost_error"]),
            evaluations_by_phase={k: int(v) for k, v in document["evaluations_by_phase"].items()},
            lookups=int(document["lookups"]),
            pulls=int(document.get("pulls", 0)),
            rows_read=_optional(int, document.get("rows_read")),
            guarantee=_optional(_load_guarantee, document["guarantee"]),
            certificate=_optional(_load_certificate, document.get("certificate")),
            status=str(document["status"]),
            warnings=tuple(_load_warning(each) for each in document.get("warnings", ())),
            steps=tuple(_load_step(step) for step in document["steps"]),
            method=str(document["method"]),
            parameters=dict(document["parameters"]),
            metric=_load_metric(document["metric"], metric),
            prototypes=_load_rows(document["prototypes"]),
            preparation=_load_preparation(document.get("preparation"), preparation),
            columns=_optional(_load_names, document.get("columns")),
            columns_left_out=_load_reasons(document.get("columns_left_out", {})),
            fingerprints=_load_fingerprints(document["fingerprints"]),
            curve=_optional(_doubles, document.get("curve")),
            spent=document.get("spent"),
            prototype_labels=_optional(as_labels, document.get("prototype_labels")),
            reference=_optional(_load_reference, document.get("reference")),
            fixed=tuple(_ids(document.get("fixed", [])).tolist()),
            other_constraints=_load_names(document.get("other_constraints", [])),
        )
        _require_one_length(saved, len(document["steps"]))
        for record in (saved, saved.guarantee, saved.certificate):
            if record is not None:
                require_types(record)
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInput(
            f"text is not a whole protobandit selection ({type(error).__name__}: {error}). "
            f"Pass the text that Selection.to_json() returned."
        ) from None
    return saved


def _load_fingerprints(stored: Any) -> dict[str, str]:
    found = dict(stored)
    if not set(found) <= {"source", "target"} or not all(
        isinstance(digest, str) for digest in found.values()
    ):
        raise ValueError(f"fingerprints are {stored!r:.40}")
    return found


def _load_names(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns and constraints must be lists of names, got {names!r}")
    return tuple(names)


def _load_reasons(stored: Any) -> dict[str, str]:
    if not isinstance(stored, dict) or not all(isinstance(each, str) for each in stored.values()):
        raise ValueError(f"columns_left_out must map names to reasons, got {stored!r:.40}")
    return stored


def _require_one_length(saved: SelectionRecord, k: int) -> None:
    names = ("indices", "costs", "mass", "coefficients")
    arrays = {name: getattr(saved, name) for name in names}
    shapes = {name: array.shape for name, array in arrays.items() if array is not None}
    prototypes = saved.prototypes
    n_rows = len(prototypes) if isinstance(prototypes, list) else prototypes.shape[0]
    if k == 0 or set(shapes.values()) != {(k,)} or n_rows != k:
        raise ValueError(f"{k} steps and {n_rows} prototypes, but shapes {shapes}")


def _dump_step(step: Step) -> dict[str, Any]:
    """Return a step; `asdict` would take 10 times as long, which matters for many prototypes."""
    return {
        "index": step.index,
        "gain": _null_for_nan(step.gain),
        "evaluations": step.evaluations,
        "seconds": step.seconds,
    }


def _load_step(stored: dict[str, Any]) -> Step:
    return Step(
        index=int(stored["index"]),
        gain=_nan_for_null(stored["gain"]),
        evaluations=int(stored["evaluations"]),
        seconds=float(stored["seconds"]),
    )


def _dump_warning(warning: RunWarning) -> dict[str, str]:
    return {"kind": warning.kind.value, "message": warning.message}


def _load_warning(stored: dict[str, Any]) -> RunWarning:
    return RunWarning(WarningKind(stored["kind"]), str(stored["message"]))


def _load_guarantee(stored: dict[str, Any]) -> Guarantee:
    return Guarantee(**{**stored, "conditions": tuple(stored["conditions"])})


def _dump_certificate(certificate: Certificate) -> dict[str, Any]:
    ratio = certificate.cost_ratio
    return {**asdict(certificate), "cost_ratio": ratio if np.isfinite(ratio) else None}


def _load_certificate(stored: dict[str, Any]) -> Certificate:
    ratio = float("inf") if stored["cost_ratio"] is None else stored["cost_ratio"]
    return Certificate(**{**stored, "cost_ratio": ratio, "conditions": tuple(stored["conditions"])})


def _dump_reference(reference: Reference) -> dict[str, Any]:
    shown = [float(f"{each:.{_REFERENCE_DIGITS}g}") for each in reference.distances]
    return {"distances": shown, "evaluations": reference.evaluations}


def _load_reference(stored: dict[str, Any]) -> Reference:
    distances = _doubles(stored["distances"])
    if distances.ndim != 1 or not len(distances) or not np.isfinite(distances).all():
        raise ValueError("the distances of the reference are not a list of finite numbers")
    return Reference(distances=np.sort(distances), evaluations=int(stored["evaluations"]))


def _parse(text: str) -> dict[str, Any]:
    if not isinstance(text, (str, bytes)):
        raise InvalidInput(
            f"text is a {type(text).__name__}. Pass the text that Selection.to_json() returned."
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"text is not JSON ({error}); it may be cut short. Pass the text that "
            f"Selection.to_json() returned."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(
            "text is JSON but not a protobandit selection. Pass the text that Selection.to_json() "
            "returned."
        )
    if document.get("version") != VERSION:
        raise InvalidInput(
            f"text has version {document.get('version')!r}; this release reads {VERSION}. "
            f"Write it again with this release."
        )
    return document


def _dump_metric(metric: Metric | str) -> dict[str, Any]:
    if isinstance(metric, str):
        return {"name": metric, "parameters": {}, "is_callable": True}
    parameters = {k: np.asarray(v).tolist() for k, v in metric.parameters.items()}
    return {"name": metric.name, "parameters": parameters, "is_callable": metric.is_own}


def _load_metric(stored: dict[str, Any], passed: Any) -> Metric | str:
    name, is_callable = str(stored["name"]), stored["is_callable"]
    if passed is None:
        return name if is_callable else named_metric(name, stored["parameters"])
    measure = as_metric(passed)
    if not is_callable and _dump_metric(measure) != stored:
        raise InvalidInput(
            f"metric={passed!r:.60} is not the {name!r} the selection was made with, or has "
            f"other parameters. Omit metric."
        )
    return measure


def _load_preparation(stored: Any, passed: Any) -> FittedPreparation | FittedTransformer | None:
    if isinstance(stored, dict) and "transformer" in stored:
        loaded = FittedTransformer.from_document(stored)
        return loaded if passed is None else loaded.with_transformer(passed)
    if passed is not None:
        raise InvalidInput(
            f"preparation={passed!r:.60} is given, but the selection was not made with a "
            f"transformer. Omit preparation."
        )
    return _optional(FittedPreparation.from_document, stored)  # type: ignore[no-any-return]


def _dump_rows(rows: Any) -> dict[str, Any]:
    if isinstance(rows, list):
        return {"kind": "list", "values": rows}
    is_dense = isinstance(rows, np.ndarray)
    return {
        "kind": "array" if is_dense else "csr",
        "dtype": str(rows.dtype),
        "shape": list(rows.shape),
        "values": rows.ravel() if is_dense else rows.data,
    } | ({} if is_dense else {"columns": rows.indices, "starts": rows.indptr})


def _load_rows(stored: dict[str, Any]) -> Any:
    kind = stored["kind"]
    if kind == "list":
        if not isinstance(stored["values"], list):
            raise ValueError(f"prototypes must be a list, got {stored['values']!r:.40}")
        return stored["values"]
    shape, dtype = tuple(map(int, _ids(stored["shape"]))), np.dtype(stored["dtype"])
    n_dimensions = {"array": (1, 2), "csr": (2,)}.get(kind, ())
    if len(shape) not in n_dimensions or dtype.kind not in "fiub":
        raise ValueError(f"prototypes of kind {kind!r:.20}, shape {shape} and type {dtype}")
    values = np.asarray(stored["values"], dtype=dtype)
    if not np.isfinite(values).all():
        raise ValueError("prototypes that are not finite numbers")
    if kind == "array":
        return values.reshape(shape)
    from scipy.sparse import csr_array

    parts: Any = values, _ids(stored["columns"]), _ids(stored["starts"])
    return checked_csr(csr_array(parts, shape=(shape[0], shape[1])), name="prototypes")


def _optional(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _ids(stored: list[int]) -> Ids:
    """Return integers >= 0; NumPy would also accept other numbers and texts."""
    ids = np.asarray(stored)
    if ids.ndim != 1 or (ids.size and (ids.dtype.kind != "i" or ids.min() < 0)):
        raise ValueError(f"{stored!s:.40} is not a list of integers >= 0")
    return ids.astype(np.int64)


def _doubles(stored: list[float]) -> Doubles:
    return np.asarray(stored, dtype=np.float64)


def _null_for_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _nan_for_null(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if callable(value):  # a user's kernel function: JSON contains only its name
        return getattr(value, "__name__", type(value).__name__)
    raise TypeError(f"a value of type {type(value).__name__}")
