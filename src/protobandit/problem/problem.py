"""The problem: rows, a metric, weights and k, validated once and frozen.

The oracle and every search import this file, so it imports little; `pose`, which reads and checks
what the user passes, is in `posing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import weights_or_ones
from protobandit.foundation.endless import ENDLESS
from protobandit.foundation.run_warning import RunWarning
from protobandit.metrics.metrics import Metric
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.goals import Goal
from protobandit.rows.rows import Rows


class Target:
    """Target rows with their weights, in one object that has no length.

    Cross-validation splits every argument that has as many entries as ``X``. A `Target` has no
    length, so every fold receives all of it.

    Parameters
    ----------
    rows
        The rows to represent.
    weights
        One weight per row; None means equal weights.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> source = np.arange(6.0).reshape(-1, 1)
    >>> target = pb.Target(np.array([[1.1], [4.2]]), weights=[3, 1])
    >>> pb.select(source, target, k=1).indices
    array([1])
    """

    def __init__(self, rows: Any, *, weights: Any = None) -> None:
        self.rows = rows
        self.weights = weights

    def __repr__(self) -> str:
        shape = getattr(self.rows, "shape", None)
        return f"Target(rows={type(self.rows).__name__}{shape or ''})"


class RowPreparation(Protocol):
    """What a problem needs of the `FittedPreparation` of its rows.

    Importing the class itself would make every module that uses a `Problem` import the file
    readers.
    """

    def to_document(self) -> dict[str, Any]:
        """Return the preparation as values that JSON can hold."""
        ...


class OpenTarget(Protocol):
    """What a search needs of a target that is read while it runs; see `rows.streams.OpenStream`.

    A problem that has one is not a value any more: it can be solved once.
    """

    @property
    def n_read(self) -> int:
        """Return the number of rows read so far."""
        ...

    def draw(self, n: int) -> Rows:
        """Return the next ``n`` rows; raise if there are fewer."""
        ...

    def skip_to(self, n_read: int) -> None:
        """Read on until ``n_read`` rows have been read, as an earlier run did."""
        ...

    def kept(self) -> Rows:
        """Return the rows that were kept."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Choose ``k`` of ``source`` to represent ``target``.

    Attributes
    ----------
    source, target
        The rows to choose from and the rows to represent. For a stream, ``target`` holds the rows
        that were read first, in their order. While a search draws rows from an open stream, these
        are a few that only give the kind and the scale of the rows.
    metric
        How dissimilarities are computed.
    weights
        The weights that the user passed (their sum is ``total``), or None if all are equal.
    k
        The number of prototypes; an upper bound if a ``goal`` or a budget ends the search.
    feasibility
        Which rows may be chosen together.
    goal
        What ends the search before ``k`` prototypes are chosen, or None.
    fresh
        Rows of a stream on which the prototypes are assessed, or None.
    stream
        The stream from which the search draws rows as it needs them, or None.
    rows_read
        The number of rows read from a stream; None if the target is not a stream.
    preparation
        The preparation that was applied to the rows, or None.
    columns
        The names of the compared columns, if they have names.
    columns_left_out
        By column that is not compared, the reason.
    remark
        What the user should know about the rows.
    warnings
        What may be wrong with the rows.
    conditions
        What every guarantee assumes about the rows.
    """

    source: Rows
    target: Rows
    metric: Metric
    weights: Doubles | None
    k: int
    feasibility: Feasibility
    goal: Goal | None = None
    fresh: Rows | None = None
    stream: OpenTarget | None = None
    rows_read: int | None = None
    preparation: RowPreparation | None = None
    columns: tuple[str, ...] | None = None
    columns_left_out: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    warnings: tuple[RunWarning, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def needs(self) -> frozenset[str]:
        """Return what a method must support: constraints, and "until" for a goal."""
        return self.feasibility.needs | ({"until"} if self.goal is not None else set())

    @property
    def is_open_ended(self) -> bool:
        """Return whether a solution may have fewer than ``k`` prototypes."""
        feasibility = self.feasibility
        is_bounded = feasibility.budget is not None or feasibility.min_distance is not None
        return self.goal is not None or is_bounded

    @property
    def n_source(self) -> int:
        """Return the number of source rows."""
        return len(self.source)

    @property
    def n_target(self) -> int:
        """Return the number of target rows."""
        return len(self.target)

    @property
    def is_in_parts(self) -> bool:
        """Return whether source or target are parts of a collection."""
        return self.source.is_partitioned or self.target.is_partitioned

    def sample(self) -> Problem:
        """Return the problem of the rows in memory: samples of sides that are in parts.

        Equal sides stay equal. Constraints do not apply to samples.
        """
        source, is_same = self.source.held, self.target is self.source
        return Problem(
            source=source,
            target=source if is_same else self.target.held,
            metric=self.metric,
            weights=self.target.held_weights if self.target.is_partitioned else self.weights,
            k=self.k,
            feasibility=Feasibility.none(len(source)),
        )

    @property
    def population(self) -> int:
        """Return after how many target rows the mean of a sample is exact."""
        return len(self.target) if self.stream is None else ENDLESS

    @property
    def target_weights(self) -> Doubles:
        """Return one weight per target row: ones if all are equal."""
        return weights_or_ones(self.weights, self.n_target)

    @property
    def total(self) -> float:
        """Return the sum of the weights."""
        if self.target.total is not None:
            return self.target.total
        return float(self.n_target) if self.weights is None else float(self.weights.sum())

    def part(self, sources: Ids, targets: Ids, k: int) -> Problem:
        """Return the problem of choosing ``k`` of the source rows ``sources`` for ``targets``."""
        is_same = self.target is self.source and np.array_equal(sources, targets)
        columns = sources if self.metric.name == "precomputed" else None
        source = self.source.subset(sources)
        target = source if is_same else self.target.subset(targets, columns)
        weights = None if self.weights is None else self.weights[targets]
        return Problem(
            source=source,
            target=target,
            metric=self.metric,
            weights=none_if_equal(weights),
            k=k,
            feasibility=Feasibility.none(len(sources)),
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the rows as a metric reads them."""
        is_narrow = self.target.kind == "dense" and self.target.dtype == np.float32
        return np.dtype(np.float32) if is_narrow else np.dtype(np.float64)

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """Return the type of dissimilarities: a user's own function returns float64."""
        return np.dtype(np.float64) if self.metric.is_expensive else self.dtype


def none_if_equal(weights: Doubles | None) -> Doubles | None:
    """Return the weights, or None where all are equal; if all are 0, no row counts more either."""
    return None if weights is None or (weights == weights[0]).all() else weights
