"""``protobandit assign``: the nearest prototype of other rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from protobandit._cli import _options, _streams, _values
from protobandit._cli._options import OUTPUT, _option
from protobandit._cli._progress import watching
from protobandit._errors import InvalidInput

EXAMPLES = (
    "protobandit assign embeddings-prototypes new.parquet | head",
    "protobandit assign chosen test.npy --out nearest.csv",
    "protobandit assign chosen test.npy --format parquet --out nearest.parquet",
)


def assign(
    selection: _options.Saved,
    rows: _options.Rows,
    out: Annotated[
        Path | None,
        _option(
            "--out", "-o", panel=OUTPUT, metavar="FILE", help="Where to write; stdout without it."
        ),
    ] = None,
    format: _options.Format = _options.Table.csv,
    force: _options.Force = False,
    jobs: _options.Jobs = None,
    quiet: _options.Quiet = False,
) -> None:
    """Find the nearest prototype of each row: its rank, row, id and label, and how far it is.

    Rows are read and prepared as those of the selection were; a table needs the same columns, by
    name, and may have others.
    """
    from protobandit._jobs import WRITERS, Result, assigned, require_new, written

    if out is None and format is not _options.Table.csv:
        raise InvalidInput("--format parquet is for files. Pass --out FILE as well.")
    n_jobs = None if jobs is None else _values.as_jobs(jobs)
    if out is not None:
        require_new(out, force=force)
    result = Result.load(selection)
    if out is None:  # the rows themselves show how far it is
        _say(assigned(result, rows, n_jobs=n_jobs))
        return
    with watching(is_quiet=quiet) as watch:
        blocks = assigned(result, rows, n_jobs=n_jobs, tell=watch.tell)
        with written(out, force=force) as file:
            WRITERS[format.value](blocks, file)


def _say(blocks: Iterator[dict[str, Any]]) -> None:
    from protobandit._jobs import csv_text

    for at, block in enumerate(blocks):
        if not _streams.say_data(csv_text(block, has_header=at == 0)):
            break
