"""Notes under a report: what was sampled, estimated or left out."""

from __future__ import annotations

from protobandit.foundation.array_types import Ids
from protobandit.result.queries import Queries
from protobandit.result.report.composition import Agreement
from protobandit.result.report.number_format import format_rows
from protobandit.result.report.sample import Members, ReportSample

_ESTIMATED_MASS = (
    "The share of the target that each prototype represents is an estimate from target rows that "
    "the method drew. It may differ from the share of its members."
)


def report_notes(
    selection: Queries,
    sample: ReportSample,
    *,
    points: Ids,
    members: Members,
    agreement: Agreement | None,
    n_criticisms: int,
    n_shown: int,
) -> list[str]:
    """Return the notes of a report, as sentences.

    ``n_criticisms`` criticisms and ``n_shown`` prototypes are shown.
    """
    most = members.nearest.shape[1]
    n_unlabelled = 0 if agreement is None else agreement.n_left_out
    n_all_criticisms = 0 if selection.criticisms is None else len(selection.criticisms)
    have = "has no label and is" if n_unlabelled == 1 else "have no label and are"
    n_weightless = sample.n_target - sample.n_all
    notes = (
        (
            n_shown < selection.k,
            f"Cards, map and curve show the first {n_shown:,} of {selection.k:,} prototypes.",
        ),
        (not sample.is_whole, _sampled(sample, has_labels=agreement is not None)),
        (
            n_weightless > 0,
            f"{format_rows(n_weightless, 'target row')} of weight 0 "
            f"{'is' if n_weightless == 1 else 'are'} left out.",
        ),
        # The mass is exact if the sample has all rows, or if the selection's mass is of all rows.
        (not sample.is_whole and float(selection.cost_error) != 0, _ESTIMATED_MASS),
        (
            n_unlabelled > 0,
            f"{format_rows(n_unlabelled, 'target row')} {have} left out where labels are compared.",
        ),
        (len(points) < len(sample), f"The map shows {len(points):,} target rows drawn at random."),
        (
            int(members.counts.max()) > 2 * most,
            f"At most {most} nearest and {most} farthest members of each prototype are shown.",
        ),
        (
            n_criticisms < n_all_criticisms,
            f"The first {n_criticisms:,} of {n_all_criticisms:,} criticisms are shown.",
        ),
    )
    return [sentence for applies, sentence in notes if applies]


def _sampled(sample: ReportSample, *, has_labels: bool) -> str:
    subjects = "Members, distances and worst-covered rows"
    if has_labels:
        subjects = "Members, distances, worst-covered rows and label agreement"
    n, n_all = f"{len(sample):,}", f"{sample.n_all:,}"
    return f"{subjects} are computed from {n} target rows drawn at random from {n_all}."
