"""The judge: what must hold of every result, checked by brute force.

Each function returns complaints, sentences on what is wrong. An empty list is an acquittal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.fuzz.distances import Wide

_MOST_SETS = 3_000  # sets that are enumerated for the best cost
_EXACT_GREEDY = ("spotgreedy", "lazygreedy")


@dataclass
class Truth:
    """A problem as the judge sees it.

    ``d`` has shape (target rows, source rows). ``size`` is the size of numbers whose rounding
    errors do not shrink with the distances, ``precision`` the unit of rounding. ``least`` and
    ``most`` hold one number per group, ``has_k`` is whether exactly ``k`` rows must be chosen.
    """

    d: Any
    weights: Any
    k: int
    precision: float
    size: float = 0.0
    has_k: bool = True
    fixed: Sequence[int] = ()
    groups: Any = None
    least: Any = None
    most: Any = None
    prices: Any = None
    budget: float = math.inf
    shares: Any = field(init=False)

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=Wide)
        self.shares = weights / weights.sum()

    def slack(self, value: Any) -> Any:
        """Return the error that is allowed in a distance or cost of this size."""
        largest = max(float(self.d.max()), self.size)
        return 500 * self.precision * (abs(value) + 0.05 * largest) + 1e-300

    def costs(self, chosen: Any) -> Any:
        """Return the cost after each prototype."""
        return self.shares @ np.minimum.accumulate(self.d[:, chosen], axis=1)

    def best_cost(self, k: int) -> float | None:
        """Return the smallest cost of k rows, or None if there are too many sets."""
        n = self.d.shape[1]
        if math.comb(n, k) > _MOST_SETS:
            return None
        sets = np.array(list(combinations(range(n), k)))
        return float(min(self.shares @ self.d[:, each].min(axis=1) for each in sets))


def judged(selection: Any, truth: Truth) -> list[str]:
    """Return complaints about a selection."""
    complaints = _shape(selection, truth)
    if complaints:
        return complaints
    chosen = selection.indices
    complaints += _feasible(selection, truth)
    complaints += _costs(selection, truth)
    complaints += _mass(selection, truth)
    is_greedy = selection.method in _EXACT_GREEDY and selection.parameters.get("r") == 1
    if is_greedy and selection.curve is None and truth.prices is None:
        complaints += _greedy(chosen, truth)
    passes = selection.passes
    if passes is not None and passes.gain_bound is not None and passes.delta == 0:
        complaints += _local(chosen, truth, passes.gain_bound)
    guarantee = selection.guarantee
    if guarantee is not None and guarantee.cost_factor is not None and guarantee.probability == 1:
        best = truth.best_cost(len(chosen))
        cost = float(truth.costs(chosen)[-1])
        if best is not None and cost > guarantee.cost_factor * best + truth.slack(cost):
            complaints.append(f"cost {cost} exceeds its guarantee against the best cost {best}")
    return complaints


def _shape(selection: Any, truth: Truth) -> list[str]:
    chosen, n = selection.indices.tolist(), truth.d.shape[1]
    if len(set(chosen)) != len(chosen):
        return [f"indices {chosen} are not distinct"]
    if not chosen or min(chosen) < 0 or max(chosen) >= n:
        return [f"indices {chosen} are not rows of {n}"]
    if len(chosen) > truth.k or (truth.has_k and len(chosen) != truth.k):
        return [f"{len(chosen)} prototypes where k={truth.k}"]
    lengths = {len(selection.costs), len(selection.mass), len(selection.steps), len(chosen)}
    return [] if len(lengths) == 1 else [f"fields have lengths {lengths}"]


def _feasible(selection: Any, truth: Truth) -> list[str]:
    chosen, complaints = selection.indices.tolist(), []
    if chosen[: len(truth.fixed)] != list(truth.fixed):
        complaints.append(f"fixed rows {list(truth.fixed)} do not come first in {chosen}")
    if truth.groups is not None:
        counts = np.bincount(truth.groups[chosen], minlength=len(truth.most))
        is_short = truth.has_k and (counts < truth.least).any()
        if is_short or (counts > truth.most).any():
            complaints.append(f"counts {counts} outside {truth.least} to {truth.most}")
    if truth.prices is not None:
        paid = math.fsum(truth.prices[chosen])
        if paid > truth.budget * (1 + 1e-9):
            complaints.append(f"rows cost {paid}, above the budget {truth.budget}")
        if not math.isclose(paid, selection.spent, rel_tol=1e-9):
            complaints.append(f"spent={selection.spent} where rows cost {paid}")
    return complaints


def _costs(selection: Any, truth: Truth) -> list[str]:
    given, true = np.asarray(selection.costs), truth.costs(selection.indices)
    slack, complaints = truth.slack(true), []
    if not np.isfinite(given).all() or (given < 0).any():
        return [f"costs {given} are not numbers >= 0"]
    if selection.cost_error == 0:
        if (abs(given - true) > slack).any():
            complaints.append(f"exact costs {given} differ from {true.astype(float)}")
        if (np.diff(given) > slack[:-1]).any():
            complaints.append(f"costs {given} grow")
    elif abs(given[-1] - true[-1]) > 12 * selection.cost_error + slack[-1]:
        complaints.append(f"cost {given[-1]} ± {selection.cost_error} where {true[-1]} is true")
    return complaints


def _mass(selection: Any, truth: Truth) -> list[str]:
    if not math.isclose(selection.mass.sum(), 1, rel_tol=1e-9) or (selection.mass < 0).any():
        return [f"mass {selection.mass} does not sum to 1"]
    if selection.cost_error != 0:
        return []
    d = truth.d[:, selection.indices]
    nearest = d.min(axis=1, keepdims=True)
    may_be = d <= nearest + 2 * truth.slack(nearest)
    is_sure = may_be & (may_be.sum(axis=1, keepdims=True) == 1)
    least, most = truth.shares @ is_sure, truth.shares @ may_be
    is_wrong = (selection.mass < least - 1e-9) | (selection.mass > most + 1e-9)
    return [f"mass {selection.mass} outside {least} to {most}"] if is_wrong.any() else []


def _greedy(chosen: Any, truth: Truth) -> list[str]:
    """Check that no pick of greedy is worse than the best row it could have picked."""
    counts = np.zeros(0 if truth.groups is None else len(truth.most), dtype=int)
    for at, i in enumerate(chosen):
        if at >= len(truth.fixed):
            gains = _gains(truth, chosen[:at])
            gains[chosen[:at]] = -np.inf
            gains[~_may_follow(truth, counts)] = -np.inf
            if gains.max() - gains[i] > 2 * truth.slack(truth.costs(chosen[: max(at, 1)])[-1]):
                best = int(gains.argmax())
                return [f"pick {at} is row {i} with gain {gains[i]}, row {best} has {gains[best]}"]
        if truth.groups is not None:
            counts[truth.groups[i]] += 1
    return []


def _gains(truth: Truth, chosen: Any) -> Any:
    if not len(chosen):
        return -(truth.shares @ truth.d)
    nearest = truth.d[:, chosen].min(axis=1, keepdims=True)
    return truth.shares @ np.maximum(nearest - truth.d, 0)


def _may_follow(truth: Truth, counts: Any) -> Any:
    """Return which rows leave a set that can still be completed."""
    if truth.groups is None:
        return np.ones(truth.d.shape[1], dtype=bool)
    after = counts + np.eye(len(counts), dtype=int)
    needed = np.maximum(after, truth.least).sum(axis=1)
    is_open = (counts + 1 <= truth.most) & (needed <= truth.k)
    return is_open[truth.groups]


def _local(chosen: Any, truth: Truth, share: float) -> list[str]:
    """Check that no single swap that is allowed lowers the cost by more than this share."""
    cost = truth.costs(chosen)[-1]
    for slot in range(len(truth.fixed), len(chosen)):
        others = np.delete(chosen, slot)
        rest = truth.d[:, others].min(axis=1, keepdims=True) if len(others) else np.inf
        after = truth.shares @ np.minimum(rest, truth.d)
        after[others] = np.inf
        if truth.groups is not None:
            counts = np.bincount(truth.groups[others], minlength=len(truth.most))
            after[~_may_follow(truth, counts)] = np.inf
        if after.min() < cost * (1 - Wide(share)) - 2 * truth.slack(cost):
            better = int(after.argmin())
            return [f"row {better} for {chosen[slot]} lowers the cost {cost} to {after.min()}"]
    return []


def judged_assignment(labels: Any, nearest: Any, d: Any, truth: Truth) -> list[str]:
    """Return complaints about the nearest prototype of rows; ``d`` has one column for each."""
    labels = np.asarray(labels)
    if labels.shape != (len(d),) or labels.min() < 0 or labels.max() >= d.shape[1]:
        return [f"labels {labels[:20]} of {len(d)} rows and {d.shape[1]} prototypes"]
    best = d.min(axis=1)
    slack = 2 * truth.slack(best)
    complaints = []
    if (d[np.arange(len(d)), labels] > best + slack).any():
        complaints.append("a row is assigned to a prototype that is not nearest")
    if nearest is not None and (abs(np.asarray(nearest) - best) > slack).any():
        complaints.append("the distance of a row to its prototype is wrong")
    return complaints


def judged_certificate(certificate: Any, chosen: Any, truth: Truth) -> list[str]:
    """Return complaints about a certificate of rows whose best cost can be enumerated."""
    cost, best = float(truth.costs(chosen)[-1]), truth.best_cost(len(chosen))
    if best is None:
        return []
    complaints, slack = [], float(truth.slack(best) + truth.slack(cost))
    if certificate.cost_bound > best + slack:
        complaints.append(f"certified {certificate.cost_bound} as a bound of the best cost {best}")
    is_proven = math.isfinite(certificate.cost_ratio)
    if is_proven and cost > certificate.cost_ratio * best + slack:
        complaints.append(f"certified ratio {certificate.cost_ratio} of {cost} to {best}")
    if certificate.cost_ratio < 1:
        complaints.append(f"certified ratio {certificate.cost_ratio} is below 1")
    return complaints


def compared(left: Any, right: Any, what: str, *, is_counted: bool = True) -> list[str]:
    """Return complaints unless two selections have the same bits."""
    fields = ("indices", "costs", "mass")
    complaints = [
        f"{what} changes {name}: {getattr(left, name)} and {getattr(right, name)}"
        for name in fields
        if np.asarray(getattr(left, name)).tobytes() != np.asarray(getattr(right, name)).tobytes()
    ]
    if is_counted and dict(left.evaluations_by_phase) != dict(right.evaluations_by_phase):
        complaints.append(f"{what} changes the counts")
    return complaints
