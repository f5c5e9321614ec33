"""The state and the result of a race after a rung: saved, and restored by a resumed run.

The table of the first rung is not saved: computing it again is one product, which is faster than
reading it. Distances at later rows are saved, because which of them are known depends on every
earlier rung.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, require_restorable
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RaggedTable, RowBatch
from protobandit.oracle.target_orders import TargetOrder, WeightedOrder
from protobandit.search.control import SavedState, SearchControl, StopKind, StopReason
from protobandit.search.drivers.race.far_rows import Strata
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.objectives.swap_state import SwapState

_STATE = "race"
_RESULT = "result of the race"


@dataclass(frozen=True, eq=False)
class RungResult:
    """The prototypes after a rung.

    ``n_started`` is the number of arms on the first rung. ``is_exact`` is whether the greedy
    selection read all source rows and all of the target. ``is_searched`` is whether the evaluations
    allowed a complete search for far rows.
    """

    rung: Rung
    arms: Ids
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
        "arms": ragged.arms,
        "starts": ragged.starts,
        "columns": ragged.columns,
        "values": ragged.values,
        "changes": race_state.changes,
        **{f"swap_state {name}": array for name, array in race_state.swap_state.state().items()},
    }
    for i, batch in enumerate(ragged.batches):
        arrays[f"rows {i}"], arrays[f"weights {i}"] = batch.rows, batch.weights
        arrays[f"order {i}"] = batch.order
    if isinstance(order, WeightedOrder):
        arrays["draws"] = order.drawn
    if race_state.strata is not None:
        arrays |= {f"strata {name}": array for name, array in vars(race_state.strata).items()}
    values = {
        "place": race_state.place,
        "n_swaps": race_state.n_swaps,
        "is_searched": race_state.is_searched,
    }
    control.states.save(_STATE, SavedState(values, arrays))


def drop_state(control: SearchControl) -> None:
    """Remove the state of a race that is over."""
    control.states.drop(_STATE)


def restore_state(control: SearchControl, oracle: Oracle, order: TargetOrder) -> RaceState | None:
    """Return the state of an earlier run, or None. Target rows are read again."""
    saved = control.states.restore(_STATE)
    if saved is None:
        return None
    batches = _batches(saved, oracle)
    if isinstance(order, WeightedOrder):
        order.restore(saved.arrays["draws"])
    arrays = saved.arrays
    _require_valid(arrays, oracle, batches[-1].stop if batches else 0)
    ragged = RaggedTable(
        table=FullTable.of(oracle, arrays["first arms"], batches[0].targets),
        arms=arrays["arms"],
        batches=tuple(batches),
        starts=arrays["starts"],
        columns=arrays["columns"],
        values=arrays["values"],
    )
    swap_state = SwapState.restored(_named(arrays, "swap_state "))
    strata = _named(arrays, "strata ")
    control.states.rewind(saved)  # the table has been counted again
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


def _require_valid(arrays: Mapping[str, Any], oracle: Oracle, n_rows: int) -> None:
    """Raise unless the entries of a ragged table are within its rows."""
    starts, columns, values = (arrays[name] for name in ("starts", "columns", "values"))
    arms, first = arrays["arms"], arrays["first arms"]
    n = len(oracle.problem.source)
    require_restorable(
        n_rows > 0
        and are_within(arms, 0, n)
        and are_within(first, 0, n)
        and np.isin(arms, first).all()
        and are_within(columns, 0, n_rows)
        and columns.shape == values.shape == (len(values),)
        and arrays["changes"].shape == (len(arms),)
        and starts.shape == (len(arms) + 1,)
        and are_within(starts, 0, len(values) + 1)
        and (np.diff(starts) >= 0).all()
        and values.dtype == oracle.dtype
        and are_within(arrays["swap_state members"], 0, len(arms))
        and arrays["swap_state weights"].shape == (n_rows,),
        "distances",
    )


def _named(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names have this prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _batches(saved: SavedState, oracle: Oracle) -> list[RowBatch]:
    batches: list[RowBatch] = []
    while f"rows {len(batches)}" in saved.arrays:
        rows, order, weights = (
            saved.arrays[f"{name} {len(batches)}"] for name in ("rows", "order", "weights")
        )
        start = batches[-1].stop if batches else 0
        targets = oracle.targets(rows)
        targets = targets.take(order) if len(order) else targets
        batches.append(RowBatch(start, targets, weights, rows, order))
    return batches


def save_result(control: SearchControl, result: RungResult, rungs: Sequence[Rung]) -> None:
    """Save the last result of a race, if there is a checkpoint."""
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
    arrays = {"prototypes": result.prototypes, **result.swap_state.state()}
    arrays["members"] = np.arange(len(result.prototypes))
    control.states.save(_RESULT, SavedState(values, arrays))


def restore_result(control: SearchControl, rungs: Sequence[Rung]) -> RungResult | None:
    """Return the last result of an earlier run, or None."""
    saved = control.states.restore(_RESULT)
    if saved is None:
        return None
    values = saved.values
    if values["is_short"]:
        control.stop(StopReason(StopKind.EVALUATIONS, control.limits.evaluations))
    return RungResult(
        rungs[values["place"]],
        saved.arrays["prototypes"],
        SwapState.restored(saved.arrays),
        values["n_swaps"],
        values["n_started"],
        values["is_exact"],
        values["is_searched"],
    )
