"""The result of every method: one frozen `Selection`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from protobandit.certificate.certificate import Certificate
from protobandit.certificate.certify import Solution, certify
from protobandit.foundation.checks import is_integer
from protobandit.foundation.errors import InvalidInput, NotAvailable
from protobandit.foundation.generators import independent_generator
from protobandit.foundation.run_warning import WarningKind
from protobandit.foundation.visible_text import visible
from protobandit.metrics.default_metric import takes_objects
from protobandit.metrics.metrics import Metric, as_metric
from protobandit.oracle.oracle import Oracle
from protobandit.problem.constraints import Constraints
from protobandit.problem.limits import Limits
from protobandit.problem.posing import pose
from protobandit.problem.problem import Problem
from protobandit.problem.reference import Reference
from protobandit.result import selection_file, serialization
from protobandit.result.drift import Drift, measured_drift
from protobandit.result.notebook import selection_html
from protobandit.result.plots import Plots
from protobandit.result.python_report import python_report
from protobandit.result.report.number_format import shown_error
from protobandit.result.table import as_frame, as_table, length_of, prototype_columns
from protobandit.rows.files.opening import as_opened
from protobandit.rows.partitioned_rows import OF_PARTS
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.transformer import FittedTransformer
from protobandit.run.assessment import assess_prefix
from protobandit.run.certification import Certification
from protobandit.run.executors.traffic import Traffic
from protobandit.run.extend import extend
from protobandit.run.goal_outcome import GoalOutcome
from protobandit.run.in_parts import has_lazy_rows, pose_in_parts, sampled_rows
from protobandit.run.outcome import RunEnd, SearchResult, Step, fingerprints
from protobandit.run.reference import Solved, is_cheap, reference_of
from protobandit.run.settings import Callback, as_run_settings
from protobandit.run.update import update, with_new_rows
from protobandit.search.drivers.pick import SwapPasses

_N_SHOWN = 8  # numbers of each kind in the repr
_STREAM_KEY = 0xA7
_REFERENCE = "_computed_reference"
# Warnings of searches that would find more without their limits.
_CUTS = (WarningKind.ROWS_LEFT_OUT, WarningKind.SMALLER_PLAN, WarningKind.LIMITED_SEARCH)


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
    reference
        Distances of rows that had no part in the selection, with which `drift` compares new rows;
        None until `with_reference` or `save` has computed them.
    fixed
        The source rows that constraints fixed.
    other_constraints
        The kinds of the other constraints, such as "groups". Their values are not saved.
    passes
        How many passes of swaps a method made, how many swaps, and what ended them early; None for
        methods without passes, and after loading.
    certification
        How far each attempt came, if ``until`` was `Certified`; None otherwise, and after loading.
    goal_outcome
        How the number of prototypes was determined on a sample and what fresh target rows confirm,
        for ``k="auto"`` and ``until`` on large problems; None otherwise, and after loading.
    end
        How the search ended, as a record; None after loading.
    traffic
        The parts, passes, tasks and bytes of a search on a Dask collection; None for rows in
        memory, and after loading.
    has_rows_in_pickle
        Whether a pickle contains the rows; see `including_rows`.
    """

    steps: tuple[Step, ...]
    passes: SwapPasses | None = None
    certification: Certification | None = None
    goal_outcome: GoalOutcome | None = None
    end: RunEnd | None = None
    traffic: Traffic | None = None
    has_rows_in_pickle: bool = False

    @staticmethod
    def from_result(result: SearchResult, *, traffic: Traffic | None = None) -> Selection:
        """Return the selection that a search has found.

        :meta private:
        """
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
            preparation=cast("FittedPreparation | FittedTransformer | None", problem.preparation),
            columns=problem.columns,
            columns_left_out=problem.columns_left_out,
            passes=result.passes,
            certification=certification,
            goal_outcome=result.goal_outcome,
            end=result.end,
            certificate=None if certification is None else certification.certificate,
            warnings=result.warnings,
            pulls=result.pulls,
            rows_read=problem.rows_read,
            fixed=tuple(problem.feasibility.fixed.tolist()),
            other_constraints=tuple(sorted(problem.feasibility.needs - {"fixed"})),
            traffic=traffic,
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
            status=f"{_first_of(k, self.k)} {self.status}",
            steps=self.steps[:k],
            prototypes=problem.source.take(first),
            problem=problem,
            reference=None,
            certificate=None,
            certification=None,
            goal_outcome=None,
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
        _require_in_memory(problem, "extended")
        self._require_constraints(problem)
        if self.prototype_labels is not None:
            raise InvalidInput(
                "This selection was made class by class, and so has no one k to raise. Select "
                "again with by= and more of each class."
            )
        settings = as_run_settings(random_state, limits, n_jobs, callback)
        return Selection.from_result(extend(self, problem, k, method, settings))

    def updated(
        self,
        new_rows: Any,
        *,
        k: int | float | None = None,
        keep: float = 0.8,
        weights: Any = None,
        share: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        limits: Limits | None = None,
    ) -> Selection:
        """Return a selection for old and new rows that keeps most of these prototypes.

        At least a share ``keep`` of the prototypes stays. Swaps exchange the others for old or new
        rows wherever that lowers the cost of all rows. If there are many rows, swaps are searched
        on samples. Row numbers of the result count the old source rows first, then the new rows. If
        the target was not the source, new rows only join the target.

        The old rows must be there: a selection that was loaded needs `attached` first.

        Parameters
        ----------
        new_rows
            Rows as in `assign`.
        k
            The number of prototypes: an int, or a fraction of all source rows; by default as many
            as before.
        keep
            The least share of these prototypes that stays, between 0 and 1.
        weights
            The weights of the new rows; by default each counts as an old row does on average.
        share
            The share of the new rows in the total weight, between 0 and 1. By default it follows
            from the weights.
        random_state, n_jobs, limits
            As in `select`.

        Examples
        --------
        >>> import protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], k=2)
        >>> later = selection.updated([[50.0], [51.0], [52.0]], k=3)
        >>> sorted(later.indices.tolist())
        [1, 4, 7]
        """
        if self.prototype_labels is not None:
            raise InvalidInput(
                "This selection was made class by class, and new rows have no class. Select from "
                "all rows with by=."
            )
        old = self._solved("New rows can only be weighed against the old ones.")
        self._require_constraints(old)
        settings = as_run_settings(random_state, limits, n_jobs, None)
        oracle, _ = self._oracle_for(new_rows, n_jobs, weights)
        new = oracle.problem
        given = None if weights is None else new.target_weights
        found = update(self, with_new_rows(old, new.target, given, share), k, keep, settings)
        remark = (
            f"Updated with {new.n_target:,} new rows: kept {found.n_kept} of {self.k} prototypes "
            f"and added {found.n_new}."
        )
        selection = Selection.from_result(found.result)
        if old.preparation is not None:  # the digests are those of rows before the preparation
            selection = replace(selection, fingerprints={})
        # Selecting again would find another set: kept prototypes are not the best ones.
        return replace(selection, status=f"{remark} {selection.status}", end=None)

    def _require_constraints(self, problem: Problem) -> None:
        """Raise if the selection was made with constraints that were not saved with it."""
        lost = [name for name in self.other_constraints if name not in problem.feasibility.needs]
        if lost:
            raise InvalidInput(
                f"This selection was made with constraints that are not saved with it: "
                f"{', '.join(lost)}. Select again with them; fixed rows can keep these prototypes."
            )

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

        Parameters
        ----------
        confidence, kind, evaluations, random_state, n_jobs
            As in `certify`.
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

    def drift(self, new_rows: Any, *, weights: Any = None, n_jobs: int | None = None) -> Drift:
        """Return whether the prototypes still represent new rows, compared with target rows.

        The comparison needs the `Reference` of this selection. It is loaded with a selection that
        `save` or the command line wrote. Otherwise it is computed on the first call from the rows
        of the selection, which may take as long as selecting, and kept. Cost: k evaluations per new
        row.

        Parameters
        ----------
        new_rows
            Rows as in `assign`. Of a Dask collection a sample of at most 131,072 rows is measured,
            which one pass over its parts draws; row numbers are those of the collection.
        weights
            The weights of the new rows; equal by default.
        n_jobs
            The number of threads; None or -1 uses all available cores.

        Examples
        --------
        >>> import numpy as np, protobandit as pb
        >>> random = np.random.default_rng(0)
        >>> selection = pb.select(random.normal(size=(500, 2)), k=20, random_state=0)
        >>> selection.drift(random.normal(size=(200, 2))).is_significant
        False
        >>> selection.drift(random.normal(size=(200, 2)) + 1).is_significant
        True
        """
        numbers = None
        if has_lazy_rows(new_rows, weights):
            drawn = sampled_rows(new_rows, weights, self.columns, n_jobs)
            new_rows, weights, numbers = drawn.rows, drawn.weights, drawn.ids
        oracle, chosen = self._oracle_for(new_rows, n_jobs, weights)
        found = measured_drift(oracle, chosen, self.mass, self._known_reference(n_jobs))
        return found if numbers is None else found.renumbered(numbers)

    def with_reference(
        self, *, only_if_cheap: bool = False, n_jobs: int | None = None
    ) -> Selection:
        """Return this selection with its ``reference``, which `drift` compares new rows with.

        Call it before `to_json` if the text will be used for `drift`; `save` does it. It repeats
        the search on a part of the rows, or reads a sample of the target if that is large compared
        with k.

        Parameters
        ----------
        only_if_cheap
            If True, return the selection as it is if the reference would take more than a few
            seconds and a quarter of the search, or if the metric is expensive.
        n_jobs
            The number of threads; None or -1 uses all available cores.
        """
        if self.reference is not None:
            return self
        if only_if_cheap and not self._has_cheap_reference():
            return self
        return replace(self, reference=self._known_reference(n_jobs))

    def _known_reference(self, n_jobs: int | None) -> Reference:
        if self.reference is not None:
            return self.reference
        found: Reference | None = self.__dict__.get(_REFERENCE)
        if found is None:
            problem = self._solved(
                "It was saved without a reference for new rows. Save it with "
                "selection.save(path, reference=True), or call with_reference() before to_json()."
            )
            found = reference_of(self._solution(problem), n_jobs=n_jobs)
            self.__dict__[_REFERENCE] = found  # a cache: the same selection has one reference
        return found

    def _has_cheap_reference(self) -> bool:
        """Return whether the reference is known, or takes little time."""
        if _REFERENCE in self.__dict__:
            return True
        evaluations = self.evaluations - self.evaluations_by_phase.get("certify", 0)
        return self.problem is not None and is_cheap(
            self._solution(self.problem), evaluations=evaluations, lookups=self.lookups
        )

    def _solution(self, problem: Problem) -> Solved:
        end = self.end
        is_cut = any(each.kind in _CUTS for each in self.warnings)
        is_repeatable = (
            end is not None
            and not (end.is_partial or is_cut)
            and problem.goal is None
            and self.prototype_labels is None
        )
        return Solved(
            problem=problem,
            indices=self.indices,
            cost=self.cost,
            method=self.method,
            parameters=self.parameters,
            is_repeatable=is_repeatable,
        )

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
        was made with. Of constraints, only fixed rows are saved; `extended` and `updated` refuse a
        selection that was made with others.

        Parameters
        ----------
        source, target
            The arguments of `select`, before any preparation; ``target`` is None if it was. Other
            columns of a frame or file than the compared ones are left out. A Dask collection needs
            the same partitions, and is read once; its rows may also be given in memory.
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
        known, k = _required_metric(self.metric, metric), len(self.indices)
        if has_lazy_rows(source, target, weights):
            settings = as_run_settings(0, None, None, None)
            problem = pose_in_parts(
                source, target, k=k, weights=weights, metric=known, method="auto", settings=settings
            ).problem
        else:
            if not isinstance(self.preparation, FittedTransformer):  # it chooses columns itself
                source = as_opened(
                    source,
                    name="source",
                    preparation=self.preparation,
                    like=self.columns,
                    takes_objects=takes_objects(known),
                )
            problem = pose(
                source,
                target,
                k=k,
                weights=weights,
                metric=known,
                constraints=Constraints(fixed=self.fixed),
                preparation=self.preparation,
            )
        found = fingerprints(problem)
        for side, digest in self.fingerprints.items():
            # Rows in memory have another digest than parts; the prototypes are compared instead.
            is_other = digest.startswith(OF_PARTS) and not found[side].startswith(OF_PARTS)
            is_same = self._holds_prototypes(problem) if is_other else found[side] == digest
            if not is_same:
                n = len(problem.source if side == "source" else problem.target)
                raise InvalidInput(
                    f"{side} is not what this selection was made from: its {n:,} rows have another "
                    f"digest. Pass the rows it was made from (a Dask collection with the same "
                    f"partitions), or select again."
                )
        if self.indices.max() >= len(problem.source):
            raise InvalidInput(
                f"This selection names source row {self.indices.max()}, but source has "
                f"{len(problem.source):,} rows. Its text was modified; select again."
            )
        return replace(self, problem=problem, metric=problem.metric)

    def _holds_prototypes(self, problem: Problem) -> bool:
        """Return whether the source rows at the indices are the prototypes."""
        if self.indices.max() >= len(problem.source):
            return False
        rows = np.asarray(problem.source.take(self.indices))
        own = np.asarray(self.prototypes)
        return rows.shape == own.shape and np.allclose(rows, own, rtol=1e-6, atol=0)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        rows: Any = None,
        target: Any = None,
        show: Sequence[str] | None = None,
        labels: Any = None,
        images: Any = None,
        names: Any = None,
        drift: Drift | None = None,
        random_state: int = 0,
    ) -> Path:
        """Write an HTML page that shows the selection, and return its path.

        The page is one file that needs no network. An existing file is replaced. Cost: k
        evaluations per target row, of at most 20,000 rows.

        Parameters
        ----------
        path
            The file to write, or a folder, in which it is ``report.html``.
        rows
            One row per source row, as the page shows it: a DataFrame, an array, a list of texts or
            dicts, a file, or an AnnData object (its ``obs``), also with columns that were not
            compared. By default the page shows the numbers that the metric compares, except those
            of vectors and categories.
        target
            The same for the target rows, if the target is not the source.
        show
            Columns of ``rows`` that come first.
        labels, names
            A label and a name for each source row, or the name of a column of ``rows``.
        images
            One image per source row: an array of shape (n, height, width) or (n, height, width, 3),
            a list of such images, or a function that returns the images of given row numbers.
        drift
            The result of `drift`, which the page then shows.
        random_state
            The seed of what is drawn at random.

        Examples
        --------
        >>> import tempfile, protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     selection.report(folder + "/page.html", labels=["low", "low", "high", "high"]).name
        'page.html'
        """
        if drift is not None and not isinstance(drift, Drift):
            raise InvalidInput(
                f"drift={drift!r:.40} is not the result of selection.drift(new_rows). Pass that."
            )
        attached = self
        if self.problem is None and rows is not None:
            attached = self.attached(rows, target)
        problem = attached._solved("Pass them: report(path, rows=rows).")
        _require_in_memory(problem, "report")
        text = python_report(
            attached,
            problem,
            rows=rows,
            target=target,
            show=show,
            labels=labels,
            images=images,
            names=names,
            drift=drift,
            random_state=random_state,
        )
        return selection_file.write_text(path, text, "report.html")

    def to_frame(self, rows: Any = None) -> Any:
        """Return one row per prototype: rank, row, mass, gain, cost, and columns of the source.

        The result is a DataFrame of pandas, or of the library of ``rows``. ``is_fixed`` marks
        rows that constraints fixed.

        Parameters
        ----------
        rows
            A table with one row per source row, whose columns are added. By default the compared
            columns are added, if they have names and were not prepared.

        Examples
        --------
        >>> import protobandit as pb
        >>> pb.select([[0.0], [1.0], [9.0], [10.0]], k=2).to_frame()[["rank", "mass"]]
           rank  mass
        0     1   0.5
        1     2   0.5
        """
        if has_lazy_rows(rows):
            raise InvalidInput(
                "rows is a Dask collection, which to_frame does not read. Call to_frame() and join "
                "it with selection.take(rows)."
            )
        table = as_table(rows, self.columns)
        if rows is not None:
            n = length_of(table) if hasattr(table, "__len__") else 0
            self._require_source_length(range(n), name="rows")
        return as_frame(prototype_columns(self, table), like=rows)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        reference: bool | None = None,
        n_jobs: int | None = None,
    ) -> Path:
        """Write the selection as JSON, without its rows except the prototypes.

        Parameters
        ----------
        path
            A file, or a folder in which the file is ``selection.json``. An existing file is
            replaced.
        reference
            Whether to compute the reference for `drift` first, if it is missing (see
            `with_reference`). None does so if the rows are there, unless that takes long or the
            metric is expensive (your own function, or one of texts).
        n_jobs
            The number of threads for the reference.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile, protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [9.0], [10.0]], k=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = selection.save(folder)
        ...     file.name, pb.Selection.load(file).k
        ('selection.json', 2)
        """
        saved = self
        if reference is None or reference:
            saved = self.with_reference(only_if_cheap=reference is None, n_jobs=n_jobs)
        return selection_file.write_text(path, saved.to_json() + "\n")

    @staticmethod
    def load(
        path: str | os.PathLike[str], *, metric: Any = None, preparation: Any = None
    ) -> Selection:
        """Return the selection that `save` or the command line wrote.

        Parameters
        ----------
        path
            The file, or the folder of results that the command line wrote.
        metric
            The function, if the selection was made with your own metric.
        preparation
            The fitted transformer, if the selection was made with one of scikit-learn and `assign`
            is needed: ``selection.preparation.transformer``, which joblib can save.

        Examples
        --------
        >>> import tempfile, protobandit as pb
        >>> selection = pb.select([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], k=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = selection.save(f"{folder}/selection.json")
        ...     pb.Selection.load(path).assign([[9.0]]).labels
        array([1])
        """
        text = selection_file.read_text(path)
        return Selection.from_json(text, metric=metric, preparation=preparation)

    def including_rows(self) -> Selection:
        """Return the selection with its rows in every pickle of it; other pickles leave them out.

        Without rows, a selection from a pickle answers questions about new rows only, like one that
        was loaded.
        """
        return replace(self, has_rows_in_pickle=True)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if not self.has_rows_in_pickle:
            state["problem"] = None
        return state

    def __copy__(self) -> Selection:
        return self  # nothing of it changes, and a copy by way of a pickle would lose the rows

    def __deepcopy__(self, memo: Any) -> Selection:
        return self

    def __len__(self) -> int:
        return self.k

    def to_json(self) -> str:
        """Return the selection as JSON text; NaN is written as null.

        It holds the reference for `drift` only if `with_reference` was called; `save` does that.
        """
        return serialization.dump(self)

    @staticmethod
    def from_json(text: str, *, metric: Any = None, preparation: Any = None) -> Selection:
        """Return the selection that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        metric
            The metric, if the selection was made with a callable and `assign` is needed.
        preparation
            The fitted transformer, if the selection was made with one of scikit-learn and `assign`
            is needed: ``selection.preparation.transformer``, which joblib can save.
        """
        return serialization.load(text, Selection, metric=metric, preparation=preparation)

    def __repr__(self) -> str:
        error = shown_error(self.cost_error)
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

    def _repr_html_(self) -> str:
        number = f"{self.k} prototype{'' if self.k == 1 else 's'}"
        return selection_html(self, title=f"{number} by {self.method} ({self.metric_name})")

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


def _first_of(n: int, k: int) -> str:
    """Return which part of a selection this is, as a sentence."""
    if k == 1:
        return "The only prototype."
    return f"The first of {k} prototypes." if n == 1 else f"The first {n} of {k} prototypes."


def _first_few(items: Iterable[str]) -> str:
    texts = list(items)
    return ", ".join(texts[:_N_SHOWN]) + (", …" if len(texts) > _N_SHOWN else "")


def _require_in_memory(problem: Problem, name: str) -> None:
    if problem.is_in_parts:
        raise NotAvailable(
            f"{name} needs the rows in memory, but they are parts of a collection. Select from a "
            f"sample, such as source.sample(frac=0.01).compute(), or from rows in memory."
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
