"""``protobandit report``: the page of a saved selection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from protobandit._cli import _options, _streams
from protobandit._cli._options import OUTPUT, _option
from protobandit._cli._progress import watching

EXAMPLES = (
    "protobandit report embeddings-prototypes",
    "protobandit report chosen --source moved/train.npy --out page.html",
)


def report(
    selection: _options.Saved,
    source: _options.OtherSources = None,
    target: _options.OtherTargets = None,
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
    force: _options.Force = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Write one HTML page that shows a selection; it needs no network.

    Opens the files that the selection was made from again, and refuses if their rows have changed.
    """
    from protobandit._jobs import Result, reopened, require_new, selection_file, written

    path = selection_file(selection).with_name("report.html") if out is None else out
    result = Result.load(selection)
    require_new(path, force=force)
    with watching(is_quiet=quiet) as watch:
        opened = reopened(result, sources=source or (), targets=target or (), tell=watch.tell)
        watch.tell("Drawing the report …")
        page = opened.page()
    with written(path, force=force) as file:
        file.write(page.encode("utf-8"))
    if as_json:
        _streams.say_json({"out": str(path)})
    elif not quiet:
        _streams.say(f"{path}\n")
