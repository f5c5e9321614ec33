"""Write the same rows as files of every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

N = 50
NUMBERS = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
IDS = np.arange(N) * 7
LABELS = [f"class {i % 3}" for i in range(N)]


def columns(rows=NUMBERS, ids=IDS, labels=LABELS):
    """Return a table of ids, labels and three features."""
    return pa.table({"id": ids, "label": list(labels), **dict(zip("xyz", rows.T, strict=True))})


def vectors(rows=NUMBERS, *, is_fixed=True):
    """Return a table of ids and one column of vectors."""
    dtype = pa.list_(pa.float32(), rows.shape[1] if is_fixed else -1)
    return pa.table({"id": np.arange(len(rows)), "v": pa.array(rows.tolist(), dtype)})


def write_npy(path):
    np.save(path, NUMBERS)


def write_npz(path):
    np.savez(path, rows=NUMBERS, id=IDS, label=np.array(LABELS))


def write_csr(path):
    sp.save_npz(path, sp.csr_matrix(NUMBERS))


def write_csv(path):
    pyarrow.csv.write_csv(columns(), path)


def write_gzipped_csv(path):
    plain = path.with_suffix("")
    write_csv(plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def write_tsv(path):
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(columns(), path, options)


def write_jsonl(path):
    lines = map(json.dumps, columns().to_pylist())
    path.write_text("\n".join(lines), encoding="utf-8")


def write_parquet(path):
    pyarrow.parquet.write_table(columns(), path, row_group_size=8)


def write_feather(path):
    pyarrow.feather.write_feather(columns(), path)


def write_arrow_stream(path):
    table = columns()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=8)


# By file name: the function that writes it, and its format.
WRITERS = {
    "rows.npy": (write_npy, "npy"),
    "rows.npz": (write_npz, "npz"),
    "sparse.npz": (write_csr, "csr"),
    "rows.csv": (write_csv, "csv"),
    "rows.csv.gz": (write_gzipped_csv, "csv"),
    "rows.tsv": (write_tsv, "tsv"),
    "rows.jsonl": (write_jsonl, "jsonl"),
    "rows.parquet": (write_parquet, "parquet"),
    "rows.feather": (write_feather, "arrow"),
    "rows.arrow": (write_arrow_stream, "arrow"),
}
NAMED = [name for name in WRITERS if name not in ("rows.npy", "sparse.npz")]
TABLES = [name for name in NAMED if not name.endswith(".npz")]


def write(folder, name):
    path = Path(folder) / name
    WRITERS[name][0](path)
    return path
