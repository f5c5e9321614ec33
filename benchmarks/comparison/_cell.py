"""One fit in a process of its own, with a limit, judged by the referee."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks._others import Others
from benchmarks._referee import mean_distance
from benchmarks.comparison._results import FAILED, LIMIT, OK, Result

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "RACE_THREADS",
)
_LONGEST = 160


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The same for all: seconds a fit may take, seconds before it, threads and bytes."""

    limit: float = 60.0
    start_limit: float = 120.0
    threads: int = 2
    n_bytes: int = 0

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a contestant's process."""
        threads = dict.fromkeys(_THREADS, str(self.threads))
        return {
            **os.environ,
            **threads,
            "RACE_BYTES": str(self.n_bytes),
            "RACE_STARTED": repr(time.time()),
        }


def run(
    blank: Result, command: list[str], source: Path, target: Path | None, rules: Rules
) -> Result:
    """Return the blank result filled in: a fit, or why there is none."""
    files = [str(source), "-" if target is None else str(target)]
    others = Others()
    status, report = _report(
        [*command[:2], *files, str(blank.k), str(blank.seed), *command[2:]], rules
    )
    blank = replace(blank, limit=rules.limit, others_cores=others.cores())
    if status != OK:
        return replace(blank, status=status, reason=report["reason"])
    indices = np.unique(report.pop("indices"))
    rows = np.load(source, mmap_mode="r")
    reason = _fault(indices, blank.k, len(rows))
    if reason:
        return replace(blank, status=FAILED, reason=reason)
    stands_for = rows if target is None else np.load(target, mmap_mode="r")
    return replace(
        blank,
        status=OK,
        reason="",
        cost=mean_distance(rows[indices], stands_for),
        n_prototypes=len(indices),
        **report,
    )


def _fault(indices: np.ndarray, k: int, n: int) -> str:
    if not 1 <= len(indices) <= k:
        return f"returned {len(indices)} rows, not {k}"
    strange = [index for index in (indices[0], indices[-1]) if not 0 <= index < n]
    return f"returned row {strange[0]} of {n}" if strange else ""


def _report(command: list[str], rules: Rules) -> tuple[str, dict[str, Any]]:
    """Return a status, and what the process reports or the reason why it does not."""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=rules.environment(),
            start_new_session=True,
        ) as process,
    ):
        try:
            status, words = _follow(process, rules)
        finally:
            _kill(process)
            process.wait()
        if status == OK:
            return OK, json.loads(words)
        return status, {"reason": words or _reason(process.returncode, errors)}


def _follow(process: subprocess.Popen[str], rules: Rules) -> tuple[str, str]:
    """Return a status, and the report or the reason; no reason if the process ended by itself."""
    ready, is_late = _line(process, rules.start_limit)
    if is_late:
        return FAILED, f"not ready within {rules.start_limit:g} s"
    if ready:
        done, is_late = _line(process, rules.limit)
        if is_late:
            return LIMIT, f"over {rules.limit:g} s"
        if done:
            return OK, done
    process.wait(timeout=rules.start_limit)
    return FAILED, ""


def _line(process: subprocess.Popen[str], seconds: float) -> tuple[str, bool]:
    """Return the next line, empty if the process ended, and whether it took too long."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        assert process.stdout is not None
        return process.stdout.readline(), late.is_set()
    finally:
        timer.cancel()


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # Windows
        process.kill()
    except ProcessLookupError:
        return


def _reason(code: int, errors: IO[str]) -> str:
    """Return one line on why a process failed, without the machine's paths."""
    errors.seek(0)
    lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    if code < 0:
        words = f"ended by {signal.Signals(-code).name}"
    else:
        words = (named or lines or [f"ended with code {code}"])[-1]
    return re.sub(r"(?:/[^\s/:'\"]+)+/", "", words)[:_LONGEST]
