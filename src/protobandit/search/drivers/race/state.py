"""The state and the result of a race after a rung: saved, and restored by a resumed run.

Tables are not saved: computing their distances again is about as fast as reading them, and they
have many times the bytes of the rows. What is saved is which arms were kept on each rung, and in
which cells they were measured (`RaggedTable.growth`), because that depends on every earlier rung.
The distances of the prototypes are computed again too. Swaps have computed them in products of
various sizes, which can determine their last bits. So those that differ are saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.foundation.slices import cuts
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import (
    Entries,
    Extension,
    FullTable,
    RaggedTable,
    RowBatch,
    Within,
)
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.oracle.tasks import TILE
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.drivers.race.far_rows import Strata
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.objectives.swap_state import SwapState

_STATE = "race"
_RESULT = "result of the race"
_GROWTH: dict[str, type[Any]] = {kind.__name__: kind for kind in (Within, Entries, Extension)}


@dataclass(frozen=True, eq=False)
class RungResult:
    """The prototypes after a rung.

    ``batches`` are the target rows. ``n_started`` is the number of arms on the first rung.
    ``is_exact`` is whether the greedy selection read all source rows and all of the target.
    ``is_searched`` is whether the evaluations allowed a complete search for far rows.
    """

    rung: Rung
    arms: Ids
    batches: tuple[RowBatch, ...]
    swap_state: SwapState
    n_swaps: int
    n_started: int
    is_exact: bool
    is_searched: bool = True

    @property
    def prototypes(self) -> Ids:
        """Return the source rows that are prototypes."""
        return self.arms[self.swap_state.members]


@dataclass(frozen=True, eq=False)
class RaceState:
    """What the next rung needs: the number of this rung, its table, and the changes by swaps.

    ``strata`` are the weights of the first rows, if far rows are among them. ``is_searched`` is
    whether the evaluations allowed a complete search for far rows.
    """

    place: int
    ragged: RaggedTable
    swap_state: SwapState
    changes: Doubles
    n_swaps: int
    strata: Strata | None = None
    is_searched: bool = True


def save_state(control: SearchControl, race_state: RaceState, order: TargetOrder) -> None:
    """Save the state of a race and its target order, if there is a checkpoint."""
    if not control.states.is_active:
        return
    ragged = race_state.ragged
    arrays: dict[str, Any] = {
        "first arms": ragged.table.arms,
        "changes": race_state.changes,
        **_rows_of(ragged.batches),
        **_state_of(race_state.swap_state, ragged.oracle, ragged.arms, ragged.batches),
    }
    for i, growth in enumerate(ragged.growth):
        arrays |= {f"growth {i} {name}": array for name, array in vars(growth).items()}
    if isinstance(order, WeightedOrder):
        arrays["draws"] = order.drawn
    if race_state.strata is not None:
        arrays |= {f"strata {name}": array for name, array in vars(race_state.strata).items()}
    values = {
        "place": race_state.place,
        "n_swaps": race_state.n_swaps,
        "is_searched": race_state.is_searched,
        "growth": [type(growth).__name__ for growth in ragged.growth],
    }
    control.states.save(_STATE, SavedState(values, arrays))


def restore_state(control: SearchControl, oracle: Oracle, order: TargetOrder) -> RaceState | None:
    """Return the state of an earlier run, or None. Target rows are read again."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return None
    batches, arrays = _batches(saved, oracle), saved.arrays
    if isinstance(order, WeightedOrder):
        order.restore(arrays["draws"])
    growth = [
        _GROWTH[name](**_named(arrays, f"growth {i} "))
        for i, name in enumerate(saved.values["growth"])
    ]
    _require_valid(arrays, growth, batches, oracle)
    table = FullTable.of(oracle, arrays["first arms"], batches[0].targets)
    ragged = RaggedTable.grown(table, batches, growth)
    swap_state = _restored_state(arrays, oracle, ragged.arms, batches)
    strata = _named(arrays, "strata ")
    control.states.rewind(saved)  # the tables have been counted again
    values = saved.values
    return RaceState(
        values["place"],
        ragged,
        swap_state,
        arrays["changes"],
        values["n_swaps"],
        Strata(**strata) if strata else None,
        values["is_searched"],
    )


def _require_valid(
    arrays: Mapping[str, Any],
    growth: Sequence[Within | Entries | Extension],
    batches: Sequence[RowBatch],
    oracle: Oracle,
) -> None:
    """Raise unless all numbers with which a ragged table is made again are within its arrays."""
    n_arms, is_valid = len(arrays["first arms"]), len(growth) == len(batches) > 0
    for step, batch in zip(growth, batches, strict=False):
        is_valid = is_valid and step.fits(n_arms, batch)
        n_arms = len(step.kept) if isinstance(step, Extension) else n_arms
    require_restorable(
        is_valid
        and are_within(arrays["first arms"], 0, len(oracle.problem.source))
        and arrays["changes"].shape == (n_arms,)
        and are_within(arrays["swap_state members"], 0, n_arms),
        "distances",
    )


