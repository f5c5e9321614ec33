"""Small problems on which searches are watched, killed and taken up again."""

from __future__ import annotations

import numpy as np

import protobandit as pb
from protobandit import methods

N_SOURCE, N_TARGET, K = 70, 2100, 4  # two groups of target rows

_random = np.random.default_rng(5)
SOURCE = _random.normal(size=(N_SOURCE, 2)).astype(np.float32)
TARGET = _random.normal(size=(N_TARGET, 2)).astype(np.float32)
WEIGHTS = _random.random(N_TARGET) + 0.1
UNEVEN = _random.pareto(0.6, size=N_TARGET) + 1e-6
LABELS = np.arange(N_SOURCE) % 3
_tied = {"source": np.round(2 * SOURCE), "target": np.round(2 * TARGET)}

CASES = {
    "apart": {"source": SOURCE, "target": TARGET},
    "one": {"source": TARGET[:260]},
    "weighted": {"source": SOURCE, "target": TARGET, "weights": WEIGHTS},
}
SPECIAL = {
    "lazygreedy, nothing kept": {"method": methods.LazyGreedy(memoize=False)},
    "lazygreedy, three at a time": {"method": methods.LazyGreedy(r=3)},
    "stochasticgreedy, nothing kept": {"method": methods.StochasticGreedy(memoize=False)},
    "protobandit, uneven": {"method": "protobandit", "weights": UNEVEN},
    "lazybandit, uneven": {"method": methods.LazyBandit(effort=0.3), "weights": UNEVEN},
    "lazybandit, fixed": {
        "method": methods.LazyBandit(effort=0.3),
        "constraints": pb.Constraints(fixed=[3, 5]),
    },
    "stochasticgreedy, fixed": {
        "method": "stochasticgreedy",
        "constraints": pb.Constraints(fixed=[3, 5]),
    },
    "protobandit, fixed": {"method": "protobandit", "constraints": pb.Constraints(fixed=[3, 5])},
    "kcenter, fixed": {"method": "kcenter", "constraints": pb.Constraints(fixed=[3, 5])},
    "pam, fixed": {"method": "pam", "constraints": pb.Constraints(fixed=[3, 5])},
    "lazybandit, thorough": {"method": methods.LazyBandit(effort=5.0), "target": TARGET[:900]},
    "lazybandit, limited": {"limits": pb.Limits(evaluations=9000)},
    "refined, local": {"method": methods.Refined(build="random", swaps="local")},
    "refined, best": {"method": methods.Refined(build="protobandit", swaps="best")},
    "fasterpam, ties": {"method": "fasterpam", **_tied},
    "refined, ties": {"method": methods.Refined(build="random", swaps="local"), **_tied},
    "lazybandit, ties": {"method": methods.LazyBandit(effort=0.3), **_tied, "k": 12},
    "kcenter, few": {"method": "kcenter", "source": SOURCE[:9], "k": 8},
    "pam, random": {"method": methods.PAM(init="random", n_swaps=2)},
    "mmd-critic, criticisms": {
        "method": methods.MMDCritic(n_criticisms=2),
        "target": TARGET[:300],
    },
    "k='auto'": {"method": "lazygreedy", "k": "auto", "source": SOURCE[:30]},
    "until": {"until": pb.Coverage(0.4, radius=0.6), "k": None},
    "budget": {
        "constraints": pb.Constraints(costs=np.linspace(0.5, 2, N_SOURCE), budget=4.0),
        "k": None,
    },
    "groups": {
        "method": "thresholdgreedy",
        "constraints": pb.Constraints(groups=LABELS, at_least=1, at_most=2),
    },
    "classes": {"source": TARGET[:300], "target": None, "by": np.arange(300) % 3, "k": 7},
    "classes, passes": {
        "source": TARGET[:150],
        "target": None,
        "by": np.arange(150) % 2,
        "method": "fastpam1",
    },
}


def call(name: str, case: str = "apart") -> dict:
    """Return the arguments of `select` for a method, or for one of the special calls."""
    own = SPECIAL.get(name, {"method": name})
    return {"k": K, "random_state": 3, "n_jobs": 1, **CASES[case], **own}


def outcome(selection: pb.Selection) -> tuple:
    """Return what must not depend on interruptions, to the last bit."""
    steps = [(step.index, repr(step.gain), step.evaluations) for step in selection.steps]
    return (
        selection.indices.tolist(),
        selection.costs.tobytes(),
        selection.gains.tobytes(),
        selection.mass.tobytes(),
        steps,
        selection.guarantee,
    )
