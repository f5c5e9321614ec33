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
from protobandit.rows.convert import as_rows
from protobandit.rows.files import table_rows
from protobandit.rows.files.opened import Opened
from protobandit.rows.memory_maps import Joined
from rows.files import files


def opened(path, **options):
    """Open a file of `files`, its ids and labels left out of the features."""
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
def test_columns_and_records_are_those_of_the_rows(tmp_path, name):
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
def test_select_takes_the_path_of_a_file(tmp_path, name, as_path):
    path = files.write(tmp_path, name)
    if path.name in files.TABLES:  # what is not a number is left out by the one who writes it
        table = files.columns().select(list("xyz"))
        path = tmp_path / "plain.parquet"
        pyarrow.parquet.write_table(table, path)
    chosen = pb.select(as_path(path), k=3, method="lazygreedy")
    truth = pb.select(files.NUMBERS, k=3, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()


def test_select_takes_two_paths(tmp_path):
    source = files.write(tmp_path, "rows.npy")
    target = tmp_path / "target.npy"
    np.save(target, files.NUMBERS[:20])
    chosen = pb.select(source, target, k=3, method="lazygreedy")
    truth = pb.select(files.NUMBERS, files.NUMBERS[:20], k=3, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()
    assert chosen.assign(target).labels.tolist() == truth.assign(files.NUMBERS[:20]).labels.tolist()


# -- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.TABLES)
@pytest.mark.parametrize(
    ("columns", "expected"),
    [("x", "x"), (["z", "x"], "zx"), ("[xy]", "xy"), ("?", "xyz"), (["y", "?"], "yxz")],
)
def test_columns_go_by_name_or_pattern(tmp_path, name, columns, expected):
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


def test_vectors_stand_beside_numbers(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [{"a": i, "v": [i, 2.5]} for i in range(4)]
    path.write_text("\n".join(map(json.dumps, lines)))
    found = open_rows(path)
    assert found.features == ("a", "v[0]", "v[1]")
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
def test_what_is_missing_is_nan(tmp_path, dtype):
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


def test_texts_are_categories_if_asked_for(tmp_path):
    path = files.write(tmp_path, "rows.csv")
    found = open_rows(path, without=["id"], categories=True)
    assert found.kind == "mixed"
    assert isinstance(found.rows, Columns)
    assert found.features == ("x", "y", "z", "label")
    assert found.rows.categories["label"].tolist() == files.LABELS
    np.testing.assert_allclose(found.rows.numbers, files.NUMBERS, rtol=1e-6)
    assert len(found) == files.N


def test_categories_alone_make_rows_without_numbers(tmp_path):
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
def test_columns_that_may_be_there_are_no_features_if_they_are(tmp_path, name):
    found = open_rows(files.write(tmp_path, name), perhaps=["id", "label", "nowhere"])
    assert len(found.features) == 3
    assert len(found) == files.N


def test_row_numbers_that_pandas_wrote_are_no_features(tmp_path):
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
def test_what_was_opened_can_be_selected_from_and_says_what_it_is(tmp_path, preparation, is_target):
    path = files.write(tmp_path, "rows.parquet")
    options = {"columns": ["x", "y", "z"], "cache": tmp_path}
    some = open_rows(path, **options, sample=20, name="target")
    rows = (open_rows(path, **options), some) if is_target else (some,)
    found = pb.select(*rows, k=3, preparation=preparation, random_state=0)
    same = pb.select(*(each.rows for each in rows), k=3, preparation=preparation, random_state=0)
    assert found.indices.tolist() == same.indices.tolist()
    assert found.status.count(some.remark) == 1
    assert some.remark.startswith("The target is a sample of 20 of the 50 rows of")
    assert found.status.replace(f" {some.remark}", "") == same.status


def test_missing_values_are_counted_by_column_whatever_holds_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,\n2,3\n,\n")
    expected = r"source has missing values \(3 rows checked\): 1 in 'a', 2 in 'b'.*impute="
    for rows in (path, str(path), open_rows(path)):
        with pytest.raises(pb.InvalidInput, match=expected):
            pb.select(rows, k=1)
    selection = pb.select(path, k=1, preparation=pb.Preparation(impute="mean"))
    with pytest.raises(
        pb.InvalidInput, match=r"missing values \(3 rows checked\): 1 in 'a', 2 in 'b'"
    ):
        pb.select(path, k=1, preparation=pb.Preparation(standardize=True))
    assert selection.assign(path).labels.tolist() == [0, 0, 0]


# -- .npy and .npz --------------------------------------------------------------------------------


def test_npy_is_mapped_and_not_copied(tmp_path):
    found = open_rows(files.write(tmp_path, "rows.npy"))
    assert isinstance(found.rows, np.memmap)
    assert not found.rows.flags.writeable


def test_fortran_order_is_put_right(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(files.NUMBERS))
    rows = open_rows(path).rows
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, files.NUMBERS)


def test_large_files_in_fortran_order_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(files.NUMBERS))
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 10)
    with pytest.raises(pb.InvalidInput, match=r"Fortran order.*ascontiguousarray"):
        open_rows(path)


