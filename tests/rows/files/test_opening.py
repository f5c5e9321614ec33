from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.columns import Columns
from protobandit.rows.files import opening, table_rows
from protobandit.rows.files.opened import Opened
from protobandit.rows.memory_maps import Joined
from rows.files import files


def opened(path, **options):
    """Open a file of `files` without its ids and labels."""
    has_names = path.name in files.NAMED
    without = ("id", "label") if has_names else ()
    return open_rows(path, **{"without": without, **options})


def numbers(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


# -- every format ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.WRITERS)
def test_every_format_gives_the_same_rows(tmp_path, name):
    found = opened(files.write(tmp_path, name))
    assert isinstance(found, Opened)
    assert found.format == files.WRITERS[name][1]
    assert found.kind == "numbers"
    assert len(found) == found.n_total == files.N
    assert len(found.features) == 3
    assert (found.remark, found.image_shape) == ("", None)
    np.testing.assert_allclose(numbers(found.rows), files.NUMBERS, rtol=1e-6)


@pytest.mark.parametrize("name", files.NAMED)
def test_columns_and_records_match_the_rows(tmp_path, name):
    found = opened(files.write(tmp_path, name))
    assert {"id", "label"} <= set(found.names)
    assert found.column("id").tolist() == files.IDS.tolist()
    assert found.column("label").tolist() == files.LABELS
    records = found.records([4, 0, 4])
    assert records["id"] == [28, 0, 28]
    assert records["label"] == ["class 1", "class 0", "class 1"]
    assert all(type(value) is int for value in records["id"])


@pytest.mark.parametrize("name", ["rows.npy", "sparse.npz"])
def test_formats_without_names_have_no_columns(tmp_path, name):
    found = opened(files.write(tmp_path, name))
    assert found.names == ()
    assert found.records([1, 2]) == {}
    with pytest.raises(pb.InvalidInput, match=r"no column 'id'. It has no named columns"):
        found.column("id")


@pytest.mark.parametrize("name", files.WRITERS)
@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_select_accepts_the_path_of_a_file(tmp_path, name, as_path):
    path = files.write(tmp_path, name)
    if path.name in files.TABLES:  # rewrite the file without ids and labels
        table = files.columns().select(list("xyz"))
        path = tmp_path / "plain.parquet"
        pyarrow.parquet.write_table(table, path)
    chosen = pb.select(as_path(path), k=3, method="lazygreedy")
    truth = pb.select(files.NUMBERS, k=3, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()


def test_select_accepts_two_paths(tmp_path):
    source = files.write(tmp_path, "rows.npy")
    target = tmp_path / "target.npy"
    np.save(target, files.NUMBERS[:20])
    chosen = pb.select(source, target, k=3, method="lazygreedy")
    truth = pb.select(files.NUMBERS, files.NUMBERS[:20], k=3, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()
    assert chosen.assign(target).labels.tolist() == truth.assign(files.NUMBERS[:20]).labels.tolist()


@pytest.mark.parametrize("preparation", [None, pb.Preparation(standardize=True)])
def test_select_opens_each_path_once(tmp_path, monkeypatch, preparation):
    source, target = files.write(tmp_path, "rows.npy"), tmp_path / "target.npy"
    np.save(target, files.NUMBERS[:20])
    paths = []

    def counted(given, asked):
        paths.extend(given)
        return open_files(given, asked)

    open_files = opening._open_files
    monkeypatch.setattr(opening, "_open_files", counted)
    chosen = pb.select(source, target, k=3, preparation=preparation)
    assert sorted(paths) == [source, target]
    chosen.assign(target)
    assert sorted(paths) == [source, target, target]


# -- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.TABLES)
@pytest.mark.parametrize(
    ("columns", "expected"),
    [("x", "x"), (["z", "x"], "zx"), ("[xy]", "xy"), ("?", "xyz"), (["y", "?"], "yxz")],
)
def test_columns_are_chosen_by_name_or_pattern(tmp_path, name, columns, expected):
    found = open_rows(files.write(tmp_path, name), columns=columns)
    assert found.features == tuple(expected)
    order = ["xyz".index(letter) for letter in expected]
    np.testing.assert_allclose(found.rows, files.NUMBERS[:, order], rtol=1e-6)


@pytest.mark.parametrize("is_fixed", [True, False])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_list_columns_are_vectors(tmp_path, suffix, is_fixed):
    path = tmp_path / f"rows{suffix}"
    table = files.vectors(is_fixed=is_fixed)
    write = pyarrow.parquet.write_table if suffix == ".parquet" else pa.feather.write_feather
    write(table, path)
    found = open_rows(path, without=["id"])
    assert found.rows.dtype == np.float32
    assert found.features == ("v[0]", "v[1]", "v[2]")
    np.testing.assert_array_equal(found.rows, files.NUMBERS)
    assert found.records([3]) == {"id": [3]}
    with pytest.raises(pb.InvalidInput, match="holds vectors in column 'v'"):
        found.column("v")


def test_vectors_and_numbers_are_combined_if_both_are_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [{"a": i, "v": [i, 2.5]} for i in range(4)]
    path.write_text("\n".join(map(json.dumps, lines)))
    found = open_rows(path, columns=["a", "v"])
    assert found.features == ("a", "v[0]", "v[1]")
    assert found.columns == ("a", "v")
    np.testing.assert_array_equal(found.rows, [[i, i, 2.5] for i in range(4)])


TYPES = {
    "float16": (pa.array(np.array([1, 2], np.float16)), np.float32),
    "float32": (pa.array([1, 2], pa.float32()), np.float32),
    "uint8": (pa.array([1, 2], pa.uint8()), np.float32),
    "int64": (pa.array([1, 2], pa.int64()), np.float64),
    "bool": (pa.array([True, False]), np.float32),
    "decimal": (pa.array([1, 2], pa.decimal128(5, 2)), np.float64),
}


@pytest.mark.parametrize(("column", "dtype"), TYPES.values(), ids=TYPES)
def test_numbers_of_every_type_are_floats(tmp_path, column, dtype):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"x": column}), path)
    rows = open_rows(path).rows
    assert rows.dtype == dtype
    assert rows.ravel().tolist() == [float(value) for value in column.to_pylist()]


