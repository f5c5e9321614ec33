"""``protobandit report``: write the report page of a saved selection."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import INPUT, OUTPUT, listed, option
from protobandit.interfaces.cli.progress import progress_display

EXAMPLES = (
    "protobandit report embeddings-prototypes",
    "protobandit report embeddings-prototypes --show name --out page.html",
    "protobandit report chosen --new test.npy --out page.html",
    "protobandit report chosen --source moved/train.npy --out page.html",
)


def report(
    selection: options.Saved,
    source: options.MovedSources = None,
    target: options.MovedTargets = None,
    new: Annotated[
        list[str] | None,
        option("--new PATH", INPUT, "New rows to compare with the selection; repeatable."),
    ] = None,
    show: Annotated[list[str] | None, listed("--show")] = None,
    out: Annotated[
        Path | None,
        option("--out -o FILE", OUTPUT, "Output file. Default: report.html beside selection.json."),
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML page that shows a selection; the page needs no network.

    Opens the files of the selection again; it is an error if their rows have changed. With --new,
    the page also shows whether the prototypes still represent new rows, as `protobandit check`
    does.
    """
    from protobandit.interfaces.jobs.new_rows import check_rows
    from protobandit.interfaces.jobs.output_files import (
        REPORT,
        open_for_writing,
        require_writable_file,
    )
    from protobandit.interfaces.jobs.report_page import report_page
    from protobandit.interfaces.jobs.saved_result import SavedResult, selection_file

    path = selection_file(selection).with_name(REPORT) if out is None else out
    result = SavedResult.load(selection)
    require_writable_file(path, force=force)
    with progress_display(is_quiet=quiet) as display:
        reopened = result.reopen(source or (), target or (), display.notify)
        drift = None
        if new:
            known = replace(result, selection=reopened.selection.with_reference())
            checked = check_rows(known, new, notify=display.notify)
            drift = checked.drift
        display.notify("Writing the report …")
        page = report_page(*reopened, result.run, drift, parsing.parse_columns(show))
    with open_for_writing(path, force=force) as file:
        file.write(page.encode("utf-8"))
    if new and checked.where and not quiet:
        output.print_status(
            f"{checked.drift.n_rows:,} of {checked.n_total:,} new rows were compared: those with "
            f"{checked.where}, which is the --where of the selection."
        )
    if as_json:
        output.print_json({"out": str(path)})
    elif not quiet:
        output.print_text(f"{path}\n")
