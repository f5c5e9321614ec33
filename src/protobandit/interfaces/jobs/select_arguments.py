"""What is to be selected, from the words of the command line to the arguments of `select`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from protobandit._plan import Plan, plan
from protobandit._select import select
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.read_options import (
    ReadOptions,
    Tell,
    opened_sides,
    require_used,
    require_whole_columns,
)
from protobandit.metrics.metrics import metric
from protobandit.problem.constraints import Constraints
from protobandit.problem.limits import Limits
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened
from protobandit.rows.preparation.preparation import Preparation
from protobandit.search.methods.table import METHODS, as_method


@dataclass(frozen=True, kw_only=True)
class SelectArguments:
    """Choose rows of some files to stand for others.

    ``metric`` None is the one that suits the rows; ``fixed`` are row numbers, or ids where the
    reading has a column of them; ``at_least`` and ``at_most`` are a number or a mapping from group
    to number.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    k: Any
    reading: ReadOptions = field(default_factory=ReadOptions)
    preparation: Preparation | None = None
    metric: str | None = None
    metric_parameters: Mapping[str, Any] = field(default_factory=dict)
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    at_least: Any = None
    at_most: Any = None
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    n_jobs: int | None = None

    def posed(self, tell: Tell | None = None) -> Posed:
        """Open the files, and find the columns that options name."""
        method = method_of(self.method, self.parameters)
        if tell is not None:
            tell("Reading files …")
        source, target = opened_sides(
            self.reading, self.sources, self.targets, seed=self.seed, tell=tell
        )
        require_used(self.reading, source, target)
        if self.preparation is None or self.preparation.impute is None:
            require_whole_columns(source, name="source")
            require_whole_columns(target, name="target")
        weights = weights_of(target, self.reading.weights)
        return Posed(task=self, source=source, target=target, weights=weights, method=method)


@dataclass(frozen=True, kw_only=True, eq=False)
class Posed:
    """A task with its rows open, the target's weights, and the method as `select` takes it.

    ``target`` is the source where the source stands for itself.
    """

    task: SelectArguments
    source: Opened
    target: Opened
    weights: Any
    method: Any

    @property
    def has_target(self) -> bool:
        """Tell whether the target is another set of rows."""
        return self.target is not self.source

    def planned(self) -> Plan:
        """Return what the search would take."""
        return plan(**self._arguments)

    def selected(self, **watching: Any) -> Selection:
        """Search; ``watching`` are select's progress, interrupt and checkpoint."""
        return select(**self._arguments, random_state=self.task.seed, **watching)

    @property
    def _arguments(self) -> dict[str, Any]:
        task = self.task
        return {
            "source": self.source.rows,
            "target": self.target.rows if self.has_target else None,
            "k": task.k,
            "weights": self.weights,
            "metric": metric(task.metric or self._suitable_metric(), task.metric_parameters),
            "method": self.method,
            "constraints": self._constraints(),
            "by": self._classes(),
            "n_jobs": task.n_jobs,
            "limits": task.limits,
            "preparation": task.preparation,
        }

    def _suitable_metric(self) -> str:
        if self.source.kind == "texts":
            return "levenshtein"
        is_gower = self.task.preparation is not None and self.task.preparation.is_gower
        return "manhattan" if is_gower else "euclidean"

    def _classes(self) -> Any:
        name = self.task.reading.by
        if name is None:
            return None
        own = self.source.column(name)
        return (own, self.target.column(name)) if self.has_target else own

    def _constraints(self) -> Constraints | None:
        task, groups = self.task, self.task.reading.groups
        if not task.fixed and groups is None and task.at_least is None and task.at_most is None:
            return None
        if groups is None and (task.at_least is not None or task.at_most is not None):
            raise InvalidInput(
                "--at-least and --at-most count rows of groups. Pass --groups COL as well."
            )
        labels = None if groups is None else self.source.column(groups)
        are_named = isinstance(task.at_least, Mapping) or isinstance(task.at_most, Mapping)
        if labels is not None and are_named:
            labels = np.array([str(label) for label in labels], dtype=object)
        return Constraints(
            fixed=self._fixed(), groups=labels, at_least=task.at_least, at_most=task.at_most
        )

    def _fixed(self) -> list[int]:
        name = self.task.reading.id
        if name is None:
            return [_row_number(text, len(self.source)) for text in self.task.fixed]
        ids = [str(each) for each in self.source.column(name)]
        places, counts = {each: row for row, each in enumerate(ids)}, Counter(ids)
        for text in self.task.fixed:
            if counts[text] != 1:
                found = "several rows have" if counts[text] else "no row has"
                raise InvalidInput(
                    f"--fixed names {text!r}, an id that {found} in column {name!r}. Pass ids of "
                    f"one row each, or row numbers without --id."
                )
        return [places[text] for text in self.task.fixed]


def weights_of(target: Opened, name: str | None) -> Any:
    """Return the column of weights, which must hold numbers, or None."""
    if name is None:
        return None
    values = target.column(name)
    if values.dtype.kind not in "biuf":
        raise InvalidInput(
            f"--weights {name!r} is a column of target: {target.path} that does not hold numbers "
            f"({values[0]!r} is the first). Pass one of numbers >= 0."
        )
    return values


def method_of(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a method with parameters; without any its name will do."""
    if not parameters:
        as_method(name)  # refuses unknown names before any file is read
        return name
    kind: Any = type(as_method(name))
    known = [each.name for each in fields(kind)]
    for key in parameters:
        if key not in known:
            raise InvalidInput(
                f"method={kind.name!r} has no parameter {key!r}. It takes "
                f"{', '.join(known) or 'none'}; see `protobandit methods`."
            )
    return METHODS[kind.name](**parameters)


def _row_number(text: str, n: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"--fixed names {text!r}, which is not a row number. Pass numbers from 0 to {n - 1}, "
            f"or --id COL to name rows by their ids."
        ) from None
