"""A race as notes: where it stands after a rung, and how another run takes over from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.observer import Observer, SavedStage
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.objectives.swap_state import SwapState

TABLE = "table of the race"  # what is measured on the first rung, under this name
_STAGE = "race"


@dataclass(frozen=True, eq=False)
class RaceState:
    """All that the next rung needs: the number of this one, its table, and what was heard."""

    place: int
    ragged: RaggedTable
    swap_state: SwapState
    changes: Doubles
    n_swaps: int


def save_state(watch: Observer, race_state: RaceState) -> None:
    """Write down where the race stands, if somebody takes notes."""
    if not watch.is_noting:
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
    watch.note(_STAGE, {"place": race_state.place, "n_swaps": race_state.n_swaps}, arrays)


def restore_state(watch: Observer, oracle: Oracle, order: TargetOrder) -> RaceState | None:
    """Return where an earlier run has been, or None; target rows are read again."""
    stage = watch.recall(_STAGE)
    if stage is None:
        return None
    batches = _batches(stage, oracle)
    if isinstance(order, WeightedOrder):
        order.recall(np.concatenate([batch.rows for batch in batches]))
    arrays = stage.arrays
    ragged = RaggedTable(
        table=FullTable.of(oracle, arrays["entrants"], batches[0].targets, TABLE),
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
    watch.return_to(stage)
    values = stage.values
    return RaceState(values["place"], ragged, swap_state, arrays["changes"], values["n_swaps"])


def _batches(stage: SavedStage, oracle: Oracle) -> list[RowBatch]:
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
