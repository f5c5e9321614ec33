"""`protobandit compile` compiles what usual calls need."""

from __future__ import annotations

import json
import subprocess
import sys

from interfaces.cli.run_cli import environment

# Other sizes, weights and constraints than those that were compiled for.
_CALLS = """
import json
import numpy as np
import protobandit as pb
from protobandit.interfaces.jobs.compilation import compile_usual
from protobandit.kernels.jit import compiled_code

before = compile_usual()
random = np.random.default_rng(1)
X = random.normal(size=(12_000, 13)).astype(np.float32)
calls = {
    "few rows": lambda: pb.select(X[:1000], k=10, random_state=0),
    "few columns": lambda: pb.select(X[:1000, :3], k=10, random_state=0),
    "many rows": lambda: pb.select(X, k=10, random_state=0),
    "many prototypes": lambda: pb.select(X, k=2500, random_state=0),
    "two sets": lambda: pb.select(
        X[:2000], X[2000:], k=30, weights=random.random(10_000), random_state=0
    ),
    "float64": lambda: pb.select(X.astype(np.float64), k=120, random_state=0).certify(),
    "cosine": lambda: pb.select(X, k=30, metric="cosine", random_state=0),
    "race": lambda: pb.select(X, k=40, method="lazybandit", random_state=0).certify(),
    "quotas": lambda: pb.select(
        X, k=9, constraints=pb.Constraints(groups=X[:, 0] > 0, at_least=2), random_state=0
    ),
    "integers": lambda: pb.select(random.integers(0, 9, (2000, 20)), k=10, random_state=0),
}
new = {}
for name, call in calls.items():
    call()
    after = compiled_code()
    new[name] = sorted((after.compiled | after.loaded) - (before.compiled | before.loaded))
    before = after
print(json.dumps({"folder": before.folder, "new": new}))
"""


def test_usual_calls_compile_nothing_more():
    done = subprocess.run(
        [sys.executable, "-c", _CALLS],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = json.loads(done.stdout)
    assert found["folder"]
    assert {name: kernels for name, kernels in found["new"].items() if kernels} == {}
