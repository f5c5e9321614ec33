"""``protobandit certify``: how far a saved selection can be from the best."""

from __future__ import annotations

from typing import Annotated, Any

from protobandit._cli import _options, _streams, _values
from protobandit._cli._options import OUTPUT, SEARCH, _flag, _option
from protobandit._cli._progress import watching
from protobandit._cli._summary import certificate_as_json

EXAMPLES = (
    "protobandit certify embeddings-prototypes",
    "protobandit certify chosen --confidence 0.99 --kind asymptotic --json",
)


def certify(
    selection: _options.Saved,
    source: _options.OtherSources = None,
    target: _options.OtherTargets = None,
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
        _options.Kind,
        _option(
            "--kind",
            panel=SEARCH,
            metavar="rigorous|asymptotic",
            help="rigorous, which holds for any rows, or asymptotic, which is cheaper; rigorous if "
            "not given.",
        ),
    ] = _options.Kind.rigorous,
    evaluations: Annotated[
        str | None,
        _option(
            "--evaluations",
            panel=SEARCH,
            metavar="N",
            help="How many dissimilarities it may compute, such as 1e8.",
        ),
    ] = None,
    seed: _options.Seed = "0",
    jobs: _options.Jobs = None,
    no_save: Annotated[
        bool,
        _flag("--no-save", panel=OUTPUT, help="Leave selection.json as it is."),
    ] = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Bound how many times the best possible cost a selection costs.

    Opens the files that the selection was made from again, and refuses if their rows have changed.
    The certificate is kept in selection.json, in place of an earlier one.
    """
    from protobandit._jobs import Result, certified, reopened, save

    asked: dict[str, Any] = {
        "confidence": _values.as_confidence(confidence),
        "kind": kind.value,
        "evaluations": _values.as_optional(evaluations, "--evaluations"),
        "random_state": _values.as_whole(seed, "--seed", least=0),
        "n_jobs": None if jobs is None else _values.as_jobs(jobs),
    }
    result = Result.load(selection)
    with watching(is_quiet=quiet) as watch:
        opened = reopened(result, sources=source or (), targets=target or (), tell=watch.tell)
        watch.tell("Drawing rows anew and judging the source on them …")
        certificate = opened.selection.certify(**asked)
    if not no_save:
        save(certified(result, certificate), selection)
    if as_json:
        _streams.say_json(certificate_as_json(certificate))
    else:
        _streams.say(f"{certificate!r}\n")
