"""Memory, time and bytes read for target files of several gigabytes.

    python -m benchmarks.sizes --room DIR [--share 0.5] [--out FILE]

Writes docs/results/sizes.json (or ``--out``). Files are created in a temporary folder below
``--room`` and deleted at the end. Each measurement has its own process, so that creating the file
does not count. The files are removed from the page cache first, so that bytes are read from disk.
Linux only. By default half of the full size (files of 5 GB and 10⁷ rows) is measured, which takes
about three minutes on two cores; ``--share 1`` takes all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common.records import RESULTS, write_measurement

FILE = RESULTS / "sizes.json"
_COLUMNS, _CENTRES, _BLOCK = 64, 50, 10**5
_BYTES = 5 * 10**9  # of the .npy target
_ROWS = 10**7  # of the Parquet target
_SAMPLE = 10**6
_SOURCE, _K = 5000, 100
_FEW = 10**5  # target rows to compare the time with

_COMMON = """
import json, sys, time
from pathlib import Path
import numpy as np
import protobandit as pb
from benchmarks.common.memory import peak_memory
from protobandit.data import open_rows
path, source, k, sample, cache = sys.argv[1:]
source, k, sample = np.load(source), int(k), int(sample)
def bytes_read():
    lines = Path("/proc/self/io").read_text().splitlines()
    found = dict(line.split(": ") for line in lines)
    return {name: int(found[name]) for name in ("read_bytes", "rchar")}
def measured(work):
    before, started = bytes_read(), time.perf_counter()
    with peak_memory() as peak:
        value = work()
    seconds = time.perf_counter() - started
    read = {name: n - before[name] for name, n in bytes_read().items()}
    return value, {"seconds": seconds, "peak": peak.largest, "growth": peak.growth, **read}
def select(target):
    return pb.select(source, target, k=k, random_state=0)
select(np.repeat(source, 20, axis=0))  # compile
"""
_NPY = """
selection, report = measured(lambda: select(path))
report["cost"], report["status"] = selection.cost, selection.status
_, again = measured(lambda: select(path))
few = np.load(path, mmap_mode="r")[:sample]
select(few)
_, small = measured(lambda: select(few))
print(json.dumps([report, again, small]))
"""
_PARQUET = """
def opened():
    return open_rows(path, columns="v", sample=sample, name="target", cache=cache)
rows, first = measured(opened)
again, second = measured(opened)
selection, third = measured(lambda: select(again.rows))
shares = np.bincount(rows.column("label"), minlength=50) / len(rows)
third["cost"], third["remark"] = selection.cost, rows.remark
third["spread"] = float(shares.max() / shares.min())
print(json.dumps([first, second, third]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", type=Path, required=True, help="folder with 8 GB of free space")
    parser.add_argument("--share", type=float, default=0.5, help="share of the full size")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options, started = parser.parse_args(), perf_counter()
    options.room.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=options.room))
    try:
        np.save(folder / "source.npy", next(_blocks(_SOURCE, seed=1))[1])
        figures = {
            "share": options.share,
            "n_source": _SOURCE,
            "k": _K,
            "npy": _npy(folder, options.share),
            "parquet": _parquet(folder, options.share),
        }
    finally:
        shutil.rmtree(folder)
    write_measurement(options.out, "benchmarks.sizes", figures, seconds=perf_counter() - started)


def _npy(folder: Path, share: float) -> dict[str, Any]:
    n_rows = round(share * _BYTES / (4 * _COLUMNS))
    path = folder / "target.npy"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, _COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for _, rows in _blocks(n_rows):
            rows.tofile(file)
    n_bytes = path.stat().st_size
    print(f".npy target of {n_rows:,} x {_COLUMNS}, {n_bytes / 1e9:.2f} GB, |S| = {_SOURCE:,}")
    report, again, small = _measured(_NPY, path, folder, _FEW)
    _show("select, k = 100", report, n_bytes)
    _show("the same, file in the page cache", again, n_bytes)
    _show(f"the same with the first {_FEW:,} rows", small, n_bytes)
    path.unlink()
    return {
        "rows": n_rows,
        "bytes": n_bytes,
        "few_rows": _FEW,
        "bytes_read": report["read_bytes"],
        "peak_mb": report["peak"],
        "time_of_few": again["seconds"] / small["seconds"],
        "memory_above_few_mb": again["growth"] - small["growth"],
    }


def _parquet(folder: Path, share: float) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import parquet

    n_rows, path = round(share * _ROWS), folder / "target.parquet"
    writer = None
    for labels, rows in _blocks(n_rows, is_sorted=True):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), _COLUMNS)
        table = pa.table({"label": labels, "v": vectors})
        if writer is None:
            writer = parquet.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    n_bytes = path.stat().st_size
    print(f"Parquet target of {n_rows:,} x {_COLUMNS}, sorted by class, {n_bytes / 1e9:.2f} GB")
    first, second, third = _measured(_PARQUET, path, folder, round(share * _SAMPLE))
    _show("one pass that draws a sample", first, n_bytes)
    _show("the same from the cache of samples", second, n_bytes)
    _show("select, k = 100", third, n_bytes)
    return {
        "rows": n_rows,
        "bytes": n_bytes,
        "sample": round(share * _SAMPLE),
        "peak_mb": first["peak"],
        "bytes_read_again": second["read_bytes"],
        "class_spread": third["spread"],
    }


def _blocks(
    n_rows: int, seed: int = 0, *, is_sorted: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of labels and of rows around their centres."""
    centres = 2 * np.random.default_rng(7).standard_normal((_CENTRES, _COLUMNS), dtype=np.float32)
    random = np.random.default_rng(seed)
    for start in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - start)
        labels = random.integers(_CENTRES, size=n)
        if is_sorted:
            labels = (start + np.arange(n)) * _CENTRES // n_rows
        rows = random.standard_normal((n, _COLUMNS), dtype=np.float32)
        yield labels, rows + centres[labels]


def _measured(code: str, path: Path, folder: Path, sample: int = 0) -> list[dict]:
    """Return the reports of a new process about a file that is not in the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    arguments = (path, folder / "source.npy", _K, sample, folder / "cache")
    command = [sys.executable, "-c", _COMMON + code, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    reports: list[dict] = json.loads(done.stdout)
    return reports


def _show(what: str, report: dict, n_bytes: int) -> None:
    print(
        f"    {what}: {report['seconds']:.2f} s, peak of anonymous memory {report['peak']:.0f} MB "
        f"(+{report['growth']:.0f}), read from disk {report['read_bytes'] / 1e6:,.0f} MB "
        f"({report['read_bytes'] / n_bytes:.1%}), read by system calls "
        f"{report['rchar'] / 1e6:,.0f} MB"
    )


if __name__ == "__main__":
    main()