@pytest.mark.parametrize("dtype", [pa.int32(), pa.float32(), pa.bool_(), pa.null()])
def test_missing_numbers_are_nan(tmp_path, dtype):
    path = tmp_path / "rows.parquet"
    values = {pa.null(): None, pa.bool_(): True}
    column = pa.array([values.get(dtype, 1), None], dtype)
    pyarrow.parquet.write_table(pa.table({"x": column, "y": [1.0, 2.0]}), path)
    rows = open_rows(path).rows
    assert np.isnan(rows[1, 0])
    n = int(np.isnan(rows).sum())
    with pytest.raises(
        pb.InvalidInput, match=rf"source has missing values \(.*\): {n} in 'x'.*impute="
    ):
        pb.select(path, k=1)


def test_texts_are_categories_on_request(tmp_path):
    path = files.write(tmp_path, "rows.csv")
    found = open_rows(path, without=["id"], categories=True)
    assert found.kind == "mixed"
    assert isinstance(found.rows, Columns)
    assert found.features == ("x", "y", "z", "label")
    assert found.rows.categories["label"].tolist() == files.LABELS
    np.testing.assert_allclose(found.rows.numbers, files.NUMBERS, rtol=1e-6)
    assert len(found) == files.N


def test_rows_may_have_categories_only(tmp_path):
    path = files.write(tmp_path, "rows.csv")
    found = open_rows(path, columns="label", categories=True, sample=9, cache=tmp_path)
    assert found.rows.numbers.shape == (9, 0)
    assert len(found.rows.categories["label"]) == 9


def test_one_column_of_texts_makes_texts(tmp_path):
    path = files.write(tmp_path, "rows.parquet")
    found = open_rows(path, columns="label")
    assert (found.kind, found.features) == ("texts", ())
    assert found.rows == files.LABELS
    assert len(found) == files.N


@pytest.mark.parametrize("name", files.WRITERS)
def test_optional_columns_are_not_features(tmp_path, name):
    found = open_rows(files.write(tmp_path, name), perhaps=["id", "label", "nowhere"])
    assert len(found.features) == 3
    assert len(found) == files.N


def test_row_numbers_written_by_pandas_are_not_features(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",x\n0,1.5\n1,2.5\n")
    assert open_rows(path).features == ("x",)
    assert open_rows(path, columns="").features == ("",)


# -- files that `select` is given -----------------------------------------------------------------


def test_large_ids_of_a_table_keep_every_digit(tmp_path):
    path = tmp_path / "rows.parquet"
    ids = [2**53 + 1, None, 2**60 + 1]
    pyarrow.parquet.write_table(pa.table({"id": ids, "x": [1.0, 2.0, 3.0]}), path)
    assert open_rows(path, without="id", texts="id").column("id").tolist() == ids


