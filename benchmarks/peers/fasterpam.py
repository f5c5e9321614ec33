"""Run FasterPAM of the package kmedoids, in an environment of its own.

    python fasterpam.py ROWS.npz K SEED

Prints JSON: the seconds for the matrix and for the swaps, and the indices.
"""

import importlib.metadata
import json
import sys
from time import perf_counter

import kmedoids
import numpy as np
from sklearn.metrics import pairwise_distances

rows = np.load(sys.argv[1])["rows"]
k, seed = map(int, sys.argv[2:4])
kmedoids.fasterpam(pairwise_distances(rows[:100]), 2, random_state=0)  # start the threads
started = perf_counter()
matrix = pairwise_distances(rows)
matrix_done = perf_counter()
result = kmedoids.fasterpam(matrix, k, random_state=seed)
ended = perf_counter()
report = {
    "version": importlib.metadata.version("kmedoids"),
    "matrix": matrix_done - started,
    "seconds": ended - started,
    "indices": np.asarray(result.medoids).tolist(),
}
print(json.dumps(report))
