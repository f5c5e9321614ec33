"""Record indices, coefficients and values of f of aix360's ProtoDash on a small problem.

    python fixtures_protodash.py > ../../tests/fixtures/protodash.json

Run it in the environment of requirements/protodash.txt. The package never picks the first of the
remaining rows, even if it is the best; in this problem it never is.
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
