"""``protobandit certify``: bound the cost of a saved selection relative to the best possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import listed
from protobandit.interfaces.cli.progress import progress_display

EXAMPLES = (
    "protobandit certify embeddings-prototypes",
    "protobandit certify chosen --confidence 0.99 --kind asymptotic --json",
)


def certify(
    selection: options.Saved,
    source: options.MovedSources = None,
    target: options.MovedTargets = None,
    confidence: Annotated[str, listed("--confidence")] = "0.95",
    kind: Annotated[options.Kind, listed("--kind")] = options.Kind.auto,
    evaluations: Annotated[str | None, listed("--evaluations")] = None,
    seed: options.Seed = "0",
    jobs: options.Jobs = None,
    no_save: Annotated[bool, listed("--no-save")] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Bound the cost of a selection relative to the best possible cost.

    Opens the files of the selection again; it is an error if their rows have changed. The
    certificate is saved in selection.json and replaces an earlier one.
    """
    from protobandit.interfaces.jobs.saved_result import SavedResult

    probability = parsing.parse_confidence(confidence)
    n_evaluations = parsing.parse_optional_integer(evaluations, "--evaluations")
    random_state, n_jobs = parsing.parse_seed(seed), parsing.parse_jobs(jobs)
    result = SavedResult.load(selection)
    with progress_display(is_quiet=quiet) as display:
        reopened = result.reopen(source or (), target or (), display.notify)
        display.notify("Computing the certificate …")
        certified = reopened.selection.certified(
            confidence=probability,
            kind=kind.value,
            evaluations=n_evaluations,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    if not no_save:
        replace(result, selection=certified).save(selection)
    if as_json:
        output.print_json(certified.certificate)
    else:
        output.print_text(f"{certified.certificate!r}\n")
