"""The reference of a selection: how far rows of the same distribution lie from its prototypes.

Theory of operation
-------------------
The target rows themselves are no reference. Prototypes are at distance 0 of themselves, and all
were chosen so that these rows are near: with 10 target rows per prototype, new rows of the same
distribution cost 15 to 50 % more. The excess falls with the number of rows per prototype. So there
are three cases:

1. Rows of a stream that were drawn after the search are a fair sample.
2. With 1,000 target rows per prototype or more, the excess is below what the reference can show. A
   sample of the target without the prototypes is the reference.
3. Otherwise a part of the target is held out (also from the source if both are the same), the
   search is repeated without it, and the distances of the held-out rows to the prototypes of the
   repeated search are the reference. A tenth is held out, several times if the target is small. A
   search on nine tenths of the rows generalises slightly worse. `_LOSS` corrects for it: new rows
   then cost more by about 0.2 h / (n - h) times the excess, if h of n rows are held out (measured,
   see ``benchmarks/drift_calibration.py``).

The m distances of case 3 are not independent: rows that are held out once belong to the other
searches, and the prototypes of the selection are not those of the repeated searches. The mean of m
such distances of n rows has the variance of 1 / (1 / m + c / n) independent ones. Rows that are far
from all others hardly depend on each other, so c is `_SHARED` times the variance of the distances
that are cut off at their 95 % quantile, divided by the variance of the distances (measured: c is
0.3 to 0.6 for Gaussian rows, 10 to 100 per prototype). So the reference has that many distances:
means of groups of neighbours among the m distances.

A large target is replaced by a random part, with as many rows per prototype. The excess depends
mainly on this number, so the reference of the part, times cost / cost on the part, is that of the
whole. The same is done if the search cannot be repeated: it was stopped, or made class by class.

If rows have weights, a row takes part in the reference with a probability that is proportional to
its weight. What remains is an unweighted sample of the distribution that the weights describe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.oracle.oracle import Oracle
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.problem import Problem
from protobandit.problem.reference import Reference, effective_size, thinned
from protobandit.run.search import search
from protobandit.run.settings import as_run_settings
from protobandit.search.methods.initial_rows import BUILD
from protobandit.search.methods.method import Method
from protobandit.search.methods.table import METHODS

N_DISTANCES = 512
_PLENTY = 1000  # target rows per prototype from which the excess is too small to matter
_HELD_OUT = 0.1  # of the target
_HELD_OUT_ONCE = 0.2  # if the search is repeated only once although the target is small
_MOST_REPEATED = 10  # searches
_MANY_PAIRS = 2e7  # of a source row and a target row; then the search is repeated once
_LARGE = 10_240  # target rows; a larger target is replaced by a part
_LOSS = 0.2
_SHARED = 0.6
_TAIL = 0.95
_KEY = 0x4EF
# When the reference is computed unasked: it reads few numbers, or few compared with the search.
_FEW_NUMBERS = 2e9  # takes about two seconds on one core
_SMALL_SHARE = 0.25
_PRODUCTS = 8  # multiply-adds of a matrix product take as long as reading one number


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """A solved problem: the prototypes, their cost, and the method that found them.

    ``is_repeatable`` is whether the same method on the same problem finds prototypes of the same
    quality.
    """

    problem: Problem
    indices: Ids
    cost: float
    method: str
    parameters: Mapping[str, Any]
    is_repeatable: bool

    @property
    def is_large(self) -> bool:
        """Return whether prototypes have enough rows each, so that no search is repeated."""
        return effective_size(self.problem.target_weights) >= _PLENTY * len(self.indices)


def reference_of(solved: Solved, *, n_jobs: int | None = None) -> Reference:
    """Return the reference of a selection; the same selection always has the same reference."""
    problem, random = solved.problem, np.random.default_rng(_KEY)
    if problem.fresh is not None:
        fresh = replace(problem, target=problem.fresh, weights=None)
        rows = random.permutation(len(problem.fresh))[:N_DISTANCES]
        return _direct(Oracle(fresh, n_jobs=n_jobs), solved.indices, rows)
    drawn = thinned(problem.target_weights, random)
    if solved.is_large:
        if _is_one_set(problem):
            drawn = drawn[~np.isin(drawn, solved.indices)]
        return _direct(Oracle(problem, n_jobs=n_jobs), solved.indices, drawn[:N_DISTANCES])
    if solved.is_repeatable and len(problem.target) <= _LARGE:
        return _HeldOut(solved, _repeated_method(solved), n_jobs).reference(drawn, random)
    return _of_part(solved, random, n_jobs)


def is_cheap(solved: Solved, *, evaluations: int, lookups: int) -> bool:
    """Return whether the reference takes little time, if the search took these numbers.

    The answer depends on counts only, so that equal runs save equal results.
    """
    problem = solved.problem
    if problem.metric.is_expensive:
        return False
    if problem.fresh is not None or solved.is_large:
        return True
    n, method = len(problem.target), _repeated_method(solved)
    if solved.is_repeatable and n <= _LARGE:
        n_held, most = _held_out(problem, method)
        searches = float(np.ceil(most / n_held))
    else:
        searches = 2 * min(1.0, _LARGE / n)
    columns = max(1.0, problem.source.n_cells / len(problem.source))
    columns /= _PRODUCTS if problem.metric.is_product else 1
    numbers = evaluations * columns + lookups
    return searches * numbers <= max(_FEW_NUMBERS, _SMALL_SHARE * numbers)


def _held_out(problem: Problem, method: Method) -> tuple[int, int]:
    """Return how many rows are held out of a search, and how many of all searches."""
    is_long = problem.metric.is_expensive or method.has_own_kernel
    is_long |= len(problem.source) * len(problem.target) > _MANY_PAIRS
    share = _HELD_OUT_ONCE if is_long else _HELD_OUT
    n = effective_size(problem.target_weights)
    n_held = min(N_DISTANCES, max(1, int(share * n)), max(1, len(problem.source) - 1))
    return n_held, n_held if is_long else min(N_DISTANCES, _MOST_REPEATED * n_held)


def _without_tail(distances: Doubles) -> float:
    """Return which part of the variance is left if the largest distances are cut off."""
    whole = float(distances.var())
    cut = float(np.minimum(distances, np.quantile(distances, _TAIL)).var())
    return cut / whole if whole > 0 else 1.0


def _group_means(ascending: Doubles, n: float) -> Doubles:
    """Return the means of about ``n`` groups of neighbours of the same size; so the mean stays."""
    size, total = max(1, round(n)), np.concatenate([[0.0], np.cumsum(ascending)])
    ends = np.linspace(0, len(ascending), size + 1)
    found: Doubles = np.diff(np.interp(ends, np.arange(len(total)), total))
    return found * (size / len(ascending))


def _is_one_set(problem: Problem) -> bool:
    """Return whether the source rows are the target rows."""
    if problem.metric.name == "precomputed":
        return len(problem.source) == len(problem.target)
    is_same = problem.target is problem.source
    return is_same or problem.target.fingerprint() == problem.source.fingerprint()


def _direct(oracle: Oracle, prototypes: Ids, rows: Ids) -> Reference:
    distances = _nearest(oracle, prototypes, rows)
    return Reference(distances=np.sort(distances), evaluations=oracle.evaluations.total())


def _nearest(oracle: Oracle, prototypes: Ids, rows: Ids) -> Doubles:
    """Return the distances of some target rows to their nearest prototypes."""
    nearest = np.empty(len(rows))

    def visit(block: Floats, cut: slice) -> None:
        nearest[cut] = block.min(axis=0)

    with oracle.at_work(), oracle.during("assign"):
        oracle.each_chunk(prototypes, visit, rows)
    return nearest


def _of_part(solved: Solved, random: np.random.Generator, n_jobs: int | None) -> Reference:
    """Return the reference from a part of the problem that has as many rows per prototype."""
    problem = solved.problem
    n, is_same = len(problem.target), _is_one_set(problem)
    share = min(1.0, _LARGE / n)
    targets = np.sort(random.permutation(n)[: round(share * n)])
    if not problem.target_weights[targets].any():
        targets = np.sort(np.append(targets, problem.target_weights.argmax()))
    n_source = max(1, round(share * len(problem.source)))
    sources = targets if is_same else np.sort(random.permutation(len(problem.source))[:n_source])
    k = min(max(1, round(share * len(solved.indices))), len(sources))
    part, method = problem.part(sources, targets, k), _repeated_method(solved)
    result = search(part, method, _settings(n_jobs))
    oracle = Oracle(part, n_jobs=n_jobs)
    nearest = _nearest(oracle, result.indices, np.arange(len(part.target)))
    cost = float(np.average(nearest, weights=part.target_weights))
    own = replace(solved, problem=part, indices=result.indices, cost=cost)
    found = _HeldOut(own, method, n_jobs).reference(thinned(part.target_weights, random), random)
    spent = sum(result.evaluations_by_phase.values()) + oracle.evaluations.total()
    return Reference(
        distances=found.distances * (solved.cost / cost if cost > 0 else 1.0),
        evaluations=found.evaluations + spent,
    )


class _HeldOut:
    """Repeats the search without some target rows, and measures these."""

    def __init__(self, solved: Solved, method: Method, n_jobs: int | None) -> None:
        self.solved = solved
        self.problem = solved.problem
        self.method = method
        self.n_jobs = n_jobs
        self.oracle = Oracle(self.problem, n_jobs=n_jobs)
        self.spent = 0

    def reference(self, drawn: Ids, random: np.random.Generator) -> Reference:
        """Return the reference from ``drawn``, which are target rows in random order."""
        problem = self.problem
        is_same, everything = _is_one_set(problem), drawn
        if is_same:
            drawn = drawn[~np.isin(drawn, problem.feasibility.fixed)]
        n, (n_held, most) = effective_size(problem.target_weights), _held_out(problem, self.method)
        folds = np.split(drawn[:most], range(n_held, min(most, len(drawn)), n_held))
        found = [self._distances(held, is_same=is_same) for held in folds if len(held)]
        distances = np.sort(np.concatenate([np.empty(0), *found]))
        if len(distances) == 0:  # every row is fixed, or has all of the weight
            return _direct(self.oracle, self.solved.indices, everything[:N_DISTANCES])
        excess = max(0.0, distances.mean() - self.solved.cost)
        mean = distances.mean() - _LOSS * excess * n_held / max(1.0, n - n_held)
        # Rows that are drawn by weight are few, and nearly independent.
        shared = _SHARED * _without_tail(distances) if problem.weights is None else 0.0
        few = _group_means(distances, 1 / (1 / len(distances) + shared / n))
        scale = mean / distances.mean() if distances.mean() > 0 else 1.0
        return Reference(
            distances=few * scale, evaluations=self.spent + self.oracle.evaluations.total()
        )

    def _distances(self, held: Ids, *, is_same: bool) -> Doubles:
        """Return the distances of held-out rows to prototypes that were selected without them."""
        problem = self.problem
        targets = np.setdiff1d(np.arange(len(problem.target)), held)
        if len(targets) == 0 or not problem.target_weights[targets].any():
            return np.empty(0)
        sources = targets if is_same else np.arange(len(problem.source))
        feasibility = _restricted(problem.feasibility, sources)
        k = min(len(self.solved.indices), feasibility.capacity)
        if feasibility.least.sum() > k:  # every row is a prototype, and one is held out
            feasibility = replace(feasibility, least=np.zeros_like(feasibility.least))
        rest = replace(problem.part(sources, targets, k), feasibility=feasibility)
        result = search(rest, self.method, _settings(self.n_jobs))
        self.spent += sum(result.evaluations_by_phase.values())
        return _nearest(self.oracle, sources[result.indices], held)


def _restricted(feasibility: Feasibility, sources: Ids) -> Feasibility:
    """Return what may be chosen if only some source rows are left, the fixed ones among them."""
    own, prices = feasibility.among(sources), feasibility.prices
    return replace(
        own,
        least=np.minimum(own.least, own.sizes),
        most=np.minimum(own.most, own.sizes),
        prices=None if prices is None else prices[sources],
    )


def _repeated_method(solved: Solved) -> Method:
    """Return the method of the selection; it does not start from given rows, which may be gone."""
    parameters = dict(solved.parameters)
    if not isinstance(parameters.get("init", BUILD), str):
        parameters["init"] = BUILD
    made: Method = METHODS[solved.method](**parameters)
    return made


def _settings(n_jobs: int | None) -> Any:
    return as_run_settings(_KEY, None, n_jobs, None)
