"""CLARA: small samples solved well, and the best of their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.run.progress.watch import Watch
from protobandit.search.drivers.greedy import Pick
from protobandit.search.drivers.subsample import CandidateSet, ValidationRows, subsample
from protobandit.search.methods.method import Forecast, Outcome, require_count
from protobandit.search.methods.ordering import arranged

_MOST_JUDGED = 1 << 16  # target rows; a larger target is judged on a sample of it


@dataclass(frozen=True, kw_only=True)
class Clara:
    """Greedy and swaps on small random samples; the outcome that is best on the target is kept.

    A sample is ``sample_size`` target rows, drawn by weight, and as many source rows: those same
    rows where source and target are one, else drawn evenly. The best prototypes so far are always
    among them. Outcomes are judged on the whole target or, where it has more than 65,536 rows or
    memory is short, on so many rows drawn by weight before the first sample. As the judging rows
    never change, more samples never make the result worse.

    Evaluations: about ``sample_size`` squared and k times the judging rows, for each sample.

    Parameters
    ----------
    n_samples
        How many samples.
    sample_size
        How many rows a sample has on either side; None for 40 + 2 k.

    References
    ----------
    Kaufman, Rousseeuw (1990), Finding groups in data, chapter 3.
    """

    name: ClassVar[str] = "clara"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    n_samples: int = 5
    sample_size: int | None = None

    def __post_init__(self) -> None:
        require_count(self.n_samples, "n_samples")
        if self.sample_size is not None:
            require_count(self.sample_size, "sample_size")

    def size(self, problem: Problem) -> int:
        """Return how many rows a sample has on either side."""
        if self.sample_size is None:
            return 40 + 2 * problem.k
        if self.sample_size < problem.k:
            raise InvalidInput(
                f"sample_size={self.sample_size} is less than k={problem.k}: a sample must hold "
                f"all prototypes. Pass sample_size >= {problem.k}, or None for 40 + 2 k."
            )
        return self.sample_size

    def picks(self, oracle: Oracle, random: np.random.Generator, watch: Watch) -> Iterator[Pick]:
        problem, size = oracle.problem, self.size(oracle.problem)
        n_jury = watch.decide("jury", _n_jury(problem, oracle.dtype.itemsize, watch.limits))
        validation = ValidationRows.of(oracle, n_jury, random)
        best, n_done = _earlier(watch, validation)
        verdicts = subsample(validation, n_rows=size, random=random, best=best)
        most = _in_sample(problem, size, problem.k) + problem.k * n_jury
        try:
            while best is None or (n_done < self.n_samples and watch.allows(most)):
                watch.tell(f"sample {n_done + 1} of {self.n_samples}")
                best, n_done = next(verdicts), n_done + 1
                _note(watch, best, n_done)
                watch.tell(f"sample {n_done}", n_picked=problem.k, cost=best.cost)
        except Halt:
            if best is None:
                raise
            watch.halted()
        remark = ""
        if watch.stopped:
            done = f"{n_done} of {self.n_samples} samples"
            remark = f"{watch.culprit} ended the search after {done}."
        yield from arranged(oracle, best.prototypes, best.matrix, best.weights, random, remark)

    def least_evaluations(self, oracle: Oracle) -> int:
        problem, size = oracle.problem, self.size(oracle.problem)
        return _in_sample(problem, size, 0)

    def forecast(self, problem: Problem, limits: Limits) -> Forecast:
        size, n_jury = self.size(problem), _n_jury(problem, problem.dtype.itemsize, limits)
        samples = _in_sample(problem, size, 0)
        samples += (self.n_samples - 1) * _in_sample(problem, size, problem.k)
        in_memory = max(2 * problem.k * n_jury, _in_sample(problem, size, problem.k))
        return Forecast(evaluations=samples, memory=in_memory * problem.dtype.itemsize)

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        return None


def _note(watch: Watch, best: CandidateSet, n_done: int) -> None:
    """Write down the best so far."""
    arrays = {"prototypes": best.prototypes, "matrix": best.matrix}
    watch.note("samples", {"n_done": n_done, "cost": best.cost}, arrays)


def _earlier(watch: Watch, validation: ValidationRows) -> tuple[CandidateSet | None, int]:
    """Return the best that an earlier run has found, and of how many samples."""
    stage = watch.recall("samples")
    if stage is None:
        return None, 0
    prototypes, matrix = stage.arrays["prototypes"], stage.arrays["matrix"]
    best = CandidateSet(prototypes, matrix, validation.weights, stage.values["cost"])
    return best, stage.values["n_done"]


def _in_sample(problem: Problem, size: int, n_kept: int) -> int:
    """Return how many dissimilarities a sample has at most, the ``n_kept`` best among its rows."""
    return min(size + n_kept, len(problem.source)) * min(size, len(problem.target))


def _n_jury(problem: Problem, itemsize: int, limits: Limits) -> int:
    """Return on how many target rows outcomes are judged."""
    room = limits.room() // (2 * problem.k * itemsize)
    return min(len(problem.target), _MOST_JUDGED, max(room, 40 + 2 * problem.k))
