"""Run aix360's ProtoDash on a small problem, in an environment of its own.

    python protodash.py > tests/fixtures/protodash.json

Prints JSON: the problem, and the indices, coefficients and values of f after each pick. The package
never takes the first of the rows that are left, even where it is the best; the problem is one in
which it never is.
"""

import importlib.metadata
import json

import numpy as np
from aix360.algorithms.protodash import ProtodashExplainer

K, SIGMA = 8, 1.5
random = np.random.default_rng(3)
source, target = random.normal(size=(40, 3)).round(3), random.normal(size=(60, 3)).round(3)
target[:20] += 2
source[0] = 30.0
coefficients, indices, values = ProtodashExplainer().explain(
    target, source, m=K, kernelType="Gaussian", sigma=SIGMA
)
report = {
    "package": "aix360",
    "version": importlib.metadata.version("aix360"),
    "source": source.tolist(),
    "target": target.tolist(),
    "k": K,
    "gamma": 1 / (2 * SIGMA**2),
    "indices": np.asarray(indices).tolist(),
    "coefficients": np.asarray(coefficients).ravel().tolist(),
    "values": np.asarray(values).tolist(),
}
print(json.dumps(report))
