"""``protobandit update``: update a saved selection with new rows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from protobandit.foundation.visible_text import visible
from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import OUTPUT, PROBLEM, option
from protobandit.interfaces.cli.progress import progress_display

EXAMPLES = (
    "protobandit update chosen test.npy --out updated",
    "protobandit update chosen test.npy -k 60 --keep 0.9 --out chosen-2",
)


def update(
    context: typer.Context,
    selection: options.Saved,
    rows: options.Rows,
    k: Annotated[
        str | None,
        option(
            "-k --prototypes N|FRACTION",
            PROBLEM,
            "Number of prototypes: an integer, or a fraction of all rows. Default: as before.",
        ),
    ] = None,
    keep: Annotated[
        str,
        option(
            "--keep SHARE",
            PROBLEM,
            "Least share of the old prototypes that stays, from 0 to 1. Default: 0.8.",
        ),
    ] = "0.8",
    source: options.MovedSources = None,
    target: options.MovedTargets = None,
    seed: options.Seed = "0",
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None,
        option(
            "--out -o DIR",
            OUTPUT,
            "Output folder. Default: the folder of the selection with -updated added to its name.",
        ),
    ] = None,
    format: options.Format = options.TableFormat.csv,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Update a selection with new rows, and keep most of its prototypes.

    Opens the files of the selection again; it is an error if their rows have changed. The old
    prototypes stay, except those whose exchange for another row lowers the cost of old and new
    rows; at least the share --keep stays. Rows are numbered through all files: first the old
    ones, then the new ones. If there was a --target, the new rows belong to it. Rows that were
    selected with --fixed stay. A selection with --at-least, --at-most or --min-distance cannot be
    updated: these are not part of it.

    Writes selection.json and prototypes.csv, as `protobandit select` does.
    """
    from protobandit.interfaces.jobs.new_rows import UpdateJob, write_updated
    from protobandit.interfaces.jobs.output_files import require_writable_folder
    from protobandit.interfaces.jobs.saved_result import SavedResult, selection_file

    home = selection_file(selection).resolve().parent
    folder = home.with_name(f"{home.name}-updated") if out is None else out
    job = UpdateJob(
        result=SavedResult.load(selection),
        paths=tuple(rows),
        sources=tuple(source or ()),
        targets=tuple(target or ()),
        k=None if k is None else parsing.parse_k(k),
        keep=parsing.parse_share(keep, "--keep"),
        seed=parsing.parse_seed(seed),
        n_jobs=parsing.parse_jobs(jobs),
        command=shlex.join(["protobandit", *context.obj]),
    )
    require_writable_folder(folder, force=force)
    with progress_display(is_quiet=quiet) as display:
        result, opened = job.run(display.notify)
        files = write_updated(folder, result, opened, table_format=format.value, force=force)
    updated = result.selection
    if as_json:
        output.print_json(
            {
                "k": updated.k,
                "indices": updated.indices,
                "ids": result.run.ids,
                "cost": updated.cost,
                "mass": updated.mass,
                "status": updated.status,
                "out": str(folder),
                "files": files,
            }
        )
    elif not quiet:
        written = ", ".join(str(folder / name) for name in files)
        output.print_text(f"{updated!r}\n  written      {visible(written)}\n")
