"""What every runner of the race does: load, warm up, say that it is ready, fit, report.

    python fit_NAME.py SOURCE.npy TARGET.npy K SEED [OPTION ...]

TARGET is "-" where the rows are to stand for themselves. Two lines of JSON come out: one when the
clock starts, one when it has stopped. Whatever else the rival prints goes to standard error. The
environment variables RACE_STARTED (when the process was started), RACE_THREADS and RACE_BYTES (how
much memory it may take) come from benchmarks/comparison. A runner needs NumPy and its rival, no
more.
"""

import importlib.metadata
import json
import os
import platform
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

THREADS = int(os.environ.get("RACE_THREADS", "2"))
_STATUS = Path("/proc/self/status")
_parts = {}


def race(package, fit, *, version=None, warm_rows=200, warm_k=3):
    """Time ``fit(source, target, k, seed, *options)``, which returns row numbers of the source."""
    imported = time.time()
    say = _only_speaker()
    _bound_memory(int(os.environ.get("RACE_BYTES", "0")))
    source_path, target_path, k, seed, *options = sys.argv[1:]
    source = np.load(source_path)
    target = None if target_path == "-" else np.load(target_path)
    few = None if target is None else target[:warm_rows]
    loaded = time.perf_counter()
    fit(source[:warm_rows], few, warm_k, 0, *options)  # compile, start the threads
    first = time.perf_counter() - loaded
    _parts.clear()
    _forget_peak()
    baseline = _megabytes("VmRSS")
    say({"ready": True})
    started = time.perf_counter()
    indices = fit(source, target, int(k), int(seed), *options)
    seconds = time.perf_counter() - started
    say(
        {
            "version": version or importlib.metadata.version(package),
            "python": platform.python_version(),
            "seconds": seconds,
            "matrix_seconds": _parts.get("matrix"),
            "import_seconds": imported - float(os.environ.get("RACE_STARTED", imported)),
            "first_seconds": first,
            "baseline_mb": baseline,
            "peak_mb": _megabytes("VmHWM"),
            "indices": np.asarray(indices).ravel().astype(np.int64).tolist(),
        }
    )


@contextmanager
def part(name):
    """Say that this is the time of a part, which counts all the same."""
    started = time.perf_counter()
    yield
    _parts[name] = _parts.get(name, 0.0) + time.perf_counter() - started


def median_distance(rows, n=500):
    """Return the median of the distances among the first rows: the usual width of a kernel."""
    few = rows[:n].astype(np.float64)
    norms = (few**2).sum(axis=1)
    squares = norms[:, None] + norms[None, :] - 2 * few @ few.T
    return float(np.median(np.sqrt(np.maximum(squares[np.triu_indices(len(few), 1)], 0))))


def _only_speaker():
    """Return what writes to standard output, and send everybody else's words to the other."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(report):
        print(json.dumps(report), file=out, flush=True)

    return say


def _bound_memory(n_bytes):
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if n_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


def _forget_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # then the peak includes what came before
        return


def _megabytes(name):
    if not _STATUS.exists():
        return None
    lines = _STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
