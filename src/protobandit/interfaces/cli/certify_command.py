"""``protobandit certify``: how far a saved selection can be from the best."""

from __future__ import annotations

from typing import Annotated, Any

from protobandit.interfaces.cli import options, output, values
from protobandit.interfaces.cli.options import OUTPUT, SEARCH, _flag, _option
from protobandit.interfaces.cli.progress import watching
from protobandit.interfaces.cli.summary import certificate_as_json

EXAMPLES = (
    "protobandit certify embeddings-prototypes",
    "protobandit certify chosen --confidence 0.99 --kind asymptotic --json",
)


def certify(
    selection: options.Saved,
    source: options.OtherSources = None,
    target: options.OtherTargets = None,
    confidence: Annotated[
        str,
        _option(
            "--confidence",
            panel=SEARCH,
            metavar="P",
            help="How likely the statement is to be true; 0.95 if not given.",
        ),
    ] = "0.95",
    kind: Annotated[
        options.Kind,
        _option(
            "--kind",
            panel=SEARCH,
            metavar="rigorous|asymptotic",
            help="rigorous, which holds for any rows, or asymptotic, which is cheaper; rigorous if "
            "not given.",
        ),
    ] = options.Kind.rigorous,
    evaluations: Annotated[
        str | None,
        _option(
            "--evaluations",
            panel=SEARCH,
            metavar="N",
            help="How many dissimilarities it may compute, such as 1e8.",
        ),
    ] = None,
    seed: options.Seed = "0",
    jobs: options.Jobs = None,
    no_save: Annotated[
        bool,
        _flag("--no-save", panel=OUTPUT, help="Leave selection.json as it is."),
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Bound how many times the best possible cost a selection costs.

    Opens the files that the selection was made from again, and refuses if their rows have changed.
    The certificate is kept in selection.json, in place of an earlier one.
    """
    from protobandit.interfaces.jobs.reopened import certified, reopened, save
    from protobandit.interfaces.jobs.saved_result import SavedResult

    asked: dict[str, Any] = {
        "confidence": values.as_confidence(confidence),
        "kind": kind.value,
        "evaluations": values.as_optional(evaluations, "--evaluations"),
        "random_state": values.as_whole(seed, "--seed", least=0),
        "n_jobs": None if jobs is None else values.as_jobs(jobs),
    }
    result = SavedResult.load(selection)
    with watching(is_quiet=quiet) as watch:
        opened = reopened(result, sources=source or (), targets=target or (), tell=watch.tell)
        watch.tell("Drawing rows anew and judging the source on them …")
        certificate = opened.selection.certify(**asked)
    if not no_save:
        save(certified(result, certificate), selection)
    if as_json:
        output.say_json(certificate_as_json(certificate))
    else:
        output.say(f"{certificate!r}\n")
