"""Prove how far a selection can be from the best one.

There are three proofs, each in its own file: `exact` computes every dissimilarity, `rigorous` and
`asymptotic` draw rows. This file checks the arguments, chooses the proof and the number of rows,
and turns the result into a `Certificate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from protobandit.certificate.asymptotic import asymptotic_bound
from protobandit.certificate.betting import Bound
from protobandit.certificate.certificate import Certificate, statement_of
from protobandit.certificate.dual import most_rows
from protobandit.certificate.exact import exact_bound
from protobandit.certificate.in_parts import ROUNDS, rigorous_bound_in_parts
from protobandit.certificate.rigorous import rigorous_bound
from protobandit.foundation.array_types import Ids
from protobandit.foundation.checks import optional_count, require_choice, require_number
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import independent_generator
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import rows_of_stream
from protobandit.problem.problem import Problem

KINDS: Final = ("auto", "exact", "rigorous", "asymptotic")
MOST_EXACT_PAIRS: Final = 200_000_000  # of which "auto" computes all, unless they are expensive
_LEAST_ROWS = 16  # below this number nothing is computed
# Rows by default: a quarter of the target, but at least the first number and at most the second
# plus the third per prototype.
_FEW_ROWS = 1024
_MANY_ROWS = 4096
_ROWS_PER_PROTOTYPE = 128
_ROWS_PER_GUIDE = 8
_ROWS_IN_PARTS = 4096
_MOST_SCOUTS = 65_536
_SCOUT_SHARE = 0.2  # of the evaluations, for more scouts than rows
_STREAM_KEY = 0xCE27


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """What to certify: the prototypes of a problem and their cost, which may be an estimate."""

    problem: Problem
    prototypes: Ids
    cost: float
    is_exact: bool

    @property
    def k(self) -> int:
        """Return the number of prototypes."""
        return len(self.prototypes)

    @property
    def n_pairs(self) -> int:
        """Return the number of all dissimilarities."""
        return self.problem.n_source * self.problem.n_target


@dataclass(frozen=True, kw_only=True)
class _Proof:
    """Which proof to make, on how many rows; ``n_scouts`` is 0 if it draws no scouts."""

    kind: str
    n_rows: int
    n_scouts: int = 0


def certify(
    solution: Solution,
    *,
    confidence: Any,
    kind: Any,
    evaluations: Any,
    random_state: Any,
    n_jobs: int | None,
) -> Certificate:
    """Return a `Certificate`; if nothing is proven, its statement says why.

    Cost: |S||T| evaluations if it is exact. Otherwise |S| per drawn row, k |T| more for the
    rigorous kind, and k per scout for the asymptotic kind.
    """
    require_number(confidence, "confidence", above=0, below=1)
    require_choice(kind, "kind", KINDS)
    budget = optional_count(evaluations, "evaluations")
    # The drawn rows must not be those on which the search chose the prototypes.
    random = independent_generator(random_state, _STREAM_KEY)
    oracle = Oracle(solution.problem, n_jobs=n_jobs)
    proof = (_proof_in_parts if solution.problem.is_in_parts else _proof)(solution, kind, budget)
    if budget is not None and proof.n_rows < min(_LEAST_ROWS, solution.problem.n_target):
        return _budget_too_small(solution, proof.kind, float(confidence), budget)
    with oracle.at_work(), oracle.during("certify"):
        bound = _bound(oracle, solution, proof, float(confidence), random, budget)
    return _certificate(bound, solution, oracle.evaluations["certify"])


def _bound(
    oracle: Oracle,
    solution: Solution,
    proof: _Proof,
    confidence: float,
    random: np.random.Generator,
    budget: int | None,
) -> Bound:
    prototypes = solution.prototypes
    if proof.kind == "exact":
        return exact_bound(oracle, prototypes, budget)
    if oracle.problem.is_in_parts:
        return rigorous_bound_in_parts(oracle, prototypes, proof.n_rows, confidence, random)
    if proof.kind == "rigorous":
        return rigorous_bound(oracle, prototypes, proof.n_rows, confidence, random)
    known = solution.cost if solution.is_exact else None
    return asymptotic_bound(
        oracle,
        prototypes,
        proof.n_scouts,
        proof.n_rows - proof.n_rows // _ROWS_PER_GUIDE,
        proof.n_rows // _ROWS_PER_GUIDE,
        confidence,
        random,
        known,
    )


# -- which proof, on how many rows ----------------------------------------------------------------


def _proof(solution: Solution, kind: str, budget: int | None) -> _Proof:
    problem = solution.problem
    n_source, n_target, n_pairs = problem.n_source, problem.n_target, solution.n_pairs
    everything = _Proof(kind="exact", n_rows=n_target)
    if kind == "exact":
        return everything if budget is None or budget >= n_pairs else replace(everything, n_rows=0)
    is_cheap = n_pairs <= MOST_EXACT_PAIRS and not problem.metric.is_expensive
    if kind == "auto" and budget is None and is_cheap:
        return everything
    # Drawn rows cannot show that a selection costs 0.
    is_asymptotic = (
        kind == "asymptotic" and solution.cost > 0 and not _is_cheaply_measured(solution, budget)
    )
    proof = (_asymptotic if is_asymptotic else _rigorous)(solution, budget)
    spent = proof.n_rows * n_source + (proof.n_scouts or n_target) * solution.k
    if spent >= n_pairs if budget is None else budget >= n_pairs:
        return everything
    return replace(proof, n_rows=min(proof.n_rows, most_rows(n_source, solution.k), n_target - 1))


def _proof_in_parts(solution: Solution, kind: str, budget: int | None) -> _Proof:
    """Return the proof for parts of a collection, which is always rigorous."""
    if kind not in ("auto", "rigorous"):
        raise InvalidInput(
            f"kind={kind!r} is not supported for Dask collections. Use 'auto' or 'rigorous'."
        )
    problem = solution.problem
    n_rows = _ROWS_IN_PARTS
    if budget is not None:
        left = max(0, budget - 2 * solution.k * problem.n_target)
        n_rows = min(n_rows, left // (ROUNDS * problem.n_source))
    return _Proof(kind="rigorous", n_rows=min(n_rows, problem.n_target))


def _default_rows(solution: Solution) -> int:
    many = _MANY_ROWS + _ROWS_PER_PROTOTYPE * solution.k
    return max(_FEW_ROWS, min(solution.problem.n_target // 4, many))


def _is_cheaply_measured(solution: Solution, budget: int | None) -> bool:
    """Return whether an unknown cost is measured on the whole target for no more than the rows.

    Then there is no outlier that was never drawn, and the rigorous proof needs no condition.
    """
    if solution.is_exact:
        return False
    n_source, whole = solution.problem.n_source, solution.k * solution.problem.n_target
    rows = _default_rows(solution) * n_source if budget is None else budget - whole
    return max(whole, _LEAST_ROWS * n_source) <= rows


def _rigorous(solution: Solution, budget: int | None) -> _Proof:
    if budget is None:
        return _Proof(kind="rigorous", n_rows=_default_rows(solution))
    left = max(0, budget - solution.k * solution.problem.n_target)
    return _Proof(kind="rigorous", n_rows=left // solution.problem.n_source)


def _asymptotic(solution: Solution, budget: int | None) -> _Proof:
    """Return a proof with at least as many scouts as rows; with more if they cost little."""
    k, n_source = solution.k, solution.problem.n_source
    if budget is None:
        wanted = _default_rows(solution) * n_source
        budget = max(math.ceil(wanted / (1 - _SCOUT_SHARE)), wanted + _default_rows(solution) * k)
    alike = budget // (n_source + k)
    many = min(int(_SCOUT_SHARE * budget), budget - _LEAST_ROWS * n_source) // k
    n_scouts = min(max(min(many, _MOST_SCOUTS), alike), solution.problem.n_target)
    return _Proof(kind="asymptotic", n_rows=(budget - k * n_scouts) // n_source, n_scouts=n_scouts)


# -- certificates ---------------------------------------------------------------------------------


def _certificate(bound: Bound, solution: Solution, evaluations: int) -> Certificate:
    """Return the certificate; a ratio below 1 or a bound above the cost can only be rounding."""
    highest = bound.cost + bound.margin
    best = min(max(bound.best, 0.0), highest)
    is_proven = math.isfinite(bound.ratio) and math.isfinite(highest)
    ratio = max(bound.ratio, 1.0) if is_proven else math.inf
    return Certificate(
        kind=bound.kind,
        confidence=bound.confidence,
        cost=bound.cost,
        cost_margin=bound.margin,
        cost_bound=best if is_proven else 0.0,
        cost_ratio=ratio,
        evaluations=evaluations,
        n_rows=bound.n_rows,
        statement=statement_of(
            bound.kind, bound.confidence, ratio, k=solution.k, n_rows=bound.n_rows
        ),
        conditions=(*bound.conditions, *_stream_conditions(solution)) if is_proven else (),
    )


def _stream_conditions(solution: Solution) -> tuple[str, ...]:
    """Return what a certificate about a stream refers to: nothing is known of other rows.

    A guarantee may assume that rows of a stream are draws from one distribution. A certificate does
    not use that: it compares costs on the rows that were kept.
    """
    if not solution.problem.conditions:
        return ()
    return (rows_of_stream(solution.problem.n_target),)


def _budget_too_small(solution: Solution, kind: str, confidence: float, budget: int) -> Certificate:
    n_source, k = solution.problem.n_source, solution.k
    needed = {
        "exact": solution.n_pairs,
        "rigorous": k * solution.problem.n_target + _LEAST_ROWS * n_source,
        "asymptotic": _LEAST_ROWS * (n_source + k),
    }[kind]
    needed = min(needed, solution.n_pairs)
    return Certificate(
        kind=kind,
        confidence=confidence,
        cost=solution.cost,
        cost_margin=0.0,
        cost_bound=0.0,
        cost_ratio=math.inf,
        evaluations=0,
        n_rows=0,
        statement=(
            f"Nothing is proven and nothing was computed: {n_source:,} source rows need at least "
            f"{needed:,} evaluations, and {budget:,} are allowed. Pass evaluations={needed} or "
            f"more; more evaluations give a sharper bound"
        ),
    )
