"""One fit in its own process, with limits; its cost is computed here."""

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

from benchmarks.common.costs import COSTS
from benchmarks.common.machine import OtherLoad
from benchmarks.comparison.results import FAILED, LIMIT, OK, Result

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
    "COMPARISON_THREADS",
)
_LONGEST = 160  # characters of a reason


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The same for all contestants: seconds of a fit, seconds before it, threads and memory."""

    seconds: float = 60.0
    start_seconds: float = 120.0
    threads: int = 2
    n_bytes: int = 0

    def environment(self) -> dict[str, str]:
        """Return the environment variables of the process of a contestant."""
        threads = dict.fromkeys(_THREADS, str(self.threads))
        return {
            **os.environ,
            **threads,
            "COMPARISON_BYTES": str(self.n_bytes),
            "COMPARISON_STARTED": repr(time.time()),
        }


def run(
    blank: Result,
    command: list[str],
    source: Path,
    target: Path | None,
    limits: Limits,
    metric: str = "euclidean",
) -> Result:
    """Run a contestant; return the result, or the reason of its failure."""
    files = [str(source), "-" if target is None else str(target)]
    load = OtherLoad()
    status, report = report_of(
        [*command[:2], *files, str(blank.k), str(blank.seed), *command[2:]], limits, metric
    )
    blank = replace(blank, limit=limits.seconds, others_cores=load.cores())
    if status != OK:
        return replace(blank, status=status, reason=report["reason"])
    indices = np.unique(report.pop("indices"))
    rows = np.load(source, mmap_mode="r")
    reason = _invalid(indices, blank.k, len(rows))
    if reason:
        return replace(blank, status=FAILED, reason=reason)
    target_rows = rows if target is None else np.load(target, mmap_mode="r")
    return replace(
        blank,
        status=OK,
        reason="",
        cost=COSTS[metric](rows[indices], target_rows),
        n_prototypes=len(indices),
        **report,
    )


def _invalid(indices: np.ndarray, k: int, n: int) -> str:
    """Return why indices are not allowed, or ""."""
    if not 1 <= len(indices) <= k:
        return f"returned {len(indices)} rows, not {k}"
    outside = [index for index in (indices[0], indices[-1]) if not 0 <= index < n]
    return f"returned row {outside[0]} of {n}" if outside else ""


def report_of(command: list[str], limits: Limits, metric: str) -> tuple[str, dict[str, Any]]:
    """Return a status, and the report of the process or the reason of its failure."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=limits.environment() | {"COMPARISON_METRIC": metric},
            start_new_session=True,
        ) as process,
    ):
        try:
            status, text = _wait(process, limits)
        finally:
            _kill(process)
            process.wait()
        if status == OK:
            return OK, json.loads(text)
        return status, {"reason": text or _reason(process.returncode, errors)}


def _wait(process: subprocess.Popen[str], limits: Limits) -> tuple[str, str]:
    """Return a status, and the report or the reason; no reason if the process ended by itself."""
    ready, is_late = _line(process, limits.start_seconds)
    if is_late:
        return FAILED, f"not ready within {limits.start_seconds:g} s"
    if ready:
        done, is_late = _line(process, limits.seconds)
        if is_late:
            return LIMIT, f"over {limits.seconds:g} s"
        if done:
            return OK, done
    process.wait(timeout=limits.start_seconds)
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
    """Kill a process and all processes that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # Windows
        process.kill()
    except ProcessLookupError:
        return


def _reason(code: int, errors: IO[str]) -> str:
    """Return why a process failed in one line, without paths of this machine."""
    errors.seek(0)
    lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    if code < 0:
        text = f"ended by {signal.Signals(-code).name}"
    else:
        text = (named or lines or [f"ended with code {code}"])[-1]
    return re.sub(r"(?:/[^\s/:'\"]+)+/", "", text)[:_LONGEST]
