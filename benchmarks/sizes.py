"""How large a target may be: memory and bytes read for files of gigabytes.

Files are made in a temporary folder below ``--room`` and deleted at the end. A process of its own
does each measurement, so that what made the file does not count; the files are put out of the page
cache beforehand, so that what is read is read from disk.

    python -m benchmarks.sizes --room DIR [--share 0.1]
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

import numpy as np

_COLUMNS, _CENTRES, _PIECE = 64, 50, 10**5
_BYTES = 5 * 10**9  # of the .npy target
_ROWS = 10**7  # of the Parquet target
_SAMPLE = 10**6
_SOURCE, _K = 5000, 100
_MOST_MEMORY, _MOST_READ = 1000, 0.10  # megabytes of anonymous memory, share of the file

_COMMON = """
import json, sys, threading, time
from pathlib import Path
import numpy as np
import protobandit as pb
from protobandit.data import open_rows
path, source, k, sample, cache = sys.argv[1:]
source, k, sample = np.load(source), int(k), int(sample)
def field(file, name):
    lines = Path(f"/proc/self/{file}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
def anonymous():
    return field("status", "RssAnon") / 1000
def measured(work):
    peak, is_over = [anonymous()], threading.Event()
    def watch():
        while not is_over.wait(0.002):
            peak.append(anonymous())
    watcher = threading.Thread(target=watch)
    before = {name: field("io", name) for name in ("read_bytes", "rchar")}
    started = time.perf_counter()
    watcher.start()
    value = work()
    is_over.set()
    watcher.join()
    seconds = time.perf_counter() - started
    read = {name: field("io", name) - n for name, n in before.items()}
    return value, {"seconds": seconds, "peak": max(peak), "growth": max(peak) - peak[0], **read}
def select(target):
    return pb.select(source, target, k=k, random_state=0)
select(np.repeat(source, 20, axis=0))  # kernels are compiled
"""
_NPY = """
selection, report = measured(lambda: select(path))
report["cost"], report["status"] = selection.cost, selection.status
print(json.dumps([report]))
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
    parser.add_argument("--room", type=Path, required=True, help="a folder with 15 GB to spare")
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    options = parser.parse_args()
    options.room.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=options.room))
    try:
        np.save(folder / "source.npy", next(_pieces(_SOURCE, seed=1))[1])
        _npy(folder, options.share)
        _parquet(folder, options.share)
    finally:
        shutil.rmtree(folder)


def _npy(folder: Path, share: float) -> None:
    n_rows = round(share * _BYTES / (4 * _COLUMNS))
    path = folder / "target.npy"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, _COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        for _, rows in _pieces(n_rows):
            rows.tofile(file)
    n_bytes = path.stat().st_size
    print(f".npy target of {n_rows:,} x {_COLUMNS}, {n_bytes / 1e9:.2f} GB, |S| = {_SOURCE:,}")
    (report,) = _measured(_NPY, path, folder)
    _show("select k = 100", report, n_bytes)
    _judge("peak of anonymous memory, MB", report["peak"], _MOST_MEMORY)
    _judge("share of the file that is read", report["read_bytes"] / n_bytes, _MOST_READ)
    print(f"    {report['status']}")
    path.unlink()


def _parquet(folder: Path, share: float) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    n_rows, path = round(share * _ROWS), folder / "target.parquet"
    writer = None
    for labels, rows in _pieces(n_rows, is_sorted=True):
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
    _show("one pass into a sample", first, n_bytes)
    _show("the same again", second, n_bytes)
    _show("select k = 100", third, n_bytes)
    _judge("peak of anonymous memory, MB", max(first["peak"], third["peak"]), _MOST_MEMORY)
    _judge("bytes read / bytes there", first["read_bytes"] / n_bytes, 1.05)
    print(f"    largest class share / smallest {third['spread']:.3f}. {third['remark']}")


def _pieces(
    n_rows: int, seed: int = 0, *, is_sorted: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield labels and rows around their centres."""
    centres = 2 * np.random.default_rng(7).standard_normal((_CENTRES, _COLUMNS), dtype=np.float32)
    random = np.random.default_rng(seed)
    for start in range(0, n_rows, _PIECE):
        n = min(_PIECE, n_rows - start)
        labels = random.integers(_CENTRES, size=n)
        if is_sorted:
            labels = (start + np.arange(n)) * _CENTRES // n_rows
        rows = random.standard_normal((n, _COLUMNS), dtype=np.float32)
        yield labels, rows + centres[labels]


def _measured(code: str, path: Path, folder: Path, sample: int = 0) -> list[dict]:
    """Return what a process of its own reports of a file that is not in memory."""
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
        f"    {what}: {report['seconds']:.1f} s, anonymous memory at most {report['peak']:.0f} MB "
        f"(+{report['growth']:.0f}), read from disk {report['read_bytes'] / 1e6:,.0f} MB "
        f"({report['read_bytes'] / n_bytes:.1%}), by calls {report['rchar'] / 1e6:,.0f} MB"
    )


def _judge(what: str, value: float, most: float) -> None:
    print(f"    {'ok  ' if value <= most else 'MISS'} {what}: {value:.3g} (at most {most:g})")


if __name__ == "__main__":
    main()
