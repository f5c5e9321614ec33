"""`plan`: what a run would take, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from protobandit.foundation.threads import worker_count
from protobandit.problem.constraints import Constraints
from protobandit.problem.goals import Certified, Coverage, MinGain
from protobandit.problem.guessed_keywords import with_advice
from protobandit.problem.limits import Limits, as_limits
from protobandit.problem.posing import pose, with_classes, with_obsm
from protobandit.problem.problem import Problem
from protobandit.result.report.number_format import format_duration
from protobandit.run.by_class import class_problems, largest_class, require_plain, shared_limits
from protobandit.run.certified import certificate_evaluations, growing_method
from protobandit.run.in_parts import has_lazy_rows, plan_in_parts, require_supported
from protobandit.run.memory import require_within_limit
from protobandit.run.sampled_goals import goal_schedule, uses_sample
from protobandit.run.search import chosen_method, require_affordable
from protobandit.search.drivers.localsearch.schedule import n_list_entries
from protobandit.search.methods.method import Schedule, parameters_of

# Approximate speeds of one core, for predictions only: no decision depends on them.
_PRODUCTS_PER_SECOND = 3e10  # multiply-adds of metrics that are matrix products
_DIFFERENCES_PER_SECOND = 4e9  # columns of metrics that are not
_SECONDS_PER_PROTOTYPE, _RACE_SECONDS_PER_PROTOTYPE = 4e-4, 8e-4
_NUMBERS_KEPT_PER_SECOND = 5e8
_READS = 4  # of a number that is kept
_LEAST_SECONDS = 0.07  # of any call, with loading compiled code in the first one
# Of a race on one core, per planned evaluation, for all it does with a distance: 0.8e-8 to 2.2e-8
# on normal and clustered rows, from 0.5e-8 on repeated to 4e-8 on clumped ones (130 problems).
_RACE_SECONDS = 1.85e-8
_OTHER_TARGET = 0.65  # share of these seconds if the target is not the source (40 problems)
_ON_ONE_CORE = 0.5  # share of a race: 0.3 to 0.8 for 20,000 source rows, less for more
_READ_SECONDS = 1.2e-9  # per entry of a full table that restarts read
_LOCAL_SEARCH_SECONDS = 2.9e-9  # per evaluation of a local search, beside its products
_LIST_SECONDS = 40e-9  # per entry of a list and pass
_READING_SECONDS = 1e-9  # per cell of the source


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What `select` would do with the same arguments.

    Attributes
    ----------
    method, parameters
        The method it would use.
    evaluations
        Approximate number of dissimilarities it would compute while building and swapping, usually
        right within a factor of 1.5, and of 2 for "localsearch" and for rows that are repeated or
        have one column. What
        measuring the cost of the result needs is not included.
    measuring
        The number of dissimilarities that "localsearch" computes afterwards to measure the exact
        cost of its result, as far as it is planned: |T| k if all target rows are judged.
    most_evaluations
        A number of evaluations that building and swapping never exceed, whatever the data; None if
        no such number is known.
    is_rough
        Whether the method computes more or fewer dissimilarities depending on the data, so that
        ``evaluations`` may be wrong by a factor of four ("protobandit", "banditpam", "clarans",
        and "lazygreedy" and "thresholdgreedy" if not memoized).
    memory
        Approximate bytes by which the memory of the process grows at the peak.
    seconds
        Rough estimate of the time; None for a user's own metric, whose speed is unknown. For
        "lazybandit" it is right within a factor of 2 on most data on an idle machine. From an
        effort of 5 on, clumped or heavy-tailed rows take up to 10 times as long, since forced swaps
        read more there. For "localsearch" it is usually right within 2. For "pam" and
        "banditpam" it can be more than 10 times too short.
    left_out
        Number of source rows that take no part, because of the limits or of the memory budget.
    parts, passes, tasks, bytes_moved
        For a Dask collection: its parts, about how often the parts of a side are read, the number
        of tasks, and about how many bytes tasks send and receive, where what they share is counted
        once per pass. Every pass computes the graph of the collection again. None for rows in
        memory.
    """

    method: str
    parameters: Mapping[str, Any]
    evaluations: int
    most_evaluations: int | None
    is_rough: bool
    memory: int
    seconds: float | None
    left_out: int
    measuring: int = 0
    parts: int | None = None
    passes: int | None = None
    tasks: int | None = None
    bytes_moved: int | None = None

    def __str__(self) -> str:
        time = "unknown time" if self.seconds is None else f"about {format_duration(self.seconds)}"
        count = f"{self.evaluations:,} evaluations"
        if self.most_evaluations is not None and self.most_evaluations > self.evaluations:
            count += f" (at most {self.most_evaluations:,})"
        if self.measuring:
            count += f", then {self.measuring:,} to measure the cost"
        left_out = f"; {self.left_out:,} source rows are left out" if self.left_out else ""
        parts = ""
        if self.parts is not None and self.bytes_moved is not None:
            parts = (
                f"; {self.passes} passes over {self.parts:,} parts, {self.tasks:,} tasks, "
                f"{self.bytes_moved / 1e6:,.0f} MB moved (each pass computes the collection again)"
            )
        return f"{self.method}: about {count}, {self.memory / 1e6:,.0f} MB, {time}{left_out}{parts}"


