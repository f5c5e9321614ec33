"""Everything a report shows about a selection, before it is written as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.result.drift import Drift
from protobandit.result.queries import Queries
from protobandit.result.report.composition import Agreement, Composition, compose, label_agreement
from protobandit.result.report.encoded_rows import PageRows, encode_within_budget
from protobandit.result.report.notes import report_notes
from protobandit.result.report.projection import Projection, project
from protobandit.result.report.row_display import (
    RowDisplay,
    RowNames,
    TargetRowNames,
    prototype_labels,
    prototype_names,
    target_row_names,
    values_at,
)
from protobandit.result.report.sample import (
    NONE,
    DistanceSummary,
    Members,
    ReportSample,
    count_rows,
    draw_sample,
    find_members,
    rows_at,
    summarize_distances,
    with_others,
)
from protobandit.result.report.summary import SelectionSummary, summarize

_N_POINTS = 4_000  # of the map
_N_WORST = 24
MOST_SHOWN = 2_000  # prototypes that a page has
_MOST_CRITICISMS = 60
# Members shown at either end: at most and at least per prototype, and over all prototypes.
_MOST_MEMBERS, _LEAST_MEMBERS, _ALL_MEMBERS = 12, 3, 2_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportData:
    """Everything a page shows.

    Attributes
    ----------
    sample
        The target rows the report reads; ``members`` and ``distances`` describe them.
    prototypes
        The numbers, names, labels and groups of the prototypes, best first.
    mass
        The share of the target each prototype represents: computed from the sample if that is the
        whole target, else taken from the selection.
    criticisms
        The first of the selection's criticisms, worst first: numbers of target rows.
    points
        The positions in the sample of the rows on the map, which ``projection`` holds.
    compositions
        Shares by label and by group.
    rows, contents
        The names of the target rows the page holds, and the encoded prototypes and target rows. If
        not all fit, only the first of ``rows`` have contents.
    agreement
        The share of target rows that have their prototype's label; None without labels.
    n_shown
        The number of prototypes that the page has: the first ones, if there are very many.
    notes
        Sentences on what was sampled, estimated, made smaller or left out.
    drift
        How new rows compare with those of the target; None if there are none.
    """

    summary: SelectionSummary
    sample: ReportSample
    prototypes: RowNames
    mass: Doubles
    criticisms: Ids
    members: Members
    distances: DistanceSummary
    projection: Projection
    points: Ids
    compositions: tuple[Composition, ...]
    rows: TargetRowNames
    contents: PageRows
    agreement: Agreement | None
    n_shown: int
    notes: tuple[str, ...]
    drift: Drift | None = None


def report_data(
    selection: Queries,
    target_rows: Any,
    *,
    source: RowDisplay,
    target: RowDisplay,
    weights: Any = None,
    groups: Sequence[Any] | None = None,
    command: str = "",
    n_sample: int | None = None,
    layout: str = "auto",
    random_state: int = 0,
) -> ReportData:
    """Compute what a report shows about a selection; `page` has an example.

    Cost: k evaluations per target row in the sample, which has at most 20,000 rows by default and
    fewer if the metric is expensive.

    Parameters
    ----------
    selection
        A `Selection`; of its methods, only ``assign`` and ``distances`` are called.
    target_rows
        The target rows, in any form that ``assign`` accepts.
    source, target
        How to show the rows of each; the same `RowDisplay` twice if the target is the source.
    weights
        The weights of all target rows; by default those of the problem, or equal weights.
    groups
        The group of each source row, for a second composition.
    command
        The command that repeats the selection, if there is one.
    n_sample
        The number of target rows to draw.
    layout
        The map: "pca", "umap" or "auto", which uses UMAP if umap-learn is installed.
    random_state
        The seed of everything random.
    """
    random = np.random.default_rng(random_state)
    if weights is None:
        weights = _problem_weights(selection, target_rows)
    sample = draw_sample(selection, target_rows, weights=weights, n_sample=n_sample, random=random)
    summary = summarize(
        selection, n_source=source.n_rows, n_target=sample.n_target, command=command
    )
    _require_lengths(selection, sample, source, target)
    _require_groups(groups, summary, selection)
    # How many nearest and how many farthest members of a prototype to show.
    most = int(np.clip(_ALL_MEMBERS // selection.k, _LEAST_MEMBERS, _MOST_MEMBERS))
    members = find_members(sample, k=selection.k, most=most)
    distances = summarize_distances(sample, n_worst=_N_WORST)
    points = _drawn_positions(len(sample), _N_POINTS, random)
    criticisms = _criticisms(selection, sample.n_target)
    n_shown = min(selection.k, MOST_SHOWN)
    essential, further = _shown_rows(sample, members.first(n_shown), distances, criticisms, points)
    contents = encode_within_budget(
        source, target, selection.indices[:n_shown], essential=essential, further=further
    )
    nearest = with_others(sample, criticisms, selection, target_rows)
    prototypes = prototype_names(selection, source, groups)
    mass = _mass(selection, sample)
    agreement = _agreement(selection, sample, source, target)
    notes = report_notes(
        selection,
        sample,
        points=points,
        members=members,
        agreement=agreement,
        n_criticisms=len(criticisms),
        n_shown=n_shown,
    )
    return ReportData(
        summary=summary,
        sample=sample,
        prototypes=prototypes,
        mass=mass,
        criticisms=criticisms,
        members=members,
        distances=distances,
        projection=project(
            selection,
            rows_at(target_rows, sample.ids[points]),
            labels=sample.labels[points],
            layout=layout,
            random=random,
        ),
        points=points,
        compositions=_compositions(prototypes, mass, source, target, weights, groups),
        rows=target_row_names(target, nearest.at(np.concatenate([essential, further]))),
        contents=contents,
        agreement=agreement,
        n_shown=n_shown,
        notes=(*notes, *contents.notes),
    )


def _problem_weights(selection: Queries, rows: Any) -> Doubles | None:
    """Return the weights of the selection's problem, if there is one per row of ``rows``."""
    own = None if selection.problem is None else selection.problem.weights
    return own if own is not None and len(own) == count_rows(rows) else None


