"""Checkpoint: what the user passes so that a killed search can be resumed.

Theory of operation
-------------------
A search is deterministic: the problem, the method and the seed decide every step. So there are two
ways to resume it with the same result, and which one is used depends on what is slow.

*The metric is a user's own function.* Then evaluations decide. Every block that the function
returns is appended to a log (`evaluation_log`). The resumed search runs again from its start and
takes the blocks from the log until it reaches its end. This needs no support by the method.

*The metric is built in.* Then computing a dissimilarity again is as fast as reading it, and the
search saves its own state at the boundaries where that is small: after a pick, a rung, a pass or a
sample (`states`). Tables of dissimilarities are not saved.

Both kinds keep the schedule of the search and the state of the random generator at its start. The
file is written beside its place and moved there, so that there is always a complete one; it names
the call it belongs to, and another call is refused (`archive`, `identity`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protobandit.foundation.checks import require_number
from protobandit.foundation.errors import InvalidInput


class CheckpointRefused(InvalidInput):
    """A file that a search cannot resume from: its path, and ``what`` is wrong with it."""

    def __init__(self, path: Path, what: str, *, is_in_use: bool = False) -> None:
        advice = "Wait for it to end" if is_in_use else "Delete it"
        super().__init__(f"checkpoint={str(path)!r} {what}. {advice}, or pass another path.")
        self.path = path
        self.what = what
        self.is_in_use = is_in_use


@dataclass(frozen=True)
class Checkpoint:
    """A file in which a search saves its state, so that the same call can resume it.

    After a crash, ``kill -9`` or an interruption the same call resumes at the last save. On the
    same machine it returns the indices, costs and gains of an uninterrupted run, bit for bit.
    ``evaluations`` and ``lookups`` are those of an uninterrupted run too; seconds are those of all
    runs. A ``callback`` gets the steps of the earlier run again. The file stays when the search is
    done; the same call then takes the result from it. With ``random_state=None`` the generator of
    the first run is restored.

    With a metric of your own, every value that it returns is appended to a second file, ``path`` +
    ".evaluations" (up to 2 GB), so that any method resumes where it was killed, without calling
    your function twice for what was saved. With a built-in metric nothing but the state of the
    search is saved: after each prototype, after each rung of ``lazybandit``, after each pass of
    ``pam``, ``fastpam1``, ``fasterpam``, ``alternate``, ``onebatch`` and ``refined``, after each
    sample of ``clara``. ``clarans``, ``banditpam`` and searches with a budget then start again
    unless they were done, and ``status`` says so.

    A file of another call is refused, and so is a file that another run is using. Rows are compared
    by their number and by some hundreds of them, evenly spaced: do not change single rows of source
    or target in between. Of a metric of your own only the name is compared.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        Minimum time between two saves. A save takes at most a tenth of the time. 0 saves at every
        opportunity.

    Examples
    --------
    >>> import protobandit as pb, tempfile
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = pb.Checkpoint(f"{folder}/search")
    ...     first = pb.select(rows, k=2, checkpoint=checkpoint)
    ...     again = pb.select(rows, k=2, checkpoint=checkpoint)
    >>> first.indices.tolist() == again.indices.tolist()
    True
    """

    path: str | os.PathLike[str]
    seconds: float = 5.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise InvalidInput(
                f"Checkpoint(path)={self.path!r} is not a path. Pass the path of a file."
            )
        require_number(self.seconds, "Checkpoint(seconds)", at_least=0)


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return the checkpoint that was passed, as it is or as a path."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, (str, os.PathLike)):
        return Checkpoint(checkpoint)
    raise InvalidInput(
        f"checkpoint={checkpoint!r:.40} is not known. Pass the path of a file, or "
        f"Checkpoint(path, seconds=…)."
    )