@pytest.mark.parametrize("dtype", [">f4", "<f8", "i2", "u1", "?", "f2"])
def test_numbers_of_any_order_of_bytes(tmp_path, dtype):
    rows = (10 * files.NUMBERS).astype(dtype)
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    found = as_rows(open_rows(path), name="source").take(slice(0, files.N))
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize(
    ("shape", "image"), [((5, 4), (5, 4)), ((5, 4, 3), (5, 4, 3)), ((5, 4, 1), (5, 4))]
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_bytes_of_three_dimensions_are_images(tmp_path, suffix, shape, image):
    pixels = np.random.default_rng(0).integers(256, size=(6, *shape), dtype=np.uint8)
    path = tmp_path / f"rows{suffix}"
    np.save(path, pixels) if suffix == ".npy" else np.savez(path, pixels)
    found = open_rows(path)
    assert (found.kind, found.image_shape) == ("images", image)
    assert found.rows.shape == (6, int(np.prod(shape)))
    np.testing.assert_array_equal(found.images([4, 1]), pixels[[4, 1]].reshape(2, *image))


def test_rows_that_are_no_images_make_none(tmp_path):
    with pytest.raises(pb.InvalidInput, match="holds numbers, not images"):
        open_rows(files.write(tmp_path, "rows.npy")).images([0])


def test_npz_of_several_tables_wants_a_name(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, a=files.NUMBERS, b=2 * files.NUMBERS, y=files.IDS, short=np.arange(3))
    with pytest.raises(
        pb.InvalidInput, match=r"holds 'a', 'b'. Name .* with data.open_rows\(path, columns="
    ):
        open_rows(path)
    found = open_rows(path, columns="b")
    np.testing.assert_array_equal(found.rows, 2 * files.NUMBERS)
    assert found.names == ("y",)


def test_large_members_of_npz_are_spilled(tmp_path, monkeypatch):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, rows=files.NUMBERS)
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 10)
    found = open_rows(path, cache=tmp_path / "cache")
    assert isinstance(found.rows, np.memmap)
    np.testing.assert_array_equal(found.rows, files.NUMBERS)


# -- texts ----------------------------------------------------------------------------------------


def test_a_text_a_line(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffété\r\n\nc\u2028d\nlast".encode())
    found = open_rows(path)
    assert (found.kind, found.format, found.features) == ("texts", "text", ())
    assert found.rows == ["été", "", "c\u2028d", "last"]
    assert found.records([3, 0]) == {"text": ["last", "été"]}
    assert found.column("text").tolist() == found.rows
    assert pb.select(path, k=2, metric="levenshtein").k == 2
    with pytest.raises(pb.InvalidInput, match="does not hold numbers"):
        pb.select(path, k=2)


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


def test_columns_of_several_files_may_stand_in_any_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n4.5,3\n")
    assert open_rows(tmp_path).rows.tolist() == [[1, 2], [3, 4.5]]


# -- without the libraries ------------------------------------------------------------------------


def test_says_what_to_install(tmp_path, monkeypatch):
    path = files.write(tmp_path, "rows.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(pb.NotAvailable, match=r"protobandit\[files\]"):
        open_rows(path)


def test_whole_tables_too_large_to_hold_are_spilled(tmp_path, monkeypatch):
    path = files.write(tmp_path, "rows.parquet")
    monkeypatch.setattr(table_rows, "MOST_HELD", 10)
    found = opened(path, cache=tmp_path / "cache")
    assert isinstance(found.rows, np.memmap)
    assert found.remark == ""
    np.testing.assert_array_equal(found.rows, files.NUMBERS)
