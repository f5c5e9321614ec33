"""The picks of a search as notes, from which another run takes them instead of choosing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.observer import Observer, SavedStage
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.threshold import Level

_STAGE = "picks"
_BOUNDS: dict[str, type[Bounds]] = {kind.__name__: kind for kind in (Bounds, Level)}


@dataclass(frozen=True, eq=False)
class LoggedPick:
    """One pick, and what had been counted when it was made."""

    arms: Ids
    gains: Doubles
    is_proven: bool
    counts: Ids
    seconds: float


class PickLog:
    """Writes picks down, if anybody takes notes, and knows those of an earlier run.

    ``arrays`` are what the earlier run noted besides, after the last of its picks; ``bounds`` what
    its next round might have used.
    """

    def __init__(self, watch: Observer) -> None:
        self._watch = watch
        self._picks: list[LoggedPick] = []
        stage = watch.recall(_STAGE)
        self._earlier: list[LoggedPick] = [] if stage is None else _picks_of(stage)
        self.arrays: Mapping[str, Any] = {} if stage is None else stage.arrays
        self.bounds = None if stage is None else _bounds_of(stage)

    @property
    def is_resumed(self) -> bool:
        """Tell whether there was an earlier run."""
        return bool(self._earlier)

    def earlier(self) -> Iterator[LoggedPick]:
        """Yield the picks of an earlier run, those of rows that were fixed among them."""
        for pick in self._earlier:
            self._picks.append(pick)
            yield pick
        self._watch.catch_up()

    def go_back(self, pick: LoggedPick) -> None:
        """Count as the earlier run had when it made a pick."""
        self._watch.go_back(pick.counts, pick.seconds)

    def note(
        self,
        arms: Ids,
        gains: Doubles,
        is_proven: bool,
        *,
        bounds: Bounds | None = None,
        besides: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write down a pick, and what the next round needs to know, which ``besides`` returns."""
        if not self._watch.is_noting:
            return
        counts, seconds = self._watch.counts(), self._watch.seconds
        self._picks.append(LoggedPick(arms, gains, is_proven, counts, seconds))
        values: dict[str, Any] = {}
        arrays = {**_columns(self._picks), **besides()}
        if bounds is not None:
            own = {field.name: getattr(bounds, field.name) for field in fields(bounds)}
            arrays["upper"] = own.pop("upper")
            values["bounds"] = {"kind": type(bounds).__name__, **own}
        self._watch.note(_STAGE, values, arrays)


def _columns(picks: list[LoggedPick]) -> dict[str, Any]:
    """Return picks as columns, put together when they are written: most of them never are."""
    n = len(picks)
    return {
        "arms": lambda: np.concatenate([pick.arms for pick in picks[:n]]),
        "gains": lambda: np.concatenate([pick.gains for pick in picks[:n]]),
        "sizes": lambda: np.array([len(pick.arms) for pick in picks[:n]]),
        "is_proven": lambda: np.array([pick.is_proven for pick in picks[:n]]),
        "counts": lambda: np.stack([pick.counts for pick in picks[:n]]),
        "seconds": lambda: np.array([pick.seconds for pick in picks[:n]]),
    }


def _picks_of(stage: SavedStage) -> list[LoggedPick]:
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


def _bounds_of(stage: SavedStage) -> Bounds | None:
    if "bounds" not in stage.values:
        return None
    own = dict(stage.values["bounds"])
    return _BOUNDS[own.pop("kind")](upper=stage.arrays["upper"], **own)
