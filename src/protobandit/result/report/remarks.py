"""What was sampled, estimated or left out, in sentences."""

from __future__ import annotations

from typing import Any

from protobandit.foundation.array_types import Ids
from protobandit.result.report.composition import Agreement
from protobandit.result.report.members import Members
from protobandit.result.report.sample import ReportSample


def remarks(
    selection: Any,
    sample: ReportSample,
    *,
    points: Ids,
    members: Members,
    agreement: Agreement | None,
    n_criticisms: int,
) -> list[str]:
    """Return what a reader must know of the findings; ``n_criticisms`` is how many are shown."""
    most = members.nearest.shape[1]
    n_left_out = 0 if agreement is None else agreement.n_left_out
    asked = getattr(selection, "criticisms", None)
    n_asked = 0 if asked is None else len(asked)
    n_idle = sample.n_target - sample.n_all
    said = (
        (not sample.is_whole, _sampled(sample, has_labels=agreement is not None)),
        (n_idle > 0, f"{_rows(n_idle)} of weight 0 {_are(n_idle)} left out."),
        (has_estimated_mass(selection, sample), _ESTIMATED),
        (n_left_out > 0, _unlabelled(n_left_out)),
        (len(points) < len(sample), f"The map shows {len(points):,} target rows drawn at random."),
        (
            int(members.counts.max()) > 2 * most,
            f"Of each prototype at most {most} nearest and {most} farthest are shown.",
        ),
        (
            n_criticisms < n_asked,
            f"The first {n_criticisms:,} of {n_asked:,} criticisms are shown.",
        ),
    )
    return [sentence for is_so, sentence in said if is_so]


_ESTIMATED = (
    "The share of the target that a prototype stands for is an estimate on target rows that the "
    "method drew, so that it may differ from what its members say."
)


def has_estimated_mass(selection: Any, sample: ReportSample) -> bool:
    """Tell whether the masses shown are estimates: not of all rows, neither here nor before."""
    return not sample.is_whole and float(selection.cost_error) != 0


def _sampled(sample: ReportSample, *, has_labels: bool) -> str:
    what = "Members, distances and worst-covered rows"
    if has_labels:
        what = "Members, distances, worst-covered rows and how many carry their prototype's label"
    return f"{what} are those of {len(sample):,} target rows drawn at random from {sample.n_all:,}."


def _unlabelled(n: int) -> str:
    have = "has no label and is" if n == 1 else "have no label and are"
    return f"{_rows(n)} {have} left out where labels are compared."


def _rows(n: int) -> str:
    return f"{n:,} target row{'' if n == 1 else 's'}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
