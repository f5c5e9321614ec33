"""Record the results of KMedoids of scikit-learn-extra.

    python fixtures_sklearn_extra.py > ../../tests/fixtures/sklearn_extra.json

Run it in the environment of requirements/sklearn-extra.txt with Python 3.11 or older, for which
wheels exist; ``-W ignore`` hides the warnings of its old dependencies.
"""

import importlib.metadata

from _instances import ROWS, SIZES, make_rows, manhattan, print_report
from sklearn_extra.cluster import KMedoids


def record(name: str, k: int, method: str, init: str) -> dict[str, object]:
    rows = make_rows(ROWS[name])
    model = KMedoids(k, metric="manhattan", method=method, init=init).fit(rows)
    medoids = sorted(int(i) for i in model.medoid_indices_)
    total = manhattan(rows, rows[medoids]).min(axis=1).sum()
    assert total == model.inertia_
    return {
        "rows": ROWS[name],
        "k": k,
        "metric": "manhattan",
        "method": method,
        "init": init,
        "indices": medoids,
        "total": float(total),
    }


cases = [
    record(name, k, method, init)
    for name in ROWS
    for k in SIZES[name]
    for method in ("alternate", "pam")
    for init in ("build", "heuristic")
]
print_report(
    "scikit-learn-extra",
    importlib.metadata.version("scikit-learn-extra"),
    "benchmarks/peers/fixtures_sklearn_extra.py",
    cases,
)
