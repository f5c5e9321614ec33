"""A selection and the rows it was made from: given back after loading, and taken from."""

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
from protobandit.run.search import fingerprints

Attached = TypeVar("Attached", bound="Attachable")


class Attachable:
    """What was made from rows, and may hold them; `Selection` is."""

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

        Rows are checked by the digests that were saved. Weights are not: pass those it was made
        with. Constraints are not kept; what comes after does not heed them.

        Parameters
        ----------
        source, target
            What `select` was given, before any preparation; ``target`` None if it was.
        weights
            The weights of the target rows.
        metric
            The callable, if the selection was made with one.

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
            metric=_measure(self.metric, metric),
            preparation=self.preparation,
        )
        found = fingerprints(problem)
        for side, digest in self.fingerprints.items():
            if found[side] != digest:
                raise InvalidInput(
                    f"{side} is not what this selection was made from: it has changed, or is "
                    f"another ({len(getattr(problem, side)):,} rows). Pass the rows it was made "
                    f"from, or select again."
                )
        return replace(self, problem=problem, metric=problem.metric)  # type: ignore[type-var]

    def take(self, frame: Any) -> Any:
        """Return the prototypes' rows of ``frame``, index and columns kept.

        ``frame`` is anything of the source's length: a DataFrame, an array, a list.
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
                f"frame has {n} rows but the source {wanted}. Pass what the source rows came from."
            )


def _measure(kept: Metric | str, passed: Any) -> Metric:
    if passed is not None:
        measure = as_metric(passed)
        name = kept if isinstance(kept, str) else kept.name
        if measure.name != name:
            raise InvalidInput(
                f"metric={measure.name!r} is not the {name!r} this selection was made with. Pass "
                f"that one."
            )
        return measure
    if isinstance(kept, str):
        raise NotAvailable(
            f"This selection was made with your own metric {kept!r}, which JSON cannot hold. Pass "
            f"metric=your_function."
        )
    return kept