def _drawn_positions(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return at most ``most`` positions below ``n``, ascending."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


def _criticisms(selection: Queries, n_target: int) -> Ids:
    if selection.criticisms is None:
        return np.empty(0, dtype=np.int64)
    found = np.asarray(selection.criticisms, dtype=np.int64)
    if len(found) and int(found.max()) >= n_target:
        raise InvalidInput(
            f"criticisms go up to row {int(found.max())} but target_rows has {n_target}. Pass the "
            f"target that the selection was made for."
        )
    return found[:_MOST_CRITICISMS]


def _shown_rows(
    sample: ReportSample, members: Members, distances: DistanceSummary, criticisms: Ids, points: Ids
) -> tuple[Ids, Ids]:
    """Return the target rows shown in lists, and those shown only on the map."""
    listed = np.concatenate([members.nearest.ravel(), members.farthest.ravel(), distances.worst])
    essential = np.union1d(sample.ids[listed[listed != NONE]], criticisms)
    return essential, np.setdiff1d(sample.ids[points], essential)


def _mass(selection: Queries, sample: ReportSample) -> Doubles:
    if not sample.is_whole:
        return np.asarray(selection.mass, dtype=np.float64)
    shares: Doubles = np.bincount(
        sample.labels, sample.weights, minlength=len(selection.indices)
    ).astype(np.float64)
    return shares


def _compositions(
    prototypes: RowNames,
    mass: Doubles,
    source: RowDisplay,
    target: RowDisplay,
    weights: Any,
    groups: Any,
) -> tuple[Composition, ...]:
    by_name = (
        ("label", prototypes.labels, source.labels, target.labels),
        ("group", prototypes.groups, groups, groups if target is source else None),
    )
    is_one = target is source and weights is None  # then both have the same shares
    return tuple(
        compose(
            name,
            prototypes=own,
            mass=mass,
            source=None if is_one else sources,
            target=targets,
            weights=weights,
        )
        for name, own, sources, targets in by_name
        if own is not None
    )


def _agreement(
    selection: Queries, sample: ReportSample, source: RowDisplay, target: RowDisplay
) -> Agreement | None:
    of_prototypes = prototype_labels(selection, source)
    of_rows = values_at(target.labels, sample.ids)
    if of_prototypes is None or of_rows is None:
        return None
    return label_agreement(of_rows, of_prototypes, sample.labels, sample.weights)


def _require_lengths(
    selection: Queries, sample: ReportSample, source: RowDisplay, target: RowDisplay
) -> None:
    least = int(np.max(selection.indices)) + 1
    if source.n_rows is not None and source.n_rows < least:
        raise InvalidInput(
            f"source shows {source.n_rows} rows but prototypes go up to row {least - 1}. Pass a "
            f"RowDisplay of the source the selection was made from."
        )
    if target.n_rows is not None and target.n_rows != sample.n_target:
        raise InvalidInput(
            f"target shows {target.n_rows} rows but target_rows has {sample.n_target}. Pass a "
            f"RowDisplay of the same rows."
        )


def _require_groups(groups: Any, summary: SelectionSummary, selection: Queries) -> None:
    if groups is None:
        return
    least = int(np.max(selection.indices)) + 1
    if summary.n_source is not None and len(groups) != summary.n_source:
        raise InvalidInput(
            f"groups has {len(groups)} values but the source has {summary.n_source} rows. Pass one "
            f"per source row."
        )
    if len(groups) < least:
        raise InvalidInput(
            f"groups has {len(groups)} values but prototypes go up to row {least - 1}. Pass one "
            f"per source row."
        )
