"""The result: one frozen `Selection`, whatever the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.certificate.certify import Claim, certify
from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.generators import as_generator
from protobandit.metrics.metrics import Metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.guarantee import Guarantee
from protobandit.problem.limits import Limits
from protobandit.problem.problem import Problem
from protobandit.result import serialization
from protobandit.result.attach import Attachable
from protobandit.result.plots import Plots
from protobandit.result.queries import Answers, Silhouette, is_whole, silhouette
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.run.assessment import assess_prefix
from protobandit.run.extend import extend
from protobandit.run.outcome import SearchResult, Step, fingerprints
from protobandit.run.settings import Callback, as_run_settings
from protobandit.search.drivers.pick import SwapPasses


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(Plots, Attachable, Answers):
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
    coefficients
        By protodash: the non-negative coefficient of each prototype, not scaled to any sum.
    criticisms
        By mmd-critic, if asked for: target rows that the prototypes represent worst, worst first.
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
        The chosen rows as the metric reads them (numbers, CSR or a list; prepared, if rows were);
        of a precomputed matrix, their numbers. `take` returns them from what they came in.
    preparation
        What rows go through before the metric reads them; `assign` and the like repeat it.
    columns
        What the source's columns are called, if they have names; `assign` and the like match frames
        by them.
    fingerprints
        Digests of source and target.
    problem
        The problem that was solved; None after loading.
    certificate
        How far from the best this can be, if `certified` asked.
    curve
        The costs of 1, 2, … prototypes in which ``k="auto"`` looked for a knee.
    spent
        What the prototypes cost together, where rows have costs.
    prototype_labels
        The class of each prototype, where each was chosen for its own (``by=``).
    passes
        How many passes of swaps a method made, how many swaps, and what ended them early; None for
        methods without passes, and after loading.
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
    coefficients: Doubles | None = None
    criticisms: Ids | None = None
    problem: Problem | None = None
    certificate: Certificate | None = None
    curve: Doubles | None = None
    spent: float | None = None
    prototype_labels: Any = None
    preparation: FittedPreparation | None = None
    columns: tuple[str, ...] | None = None
    passes: SwapPasses | None = None

    @staticmethod
    def from_result(result: SearchResult) -> Selection:
        """Return the selection that a search has found."""
        problem = result.problem
        return Selection(
            indices=result.indices,
            costs=result.assessment.costs,
            mass=result.assessment.mass,
            cost_error=result.assessment.error,
            evaluations_by_phase=result.evaluations_by_phase,
            lookups=result.lookups,
            guarantee=result.guarantee,
            status=f"{result.status} {problem.remark}".rstrip(),
            steps=result.steps,
            method=result.method,
            parameters=result.parameters,
            metric=problem.metric,
            prototypes=problem.source.take(result.indices),
            fingerprints=fingerprints(problem),
            coefficients=result.extras.coefficients,
            criticisms=result.extras.criticisms,
            problem=problem,
            curve=result.curve,
            spent=problem.feasibility.paid(result.indices),
            prototype_labels=result.labels,
            preparation=problem.preparation,
            columns=problem.columns,
            passes=result.passes,
        )

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

    def at(self, k: int, *, random_state: Any = None, n_jobs: int | None = None) -> Selection:
        """Return the selection of the first ``k`` prototypes, with their own cost and mass.

        Costs are those of this selection. The mass takes k evaluations a target row, or on as many
        fresh rows as a sampled method is judged on; the result's ``evaluations`` are these. What is
        proven of the whole is not claimed of a part.

        Parameters
        ----------
        k
            How many, from 1 to the number of prototypes.
        random_state
            A seed, Generator or RandomState for the fresh rows.
        n_jobs
            Threads.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> nested = pb.select(rows, k=[1, 2, 4], method="lazygreedy")
        >>> [nested.at(k).indices.tolist() for k in (1, 2)]
        [[2], [2, 4]]
        """
        if not (is_whole(k) and 1 <= k <= self.k):
            raise InvalidInput(f"k={k!r} is not between 1 and the {self.k} prototypes.")
        if k == self.k:
            return self
        problem = replace(self._solved("Take the parts before it is saved."), k=int(k))
        oracle = Oracle(problem, n_jobs=n_jobs)
        first = self.indices[:k]
        result = assess_prefix(
            oracle,
            first,
            is_exact=self.cost_error == 0,
            random=as_generator(random_state),
        )
        labels = self.prototype_labels
        return replace(
            self,
            indices=first,
            costs=self.costs[:k],
            mass=result.mass,
            coefficients=None,
            criticisms=None,
            cost_error=result.error,
            evaluations_by_phase={p: oracle.evaluations[p] for p in self.evaluations_by_phase},
            lookups=0,
            guarantee=None,
            status=f"The first {k} of {self.k} prototypes. {self.status}",
            steps=self.steps[:k],
            prototypes=problem.source.take(first),
            problem=problem,
            certificate=None,
            spent=problem.feasibility.paid(first),
            prototype_labels=None if labels is None else labels[:k],
        )

    def extended(
        self,
        k: int | float,
        *,
        method: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        limits: Limits | None = None,
        callback: Callback | None = None,
    ) -> Selection:
        """Return a selection of ``k`` prototypes that begins with these.

        For "lazygreedy" and "spotgreedy" it is what ``k`` prototypes at once would have been, until
        nothing is left to gain. Evaluations count from here: |T| for each prototype there is, and
        what the new ones take.

        Parameters
        ----------
        k
            How many in all: an int, or a fraction of the source rows.
        method
            A name or value, as in `select`; by default the one that made this selection, or
            "lazygreedy" where that one cannot go on from given prototypes.
        random_state, n_jobs, limits, callback
            As in `select`; the prototypes there are already count as steps.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> pb.select(rows, k=2, method="lazygreedy").extended(3).indices
        array([2, 4, 0])
        """
        problem = self._solved("Pass constraints=Constraints(fixed=selection) to select instead.")
        if self.prototype_labels is not None:
            raise InvalidInput(
                "This selection was made class by class, and so has no one k to raise. Select "
                "again with by= and more of each class."
            )
        settings = as_run_settings(random_state, limits, n_jobs, callback)
        return Selection.from_result(extend(self, problem, k, method, settings))

    def silhouette(self, *, n_jobs: int | None = None) -> Silhouette:
        """Return how clearly target rows belong to their prototypes: the medoid silhouette.

        The weighted mean over target rows of 1 - D/E, with D and E the distances to the nearest and
        second nearest prototype: 0 where they are alike, 1 where the rows are the prototype. Cost:
        k evaluations a target row, which the result counts.

        References
        ----------
        Van der Laan, Pollard, Bryan (2003), A new partitioning around medoids algorithm; Lenssen,
        Schubert (2022), Clustering by direct optimization of the medoid silhouette.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> round(pb.select(rows, k=2).silhouette().mean, 3)
        0.933
        """
        if self.k < 2:
            raise InvalidInput("silhouette needs 2 prototypes or more, not 1. Select k >= 2.")
        problem = self._solved("Ask before it is saved.")
        return silhouette(Oracle(problem, n_jobs=n_jobs), self.indices)

    def members(self, i: int) -> Ids:
        """Return the target rows nearest to prototype ``i`` (0 is the first), nearest first.

        Cost: k evaluations a target row; for several prototypes call `assign` once instead.
        """
        if not (is_whole(i) and -self.k <= i < self.k):
            raise InvalidInput(f"i={i!r} is not one of the prototypes 0 to {self.k - 1}.")
        labels, distances = self.assign(self._solved("Pass them to assign(rows) instead.").target)
        own = np.flatnonzero(labels == i % self.k)
        return own[np.argsort(distances[own], kind="stable")]

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
        added (see ``protobandit.certificate.certify`` for the proof). With room for every
        dissimilarity the bound is exact.

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
        return serialization.dump(self)

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
        fields = serialization.fields(text, metric=metric)
        steps = tuple(Step(**step) for step in fields.pop("steps"))
        return Selection(steps=steps, **fields)

    def _solved(self, advice: str) -> Problem:
        if self.problem is None:
            raise NotAvailable(
                f"This selection was loaded and does not hold the target rows. {advice} Or give it "
                f"its rows back: attached(source, target)."
            )
        return self.problem

    def __repr__(self) -> str:
        name = self.metric if isinstance(self.metric, str) else self.metric.name
        error = f" ± {self.cost_error:.2g}" if self.cost_error else ""
        shown = ", ".join(str(i) for i in self.indices[:8]) + (", …" if self.k > 8 else "")
        found = f"{self.k} prototype{'' if self.k == 1 else 's'}"
        lines = (
            f"Selection of {found} by {self.method} ({name})",
            f"  indices      {shown}",
            f"  cost         {self.cost:.6g}{error}",
            f"  mass         {self.mass.max():.3g} largest, {self.mass.min():.3g} smallest",
            *serialization.listings(self),
            f"  evaluations  {serialization.counted(self)}",
            f"  seconds      {self.seconds:.3g}",
            f"  guarantee    {self.guarantee or 'none'}",
            *((f"  certificate  {self.certificate}",) if self.certificate else ()),
            *((f"  spent        {self.spent:g}",) if self.spent is not None else ()),
            f"  status       {self.status}",
        )
        return "\n".join(lines)
