"""``protobandit compare``: methods side by side on one's own rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from protobandit._cli import _options, _streams, _values
from protobandit._cli._options import SEARCH, _option
from protobandit._cli._progress import watching
from protobandit._errors import ProtobanditError

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit._jobs import Comparison, Score

EXAMPLES = (
    "protobandit compare rows.csv -k 20",
    "protobandit compare train.npy -k 100 --methods lazybandit,fasterpam --seeds 5",
)

_METHODS = "lazybandit,onebatch,lazygreedy,random"


def compare(
    sources: _options.Sources,
    k: _options.K,
    methods: Annotated[
        str,
        _option(
            "--methods",
            panel=SEARCH,
            metavar="NAME,NAME",
            help=f"The methods, with commas between; {_METHODS} if not given.",
        ),
    ] = _METHODS,
    seeds: Annotated[
        str,
        _option("--seeds", panel=SEARCH, metavar="N", help="How many seeds; 1 if not given."),
    ] = "1",
    target: _options.Targets = None,
    columns: _options.Columns = None,
    id: _options.Id = None,
    label: _options.Label = None,
    weights: _options.Weights = None,
    image_size: _options.ImageSize = None,
    colour: _options.Colour = False,
    sample_rows: _options.SampleRows = None,
    assume_shuffled: _options.AssumeShuffled = False,
    cache: _options.Cache = None,
    metric: _options.MetricName = None,
    metric_param: _options.MetricParam = None,
    standardize: _options.Standardize = False,
    normalize: _options.Normalize = False,
    pca: _options.PCA = None,
    categories: _options.CategoriesAs = None,
    impute: _options.ImputeAs = None,
    seed: _options.Seed = "0",
    jobs: _options.Jobs = None,
    max_evaluations: _options.MaxEvaluations = None,
    max_seconds: _options.MaxSeconds = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Compare methods by what they reach and what they take; writes nothing.

    The cost of each is measured on the same target rows: all, or 32,768 drawn by weight where there
    are more. Seconds are those of the search alone, compilation left out where it is quick.
    """
    from protobandit._jobs import Reading, Task, compared

    task = Task(
        sources=tuple(sources),
        targets=tuple(target or ()),
        k=_values.as_k(k),
        reading=Reading(
            columns=tuple(columns or ()),
            id=id,
            label=label,
            weights=weights,
            has_categories=categories is not None,
            image_size=_values.as_optional(image_size, "--image-size"),
            is_colour=colour,
            sample=_values.as_optional(sample_rows, "--sample-rows"),
            assume_shuffled=assume_shuffled,
            cache=cache,
        ),
        preparation=_values.as_preparation(standardize, normalize, pca, categories, impute),
        metric=metric,
        metric_parameters=_values.as_parameters(metric_param, "--metric-param"),
        limits=_values.as_limits(max_evaluations, max_seconds, max_memory),
        seed=_values.as_whole(seed, "--seed", least=0),
        n_jobs=None if jobs is None else _values.as_jobs(jobs),
    )
    n_seeds = _values.as_whole(seeds, "--seeds")
    names = tuple(dict.fromkeys(_values.as_names(methods, "--methods")))
    with watching(is_quiet=quiet) as watch:
        found = compared(task, names, n_seeds, watch.tell)
    if as_json:
        _streams.say_json(_as_json(found))
    else:
        _streams.say_table(_table(found), _legend(found, n_seeds))
    if found.best is None:
        raise ProtobanditError("No method could solve this; the table says why.")


def _as_json(found: Comparison) -> dict[str, object]:
    return {
        "methods": [asdict(score) for score in found.scores],
        "best": found.best,
        "judged_on": found.n_judges,
        "target_rows": found.n_target,
    }


def _table(found: Comparison) -> Table:
    table = _streams.new_table("method")
    for figure in ("prototypes", "cost", "evaluations", "seconds"):
        table.add_column(figure, justify="right", no_wrap=True)
    table.add_column("")
    for score in found.scores:
        table.add_row(score.method, *_figures(score, is_best=score.cost == found.best_cost))
    return table


def _figures(score: Score, *, is_best: bool) -> list[str]:
    if score.cost is None:
        return ["", "", "", "", f"failed: {score.failure}"]
    deviation = "" if score.cost_deviation is None else f" ± {score.cost_deviation:.2g}"
    return [
        f"{score.prototypes:,.6g}",
        f"{score.cost:.6g}{deviation}",
        f"{score.evaluations:,.0f}",
        f"{score.seconds:.3f}",
        "best" if is_best else "",
    ]


def _legend(found: Comparison, seeds: int) -> str:
    rows = f"{found.n_judges:,} of the {found.n_target:,}"
    judges = f"all {found.n_target:,}" if found.n_judges == found.n_target else rows
    mean = f"; mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
    return f"\ncost: mean distance of {judges} target rows to their nearest prototype{mean}"
