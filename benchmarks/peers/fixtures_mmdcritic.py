"""Record the prototypes and criticisms of the package mmd-critic on a small problem.

    python fixtures_mmdcritic.py > ../../tests/fixtures/mmd_critic.json

Run it in the environment of requirements/mmdcritic.txt. The term that the package calls "logdet"
does not depend on the criticisms chosen so far and is constant for this kernel, so the criticisms
depend on the witness function only.
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
