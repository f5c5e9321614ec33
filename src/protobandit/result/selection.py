"""The result of every method: one frozen `Selection`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from protobandit.certificate.certificate import Certificate
from protobandit.certificate.certify import Solution, certify
from protobandit.foundation.checks import is_integer
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.generators import independent_generator
from protobandit.foundation.visible_text import visible
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.limits import Limits
from protobandit.problem.posing import pose
from protobandit.result import serialization
from protobandit.result.plots import Plots
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.run.assessment import assess_prefix
from protobandit.run.certification import Certification
from protobandit.run.extend import extend
from protobandit.run.outcome import RunEnd, SearchResult, Step, fingerprints
from protobandit.run.settings import Callback, as_run_settings
from protobandit.search.drivers.pick import SwapPasses

_N_SHOWN = 8  # numbers of each kind in the repr
_STREAM_KEY = 0xA7


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection(Plots):
    """Prototypes, best first, and what is known about them.

    Attributes
    ----------
    indices
        Rows of the source, best first. Every prefix is itself a good smaller selection.
    costs
        The cost after each prototype; ``gains`` are the decreases.
    mass
        The share of the target that each prototype represents; sums to 1.
    cost_error
        The standard error of ``cost``; 0.0 if the cost is exact, NaN if it is an estimate from rows
        that all have the same distance.
    coefficients
        The non-negative coefficient of each prototype, not normalised; protodash only.
    criticisms
        Target rows that the prototypes represent worst, worst first; mmd-critic only, on request.
    evaluations_by_phase, lookups
        The numbers of dissimilarities computed (build, swap, assign, certify) and read from a
        cache.
    pulls
        The number of rewards, each of one source row at one target row, on which "protobandit"
        decided; 0 for other methods.
    rows_read
        The number of rows read from a `Stream`; None if the target is not a stream.
    guarantee
        What is proven about this run, or None.
    status
        Sentences on how the search ended, which end with the warnings.
    warnings
        What may be wrong with the result: records with a ``kind`` and a ``message``.
    steps
        One `Step` per prototype.
    method, parameters
        The method's name and its parameters.
    metric
        The metric. After loading from JSON, a callable must be passed again.
    prototypes
        The chosen rows in the form the metric reads: an array, a CSR matrix or a list, prepared if
        rows were; for a precomputed metric, their numbers. `take` returns them from the original
        rows.
    preparation
        The preparation that rows go through before the metric reads them. `assign` and other
        queries apply it to new rows.
    columns, columns_left_out
        The names of the compared columns, if they have names, and the reason for each column that
        is not compared. A column of vectors is one column. `assign` and other queries find the
        compared columns of frames and files by name.
    fingerprints
        Digests of source and target.
    problem
        The problem that was solved; None after loading.
    certificate
        A bound on the distance from the best cost, if `certified` was called.
    curve
        The costs of 1, 2, … prototypes among which ``k="auto"`` searched for a knee.
    spent
        The total cost of the prototypes, if rows have costs.
    prototype_labels
        The class of each prototype, if prototypes were selected per class (``by=``).
    passes
        How many passes of swaps a method made, how many swaps, and what ended them early; None for
        methods without passes, and after loading.
    certification
        How far each attempt came, if ``until`` was `Certified`; None otherwise, and after loading.
    end
        How the search ended, as a record; None after loading.
    """

    steps: tuple[Step, ...]
    passes: SwapPasses | None = None
    certification: Certification | None = None
    end: RunEnd | None = None

    @staticmethod
    def from_result(result: SearchResult) -> Selection:
        """Return the selection that a search has found."""
        problem, certification = result.problem, result.certification
        return Selection(
            indices=result.indices,
            costs=result.assessment.costs,
            mass=result.assessment.mass,
            cost_error=result.assessment.error,
            evaluations_by_phase=result.evaluations_by_phase,
            lookups=result.lookups,
            guarantee=result.guarantee,
            status=result.status,
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
            preparation=cast("FittedPreparation | None", problem.preparation),
            columns=problem.columns,
            columns_left_out=problem.columns_left_out,
            passes=result.passes,
            certification=certification,
            end=result.end,
            certificate=None if certification is None else certification.certificate,
            warnings=result.warnings,
            pulls=result.pulls,
            rows_read=problem.rows_read,
        )

    @property
    def seconds(self) -> float:
        """Return the duration of the search."""
        return self.steps[-1].seconds

    def at(self, k: int, *, random_state: Any = None, n_jobs: int | None = None) -> Selection:
        """Return the selection of the first ``k`` prototypes, with their cost and mass.

        Costs are those of this selection. Computing the mass takes k evaluations per target row, or
        per row of a fresh sample if the cost of this selection is an estimate; the ``evaluations``
        of the result are these. The result has no guarantee and no certificate.

        Parameters
        ----------
        k
            The number of prototypes to keep, from 1 to all.
        random_state
            A seed, Generator or RandomState for the fresh sample.
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Examples
        --------
        >>> import protobandit as pb
        >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
        >>> nested = pb.select(rows, k=[1, 2, 4], method="lazygreedy")
        >>> [nested.at(k).indices.tolist() for k in (1, 2)]
        [[2], [2, 4]]
        """
        if not (is_integer(k) and 1 <= k <= self.k):
            raise InvalidInput(
                f"k={k!r:.60} is not between 1 and the {self.k} prototypes. Pass an integer in "
                f"this range."
            )
        if k == self.k:
            return self
        problem = replace(self._solved("Take the parts before it is saved."), k=int(k))
        oracle = Oracle(problem, n_jobs=n_jobs)
        first = self.indices[:k]
        result = assess_prefix(
            oracle,
            first,
            is_exact=self.cost_error == 0,
            random=independent_generator(random_state, _STREAM_KEY),
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
            certification=None,
            end=None,
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
        """Return a selection of ``k`` prototypes that starts with these.

        For "lazygreedy" and "spotgreedy", the result equals that of selecting ``k`` prototypes at
        once, as long as there is something to gain. Evaluations count from here: |T| for each
        existing prototype, and those of the search for new ones.

        Parameters
        ----------
        k
            The total number of prototypes: an int, or a fraction of the source rows.
        method
            A name or value, as in `select`; by default the method of this selection, or
            "lazygreedy" if that method cannot start from given prototypes.
        random_state, n_jobs, limits, callback
            As in `select`; existing prototypes count as steps.

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

    def certify(
        self,
        *,
        confidence: float = 0.95,
        kind: str = "auto",
        evaluations: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Certificate:
        """Return an upper bound on the ratio of the cost to that of the best ``k`` source rows.

        The dual of the k-median problem gives a lower bound on the best cost. It is solved either
        for all target rows, or for fresh rows on which every source row is evaluated, with a margin
        for the sampling error (``protobandit.certificate.betting`` has the proof). The certificate
        lists in ``conditions`` what it assumes and cannot check. For a stream it refers to the rows
        that were read.

        Parameters
        ----------
        confidence
            The probability that the statement is true, between 0 and 1.
        kind
            "auto" is "exact" up to 2e8 pairs of a source row and a target row, unless the metric is
            expensive (your own function, or one of texts) or ``evaluations`` is passed; otherwise
            it is "rigorous". "exact" computes every dissimilarity, one to six times, in blocks; the
            bound holds for certain. "rigorous" compares the whole target with the prototypes, then
            draws rows in proportion to their distance; the bound holds with the given probability
            for any data. "asymptotic" only reads rows that it draws. It assumes that the mean
            distance of these rows is close to normal and that no outlier matters that was never
            drawn. "rigorous" and "asymptotic" become exact where that costs no more. If the cost is
            an estimate, "asymptotic" becomes "rigorous" where the whole target costs no more than
            the drawn rows.
        evaluations
            The largest number of dissimilarities to compute. By default as many as an exact
            certificate needs, or, if rows are drawn, a quarter of all or fewer and those of the
            prototypes.
        random_state
            A seed, Generator or RandomState. The same seed gives the same certificate on any number
            of threads.
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], k=2)
        >>> print(selection.certify())
        For certain, the cost is at most 1.0000 times that of the best 2 source rows
        """
        problem = self._solved(
            "Certify a selection before it is saved; its JSON contains the result."
        )
        solution = Solution(
            problem=problem,
            prototypes=self.indices,
            cost=self.cost,
            is_exact=self.cost_error == 0,
        )
        return certify(
            solution,
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
        kind: str = "auto",
        evaluations: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Selection:
        """Return this selection with the result of `certify`, whose evaluations are counted.

        The parameters are those of `certify`.
        """
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

    def attached(
        self,
        source: Any,
        target: Any = None,
        *,
        weights: Any = None,
        metric: Any = None,
    ) -> Selection:
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
        if self.indices.max() >= len(problem.source):
            raise InvalidInput(
                f"This selection names source row {self.indices.max()}, but source has "
                f"{len(problem.source):,} rows. Its text was modified; select again."
            )
        return replace(self, problem=problem, metric=problem.metric)

    def to_json(self) -> str:
        """Return the selection as JSON text; NaN is written as null."""
        return serialization.dump(self)

    @staticmethod
    def from_json(text: str, *, metric: Any = None) -> Selection:
        """Return the selection that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        metric
            The metric, if the selection was made with a callable and `assign` is needed.
        """
        return serialization.load(text, Selection, metric=metric)

    def __repr__(self) -> str:
        error = f" ± {self.cost_error:.2g}" if self.cost_error else ""
        number = f"{self.k} prototype{'' if self.k == 1 else 's'}"
        lines = (
            f"Selection of {number} by {self.method} ({self.metric_name})",
            f"  indices      {_first_few(map(str, self.indices))}",
            f"  cost         {self.cost:.6g}{error}",
            f"  mass         {self.mass.max():.3g} largest, {self.mass.min():.3g} smallest",
            *self._method_lines(),
            f"  evaluations  {self._evaluations_line()}",
            f"  seconds      {self.seconds:.3g}",
            f"  guarantee    {self.guarantee or 'none'}",
            *((f"  certificate  {self.certificate}",) if self.certificate else ()),
            *((f"  spent        {self.spent:g}",) if self.spent is not None else ()),
            f"  status       {self.status}",
        )
        return "\n".join(map(visible, lines))

    def _method_lines(self) -> list[str]:
        """Return the lines of the repr that only some methods have."""
        lines = []
        if self.coefficients is not None:
            shown = _first_few(f"{value:.3g}" for value in self.coefficients)
            lines.append(f"  coefficients {shown}")
        if self.criticisms is not None:
            lines.append(f"  criticisms   {_first_few(map(str, self.criticisms))}")
        return lines

    def _evaluations_line(self) -> str:
        """Return the evaluations, with those of the certificate apart, and the lookups."""
        certify = self.evaluations_by_phase.get("certify", 0)
        more = f"+ {certify:,} for the certificate, " if certify else ""
        return f"{self.evaluations - certify:,} ({more}{self.lookups:,} lookups)"


def _first_few(items: Iterable[str]) -> str:
    texts = list(items)
    return ", ".join(texts[:_N_SHOWN]) + (", …" if len(texts) > _N_SHOWN else "")


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
