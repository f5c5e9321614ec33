"""A saved result with its source and target files open again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.read_options import Notify, weights_column
from protobandit.interfaces.jobs.report_page import report_page
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened


@dataclass(frozen=True, kw_only=True, eq=False)
class ReopenedResult:
    """A selection with the rows it was made from, and the record of its run."""

    selection: Selection
    source: Opened
    target: Opened
    run: RunRecord

    def report_page(self) -> str:
        """Return the HTML page that shows the selection."""
        return report_page(
            self.selection,
            self.source,
            self.target,
            self.run.read_options,
            command=self.run.command,
            seed=self.run.seed,
        )


def reopen(
    result: SavedResult,
    *,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),
    notify: Notify | None = None,
) -> ReopenedResult:
    """Open the files of a run, or those passed instead; raise if the rows have changed."""
    run = result.run
    if not (sources or run.sources):
        raise InvalidInput(
            "This selection does not record the files it was made from. Pass --source, and "
            "--target if there was one."
        )
    source, target = _open_sides(run, sources, targets, notify)
    selection = result.selection.attached(
        source.rows,
        None if target is source else target.rows,
        weights=weights_column(target, run.read_options.weights),
    )
    return ReopenedResult(selection=selection, source=source, target=target, run=run)


def _open_sides(
    run: RunRecord, sources: Sequence[str], targets: Sequence[str], notify: Notify | None
) -> tuple[Opened, Opened]:
    try:
        return run.read_options.open_sides(
            sources or run.sources, targets or run.targets, seed=run.seed, notify=notify
        )
    except InvalidInput as error:
        recorded = {} if sources else {"--source": run.sources}
        recorded |= {} if targets or not run.targets else {"--target": run.targets}
        if not recorded:
            raise
        shown = " and ".join(f"{option} {' '.join(paths)}" for option, paths in recorded.items())
        raise InvalidInput(
            f"{error} The selection was made from {shown}, relative to the folder in which it was "
            f"run. If the files have moved, pass {' and '.join(recorded)} with the new path."
        ) from None