@with_advice
def plan(
    source: Any,
    target: Any = None,
    *,
    k: int | float | str | Sequence[int] | Mapping[Any, int] | None = None,
    weights: Any = None,
    metric: Any = None,
    preparation: Any = None,
    method: Any = "auto",
    constraints: Constraints | None = None,
    until: Coverage | MinGain | Certified | None = None,
    by: Any = None,
    obsm: str | None = None,
    n_jobs: int | None = None,
    limits: Limits | None = None,
) -> Plan:
    """Return what `select` would do with these arguments, without computing a dissimilarity.

    Parameters
    ----------
    source, target, k, weights, metric, preparation, method, constraints, until, by, obsm
        As in `select`, except that a `Stream` has no plan. If something other than ``k`` ends the
        search, the plan is for the largest number of prototypes it may choose. For `Certified` it
        is for the first attempt and its certificate. If a sample determines the number, it is for
        the sample and one search.
    n_jobs, limits
        As in `select`. Limits on evaluations or memory that `select` refuses before it computes
        anything are refused here too, unless a sample determines the number of prototypes.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.zeros((2000, 50), dtype=np.float32)
    >>> pb.plan(rows, k=10).evaluations
    4000000
    """
    source = with_obsm(source, obsm)
    rows: dict[str, Any] = {
        "source": source,
        "target": target,
        "weights": weights,
        "metric": metric,
        "preparation": preparation,
    }
    shared = [as_limits(limits)]
    if has_lazy_rows(source, target, weights):
        require_supported(by=by, until=until, constraints=constraints, preparation=preparation)
        return _plan_in_parts(k=k, method=method, limits=shared[0], n_jobs=n_jobs, **rows)
    certified = until if isinstance(until, Certified) and by is None else None
    if certified is not None:
        certified.require_count(k)
        until = None
    whole = shared[0]
    schedules: list[Schedule] = []
    if by is None:
        problems = [pose(**rows, k=k, constraints=constraints, until=until)]
    else:
        require_plain(constraints, until)
        source, target, by = with_classes(source, target, by, weights, preparation)
        rows |= {"source": source, "target": target}
        classes = class_problems(pose(**rows, k=1), by, k)
        problems, shared = [each.problem for each in classes], shared_limits(shared[0], classes)
    if certified is not None:
        chosen, _ = growing_method(method, problems[0], certified)
    elif by is None and uses_sample(method, problems[0], whole):
        chosen, problems[0], schedule = goal_schedule(method, problems[0], whole)
        schedules = [schedule]
    else:
        chosen, _ = chosen_method(method, *largest_class(problems, shared))
    if not schedules:
        for problem, own in zip(problems, shared, strict=True):
            require_affordable(chosen, problem, own, whole)
            schedules.append(chosen.schedule(problem, own))
            require_within_limit(chosen, problem, own, schedules[-1])
    if certified is not None:
        more = certificate_evaluations(problems[0])
        # How many searches follow the first is not known.
        one = schedules[0]
        schedules = [replace(one, evaluations=one.evaluations + more, most_evaluations=None)]
    times = [
        _seconds(problem, schedule, worker_count(n_jobs))
        for problem, schedule in zip(problems, schedules, strict=True)
    ]
    most = [schedule.most_evaluations for schedule in schedules]
    return Plan(
        method=chosen.name,
        parameters=parameters_of(chosen),
        evaluations=sum(schedule.evaluations for schedule in schedules),
        most_evaluations=None if None in most else sum(each for each in most if each),
        is_rough=any(schedule.is_rough for schedule in schedules),
        memory=max(schedule.memory for schedule in schedules),
        seconds=None if None in times else sum(time for time in times if time),
        left_out=sum(schedule.n_left_out for schedule in schedules),
        measuring=sum(schedule.measuring for schedule in schedules),
    )


