"""Write a selection as JSON and read it back, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.labels import as_labels
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.metrics.metrics import metric as named_metric
from protobandit.problem.guarantee import Guarantee
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.run.outcome import Step

FORMAT = "protobandit selection"
VERSION = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedSelection:
    """The fields of a `Selection` that JSON contains: all but the problem."""

    indices: Ids
    costs: Doubles
    mass: Doubles
    coefficients: Doubles | None
    criticisms: Ids | None
    cost_error: float
    evaluations_by_phase: Mapping[str, int]
    lookups: int
    guarantee: Guarantee | None
    certificate: Certificate | None
    status: str
    steps: tuple[Step, ...]
    method: str
    parameters: Mapping[str, Any]
    metric: Metric | str
    prototypes: Any
    preparation: FittedPreparation | None
    columns: tuple[str, ...] | None
    fingerprints: Mapping[str, str]
    curve: Doubles | None
    spent: float | None
    prototype_labels: Any


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
        "cost_error": _null_for_nan(selection.cost_error),
        "mass": selection.mass.tolist(),
        "coefficients": _list_or_none(selection.coefficients),
        "criticisms": _list_or_none(selection.criticisms),
        "evaluations": selection.evaluations,
        "evaluations_by_phase": dict(selection.evaluations_by_phase),
        "lookups": selection.lookups,
        "guarantee": None if selection.guarantee is None else asdict(selection.guarantee),
        "certificate": _dump_certificate(selection.certificate),
        "status": selection.status,
        "steps": [{**asdict(step), "gain": _null_for_nan(step.gain)} for step in selection.steps],
        "prototypes": _dump_rows(selection.prototypes),
        "preparation": None
        if selection.preparation is None
        else selection.preparation.to_document(),
        "columns": None if selection.columns is None else list(selection.columns),
        "fingerprints": dict(selection.fingerprints),
        "curve": _list_or_none(selection.curve),
        "spent": selection.spent,
        "prototype_labels": (
            None if selection.prototype_labels is None else list(selection.prototype_labels)
        ),
    }
    try:
        return json.dumps(document, allow_nan=False, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"This selection cannot be written as JSON: {error}. Rows must consist of numbers, "
            f"strings, or lists of them."
        ) from None


def load(text: str, *, metric: Any = None) -> SavedSelection:
    """Return the fields of the `Selection` that ``text`` contains.

    Parameters
    ----------
    text
        What `dump` returned.
    metric
        The metric, if the selection was made with a callable.
    """
    document = _parse(text)
    try:
        saved = SavedSelection(
            indices=np.asarray(document["indices"], dtype=np.int64),
            costs=np.asarray(document["costs"], dtype=np.float64),
            mass=np.asarray(document["mass"], dtype=np.float64),
            coefficients=_array_or_none(document.get("coefficients"), np.float64),
            criticisms=_array_or_none(document.get("criticisms"), np.int64),
            cost_error=_nan_for_null(document["cost_error"]),
            evaluations_by_phase={k: int(v) for k, v in document["evaluations_by_phase"].items()},
            lookups=int(document["lookups"]),
            guarantee=_load_guarantee(document["guarantee"]),
            certificate=_load_certificate(document.get("certificate")),
            status=str(document["status"]),
            steps=tuple(_load_step(step) for step in document["steps"]),
            method=str(document["method"]),
            parameters=dict(document["parameters"]),
            metric=_load_metric(document["metric"], metric),
            prototypes=_load_rows(document["prototypes"]),
            preparation=_load_preparation(document.get("preparation")),
            columns=_load_columns(document.get("columns")),
            fingerprints=dict(document["fingerprints"]),
            curve=_array_or_none(document.get("curve"), np.float64),
            spent=document.get("spent"),
            prototype_labels=_load_labels(document.get("prototype_labels")),
        )
        _require_one_length(saved)
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInput(
            f"text is not a whole protobandit selection ({type(error).__name__}: {error}). "
            f"Pass the text that Selection.to_json() returned."
        ) from None
    return saved


def _load_columns(names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be a list of names, got {names!r}")
    return tuple(names)


def _require_one_length(saved: SavedSelection) -> None:
    k = len(saved.steps)
    shapes = {
        "indices": saved.indices.shape,
        "costs": saved.costs.shape,
        "mass": saved.mass.shape,
    }
    if saved.coefficients is not None:
        shapes["coefficients"] = saved.coefficients.shape
    prototypes = saved.prototypes
    n_rows = len(prototypes) if isinstance(prototypes, list) else prototypes.shape[0]
    if k == 0 or set(shapes.values()) != {(k,)} or n_rows != k:
        raise ValueError(f"{k} steps and {n_rows} prototypes, but shapes {shapes}")


def _load_preparation(stored: dict[str, Any] | None) -> FittedPreparation | None:
    return None if stored is None else FittedPreparation.from_document(stored)


def _load_labels(stored: list[Any] | None) -> Any:
    return None if stored is None else as_labels(stored)


def _load_step(stored: dict[str, Any]) -> Step:
    return Step(
        index=int(stored["index"]),
        gain=_nan_for_null(stored["gain"]),
        evaluations=int(stored["evaluations"]),
        seconds=float(stored["seconds"]),
    )


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


def _list_or_none(values: Any) -> list[Any] | None:
    return None if values is None else values.tolist()


def _array_or_none(stored: list[Any] | None, dtype: Any) -> Any:
    return None if stored is None else np.asarray(stored, dtype=dtype)


def _null_for_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _nan_for_null(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if callable(value):  # a user's kernel function: JSON contains only its name
        return getattr(value, "__name__", type(value).__name__)
    raise TypeError(f"a value of type {type(value).__name__}")
