"""One call of ``protobandit select``, from its files to those it writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.files import REPORT, SELECTION, require_free, write_results
from protobandit.interfaces.jobs.page import report_page
from protobandit.interfaces.jobs.prototypes import criticisms_table, prototypes_table
from protobandit.interfaces.jobs.read_options import Tell
from protobandit.interfaces.jobs.saved_result import RunRecord, SavedResult
from protobandit.interfaces.jobs.select_arguments import Posed, SelectArguments
from protobandit.interfaces.jobs.tables import table_bytes
from protobandit.result.selection import Selection
from protobandit.run.checkpoint.checkpoint import Checkpoint, CheckpointRefused
from protobandit.run.progress.reporter import Interrupt, Progress

EVERY = 5.0  # seconds
_BEGIN_ANEW = "Pass --checkpoint and --force without --resume to begin anew"


@dataclass(frozen=True, kw_only=True, eq=False)
class Done:
    """What was selected, of how many rows, where it was written, and what Ctrl-C left out."""

    result: SavedResult
    folder: Path
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    n_source: int


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectJob:
    """Select, and write the result to a folder.

    Attributes
    ----------
    task
        What to select.
    out
        The folder; None is that of `default_folder`.
    form
        How the tables are written.
    has_page, is_certified
        Whether to write a page, and to add a certificate.
    has_checkpoint, is_resumed, keeps_partial
        Whether to keep a checkpoint, to go on from one, and to write the best so far once
        ``interrupt`` is set.
    every
        Seconds between two saves of the checkpoint; None is `EVERY`.
    force
        Whether an earlier result may be replaced.
    command
        What was typed.
    """

    task: SelectArguments
    out: Path | None = None
    form: str = "csv"
    has_page: bool = False
    is_certified: bool = False
    has_checkpoint: bool = False
    is_resumed: bool = False
    keeps_partial: bool = False
    every: float | None = None
    force: bool = False
    command: str = ""
    interrupt: Interrupt = field(default_factory=Interrupt)

    @property
    def folder(self) -> Path:
        """Return the folder for the result."""
        return default_folder(self.task.sources[0]) if self.out is None else self.out

    @property
    def checkpoint(self) -> Path:
        """Return the file beside the folder that keeps an unfinished search."""
        folder = self.folder
        if folder.name in ("", ".."):
            folder = Path(os.path.realpath(folder))
        return folder.parent / f"{folder.name}.checkpoint"

    @property
    def farewell(self) -> str:
        """Return what to say when it is interrupted."""
        advice = "Run the same with --resume to go on." if self._is_resumable else ""
        return f"Interrupted; nothing was written. {advice}".strip()

    def posed(self, tell: Tell) -> Posed:
        """Open the files, after seeing that the result can be written."""
        require_free(self.folder, force=self.force)
        if self.every is not None and not self._keeps_checkpoint:
            raise InvalidInput(
                "--checkpoint-every says how often, and nothing says that. Pass --checkpoint too."
            )
        self._require_checkpoint()
        return self.task.posed(tell)

    def selected(self, posed: Posed, progress: Callable[[Progress], Any]) -> Selection:
        """Search."""
        every = EVERY if self.every is None else self.every
        kept = Checkpoint(self.checkpoint, seconds=every) if self._keeps_checkpoint else None
        try:
            selection = posed.selected(
                progress=progress,
                checkpoint=kept,
                interrupt=self.interrupt if self.keeps_partial else None,
            )
        except CheckpointRefused as error:
            advice = "Wait for it to end" if error.is_in_use else _BEGIN_ANEW
            raise InvalidInput(
                f"{str(error.path)!r} {error.what}. {advice}, or pass another --out."
            ) from None
        remarks = [each.remark for each in (posed.source, posed.target) if each.remark]
        status = " ".join([selection.status, *dict.fromkeys(remarks)])
        return replace(selection, status=status)

    def certified(self, posed: Posed, selection: Selection, tell: Tell) -> SavedResult:
        """Add the certificate, if one is wanted, and what is to be kept of the run."""
        if self.is_certified and not self.interrupt.is_set():
            tell("Drawing rows anew and judging the source on them …")
            with self._left_out_on_ctrl_c():
                task = self.task
                selection = selection.certified(random_state=task.seed, n_jobs=task.n_jobs)
        return SavedResult(selection=selection, run=RunRecord.of(posed, selection, self.command))

    def files(self, posed: Posed, result: SavedResult, tell: Tell) -> dict[str, bytes]:
        """Return the content of all files, by name."""
        selection, run = result.selection, result.run or RunRecord()
        table = prototypes_table(posed, selection, run)
        files = {
            SELECTION: result.to_json().encode("utf-8"),
            f"prototypes.{self.form}": table_bytes(table, self.form),
        }
        criticisms = criticisms_table(posed, selection)
        if criticisms is not None:
            files[f"criticisms.{self.form}"] = table_bytes(criticisms, self.form)
        if self.has_page:
            tell("Drawing the report …")
            with self._left_out_on_ctrl_c():
                page = report_page(
                    selection,
                    posed.source,
                    posed.target,
                    self.task.reading,
                    command=self.command,
                    seed=self.task.seed,
                )
                files[REPORT] = page.encode("utf-8")
        return files

    def delivered(self, posed: Posed, result: SavedResult, files: Mapping[str, bytes]) -> Done:
        """Write the files, all of them or none."""
        write_results(self.folder, files, force=self.force)
        if self._keeps_checkpoint and not self.interrupt.is_set():
            self._forget()
        wanted = {
            "certificate": self.is_certified and result.selection.certificate is None,
            REPORT: self.has_page and REPORT not in files,
        }
        return Done(
            result=result,
            folder=self.folder,
            files=tuple(files),
            left_out=tuple(name for name, is_missing in wanted.items() if is_missing),
            n_source=len(posed.source),
        )

    def _require_checkpoint(self) -> None:
        shown, is_there = repr(str(self.checkpoint)), self.checkpoint.exists()
        if self.is_resumed and not (is_there or self.has_checkpoint):
            raise InvalidInput(
                f"--resume needs {shown}, which does not exist. Pass --checkpoint as well to begin "
                f"anew where there is none, or the --out of the run to go on with."
            )
        if self.has_checkpoint and is_there and not self.is_resumed:
            if not self.force:
                raise InvalidInput(
                    f"{shown} is left of an unfinished run. Pass --resume to go on with it, or "
                    f"--force to begin anew."
                )
            self._forget()

    def _forget(self) -> None:
        """Remove the checkpoint, and the distances beside it."""
        for path in (self.checkpoint, self.checkpoint.with_name(f"{self.checkpoint.name}.tables")):
            path.unlink(missing_ok=True)

    @property
    def _keeps_checkpoint(self) -> bool:
        return self.has_checkpoint or self.is_resumed

    @property
    def _is_resumable(self) -> bool:
        return self._keeps_checkpoint and self.checkpoint.exists()

    @contextmanager
    def _left_out_on_ctrl_c(self) -> Iterator[None]:
        """Do without what is interrupted here, where what there is so far is to be kept."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.keeps_partial:
                raise
            self.interrupt.set()


def default_folder(source: str) -> Path:
    """Return the folder for a result of these rows: NAME-prototypes, in the current one."""
    path = Path(source)
    names = [path.stem, *(parent.name for parent in path.parents)]
    plain = (name for name in names if name and not set(name) & set("*?["))
    return Path(f"{next(plain, 'rows')}-prototypes")
