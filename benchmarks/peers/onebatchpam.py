"""Run its authors' OneBatchPAM (de Mathelin et al. 2025), in an environment of its own.

    python onebatchpam.py ROWS.npz K SEED

Prints JSON: the seconds and the indices.
"""

import importlib.metadata
import json
import sys
from time import perf_counter

import numpy as np
from onebatch import OneBatchPAM

rows = np.load(sys.argv[1])["rows"]
k, seed = map(int, sys.argv[2:4])
OneBatchPAM(n_medoids=2, random_state=0).fit(rows[:100])  # start the threads
started = perf_counter()
model = OneBatchPAM(n_medoids=k, random_state=seed).fit(rows)
ended = perf_counter()
report = {
    "version": importlib.metadata.version("onebatch"),
    "seconds": ended - started,
    "indices": np.asarray(model.medoid_indices_).tolist(),
}
print(json.dumps(report))
