"""Report pages of files in every format."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

import protobandit as pb
from protobandit import InvalidInput
from protobandit.interfaces.jobs.read_options import ReadOptions
from protobandit.interfaces.jobs.report_page import report_page, require_shown, row_display
from protobandit.interfaces.jobs.saved_result import RunRecord

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def page_data(options, source, target=None, *, metric="euclidean", k=3):
    """Return the data of a page, and its notes."""
    source_rows, target_rows = options.open_sides(
        [str(source)], [] if target is None else [str(target)], seed=0
    )
    selection = pb.select(
        source_rows.rows,
        None if target_rows is source_rows else target_rows.rows,
        k=k,
        metric=metric,
        random_state=0,
    )
    text = report_page(selection, source_rows, target_rows, RunRecord(read_options=options))
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    return data, [unescape(note) for note in re.findall(r"<li>([^<]*)</li>", text)]


def columns(data):
    assert data["rows"]["look"]["columns"] == data["prototypes"]["look"]["columns"]
    return data["rows"]["look"]["columns"]


def cells(data, column):
    at = columns(data).index(column)
    rows = zip(data["rows"]["ids"], data["rows"]["look"]["items"], strict=True)
    return {row: item[at] for row, item in rows}


# -- numbers --------------------------------------------------------------------------------------


def test_unnamed_columns_are_shown_by_position(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    data, notes = page_data(ReadOptions(), tmp_path / "a.npy")
    assert columns(data) == ["0", "1", "2"]
    assert cells(data, "1") == {i: pytest.approx(ROWS[i, 1], rel=1e-14) for i in range(30)}
    assert data["rows"]["names"] is None
    assert notes == []


@pytest.mark.parametrize("n_columns", [32, 33, 784])
def test_omitted_columns_are_noted(tmp_path, n_columns):
    np.save(tmp_path / "a.npy", np.random.default_rng(1).normal(size=(9, n_columns)))
    data, notes = page_data(ReadOptions(), tmp_path / "a.npy")
    assert len(columns(data)) == 32
    expected = ["Prototypes are shown with at most 32 columns."] * (n_columns > 32)
    assert notes[:1] == expected


def test_float32_is_shown_with_its_own_digits(tmp_path):
    np.save(tmp_path / "a.npy", np.linspace(0.1, 0.9, 9, dtype=np.float32)[:, None])
    data, _ = page_data(ReadOptions(), tmp_path / "a.npy")
    assert cells(data, "0")[0] == 0.1


def test_other_arrays_of_a_file_come_before_the_features(tmp_path):
    np.savez(tmp_path / "a.npz", X=ROWS, y=np.arange(30) % 2, name=[f"n{i}" for i in range(30)])
    data, _ = page_data(ReadOptions(columns=("X",), label="y"), tmp_path / "a.npz")
    assert columns(data) == ["name", "0", "1", "2"]
    assert cells(data, "name")[7] == "n7"
    assert cells(data, "2")[7] == pytest.approx(ROWS[7, 2])
    assert sorted(data["labels"]) == ["0", "1"]


def test_sparse_rows_are_shown(tmp_path):
    dense = np.random.default_rng(2).integers(0, 3, (20, 50)).astype(float)
    save_npz(tmp_path / "a.npz", csr_array(dense))
    data, notes = page_data(ReadOptions(), tmp_path / "a.npz")
    assert columns(data) == [str(i) for i in range(32)]
    assert cells(data, "31") == dict(enumerate(dense[:, 31]))
    assert notes[0] == "Prototypes are shown with at most 32 columns."


def test_a_table_shows_its_columns_once(tmp_path):
    lines = ["id,a,b,kind", *(f"{i},{i / 8},{-i},{'xy'[i % 2]}" for i in range(20))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    data, notes = page_data(ReadOptions(id="id", label="kind"), tmp_path / "a.csv")
    assert columns(data) == ["a", "b"]  # ids and labels are shown separately
    assert data["rows"]["names"] == [str(i) for i in data["rows"]["ids"]]
    assert cells(data, "a")[19] == 19 / 8
    assert notes == []


# -- vectors --------------------------------------------------------------------------------------


def write_vectors(path, width, n=30, **more):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = np.random.default_rng(3).normal(size=(n, width))
    rows[:, 0] = np.arange(n)
    vectors = pa.array(rows.tolist(), pa.list_(pa.float64(), width))
    parquet.write_table(pa.table({"name": [f"n{i}" for i in range(n)], "v": vectors, **more}), path)
    return rows


def test_vectors_are_shown_after_other_columns(tmp_path):
    rows = write_vectors(tmp_path / "a.parquet", 4)
    data, notes = page_data(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert columns(data) == ["v[0]", "v[1]", "v[2]", "v[3]"]
    assert cells(data, "v[3]")[11] == pytest.approx(rows[11, 3], rel=1e-14)
    assert notes == []


def test_long_vectors_are_noted(tmp_path):
    write_vectors(tmp_path / "a.parquet", 100)
    data, notes = page_data(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert len(columns(data)) == 32
    assert "Column 'v' holds vectors of 100 numbers; only the first are shown." in notes
    assert "Prototypes are shown with at most 32 columns." in notes


def test_vectors_that_are_not_features_are_noted(tmp_path):
    write_vectors(tmp_path / "a.parquet", 4, x=np.arange(30.0))
    data, notes = page_data(ReadOptions(id="name", columns=("x",)), tmp_path / "a.parquet")
    assert columns(data) == ["x"]
    assert notes == ["Column 'v' holds vectors that are not shown."]


@pytest.mark.parametrize("width", [32, 33])
def test_the_id_column_does_not_count_as_shown(tmp_path, width):
    write_vectors(tmp_path / "a.parquet", width)
    data, notes = page_data(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert columns(data) == [f"v[{i}]" for i in range(32)]
    assert any("only the first are shown" in note for note in notes) == (width > 32)


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_column", [None, "name"])
def test_sampled_rows_are_named_by_their_row_number(tmp_path, id_column):
    write_vectors(tmp_path / "s.parquet", 2)
    write_vectors(tmp_path / "t.parquet", 2, n=2000)
    options = ReadOptions(id=id_column, columns=("v",), sample=50, cache=str(tmp_path / "cache"))
    data, _ = page_data(options, tmp_path / "s.parquet", tmp_path / "t.parquet")
    if id_column is None:
        numbers = {row: int(name[1:]) for row, name in cells(data, "name").items()}
    else:
        numbers = cells(data, "v[0]")  # which is the number in the file
    called = "row {:,}" if id_column is None else "n{}"
    for row, name in zip(data["rows"]["ids"], data["rows"]["names"], strict=True):
        assert name == called.format(numbers[row])
    assert [numbers[row] for row in range(50)] != sorted(numbers.values())
    assert (data["prototypes"]["names"] is None) == (id_column is None)


def test_only_samples_have_row_numbers(tmp_path):
    write_vectors(tmp_path / "t.parquet", 2, n=200)
    options = ReadOptions(columns=("v",), sample=20, cache=str(tmp_path / "cache"))
    paths = [str(tmp_path / "t.parquet")]
    opened, drawn = options.open_sides(paths, paths, seed=0)
    assert opened.numbers is None
    assert drawn.numbers.tolist() == drawn.rows[:, 0].tolist()
    names = row_display(drawn, options).names
    assert len(names) == 20
    assert list(names[2:4]) == [f"row {n}" for n in drawn.numbers[2:4]]


# -- images and texts -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_colour", [False, True])
def test_images_are_named_by_their_files(tmp_path, is_colour):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(4).integers(0, 256, (12, 5, 8, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        folder = tmp_path / "shown" / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pillow.fromarray(image).save(folder / f"{i}.png")
    data, _ = page_data(ReadOptions(label="folder", is_colour=is_colour), tmp_path / "shown")
    assert data["rows"]["look"]["kind"] == "images"
    assert len(data["rows"]["look"]["items"]) == 12
    names = dict(zip(data["rows"]["ids"], data["rows"]["names"], strict=True))
    assert names[0].endswith("a/0.png")
    assert data["prototypes"]["names"] == [names[i] for i in data["prototypes"]["ids"]]
    assert sorted(data["labels"]) == ["a", "b"]


def test_images_in_an_array_have_no_names(tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (12, 5, 8), dtype=np.uint8)
    np.save(tmp_path / "a.npy", pixels)
    data, _ = page_data(ReadOptions(), tmp_path / "a.npy")
    assert data["rows"]["look"]["kind"] == "images"
    assert data["rows"]["names"] is None


def test_texts_are_shown(tmp_path):
    words = [f"word {'x' * i}" for i in range(20)]
    (tmp_path / "a.txt").write_text("\n".join(words))
    data, _ = page_data(ReadOptions(), tmp_path / "a.txt", metric=lambda a, b: abs(len(a) - len(b)))
    assert data["prototypes"]["look"]["items"] == [words[i] for i in data["prototypes"]["ids"]]


def test_texts_of_a_table_are_shown(tmp_path):
    lines = ["id,body", *(f"{i},{'x' * i}y" for i in range(20))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    options = ReadOptions(id="id", columns=("body",))
    data, notes = page_data(options, tmp_path / "a.csv", metric=lambda a, b: abs(len(a) - len(b)))
    assert data["rows"]["look"]["kind"] == "texts"
    assert data["rows"]["names"] == [str(i) for i in data["rows"]["ids"]]
    assert notes == []


def test_vectors_beside_categories_are_not_shown(tmp_path):
    write_vectors(tmp_path / "a.parquet", 2, kind=["xy"[i % 2] for i in range(30)])
    options = ReadOptions(id="name", has_categories=True)
    opened, _ = options.open_sides([str(tmp_path / "a.parquet")], [], seed=0)
    shown = row_display(opened, options).rows(np.array([3, 5]))
    assert list(shown) == ["kind"]
    data, notes = page_data(replace(options, columns=("v",)), tmp_path / "a.parquet")
    assert columns(data) == ["kind"]
    assert notes == ["Column 'v' holds vectors that are not shown."]


def test_the_order_of_columns(tmp_path):
    """Columns to show come first, then the compared ones, then others, and constant ones last."""
    head = "id,same,note,b,kind,a,zero"
    lines = [head, *(f"{i},x,text {i},{-i},{'xy'[i % 2]},{i / 8},0" for i in range(20))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    options = ReadOptions(id="id", label="kind", columns=("a", "b", "zero"))
    data, _ = page_data(options, path)
    assert columns(data) == ["a", "b", "note", "zero", "same"]
    opened, _ = options.open_sides([str(path)], [], seed=0)
    shown = row_display(opened, options, ("kind", "note")).rows(np.array([3]))
    assert list(shown) == ["kind", "note", "a", "b", "zero", "same"]
    with pytest.raises(InvalidInput, match=r"--show 'knd' is not a column .* Did you mean 'kind'"):
        require_shown(opened, ("knd",))
