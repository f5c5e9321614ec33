"""Random rows as a method: the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.search.control import SearchControl
from protobandit.search.drivers.greedy import given_pick
from protobandit.search.drivers.pick import Pick
from protobandit.search.drivers.random_rows import random_rows
from protobandit.search.methods.memory import working_bytes
from protobandit.search.methods.method import Method, Schedule
from protobandit.search.objectives.sampled_coverage import SampledCoverage


@dataclass(frozen=True, kw_only=True)
class Random(Method):
    """Random rows: the baseline for all other methods.

    Evaluations: none, except to estimate the cost of the result.
    """

    name: ClassVar[str] = "random"
    supports: ClassVar[frozenset[str]] = frozenset({"fixed", "groups"})
    may_overlook_far_rows: ClassVar[bool] = True

    def schedule(self, problem: Problem, limits: Limits) -> Schedule:
        return Schedule(evaluations=0, most_evaluations=0, memory=working_bytes(problem))

    def picks(
        self,
        oracle: Oracle,
        random: np.random.Generator,
        control: SearchControl,
        schedule: Schedule,
    ) -> Iterator[Pick]:
        problem = oracle.problem
        drawn = random_rows(problem.feasibility, problem.k, random)
        return iter([given_pick(SampledCoverage.of(oracle, scale=1.0), drawn)])

    def least_evaluations(self, problem: Problem) -> int:
        return 0
