"""The same search on one machine and on a local cluster of Dask workers, on Parquet files.

    python -m benchmarks.cluster --room DIR [--rows 1e7] [--k 100 1000] [--out FILE]

Writes docs/results/cluster.json (or ``--out``). Rows with 64 columns are written to Parquet files
below ``--room``, once with mixed classes and once sorted by class, and deleted at the end. Every
search runs in a process of its own, after a small one that compiles the kernels. Its cost is then
measured exactly, on all rows, by code that the search does not use. Measured are the search on one
machine (all threads), on one and on two workers of one thread, on sorted files, and with a worker
that is killed during the first pass over the source. Linux only. The full size takes about an hour
on two cores, and 8 GB of disk.

``prediction`` extrapolates to clusters from the measured constants: seconds of a worker per row and
pass, seconds of the driver, bytes per pass. Nothing of it was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common.costs import mean_distance
from benchmarks.common.records import RESULTS, write_measurement
from protobandit.run.in_parts import FRESH_ROWS, judged_rows

FILE = RESULTS / "cluster.json"
COLUMNS, CENTRES, GROUPS = 64, 5000, 50
FILE_ROWS, GROUP_ROWS = 500_000, 100_000
MEMORY = 2_000_000_000  # bytes of a worker
BALANCED = 2.5  # the effort of the searches
SIZES = ((10**8, 10), (10**8, 100), (10**9, 10), (10**9, 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", type=Path, help="folder for the files")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--k", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job is not None:
        print(json.dumps(run_job(**json.loads(arguments.job))))
        return
    folder = Path(tempfile.mkdtemp(dir=arguments.room))
    try:
        started = perf_counter()
        figures = measure(folder, int(arguments.rows), arguments.k)
        seconds = perf_counter() - started
        write_measurement(arguments.out, "benchmarks.cluster", figures, seconds=seconds)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, n_rows: int, counts: list[int]) -> dict[str, Any]:
    """Return the measurements of all searches."""
    for name in ("mixed", "sorted"):
        write_files(folder / name, n_rows, is_sorted=name == "sorted")
    results = []
    for k in counts:
        for data in ("mixed", "sorted"):
            one = job(folder, data, k, workers=0)
            results.append(one)
            variants: list[dict[str, Any]] = [{"workers": 2}]
            if data == "mixed":
                variants += [{"workers": 1}, {"workers": 2, "kills": True}]
            for variant in variants:
                found = job(folder, data, k, **variant)
                found["cost_ratio"] = found["cost"] / one["cost"]
                found["time_ratio"] = found["seconds"] / one["seconds"]
                results.append(found)
    return {
        "rows": n_rows,
        "columns": COLUMNS,
        "results": results,
        "prediction": [each for k in counts for each in predictions(results, n_rows, k)],
    }


def job(folder: Path, data: str, k: int, **options: Any) -> dict[str, Any]:
    """Run one search in a process of its own, and measure its cost."""
    given = json.dumps({"folder": str(folder / data), "k": k, **options})
    command = [sys.executable, "-m", "benchmarks.cluster", "--job", given]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    prototypes = np.array(found.pop("prototypes"), dtype=np.float32)
    found["cost"] = exact_cost(folder / data, prototypes)
    print({"data": data, "k": k, **options, **found}, file=sys.stderr)
    return {"data": data, "k": k, **options, **found}


def predictions(results: list[dict[str, Any]], n_rows: int, k: int) -> list[dict[str, Any]]:
    """Return seconds and bytes on clusters, extrapolated from two workers on mixed files."""
    own = [each for each in results if each["k"] == k and each["data"] == "mixed"]
    two = next(each for each in own if each["workers"] == 2 and not each.get("kills"))
    one = next(each for each in own if each["workers"] == 1)
    # t(w) = driver + work / w, from one worker and two.
    work = 2 * max(one["seconds"] - two["seconds"], 0.0)
    driver = max(one["seconds"] - work, 0.0)
    traffic = two["traffic"]
    # The sample does not grow with the rows; what parts propose does, with the number of parts.
    n_sampled = judged_rows(k, BALANCED) + FRESH_ROWS
    sample = min(traffic["bytes_received"], 4 * COLUMNS * n_sampled)
    return [
        {
            "k": k,
            "rows": n,
            "workers": w,
            "seconds": driver + work * n / n_rows / w,
            "bytes_received": sample + (traffic["bytes_received"] - sample) * n / n_rows,
            "bytes_shared": traffic["bytes_shared"] * w,
        }
        for n, w in SIZES
    ]


# -- files ----------------------------------------------------------------------------------------


def write_files(folder: Path, n_rows: int, *, is_sorted: bool) -> None:
    """Write Gaussian clusters of Zipf sizes around centres in groups."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    random = np.random.default_rng(17)
    groups = 4 * random.normal(size=(GROUPS, COLUMNS))
    centres = groups[random.integers(GROUPS, size=CENTRES)]
    centres = (centres + 1.5 * random.normal(size=centres.shape)).astype(np.float32)
    shares = 1 / np.arange(1, CENTRES + 1)
    labels = random.choice(CENTRES, n_rows, p=shares / shares.sum()).astype(np.int16)
    if is_sorted:
        labels.sort()
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        own = labels[start : start + FILE_ROWS]
        rows = centres[own] + random.standard_normal((len(own), COLUMNS), dtype=np.float32)
        flat = pa.array(rows.ravel())
        table = pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, COLUMNS)})
        path = folder / f"{number:04}.parquet"
        parquet.write_table(table, path, row_group_size=GROUP_ROWS, compression="none")


