"""``protobandit select``: select prototypes from files."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.foundation.visible_text import visible
from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.interrupts import ignoring_signals, stopping_on_signals
from protobandit.interfaces.cli.option_groups import (
    ProblemOptions,
    SearchOptions,
    select_arguments,
    with_option_groups,
)
from protobandit.interfaces.cli.options import OUTPUT, listed, option
from protobandit.interfaces.cli.progress import progress_display

if TYPE_CHECKING:
    from protobandit.interfaces.jobs.opened_problem import SelectArguments
    from protobandit.interfaces.jobs.select_job import SelectJob, WrittenResult

PARTIAL = 3  # the exit code if the result is partial
_LEAST_WORKER = 256_000_000  # bytes; with much less, a worker is restarted for ever

EXAMPLES = (
    "protobandit select embeddings.parquet -k 200 --id name --report",
    "protobandit select customers.csv -k 20 --columns 'age' --columns 'spent_*' --standardize",
    "protobandit select train.npy --target test.npy -k auto --out chosen",
    "protobandit select photos/ -k 0.05 --image-size 32",
    "protobandit select queries.txt -k 50 --max-seconds 60",
    "protobandit select 'data/*.parquet' -k 1000 --workers 4 --checkpoint",
)


@with_option_groups
def select(
    context: typer.Context,
    problem: ProblemOptions,
    *,
    fixed: Annotated[str | None, listed("--fixed")] = None,
    groups: Annotated[str | None, listed("--groups")] = None,
    at_least: Annotated[list[str] | None, listed("--at-least")] = None,
    at_most: Annotated[list[str] | None, listed("--at-most")] = None,
    min_distance: Annotated[str | None, listed("--min-distance")] = None,
    by: Annotated[str | None, listed("--by")] = None,
    method: Annotated[str, listed("--method", autocompletion=options.complete_method)] = "auto",
    param: Annotated[list[str] | None, listed("--param")] = None,
    effort: Annotated[
        str | None, listed("--effort", autocompletion=options.complete_effort)
    ] = None,
    certified: Annotated[str | None, listed("--certified")] = None,
    search: SearchOptions,
    checkpoint: Annotated[bool, listed("--checkpoint")] = False,
    checkpoint_every: Annotated[str | None, listed("--checkpoint-every")] = None,
    resume: Annotated[bool, listed("--resume")] = False,
    keep_partial: Annotated[bool, listed("--keep-partial")] = False,
    workers: Annotated[str | None, listed("--workers")] = None,
    scheduler: Annotated[str | None, listed("--scheduler")] = None,
    worker_memory: Annotated[str | None, listed("--worker-memory")] = None,
    out: Annotated[
        Path | None,
        option(
            "--out -o DIR",
            OUTPUT,
            "Output folder. Default: NAME-prototypes in the current folder, where NAME is the name "
            "of the first source.",
        ),
    ] = None,
    report: Annotated[bool, listed("--report")] = False,
    show: Annotated[list[str] | None, listed("--show")] = None,
    labelled: Annotated[Path | None, listed("--labelled")] = None,
    certify: Annotated[bool, listed("--certify")] = False,
    format: options.Format = options.TableFormat.csv,
    excel_safe: Annotated[bool, listed("--excel-safe")] = False,
    dry_run: Annotated[bool, listed("--dry-run")] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Select rows that represent all rows, or the rows of another set.

    Writes selection.json (read by `protobandit assign`, `report`, `certify` and
    Selection.from_json), prototypes.csv (rank, row, id, gain, mass, cost, label and the columns of
    the source; with protodash also coefficient), criticisms.csv (rank, row, id, label and the
    columns of the target; only with mmd-critic and --param n_criticisms=N) and, with --report,
    report.html. All files are written at the end, or none. If the result is partial, the exit code
    is 3: fewer prototypes than requested, or something left out after Ctrl-C with --keep-partial.

    Rows are numbered from 0. A source column with the name of an output column, such as cost, is
    written as source_cost.
    """
    from protobandit.interfaces.jobs.select_job import SelectJob

    shared = select_arguments(problem, search)
    arguments = replace(
        shared,
        read_options=replace(shared.read_options, groups=groups, by=by),
        method=method,
        parameters=_parameters(param, effort),
        fixed=parsing.parse_names(fixed, "--fixed"),
        at_least=parsing.parse_quotas(at_least, "--at-least"),
        at_most=parsing.parse_quotas(at_most, "--at-most"),
        min_distance=None
        if min_distance is None
        else parsing.parse_positive(
            min_distance, "--min-distance", such_as="a distance such as 0.1"
        ),
        certified=None if certified is None else parsing.parse_ratio(certified, "--certified"),
        in_parts=workers is not None or scheduler is not None,
    )
    if arguments.in_parts and (report or labelled is not None):
        raise InvalidInput(
            "--report and --labelled are not supported with --workers and --scheduler. Run "
            "`protobandit report` or `protobandit assign` on the result."
        )
    if dry_run:
        _print_plan(arguments, as_json=as_json, is_quiet=quiet)
        return
    job = SelectJob(
        arguments=arguments,
        out=out,
        table_format=format.value,
        is_excel_safe=excel_safe,
        has_report=report,
        show=parsing.parse_columns(show),
        labelled=labelled,
        has_certificate=certify,
        has_checkpoint=checkpoint,
        is_resumed=resume,
        checkpoint_seconds=None
        if checkpoint_every is None
        else parsing.parse_seconds(checkpoint_every, "--checkpoint-every", is_zero_allowed=True),
        keeps_partial=keep_partial,
        force=force,
        command=shlex.join(["protobandit", *context.obj]),
    )
    with _cluster(workers, scheduler, worker_memory):
        written = _run(job, is_quiet=quiet)
    if as_json:
        output.print_json(_summary_as_json(written))
    elif not quiet:
        output.print_text(_summary(written))
    if written.is_partial:
        raise typer.Exit(PARTIAL)


