"""The settings of a run: random generator, limits, threads, callbacks and checkpoint, validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import as_generator, set_state, state_of
from protobandit.problem.limits import Limits, as_limits
from protobandit.run.checkpoint.archive import CheckpointFile
from protobandit.run.checkpoint.checkpoint import Checkpoint, as_checkpoint
from protobandit.run.checkpoint.identity import digest
from protobandit.run.outcome import Step
from protobandit.run.progress.bar import ProgressBar
from protobandit.run.progress.reporter import Interrupt, Listener

Callback: TypeAlias = "Callable[[Step], bool | None]"


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings:
    """What a run may use, and whom it informs.

    ``is_seeded`` is whether the user passed a ``random_state``. ``file`` is the checkpoint, once it
    is open. Of several searches of one call, ``name`` identifies each in the checkpoint,
    ``is_last`` marks the last one, and ``whole_limits`` are the limits of the call, of which
    ``limits`` are the share of one search.
    """

    random: np.random.Generator
    limits: Limits
    n_jobs: int | None = None
    callback: Callback | None = None
    progress: Listener | None = None
    interrupt: Interrupt | None = None
    checkpoint: Checkpoint | None = None
    is_seeded: bool = True
    file: CheckpointFile | None = None
    name: str = ""
    is_last: bool = True
    whole_limits: Limits | None = None

    def with_open_checkpoint(
        self, identity: Callable[[], Mapping[str, Any]], *, has_log: bool
    ) -> RunSettings:
        """Return the settings with the file of the checkpoint open, if there is a checkpoint.

        ``has_log`` is whether evaluations are logged.
        """
        if self.checkpoint is None or self.file is not None:
            return self
        generator = state_of(self.random)
        seed = digest(repr(generator)) if self.is_seeded else "none"
        call = {**identity(), "random_state": seed}
        file = CheckpointFile(self.checkpoint, call, generator, has_log=has_log)
        if not self.is_seeded:
            set_state(self.random, file.generator)
        return replace(self, file=file)


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
    """Validate what the user passed in addition to the problem."""
    if callback is not None and not callable(callback):
        raise InvalidInput(
            f"callback={callback!r:.60} is not callable. Pass a function of one Step."
        )
    if isinstance(progress, bool):
        progress = ProgressBar() if progress else None
    if progress is not None and not callable(progress):
        raise InvalidInput(
            f"progress={progress!r:.40} is not callable. Pass True, or a function of one Progress."
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
