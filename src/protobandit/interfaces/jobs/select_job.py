"""The steps of ``protobandit select``: open files, search, certify, write the result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from protobandit._version import __version__
from protobandit.foundation.array_types import Ids
from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.interfaces.jobs.labelled_rows import format_of, write_labelled
from protobandit.interfaces.jobs.opened_problem import OpenedProblem, SelectArguments, open_problem
from protobandit.interfaces.jobs.output_files import (
    REPORT,
    SELECTION,
    DiskFull,
    require_writable_file,
    require_writable_folder,
    write_atomically,
    write_results,
)
from protobandit.interfaces.jobs.read_options import Notify, image_size_of
from protobandit.interfaces.jobs.report_page import report_page, require_shown
from protobandit.interfaces.jobs.result_tables import (
    criticisms_table,
    prototypes_table,
    values_at,
)
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult
from protobandit.interfaces.jobs.spreadsheets import formula_columns, without_formulas
from protobandit.interfaces.jobs.table_formats import table_bytes
from protobandit.result.selection import Selection
from protobandit.rows.files.opened import Opened
from protobandit.rows.files.remote import without_secrets
from protobandit.rows.files.standard_input import STANDARD_INPUT
from protobandit.rows.messages import reason_of
from protobandit.run.checkpoint.checkpoint import (
    Checkpoint,
    CheckpointRefused,
    log_and_checkpoint,
)
from protobandit.run.progress.reporter import Interrupt, Progress

CHECKPOINT_SECONDS = 5.0
_BLOCK = 4096  # bytes that a file may need in addition to its content
_START_AGAIN = "Pass --checkpoint and --force without --resume to start again"


@dataclass(frozen=True, kw_only=True, eq=False)
class WrittenResult:
    """A result and the files it was written to.

    ``skipped`` names the steps that Ctrl-C ended; ``n_source`` is the number of source rows.
    ``is_partial`` is whether less was found, or written, than requested.
    ``formulas`` are the columns of CSV tables with cells that a spreadsheet would evaluate, and the
    numbers of such cells.
    """

    result: SavedResult
    folder: Path
    files: tuple[str, ...]
    skipped: tuple[str, ...]
    n_source: int
    is_partial: bool
    formulas: Mapping[str, int] = field(default_factory=dict)
    labelled: Path | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectJob:
    """Select, and write the result to a folder.

    The command line calls `open`, `search`, `certify`, `render` and `write` in this order. ``out``
    is the folder of the result; None means `default_folder`. ``is_resumed`` is whether to continue
    from a checkpoint; ``checkpoint_seconds`` None means `CHECKPOINT_SECONDS`. With
    ``is_excel_safe``, formulas in CSV tables are quoted. With ``keeps_partial``, the best result so
    far is written once ``interrupt`` is set. ``show`` are the columns that the report shows first.
    ``labelled`` is the file for all target rows with their prototypes. With ``force``, an earlier
    result may be replaced. ``command`` is the command as typed.
    """

    arguments: SelectArguments
    out: Path | None = None
    table_format: str = "csv"
    is_excel_safe: bool = False
    has_report: bool = False
    show: tuple[str, ...] = ()
    labelled: Path | None = None
    has_certificate: bool = False
    has_checkpoint: bool = False
    is_resumed: bool = False
    checkpoint_seconds: float | None = None
    keeps_partial: bool = False
    force: bool = False
    command: str = ""
    interrupt: Interrupt = field(default_factory=Interrupt)

    @property
    def folder(self) -> Path:
        """Return the folder of the result."""
        return default_folder(self.arguments.sources[0]) if self.out is None else self.out

    @property
    def checkpoint(self) -> Path:
        """Return the file beside the folder that keeps an unfinished search."""
        folder = self.folder
        if folder.name in ("", ".."):
            folder = Path(os.path.realpath(folder))
        return folder.parent / f"{folder.name}.checkpoint"

    @property
    def interrupted_message(self) -> str:
        """Return the message for Ctrl-C."""
        is_resumable = self._uses_checkpoint and self.checkpoint.exists()
        parts = ["Interrupted; nothing was written."]
        if is_resumable:
            parts.append("Run the same command with --resume to continue.")
        if not self.keeps_partial:
            parts.append("With --keep-partial, Ctrl-C writes the best result so far.")
        return " ".join(parts)

    def open(self, notify: Notify) -> OpenedProblem:
        """Check that the result can be written, then open the files."""
        if self.out is None and self.folder.is_symlink():
            raise InvalidInput(
                f"{str(self.folder)!r}, the default folder, is a symbolic link. Pass --out."
            )
        require_writable_folder(self.folder, force=self.force)
        if self.is_excel_safe and self.table_format != "csv":
            raise InvalidInput("--excel-safe applies to --format csv. Remove one of them.")
        if self.checkpoint_seconds is not None and not self._uses_checkpoint:
            raise InvalidInput("--checkpoint-every requires --checkpoint. Pass --checkpoint too.")
        if self.show and not self.has_report:
            raise InvalidInput("--show applies to the report. Pass --report too.")
        if self.labelled is not None:
            format_of(self.labelled)
            require_writable_file(self.labelled, force=self.force)
        self._require_usable_checkpoint()
        problem = open_problem(self.arguments, notify)
        require_shown(problem.source, self.show)
        self._require_writable_values(problem)
        return problem

    def search(self, problem: OpenedProblem, progress: Callable[[Progress], Any]) -> Selection:
        """Return the selection."""
        seconds = self.checkpoint_seconds
        seconds = CHECKPOINT_SECONDS if seconds is None else seconds
        checkpoint = Checkpoint(self.checkpoint, seconds=seconds) if self._uses_checkpoint else None
        try:
            return problem.select(
                progress=progress,
                checkpoint=checkpoint,
                interrupt=self.interrupt if self.keeps_partial else None,
            )
        except CheckpointRefused as error:
            advice = "Wait for it to end" if error.is_in_use else _START_AGAIN
            raise InvalidInput(
                f"{str(error.path)!r} {error.what}. {advice}, or pass another --out."
            ) from None

    def certify(self, problem: OpenedProblem, selection: Selection, notify: Notify) -> SavedResult:
        """Add a certificate if requested, and the record of the run."""
        arguments = self.arguments
        is_wanted = self.has_certificate and selection.certificate is None
        if is_wanted and not self.interrupt.is_set():
            notify("Computing the certificate …")
            with self._skipped_on_ctrl_c():
                selection = selection.certified(
                    random_state=arguments.seed, n_jobs=arguments.n_jobs
                )
        if self._may_repeat():
            notify("Computing the reference for new rows …")
            with self._skipped_on_ctrl_c():
                selection = selection.with_reference(only_if_cheap=True, n_jobs=arguments.n_jobs)
        run = self._record(problem, selection.indices)
        return SavedResult(selection=selection, run=run)

    def _record(self, problem: OpenedProblem, rows: Ids) -> RunRecord:
        """Return where a selection of these source rows comes from."""
        options, source = self.arguments.read_options, problem.source
        return replace(
            self._record_without_values(source),
            ids=values_at(source, options.id, rows),
            labels=values_at(source, options.label, rows),
            rows=None if source.numbers is None else tuple(source.numbers[rows].tolist()),
        )

    def _record_without_values(self, source: Opened) -> RunRecord:
        arguments = self.arguments
        return RunRecord(
            version=__version__,
            command=without_secrets(self.command),
            sources=tuple(map(without_secrets, arguments.sources)),
            targets=tuple(map(without_secrets, arguments.targets)),
            read_options=arguments.read_options,
            seed=arguments.seed,
            columns=source.columns,
            image_size=image_size_of(source),
        )

    def render(
        self, problem: OpenedProblem, result: SavedResult, notify: Notify
    ) -> dict[str, bytes]:
        """Return the content of all files by name."""
        selection, source, target = result.selection, problem.source, problem.target
        options, table_format = self.arguments.read_options, self.table_format
        tables = {
            "prototypes": prototypes_table(selection, source, options),
            "criticisms": criticisms_table(selection, source, target, options),
        }
        files = {SELECTION: result.to_json().encode("utf-8")}
        for name, table in tables.items():
            if table is not None:
                safe = without_formulas(table) if self.is_excel_safe else table
                files[f"{name}.{table_format}"] = table_bytes(safe, table_format)
        if self.has_report:
            notify("Writing the report …")
            with self._skipped_on_ctrl_c():
                page = report_page(selection, source, target, result.run, show=self.show)
                files[REPORT] = page.encode("utf-8")
        return files

    def write(
        self, problem: OpenedProblem, result: SavedResult, files: Mapping[str, bytes]
    ) -> WrittenResult:
        """Write all files or none, and remove the checkpoint of a finished search.

        If the disk is full, the checkpoint makes room for the result, provided that it is enough.
        """
        end = result.selection.end
        is_finished = not (self.interrupt.is_set() or (end is not None and end.is_resumable))
        may_remove = self._uses_checkpoint and is_finished
        try:
            write_results(self.folder, files, force=self.force)
        except DiskFull:
            n_bytes = sum(len(content) + _BLOCK for content in files.values())
            if not may_remove or self._checkpoint_bytes() < n_bytes:
                raise
            self._remove_checkpoint()
            write_results(self.folder, files, force=self.force)
        if may_remove:
            self._remove_checkpoint()
        is_skipped = {
            "certificate": self.has_certificate and result.selection.certificate is None,
            REPORT: self.has_report and REPORT not in files,
        }
        skipped = tuple(name for name in is_skipped if is_skipped[name])
        is_short = self.interrupt.is_set() or (end is not None and end.is_partial)
        return WrittenResult(
            result=result,
            folder=self.folder,
            files=tuple(files),
            skipped=skipped,
            n_source=len(problem.source),
            is_partial=is_short or bool(skipped),
            labelled=self.labelled,
            formulas={
                f"{name}[{column}]": n
                for name in files
                if name.endswith(".csv")
                for column, n in formula_columns(files[name]).items()
            },
        )

    def label(self, problem: OpenedProblem, result: SavedResult, notify: Notify) -> None:
        """Write every target row with its prototype, if requested."""
        if self.labelled is None:
            return
        notify("Writing the labelled rows …")
        write_labelled(
            self.labelled,
            result,
            problem.target,
            is_source=problem.target is problem.source,
            n_jobs=self.arguments.n_jobs,
            force=self.force,
        )

    def _may_repeat(self) -> bool:
        """Return whether the reference may be computed now; `protobandit check` can do it later.

        It repeats a part of the search, which is not wanted if the time is limited.
        """
        limits = self.arguments.limits
        is_limited = limits.seconds is not None or limits.evaluations is not None
        return not (is_limited or self.interrupt.is_set())

    def _require_writable_values(self, problem: OpenedProblem) -> None:
        """Write the first row to memory; raise if a column cannot be written."""
        first, source = np.zeros(1, dtype=np.int64), problem.source
        self._record(problem, first)
        try:
            table_bytes(source.records(first), self.table_format)
        except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
            raise InvalidInput(
                f"The columns of {source.path} cannot be written as {self.table_format}: "
                f"{reason_of(error)}. Pass --format csv."
            ) from None

    @contextmanager
    def recovering(self, problem: OpenedProblem, selection: Selection) -> Iterator[None]:
        """If something fails after the search, save the selection and name the file."""
        try:
            yield
        except Exception as error:
            kind, what = type(error), str(error)
            if not isinstance(error, ProtobanditError):
                kind, what = ProtobanditError, f"{kind.__name__}: {what}."
            path = self._recovered(problem, selection)
            if path is None:
                raise
            raise kind(
                f"{what} The selection is kept in {str(path)!r}, which `protobandit report` and "
                f"`protobandit assign` read."
            ) from error

    def _recovered(self, problem: OpenedProblem, selection: Selection) -> Path | None:
        """Save a selection beside its folder or, if that fails, in the folder of temporary files.

        The ids and labels of the prototypes are left out: they may be what cannot be written.
        """
        run = self._record_without_values(problem.source)
        content = SavedResult(selection=selection, run=run).to_json().encode("utf-8")
        name = f"{self.checkpoint.stem}.recovered.json"
        for folder in (self.checkpoint.parent, Path(tempfile.gettempdir())):
            with suppress(ProtobanditError):
                write_atomically(folder / name, content)
                return folder / name
        return None

    def _require_usable_checkpoint(self) -> None:
        shown, exists = repr(str(self.checkpoint)), self.checkpoint.exists()
        if self.is_resumed and not (exists or self.has_checkpoint):
            raise InvalidInput(
                f"--resume requires {shown}, which does not exist. Pass --checkpoint too to start "
                f"a new search, or the --out of the search to continue."
            )
        if self.has_checkpoint and exists and not self.is_resumed:
            if not self.force:
                raise InvalidInput(
                    f"{shown} belongs to an unfinished search. Pass --resume to continue it, or "
                    f"--force to start again."
                )
            self._remove_checkpoint()

    def _remove_checkpoint(self) -> None:
        for path in log_and_checkpoint(self.checkpoint):
            path.unlink(missing_ok=True)

    def _checkpoint_bytes(self) -> int:
        paths = log_and_checkpoint(self.checkpoint)
        return sum(path.lstat().st_size for path in paths if path.is_file())

    @property
    def _uses_checkpoint(self) -> bool:
        return self.has_checkpoint or self.is_resumed

    @contextmanager
    def _skipped_on_ctrl_c(self) -> Iterator[None]:
        """Skip the rest of the block on Ctrl-C if partial results are kept; else let it raise."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.keeps_partial:
                raise
            self.interrupt.set()


def default_folder(source: str) -> Path:
    """Return NAME-prototypes in the current folder, with NAME taken from the source path."""
    path = Path(without_secrets(source).partition("::")[0].removeprefix(STANDARD_INPUT))
    names = [path.stem, *(parent.name for parent in path.parents)]
    without_globs = (name for name in names if name and not set(name) & set("*?["))
    return Path(f"{next(without_globs, 'rows')}-prototypes")
