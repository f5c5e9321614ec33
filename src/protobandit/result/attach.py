"""Attach the rows to a loaded selection, and take the prototypes from rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.run.outcome import fingerprints

Attached = TypeVar("Attached", bound="Attachable")


class Attachable:
    """The methods of a `Selection` that concern its rows; it has the attributes declared here."""

    indices: Ids
    metric: Metric | str
    fingerprints: Mapping[str, str]
    problem: Problem | None
    preparation: FittedPreparation | None

    def attached(
        self: Attached,
        source: Any,
        target: Any = None,
        *,
        weights: Any = None,
        metric: Any = None,
    ) -> Attached:
        """Return the selection with its rows, so that certify, members and extended work again.

        Rows are compared with the saved digests. Weights are not checked: pass those the selection
        was made with. Constraints are not saved, so later calls do not apply them.

        Parameters
        ----------
        source, target
            The arguments of `select`, before any preparation; ``target`` is None if it was.
        weights
            The weights of the target rows.
        metric
            The metric, if the selection was made with a callable.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> saved = pb.select(rows, k=2).to_json()
        >>> pb.Selection.from_json(saved).attached(rows).members(0)
        array([1, 0, 2])
        """
        problem = pose(
            source,
            target,
            k=len(self.indices),
            weights=weights,
            metric=_required_metric(self.metric, metric),
            preparation=self.preparation,
        )
        found = fingerprints(problem)
        for side, digest in self.fingerprints.items():
            if found[side] != digest:
                n = len(problem.source if side == "source" else problem.target)
                raise InvalidInput(
                    f"{side} is not what this selection was made from: its {n:,} rows have another "
                    f"digest. Pass the rows it was made from, or select again."
                )
        return replace(self, problem=problem, metric=problem.metric)  # type: ignore[type-var]

    def take(self, frame: Any) -> Any:
        """Return the rows of ``frame`` at the prototypes, with index and columns.

        ``frame`` has one row per source row: a DataFrame, an array or a list.
        """
        self._require_source_length(frame)
        if hasattr(frame, "iloc"):
            return frame.iloc[self.indices]
        if isinstance(frame, (list, tuple)):
            return [frame[i] for i in self.indices]
        return frame[self.indices]

    def _require_source_length(self, frame: Any) -> None:
        if not hasattr(frame, "__getitem__") or isinstance(frame, (str, bytes, Mapping)):
            raise InvalidInput(
                f"frame is a {type(frame).__name__}, which has no rows to take. Pass a DataFrame, "
                f"an array or a list."
            )
        n = frame.shape[0] if hasattr(frame, "shape") else len(frame)
        least = int(self.indices.max()) + 1
        if n < least or (self.problem is not None and n != len(self.problem.source)):
            wanted = f"at least {least}" if self.problem is None else len(self.problem.source)
            raise InvalidInput(
                f"frame has {n} rows but the source has {wanted}. Pass one row per source row."
            )


def _required_metric(saved: Metric | str, passed: Any) -> Metric:
    if passed is not None:
        measure = as_metric(passed)
        name = saved if isinstance(saved, str) else saved.name
        if measure.name != name:
            raise InvalidInput(
                f"metric={measure.name!r} is not the {name!r} this selection was made with. Pass "
                f"{name!r}."
            )
        return measure
    if isinstance(saved, str):
        raise NotAvailable(
            f"This selection was made with your own metric {saved!r}, which is not part of the "
            f"JSON text. Pass metric=your_function."
        )
    return saved
