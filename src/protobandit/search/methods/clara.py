"""CLARA: k-medoids on small samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protobandit.foundation.checks import require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.observer import Halt
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.subsample import CandidateSet, ValidationRows, subsample
from protobandit.search.drivers.table_greedy import order_by_gain
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Schedule, reductions

_MOST_VALIDATION_ROWS = 1 << 16  # a larger target is sampled
_STATE = "samples"


@dataclass(frozen=True, kw_only=True)
class Clara(Method):
    """Greedy selection and swaps on small random samples; the best result is returned (CLARA).

    A sample has ``sample_size`` target rows, drawn by weight, and as many source rows. If source
    and target are the same rows, these are the target rows of the sample; otherwise they are drawn
    uniformly. The best prototypes so far are always among them. Results are compared on the whole
    target. If it has more than 65,536 rows, or memory is limited, they are compared on validation
    rows drawn by weight before the first sample. The validation rows never change, so more samples
    never make the result worse.

    Evaluations: about ``sample_size`` squared, and k times the validation rows, per sample.
    Memory: one sample, and twice k times the validation rows.

    Parameters
    ----------
    n_samples
        Number of samples.
    sample_size
        Number of source rows and of target rows of a sample; None for 40 + 2 k.

    References
    ----------
    Kaufman, Rousseeuw (1990), Finding groups in data, chapter 3.
    """

    name: ClassVar[str] = "clara"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    may_overlook_far_rows: ClassVar[bool] = True
    n_samples: int = 5
    sample_size: int | None = None

    def __post_init__(self) -> None:
        require_integer(self.n_samples, "n_samples")
        require_integer(self.sample_size, "sample_size", allows_none=True)

    def size(self, problem: Problem) -> int:
        """Return the number of source rows and of target rows of a sample."""
        if self.sample_size is None:
            return 40 + 2 * problem.k
        if self.sample_size < problem.k:
            raise InvalidInput(
                f"sample_size={self.sample_size} is less than k={problem.k}, but a sample must "
                f"contain all prototypes. Pass sample_size >= {problem.k}, or None for 40 + 2 k."
            )
        return self.sample_size

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem, size = oracle.problem, self.size(oracle.problem)
        validation = ValidationRows.of(oracle, schedule.n_validation, random)
        best, n_done = _restored(control, validation)
        candidates = subsample(validation, n_rows=size, random=random, best=best)
        most = _in_sample(problem, size, problem.k) + problem.k * schedule.n_validation
        try:
            while best is None or (n_done < self.n_samples and control.allows(most)):
                control.report(f"sample {n_done + 1} of {self.n_samples}")
                best, n_done = next(candidates), n_done + 1
                _save(control, best, n_done)
                control.report(f"sample {n_done}", n_picked=problem.k, cost=best.cost)
        except Halt:
            if best is None:
                raise
            control.stop()
        remark = ""
        if control.stopped:
            done = f"{n_done} of {self.n_samples} samples"
            remark = f"{control.stopped.at_start} ended the search after {done}."
        is_whole = schedule.n_validation == len(problem.target)
        oracle.look_up(best.matrix.size)  # so that lookups are comparable with earlier versions
        table = FullTable(oracle=oracle, arms=best.prototypes, matrix=best.matrix)
        members = np.arange(problem.k)
        for pick in order_by_gain(table, members, best.weights, random, is_whole=is_whole):
            yield replace(pick, remark=remark)

    def least_evaluations(self, problem: Problem) -> int:
        return _in_sample(problem, self.size(problem), 0)

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        itemsize = problem.distance_dtype.itemsize
        size, n_validation = self.size(problem), _n_validation(problem, itemsize, limits)
        samples = _in_sample(problem, size, 0)
        samples += (self.n_samples - 1) * _in_sample(problem, size, problem.k)
        # The best set so far, and the next sample or the set that is found in it.
        own = problem.k * n_validation
        in_memory = own + max(own, _in_sample(problem, size, problem.k))
        wanted = _n_validation(problem, itemsize, replace(limits, memory=None))
        return Schedule(
            evaluations=samples,
            memory=in_memory * itemsize + working_bytes(problem),
            n_validation=n_validation,
            reductions=reductions(validation_rows=(n_validation, wanted)),
        )


def _save(control: SearchControl, best: CandidateSet, n_done: int) -> None:
    """Save the best set of prototypes so far."""
    arrays = {"prototypes": best.prototypes, "matrix": best.matrix}
    control.states.save(_STATE, SavedState({"n_done": n_done, "cost": best.cost}, arrays))


def _restored(
    control: SearchControl, validation: ValidationRows
) -> tuple[CandidateSet | None, int]:
    """Return the best set of an earlier run, and the number of its samples."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return None, 0
    prototypes, matrix = saved.arrays["prototypes"], saved.arrays["matrix"]
    best = CandidateSet(prototypes, matrix, validation.weights, saved.values["cost"])
    return best, saved.values["n_done"]


def _in_sample(problem: Problem, size: int, n_kept: int) -> int:
    """Return the largest number of dissimilarities of a sample with ``n_kept`` rows added."""
    return min(size + n_kept, len(problem.source)) * min(size, len(problem.target))


def _n_validation(problem: Problem, itemsize: int, limits: Limits) -> int:
    """Return the number of target rows on which sets of prototypes are compared."""
    n_rows = limits.memory_budget // (2 * problem.k * itemsize)
    return min(len(problem.target), _MOST_VALIDATION_ROWS, max(n_rows, 40 + 2 * problem.k))
