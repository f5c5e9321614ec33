"""What a report says of a selection, gathered but not yet drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.composition import Agreement, Composition, agreement, compose
from protobandit.result.report.distances import DistanceSummary, spread
from protobandit.result.report.exhibit import RowDisplay, picked
from protobandit.result.report.members import NONE, Members, gather
from protobandit.result.report.projection import Projection, plane
from protobandit.result.report.remarks import remarks
from protobandit.result.report.row_contents import Wall, hang
from protobandit.result.report.row_names import (
    NamedRows,
    RowNames,
    prototype_labels,
    prototypes_called,
    rows_called,
)
from protobandit.result.report.sample import ReportSample, draw, length, taken, with_others
from protobandit.result.report.summary import About, describe

_N_POINTS = 4_000  # of the map
_N_WORST = 24
_MOST_CRITICISMS = 60
_MOST_MEMBERS, _LEAST_MEMBERS, _ALL_MEMBERS = 12, 3, 2_000  # of a prototype; of all of them


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportData:
    """All that a page shows.

    Attributes
    ----------
    about
        What was selected from what, at which cost.
    sample
        The target rows looked at.
    prototypes
        The prototypes, best first, and what they are called.
    mass
        The share of the target each stands for: of the sample if that is all of the target, else
        as in the selection.
    gains, costs, curve, knee, coefficients
        As in the selection.
    criticisms
        The first of the selection's criticisms, worst first: numbers of target rows.
    members, spread, plane, compositions
        What the sample says: `Members`, `DistanceSummary`, `Projection` (of ``points``),
        `Composition` each.
    points
        Positions in the sample of the rows in the plane.
    rows
        The target rows the page holds, and what they are called; ``wall`` is what they look like:
        of the first ones all, of the others only what they are called.
    agreement
        The share of target rows that carry their prototype's label, where labels are known.
    notes
        What was sampled, estimated, made smaller or left out, in sentences.
    """

    about: About
    sample: ReportSample
    prototypes: RowNames
    mass: Doubles
    gains: Doubles
    costs: Doubles
    curve: Doubles | None
    knee: int | None
    coefficients: Doubles | None
    criticisms: Ids
    members: Members
    spread: DistanceSummary
    plane: Projection
    points: Ids
    compositions: tuple[Composition, ...]
    rows: NamedRows
    wall: Wall
    agreement: Agreement | None
    notes: tuple[str, ...]


def report_data(
    selection: Any,
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
    """Gather what a report shows of a selection.

    Cost: k evaluations for each target row looked at, at most 20,000 by default and fewer where the
    metric is a function of the user's own.

    Parameters
    ----------
    selection
        A `Selection`, or anything with its attributes; only its ``assign`` and ``distances`` are
        called.
    target_rows
        The target, as ``assign`` takes it: an array, a memory map, a CSR matrix, a list, columns.
    source, target
        How rows of each look; the same `RowDisplay` twice where the target is the source.
    weights
        The weights of all target rows; by default those of the problem, or even ones.
    groups
        The group of each source row, for a second composition.
    command
        The command that repeats the selection, if there is one.
    n_sample
        How many target rows to look at.
    layout
        The map: "pca", "umap", or "auto", which is UMAP where umap-learn is installed.
    random_state
        The seed of all that is drawn.

    Examples
    --------
    >>> import protobandit as pb
    >>> from protobandit.result.report.exhibit import Exhibit
    >>> rows = [[0.0], [1.0], [9.0], [10.0]]
    >>> look = Exhibit(kind="records", take=lambda ids: {"x": [rows[i][0] for i in ids]})
    >>> found = findings(pb.select(rows, k=2), rows, source=look, target=look)
    >>> found.members.counts.tolist()
    [2, 2]
    """
    random = np.random.default_rng(random_state)
    if weights is None:
        weights = _own_weights(selection, target_rows)
    sample = draw(selection, target_rows, weights=weights, n_sample=n_sample, random=random)
    about = describe(selection, n_source=source.n_rows, n_target=sample.n_target, command=command)
    _require_lengths(selection, sample, source, target)
    _require_groups(groups, about, selection)
    members = gather(sample, k=about.k, most=_n_members(about.k))
    distances = spread(sample, n_worst=_N_WORST)
    points = _drawn(len(sample), _N_POINTS, random)
    criticisms = _criticisms(selection, sample.n_target)
    essential, further = _wanted(sample, members, distances, criticisms, points)
    wall = hang(source, target, selection.indices, essential=essential, further=further)
    known = with_others(sample, criticisms, selection, target_rows)
    prototypes = prototypes_called(selection, source, groups)
    mass, same = _mass(selection, sample), _agreement(selection, sample, source, target)
    said = remarks(
        selection,
        sample,
        points=points,
        members=members,
        agreement=same,
        n_criticisms=len(criticisms),
    )
    return ReportData(
        about=about,
        sample=sample,
        prototypes=prototypes,
        mass=mass,
        gains=np.asarray(selection.gains, dtype=np.float64),
        costs=np.asarray(selection.costs, dtype=np.float64),
        curve=getattr(selection, "curve", None),
        knee=getattr(selection, "knee", None),
        coefficients=getattr(selection, "coefficients", None),
        criticisms=criticisms,
        members=members,
        spread=distances,
        plane=plane(
            selection,
            taken(target_rows, sample.ids[points]),
            labels=sample.labels[points],
            layout=layout,
            random=random,
        ),
        points=points,
        compositions=_compositions(prototypes, mass, source, target, weights, groups),
        rows=rows_called(target, known.of(np.concatenate([essential, further]))),
        wall=wall,
        agreement=same,
        notes=(*said, *wall.notes),
    )


def _n_members(k: int) -> int:
    """Return how many rows of a prototype to show at either end."""
    return int(np.clip(_ALL_MEMBERS // k, _LEAST_MEMBERS, _MOST_MEMBERS))


def _own_weights(selection: Any, rows: Any) -> Any:
    """Return the weights the selection was made with, if they are those of these rows."""
    own = getattr(getattr(selection, "problem", None), "weights", None)
    return own if own is not None and len(own) == length(rows) else None


def _drawn(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return at most ``most`` positions below ``n``, ascending."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


def _criticisms(selection: Any, n_target: int) -> Ids:
    given = getattr(selection, "criticisms", None)
    if given is None:
        return np.empty(0, dtype=np.int64)
    found = np.asarray(given, dtype=np.int64)
    if len(found) and int(found.max()) >= n_target:
        raise InvalidInput(
            f"criticisms go up to row {int(found.max())} but target_rows has {n_target}. Pass the "
            f"target that the selection was made for."
        )
    return found[:_MOST_CRITICISMS]


def _wanted(
    sample: ReportSample, members: Members, distances: DistanceSummary, criticisms: Ids, points: Ids
) -> tuple[Ids, Ids]:
    """Return the target rows that lists show, and those that only the map shows."""
    listed = np.concatenate([members.nearest.ravel(), members.farthest.ravel(), distances.worst])
    essential = np.union1d(sample.ids[listed[listed != NONE]], criticisms)
    return essential, np.setdiff1d(sample.ids[points], essential)


def _mass(selection: Any, sample: ReportSample) -> Doubles:
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
    found = []
    if prototypes.labels is not None:
        found.append(
            compose(
                "label",
                prototypes=prototypes.labels,
                mass=mass,
                source=source.labels,
                target=target.labels,
                weights=weights,
            )
        )
    if prototypes.groups is not None:
        found.append(
            compose(
                "group",
                prototypes=prototypes.groups,
                mass=mass,
                source=groups,
                target=groups if target is source else None,
                weights=weights,
            )
        )
    return tuple(found)


def _agreement(
    selection: Any, sample: ReportSample, source: RowDisplay, target: RowDisplay
) -> Agreement | None:
    theirs, own = prototype_labels(selection, source), picked(target.labels, sample.ids)
    if theirs is None or own is None:
        return None
    return agreement(own, theirs, sample.labels, sample.weights)


def _require_lengths(
    selection: Any, sample: ReportSample, source: RowDisplay, target: RowDisplay
) -> None:
    least = int(np.max(selection.indices)) + 1
    if source.n_rows is not None and source.n_rows < least:
        raise InvalidInput(
            f"source shows {source.n_rows} rows but prototypes go up to row {least - 1}. Pass an "
            f"Exhibit of the source the selection was made from."
        )
    if target.n_rows is not None and target.n_rows != sample.n_target:
        raise InvalidInput(
            f"target shows {target.n_rows} rows but target_rows has {sample.n_target}. Pass an "
            f"Exhibit of the same rows."
        )


def _require_groups(groups: Any, about: About, selection: Any) -> None:
    if groups is None:
        return
    least = int(np.max(selection.indices)) + 1
    if about.n_source is not None and len(groups) != about.n_source:
        raise InvalidInput(
            f"groups has {len(groups)} values but the source {about.n_source} rows. Pass one a "
            f"source row."
        )
    if len(groups) < least:
        raise InvalidInput(
            f"groups has {len(groups)} values but prototypes go up to row {least - 1}. Pass one a "
            f"source row."
        )
