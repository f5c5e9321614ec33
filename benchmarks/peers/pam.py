"""Run PAM, FastPAM1 or FasterPAM of the package kmedoids, in an environment of its own.

    python pam.py ROWS.npz K METHOD

Prints JSON: seconds of the matrix and of the swaps from a greedy build on, passes, and indices of
the build and of the result.
"""

import importlib.metadata
import json
import sys
from time import perf_counter

import kmedoids
import numpy as np
from sklearn.metrics import pairwise_distances

rows, k, method = np.load(sys.argv[1])["rows"], int(sys.argv[2]), sys.argv[3]
kmedoids.fasterpam(pairwise_distances(rows[:100]), 2, random_state=0)  # start the threads
started = perf_counter()
matrix = pairwise_distances(rows)
matrix_done = perf_counter()
start = np.asarray(kmedoids.pam_build(matrix, k).medoids)
built = perf_counter()
result = getattr(kmedoids, method)(matrix, start.copy(), max_iter=1000)
done = perf_counter()
report = {
    "version": importlib.metadata.version("kmedoids"),
    "matrix": matrix_done - started,
    "swaps": done - built,
    "n_iter": int(result.n_iter),
    "start": start.tolist(),
    "indices": np.asarray(result.medoids).tolist(),
}
print(json.dumps(report))
