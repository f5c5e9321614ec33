"""The contestants: a script of benchmarks/peers each, with its environment and a note.

A contestant without an environment is a method of this package and uses the running interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.comparison.problems import Problem

REFERENCE = "lazybandit balanced"
HEADLINE_NAMES = (  # of the table in docs/benchmarks.md
    "lazybandit 0.3",
    "lazybandit fast",
    "lazybandit balanced",
    "lazybandit thorough",
    "fasterpam",
    "MiniBatchKMeans + rows",
    "KMeans + rows",
    "OneBatchPAM",
    "sklearn-extra alternate",
    "kmedoids FasterPAM",
)


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A method of a package.

    ``options`` follow the seed on the command line of ``script``. ``has_seed`` says that the method
    draws random numbers, ``has_matrix`` that it needs all distances in memory, ``takes_target``
    that source and target may differ, and ``applies`` whether to try a problem with a given k.
    """

    name: str
    script: str
    options: tuple[str, ...] = ()
    environment: str | None = None
    has_seed: bool = True
    has_matrix: bool = False
    takes_target: bool = True
    note: str = ""
    applies: Callable[[Problem, int], bool] = lambda problem, k: True

    @property
    def is_ours(self) -> bool:
        return self.environment is None

    def is_tried(self, problem: Problem, k: int) -> bool:
        """Return whether a comparison contains this fit."""
        return (self.takes_target or not problem.has_target) and self.applies(problem, k)


def _lazybandit(effort: str) -> Contestant:
    return Contestant(
        name=f"lazybandit {effort}", script="fit_protobandit.py", options=("lazybandit", effort)
    )


def _ours(
    method: str, *, has_seed: bool = True, has_matrix: bool = False, note: str = ""
) -> Contestant:
    return Contestant(
        name=method,
        script="fit_protobandit.py",
        options=(method,),
        has_seed=has_seed,
        has_matrix=has_matrix,
        note=note,
    )


_OWN = (
    _lazybandit("0.3"),
    _lazybandit("fast"),
    _lazybandit("balanced"),
    _lazybandit("thorough"),
    _ours(
        "lazygreedy",
        has_seed=False,
        has_matrix=True,
        note="without the matrix if it does not fit in memory",
    ),
    _ours("fasterpam", has_matrix=True),
    _ours("onebatch"),
    _ours("banditpam"),
    _ours("protobandit"),
    _ours("random"),
)

_KMEDOIDS = {"script": "fit_kmedoids.py", "environment": "kmedoids", "takes_target": False}
_EXTRA = {"script": "fit_sklearn_extra.py", "environment": "sklearn-extra", "takes_target": False}
_KMEANS = {"script": "fit_kmeans.py", "environment": "sklearn"}
_OTHER_GOAL = "minimises the distance between two distributions, not this cost"

_OTHERS = (
    Contestant(name="kmedoids FasterPAM", options=("fasterpam",), has_matrix=True, **_KMEDOIDS),
    Contestant(name="kmedoids FastPAM1", options=("fastpam1",), has_matrix=True, **_KMEDOIDS),
    Contestant(
        name="OneBatchPAM", script="fit_onebatch.py", environment="onebatch", takes_target=False
    ),
    Contestant(
        name="BanditPAM",
        script="fit_banditpam.py",
        environment="banditpam",
        takes_target=False,
        note="the authors' C++, with its default settings",
    ),
    Contestant(
        name="sklearn-extra alternate",
        options=("alternate",),
        has_matrix=True,
        note="initialised by its k-medoids++",
        **_EXTRA,
    ),
    Contestant(
        name="sklearn-extra PAM",
        options=("pam",),
        has_seed=False,
        has_matrix=True,
        note="initialised by its BUILD",
        **_EXTRA,
    ),
    Contestant(name="sklearn-extra CLARA", options=("clara",), **_EXTRA),
    Contestant(
        name="apricot",
        script="fit_apricot.py",
        environment="apricot",
        has_seed=False,
        has_matrix=True,
        takes_target=False,
        note="facility location by lazy greedy; compiles again in every fit (by design), which is "
        "part of its time; does not accept a rectangular matrix",
    ),
    Contestant(
        name="submodlib",
        script="fit_submodlib.py",
        environment="submodlib",
        has_seed=False,
        has_matrix=True,
        note="facility location by lazy greedy",
    ),
    Contestant(
        name="interpret SPOT",
        script="fit_interpret.py",
        environment="interpret",
        has_seed=False,
        has_matrix=True,
        note="SPOTgreedy",
    ),
    Contestant(
        name="ProtoDash",
        script="fit_protodash.py",
        environment="protodash",
        has_seed=False,
        note=f"Gaussian kernel of the width of the median distance; {_OTHER_GOAL}",
    ),
    Contestant(
        name="mmd-critic",
        script="fit_mmdcritic.py",
        environment="mmdcritic",
        has_seed=False,
        has_matrix=True,
        takes_target=False,
        note=f"Gaussian kernel of the width of the median distance; {_OTHER_GOAL}",
    ),
    Contestant(
        name="KMeans + rows",
        options=("KMeans",),
        note="KMeans of the target, then the source row nearest to each centre",
        **_KMEANS,
    ),
    Contestant(
        name="MiniBatchKMeans + rows",
        options=("MiniBatchKMeans",),
        note="the same with MiniBatchKMeans",
        **_KMEANS,
    ),
)

CONTESTANTS = _OWN + _OTHERS
