"""Run FasterPAM of the package kmedoids, in an environment of its own.

    python fasterpam.py ROWS.npz K SEEDS

Prints JSON: seconds and indices of each of that many seeds. The matrix is computed once, but every
seed's seconds include it.
"""

import importlib.metadata
import json
import sys
from time import perf_counter

import kmedoids
import numpy as np
from sklearn.metrics import pairwise_distances

rows = np.load(sys.argv[1])["rows"]
k, n_seeds = map(int, sys.argv[2:4])
kmedoids.fasterpam(pairwise_distances(rows[:100]), 2, random_state=0)  # start the threads
started = perf_counter()
matrix = pairwise_distances(rows)
matrix_done = perf_counter()
seconds, indices = [], []
for seed in range(n_seeds):
    swapping = perf_counter()
    result = kmedoids.fasterpam(matrix, k, random_state=seed)
    seconds.append(matrix_done - started + perf_counter() - swapping)
    indices.append(np.asarray(result.medoids).tolist())
report = {
    "version": importlib.metadata.version("kmedoids"),
    "seconds": seconds,
    "indices": indices,
}
print(json.dumps(report))
