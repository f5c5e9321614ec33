"""``protobandit assign``: the nearest prototype of other rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.cli import options, output, values
from protobandit.interfaces.cli.options import OUTPUT, _option
from protobandit.interfaces.cli.progress import watching

EXAMPLES = (
    "protobandit assign embeddings-prototypes new.parquet | head",
    "protobandit assign chosen test.npy --out nearest.csv",
    "protobandit assign chosen test.npy --format parquet --out nearest.parquet",
)


def assign(
    selection: options.Saved,
    rows: options.Rows,
    out: Annotated[
        Path | None,
        _option(
            "--out", "-o", panel=OUTPUT, metavar="FILE", help="Where to write; stdout without it."
        ),
    ] = None,
    format: options.Format = options.TableFormat.csv,
    force: options.Force = False,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the nearest prototype of each row: its rank, row, id and label, and how far it is.

    Rows are read and prepared as those of the selection were; a table needs the same columns, by
    name, and may have others.
    """
    from protobandit.interfaces.jobs.assign import assigned
    from protobandit.interfaces.jobs.files import require_new, written
    from protobandit.interfaces.jobs.saved_result import SavedResult
    from protobandit.interfaces.jobs.tables import WRITERS

    if out is None and format is not options.TableFormat.csv:
        raise InvalidInput("--format parquet is for files. Pass --out FILE as well.")
    n_jobs = None if jobs is None else values.as_jobs(jobs)
    if out is not None:
        require_new(out, force=force)
    result = SavedResult.load(selection)
    if out is None:  # the rows themselves show how far it is
        _say(assigned(result, rows, n_jobs=n_jobs))
        return
    with watching(is_quiet=quiet) as watch:
        blocks = assigned(result, rows, n_jobs=n_jobs, tell=watch.tell)
        with written(out, force=force) as file:
            WRITERS[format.value](blocks, file)


def _say(blocks: Iterator[dict[str, Any]]) -> None:
    from protobandit.interfaces.jobs.tables import csv_text

    for at, block in enumerate(blocks):
        if not output.say_data(csv_text(block, has_header=at == 0)):
            break
