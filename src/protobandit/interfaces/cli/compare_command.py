"""``protobandit compare``: methods side by side on one's own rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from protobandit.foundation.errors import ProtobanditError
from protobandit.interfaces.cli import options, output, values
from protobandit.interfaces.cli.options import SEARCH, _option
from protobandit.interfaces.cli.progress import watching

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit.interfaces.jobs.compare import Comparison, MethodScore

EXAMPLES = (
    "protobandit compare rows.csv -k 20",
    "protobandit compare train.npy -k 100 --methods lazybandit,fasterpam --seeds 5",
)

_METHODS = "lazybandit,onebatch,lazygreedy,random"


def compare(
    sources: options.Sources,
    k: options.K,
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
    target: options.Targets = None,
    columns: options.Columns = None,
    id: options.Id = None,
    label: options.Label = None,
    weights: options.Weights = None,
    image_size: options.ImageSize = None,
    colour: options.Colour = False,
    sample_rows: options.SampleRows = None,
    assume_shuffled: options.AssumeShuffled = False,
    cache: options.Cache = None,
    metric: options.MetricName = None,
    metric_param: options.MetricParam = None,
    standardize: options.Standardize = False,
    normalize: options.Normalize = False,
    pca: options.PCA = None,
    categories: options.CategoriesAs = None,
    impute: options.ImputeAs = None,
    seed: options.Seed = "0",
    jobs: options.Jobs = None,
    max_evaluations: options.MaxEvaluations = None,
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods by what they reach and what they take; writes nothing.

    The cost of each is measured on the same target rows: all, or 32,768 drawn by weight where there
    are more. Seconds are those of the search alone, compilation left out where it is quick.
    """
    from protobandit.interfaces.jobs.compare import compared
    from protobandit.interfaces.jobs.read_options import ReadOptions
    from protobandit.interfaces.jobs.select_arguments import SelectArguments

    task = SelectArguments(
        sources=tuple(sources),
        targets=tuple(target or ()),
        k=values.as_k(k),
        reading=ReadOptions(
            columns=tuple(columns or ()),
            id=id,
            label=label,
            weights=weights,
            has_categories=categories is not None,
            image_size=values.as_optional(image_size, "--image-size"),
            is_colour=colour,
            sample=values.as_optional(sample_rows, "--sample-rows"),
            assume_shuffled=assume_shuffled,
            cache=cache,
        ),
        preparation=values.as_preparation(standardize, normalize, pca, categories, impute),
        metric=metric,
        metric_parameters=values.as_parameters(metric_param, "--metric-param"),
        limits=values.as_limits(max_evaluations, max_seconds, max_memory),
        seed=values.as_whole(seed, "--seed", least=0),
        n_jobs=None if jobs is None else values.as_jobs(jobs),
    )
    n_seeds = values.as_whole(seeds, "--seeds")
    names = tuple(dict.fromkeys(values.as_names(methods, "--methods")))
    with watching(is_quiet=quiet) as watch:
        found = compared(task, names, n_seeds, watch.tell)
    if as_json:
        output.say_json(_as_json(found))
    else:
        output.say_table(_table(found), _legend(found, n_seeds))
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
    table = output.new_table("method")
    for figure in ("prototypes", "cost", "evaluations", "seconds"):
        table.add_column(figure, justify="right", no_wrap=True)
    table.add_column("")
    for score in found.scores:
        table.add_row(score.method, *_figures(score, is_best=score.cost == found.best_cost))
    return table


def _figures(score: MethodScore, *, is_best: bool) -> list[str]:
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
