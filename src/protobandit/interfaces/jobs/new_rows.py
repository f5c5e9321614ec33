"""New files and a saved selection: compare them with it, or update it with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from protobandit._version import __version__
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.output_files import SELECTION, write_results
from protobandit.interfaces.jobs.read_options import (
    Notify,
    image_size_of,
    optional_column,
    rows_at,
    weights_column,
)
from protobandit.interfaces.jobs.result_tables import prototypes_table, values_at
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult
from protobandit.interfaces.jobs.table_formats import table_bytes
from protobandit.problem.constraints import Constraints
from protobandit.problem.posing import pose
from protobandit.result.drift import Drift
from protobandit.rows.files.opened import Opened
from protobandit.run.outcome import fingerprints


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedRows:
    """The drift of new rows, and the selection with its reference.

    Rows are numbered as in the files. ``worst_ids`` and ``ids_to_add`` are their ids, or None if
    they have none. ``where`` is the condition on the new rows, or ""; ``n_total`` is the number of
    rows in the files.
    """

    drift: Drift
    worst_ids: Any
    ids_to_add: Any
    where: str
    n_total: int
    result: SavedResult


def check_rows(
    result: SavedResult,
    paths: Sequence[str],
    *,
    where: str | None = None,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),
    n_jobs: int | None = None,
    notify: Notify,
) -> CheckedRows:
    """Compare the rows of new files with a selection.

    ``where`` is a condition on the new rows: None means that of the selection, and "" none. If the
    selection has no reference, the files it was made from are opened to compute it.
    """
    selection, run = result.selection, result.run
    opened = _opened_new(result, paths, where, notify)
    if selection.reference is None:
        reopened = result.reopen(sources, targets, notify)
        notify("Computing the reference for new rows …")
        reference = reopened.selection.with_reference(n_jobs=n_jobs).reference
        selection = replace(selection, reference=reference)
    notify("Comparing the new rows …")
    weights = run.read_options.weights
    drift = selection.drift(
        opened.rows,
        weights=weights_column(opened, weights) if weights in opened.names else None,
        n_jobs=n_jobs,
    )
    ids = optional_column(opened, run.read_options.id)
    return CheckedRows(
        drift=replace(
            drift,
            worst_rows=opened.file_rows(drift.worst_rows),
            rows_to_add=opened.file_rows(drift.rows_to_add),
        ),
        worst_ids=None if ids is None else ids[drift.worst_rows],
        ids_to_add=None if ids is None else ids[drift.rows_to_add],
        where=(run.read_options.where if where is None else where) or "",
        n_total=opened.n_total,
        result=replace(result, selection=selection),
    )


def _opened_new(
    result: SavedResult, paths: Sequence[str], where: str | None, notify: Notify
) -> Opened:
    run = result.run
    is_own = where is None and run.read_options.where is not None

    def opened(condition: str | None) -> Opened:
        return run.read_options.open_new(
            paths,
            columns=result.columns,
            where=condition,
            image_size=run.image_size,
            seed=run.seed,
            notify=notify,
        )

    try:
        return opened((run.read_options.where if is_own else where) or None)
    except InvalidInput as error:
        if not is_own:
            raise
        opened(None)  # raises if the condition is not the reason
        raise InvalidInput(
            f"{error} The selection was made with --where {run.read_options.where!r}, so new rows "
            f"need it too. Pass --where with another condition, or --where '' for all rows."
        ) from None


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateJob:
    """Update a saved selection with the rows of new files.

    ``sources`` and ``targets`` are the paths of the old files if they have moved. ``k`` None keeps
    the number of prototypes.
    """

    result: SavedResult
    paths: tuple[str, ...]
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    k: Any = None
    keep: float = 0.8
    seed: int = 0
    n_jobs: int | None = None
    command: str = ""

    def run(self, notify: Notify) -> tuple[SavedResult, Opened]:
        """Return the updated selection, and the source with the new rows."""
        run = self.result.run
        if run.read_options.sample is not None:
            raise InvalidInput(
                "This selection was made with --sample-rows, so its target rows cannot be "
                "extended. Run `protobandit select` with old and new files."
            )
        old = self.result.reopen(self.sources, self.targets, notify)
        sources = self.sources or self.result.found(run.sources)
        targets = self.targets or self.result.found(run.targets)
        if targets:
            targets = (*targets, *self.paths)
        else:
            sources = (*sources, *self.paths)
        source, target = run.read_options.open_sides(sources, targets, seed=run.seed, notify=notify)
        weights, n_old = weights_column(target, run.read_options.weights), len(old.target)
        notify("Updating the selection …")
        updated = old.selection.updated(
            rows_at(target, slice(n_old, len(target))),
            k=self.k,
            keep=self.keep,
            weights=None if weights is None else weights[n_old:],
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        # The rows as the files hold them, so that later commands recognise these files.
        problem = pose(
            source.rows,
            None if target is source else target.rows,
            k=updated.k,
            weights=weights,
            metric=updated.metric,
            constraints=Constraints(fixed=updated.fixed),
            preparation=updated.preparation,
        )
        notify("Computing the reference for new rows …")
        selection = replace(
            updated.with_reference(only_if_cheap=True, n_jobs=self.n_jobs),
            problem=problem,
            fingerprints=fingerprints(problem),
        )
        options, rows = run.read_options, selection.indices
        record = RunRecord(
            version=__version__,
            command=self.command,
            sources=tuple(sources),
            targets=tuple(targets),
            read_options=options,
            seed=run.seed,
            columns=source.columns,
            image_size=image_size_of(source),
            ids=values_at(source, options.id, rows),
            labels=values_at(source, options.label, rows),
            rows=None if source.numbers is None else tuple(source.numbers[rows].tolist()),
        )
        return SavedResult(selection=selection, run=record), source


def write_updated(
    folder: Path, result: SavedResult, source: Opened, *, table_format: str, force: bool
) -> tuple[str, ...]:
    """Write the files of an updated selection; return their names."""
    table = prototypes_table(result.selection, source, result.run.read_options)
    files = {
        SELECTION: result.to_json().encode("utf-8"),
        f"prototypes.{table_format}": table_bytes(table, table_format),
    }
    write_results(folder, files, force=force)
    return tuple(files)
