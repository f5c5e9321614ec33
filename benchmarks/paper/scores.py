"""Cost and accuracy of prototypes over the whole target, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import protobandit as pb
from benchmarks.paper.problems import LabelledProblem


@dataclass(frozen=True)
class Scores:
    """Mean distance, f = 1 - cost / scale, and shares of target rows with the correct label."""

    cost: float
    f: float
    accuracy_nearest: float
    accuracy_barycentric: float


def scores_of(problem: LabelledProblem, scale: float, indices: np.ndarray) -> Scores:
    """Return the scores of prototypes; on one thread, because jobs run side by side."""
    selection = pb.select(
        problem.source,
        problem.target,
        k=len(indices),
        constraints=pb.Constraints(fixed=indices),
        method=pb.methods.LazyGreedy(memoize=False),
        n_jobs=1,
    )
    labels = problem.source_labels, problem.target_labels
    return Scores(
        cost=selection.cost,
        f=1 - selection.cost / scale,
        accuracy_nearest=selection.nearest_accuracy(*labels, n_jobs=1),
        accuracy_barycentric=selection.barycentric_accuracy(*labels, n_jobs=1),
    )
