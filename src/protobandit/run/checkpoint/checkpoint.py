"""Checkpoint: the file from which a killed search is resumed.

Theory of operation
-------------------
A search is deterministic: the problem, the method and the seed determine every step. So there are
two ways to resume it with the same result. Which one is used depends on what is slow.

*The metric is expensive*: a user's own function, or a metric of texts. Then evaluations determine
the time. Every block that the function returns is appended to a log (`evaluation_log`). The resumed
search runs again from its start and reads the blocks from the log until the log ends. This needs no
support by the method. A user's own kernel counts as an expensive metric.

*The metric is built in.* Then computing a dissimilarity again is as fast as reading it. The search
saves its own state where that is small: after a pick, a rung, a pass or a sample (`states`). Tables
of dissimilarities are not saved but computed again, in blocks of the same shape: the last bits of a
matrix product can depend on its shape.

In both cases the file holds the schedule of the search and the state of the random generator at its
start. It is written to a hidden file, synchronised with the disk, and then moved to its place, so
that there is always a complete one. A digest covers all of it, and every record of the log has a
checksum: what was not written as it is read is never resumed from (`checked_file`). The file
describes its call, and another call is refused (`archive`, `identity`). A lock file keeps a second
run away while the first one runs.

After a stop by time, by an interruption or by the callback, nothing new is saved: a later run may
have more time, and must find only what an uninterrupted run would have computed.
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

    After a crash, ``kill -9`` or an interruption, the same call resumes the search. On the same
    machine it returns the indices, costs and gains of an uninterrupted run, bit for bit.
    ``evaluations`` and ``lookups`` are those of an uninterrupted run too; seconds are those of all
    runs. A ``callback`` gets the steps of the earlier run again. With ``random_state=None`` the
    generator of the first run is restored. The file stays when the search is done, and the same
    call then returns the same result without a new search.

    If the metric or the kernel is your own function, or the metric compares texts, every value that
    it returns is appended to a second file, ``path`` + ".evaluations" (up to 2 GB). Any method then
    resumes where it was killed, and your function is not called again for logged values.

    With other metrics only the state of the search is saved: after each prototype, after each rung
    of ``lazybandit``, after each pass of ``pam``, ``fastpam1``, ``fasterpam``, ``alternate``,
    ``onebatch`` and ``refined``, and after each sample of ``clara``. Dissimilarities that the
    search still needs are computed again. ``clarans``, ``banditpam`` and searches with a budget
    save only their result: if they are killed earlier, they start again, and ``status`` says so.

    The file is written on an error and on Ctrl-C too. It has at most 256 MB. Usually it is about as
    large as the rows, or much smaller; if a state is larger, the search resumes from the one before
    it. If the file cannot be written, for instance because the disk is full, the search goes on and
    ``status`` says so. Files are readable by their owner only, damaged files are refused, and so
    are symbolic links.

    A file of another call is refused, and so is a file that another run is using. Rows are compared
    by their number and by some hundreds of evenly spaced rows: do not change single rows of source
    or target between two runs. Of your own function only the name is compared.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    seconds
        Minimum time between two saves. Saving takes at most a tenth of the time. 0 saves at every
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
                f"Checkpoint(path)={self.path!r:.60} is not a path. Pass the path of a file."
            )
        require_number(self.seconds, "Checkpoint(seconds)", at_least=0)


def log_and_checkpoint(path: Path) -> tuple[Path, Path]:
    """Return the paths of the log of evaluations and of the checkpoint."""
    return path.with_name(f"{path.name}.evaluations"), path


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return a checkpoint that the user passed as a `Checkpoint` or as a path."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, (str, os.PathLike)):
        return Checkpoint(checkpoint)
    raise InvalidInput(
        f"checkpoint={checkpoint!r:.40} is not known. Pass the path of a file, or "
        f"Checkpoint(path, seconds=…)."
    )
