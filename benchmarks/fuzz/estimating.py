"""Cases of the estimators `KMedoids` and `PrototypeSelector`."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import protobandit as pb
from benchmarks.fuzz.attempts import Report
from benchmarks.fuzz.distances import distances
from benchmarks.fuzz.judge import Truth, judged_assignment
from benchmarks.fuzz.rows import Random, table
from benchmarks.fuzz.selecting import method, precision

_OWN_WARNINGS = (UserWarning, ConvergenceWarning)  # KMedoids issues them on purpose
_METRICS = ("euclidean", "manhattan", "chebyshev", "sqeuclidean")


def estimator(random: Random, report: Report) -> None:
    """Fit an estimator to rows in any container, and predict."""
    metric = str(random.choice(_METRICS))
    n = int(random.choice([1, 2, random.integers(3, 12), 40]))
    rows = table(random, metric, n, 3, share_odd=float(random.choice([0, 0.3])))
    k = int(random.integers(1, n + 1))
    chosen = method(random)
    options = {"metric": metric, "method": chosen, "random_state": 0, "n_jobs": 1}
    model: Any = pb.KMedoids(k, **options)
    if random.random() < 0.5:
        model = pb.PrototypeSelector(k, **options)
    weights = None
    if random.random() < 0.4:
        weights = random.random(n) * (random.random(n) < 0.7)
        weights[: max(k, 1)] = 1.0
    report.describe(model=type(model).__name__, k=k, rows=f"{rows.style} {rows.container}")
    report.describe(metric=metric, method=chosen, weights=weights is not None)
    target = None
    if weights is None and isinstance(model, pb.PrototypeSelector) and random.random() < 0.5:
        target = random.normal(size=(n + 3, 3))
    fitted = {"sample_weight": weights} if target is None else {"target": target}

    def made(call: Any) -> Any:
        return report.made(call, errors_of="sklearn", expected=_OWN_WARNINGS)

    if made(lambda: model.fit(rows.given, **fitted)) is None or rows.numbers is None:
        return
    selection = model.selection_
    shares = np.ones(n) if weights is None else weights
    d = distances(metric, rows.numbers, rows.numbers)
    truth = Truth(d, shares, k, precision=precision(selection))
    d = truth.d[:, selection.indices]
    report.complaints += judged_assignment(model.labels_, None, d, truth)
    if selection.cost_error == 0:
        represented = d
        if target is not None:
            represented = distances(metric, target, rows.numbers[selection.indices])
            shares = np.ones(len(target))
        inertia = float(shares @ represented.min(axis=1))
        allowed = float(truth.slack(inertia + represented.max())) * max(1.0, float(shares.sum()))
        if not math.isclose(model.inertia_, inertia, abs_tol=allowed):
            report.complaints.append(f"inertia {model.inertia_} where {inertia} is true")
    labels = made(lambda: model.predict(rows.given))
    if labels is not None and not np.array_equal(labels, model.labels_):
        report.complaints.append("predict and labels_ differ")
    moved = made(lambda: model.transform(rows.given))
    if moved is not None and (abs(moved - d) > 2 * truth.slack(d)).any():
        report.complaints.append("transform gives wrong distances")
    copy = made(lambda: pickle.loads(pickle.dumps(model)).predict(rows.given))
    if copy is not None and not np.array_equal(copy, model.labels_):
        report.complaints.append("a pickled estimator predicts other labels")
