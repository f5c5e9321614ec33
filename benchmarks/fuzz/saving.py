"""Cases of files and of JSON: valid ones must be read exactly, damaged ones must be refused."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import protobandit as pb
from benchmarks.fuzz.attempts import Report
from benchmarks.fuzz.distances import distances
from benchmarks.fuzz.judge import Truth, compared, judged
from benchmarks.fuzz.rows import Random, values
from benchmarks.fuzz.selecting import precision
from protobandit.data import open_rows


def _columns(rows: Any) -> dict[str, Any]:
    return {f"c{i}": rows[:, i] for i in range(rows.shape[1])}


def _write_text(path: Path, rows: Any, between: str) -> None:
    lines = [between.join(_columns(rows)), *(between.join(map(repr, r)) for r in rows.tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_jsonl(path: Path, rows: Any) -> None:
    names = list(_columns(rows))
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows.tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_parquet(path: Path, rows: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(_columns(rows)), path, row_group_size=max(1, len(rows) // 2))


def _write_arrow(path: Path, rows: Any) -> None:
    import pyarrow as pa
    from pyarrow import feather

    feather.write_feather(pa.table(_columns(rows)), path)


def _write_sparse(kind: str) -> Callable[[Path, Any], None]:
    return lambda path, rows: sparse.save_npz(path, getattr(sparse, kind)(rows))


WRITERS: dict[str, Callable[[Path, Any], None]] = {
    "a.npy": np.save,
    "b.npz": lambda path, rows: np.savez(path, rows=rows),
    "c.npz": lambda path, rows: np.savez_compressed(path, rows=rows),
    "csr.npz": _write_sparse("csr_array"),
    "csc.npz": _write_sparse("csc_array"),
    "coo.npz": _write_sparse("coo_array"),
    "bsr.npz": _write_sparse("bsr_array"),
    "a.csv": lambda path, rows: _write_text(path, rows, ","),
    "a.tsv": lambda path, rows: _write_text(path, rows, "\t"),
    "a.jsonl": _write_jsonl,
    "a.parquet": _write_parquet,
    "a.arrow": _write_arrow,
}


def _written(random: Random, folder: str) -> tuple[Path, Any]:
    name = str(random.choice(list(WRITERS)))
    style = str(random.choice(["normal", "whole", "repeated", "clusters"]))
    rows = values(random, "", int(random.integers(1, 30)), int(random.integers(1, 5)), style)
    path = Path(folder, name)
    if random.random() < 0.2 and name.endswith(".npy"):
        rows = np.asfortranarray(rows)
    WRITERS[name](path, rows)
    return path, rows


def file(random: Random, report: Report) -> None:
    """Select from a file as from the rows in it."""
    with tempfile.TemporaryDirectory() as folder:
        path, rows = _written(random, folder)
        k = int(random.integers(1, len(rows) + 1))
        report.describe(file=path.name, shape=rows.shape, k=k)
        given: Any = path
        if random.random() < 0.3:
            given = report.made(lambda: open_rows(path), is_due=True)
        state = int(random.integers(1000))
        selection = report.made(
            lambda: pb.select(given, k=k, method="lazygreedy", random_state=state), is_due=True
        )
        if selection is None:
            return
        d = distances("euclidean", rows, rows)
        truth = Truth(d, np.ones(len(rows)), k, precision=precision(selection))
        report.complaints += judged(selection, truth)
        if not path.name.endswith(".npz"):
            plain = pb.select(rows, k=k, method="lazygreedy", random_state=state)
            report.complaints += compared(plain, selection, "a file")


def _damaged(random: Random, content: bytes) -> bytes:
    """Return content with one to four kinds of damage."""
    for _ in range(random.integers(1, 5)):
        at = int(random.integers(0, max(1, len(content))))
        kind = int(random.integers(0, 6))
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content = content[:at] + random.bytes(int(random.integers(1, 9))) + content[at:]
        elif kind == 2:
            content = content[:at] + content[at + int(random.integers(1, 20)) :]
        elif kind == 3:
            content = content[:at] + b"\x00" * 8 + content[at + 8 :]
        elif content:
            bit = 1 << int(random.integers(8))
            content = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]
    return content


def damaged_file(random: Random, report: Report) -> None:
    """Select from a file with wrong bytes, which must be refused or give rows of it."""
    with tempfile.TemporaryDirectory() as folder:
        path, rows = _written(random, folder)
        path.write_bytes(_damaged(random, path.read_bytes()))
        other = str(random.choice(list(WRITERS))) if random.random() < 0.1 else path.name
        path = path.rename(Path(folder, other))
        report.describe(file=path.name, shape=rows.shape)
        selection = report.made(lambda: pb.select(path, k=1, random_state=0))
        if selection is None:
            return
        if not np.isfinite(selection.cost):
            report.complaints.append(f"cost {selection.cost} of a damaged file")
        report.made(lambda: selection.assign(path))


_SAVED: list[Any] = []


def _saved() -> list[Any]:
    """Return selections of several kinds, made once."""
    if not _SAVED:
        rows = np.random.default_rng(0).normal(size=(12, 3))
        stored = sparse.csr_array(rows * (rows > 0))
        _SAVED.extend(
            [
                (pb.select(rows, k=3, random_state=0).certified(), rows),
                (pb.select(stored, k=3, random_state=0), stored),
                (pb.select(["ab", "b", "abc"], k=2, metric="levenshtein"), ["ab"]),
                (pb.select(rows, k="auto", random_state=0), rows),
                (pb.select(rows, k=4, by=[0, 1] * 6, random_state=0), rows),
                (pb.select(rows, k=2, preparation=pb.Preparation(standardize=True)), rows),
            ]
        )
    return _SAVED


_ODD_VALUES = [None, True, -1, 0, 10**6, 2**63, 1e308, -0.5, "", "x", [], [[]], {}, [None], ["a"]]


def _replaced(random: Random, value: Any) -> Any:
    """Return a copy of a JSON value in which one value is odd."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = str(random.choice(list(value)))
        if random.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _replaced(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = int(random.integers(len(value)))
        if random.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _replaced(random, value[at]), *value[at + 1 :]]
    return _ODD_VALUES[random.integers(len(_ODD_VALUES))]


def damaged_json(random: Random, report: Report) -> None:
    """Load a saved selection in which values or bytes are wrong, and use it."""
    saved = _saved()
    at = int(random.integers(len(saved)))
    selection, rows = saved[at]
    text: Any = selection.to_json()
    if random.random() < 0.8:
        changed = json.loads(text)
        for _ in range(random.integers(1, 3)):
            changed = _replaced(random, changed)
        text = json.dumps(changed)
    else:
        text = _damaged(random, text.encode())
    report.describe(selection=at)
    loaded = report.made(lambda: pb.Selection.from_json(text))
    if loaded is None:
        return
    for call in (
        lambda: repr(loaded),
        loaded.to_json,
        lambda: loaded.assign(rows),
        lambda: loaded.explain(rows, n=1),
        lambda: loaded.take([0] * 12),
    ):
        report.made(call)
