"""The state of a race after a rung: saved, and restored by a resumed run.

The table of the first rung is not saved: computing it again is one product, which is faster than
reading it. What the race knows of arms at later rows is saved, as it depends on every rung before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.control import SavedState, SearchControl
from protobandit.search.objectives.swap_state import SwapState

_NAME = "race"


@dataclass(frozen=True, eq=False)
class RaceState:
    """What the next rung needs: the number of this one, its table, and the changes of the swaps."""

    place: int
    ragged: RaggedTable
    swap_state: SwapState
    changes: Doubles
    n_swaps: int


def save_state(control: SearchControl, race_state: RaceState) -> None:
    """Save the state of the race, if there is a checkpoint."""
    if not control.states.is_active:
        return
    ragged = race_state.ragged
    arrays: dict[str, Any] = {
        "entrants": ragged.table.arms,
        "arms": ragged.arms,
        "starts": ragged.starts,
        "columns": ragged.columns,
        "values": ragged.values,
        "changes": race_state.changes,
        **{f"swap_state {name}": array for name, array in race_state.swap_state.notes().items()},
    }
    for i, batch in enumerate(ragged.batches):
        arrays[f"rows {i}"], arrays[f"weights {i}"] = batch.rows, batch.weights
        arrays[f"order {i}"] = batch.order
    values = {"place": race_state.place, "n_swaps": race_state.n_swaps}
    control.states.save(_NAME, SavedState(values, arrays))


def drop_state(control: SearchControl) -> None:
    """Remove the state of a race that is over."""
    control.states.drop(_NAME)


def restore_state(control: SearchControl, oracle: Oracle, order: TargetOrder) -> RaceState | None:
    """Return the state of an earlier run, or None; target rows are read again."""
    stage = control.states.restore(_NAME)
    if stage is None:
        return None
    batches = _batches(stage, oracle)
    if isinstance(order, WeightedOrder):
        order.recall(np.concatenate([batch.rows for batch in batches]))
    arrays = stage.arrays
    ragged = RaggedTable(
        table=FullTable.of(oracle, arrays["entrants"], batches[0].targets),
        arms=arrays["arms"],
        batches=tuple(batches),
        starts=arrays["starts"],
        columns=arrays["columns"],
        values=arrays["values"],
    )
    swap_state = SwapState.recalled(
        {
            name.removeprefix("swap_state "): array
            for name, array in arrays.items()
            if name.startswith("swap_state ")
        }
    )
    control.states.rewind(stage)  # the table has been counted again
    values = stage.values
    return RaceState(values["place"], ragged, swap_state, arrays["changes"], values["n_swaps"])


def _batches(stage: SavedState, oracle: Oracle) -> list[RowBatch]:
    batches: list[RowBatch] = []
    while f"rows {len(batches)}" in stage.arrays:
        rows, order, weights = (
            stage.arrays[f"{name} {len(batches)}"] for name in ("rows", "order", "weights")
        )
        start = batches[-1].stop if batches else 0
        targets = oracle.targets(rows)
        targets = targets.take(order) if len(order) else targets
        batches.append(RowBatch(start, targets, weights, rows, order))
    return batches
