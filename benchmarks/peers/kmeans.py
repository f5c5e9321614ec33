"""Run scikit-learn's KMeans or MiniBatchKMeans, then take the row nearest to each centre.

    python kmeans.py ROWS.npz K SEED NAME

Prints JSON: the seconds and the indices, without repetition.
"""

import json
import sys
from time import perf_counter

import numpy as np
import sklearn.cluster
from sklearn.metrics import pairwise_distances_argmin

rows = np.load(sys.argv[1])["rows"]
k, seed = map(int, sys.argv[2:4])
Model = getattr(sklearn.cluster, sys.argv[4])
Model(2, random_state=0).fit(rows[:100])  # start the threads
started = perf_counter()
centres = Model(k, random_state=seed).fit(rows).cluster_centers_
indices = np.unique(pairwise_distances_argmin(centres, rows))
ended = perf_counter()
report = {
    "version": sklearn.__version__,
    "seconds": ended - started,
    "indices": indices.tolist(),
}
print(json.dumps(report))
