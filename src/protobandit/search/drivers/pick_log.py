"""The picks of a search, logged so that a resumed run repeats them instead of choosing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.threshold import Level
from protobandit.search.control import SavedState, SearchControl

_STATE = "picks"
_BOUNDS: dict[str, type[Bounds]] = {kind.__name__: kind for kind in (Bounds, Level)}


@dataclass(frozen=True, eq=False)
class LoggedPick:
    """One pick, with the counts and the seconds when it was made."""

    arms: Ids
    gains: Doubles
    is_proven: bool
    counts: Ids
    seconds: float


class PickLog:
    """Saves picks, if there is a checkpoint, and knows those of an earlier run.

    ``arrays`` is what the earlier run saved in addition after its last pick; ``bounds`` are those
    that its next round would have used.
    """

    def __init__(self, control: SearchControl) -> None:
        self._control = control
        self._picks: list[LoggedPick] = []
        stage = control.states.restore(_STATE)
        self._earlier: list[LoggedPick] = [] if stage is None else _picks_of(stage)
        self.arrays: Mapping[str, Any] = {} if stage is None else stage.arrays
        self.bounds = None if stage is None else _bounds_of(stage)

    @property
    def is_resumed(self) -> bool:
        """Return whether there was an earlier run."""
        return bool(self._earlier)

    def earlier(self) -> Iterator[LoggedPick]:
        """Yield the picks of an earlier run, fixed rows included."""
        for pick in self._earlier:
            self._picks.append(pick)
            yield pick
        self._control.end_replay()

    def replay(self, pick: LoggedPick) -> None:
        """Show the counts and seconds that the earlier run had when it made a pick."""
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
        """Save a pick, and the arrays that the next round needs, which ``state`` returns."""
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
    """Return picks as columns, joined when they are written: most of them never are."""
    n = len(picks)
    return {
        "arms": lambda: np.concatenate([pick.arms for pick in picks[:n]]),
        "gains": lambda: np.concatenate([pick.gains for pick in picks[:n]]),
        "sizes": lambda: np.array([len(pick.arms) for pick in picks[:n]]),
        "is_proven": lambda: np.array([pick.is_proven for pick in picks[:n]]),
        "counts": lambda: np.stack([pick.counts for pick in picks[:n]]),
        "seconds": lambda: np.array([pick.seconds for pick in picks[:n]]),
    }


def _picks_of(stage: SavedState) -> list[LoggedPick]:
    columns = stage.arrays
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


def _bounds_of(stage: SavedState) -> Bounds | None:
    if "bounds" not in stage.values:
        return None
    own = dict(stage.values["bounds"])
    return _BOUNDS[own.pop("kind")](upper=stage.arrays["upper"], **own)
