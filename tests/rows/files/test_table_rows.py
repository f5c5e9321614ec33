"""Samples of tables are uniform and reproducible for any order of the file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files.cache_folder import cache_folder
from protobandit.rows.files.table_rows import distinct
from protobandit.rows.files.tables import FileTable, Piece
from rows.files import files

N, M = 3000, 400


def write_table(path, rows, labels=None, group=100, **more):
    table = pa.table(
        {
            "id": np.arange(len(rows)),
            "label": np.zeros(len(rows), int) if labels is None else labels,
            "v": pa.array(rows.tolist(), pa.list_(pa.float32(), rows.shape[1])),
        }
    )
    pyarrow.parquet.write_table(table, path, row_group_size=group, **more)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a file whose rows hold their own numbers, sorted by class."""
    rows = np.repeat(np.arange(N, dtype=np.float32)[:, None], 2, axis=1)
    folder = tmp_path_factory.mktemp("large")
    return write_table(folder / "rows.parquet", rows, labels=np.arange(N) // 1000)


def opened(path, cache, **options):
    given = {"columns": "v", "sample": M, "name": "target", "cache": cache, **options}
    return open_rows(path, **given)


# -- uniformity -----------------------------------------------------------------------------------


def test_a_sample_has_distinct_rows_in_random_order(large, tmp_path):
    found = opened(large, tmp_path)
    ids = found.rows[:, 0].astype(int)
    assert found.rows.shape == (M, 2)
    assert len(set(ids.tolist())) == M
    assert abs(stats.spearmanr(np.arange(M), ids).statistic) < 0.2
    assert found.n_total == N
    assert found.remark == (
        f"The target is a sample of 400 of the 3,000 rows of {large}, drawn uniformly without "
        f"replacement."
    )


def test_every_row_and_every_position_is_equally_likely(large, tmp_path):
    seeds = 40
    counts, halves = np.zeros(N), np.zeros(10)
    for seed in range(seeds):
        ids = opened(large, tmp_path, sample=300, seed=seed).rows[:, 0].astype(int)
        counts[ids] += 1
        halves += np.histogram(ids[:150], bins=10, range=(0, N))[0]
    assert stats.chisquare(np.add.reduceat(counts, np.arange(0, N, 50))).pvalue > 1e-3
    assert stats.chisquare(halves).pvalue > 1e-3


@pytest.mark.parametrize(("n", "size"), [(5, 2), (5, 3), (4, 4), (6, 1)])
def test_every_set_is_equally_likely(n, size):
    random = np.random.default_rng(0)
    draws = Counter(tuple(distinct(n, size, random).tolist()) for _ in range(4000))
    assert all(list(draw) == sorted(set(draw)) and len(draw) == size for draw in draws)
    expected = comb(n, size)
    assert len(draws) == expected
    assert expected == 1 or stats.chisquare(list(draws.values())).pvalue > 1e-3


def test_drawing_needs_no_memory_for_other_rows():
    ids = distinct(10**15, 1000, np.random.default_rng(0))
    assert len(np.unique(ids)) == 1000
    assert ids.max() > 9 * 10**14


def test_a_file_sorted_by_class_gives_the_same_quality_as_a_shuffled_one(tmp_path):
    random = np.random.default_rng(0)
    centres = 6 * random.normal(size=(10, 4))
    labels = np.repeat(np.arange(10), 2000)
    rows = (centres[labels] + random.normal(size=(len(labels), 4))).astype(np.float32)
    order = random.permutation(len(rows))
    source = (centres[random.integers(10, size=500)] + random.normal(size=(500, 4))).astype("f4")
    costs = {}
    for name, some in (("sorted", slice(None)), ("shuffled", order)):
        path = write_table(tmp_path / f"{name}.parquet", rows[some], labels=labels[some], group=500)
        found = opened(path, tmp_path / "cache", sample=2000, without=["label", "id"])
        shares = np.bincount(found.column("label").astype(int), minlength=10)
        assert stats.chisquare(shares).pvalue > 1e-3
        chosen = pb.select(source, found.rows, k=10, random_state=0)
        costs[name] = chosen.distances(rows).min(axis=1).mean()
    assert costs["sorted"] == pytest.approx(costs["shuffled"], rel=0.02)
    # Whole groups of a sorted file miss some classes.
    path = tmp_path / "sorted.parquet"
    unfair = opened(path, tmp_path / "cache", sample=2000, assume_shuffled=True)
    assert (np.bincount(unfair.column("label").astype(int), minlength=10) == 0).any()


# -- columns, records -----------------------------------------------------------------------------


@pytest.mark.parametrize("assume_shuffled", [False, True])
def test_columns_and_records_match_the_sample(large, tmp_path, assume_shuffled):
    found = opened(large, tmp_path, assume_shuffled=assume_shuffled)
    ids = found.rows[:, 0].astype(int)
    assert found.column("id").tolist() == ids.tolist()
    some = [7, 0, 399, 7]
    assert found.records(some) == {"id": ids[some].tolist(), "label": (ids[some] // 1000).tolist()}


@pytest.mark.parametrize("name", files.TABLES)
def test_all_formats_give_the_same_sample(tmp_path, name):
    path = files.write(tmp_path, name)
    found = opened(path, tmp_path / "cache", columns=["x", "y", "z"], sample=20)
    ids = (found.column("id") // 7).astype(int)
    assert len(set(ids.tolist())) == len(found) == 20
    assert found.n_total == files.N
    np.testing.assert_allclose(found.rows, files.NUMBERS[ids], rtol=1e-6)
    texts = opened(path, tmp_path / "cache", columns="label", sample=20)
    assert texts.rows == [files.LABELS[i] for i in ids]


def test_mixed_rows_are_sampled_together(tmp_path):
    path = files.write(tmp_path, "rows.parquet")
    found = opened(path, tmp_path, columns=None, without=["id"], categories=True, sample=20)
    ids = found.column("id") // 7
    np.testing.assert_array_equal(found.rows.numbers, files.NUMBERS[ids])
    assert found.rows.categories["label"].tolist() == [files.LABELS[i] for i in ids]


def test_a_sample_as_large_as_the_file_is_the_file(large, tmp_path):
    found = opened(large, tmp_path, sample=N)
    assert found.remark == ""
    assert found.rows[:, 0].tolist() == list(range(N))
    assert not list(tmp_path.iterdir())


# -- which row groups are read --------------------------------------------------------------------


@pytest.fixture
def groups_read(monkeypatch):
    """Return the list of the row groups that are read from now on."""
    log = []

    class Watched(pyarrow.parquet.ParquetFile):
        def iter_batches(self, *arguments, **options):
            log.extend(options["row_groups"])
            return super().iter_batches(*arguments, **options)

    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", Watched)
    return log


def test_a_sample_takes_one_pass(large, tmp_path, groups_read):
    opened(large, tmp_path)
    assert groups_read == list(range(30))


def test_shuffled_files_are_sampled_by_whole_groups(large, tmp_path, groups_read):
    found = opened(large, tmp_path, assume_shuffled=True, sample=350)
    assert len(groups_read) == 4
    homes = Counter((found.rows[:, 0] // 100).astype(int).tolist())
    assert sorted(homes.values()) == [50, 100, 100, 100]
    assert "in whole row groups, which is fair only if the file is shuffled" in found.remark


def test_records_read_only_their_row_groups(large, tmp_path, groups_read):
    found = opened(large, tmp_path)
    groups_read.clear()
    record = found.records([5, 9])
    assert groups_read == sorted({i // 100 for i in record["id"]})


# -- cache ----------------------------------------------------------------------------------------


def names_in(cache):
    """Return the names of the cached files."""
    return sorted(each.name for each in cache_folder(cache).iterdir())


def test_a_sample_is_reused(large, tmp_path, groups_read):
    first = opened(large, tmp_path)
    groups_read.clear()
    messages = []
    again = opened(large, tmp_path, tell=messages.append)
    assert groups_read == []
    assert messages == [
        f"Reusing the rows cached in {cache_folder(tmp_path)}/{names_in(tmp_path)[0]}."
    ]
    np.testing.assert_array_equal(first.rows, again.rows)
    assert again.column("id").tolist() == again.rows[:, 0].astype(int).tolist()


def test_other_options_give_another_sample(tmp_path):
    rows = np.arange(2000, dtype=np.float32).reshape(-1, 2)
    path = write_table(tmp_path / "rows.parquet", rows)
    cache = tmp_path / "cache"
    for options in ({}, {"seed": 1}, {"sample": 41}, {"assume_shuffled": True}, {"columns": "id"}):
        opened(path, cache, **{"sample": 40, **options})
    assert len(names_in(cache)) == 5
    write_table(path, rows + 1)
    os.utime(path, ns=(1, 1))
    changed = opened(path, cache, sample=40)
    assert len(names_in(cache)) == 6
    np.testing.assert_array_equal(changed.rows, (rows + 1)[changed.column("id")])


def test_a_changed_file_is_read_again(tmp_path):
    path, cache = tmp_path / "rows.csv", tmp_path / "cache"
    for at, digit in enumerate("12"):  # of the same size
        path.write_text("v\n" + f"{digit}.5\n" * 50)
        os.utime(path, ns=(at, at))
        assert set(opened(path, cache, sample=20).rows.ravel().tolist()) == {float(digit) + 0.5}


def test_nothing_is_read_after_the_last_wanted_row():
    batch = pa.record_batch({"x": np.arange(10)})

    def read(columns, batch_rows):
        yield batch
        yield batch
        raise AssertionError("these rows were not requested")

    table = FileTable(
        form="csv", schema=batch.schema, pieces=(Piece("p", 30, read),), has_groups=False
    )
    found = table.batches(["x"], np.array([2, 15]), name="source")
    assert [(cut, some.column("x").to_pylist()) for cut, some in found] == [
        (slice(0, 1), [2]),
        (slice(1, 2), [5]),
    ]


def test_an_error_while_reading_leaves_no_file(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"v": [[1.0, 2.0]] * 50 + [[1.0]] * 50})
    pyarrow.parquet.write_table(table, path, row_group_size=10)
    with pytest.raises(pb.InvalidInput, match=r"a vector of 1 number\(s\) in column 'v' at row"):
        opened(path, tmp_path / "cache", sample=90)
    assert names_in(tmp_path / "cache") == []


def test_an_interruption_leaves_no_file(large, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("protobandit.rows.files.feature_columns.Layout.write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        opened(large, tmp_path)
    assert names_in(tmp_path) == []


_PASS = """
import sys, threading
from pathlib import Path
from protobandit.data import open_rows
def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
open_rows(sys.argv[1], columns="v", sample=10, cache=sys.argv[3])
before, peak, is_over = anonymous(), [0.0], threading.Event()
def watch():
    while not is_over.wait(0.001):
        peak.append(anonymous())
watcher = threading.Thread(target=watch)
watcher.start()
open_rows(sys.argv[2], columns="v", sample=400_000, cache=sys.argv[3])
is_over.set()
watcher.join()
print(max(peak) - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize(("group", "most"), [(4096, 60), (120 * 4096, 100)])
def test_sampling_needs_bounded_memory(large, tmp_path, group, most):
    rows = np.random.default_rng(0).normal(size=(4096, 64)).astype(np.float32)
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 64)})
    path = tmp_path / "large.parquet"
    plain = {"compression": None, "use_dictionary": False}
    with pyarrow.parquet.ParquetWriter(path, table.schema, **plain) as writer:
        writer.write_table(pa.concat_tables([table] * 120), group)  # 126 MB of numbers
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _PASS, str(large), str(path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < most
