"""Small problems on which searches are observed, interrupted, killed and resumed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import protobandit as pb
from protobandit import methods
from protobandit.oracle import oracle, tasks
from protobandit.run import observer
from protobandit.search.drivers import full_swaps
from protobandit.search.methods import lazybandit

N_SOURCE, N_TARGET, K = 70, 2100, 4  # two groups of target rows

_random = np.random.default_rng(5)
SOURCE = _random.normal(size=(N_SOURCE, 2)).astype(np.float32)
TARGET = _random.normal(size=(N_TARGET, 2)).astype(np.float32)
WEIGHTS = _random.random(N_TARGET) + 0.1
UNEVEN = _random.pareto(0.6, size=N_TARGET) + 1e-6
LABELS = np.arange(N_SOURCE) % 3
# A few target rows far from all others, with two source rows near them.
_far = TARGET.copy()
_far[_random.choice(N_TARGET, 12, replace=False)] += 300
FAR = {"source": np.vstack([SOURCE, SOURCE[:2] + 300]), "target": _far, "k": 6}
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
    "lazybandit, far rows": {"method": methods.LazyBandit(effort=0.3), **FAR},
    "lazybandit, far rows, uneven": {
        "method": methods.LazyBandit(effort=0.3),
        "weights": UNEVEN,
        **FAR,
    },
    "lazybandit, limited": {"limits": pb.Limits(evaluations=9000)},
    "refined, local": {"method": methods.Refined(build="random", swaps="local")},
    "refined, pac": {"method": methods.Refined(build="random", swaps="pac", nu=0.2)},
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
    "until, on a sample": {
        "method": methods.LocalSearch(effort=0.3),
        "until": pb.Coverage(0.6, radius=0.6),
        "k": None,
    },
    "k='auto', on a sample": {"method": methods.LazyBandit(effort=0.3), "k": "auto"},
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
    """Return what must not depend on interruptions, bit for bit."""
    steps = [(step.index, repr(step.gain), step.evaluations) for step in selection.steps]
    extras = (selection.coefficients, selection.criticisms, selection.curve)
    return (
        selection.indices.tolist(),
        selection.costs.tobytes(),
        selection.gains.tobytes(),
        selection.mass.tobytes(),
        steps,
        dict(selection.evaluations_by_phase),
        selection.lookups,
        selection.guarantee,
        [None if extra is None else extra.tobytes() for extra in extras],
    )


def resumed(arguments: dict, path: Path) -> pb.Selection:
    """Run a search with a checkpoint that is saved at every opportunity."""
    return pb.select(**arguments, checkpoint=pb.Checkpoint(path, seconds=0))


def look_often(monkeypatch) -> None:
    """Cut work into small tasks, look after each, race on small problems, skip the disk."""
    monkeypatch.setattr(oracle, "TILE", 16)
    monkeypatch.setattr(tasks, "TILE", 16)
    monkeypatch.setattr(observer, "SMALL_EFFORT", 0)
    monkeypatch.setattr(observer, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(full_swaps, "_CHUNK_ENTRIES", 20 * N_TARGET)
    monkeypatch.setattr(lazybandit, "AT_ONCE", 0)
    monkeypatch.setattr(lazybandit, "_AT_ONCE_IF_EXPENSIVE", 0)
    monkeypatch.setattr(os, "fsync", lambda number: None)


class Killed(BaseException):
    """Ends a run as a kill would: nothing is written after it."""


class Counting:
    """A metric that counts its pairs, and kills the run before there are more than ``most``."""

    def __init__(self, most: float | None = None) -> None:
        self.n, self.most = 0, most

    def __call__(self, a, b):
        if self.most is not None and self.n + len(a) * len(b) > self.most:
            raise Killed
        self.n += len(a) * len(b)
        return np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2)

    @property
    def metric(self):
        """Return the metric; every instance has the same name."""

        def counted(a, b):
            return self(a, b)

        return pb.block_metric(counted)

    @property
    def kernel(self):
        """Return a kernel that is counted; every instance has the same name."""

        def counted(a, b):
            return np.exp(-self(a, b))

        return counted