def _cluster(
    workers: str | None, scheduler: str | None, memory: str | None
) -> AbstractContextManager[Any]:
    """Return the cluster that runs the search, or nothing if it runs in this process."""
    if workers is not None and scheduler is not None:
        raise InvalidInput("--workers and --scheduler are given. Pass one of them.")
    if memory is not None and workers is None:
        raise InvalidInput("--worker-memory requires --workers. Pass --workers N too.")
    if workers is None and scheduler is None:
        return nullcontext()
    from protobandit.run.executors.cluster import opened_client

    n_bytes = None if memory is None else parsing.parse_bytes(memory, "--worker-memory")
    if n_bytes is not None and n_bytes < _LEAST_WORKER:
        raise InvalidInput(
            f"--worker-memory {memory} is less than a worker needs without any rows. Pass at "
            f"least 256MB."
        )
    return opened_client(
        workers=parsing.parse_optional_integer(workers, "--workers"),
        scheduler=scheduler,
        memory=n_bytes,
    )


def _parameters(param: list[str] | None, effort: str | None) -> dict[str, Any]:
    parameters = parsing.parse_parameters(param, "--param")
    if effort is None:
        return parameters
    if "effort" in parameters:
        raise InvalidInput("--effort and --param effort=… are the same. Pass one of them.")
    return {**parameters, "effort": parsing.parse_value(effort)}


def _print_plan(arguments: SelectArguments, *, as_json: bool, is_quiet: bool) -> None:
    from protobandit.interfaces.jobs.opened_problem import open_problem

    with progress_display(is_quiet=is_quiet) as display:
        plan = open_problem(arguments, display.notify).plan()
    if as_json:
        output.print_json(plan)
    else:
        output.print_text(f"{plan}\n")


def _run(job: SelectJob, *, is_quiet: bool) -> WrittenResult:
    try:
        with progress_display(is_quiet=is_quiet) as display:
            problem = job.open(display.notify)
            with stopping_on_signals(job.interrupt if job.keeps_partial else None):
                selection = job.search(problem, display.show)
            with job.recovering(problem, selection):
                result = job.certify(problem, selection, display.notify)
                files = job.render(problem, result, display.notify)
        with ignoring_signals(), job.recovering(problem, selection):
            written = job.write(problem, result, files)
        with progress_display(is_quiet=is_quiet) as display:
            job.label(problem, result, display.notify)
    except KeyboardInterrupt:
        raise ProtobanditError(job.interrupted_message) from None
    return written


def _summary(written: WrittenResult) -> str:
    folder = written.folder
    lines = [
        repr(written.result.selection),
        f"  written      {visible(', '.join(str(folder / name) for name in written.files))}",
    ]
    if written.labelled is not None:
        lines.append(f"  labelled     {visible(str(written.labelled))}")
    if written.formulas:
        n, columns = sum(written.formulas.values()), ", ".join(written.formulas)
        lines.append(
            f"  formulas     {n} cells look like formulas ({visible(columns):.80}); --excel-safe "
            f"quotes them"
        )
    if written.skipped:
        lines.append(f"  interrupted  without {' and '.join(written.skipped)}")
    if written.result.selection.reference is None:
        lines.append("  drift        the first `protobandit check` repeats a part of the search")
    if "report.html" not in written.files:
        lines.append(f"  view         protobandit report {visible(shlex.quote(str(folder)))}")
    return "\n".join(lines) + "\n"


def _summary_as_json(written: WrittenResult) -> dict[str, Any]:
    selection = written.result.selection
    return {
        "k": selection.k,
        "rows": written.n_source,
        "indices": selection.indices,
        "file_rows": written.result.run.rows,
        "columns": selection.columns,
        "columns_left_out": selection.columns_left_out,
        "ids": written.result.run.ids,
        "cost": selection.cost,
        "cost_error": selection.cost_error,
        "gains": selection.gains,
        "mass": selection.mass,
        "evaluations": selection.evaluations,
        "lookups": selection.lookups,
        "seconds": selection.seconds,
        "method": selection.method,
        "metric": selection.metric_name,
        "status": selection.status,
        "warnings": [warning.message for warning in selection.warnings],
        "certificate": selection.certificate,
        "out": str(written.folder),
        "files": written.files,
        "left_out": written.skipped,
        "formulas": written.formulas,
    }
