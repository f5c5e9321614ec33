"""The contestants of the large-scale comparison.

Methods that find centres are followed by the nearest distinct rows (benchmarks/peers/_nearest.py),
which is part of their time. With cosine they run on the same rows, which have length 1.
"""

from __future__ import annotations

from typing import Any

from benchmarks.comparison.contestants import Contestant
from benchmarks.comparison.large.problems import MNIST
from benchmarks.comparison.problems import Problem

REFERENCE = "auto"  # the plain call
STATED = "auto 0.5"  # the one effort that the bars of k = 100 use
AUTO_THOROUGH = "auto thorough"
BALANCED, THOROUGH = "lazybandit balanced", "lazybandit thorough"
FAISS, FAISS_ALL = "faiss + rows", "faiss all + rows"
MINIBATCH, RANDOM = "MiniBatchKMeans + rows", "random rows"
SMALL_K = 100  # the race is compared up to here
_SAMPLE = 256  # rows per centre that faiss draws by default


def _is_small(problem: Problem, k: int) -> bool:
    return k <= SMALL_K


def _is_small_mnist(problem: Problem, k: int) -> bool:
    return k <= SMALL_K and problem.data == MNIST


def _ours(name: str, *options: str, **more: Any) -> Contestant:
    return Contestant(name=name, script="fit_protobandit.py", options=options, **more)


_SKLEARN = {"script": "fit_kmeans.py", "environment": "sklearn"}
_FAISS = {"script": "fit_faiss.py", "environment": "faiss"}

CONTESTANTS = (
    _ours(REFERENCE, "auto", note="the plain call: `select(rows, k=k, random_state=seed)`"),
    _ours(STATED, "auto", "0.5", note="the effort of the goals of k = 100"),
    _ours("auto 0.25", "auto", "0.25", note="little effort"),
    _ours("auto 0.05", "auto", "0.05", note="least effort"),
    _ours(BALANCED, "lazybandit", "balanced", applies=_is_small, note=f"k ≤ {SMALL_K} only"),
    *(
        _ours(name, *name.split(), applies=_is_small_mnist, note=f"MNIST, k ≤ {SMALL_K} only")
        for name in (AUTO_THOROUGH, THOROUGH)
    ),
    Contestant(
        name=FAISS,
        options=("sample",),
        note=f"`faiss.Kmeans`, which draws {_SAMPLE} rows per centre; 25 iterations, 10 from "
        "n·k = 10¹⁰ on; spherical with cosine",
        **_FAISS,
    ),
    Contestant(
        name=FAISS_ALL,
        options=("all",),
        applies=lambda problem, k: problem.n_target > _SAMPLE * k,
        note=f"the same without drawing rows; only where n > {_SAMPLE} k, since it is the same "
        "fit elsewhere",
        **_FAISS,
    ),
    Contestant(
        name="SuperKMeans + rows",
        script="fit_superkmeans.py",
        environment="superkmeans",
        note="its defaults: hierarchical for over 100,000 rows; angular with cosine",
    ),
    Contestant(
        name=MINIBATCH, options=("MiniBatchKMeans", "distinct"), note="its defaults", **_SKLEARN
    ),
    Contestant(
        name="KMeans + rows", options=("KMeans", "distinct"), note="its defaults", **_SKLEARN
    ),
    Contestant(
        name="OneBatchPAM", script="fit_onebatch.py", environment="onebatch", takes_target=False
    ),
    _ours(RANDOM, "random"),
)
OURS = tuple(c.name for c in CONTESTANTS if c.is_ours and c.name != RANDOM)
RIVALS = tuple(c.name for c in CONTESTANTS if not c.is_ours)
