"""A log of the picks of a search, so that a resumed run repeats them instead of searching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import are_within, is_finite, require_restorable
from protobandit.foundation.endless import ENDLESS
from protobandit.oracle.counts import Counts
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.threshold import Level
from protobandit.search.control import SavedState, SearchControl

_STATE = "picks"
_BOUNDS: dict[str, type[Bounds]] = {kind.__name__: kind for kind in (Bounds, Level)}


@dataclass(frozen=True, eq=False)
class LoggedPick:
    """A pick, with the counts and the seconds at the time it was made."""

    arms: Ids
    gains: Doubles
    is_proven: bool
    counts: Ids
    seconds: float


class PickLog:
    """Saves picks if there is a checkpoint, and restores those of an earlier run.

    ``arrays`` are the arrays that the earlier run saved with its last pick. ``bounds`` are the
    bounds for the round after it. InvalidInput is raised if they cannot be of ``n_source`` rows.
    """

    def __init__(self, control: SearchControl, n_source: int) -> None:
        self._control = control
        self._picks: list[LoggedPick] = []
        saved = control.states.restore(_STATE)
        self._earlier: list[LoggedPick] = [] if saved is None else _picks_of(saved, n_source)
        self.arrays: Mapping[str, Any] = {} if saved is None else saved.arrays
        self.bounds = None if saved is None else _bounds_of(saved, n_source)

    @property
    def is_resumed(self) -> bool:
        """Return whether there was an earlier run."""
        return bool(self._earlier)

    def earlier(self) -> Iterator[LoggedPick]:
        """Yield the picks of an earlier run, including that of the fixed rows."""
        for pick in self._earlier:
            self._picks.append(pick)
            yield pick
        self._control.end_replay()

    def replay(self, pick: LoggedPick) -> None:
        """Set counts and clock to their values in the earlier run at this pick."""
        self._control.replay(pick.counts, pick.seconds)

    def save(
        self,
        arms: Ids,
        gains: Doubles,
        is_proven: bool,
        *,
        bounds: Bounds | None = None,
        state: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Save a pick, the bounds, and the arrays that the next round needs (``state()``)."""
        control = self._control
        if not control.states.is_active:
            return
        counts, seconds = control.counts.snapshot(), control.clock.seconds
        self._picks.append(LoggedPick(arms, gains, is_proven, counts, seconds))
        values: dict[str, Any] = {}
        arrays = {**_columns(self._picks), **state()}
        if bounds is not None:
            own = {field.name: getattr(bounds, field.name) for field in fields(bounds)}
            arrays["upper"] = own.pop("upper")
            values["bounds"] = {"kind": type(bounds).__name__, **own}
        control.states.save(_STATE, SavedState(values, arrays))


def _columns(picks: list[LoggedPick]) -> dict[str, Any]:
    """Return picks as columns, which are joined only if they are written: most never are."""
    n = len(picks)
    return {
        "arms": lambda: np.concatenate([pick.arms for pick in picks[:n]]),
        "gains": lambda: np.concatenate([pick.gains for pick in picks[:n]]),
        "sizes": lambda: np.array([len(pick.arms) for pick in picks[:n]]),
        "is_proven": lambda: np.array([pick.is_proven for pick in picks[:n]]),
        "counts": lambda: np.stack([pick.counts for pick in picks[:n]]),
        "seconds": lambda: np.array([pick.seconds for pick in picks[:n]]),
    }


def _picks_of(saved: SavedState, n_source: int) -> list[LoggedPick]:
    columns = saved.arrays
    require_restorable(
        all(name in columns for name in _columns([])) and _are_picks(columns, n_source), "picks"
    )
    stops = np.cumsum(columns["sizes"])
    return [
        LoggedPick(
            columns["arms"][stop - size : stop],
            columns["gains"][stop - size : stop],
            bool(columns["is_proven"][i]),
            columns["counts"][i],
            float(columns["seconds"][i]),
        )
        for i, (size, stop) in enumerate(zip(columns["sizes"], stops, strict=True))
    ]


def _are_picks(columns: Mapping[str, Any], n_source: int) -> bool:
    """Return whether columns can be picks of different source rows."""
    arms, sizes, counts = columns["arms"], columns["sizes"], columns["counts"]
    n = len(sizes)
    return (
        arms.ndim == sizes.ndim == 1
        and are_within(arms, 0, n_source)
        and len(np.unique(arms)) == len(arms)
        and are_within(sizes, 1, len(arms) + 1)
        and bool(sizes.sum() == len(arms))
        and columns["gains"].shape == arms.shape
        and columns["gains"].dtype.kind == "f"
        and columns["is_proven"].shape == columns["seconds"].shape == (n,)
        and columns["is_proven"].dtype == bool
        and columns["seconds"].dtype.kind == "f"
        and counts.shape == (n, *Counts().snapshot().shape)
        and are_within(counts, 0, ENDLESS)
        and all(columns[name].dtype.isnative for name in _columns([]))
    )


def _bounds_of(saved: SavedState, n_source: int) -> Bounds | None:
    if "bounds" not in saved.values:
        return None
    own, upper = dict(saved.values["bounds"]), saved.arrays.get("upper")
    kind = _BOUNDS.get(own.pop("kind", ""))
    require_restorable(
        kind is not None
        and upper is not None
        and upper.ndim == 1
        and len(upper) <= n_source
        and upper.dtype == np.float64
        and {*own, "upper"} == {field.name for field in fields(kind)}
        and all(is_finite(value) for value in own.values()),
        "bounds",
    )
    assert kind is not None
    assert upper is not None
    return kind(upper=upper, **own)
