"""A race as notes: where it stands after a rung, and how another run takes over from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.observer import Onlooker, Stage
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import Batch, Patchwork, Table
from protobandit.oracle.target_orders import Draws, TargetOrder
from protobandit.search.objectives.swap_state import Standing

TABLE = "table of the race"  # what is measured on the first rung, under this name
_STAGE = "race"


@dataclass(frozen=True, eq=False)
class Baton:
    """All that the next rung needs: the number of this one, its table, and what was heard."""

    place: int
    patchwork: Patchwork
    standing: Standing
    changes: Doubles
    n_swaps: int


def hand_over(watch: Onlooker, baton: Baton) -> None:
    """Write down where the race stands, if somebody takes notes."""
    if not watch.is_noting:
        return
    patchwork = baton.patchwork
    arrays: dict[str, Any] = {
        "entrants": patchwork.table.arms,
        "arms": patchwork.arms,
        "starts": patchwork.starts,
        "columns": patchwork.columns,
        "values": patchwork.values,
        "changes": baton.changes,
        **{f"standing {name}": array for name, array in baton.standing.notes().items()},
    }
    for i, batch in enumerate(patchwork.batches):
        arrays[f"rows {i}"], arrays[f"weights {i}"] = batch.rows, batch.weights
        arrays[f"order {i}"] = batch.order
    watch.note(_STAGE, {"place": baton.place, "n_swaps": baton.n_swaps}, arrays)


def take_over(watch: Onlooker, oracle: Oracle, order: TargetOrder) -> Baton | None:
    """Return where an earlier run has been, or None; target rows are read again."""
    stage = watch.recall(_STAGE)
    if stage is None:
        return None
    batches = _batches(stage, oracle)
    if isinstance(order, Draws):
        order.recall(np.concatenate([batch.rows for batch in batches]))
    arrays = stage.arrays
    patchwork = Patchwork(
        table=Table.of(oracle, arrays["entrants"], batches[0].targets, TABLE),
        arms=arrays["arms"],
        batches=tuple(batches),
        starts=arrays["starts"],
        columns=arrays["columns"],
        values=arrays["values"],
    )
    standing = Standing.recalled(
        {
            name.removeprefix("standing "): array
            for name, array in arrays.items()
            if name.startswith("standing ")
        }
    )
    watch.return_to(stage)
    values = stage.values
    return Baton(values["place"], patchwork, standing, arrays["changes"], values["n_swaps"])


def _batches(stage: Stage, oracle: Oracle) -> list[Batch]:
    batches: list[Batch] = []
    while f"rows {len(batches)}" in stage.arrays:
        rows, order, weights = (
            stage.arrays[f"{name} {len(batches)}"] for name in ("rows", "order", "weights")
        )
        start = batches[-1].stop if batches else 0
        targets = oracle.targets(rows)
        targets = targets.take(order) if len(order) else targets
        batches.append(Batch(start, targets, weights, rows, order))
    return batches
