"""What a report says of a selection, gathered but not yet drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit._errors import InvalidInput
from protobandit._typing import Doubles, Ids
from protobandit.report._about import About, describe
from protobandit.report._contents import Wall, hang
from protobandit.report._exhibit import Exhibit, picked
from protobandit.report._members import NONE, Members, gather
from protobandit.report._plane import Plane, plane
from protobandit.report._sample import Sample, draw, taken
from protobandit.report._shares import Composition, agreement, compose, told
from protobandit.report._spread import Spread, spread
from protobandit.report._words import shortened

_N_POINTS = 4_000  # of the map
_N_WORST = 24
_MOST_MEMBERS, _LEAST_MEMBERS, _ALL_MEMBERS = 12, 3, 2_000  # of a prototype; of all of them
_MOST_NAME = 120  # characters


@dataclass(frozen=True, kw_only=True, eq=False)
class Called:
    """What rows are called: number, name (None: the number), label and group (None: none)."""

    ids: Ids
    names: list[str] | None
    labels: list[str] | None
    groups: list[str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """All that a page shows.

    Attributes
    ----------
    about
        What was selected from what, at which cost.
    sample
        The target rows looked at.
    prototypes
        The prototypes, best first, and what they are called.
    mass, gains, costs, curve, knee
        As in the selection.
    members, spread, plane, compositions
        What the sample says: `Members`, `Spread`, `Plane` (of ``points``), `Composition` each.
    points
        Positions in the sample of the rows in the plane.
    shown
        Positions in the sample of the rows the page holds; ``rows`` is what they are called, and
        ``wall`` what they look like: of the first ones all, of the others only what they are
        called.
    agreement
        The share of target rows that carry their prototype's label, where labels are known.
    notes
        What was sampled, made smaller or left out, in sentences.
    """

    about: About
    sample: Sample
    prototypes: Called
    mass: Doubles
    gains: Doubles
    costs: Doubles
    curve: Doubles | None
    knee: int | None
    members: Members
    spread: Spread
    plane: Plane
    points: Ids
    compositions: tuple[Composition, ...]
    shown: Ids
    rows: Called
    wall: Wall
    agreement: float | None
    notes: tuple[str, ...]


def findings(
    selection: Any,
    target_rows: Any,
    *,
    source: Exhibit,
    target: Exhibit,
    weights: Any = None,
    groups: Sequence[Any] | None = None,
    command: str = "",
    n_sample: int | None = None,
    layout: str = "auto",
    random_state: int = 0,
) -> Findings:
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
        How rows of each look; the same `Exhibit` twice where the target is the source.
    weights
        The weights of all target rows; even by default.
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
    >>> from protobandit import report
    >>> rows = [[0.0], [1.0], [9.0], [10.0]]
    >>> look = report.Exhibit(kind="records", take=lambda ids: {"x": [rows[i][0] for i in ids]})
    >>> found = report.findings(pb.select(rows, k=2), rows, source=look, target=look)
    >>> found.members.counts.tolist()
    [2, 2]
    """
    random = np.random.default_rng(random_state)
    sample = draw(selection, target_rows, weights=weights, n_sample=n_sample, random=random)
    _require_lengths(selection, sample, source, target, groups)
    k = len(selection.indices)
    most = int(np.clip(_ALL_MEMBERS // k, _LEAST_MEMBERS, _MOST_MEMBERS))
    members = gather(sample, k=k, most=most)
    distances = spread(sample, n_worst=_N_WORST)
    points = _drawn(len(sample), _N_POINTS, random)
    essential, further = _wanted(members, distances, points)
    wall = hang(
        source,
        target,
        selection.indices,
        essential=sample.ids[essential],
        further=sample.ids[further],
    )
    shown = np.concatenate([essential, further])
    prototypes, rows = _called(selection, source, groups), _rows_called(target, sample.ids[shown])
    return Findings(
        about=describe(
            selection, n_source=source.n_rows, n_target=sample.n_target, command=command
        ),
        sample=sample,
        prototypes=prototypes,
        mass=np.asarray(selection.mass, dtype=np.float64),
        gains=np.asarray(selection.gains, dtype=np.float64),
        costs=np.asarray(selection.costs, dtype=np.float64),
        curve=getattr(selection, "curve", None),
        knee=getattr(selection, "knee", None),
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
        compositions=_compositions(selection, prototypes, source, target, weights, groups),
        shown=shown,
        rows=rows,
        wall=wall,
        agreement=_agreement(sample, prototypes, target),
        notes=(*_sampling_notes(sample, points, members), *wall.notes),
    )


def _drawn(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return at most ``most`` positions below ``n``, ascending."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


def _wanted(members: Members, distances: Spread, points: Ids) -> tuple[Ids, Ids]:
    """Return the positions that lists show, and those that only the map shows."""
    listed = np.concatenate([members.nearest.ravel(), members.farthest.ravel(), distances.worst])
    essential = np.unique(listed[listed != NONE])
    return essential, np.setdiff1d(points, essential)


def _called(selection: Any, source: Exhibit, groups: Any) -> Called:
    ids = np.asarray(selection.indices, dtype=np.int64)
    labels = picked(source.labels, ids)
    if labels is None and getattr(selection, "prototype_labels", None) is not None:
        labels = list(selection.prototype_labels)
    return Called(
        ids=ids,
        names=_named(source, ids),
        labels=None if labels is None else told(labels),
        groups=None if groups is None else told(picked(groups, ids) or []),
    )


def _rows_called(target: Exhibit, ids: Ids) -> Called:
    labels = picked(target.labels, ids)
    return Called(
        ids=ids, names=_named(target, ids), labels=None if labels is None else told(labels)
    )


def _named(exhibit: Exhibit, ids: Ids) -> list[str] | None:
    names = picked(exhibit.names, ids)
    return None if names is None else [shortened(name, _MOST_NAME) for name in names]


def _compositions(
    selection: Any,
    prototypes: Called,
    source: Exhibit,
    target: Exhibit,
    weights: Any,
    groups: Any,
) -> tuple[Composition, ...]:
    found = []
    if prototypes.labels is not None:
        found.append(
            compose(
                "label",
                prototypes=prototypes.labels,
                mass=selection.mass,
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
                mass=selection.mass,
                source=groups,
                target=groups if target is source else None,
                weights=weights,
            )
        )
    return tuple(found)


def _agreement(sample: Sample, prototypes: Called, target: Exhibit) -> float | None:
    if prototypes.labels is None or target.labels is None:
        return None
    own = told(picked(target.labels, sample.ids) or [])
    return agreement(own, [prototypes.labels[i] for i in sample.labels], sample.weights)


def _sampling_notes(sample: Sample, points: Ids, members: Members) -> list[str]:
    notes = []
    if not sample.is_whole:
        notes.append(
            f"Members, distances and worst-covered rows are those of {len(sample):,} target rows "
            f"drawn at random from {sample.n_target:,}."
        )
    if len(points) < len(sample):
        notes.append(f"The map shows {len(points):,} target rows drawn at random.")
    most = members.nearest.shape[1]
    if members.counts.max() > 2 * most:
        notes.append(f"Of each prototype at most {most} nearest and {most} farthest are shown.")
    return notes


def _require_lengths(
    selection: Any, sample: Sample, source: Exhibit, target: Exhibit, groups: Any
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
    if groups is not None and len(groups) < least:
        raise InvalidInput(
            f"groups has {len(groups)} values but prototypes go up to row {least - 1}. Pass one a "
            f"source row."
        )
