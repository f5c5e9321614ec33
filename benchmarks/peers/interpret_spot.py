"""Run interpret-core's SPOTgreedy, in the environment of requirements/interpret.txt.

    python interpret_spot.py ROWS.npz K

Prints JSON: the seconds for the matrix and for the picks, and the indices.
"""

import json
import sys
from time import perf_counter

import interpret
import numpy as np
from interpret.utils._SPOTgreedy import SPOT_GreedySubsetSelection
from sklearn.metrics import pairwise_distances

rows = np.load(sys.argv[1])
k = int(sys.argv[2])
started = perf_counter()
matrix = pairwise_distances(rows["source"], rows["target"])
matrix_done = perf_counter()
n = matrix.shape[1]
indices, _ = SPOT_GreedySubsetSelection(matrix, np.full((1, n), 1 / n), k)
ended = perf_counter()
report = {
    "version": interpret.__version__,
    "matrix": matrix_done - started,
    "picks": ended - matrix_done,
    "indices": np.asarray(indices).ravel().tolist(),
}
print(json.dumps(report))