@pytest.mark.parametrize("preparation", [None, pb.Preparation(standardize=True)])
@pytest.mark.parametrize("is_target", [True, False])
def test_opened_rows_can_be_selected_from(tmp_path, preparation, is_target):
    path = files.write(tmp_path, "rows.parquet")
    options = {"columns": ["x", "y", "z"], "cache": tmp_path}
    some = open_rows(path, **options, sample=20, name="target")
    rows = (open_rows(path, **options), some) if is_target else (some,)
    found = pb.select(*rows, k=3, preparation=preparation, random_state=0)
    same = pb.select(*(each.rows for each in rows), k=3, preparation=preparation, random_state=0)
    assert found.indices.tolist() == same.indices.tolist()
    assert found.status.count(some.remark) == 1
    assert some.remark.startswith("The target is a sample of 20 of the 50 rows of")
    assert found.status.replace(f" {some.remark}", "").startswith(same.status)
    assert "Compared columns: 'x', 'y', 'z'. Left out: 'id', 'label' (not named by" in found.status
    assert found.columns == ("x", "y", "z")
    assert list(found.columns_left_out) == ["id", "label"]


def test_missing_values_are_counted_by_column_for_files_and_frames(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,\n2,3\n,\n")
    expected = r"source has missing values \(3 rows checked\): 1 in 'a', 2 in 'b'.*impute="
    for rows in (path, str(path), open_rows(path)):
        with pytest.raises(pb.InvalidInput, match=expected):
            pb.select(rows, k=1)
    selection = pb.select(path, k=1, preparation=pb.Preparation(impute="mean"))
    with pytest.raises(pb.InvalidInput, match=r"missing values \(3 .*\): 1 in 'a', 2 in 'b'"):
        pb.select(path, k=1, preparation=pb.Preparation(standardize=True))
    assert selection.assign(path).labels.tolist() == [0, 0, 0]


# -- texts ----------------------------------------------------------------------------------------


def test_one_text_per_line(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffété\r\n\nc\u2028d\nlast".encode())
    found = open_rows(path)
    assert (found.kind, found.format, found.features) == ("texts", "text", ())
    assert found.rows == ["été", "", "c\u2028d", "last"]
    assert found.records([3, 0]) == {"text": ["last", "été"]}
    assert found.column("text").tolist() == found.rows
    assert pb.select(path, k=2).metric_name == "levenshtein"
    with pytest.raises(pb.InvalidInput, match="does not hold numbers"):
        pb.select(path, k=2, metric="euclidean")


# -- several files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.npy", *files.TABLES])
def test_several_files_are_one_set(tmp_path, name):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        files.write(folder, name)
    twice = np.vstack([files.NUMBERS, files.NUMBERS])
    for given in ([first / name, second / name], str(tmp_path / "*" / name), [first, second]):
        found = open_rows(given, without=("id", "label") if name in files.NAMED else ())
        assert len(found) == found.n_total == 2 * files.N
        np.testing.assert_allclose(np.asarray(found.rows), twice, rtol=1e-6)
        if name in files.NAMED:
            assert found.column("id").tolist() == [*files.IDS, *files.IDS]
            assert found.records([files.N + 2, 1])["id"] == [14, 7]


def test_several_npy_are_gathered_not_copied(tmp_path):
    for at in range(3):
        np.save(tmp_path / f"part-{at}.npy", files.NUMBERS[at::3])
    found = open_rows(str(tmp_path / "part-*.npy"))
    assert isinstance(found.rows, Joined)
    assert found.path == str(tmp_path / "part-*.npy")
    whole = np.vstack([files.NUMBERS[at::3] for at in range(3)])
    chosen = pb.select(files.NUMBERS, found.rows, k=4, method="lazygreedy")
    truth = pb.select(files.NUMBERS, whole, k=4, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()
    assert chosen.fingerprints == truth.fingerprints


def test_columns_of_several_files_may_be_in_any_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n4.5,3\n")
    assert open_rows(tmp_path).rows.tolist() == [[1, 2], [3, 4.5]]


# -- without the libraries ------------------------------------------------------------------------


def test_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = files.write(tmp_path, "rows.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(pb.NotAvailable, match="Tables need pyarrow"):
        open_rows(path)


def test_tables_too_large_for_memory_are_cached_on_disk(tmp_path, monkeypatch):
    path = files.write(tmp_path, "rows.parquet")
    monkeypatch.setattr(table_rows, "MOST_HELD", 10)
    found = opened(path, cache=tmp_path / "cache")
    assert isinstance(found.rows, np.memmap)
    assert found.remark == ""
    np.testing.assert_array_equal(found.rows, files.NUMBERS)