def _plan_in_parts(*, n_jobs: int | None, preparation: Any, **arguments: Any) -> Plan:
    """Return the plan for Dask collections; the seconds are those of one machine."""
    found = plan_in_parts(n_jobs=n_jobs, **arguments)
    schedule = found.schedule
    return Plan(
        method=found.method.name,
        parameters=parameters_of(found.method),
        evaluations=schedule.evaluations,
        most_evaluations=None,
        is_rough=schedule.is_rough,
        memory=schedule.memory,
        seconds=_seconds(found.problem, schedule, worker_count(n_jobs)),
        left_out=0,
        parts=found.parts,
        passes=found.passes,
        tasks=found.tasks,
        bytes_moved=found.bytes_moved,
    )


def _seconds(problem: Problem, schedule: Schedule, workers: int) -> float | None:
    if problem.metric.is_expensive:
        return None
    is_product = problem.metric.is_product
    speed = _PRODUCTS_PER_SECOND if is_product else _DIFFERENCES_PER_SECOND
    columns = (problem.source.n_cells / len(problem.source)) or 1
    if schedule.stages:
        return _seconds_of_stages(problem, schedule, columns / speed, workers)
    computing = _LEAST_SECONDS + schedule.evaluations * columns / speed / workers
    if not schedule.rungs:
        keeping = schedule.evaluations * _READS / _NUMBERS_KEPT_PER_SECOND
        return computing + keeping + problem.k * _SECONDS_PER_PROTOTYPE
    share = _ON_ONE_CORE + (1 - _ON_ONE_CORE) / workers
    share *= 1 if problem.target is problem.source else _OTHER_TARGET
    keeping = schedule.evaluations * _RACE_SECONDS * share
    keeping += sum(rung.n_reads for rung in schedule.rungs) * _READ_SECONDS
    return computing + keeping + problem.k * _RACE_SECONDS_PER_PROTOTYPE


def _seconds_of_stages(
    problem: Problem, schedule: Schedule, per_evaluation: float, workers: int
) -> float:
    """Return the seconds of a local search, with the assignment of the whole target at its end."""
    n = schedule.evaluations + schedule.measuring
    # About a quarter of it runs on one core.
    spent = n * (per_evaluation + _LOCAL_SEARCH_SECONDS)
    spent += n_list_entries(schedule.stages, problem.k) * _LIST_SECONDS
    reading = problem.source.n_cells * _READING_SECONDS
    return _LEAST_SECONDS + spent * (1 / 4 + 3 / 4 / workers) + reading
