"""Methods side by side on the same rows: what each reaches, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import ProtobanditError
from protobandit.foundation.generators import as_generator
from protobandit.interfaces.jobs.assign import taken
from protobandit.interfaces.jobs.read_options import Tell
from protobandit.interfaces.jobs.select_arguments import Posed, SelectArguments, method_of
from protobandit.result.selection import Selection

JUDGED = 1 << 15  # target rows on which all are judged; all of them where there are no more
_SHORT = 5.0  # seconds below which a first run is made again, since it may have compiled


@dataclass(frozen=True, kw_only=True)
class MethodScore:
    """What a method reached: means over the seeds, and how the cost varies between them.

    ``prototypes`` is their number, fewer than asked for where a limit ended the search.
    ``failure`` says why there is nothing else.
    """

    method: str
    prototypes: float | None = None
    cost: float | None = None
    cost_deviation: float | None = None
    evaluations: float | None = None
    seconds: float | None = None
    failure: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The scores in the order asked for, and the number of target rows that judged them."""

    scores: tuple[MethodScore, ...]
    n_judges: int
    n_target: int

    @property
    def best_cost(self) -> float | None:
        """Return the lowest cost."""
        return min((score.cost for score in self.scores if score.cost is not None), default=None)

    @property
    def best(self) -> str | None:
        """Return the method of the lowest cost, the first of several."""
        reached = (score for score in self.scores if score.cost is not None)
        return next((score.method for score in reached if score.cost == self.best_cost), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Judges:
    """Target rows, and how much each counts."""

    rows: Any
    weights: Doubles

    @staticmethod
    def of(posed: Posed) -> Judges:
        """Return the whole target, or as many rows drawn by weight."""
        n, weights = len(posed.target), posed.weights
        shares = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        shares = shares / shares.sum()
        if n <= JUDGED:
            return Judges(rows=posed.target.rows, weights=shares)
        random = as_generator(posed.task.seed)
        ids: Ids = np.sort(random.choice(n, JUDGED, replace=weights is not None, p=shares))
        return Judges(rows=taken(posed.target, ids), weights=np.full(JUDGED, 1 / JUDGED))

    def cost(self, selection: Selection) -> float:
        """Return the weighted mean distance of these rows to their nearest prototype."""
        return float(self.weights @ selection.assign(self.rows).distances)


def compared(task: SelectArguments, methods: Sequence[str], n_seeds: int, tell: Tell) -> Comparison:
    """Run each method with each seed on the same rows, and judge all on the same rows."""
    for name in methods:
        method_of(name, {})
    posed = task.posed(tell)
    posed.planned()  # what is wrong with the call itself is wrong for all methods
    judges = Judges.of(posed)
    scores = tuple(_score(posed, name, n_seeds, judges, tell) for name in methods)
    return Comparison(scores=scores, n_judges=len(judges.weights), n_target=len(posed.target))


def _score(posed: Posed, name: str, n_seeds: int, judges: Judges, tell: Tell) -> MethodScore:
    ours = replace(posed, method=name)
    sizes: list[int] = []
    costs: list[float] = []
    evaluations: list[int] = []
    seconds: list[float] = []
    try:
        for seed in range(posed.task.seed, posed.task.seed + n_seeds):
            tell(f"{name}, seed {seed} …")
            own = replace(ours, task=replace(ours.task, seed=seed))
            selection, time = _timed(own)
            if not seconds and time < _SHORT:
                selection, time = _timed(own)
            seconds.append(time)
            sizes.append(selection.k)
            evaluations.append(selection.evaluations)
            costs.append(judges.cost(selection))
    except (ProtobanditError, MemoryError) as error:
        return MethodScore(method=name, failure=str(error) or type(error).__name__)
    return MethodScore(
        method=name,
        prototypes=float(np.mean(sizes)),
        cost=float(np.mean(costs)),
        cost_deviation=float(np.std(costs, ddof=1)) if n_seeds > 1 else None,
        evaluations=float(np.mean(evaluations)),
        seconds=float(np.mean(seconds)),
    )


def _timed(posed: Posed) -> tuple[Selection, float]:
    started = perf_counter()
    selection = posed.selected()
    return selection, perf_counter() - started