def exact_cost(folder: Path, prototypes: np.ndarray) -> float:
    """Return the mean distance of all rows to the nearest prototype."""
    from pyarrow import parquet

    total, n = 0.0, 0
    for path in sorted(folder.iterdir()):
        values = parquet.read_table(path).column("v").combine_chunks().flatten().to_numpy()
        rows = values.reshape(-1, COLUMNS)
        total, n = total + mean_distance(prototypes, rows) * len(rows), n + len(rows)
    return total / n


# -- one search -----------------------------------------------------------------------------------


def run_job(folder: str, k: int, workers: int, kills: bool = False) -> dict[str, Any]:
    """Search on one machine (no workers) or on a local cluster; return what was measured."""
    import protobandit as pb
    from protobandit.data import open_rows

    pattern = str(Path(folder) / "*.parquet")
    random = np.random.default_rng(0)
    few = random.normal(size=(60_000, COLUMNS)).astype(np.float32)
    pb.select(few, k=min(k, 200), random_state=0)  # compile
    if workers == 0:
        started = perf_counter()
        with tempfile.TemporaryDirectory(dir=Path(folder).parent) as cache:
            found = pb.select(open_rows(pattern, cache=cache), k=k, random_state=0)
            return _result(found, perf_counter() - started)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=MEMORY,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        in_pass = threading.Event()

        def listen(progress: Any) -> None:
            if kills and progress.doing.startswith("pass 1, part") and not in_pass.is_set():
                in_pass.set()
                os.kill(victim, signal.SIGKILL)

        started = perf_counter()
        rows = open_rows(pattern, in_parts=True)
        found = pb.select(rows, k=k, random_state=0, progress=listen)
        result = _result(found, perf_counter() - started)
        peaks = client.run(_peak_bytes)
        result["worker_bytes"] = max(peaks.values())
        result["was_killed"] = in_pass.is_set()
    return result


def _result(found: Any, seconds: float) -> dict[str, Any]:
    traffic = found.traffic
    return {
        "seconds": seconds,
        "driver_bytes": _peak_bytes(),
        "evaluations": found.evaluations,
        "estimated_cost": found.cost,
        "cost_error": found.cost_error,
        "traffic": None if traffic is None else dict(vars(traffic)),
        "prototypes": np.asarray(found.prototypes).tolist(),
    }


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
