"""Record the results of SPOTgreedy of interpret-core for a source and a weighted target.

Target row i has the weight ``1 + i % period``.

    python fixtures_interpret.py > ../../tests/fixtures/interpret.json

Run it in the environment of requirements/interpret.txt.
"""

import interpret
import numpy as np
from _instances import ROWS, make_rows, manhattan, print_report
from interpret.utils._SPOTgreedy import SPOT_GreedySubsetSelection

PAIRS = {"spread": "larger", "larger": "spread", "blobs": "blobs"}
COLUMNS = 2  # the fewest of all row sets


def record(source: str, target: str, k: int, period: int) -> dict[str, object]:
    sources = make_rows(ROWS[source])[:, :COLUMNS]
    targets = make_rows(ROWS[target])[:, :COLUMNS]
    weights = 1 + np.arange(len(targets)) % period
    matrix = manhattan(targets, sources)
    indices, mass = SPOT_GreedySubsetSelection(matrix.T, weights[None, :], k)
    chosen = [int(i) for i in indices]
    return {
        "source": ROWS[source],
        "target": ROWS[target],
        "columns": COLUMNS,
        "weights": {"period": period},
        "k": k,
        "metric": "manhattan",
        "method": "spotgreedy",
        "indices": chosen,
        "mass": [round(float(m), 12) for m in np.asarray(mass).ravel()],
        "total": float(matrix[:, chosen].min(axis=1) @ weights),
    }


cases = [
    record(source, target, k, period)
    for source, target in PAIRS.items()
    for k in (1, 5, 12)
    for period in (1, 4)
]
print_report(
    "interpret-core", interpret.__version__, "benchmarks/peers/fixtures_interpret.py", cases
)