def _named(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names have this prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _rows_of(batches: Sequence[RowBatch]) -> dict[str, Any]:
    """Return the arrays from which `_batches` makes the batches."""
    return {
        f"{name} {i}": array
        for i, batch in enumerate(batches)
        for name, array in (
            ("rows", batch.rows),
            ("order", batch.order),
            ("weights", batch.weights),
        )
    }


def _batches(saved: SavedState, oracle: Oracle) -> list[RowBatch]:
    batches: list[RowBatch] = []
    while f"rows {len(batches)}" in saved.arrays:
        rows, order, weights = (
            saved.arrays[f"{name} {len(batches)}"] for name in ("rows", "order", "weights")
        )
        start = batches[-1].stop if batches else 0
        require_restorable(
            are_within(rows, 0, oracle.problem.n_target)
            and are_within(order, 0, len(rows))
            and len(order) in (0, len(rows))
            and weights.shape == rows.shape,
            "rows",
        )
        targets = oracle.targets(rows)
        targets = targets.take(order) if len(order) else targets
        batches.append(RowBatch(start, targets, weights, rows, order))
    return batches


def _state_of(
    swap_state: SwapState, oracle: Oracle, arms: Ids, batches: Sequence[RowBatch]
) -> dict[str, Any]:
    """Return the arrays from which `_restored_state` makes the swap state."""
    arrays = swap_state.state()
    matrix = arrays.pop("matrix")
    places, values = [np.empty(0, dtype=np.int64)], [matrix[:0, 0]]
    for slots, columns, block in _distances(oracle, arms[swap_state.members], batches):
        own = matrix[slots, columns]
        i, j = np.nonzero(own != block)
        places.append((slots.start + i) * matrix.shape[1] + columns.start + j)
        values.append(own[i, j])
    arrays |= {"places": np.concatenate(places), "values": np.concatenate(values)}
    return {f"swap_state {name}": array for name, array in arrays.items()}


def _restored_state(
    arrays: Mapping[str, Any], oracle: Oracle, arms: Ids, batches: Sequence[RowBatch]
) -> SwapState:
    own = _named(arrays, "swap_state ")
    matrix = np.empty((len(own["members"]), batches[-1].stop), dtype=oracle.dtype)
    for slots, columns, block in _distances(oracle, arms[own["members"]], batches):
        matrix[slots, columns] = block
    require_restorable(
        are_within(own["places"], 0, matrix.size) and own["values"].shape == own["places"].shape,
        "distances",
    )
    matrix.ravel()[own["places"]] = own["values"]
    return SwapState.restored({**own, "matrix": matrix})


def _distances(
    oracle: Oracle, prototypes: Ids, batches: Sequence[RowBatch]
) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield slots, columns and distances of all prototypes to all rows, without counting them."""
    uncounted = oracle.uncounted()
    for slots in cuts(len(prototypes), TILE):
        for batch in batches:
            block = uncounted.distances(prototypes[slots], batch.targets)
            yield slots, slice(batch.start, batch.stop), block


def save_result(
    control: SearchControl, oracle: Oracle, result: RungResult, rungs: Sequence[Rung]
) -> None:
    """Save the last result of a race instead of its state, if there is a checkpoint."""
    if not control.states.is_active:
        return
    values = {
        "place": rungs.index(result.rung),
        "n_swaps": result.n_swaps,
        "n_started": result.n_started,
        "is_exact": result.is_exact,
        "is_searched": result.is_searched,
        "is_short": control.stopped is not None,
    }
    arrays = {
        "prototypes": result.prototypes,
        **_rows_of(result.batches),
        **_state_of(result.swap_state, oracle, result.arms, result.batches),
        "swap_state members": np.arange(len(result.prototypes)),
    }
    control.states.save(_RESULT, SavedState(values, arrays), instead_of=_STATE)


def restore_result(
    control: SearchControl, oracle: Oracle, rungs: Sequence[Rung]
) -> RungResult | None:
    """Return the last result of an earlier run, or None."""
    saved = control.states.restore(_RESULT)
    if saved is None:
        return None
    values = saved.values
    if values["is_short"]:
        control.stop(control.limit_of_evaluations())
    prototypes, batches = saved.arrays["prototypes"], _batches(saved, oracle)
    members = saved.arrays["swap_state members"]
    require_restorable(
        len(batches) > 0
        and are_within(prototypes, 0, len(oracle.problem.source))
        and are_within(members, 0, len(prototypes)),
        "prototypes",
    )
    return RungResult(
        rungs[values["place"]],
        prototypes,
        tuple(batches),
        _restored_state(saved.arrays, oracle, prototypes, batches),
        values["n_swaps"],
        values["n_started"],
        values["is_exact"],
        values["is_searched"],
    )
