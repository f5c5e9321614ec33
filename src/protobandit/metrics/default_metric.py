"""The metric that is used if the user names none."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.metrics.metrics import Metric, as_metric
from protobandit.rows.files.opened import Opened


def chosen_metric(given: Any, rows: Any, preparation: Any) -> Metric:
    """Return the metric that the user passed, or the one for these opened rows if it is None.

    Texts are compared by the Levenshtein distance, rows prepared for Gower's distance by the
    Manhattan distance, all others by the Euclidean distance.
    """
    if given is not None:
        return as_metric(given)
    if getattr(preparation, "is_gower", False):
        return as_metric("manhattan")
    return as_metric("levenshtein" if _are_texts(rows) else "euclidean")


def takes_objects(given: Any) -> bool:
    """Return whether the metric that the user passed compares rows that are not numbers."""
    return given is not None and "objects" in as_metric(given).kinds


def _are_texts(rows: Any) -> bool:
    if isinstance(rows, Opened):
        return rows.kind == "texts"
    if isinstance(rows, np.ndarray) and (rows.ndim != 1 or rows.dtype.kind not in "UOT"):
        return False
    is_sequence = isinstance(rows, (list, tuple, np.ndarray)) and len(rows) > 0
    return is_sequence and all(isinstance(row, str) for row in rows)
