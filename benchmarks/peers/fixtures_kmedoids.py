"""Record the results of PAM, FastPAM1, FasterPAM and the alternating algorithm of kmedoids.

    python fixtures_kmedoids.py > ../../tests/fixtures/kmedoids.json

Run it in the environment of requirements/kmedoids.txt.
"""

import importlib.metadata

import kmedoids
import numpy as np
from _instances import ROWS, SIZES, make_rows, manhattan, print_report

METHODS = {
    "pam": kmedoids.pam,
    "fastpam1": kmedoids.fastpam1,
    "fasterpam": kmedoids.fasterpam,
    "alternate": kmedoids.alternating,
}


def record(name: str, k: int, method: str, init: object) -> dict[str, object]:
    matrix = manhattan(make_rows(ROWS[name]), make_rows(ROWS[name]))
    if init == "build":
        result = METHODS[method](matrix, k, init="build")
    else:
        result = METHODS[method](matrix, np.array(init, dtype=np.uint64))
    return {
        "rows": ROWS[name],
        "k": k,
        "metric": "manhattan",
        "method": method,
        "init": init,
        "indices": sorted(int(i) for i in result.medoids),
        "total": float(result.loss),
    }


cases = [
    record(name, k, method, init)
    for name in ROWS
    for k in SIZES[name]
    for method in METHODS
    for init in ("build", list(range(k)))
]
print_report(
    "kmedoids",
    importlib.metadata.version("kmedoids"),
    "benchmarks/peers/fixtures_kmedoids.py",
    cases,
)
