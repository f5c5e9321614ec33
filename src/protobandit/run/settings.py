"""What a search may use, and who watches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import as_generator, set_state, state_of
from protobandit.problem.limits import Limits, as_limits
from protobandit.run.checkpoint.identity import digest
from protobandit.run.checkpoint.store import Checkpoint, CheckpointFile, as_checkpoint
from protobandit.run.progress.watch import Interrupt, Listener


@dataclass(frozen=True, kw_only=True)
class Step:
    """One prototype: which source row, what it brought, and what had been spent by then.

    ``gain`` is the drop of the cost as the search saw it (NaN for the first prototype, before which
    there is no cost, and for those that were fixed); ``evaluations`` and ``seconds`` count from the
    start of the run.
    """

    index: int
    gain: float
    evaluations: int
    seconds: float


Callback: TypeAlias = "Callable[[Step], bool | None]"


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings:
    """What a search may use, and who watches it.

    ``is_seeded`` tells whether the user chose the dice. Of several searches of one call, ``name``
    tells them apart in the checkpoint, and ``is_last`` tells which ends it.
    """

    random: np.random.Generator
    limits: Limits
    n_jobs: int | None = None
    callback: Callback | None = None
    progress: Listener | None = None
    interrupt: Interrupt | None = None
    checkpoint: Checkpoint | None = None
    is_seeded: bool = True
    store: CheckpointFile | None = None
    name: str = ""
    is_last: bool = True

    def opened(self, identity: Callable[[], Mapping[str, Any]]) -> RunSettings:
        """Return the same with the checkpoint opened, if there is one, for the call it is."""
        if self.checkpoint is None or self.store is not None:
            return self
        chance = state_of(self.random)
        chosen = digest(repr(chance)) if self.is_seeded else "none"
        store = CheckpointFile(self.checkpoint, {**identity(), "random_state": chosen}, chance)
        if not self.is_seeded:
            set_state(self.random, store.chance)
        return replace(self, store=store)


def as_run_settings(
    random_state: Any,
    limits: Any,
    n_jobs: int | None,
    callback: Any,
    *,
    progress: Any = None,
    interrupt: Any = None,
    checkpoint: Any = None,
) -> RunSettings:
    """Validate what the user passed besides the problem."""
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback={callback!r} is not callable. Pass a function of one Step.")
    if progress is not None and not callable(progress):
        raise InvalidInput(
            f"progress={progress!r:.40} is not callable. Pass a function of one Progress."
        )
    if interrupt is not None and not isinstance(interrupt, Interrupt):
        raise InvalidInput(f"interrupt={interrupt!r:.40} is not known. Pass an Interrupt().")
    return RunSettings(
        random=as_generator(random_state),
        limits=as_limits(limits),
        n_jobs=n_jobs,
        callback=callback,
        progress=progress,
        interrupt=interrupt,
        checkpoint=as_checkpoint(checkpoint),
        is_seeded=random_state is not None,
    )
