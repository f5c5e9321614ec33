"""Pages of files: whatever their format, rows are shown with what the files say of them."""

import json
import re
from html import unescape

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

import protobandit as pb
from protobandit.interfaces.jobs.page import exhibit, report_page
from protobandit.interfaces.jobs.read_options import ReadOptions, opened_sides

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def paged(reading, source, target=None, *, metric="euclidean", k=3):
    """Return the data of a page, and its notes."""
    ours, theirs = opened_sides(
        reading, [str(source)], [] if target is None else [str(target)], seed=0
    )
    selection = pb.select(
        ours.rows, None if theirs is ours else theirs.rows, k=k, metric=metric, random_state=0
    )
    text = report_page(selection, ours, theirs, reading, command="", seed=0)
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


def test_rows_without_names_are_shown_by_place(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    data, notes = paged(ReadOptions(), tmp_path / "a.npy")
    assert columns(data) == ["0", "1", "2"]
    assert cells(data, "1") == {i: pytest.approx(ROWS[i, 1], rel=1e-14) for i in range(30)}
    assert data["rows"]["names"] is None
    assert notes == []


@pytest.mark.parametrize("n_columns", [32, 33, 784])
def test_a_cut_is_noticed(tmp_path, n_columns):
    np.save(tmp_path / "a.npy", np.random.default_rng(1).normal(size=(9, n_columns)))
    data, notes = paged(ReadOptions(), tmp_path / "a.npy")
    assert len(columns(data)) == 32
    said = ["Prototypes are shown with at most 32 columns."] * (n_columns > 32)
    assert notes[:1] == said


def test_narrow_floats_keep_their_few_digits(tmp_path):
    np.save(tmp_path / "a.npy", np.linspace(0.1, 0.9, 9, dtype=np.float32)[:, None])
    data, _ = paged(ReadOptions(), tmp_path / "a.npy")
    assert cells(data, "0")[0] == 0.1


def test_arrays_beside_the_rows_come_before_their_features(tmp_path):
    np.savez(tmp_path / "a.npz", X=ROWS, y=np.arange(30) % 2, name=[f"n{i}" for i in range(30)])
    data, _ = paged(ReadOptions(columns=("X",), label="y"), tmp_path / "a.npz")
    assert columns(data) == ["name", "0", "1", "2"]
    assert cells(data, "name")[7] == "n7"
    assert cells(data, "2")[7] == pytest.approx(ROWS[7, 2])
    assert sorted(data["labels"]) == ["0", "1"]


def test_sparse_rows_are_shown(tmp_path):
    dense = np.random.default_rng(2).integers(0, 3, (20, 50)).astype(float)
    save_npz(tmp_path / "a.npz", csr_array(dense))
    data, notes = paged(ReadOptions(), tmp_path / "a.npz")
    assert columns(data) == [str(i) for i in range(32)]
    assert cells(data, "31") == dict(enumerate(dense[:, 31]))
    assert notes[0] == "Prototypes are shown with at most 32 columns."


def test_a_table_shows_its_own_columns_once(tmp_path):
    lines = ["id,a,b,kind", *(f"{i},{i / 8},{-i},{'xy'[i % 2]}" for i in range(20))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    data, notes = paged(ReadOptions(id="id", label="kind"), tmp_path / "a.csv")
    assert columns(data) == ["a", "b"]  # names and labels have places of their own
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
    data, notes = paged(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert columns(data) == ["v[0]", "v[1]", "v[2]", "v[3]"]
    assert cells(data, "v[3]")[11] == pytest.approx(rows[11, 3], rel=1e-14)
    assert notes == []


def test_long_vectors_are_said_to_be_cut(tmp_path):
    write_vectors(tmp_path / "a.parquet", 100)
    data, notes = paged(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert len(columns(data)) == 32
    assert "Column 'v' holds vectors of 100 numbers, of which the first are shown." in notes
    assert "Prototypes are shown with at most 32 columns." in notes


def test_vectors_that_rows_are_not_compared_by_are_said_to_be_left_out(tmp_path):
    write_vectors(tmp_path / "a.parquet", 4, x=np.arange(30.0))
    data, notes = paged(ReadOptions(id="name", columns=("x",)), tmp_path / "a.parquet")
    assert columns(data) == ["x"]
    assert notes == ["Column 'v' holds vectors, which are not shown."]


@pytest.mark.parametrize("width", [32, 33])
def test_a_column_of_names_takes_no_room_of_vectors(tmp_path, width):
    write_vectors(tmp_path / "a.parquet", width)
    data, notes = paged(ReadOptions(id="name"), tmp_path / "a.parquet")
    assert columns(data) == [f"v[{i}]" for i in range(32)]
    assert any("of which the first are shown" in note for note in notes) == (width > 32)


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_column", [None, "name"])
def test_rows_of_a_sample_are_called_by_their_number_in_the_file(tmp_path, id_column):
    write_vectors(tmp_path / "s.parquet", 2)
    write_vectors(tmp_path / "t.parquet", 2, n=2000)
    reading = ReadOptions(id=id_column, columns=("v",), sample=50, cache=str(tmp_path / "cache"))
    data, _ = paged(reading, tmp_path / "s.parquet", tmp_path / "t.parquet")
    numbers = cells(data, "v[0]")  # which is the number in the file
    called = "row {:,}" if id_column is None else "n{}"
    for row, name in zip(data["rows"]["ids"], data["rows"]["names"], strict=True):
        assert name == called.format(numbers[row])
    assert [numbers[row] for row in range(50)] != sorted(numbers.values())
    assert (data["prototypes"]["names"] is None) == (id_column is None)


def test_numbers_are_known_of_samples_only(tmp_path):
    write_vectors(tmp_path / "t.parquet", 2, n=200)
    ours = ReadOptions(columns=("v",)).source([str(tmp_path / "t.parquet")], is_target=True)
    assert ours.numbers is None
    reading = ReadOptions(columns=("v",), sample=20, cache=str(tmp_path / "cache"))
    drawn = reading.target([str(tmp_path / "t.parquet")], source=ours)
    assert drawn.numbers.tolist() == drawn.rows[:, 0].tolist()
    names = exhibit(drawn, reading).names
    assert len(names) == 20
    assert list(names[2:4]) == [f"row {n}" for n in drawn.numbers[2:4]]


# -- images and texts -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_colour", [False, True])
def test_images_of_a_folder_are_called_by_their_files(tmp_path, is_colour):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(4).integers(0, 256, (12, 5, 8, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        folder = tmp_path / "shown" / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pillow.fromarray(image).save(folder / f"{i}.png")
    data, _ = paged(ReadOptions(label="folder", is_colour=is_colour), tmp_path / "shown")
    assert data["rows"]["look"]["kind"] == "images"
    assert len(data["rows"]["look"]["items"]) == 12
    names = dict(zip(data["rows"]["ids"], data["rows"]["names"], strict=True))
    assert names[0].endswith("a/0.png")
    assert data["prototypes"]["names"] == [names[i] for i in data["prototypes"]["ids"]]
    assert sorted(data["labels"]) == ["a", "b"]


def test_images_in_an_array_have_numbers_only(tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (12, 5, 8), dtype=np.uint8)
    np.save(tmp_path / "a.npy", pixels)
    data, _ = paged(ReadOptions(), tmp_path / "a.npy")
    assert data["rows"]["look"]["kind"] == "images"
    assert data["rows"]["names"] is None


def test_texts_are_shown(tmp_path):
    words = [f"word {'x' * i}" for i in range(20)]
    (tmp_path / "a.txt").write_text("\n".join(words))
    data, _ = paged(ReadOptions(), tmp_path / "a.txt", metric=lambda a, b: abs(len(a) - len(b)))
    assert data["prototypes"]["look"]["items"] == [words[i] for i in data["prototypes"]["ids"]]


def test_texts_of_a_table_are_shown(tmp_path):
    lines = ["id,body", *(f"{i},{'x' * i}y" for i in range(20))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    reading = ReadOptions(id="id", columns=("body",))
    data, notes = paged(reading, tmp_path / "a.csv", metric=lambda a, b: abs(len(a) - len(b)))
    assert data["rows"]["look"]["kind"] == "texts"
    assert data["rows"]["names"] == [str(i) for i in data["rows"]["ids"]]
    assert notes == []


def test_categories_and_vectors_are_shown_together(tmp_path):
    write_vectors(tmp_path / "a.parquet", 2, kind=["xy"[i % 2] for i in range(30)])
    reading = ReadOptions(id="name", has_categories=True)
    ours, _ = opened_sides(reading, [str(tmp_path / "a.parquet")], [], seed=0)
    shown = exhibit(ours, reading).rows(np.array([3, 5]))
    assert list(shown) == ["kind", "v[0]", "v[1]"]
    assert list(shown["v[0]"]) == [3, 5]
