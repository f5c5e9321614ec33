"""`select`: the function behind every interface."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from protobandit.problem.constraints import Constraints
from protobandit.problem.goals import Certified, Coverage, MinGain
from protobandit.problem.guessed_keywords import with_advice
from protobandit.problem.limits import Limits
from protobandit.problem.posing import pose, with_classes, with_obsm
from protobandit.result.selection import Selection
from protobandit.rows.streams import Stream
from protobandit.run.by_class import by_class, require_plain
from protobandit.run.certified import growing_method, require_rows, search_until_certified
from protobandit.run.checkpoint.checkpoint import Checkpoint
from protobandit.run.in_parts import has_lazy_rows, pose_in_parts, require_supported
from protobandit.run.progress.reporter import Interrupt, Listener
from protobandit.run.sampled_goals import search_for_goal, uses_sample
from protobandit.run.search import chosen_method, search
from protobandit.run.settings import Callback, as_run_settings
from protobandit.run.streams import read_stream


@with_advice
def select(
    source: Any,
    target: Any = None,
    *,
    k: int | float | str | Sequence[int] | Mapping[Any, int] | None = None,
    weights: Any = None,
    metric: Any = None,
    preparation: Any = None,
    method: Any = "auto",
    constraints: Constraints | None = None,
    until: Coverage | MinGain | Certified | None = None,
    by: Any = None,
    obsm: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    limits: Limits | None = None,
    callback: Callback | None = None,
    progress: bool | Listener | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Selection:
    """Choose ``k`` rows of ``source`` that represent ``target``.

    The chosen rows minimise the weighted mean of d(target row, nearest chosen row).

    Parameters
    ----------
    source
        The rows to choose from: a 2-D array, a tensor, a DataFrame (pandas, polars, pyarrow), a
        Series of vectors, a list of dicts, a CSR matrix, an AnnData object (its ``X``, or the array
        ``obsm``), an xarray object, the path or URL of a file, the result of `data.open_rows`, a
        list of texts, or a list of anything that a callable metric accepts. Or a Dask array or
        DataFrame, or an xarray object with Dask chunks, whose parts tasks read on the active
        scheduler; row numbers are those in the order of the partitions.
        With ``metric="precomputed"``: the matrix of dissimilarities, of shape (target rows, source
        rows).
    target
        The rows to represent, or a `Target` with weights, or a `Stream`; None means the source
        itself (k-medoids).
    k
        Number of rows to choose: an int, or a fraction of the source rows in (0, 1). With several
        ints the largest is chosen, and `Selection.at` returns the others. "auto" builds up to 100
        prototypes, removes the least needed ones one by one, and keeps as many as the knee of the
        curve of costs (``Selection.curve``) suggests; ``status`` says whether the knee is clear.
        For large problems, a sample determines the number and fresh rows confirm it.
        None if ``until`` or a budget ends the search; an int is then an upper limit.
    weights
        Weights of the target rows, or the name of a column of the target, which is then not
        compared.
    metric
        A name (see `protobandit.METRICS`: those of scikit-learn and SciPy, except nan_euclidean),
        the result of `protobandit.metric`, a callable f(row, row) -> number, or `block_metric(f)`.
        It is always called as d(target row, source row). jaccard, dice, rogerstanimoto, russellrao,
        sokalsneath and yule only compare which numbers are not 0. None means "levenshtein" for
        texts, "manhattan" for rows prepared with ``categories="gower"``, and "euclidean" otherwise.
    preparation
        Preprocessing of the rows (`Preparation`): standardize, normalize, principal components,
        categories, missing values. It is fitted on the target, kept in ``Selection.preparation``
        and repeated by `Selection.assign`. A fitted preparation is used as it is. Or a transformer
        or Pipeline of scikit-learn, which is fitted on the target unless it is fitted already. A
        frame is passed to it as a frame, texts as a list. It is not part of the JSON text.
    method
        "auto", a name of `protobandit.methods.METHODS`, or a value such as
        ``methods.Auto(effort="thorough")``. "auto" is "localsearch" for built-in metrics if
        |S||T| is more than 2^24. Otherwise it is "lazybandit", which computes every dissimilarity
        if that is fast and samples the target if not. If neither supports the constraints, or if
        a goal is to be met with at most 2^28 pairs of rows, "auto" is "lazygreedy".
    constraints
        Fixed rows, quotas of groups, costs and a budget (`Constraints`).
    until
        What ends the search: `Coverage` or `MinGain`, which fresh target rows confirm if a sample
        determined the number of prototypes (``Selection.goal_outcome``), or `Certified`, which
        searches with growing effort until the cost of ``k`` prototypes is proven to be near the
        best possible one.
    by
        Class labels of the source rows, or the name of a column, which is then not compared; with a
        separate target also a pair: labels of source rows and labels of target rows. Each class is
        then solved as a separate problem. ``k`` is the total, divided by the weight of each class
        in the target with at least 1 per class, or a mapping from labels to numbers.
        ``Selection.prototype_labels`` holds the class of each prototype; ``cost`` and ``mass``
        refer to the nearest prototype of any class, as in `Selection.assign`.
    obsm
        The array of an AnnData source, and of an AnnData target, that holds the rows, such as
        "X_pca"; None means ``X``.
    random_state
        A seed, Generator or RandomState. The same seed gives the same result on any number of
        threads.
    n_jobs
        Number of threads; None or -1 for all available cores.
    limits
        Limits on evaluations, seconds and bytes (`Limits`). A search that reaches one ends with the
        best result so far and says so in ``status``. A limit that forces a smaller plan gives a
        warning.
    callback
        Called with each `Step`; the search stops if it returns True. Its exceptions propagate.
    progress
        True shows a bar in a terminal or a notebook. A function is called with a `Progress` at most
        ten times per second, also during long computations, and once at the end, always on the
        calling thread. Its exceptions propagate.
    interrupt
        An `Interrupt`. Once it is set, the search ends with the best result so far and says so in
        ``status``; if there is no result yet, it raises `Interrupted`.
    checkpoint
        The path of a file, or a `Checkpoint`. The search saves its state there, and the same call
        with the same file resumes it.

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
    source = with_obsm(source, obsm)
    if has_lazy_rows(source, target, weights):
        require_supported(by=by, until=until, constraints=constraints, preparation=preparation)
        posed = pose_in_parts(
            source, target, k=k, weights=weights, metric=metric, method=method, settings=settings
        )
        chosen, remark = chosen_method(posed.method, posed.problem, settings.limits)
        found = search(posed.problem, chosen, settings, remark=remark)
        return Selection.from_result(found, traffic=posed.traffic())
    if by is not None:
        require_plain(constraints, until)
        source, target, by = with_classes(source, target, by, weights, preparation)
        whole = pose(source, target, k=1, weights=weights, metric=metric, preparation=preparation)
        return Selection.from_result(by_class(whole, by, k, method, settings))
    certified = until if isinstance(until, Certified) else None
    if certified is not None:
        certified.require_count(k)
        require_rows(target, certified)
        until = None
    if isinstance(target, Stream):
        source, target = read_stream(
            target,
            source,
            k=k,
            weights=weights,
            metric=metric,
            method=method,
            preparation=preparation,
            constraints=constraints,
            until=until,
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
    if certified is not None:
        grown, remark = growing_method(method, problem, certified)
        return Selection.from_result(
            search_until_certified(problem, grown, certified, settings, remark=remark)
        )
    if uses_sample(method, problem, settings.limits):
        return Selection.from_result(search_for_goal(problem, method, settings))
    chosen, remark = chosen_method(method, problem, settings.limits)
    return Selection.from_result(search(problem, chosen, settings, remark=remark))
