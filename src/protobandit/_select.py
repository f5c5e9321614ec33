"""The functional door: `select`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from protobandit.problem.constraints import Constraints
from protobandit.problem.goals import Coverage, MinGain
from protobandit.problem.limits import Limits
from protobandit.problem.posing import pose
from protobandit.result.selection import Selection
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.preparation import Preparation
from protobandit.rows.streams import Stream
from protobandit.run.by_class import by_class, require_plain
from protobandit.run.checkpoint.checkpoint import Checkpoint
from protobandit.run.progress.reporter import Interrupt, Listener
from protobandit.run.search import chosen_method, search
from protobandit.run.settings import Callback, as_run_settings
from protobandit.run.streams import read_stream


def select(
    source: Any,
    target: Any = None,
    *,
    k: int | float | str | Sequence[int] | Mapping[Any, int] | None = None,
    weights: Any = None,
    metric: Any = "euclidean",
    preparation: Preparation | FittedPreparation | None = None,
    method: Any = "auto",
    constraints: Constraints | None = None,
    until: Coverage | MinGain | None = None,
    by: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    limits: Limits | None = None,
    callback: Callback | None = None,
    progress: Listener | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Selection:
    """Choose ``k`` rows of ``source`` that stand for ``target``.

    Minimises the weighted mean of d(target row, nearest chosen row).

    Parameters
    ----------
    source
        The rows to choose from: a 2-D array, DataFrame, CSR matrix, the path of a file, what
        `data.open_rows` returns, or a list of anything a callable metric understands. With
        ``metric="precomputed"``: the matrix of dissimilarities, of shape (target rows, source
        rows).
    target
        The rows to represent, or a `Target` with weights, or a `Stream`; None means the source
        itself (k-medoids).
    k
        How many: an int, or a fraction of the source rows in (0, 1). Several ints give the largest,
        and `Selection.at` the others. "auto" builds up to 100, removes the least needed one by
        one, and keeps as many as the knee of the curve of costs says, which ``Selection.curve``
        holds; ``status`` says whether there is one. None where ``until`` or a budget ends the
        search; there an int is a cap.
    weights
        How much each target row counts.
    metric
        A name (see `protobandit.METRICS`: scikit-learn's and SciPy's, but for nan_euclidean), the
        result of `protobandit.metric`, a callable f(row, row) -> number, or `block_metric(f)`.
        Always called as d(target row, source row). jaccard, dice, rogerstanimoto, russellrao,
        sokalsneath and yule compare which numbers are not 0, and nothing else of them.
    preparation
        What to do to the rows first (`Preparation`): standardize, normalize, principal components,
        categories, missing values. It is fitted on the target; ``Selection.preparation`` holds it,
        and `Selection.assign` repeats it. One that is fitted already is used as it is.
    method
        "auto", a name of `protobandit.methods.METHODS`, or a value such as
        ``methods.LazyBandit(effort="thorough")``. "auto" is "lazybandit", which computes every
        dissimilarity where that is quick, and samples the target elsewhere; where that does not
        heed the constraints or the goal, it is "lazygreedy".
    constraints
        Rows that are fixed, quotas of groups, costs and a budget (`Constraints`).
    until
        What ends the search: `Coverage` or `MinGain`.
    by
        Labels of the source rows, which are the target too; for a separate target a pair of labels,
        of source rows and of target rows. Each class is then a problem of its own, and ``k`` the
        number in all, shared out by the weight of each class in the target, at least 1 for each, or
        a mapping from labels to numbers. ``Selection.prototype_labels`` holds the class of each
        prototype; ``cost`` and ``mass`` are those of the nearest prototype of any class, as
        `Selection.assign` finds it.
    random_state
        A seed, Generator or RandomState; the same seed gives the same answer on any number of
        threads.
    n_jobs
        Threads; None or -1 for all cores at hand.
    limits
        How many evaluations, seconds and bytes the search may take (`Limits`); it then ends with
        the best answer so far and says so in ``status``.
    callback
        Called with each `Step`; returning True stops the search there. Its exceptions propagate.
    progress
        Called with a `Progress` at most ten times a second, within long computations too, and once
        at the end, always on the calling thread. Its exceptions propagate.
    interrupt
        An `Interrupt`: once it is set, the search ends at its next look with the best so far, and
        says so in ``status``; where there is nothing yet, it raises `Interrupted`.
    checkpoint
        The path of a file, or a `Checkpoint`: the search writes down there how far it has come, and
        the same call with the same file goes on from there.

    Returns
    -------
    Selection
        Indices, costs, mass, evaluations and more.

    Examples
    --------
    >>> import protobandit as pb
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> selection = pb.select(rows, k=2)
    >>> sorted(selection.indices.tolist())
    [1, 4]
    """
    settings = as_run_settings(
        random_state,
        limits,
        n_jobs,
        callback,
        progress=progress,
        interrupt=interrupt,
        checkpoint=checkpoint,
    )
    if by is not None:
        require_plain(constraints, until)
        whole = pose(source, target, k=1, weights=weights, metric=metric, preparation=preparation)
        return Selection.from_result(by_class(whole, by, k, method, settings))
    if isinstance(target, Stream):
        source, target = read_stream(
            target,
            source,
            k=k,
            weights=weights,
            metric=metric,
            method=method,
            preparation=preparation,
            limits=settings.limits,
        )
    problem = pose(
        source,
        target,
        k=k,
        weights=weights,
        metric=metric,
        constraints=constraints,
        until=until,
        preparation=preparation,
    )
    chosen, remark = chosen_method(method, problem)
    return Selection.from_result(search(problem, chosen, settings, remark=remark))
