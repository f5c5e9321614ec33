"""Run its authors' OneBatchPAM (de Mathelin et al. 2025), in an environment of its own.

    python onebatchpam.py ROWS.npz K SEEDS

Prints JSON: seconds and indices of each of that many seeds.
"""

import importlib.metadata
import json
import sys
from time import perf_counter

import numpy as np
from onebatch import OneBatchPAM

rows = np.load(sys.argv[1])["rows"]
k, n_seeds = map(int, sys.argv[2:4])
OneBatchPAM(n_medoids=2, random_state=0).fit(rows[:100])  # start the threads
seconds, indices = [], []
for seed in range(n_seeds):
    started = perf_counter()
    model = OneBatchPAM(n_medoids=k, random_state=seed).fit(rows)
    seconds.append(perf_counter() - started)
    indices.append(np.asarray(model.medoid_indices_).tolist())
report = {
    "version": importlib.metadata.version("onebatch"),
    "seconds": seconds,
    "indices": indices,
}
print(json.dumps(report))
