"""The arguments of ``protobandit select``, and the same with their files open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from protobandit._plan import Plan, plan
from protobandit._select import select
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.read_options import (
    Notify,
    ReadOptions,
    require_applicable,
    require_no_missing_values,
    weights_column,
)
from protobandit.metrics.default_metric import chosen_metric
from protobandit.metrics.metrics import ALIASES, METRICS, PARAMETERS, Metric, metric
from protobandit.problem.constraints import Constraints
from protobandit.problem.goals import Certified
from protobandit.problem.limits import Limits
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened
from protobandit.rows.messages import suggestion
from protobandit.rows.preparation.preparation import Preparation
from protobandit.run.checkpoint.checkpoint import Checkpoint
from protobandit.run.progress.reporter import Interrupt, Progress
from protobandit.search.methods.table import METHODS, as_method


@dataclass(frozen=True, kw_only=True)
class SelectArguments:
    """Files, and how to select from them.

    No ``targets`` means that the source is also the target. ``k`` may be a fraction of the source
    rows or "auto". ``metric`` None chooses a metric by the kind of rows. ``fixed`` holds row
    numbers, or ids if the read options name a column of ids. ``at_least`` and ``at_most`` are one
    number for all groups, or a number per group (None for all others). ``certified`` is the ratio
    of `Certified`. If ``in_parts``, files are read by tasks on Dask. The rest is as in
    `protobandit.select`.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    k: int | float | str
    read_options: ReadOptions = field(default_factory=ReadOptions)
    preparation: Preparation | None = None
    metric: str | None = None
    metric_parameters: Mapping[str, Any] = field(default_factory=dict)
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    at_least: int | Mapping[str | None, int] | None = None
    at_most: int | Mapping[str | None, int] | None = None
    min_distance: float | None = None
    certified: float | None = None
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    n_jobs: int | None = None
    in_parts: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedProblem:
    """Arguments with their rows open, the target weights, and the method as `select` takes it.

    ``target`` is the source if the source is also the target.
    """

    arguments: SelectArguments
    source: Opened
    target: Opened
    weights: Any
    method: Any

    @property
    def has_target(self) -> bool:
        """Return whether the target is another set of rows."""
        return self.target is not self.source

    def plan(self) -> Plan:
        """Return the estimated cost of the search."""
        return plan(**self._keywords)

    def select(
        self,
        *,
        progress: Callable[[Progress], Any] | None = None,
        interrupt: Interrupt | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Selection:
        """Search; the parameters are those of `protobandit.select`."""
        return select(
            **self._keywords,
            random_state=self.arguments.seed,
            progress=progress,
            interrupt=interrupt,
            checkpoint=checkpoint,
        )

    @property
    def _keywords(self) -> dict[str, Any]:
        """Return the keyword arguments that `select` and `plan` share."""
        arguments = self.arguments
        return {
            "source": self.source,
            "target": self.target if self.has_target else None,
            "k": arguments.k,
            "weights": self.weights,
            "metric": self._metric(),
            "method": self.method,
            "constraints": self._constraints(),
            "until": None if arguments.certified is None else Certified(arguments.certified),
            "by": self._classes(),
            "n_jobs": arguments.n_jobs,
            "limits": arguments.limits,
            "preparation": arguments.preparation,
        }

    def _metric(self) -> Metric:
        """Return the metric with its parameters; without a name, that of the kind of rows."""
        arguments = self.arguments
        given = arguments.metric
        known = {*METRICS, *PARAMETERS, *ALIASES}
        if given is not None and given not in known:
            raise InvalidInput(
                f"--metric {given!r} is not known.{suggestion(given, sorted(known))} "
                f"See `protobandit metrics`."
            )
        name = given or chosen_metric(None, self.source, arguments.preparation).name
        return metric(name, arguments.metric_parameters)

    def _classes(self) -> Any:
        name = self.arguments.read_options.by
        if name is None:
            return None
        labels = self.source.column(name)
        return (labels, self.target.column(name)) if self.has_target else labels

    def _constraints(self) -> Constraints | None:
        arguments, groups = self.arguments, self.arguments.read_options.groups
        at_least, at_most = arguments.at_least, arguments.at_most
        given = (groups, at_least, at_most, arguments.min_distance)
        if not arguments.fixed and all(each is None for each in given):
            return None
        if groups is None and (at_least is not None or at_most is not None):
            raise InvalidInput("--at-least and --at-most require --groups. Pass --groups COL too.")
        labels = None if groups is None else self.source.column(groups)
        are_named = isinstance(at_least, Mapping) or isinstance(at_most, Mapping)
        if labels is not None and are_named:  # names on the command line are text
            labels = np.array([str(label) for label in labels], dtype=object)
        return Constraints(
            fixed=self._fixed_rows(),
            groups=labels,
            at_least=at_least,
            at_most=at_most,
            min_distance=arguments.min_distance,
        )

    def _fixed_rows(self) -> list[int]:
        name, fixed = self.arguments.read_options.id, self.arguments.fixed
        if name is None:
            return [_row_number(text, self.source) for text in fixed]
        ids = [str(each) for each in self.source.column(name)]
        rows, counts = {each: row for row, each in enumerate(ids)}, Counter(ids)
        for text in fixed:
            if counts[text] != 1:
                raise InvalidInput(
                    f"--fixed {text!r} matches {counts[text]} rows in column {name!r}. Pass ids "
                    f"that match one row each, or row numbers without --id."
                )
        return [rows[text] for text in fixed]


def open_problem(arguments: SelectArguments, notify: Notify | None = None) -> OpenedProblem:
    """Open the files and find the columns that options name."""
    options = arguments.read_options
    method = method_with(arguments.method, arguments.parameters)
    if notify is not None:
        notify("Reading files …")
    source, target = options.open_sides(
        arguments.sources,
        arguments.targets,
        seed=arguments.seed,
        notify=notify,
        in_parts=arguments.in_parts,
    )
    require_applicable(options, source, target)
    has_gaps = arguments.preparation is not None and arguments.preparation.impute is not None
    if not has_gaps and not arguments.in_parts:  # the first pass over parts finds them
        require_no_missing_values(source, name="source")
        require_no_missing_values(target, name="target")
    return OpenedProblem(
        arguments=arguments,
        source=source,
        target=target,
        weights=weights_column(target, options.weights),
        method=method,
    )


def method_with(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a method with these parameters, or its name if there are none.

    Raises before any file is read if the name or a parameter is unknown.
    """
    if name not in ("auto", *METHODS):
        raise InvalidInput(
            f"--method {name!r} is not known.{suggestion(name, METHODS)} See `protobandit methods`."
        )
    method: Any = as_method(name)
    if not parameters:
        return name
    known = [each.name for each in fields(method)]
    for key in parameters:
        if key not in known:
            raise InvalidInput(
                f"method={method.name!r} has no parameter {key!r}. Use one of "
                f"{', '.join(known) or '(none)'}; see `protobandit methods`."
            )
    return type(method)(**parameters)


def _row_number(text: str, source: Opened) -> int:
    """Return the position of a row of the file among the rows that were read."""
    try:
        row = int(text)
    except ValueError:
        raise InvalidInput(
            f"--fixed {text!r} is not a row number. Pass numbers from 0 to {source.n_total - 1}, "
            f"or --id COL to name rows by their ids."
        ) from None
    if source.numbers is None:
        return row
    at = np.flatnonzero(source.numbers == row)
    if not len(at):
        raise InvalidInput(
            f"--fixed {row} is not among the {len(source):,} rows that --where leaves. Pass other "
            f"rows, or change --where."
        )
    return int(at[0])
