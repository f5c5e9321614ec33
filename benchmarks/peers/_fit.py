"""Time one fit of a package: load, warm up, report ready, fit, report the result.

    python fit_NAME.py SOURCE.npy TARGET.npy K SEED [OPTION ...]

TARGET is "-" if the target is the source. The script prints two lines of JSON: one when the clock
starts, and one with the result. Everything else that the package prints goes to standard error.
benchmarks/comparison sets the environment variables COMPARISON_STARTED (when the process was
started), COMPARISON_THREADS, COMPARISON_BYTES (the memory limit) and COMPARISON_METRIC (euclidean,
or cosine with rows of length 1). A script needs only NumPy and the package that it times.
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

THREADS = int(os.environ.get("COMPARISON_THREADS", "2"))
METRIC = os.environ.get("COMPARISON_METRIC", "euclidean")
_STATUS = Path("/proc/self/status")
_seconds_of = {}


def time_fit(package, fit, *, version=None, warm_rows=200, warm_k=3):
    """Time ``fit(source, target, k, seed, *options)``, which returns row numbers of the source."""
    imported = time.time()
    report = _redirect_output()
    _limit_memory(int(os.environ.get("COMPARISON_BYTES", "0")))
    source_path, target_path, k, seed, *options = sys.argv[1:]
    source = np.load(source_path)
    target = None if target_path == "-" else np.load(target_path)
    few = None if target is None else target[:warm_rows]
    loaded = time.perf_counter()
    fit(source[:warm_rows], few, warm_k, 0, *options)  # compile, start the threads
    first = time.perf_counter() - loaded
    _seconds_of.clear()
    _reset_peak()
    baseline = _megabytes("VmRSS")
    report({"ready": True})
    started = time.perf_counter()
    indices = fit(source, target, int(k), int(seed), *options)
    seconds = time.perf_counter() - started
    report(
        {
            "version": version or importlib.metadata.version(package),
            "python": platform.python_version(),
            "seconds": seconds,
            "matrix_seconds": _seconds_of.get("matrix"),
            "import_seconds": imported - float(os.environ.get("COMPARISON_STARTED", imported)),
            "first_seconds": first,
            "baseline_mb": baseline,
            "peak_mb": _megabytes("VmHWM"),
            "indices": np.asarray(indices).ravel().astype(np.int64).tolist(),
        }
    )


@contextmanager
def part(name):
    """Record the time of a part of the fit, which is also part of its total."""
    started = time.perf_counter()
    yield
    _seconds_of[name] = _seconds_of.get(name, 0.0) + time.perf_counter() - started


def median_distance(rows, n=500):
    """Return the median distance between the first rows: a common width of a kernel."""
    few = rows[:n].astype(np.float64)
    norms = (few**2).sum(axis=1)
    squares = norms[:, None] + norms[None, :] - 2 * few @ few.T
    return float(np.median(np.sqrt(np.maximum(squares[np.triu_indices(len(few), 1)], 0))))


def _redirect_output():
    """Return a function that prints to standard output; all other output goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def report(record):
        print(json.dumps(record), file=out, flush=True)

    return report


def _limit_memory(n_bytes):
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if n_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


def _reset_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:  # the peak then includes the warm-up
        return


def _megabytes(name):
    if not _STATUS.exists():
        return None
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
