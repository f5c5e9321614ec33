"""Run scikit-learn's KMeans or MiniBatchKMeans, then take the row nearest to each centre.

    python kmeans.py ROWS.npz K SEEDS NAME

Prints JSON: seconds and indices, without repetition, of each of that many seeds.
"""

import json
import sys
from time import perf_counter

import numpy as np
import sklearn.cluster
from sklearn.metrics import pairwise_distances_argmin

rows = np.load(sys.argv[1])["rows"]
k, n_seeds = map(int, sys.argv[2:4])
Model = getattr(sklearn.cluster, sys.argv[4])
Model(2, random_state=0).fit(rows[:100])  # start the threads
seconds, indices = [], []
for seed in range(n_seeds):
    started = perf_counter()
    centres = Model(k, random_state=seed).fit(rows).cluster_centers_
    nearest = np.unique(pairwise_distances_argmin(centres, rows))
    seconds.append(perf_counter() - started)
    indices.append(nearest.tolist())
report = {
    "version": sklearn.__version__,
    "seconds": seconds,
    "indices": indices,
}
print(json.dumps(report))
