"""Run the package mmd-critic on a small problem, in an environment of its own.

    python mmdcritic.py > tests/fixtures/mmd_critic.json

Prints JSON: the rows, and the indices of prototypes and of criticisms. What the package calls
"logdet" does not depend on the criticisms already chosen and is constant for this kernel, so the
criticisms are those of the witness alone.
"""

import importlib.metadata
import json

import numpy as np
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel

K, N_CRITICISMS, SIGMA = 8, 6, 1.5
random = np.random.default_rng(4)
rows = random.normal(size=(60, 3)).round(3)
rows[:20] += 2
critic = MMDCritic(rows, RBFKernel(SIGMA))
prototypes, _ = critic.select_prototypes(K)
criticised, _ = critic.select_criticisms(N_CRITICISMS, prototypes)


def numbers(some):
    return [int(np.flatnonzero((rows == row).all(axis=1))[0]) for row in some]


report = {
    "package": "mmd-critic",
    "version": importlib.metadata.version("mmd-critic"),
    "rows": rows.tolist(),
    "k": K,
    "gamma": 1 / (2 * SIGMA**2),
    "indices": numbers(prototypes),
    "criticisms": numbers(criticised),
}
print(json.dumps(report))
