"""A saved result with its rows at hand again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from protobandit.certificate.certificate import Certificate
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.files import write_whole
from protobandit.interfaces.jobs.page import report_page
from protobandit.interfaces.jobs.read_options import Tell, opened_sides
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult, selection_file
from protobandit.interfaces.jobs.select_arguments import weights_of
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened


@dataclass(frozen=True, kw_only=True, eq=False)
class Reopened:
    """A selection with the rows it was made from."""

    selection: Selection
    source: Opened
    target: Opened
    run: RunRecord

    def page(self) -> str:
        """Return the page that shows it."""
        return report_page(
            self.selection,
            self.source,
            self.target,
            self.run.reading,
            command=self.run.command,
            seed=self.run.seed,
        )


def reopened(
    result: SavedResult,
    *,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),
    tell: Tell | None = None,
) -> Reopened:
    """Open the files of a run, or those passed instead, and refuse if their rows are others."""
    run = result.run or RunRecord()
    if not (sources or run.sources):
        raise InvalidInput(
            "This selection does not say which files it was made from. Pass --source, and --target "
            "if there was one."
        )
    source, target = _opened(run, sources, targets, tell)
    selection = result.selection.attached(
        source.rows,
        None if target is source else target.rows,
        weights=weights_of(target, run.reading.weights),
    )
    return Reopened(selection=selection, source=source, target=target, run=run)


def _opened(
    run: RunRecord, sources: Sequence[str], targets: Sequence[str], tell: Tell | None
) -> tuple[Opened, Opened]:
    try:
        return opened_sides(
            run.reading, sources or run.sources, targets or run.targets, seed=run.seed, tell=tell
        )
    except InvalidInput as error:
        kept = {} if sources else {"--source": run.sources}
        kept |= {} if targets or not run.targets else {"--target": run.targets}
        if not kept:
            raise
        made = " and ".join(f"{option} {' '.join(paths)}" for option, paths in kept.items())
        raise InvalidInput(
            f"{error} The selection was made from {made}, in the folder of that time. If these "
            f"have moved, pass {' and '.join(kept)} with their new place."
        ) from None


def certified(result: SavedResult, certificate: Certificate) -> SavedResult:
    """Return the result with a certificate, its evaluations counted."""
    selection = result.selection
    spent = dict(selection.evaluations_by_phase)
    spent["certify"] = spent.get("certify", 0) + certificate.evaluations
    ours = replace(selection, certificate=certificate, evaluations_by_phase=spent)
    return SavedResult(selection=ours, run=result.run)


def save(result: SavedResult, path: Path) -> None:
    """Write a result over its own file."""
    shown = selection_file(path)
    content = result.to_json().encode("utf-8")
    write_whole(Path(os.path.realpath(shown)), content, shown=shown)
