"""``protobandit select``: from files to prototypes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.interfaces.cli import options, output, values
from protobandit.interfaces.cli.interrupts import heeding, undisturbed
from protobandit.interfaces.cli.options import OUTPUT, _flag, _option
from protobandit.interfaces.cli.progress import watching
from protobandit.interfaces.cli.summary import plan_as_json, said, said_as_json

EXAMPLES = (
    "protobandit select embeddings.parquet -k 200 --id name --report",
    "protobandit select customers.csv -k 20 --columns 'age' --columns 'spent_*' --standardize",
    "protobandit select train.npy --target test.npy -k auto --out chosen",
    "protobandit select photos/ -k 0.05 --image-size 32",
    "protobandit select queries.txt -k 50 --max-seconds 60",
)


def select(
    context: typer.Context,
    sources: options.Sources,
    k: options.K,
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
    fixed: options.Fixed = None,
    groups: options.Groups = None,
    at_least: options.AtLeast = None,
    at_most: options.AtMost = None,
    by: options.By = None,
    standardize: options.Standardize = False,
    normalize: options.Normalize = False,
    pca: options.PCA = None,
    categories: options.CategoriesAs = None,
    impute: options.ImputeAs = None,
    method: options.MethodName = "auto",
    param: options.Param = None,
    effort: options.Effort = None,
    seed: options.Seed = "0",
    jobs: options.Jobs = None,
    max_evaluations: options.MaxEvaluations = None,
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    checkpoint: Annotated[
        bool,
        _flag(
            "--checkpoint",
            panel=options.LIMITS,
            help="Keep a file OUT.checkpoint, from which --resume goes on after a crash; it is "
            "removed at the end.",
        ),
    ] = False,
    checkpoint_every: Annotated[
        str | None,
        _option(
            "--checkpoint-every",
            panel=options.LIMITS,
            metavar="S",
            help="Seconds between two checkpoints; 5 if not given.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        _flag(
            "--resume",
            panel=options.LIMITS,
            help="Go on from OUT.checkpoint, which must be there unless --checkpoint is given too.",
        ),
    ] = False,
    keep_partial: Annotated[
        bool,
        _flag(
            "--keep-partial",
            panel=options.LIMITS,
            help="On Ctrl-C, write the best so far; on a second, or without this, nothing.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        _option(
            "--out",
            "-o",
            panel=OUTPUT,
            metavar="DIR",
            help="The folder for the result. Without it, NAME-prototypes in the current folder, "
            "NAME being that of the first source.",
        ),
    ] = None,
    report: Annotated[
        bool, _flag("--report", panel=OUTPUT, help="Write report.html too, a page to look at.")
    ] = False,
    certify: Annotated[
        bool,
        _flag(
            "--certify",
            panel=OUTPUT,
            help="Bound how far the result is from the best possible, and keep that with it.",
        ),
    ] = False,
    format: options.Format = options.TableFormat.csv,
    dry_run: Annotated[
        bool,
        _flag("--dry-run", panel=OUTPUT, help="Say what it would take; write nothing."),
    ] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose rows that stand for all, or for those of another set.

    Writes selection.json (everything, for `protobandit assign`, `report`, `certify` and
    Selection.from_json), prototypes.csv (rank, row, id, gain, mass, cost, label and the columns of
    the source; by protodash a coefficient too), criticisms.csv (rank, row, id, label and the
    columns of the target) where mmd-critic is asked for some by --param n_criticisms=N and, if
    asked for, report.html. All are written at the end, or none.

    Rows are numbered from 0. A column of the source that is called like one of ours, such as cost,
    becomes source_cost.
    """
    from protobandit.interfaces.jobs.read_options import ReadOptions
    from protobandit.interfaces.jobs.select_arguments import SelectArguments
    from protobandit.interfaces.jobs.select_job import SelectJob

    parameters = values.as_parameters(param, "--param")
    if effort is not None:
        if "effort" in parameters:
            raise InvalidInput("--effort and --param effort=… say the same. Pass one of them.")
        parameters["effort"] = values.as_value(effort)
    task = SelectArguments(
        sources=tuple(sources),
        targets=tuple(target or ()),
        k=values.as_k(k),
        reading=ReadOptions(
            columns=tuple(columns or ()),
            id=id,
            label=label,
            weights=weights,
            groups=groups,
            by=by,
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
        method=method,
        parameters=parameters,
        fixed=values.as_names(fixed, "--fixed"),
        at_least=values.as_quotas(at_least, "--at-least"),
        at_most=values.as_quotas(at_most, "--at-most"),
        limits=values.as_limits(max_evaluations, max_seconds, max_memory),
        seed=values.as_whole(seed, "--seed", least=0),
        n_jobs=None if jobs is None else values.as_jobs(jobs),
    )
    if dry_run:
        _plan(task, as_json=as_json, is_quiet=quiet)
        return
    order = SelectJob(
        task=task,
        out=out,
        form=format.value,
        has_page=report,
        is_certified=certify,
        has_checkpoint=checkpoint,
        is_resumed=resume,
        keeps_partial=keep_partial,
        every=None
        if checkpoint_every is None
        else values.as_seconds(checkpoint_every, "--checkpoint-every", is_zero_allowed=True),
        force=force,
        command=shlex.join(["protobandit", *context.obj]),
    )
    _carry_out(order, as_json=as_json, is_quiet=quiet)


def _plan(task: Any, *, as_json: bool, is_quiet: bool) -> None:
    with watching(is_quiet=is_quiet) as watch:
        plan = task.posed(watch.tell).planned()
    if as_json:
        output.say_json(plan_as_json(plan))
    else:
        output.say(f"{plan}\n")


def _carry_out(order: Any, *, as_json: bool, is_quiet: bool) -> None:
    try:
        with watching(is_quiet=is_quiet) as watch:
            posed = order.posed(watch.tell)
            with heeding(order.interrupt if order.keeps_partial else None):
                selection = order.selected(posed, watch.show)
            result = order.certified(posed, selection, watch.tell)
            files = order.files(posed, result, watch.tell)
        with undisturbed():
            done = order.delivered(posed, result, files)
    except KeyboardInterrupt:
        raise ProtobanditError(order.farewell) from None
    if as_json:
        output.say_json(said_as_json(done))
    elif not is_quiet:
        output.say(said(done))
