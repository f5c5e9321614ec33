"""The result: one frozen `Selection`, whatever the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from protobandit import _document
from protobandit._certificate import Certificate
from protobandit._certify import Claim, certify
from protobandit._errors import InvalidInput, NotAvailable
from protobandit._guarantee import Guarantee
from protobandit._metrics import Metric
from protobandit._oracle import Oracle
from protobandit._problem import Problem, pose
from protobandit._typing import Doubles, Floats, Ids


class Status(Enum):
    """How a run ended; the value is the sentence the user reads."""

    SETTLED = "Selected {n} prototypes; cost and mass are exact over all {n_target} target rows."
    SAMPLED = (
        "Selected {n} prototypes on sampled target rows; cost and mass are estimated on "
        "{n_assessed} fresh ones."
    )
    STOPPED = "Stopped by {reason} after {n} of the {k} prototypes asked for."


@dataclass(frozen=True, kw_only=True)
class Step:
    """One prototype: which source row, what it brought, and what had been spent by then.

    ``gain`` is the drop of the cost as the search saw it (NaN for the first prototype, before which
    there is no cost); ``evaluations`` and ``seconds`` count from the start of the run.
    """

    index: int
    gain: float
    evaluations: int
    seconds: float


class Assignment(NamedTuple):
    """For each row, which prototype is nearest (0 is the first) and how far away it is."""

    labels: Ids
    distances: Floats


class Explanation(NamedTuple):
    """For each row its nearest prototypes, nearest first: numbers, source rows, distances."""

    prototypes: Ids
    indices: Ids
    distances: Floats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection:
    """Prototypes, best first, and what is known of them.

    Attributes
    ----------
    indices
        Rows of the source, best first: every prefix is itself a good smaller selection.
    costs
        The cost after each pick; ``gains`` are their drops.
    mass
        The share of the target each prototype stands for; sums to 1.
    cost_error
        The standard error of ``cost``; 0.0 when it is exact.
    evaluations_by_phase, lookups
        Dissimilarities computed (build, swap, assign, certify), and answers from a cache.
    guarantee
        What is proven of this run, or None.
    status
        How it ended, as a sentence.
    steps
        One `Step` a prototype.
    method, parameters
        The method's name and its parameters.
    metric
        The metric; after loading from JSON a callable must be passed again.
    prototypes
        The chosen rows themselves (numbers, CSR or a list); of a precomputed matrix, their numbers.
    fingerprints
        Digests of source and target.
    problem
        The problem that was solved; None after loading.
    certificate
        How far from the best this can be, if `certified` asked.
    """

    indices: Ids
    costs: Doubles
    mass: Doubles
    cost_error: float
    evaluations_by_phase: Mapping[str, int]
    lookups: int
    guarantee: Guarantee | None
    status: str
    steps: tuple[Step, ...]
    method: str
    parameters: Mapping[str, Any]
    metric: Metric | str
    prototypes: Any
    fingerprints: Mapping[str, str]
    problem: Problem | None = None
    certificate: Certificate | None = None

    @property
    def k(self) -> int:
        """Return the number of prototypes."""
        return len(self.indices)

    @property
    def cost(self) -> float:
        """Return the weighted mean distance of the target to its nearest prototype."""
        return float(self.costs[-1])

    @property
    def gains(self) -> Doubles:
        """Return how much each pick lowered the cost; NaN for the first."""
        return np.concatenate([[np.nan], -np.diff(self.costs)])

    @property
    def evaluations(self) -> int:
        """Return the dissimilarities computed."""
        return sum(self.evaluations_by_phase.values())

    @property
    def seconds(self) -> float:
        """Return how long the search took."""
        return self.steps[-1].seconds

    def assign(self, rows: Any, *, n_jobs: int | None = None) -> Assignment:
        """Return the nearest prototype of any rows.

        Parameters
        ----------
        rows
            Rows like the source's. For a precomputed metric: dissimilarities of shape
            (n, number of source rows).
        n_jobs
            Threads.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2)
        >>> selection.assign([[8.0], [2.0]]).labels
        array([1, 0])
        """
        oracle, chosen = self._oracle_for(rows, n_jobs)
        n = len(oracle.problem.target)
        labels, distances = np.empty(n, dtype=np.int64), np.empty(n, dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            labels[cut] = block.argmin(axis=0)
            distances[cut] = block.min(axis=0)

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return Assignment(labels, distances)

    def distances(self, rows: Any, *, n_jobs: int | None = None) -> Floats:
        """Return d(row, prototype) for any rows, shape (number of rows, k)."""
        oracle, chosen = self._oracle_for(rows, n_jobs)
        out = np.empty((len(oracle.problem.target), self.k), dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            out[cut] = block.T

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return out

    def explain(self, rows: Any, *, n: int | None = None, n_jobs: int | None = None) -> Explanation:
        """Return the ``n`` nearest prototypes of each row, nearest first; 3 if not given."""
        n = min(3, self.k) if n is None else n
        if not (_is_whole(n) and 1 <= n <= self.k):
            raise InvalidInput(f"n={n!r} is not between 1 and the {self.k} prototypes.")
        oracle, chosen = self._oracle_for(rows, n_jobs)
        shape = len(oracle.problem.target), n
        nearest, distances = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=oracle.dtype)

        def visit(block: Floats, cut: slice) -> None:
            order = np.argsort(block, axis=0, kind="stable")[:n]
            nearest[cut] = order.T
            distances[cut] = np.take_along_axis(block, order, axis=0).T

        with oracle.at_work(), oracle.during("assign"):
            oracle.each_chunk(chosen, visit)
        return Explanation(nearest, self.indices[nearest], distances)

    def members(self, i: int) -> Ids:
        """Return the target rows nearest to prototype ``i`` (0 is the first), nearest first.

        Cost: k evaluations a target row; for several prototypes call `assign` once instead.
        """
        if not (_is_whole(i) and -self.k <= i < self.k):
            raise InvalidInput(f"i={i!r} is not one of the prototypes 0 to {self.k - 1}.")
        labels, distances = self.assign(self._solved("Pass them to assign(rows) instead.").target)
        own = np.flatnonzero(labels == i % self.k)
        return own[np.argsort(distances[own], kind="stable")]

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

    def certify(
        self,
        *,
        confidence: float = 0.95,
        kind: str = "rigorous",
        evaluations: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Certificate:
        """Bound how many times the cost of the best ``k`` source rows this selection costs.

        Target rows are drawn anew and every source row is judged on them: the best set costs at
        least what the dual of the k-median problem on these rows says, less what chance may have
        added (see ``protobandit._certify`` for the proof). With room for every dissimilarity the
        bound is exact.

        Parameters
        ----------
        confidence
            How likely the statement is to be true, between 0 and 1.
        kind
            "rigorous" holds for any data and any number of rows; it first compares the whole
            target with the prototypes. "asymptotic" reads the drawn rows only, and trusts that
            their means are close to normal.
        evaluations
            Dissimilarities it may compute. By default a quarter of all, or fewer where that is
            plenty, and those of the prototypes; all of them up to 1,024 target rows.
        random_state
            A seed, Generator or RandomState; the same seed gives the same certificate on any number
            of threads.
        n_jobs
            Threads; None or -1 for all cores at hand.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], k=2)
        >>> print(selection.certify())
        For certain, the cost is at most 1.0000 times that of the best 2 source rows
        """
        problem = self._solved("Certify a selection before it is saved; its JSON keeps the result.")
        claim = Claim(
            problem=problem,
            prototypes=self.indices,
            cost=self.cost,
            is_exact=self.cost_error == 0,
        )
        return certify(
            claim,
            confidence=confidence,
            kind=kind,
            evaluations=evaluations,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def certified(
        self,
        *,
        confidence: float = 0.95,
        kind: str = "rigorous",
        evaluations: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Selection:
        """Return this selection with the result of `certify`, its evaluations counted."""
        certificate = self.certify(
            confidence=confidence,
            kind=kind,
            evaluations=evaluations,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        spent = dict(self.evaluations_by_phase)
        spent["certify"] = spent.get("certify", 0) + certificate.evaluations
        return replace(self, certificate=certificate, evaluations_by_phase=spent)

    def to_json(self) -> str:
        """Return the selection as JSON; NaN is written as null."""
        return _document.dump(self)

    @staticmethod
    def from_json(text: str, *, metric: Any = None) -> Selection:
        """Return the selection that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        metric
            The callable, if the selection was made with one and `assign` is wanted.
        """
        fields = _document.fields(text, metric=metric)
        steps = tuple(Step(**step) for step in fields.pop("steps"))
        return Selection(steps=steps, **fields)

    def _solved(self, advice: str) -> Problem:
        if self.problem is None:
            raise NotAvailable(
                f"This selection was loaded and does not hold the target rows. {advice}"
            )
        return self.problem

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

    def _oracle_for(self, rows: Any, n_jobs: int | None) -> tuple[Oracle, Ids]:
        if isinstance(self.metric, str):
            raise NotAvailable(
                f"This selection was made with your own metric {self.metric!r}, which JSON cannot "
                f"hold. Load it with Selection.from_json(text, metric=your_function)."
            )
        if rows is None:
            raise InvalidInput("rows=None is not a set of rows. Pass rows like the source's.")
        try:
            problem, chosen = self._against(rows, self.metric)
        except InvalidInput as error:
            raise InvalidInput(f"rows do not fit this selection: {error}") from None
        return Oracle(problem, n_jobs=n_jobs), chosen

    def _against(self, rows: Any, metric: Metric) -> tuple[Problem, Ids]:
        """Pose ``rows`` as the target of the prototypes, and say which sources these are."""
        if metric.name != "precomputed":
            source, target = self.prototypes, rows
            if isinstance(source, list):
                source, target = _as_objects(source), _as_objects(rows)
            return pose(source, target, k=1, metric=metric), np.arange(self.k)
        problem = pose(rows, k=1, metric=metric)
        if len(problem.source) <= self.indices.max():
            raise InvalidInput(
                f"they have {len(problem.source)} columns; metric='precomputed' needs one for "
                f"each source row, at least {int(self.indices.max()) + 1}."
            )
        return problem, self.indices

    def __repr__(self) -> str:
        name = self.metric if isinstance(self.metric, str) else self.metric.name
        error = f" ± {self.cost_error:.2g}" if self.cost_error else ""
        shown = ", ".join(str(i) for i in self.indices[:8]) + (", …" if self.k > 8 else "")
        lines = (
            f"Selection of {self.k} prototypes by {self.method} ({name})",
            f"  indices      {shown}",
            f"  cost         {self.cost:.6g}{error}",
            f"  mass         {self.mass.max():.3g} largest, {self.mass.min():.3g} smallest",
            f"  evaluations  {self.evaluations:,} ({self.lookups:,} lookups)",
            f"  seconds      {self.seconds:.3g}",
            f"  guarantee    {self.guarantee or 'none'}",
            *((f"  certificate  {self.certificate}",) if self.certificate else ()),
            f"  status       {self.status}",
        )
        return "\n".join(lines)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _as_objects(rows: Any) -> Any:
    """Keep a list a list of objects, even where its items would make a table of numbers."""
    if not isinstance(rows, (list, tuple)):
        return rows
    items = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        items[i] = row
    return items
