"""``protobandit assign``: find the nearest prototype of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import OUTPUT, option
from protobandit.interfaces.cli.progress import progress_display

EXAMPLES = (
    "protobandit assign embeddings-prototypes new.parquet | head",
    "protobandit assign chosen test.npy --out nearest.csv",
    "protobandit assign chosen test.npy --format parquet --out nearest.parquet",
)


def assign(
    selection: options.Saved,
    rows: options.Rows,
    out: Annotated[
        Path | None, option("--out -o FILE", OUTPUT, "Output file. Default: stdout.")
    ] = None,
    format: options.Format = options.TableFormat.csv,
    force: options.Force = False,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the nearest prototype of each row: its rank, row, id, label and distance.

    Rows are read and prepared like those of the selection. A table must have the same feature
    columns, by name; it may have other columns. A summary is printed to stderr.
    """
    from protobandit.interfaces.jobs.assign import AssignSummary, assign_rows
    from protobandit.interfaces.jobs.output_files import open_for_writing, require_writable_file
    from protobandit.interfaces.jobs.saved_result import SavedResult
    from protobandit.interfaces.jobs.table_formats import WRITERS, csv_text

    if out is None and format is not options.TableFormat.csv:
        raise InvalidInput("--format parquet requires --out. Pass --out FILE too.")
    n_jobs = parsing.parse_jobs(jobs)
    if out is not None:
        require_writable_file(out, force=force)
    result = SavedResult.load(selection)
    summary = AssignSummary(result.selection.k)
    if out is None:  # without a progress display: the printed rows show the progress
        for at, block in enumerate(assign_rows(result, rows, n_jobs=n_jobs, summary=summary)):
            if not output.print_data(csv_text(block, has_header=at == 0)):
                return
    else:
        with progress_display(is_quiet=quiet) as display:
            blocks = assign_rows(
                result, rows, n_jobs=n_jobs, notify=display.notify, summary=summary
            )
            with open_for_writing(out, force=force) as file:
                WRITERS[format.value](blocks, file)
    if not quiet:
        output.print_status(str(summary))
