"""A selection as JSON, and back; no pickle."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.labels import as_labels
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.metrics.metrics import metric as named_metric
from protobandit.problem.guarantee import Guarantee
from protobandit.rows.preparation.fitted import FittedPreparation

FORMAT = "protobandit selection"
VERSION = 1
_SHOWN = 8  # numbers of each kind, in what a user reads


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
        "coefficients": _listed(selection.coefficients),
        "criticisms": _listed(selection.criticisms),
        "evaluations": selection.evaluations,
        "evaluations_by_phase": dict(selection.evaluations_by_phase),
        "lookups": selection.lookups,
        "guarantee": None if selection.guarantee is None else asdict(selection.guarantee),
        "certificate": _dump_certificate(selection.certificate),
        "status": selection.status,
        "steps": [{**asdict(step), "gain": _number(step.gain)} for step in selection.steps],
        "prototypes": _dump_rows(selection.prototypes),
        "preparation": None
        if selection.preparation is None
        else selection.preparation.to_document(),
        "columns": None if selection.columns is None else list(selection.columns),
        "fingerprints": dict(selection.fingerprints),
        "curve": _listed(selection.curve),
        "spent": selection.spent,
        "prototype_labels": (
            None if selection.prototype_labels is None else list(selection.prototype_labels)
        ),
    }
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"This selection cannot be written as JSON: {error}. Rows that are not numbers must be "
            f"strings, numbers, or lists of them."
        ) from None


def listings(selection: Any) -> list[str]:
    """Return what only some methods find, as lines a user reads."""
    lines = []
    if selection.coefficients is not None:
        shown = _shortened(f"{value:.3g}" for value in selection.coefficients)
        lines.append(f"  coefficients {shown}")
    if selection.criticisms is not None:
        lines.append(f"  criticisms   {_shortened(map(str, selection.criticisms))}")
    return lines


def counted(selection: Any) -> str:
    """Return the evaluations, those of the certificate apart, and the lookups."""
    certify = selection.evaluations_by_phase.get("certify", 0)
    more = f"+ {certify:,} for the certificate, " if certify else ""
    return f"{selection.evaluations - certify:,} ({more}{selection.lookups:,} lookups)"


def _shortened(words: Iterable[str]) -> str:
    few = list(words)
    return ", ".join(few[:_SHOWN]) + (", …" if len(few) > _SHOWN else "")


def fields(text: str, *, metric: Any = None) -> dict[str, Any]:
    """Return the fields of the `Selection` written in ``text``; steps as dictionaries."""
    document = _parse(text)
    try:
        loaded = {
            "indices": np.asarray(document["indices"], dtype=np.int64),
            "costs": np.asarray(document["costs"], dtype=np.float64),
            "mass": np.asarray(document["mass"], dtype=np.float64),
            "coefficients": _unlisted(document.get("coefficients"), np.float64),
            "criticisms": _unlisted(document.get("criticisms"), np.int64),
            "cost_error": _nan(document["cost_error"]),
            "evaluations_by_phase": {
                k: int(v) for k, v in document["evaluations_by_phase"].items()
            },
            "lookups": int(document["lookups"]),
            "guarantee": _load_guarantee(document["guarantee"]),
            "certificate": _load_certificate(document.get("certificate")),
            "status": str(document["status"]),
            "steps": [_load_step(step) for step in document["steps"]],
            "method": str(document["method"]),
            "parameters": dict(document["parameters"]),
            "metric": _load_metric(document["metric"], metric),
            "prototypes": _load_rows(document["prototypes"]),
            "preparation": _load_preparation(document.get("preparation")),
            "columns": _load_columns(document.get("columns")),
            "fingerprints": dict(document["fingerprints"]),
            "curve": _unlisted(document.get("curve"), np.float64),
            "spent": document.get("spent"),
            "prototype_labels": _load_labels(document.get("prototype_labels")),
        }
        _require_one_length(loaded)
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInput(
            f"text is not a whole protobandit selection ({type(error).__name__}: {error}). "
            f"Pass what Selection.to_json() returned."
        ) from None
    return loaded


def _load_columns(names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns are not a list of names but {names!r}")
    return tuple(names)


def _require_one_length(loaded: dict[str, Any]) -> None:
    k = len(loaded["steps"])
    names = ["indices", "costs", "mass"]
    names += [] if loaded["coefficients"] is None else ["coefficients"]
    shapes = {name: loaded[name].shape for name in names}
    prototypes = loaded["prototypes"]
    n_rows = len(prototypes) if isinstance(prototypes, list) else prototypes.shape[0]
    if k == 0 or set(shapes.values()) != {(k,)} or n_rows != k:
        raise ValueError(f"{k} steps and {n_rows} prototypes, but shapes {shapes}")


def _load_preparation(stored: dict[str, Any] | None) -> FittedPreparation | None:
    return None if stored is None else FittedPreparation.from_document(stored)


def _load_labels(stored: list[Any] | None) -> Any:
    return None if stored is None else as_labels(stored)


def _load_step(stored: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": int(stored["index"]),
        "gain": _nan(stored["gain"]),
        "evaluations": int(stored["evaluations"]),
        "seconds": float(stored["seconds"]),
    }


def _load_guarantee(stored: dict[str, Any] | None) -> Guarantee | None:
    if stored is None:
        return None
    return Guarantee(**{**stored, "conditions": tuple(stored["conditions"])})


def _dump_certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    ratio = certificate.cost_ratio
    return {**asdict(certificate), "cost_ratio": ratio if np.isfinite(ratio) else None}


def _load_certificate(stored: dict[str, Any] | None) -> Certificate | None:
    if stored is None:
        return None
    ratio = float("inf") if stored["cost_ratio"] is None else stored["cost_ratio"]
    return Certificate(**{**stored, "cost_ratio": ratio, "conditions": tuple(stored["conditions"])})


def _parse(text: str) -> dict[str, Any]:
    if not isinstance(text, (str, bytes)):
        raise InvalidInput(
            f"text is a {type(text).__name__}. Pass the JSON text that to_json() returned."
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
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
    return {"name": metric.name, "parameters": parameters, "is_callable": metric.is_own}


def _load_metric(stored: dict[str, Any], passed: Any) -> Metric | str:
    name, is_callable = str(stored["name"]), stored["is_callable"]
    if passed is None:
        return name if is_callable else named_metric(name, stored["parameters"])
    measure = as_metric(passed)
    if not is_callable and _dump_metric(measure) != stored:
        raise InvalidInput(
            f"metric={passed!r:.60} is not the {name!r} the selection was made with, parameters "
            f"included. Leave metric out."
        )
    return measure


def _dump_rows(rows: Any) -> dict[str, Any]:
    if isinstance(rows, np.ndarray):
        return {
            "kind": "array",
            "dtype": str(rows.dtype),
            "shape": list(rows.shape),
            "values": rows.ravel().tolist(),
        }
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


def _listed(values: Any) -> list[Any] | None:
    return None if values is None else values.tolist()


def _unlisted(stored: list[Any] | None, dtype: Any) -> Any:
    return None if stored is None else np.asarray(stored, dtype=dtype)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if callable(value):  # a kernel of the user's own: its name must do
        return getattr(value, "__name__", type(value).__name__)
    raise TypeError(f"a value of type {type(value).__name__}")
