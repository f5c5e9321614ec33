"""``protobandit select``: from files to prototypes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from protobandit._cli import _options, _streams, _values
from protobandit._cli._interrupts import heeding, undisturbed
from protobandit._cli._options import OUTPUT, _flag, _option
from protobandit._cli._progress import watching
from protobandit._cli._summary import plan_as_json, said, said_as_json
from protobandit._errors import InvalidInput, ProtobanditError

EXAMPLES = (
    "protobandit select embeddings.parquet -k 200 --id name --report",
    "protobandit select customers.csv -k 20 --columns 'age' --columns 'spent_*' --standardize",
    "protobandit select train.npy --target test.npy -k auto --out chosen",
    "protobandit select photos/ -k 0.05 --image-size 32",
    "protobandit select queries.txt -k 50 --max-seconds 60",
)


def select(
    context: typer.Context,
    sources: _options.Sources,
    k: _options.K,
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
    fixed: _options.Fixed = None,
    groups: _options.Groups = None,
    at_least: _options.AtLeast = None,
    at_most: _options.AtMost = None,
    by: _options.By = None,
    standardize: _options.Standardize = False,
    normalize: _options.Normalize = False,
    pca: _options.PCA = None,
    categories: _options.CategoriesAs = None,
    impute: _options.ImputeAs = None,
    method: _options.MethodName = "auto",
    param: _options.Param = None,
    effort: _options.Effort = None,
    seed: _options.Seed = "0",
    jobs: _options.Jobs = None,
    max_evaluations: _options.MaxEvaluations = None,
    max_seconds: _options.MaxSeconds = None,
    max_memory: _options.MaxMemory = None,
    checkpoint: Annotated[
        bool,
        _flag(
            "--checkpoint",
            panel=_options.LIMITS,
            help="Keep a file OUT.checkpoint, from which --resume goes on after a crash; it is "
            "removed at the end.",
        ),
    ] = False,
    checkpoint_every: Annotated[
        str | None,
        _option(
            "--checkpoint-every",
            panel=_options.LIMITS,
            metavar="S",
            help="Seconds between two checkpoints; 5 if not given.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        _flag(
            "--resume",
            panel=_options.LIMITS,
            help="Go on from OUT.checkpoint, which must be there unless --checkpoint is given too.",
        ),
    ] = False,
    keep_partial: Annotated[
        bool,
        _flag(
            "--keep-partial",
            panel=_options.LIMITS,
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
    format: _options.Format = _options.Table.csv,
    dry_run: Annotated[
        bool,
        _flag("--dry-run", panel=OUTPUT, help="Say what it would take; write nothing."),
    ] = False,
    force: _options.Force = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
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
    from protobandit._jobs import Order, Reading, Task

    parameters = _values.as_parameters(param, "--param")
    if effort is not None:
        if "effort" in parameters:
            raise InvalidInput("--effort and --param effort=… say the same. Pass one of them.")
        parameters["effort"] = _values.as_value(effort)
    task = Task(
        sources=tuple(sources),
        targets=tuple(target or ()),
        k=_values.as_k(k),
        reading=Reading(
            columns=tuple(columns or ()),
            id=id,
            label=label,
            weights=weights,
            groups=groups,
            by=by,
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
        method=method,
        parameters=parameters,
        fixed=_values.as_names(fixed, "--fixed"),
        at_least=_values.as_quotas(at_least, "--at-least"),
        at_most=_values.as_quotas(at_most, "--at-most"),
        limits=_values.as_limits(max_evaluations, max_seconds, max_memory),
        seed=_values.as_whole(seed, "--seed", least=0),
        n_jobs=None if jobs is None else _values.as_jobs(jobs),
    )
    if dry_run:
        _plan(task, as_json=as_json, is_quiet=quiet)
        return
    order = Order(
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
        else _values.as_seconds(checkpoint_every, "--checkpoint-every", is_zero_allowed=True),
        force=force,
        command=shlex.join(["protobandit", *context.obj]),
    )
    _carry_out(order, as_json=as_json, is_quiet=quiet)


def _plan(task: Any, *, as_json: bool, is_quiet: bool) -> None:
    with watching(is_quiet=is_quiet) as watch:
        plan = task.posed(watch.tell).planned()
    if as_json:
        _streams.say_json(plan_as_json(plan))
    else:
        _streams.say(f"{plan}\n")


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
        _streams.say_json(said_as_json(done))
    elif not is_quiet:
        _streams.say(said(done))
