"""``protobandit check``: compare new rows with a saved selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from protobandit.foundation.visible_text import visible
from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import INPUT, OUTPUT, option
from protobandit.interfaces.cli.progress import progress_display

if TYPE_CHECKING:
    from protobandit.interfaces.jobs.new_rows import CheckedRows

DRIFTED = 4  # the exit code if the ratio exceeds --fail-above

EXAMPLES = (
    "protobandit check embeddings-prototypes new.parquet",
    "protobandit check chosen test.npy --fail-above 1.2 --quiet",
    "protobandit check chosen test.npy --json",
)


def check(
    selection: options.Saved,
    rows: options.Rows,
    where: Annotated[
        str | None,
        option(
            "--where CONDITION",
            INPUT,
            "Use only new rows with this condition; '' means all. Default: the --where of the "
            "selection.",
        ),
    ] = None,
    fail_above: Annotated[
        str | None,
        option(
            "--fail-above RATIO",
            OUTPUT,
            "Exit with code 4 if the cost of the new rows is more than RATIO times the reference, "
            "such as 1.2.",
        ),
    ] = None,
    source: options.MovedSources = None,
    target: options.MovedTargets = None,
    jobs: options.Jobs = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check whether the prototypes still represent new rows.

    Compares the distances of new rows to their nearest prototypes with those of rows like the old
    ones that had no part in the selection (the reference). Prints both costs, their ratio, the
    probability of such a ratio if nothing has changed (p-value), the rows that are represented
    worst, and new rows worth adding. Rows are numbered as in the files.

    The reference is in selection.json, unless it took too long to compute with the selection. Then
    the files of the selection are opened to compute it, and it is saved. The exit code is 4 if the
    ratio exceeds --fail-above.
    """
    from protobandit.interfaces.jobs.new_rows import check_rows
    from protobandit.interfaces.jobs.saved_result import SavedResult

    limit = None if fail_above is None else parsing.parse_positive(fail_above, "--fail-above")
    n_jobs = parsing.parse_jobs(jobs)
    result = SavedResult.load(selection)
    with progress_display(is_quiet=quiet) as display:
        checked = check_rows(
            result,
            rows,
            where=where,
            sources=source or (),
            targets=target or (),
            n_jobs=n_jobs,
            notify=display.notify,
        )
    if result.selection.reference is None:
        checked.result.save(selection)
    drift = checked.drift
    if as_json:
        output.print_json(_as_json(checked))
    elif not quiet:
        output.print_text(f"{drift!r}{_more_lines(checked)}\n")
    if limit is not None and drift.ratio > limit:
        output.print_status(f"protobandit: the ratio {drift.ratio:.4g} exceeds {limit:g}.")
        raise typer.Exit(DRIFTED)


def _more_lines(checked: CheckedRows) -> str:
    """Return lines with the condition on rows and the ids of the worst rows, if there are any."""
    lines = ""
    if checked.where:
        condition = visible(checked.where)
        lines += f"\n  where        {condition} ({checked.n_total:,} rows in the files)"
    if checked.worst_ids is not None:
        lines += f"\n  worst ids    {', '.join(map(str, checked.worst_ids))}"
    return lines


def _as_json(checked: CheckedRows) -> dict[str, Any]:
    drift = checked.drift
    document = {
        "cost": drift.cost,
        "reference_cost": drift.reference_cost,
        "ratio": drift.ratio,
        "p_value": drift.p_value,
        "quantiles": [each._asdict() for each in drift.quantiles],
        "share_beyond": drift.share_beyond,
        "worst_rows": drift.worst_rows,
        "mass_change": drift.mass_change,
        "rows_to_add": drift.rows_to_add,
        "n_rows": drift.n_rows,
        "n_reference": drift.n_reference,
        "evaluations": drift.evaluations,
    }
    if checked.where:
        document["where"] = checked.where
    if checked.worst_ids is not None:
        document["worst_ids"] = checked.worst_ids
        document["ids_to_add"] = checked.ids_to_add
    return document
