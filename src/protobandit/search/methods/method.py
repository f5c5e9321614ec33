"""The base class of methods, and the records they share with a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.memory import shown_bytes
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.localsearch.schedule import Stage
from protobandit.search.drivers.pick import Pick, SwapPasses
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.objectives.objective import Objective


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a run, from which a method derives its guarantee.

    Attributes
    ----------
    problem
        The problem that was solved.
    objective
        The objective of the last pick; None if the method has none.
    is_proven
        Whether every pick was decided as the proof requires.
    cost, k
        The cost and the number of prototypes of the result.
    passes
        The passes of swaps, if any.
    """

    problem: Problem
    objective: Objective | None
    is_proven: bool
    cost: float
    k: int
    passes: SwapPasses | None = None

    @property
    def feasibility(self) -> Feasibility:
        """Return what the search was allowed to pick."""
        return self.problem.feasibility


SOURCE_ROWS = "source rows"


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """One number that the limits have reduced: what it counts, what is planned, what was wanted."""

    of: str
    planned: int
    wanted: int


def reductions(**counts: tuple[int, int]) -> tuple[Reduction, ...]:
    """Return the reductions among ``name=(planned, wanted)``."""
    return tuple(
        Reduction(of=name.replace("_", " "), planned=planned, wanted=wanted)
        for name, (planned, wanted) in counts.items()
        if planned < wanted
    )


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What a search plans to do.

    A schedule is made once, from the problem and the limits alone: neither the clock nor the free
    memory affects it. `plan` shows it, the search follows it, the progress display compares with
    it, and a checkpoint keeps it.

    Attributes
    ----------
    evaluations
        The expected number of evaluations.
    most_evaluations
        The number of evaluations that is never exceeded, or None if no such number is known.
    measuring
        The number of evaluations after the search that the exact cost of its result needs, as far
        as it is known; 0 if the cost is known or is estimated.
    is_rough
        Whether the number of evaluations depends on the data, so that it may well be wrong by more
        than a factor of 1.5.
    memory
        The expected growth of the resident memory at its peak, in bytes.
    reductions
        What the limits have reduced.
    keeps_matrix
        Whether every dissimilarity that is computed is kept.
    rungs
        The rungs of a race.
    stages
        The stages of a local search.
    n_validation
        The number of target rows on which samples are compared.
    n_columns
        The number of source rows whose distances to the whole target are kept.
    n_prefix_bytes
        The bytes for distances to the first target rows of an order.
    n_sampled
        The largest number of target rows of a sample.
    """

    evaluations: int
    memory: int
    most_evaluations: int | None = None
    measuring: int = 0
    is_rough: bool = False
    reductions: tuple[Reduction, ...] = ()
    keeps_matrix: bool = False
    rungs: tuple[Rung, ...] = ()
    stages: tuple[Stage, ...] = ()
    n_validation: int = 0
    n_columns: int = 0
    n_prefix_bytes: int = 0
    n_sampled: int = 0

    @property
    def n_left_out(self) -> int:
        """Return the number of source rows that take no part."""
        return sum(each.wanted - each.planned for each in self.reductions if each.of == SOURCE_ROWS)


class Method:
    """A named combination of strategy, objective and driver; its fields are its parameters.

    Attributes
    ----------
    name
        The name in `METHODS`.
    supports
        The constraints and goals that the method supports: a subset of {"fixed", "groups",
        "costs", "min_distance", "until"}. A call that needs another one is refused before the
        search starts.
        "until" requires picks whose objective is the exact coverage of the target.
    may_overlook_far_rows
        Whether the search may miss a small cluster of target rows far from all others, because it
        samples rows and does not look for such clusters. The run then warns if few far rows carry
        much of the cost.
    draws_from_stream
        Whether the search draws the rows of a stream as it needs them (``Problem.stream``), and
        does not need to read its target first.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]] = frozenset()
    may_overlook_far_rows: ClassVar[bool] = False
    draws_from_stream: ClassVar[bool] = False

    @property
    def is_exact_greedy(self) -> bool:
        """Return whether every iteration picks the one row of the largest exact gain."""
        return False

    @property
    def has_own_kernel(self) -> bool:
        """Return whether the method calls a kernel that is the user's own function."""
        return False

    def with_more_effort(self) -> Method | None:
        """Return the method with the next larger effort, or None if it has no effort."""
        return None

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        """Return the schedule of a run; this computes no dissimilarity.

        Parameters
        ----------
        problem, limits
            The problem to solve, and the limits that the schedule keeps.
        """
        raise NotImplementedError

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        """Yield prototypes, best first.

        Parameters
        ----------
        oracle
            What computes and counts dissimilarities.
        random
            The generator of this search.
        control
            What the search asks whether it may go on, and whom it tells what it does.
        schedule
            What `schedule` returned.
        """
        raise NotImplementedError

    def least_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations that the first prototype needs.

        Parameters
        ----------
        problem
            The problem to solve.
        """
        raise NotImplementedError

    def stream_rows(
        self, *, n_source: int, k: int, is_expensive: bool, limits: Limits
    ) -> int | None:
        """Return the number of rows that the method reads of a stream, or None if unknown.

        Parameters
        ----------
        n_source, k
            The numbers of source rows and of prototypes.
        is_expensive
            Whether a dissimilarity takes long, such as one of your own function.
        limits
            The limits of the run.
        """
        return None

    def guarantee(self, outcome: Outcome) -> Guarantee | None:
        """Return what is proven about the result, or None.

        Parameters
        ----------
        outcome
            How the run ended.
        """
        return None


def parameters_of(method: Method) -> Mapping[str, Any]:
    """Return the parameters of a method by name, as values that JSON can hold.

    Parameters
    ----------
    method
        An instance, such as ``LazyBandit()``.

    Examples
    --------
    >>> import protobandit as pb
    >>> pb.methods.parameters_of(pb.methods.LazyBandit())
    {'effort': 'balanced'}
    """
    return {field.name: _plain(getattr(method, field.name)) for field in fields(method)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold; a method becomes a mapping."""
    if not is_dataclass(value):
        return value
    method: Any = value
    return {"method": method.name, **parameters_of(method)}


def require_memory(n_bytes: int, limits: Limits, *, user: str, contents: str, instead: str) -> None:
    """Raise if ``Limits(memory)`` is less than ``n_bytes``; ``instead`` is the advice."""
    if limits.memory is not None and n_bytes > limits.memory:
        raise InvalidInput(
            f"{user} needs {shown_bytes(n_bytes)} for {contents}, more than "
            f"Limits(memory={limits.memory}) allows. {instead}"
        )
