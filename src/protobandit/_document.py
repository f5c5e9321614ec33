"""A selection as JSON, and back; no pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._guarantee import Guarantee
from protobandit._metrics import METRICS, Metric, as_metric
from protobandit._metrics import metric as named_metric

FORMAT = "protobandit selection"
VERSION = 1
_AS_THEY_ARE = (
    "evaluations_by_phase", "lookups", "status", "method", "parameters", "fingerprints"
)


def dump(selection: Any) -> str:
    """Return a `Selection` as JSON text."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "method": selection.method,
        "parameters": dict(selection.parameters),
        "metric": _dump_metric(selection.metric),
        "indices": selection.indices.tolist(),
        "costs": selection.costs.tolist(),
        "gains": [None, *selection.gains[1:].tolist()],
        "cost": selection.cost,
        "cost_error": _number(selection.cost_error),
        "mass": selection.mass.tolist(),
        "evaluations": selection.evaluations,
        "evaluations_by_phase": dict(selection.evaluations_by_phase),
        "lookups": selection.lookups,
        "guarantee": None if selection.guarantee is None else asdict(selection.guarantee),
        "status": selection.status,
        "steps": [{**asdict(step), "gain": _number(step.gain)} for step in selection.steps],
        "prototypes": _dump_rows(selection.prototypes),
        "fingerprints": dict(selection.fingerprints),
    }
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"This selection cannot be written as JSON: {error}. Rows that are not numbers must be "
            f"strings, numbers, or lists of them."
        ) from None


def fields(text: str, *, metric: Any = None) -> dict[str, Any]:
    """Return the fields of the `Selection` written in ``text``; steps as dictionaries."""
    document = _parse(text)
    try:
        return {
            "indices": np.asarray(document["indices"], dtype=np.int64),
            "costs": np.asarray(document["costs"], dtype=np.float64),
            "mass": np.asarray(document["mass"], dtype=np.float64),
            "cost_error": _nan(document["cost_error"]),
            "guarantee": _load_guarantee(document["guarantee"]),
            "steps": [{**step, "gain": _nan(step["gain"])} for step in document["steps"]],
            "metric": _load_metric(document["metric"], metric),
            "prototypes": _load_rows(document["prototypes"]),
            **{name: document[name] for name in _AS_THEY_ARE},
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"text is not a whole protobandit selection ({type(error).__name__}: {error}). "
            f"Pass what Selection.to_json() returned."
        ) from None


def _load_guarantee(stored: dict[str, Any] | None) -> Guarantee | None:
    if stored is None:
        return None
    return Guarantee(**{**stored, "conditions": tuple(stored["conditions"])})


def _parse(text: str) -> dict[str, Any]:
    if not isinstance(text, (str, bytes)):
        raise InvalidInput(
            f"text is a {type(text).__name__}. Pass the JSON text that Selection.to_json() returned."
        )
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f"text is not JSON ({error}); it may be cut short. Pass what to_json() returned."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput("text is JSON but not a protobandit selection.")
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
    return {"name": metric.name, "parameters": parameters, "is_callable": metric.is_expensive}


def _load_metric(stored: dict[str, Any], passed: Any) -> Metric | str:
    if stored["is_callable"]:
        return str(stored["name"]) if passed is None else as_metric(passed)
    if passed is not None and as_metric(passed).name != stored["name"]:
        raise InvalidInput(
            f"metric={passed!r} is not the {stored['name']!r} the selection was made with. "
            f"Leave metric out."
        )
    if stored["name"] in METRICS and not stored["parameters"]:
        return METRICS[stored["name"]]
    return named_metric(stored["name"], stored["parameters"])


def _dump_rows(rows: Any) -> dict[str, Any]:
    if isinstance(rows, np.ndarray):
        return {"kind": "array", "dtype": str(rows.dtype), "shape": list(rows.shape), "values": rows.ravel().tolist()}
    if hasattr(rows, "tocsr"):
        return {
            "kind": "csr",
            "dtype": str(rows.dtype),
            "shape": list(rows.shape),
            "values": rows.data.tolist(),
            "columns": rows.indices.tolist(),
            "starts": rows.indptr.tolist(),
        }
    return {"kind": "list", "values": list(rows)}


def _load_rows(stored: dict[str, Any]) -> Any:
    if stored["kind"] == "list":
        return stored["values"]
    values = np.asarray(stored["values"], dtype=stored["dtype"])
    if stored["kind"] == "array":
        return values.reshape(stored["shape"])
    from scipy.sparse import csr_array

    return csr_array((values, stored["columns"], stored["starts"]), shape=tuple(stored["shape"]))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)
