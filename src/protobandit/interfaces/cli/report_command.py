"""``protobandit report``: the page of a saved selection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from protobandit.interfaces.cli import options, output
from protobandit.interfaces.cli.options import OUTPUT, _option
from protobandit.interfaces.cli.progress import watching

EXAMPLES = (
    "protobandit report embeddings-prototypes",
    "protobandit report chosen --source moved/train.npy --out page.html",
)


def report(
    selection: options.Saved,
    source: options.OtherSources = None,
    target: options.OtherTargets = None,
    out: Annotated[
        Path | None,
        _option(
            "--out",
            "-o",
            panel=OUTPUT,
            metavar="FILE",
            help="Where to write the page. Without it, report.html beside the selection.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML page that shows a selection; it needs no network.

    Opens the files that the selection was made from again, and refuses if their rows have changed.
    """
    from protobandit.interfaces.jobs.files import require_new, written
    from protobandit.interfaces.jobs.reopened import reopened
    from protobandit.interfaces.jobs.saved_result import SavedResult, selection_file

    path = selection_file(selection).with_name("report.html") if out is None else out
    result = SavedResult.load(selection)
    require_new(path, force=force)
    with watching(is_quiet=quiet) as watch:
        opened = reopened(result, sources=source or (), targets=target or (), tell=watch.tell)
        watch.tell("Drawing the report …")
        page = opened.page()
    with written(path, force=force) as file:
        file.write(page.encode("utf-8"))
    if as_json:
        output.say_json({"out": str(path)})
    elif not quiet:
        output.say(f"{path}\n")
