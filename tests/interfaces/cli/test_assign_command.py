"""``protobandit assign``."""

import csv
import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.run_cli import call, file_names, only_line
from protobandit.interfaces.jobs import assign
from protobandit.interfaces.jobs.assign import assign_rows
from protobandit.interfaces.jobs.saved_result import SavedResult


def table_rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_the_nearest_prototype_of_each_row(saved, capsys):
    assert call("assign", "out", "flowers.csv") == 0
    rows = table_rows(capsys.readouterr().out)
    assert list(rows[0]) == [
        "row",
        "id",
        "rank",
        "prototype",
        "prototype_id",
        "prototype_label",
        "distance",
    ]
    assert [row["row"] for row in rows] == [str(i) for i in range(30)]
    selection = pb.Selection.from_json((saved / "selection.json").read_text(encoding="utf-8"))
    with saved.with_name("flowers.csv").open(encoding="utf-8", newline="") as file:
        given = list(csv.DictReader(file))
    numbers = np.array([[float(row["length"]), float(row["width"])] for row in given])
    labels, distances = selection.assign(numbers)
    assert [int(row["rank"]) for row in rows] == (labels + 1).tolist()
    assert [int(row["prototype"]) for row in rows] == selection.indices[labels].tolist()
    np.testing.assert_allclose([float(row["distance"]) for row in rows], distances)
    assert [row["id"] for row in rows] == [each["name"] for each in given]
    for row in rows:
        prototype = given[int(row["prototype"])]
        assert row["prototype_id"] == prototype["name"]
        assert row["prototype_label"] == prototype["kind"]


def test_other_columns_and_their_order_do_not_matter(saved, capsys):
    folder = saved.parent
    (folder / "new.csv").write_text("remark,width,length\nx,0.5,10\ny,0,20\n", encoding="utf-8")
    (folder / "old.csv").write_text("length,width\n10,0.5\n20,0\n", encoding="utf-8")
    np.save(folder / "bare.npy", [[10, 0.5], [20, 0.0]])
    found = []
    for name in ("new.csv", "old.csv", "bare.npy"):
        assert call("assign", "out/selection.json", folder / name) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] == found[2]
    assert "id" not in table_rows(found[0])[0]


@pytest.mark.parametrize("size", [1, 7, 30, 100])
def test_the_block_size_does_not_change_the_result(saved, size, capsys, monkeypatch):
    assert call("assign", "out", "flowers.csv") == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(assign, "BLOCK", size)
    assert call("assign", "out", "flowers.csv", "--out", "near.csv") == 0
    assert saved.with_name("near.csv").read_text(encoding="utf-8") == whole


def test_progress_is_reported_per_block(saved, monkeypatch):
    monkeypatch.setattr(assign, "BLOCK", 20)
    sentences = []
    result = SavedResult.load(saved)
    assert len(list(assign_rows(result, ["flowers.csv"], notify=sentences.append))) == 2
    assert sentences[-2:] == ["20 of 30 rows assigned …", "30 of 30 rows assigned …"]


def test_parquet(saved):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("assign", "out", "flowers.csv", "--format", "parquet", "--out", "near.pq") == 0
    found = parquet.read_table(saved.with_name("near.pq")).to_pydict()
    assert found["row"] == list(range(30))
    assert set(found["rank"]) == {1, 2, 3}


def test_a_selection_saved_from_python(points, folder, capsys):
    rows = np.load(points)
    selection = pb.select(rows, k=2)
    (folder / "mine.json").write_text(selection.to_json(), encoding="utf-8")
    assert call("assign", "mine.json", "points.npy") == 0
    found = [int(row["prototype"]) for row in table_rows(capsys.readouterr().out)]
    assert found == selection.indices[selection.assign(rows).labels].tolist()
    assert call("report", "mine.json") == 2
    assert "Pass --source" in only_line(capsys.readouterr().err)
    assert call("certify", "mine.json", "--source", "points.npy") == 0
    assert "For certain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere", "flowers.csv"], "'nowhere' cannot be read: No such file or directory"),
        (["flowers.csv", "flowers.csv"], "'flowers.csv' cannot be used: text is not JSON"),
        ([".", "flowers.csv"], "'selection.json' cannot be read"),
        (["cut.json", "flowers.csv"], "it may be cut short"),
        (["odd.json", "flowers.csv"], "'odd.json' has an invalid record of its run"),
        (["out", "missing.csv"], "missing.csv does not exist"),
        (["out", "empty.csv"], "empty"),
        (["out", "other.csv"], "no column 'length'"),
        (["out", "wide.npy"], "rows do not fit this selection"),
        (["out", "flowers.csv", "--format", "parquet"], "Pass --out FILE"),
        (["out", "flowers.csv", "--out", "other.csv"], "'other.csv' exists"),
        (["out", "flowers.csv", "--out", "out"], "is not a regular file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_input(arguments, words, saved, capsys):
    folder = saved.parent
    text = (saved / "selection.json").read_text(encoding="utf-8")
    (folder / "cut.json").write_text(text[:500], encoding="utf-8")
    odd = {**json.loads(text), "run": {"command": "mine"}}
    (folder / "odd.json").write_text(json.dumps(odd), encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    np.save(folder / "wide.npy", np.zeros((2, 5)))
    before = file_names(folder)
    assert call("assign", *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err)
    assert file_names(folder) == before


def test_a_summary_is_printed_to_stderr(saved, capsys):
    assert call("assign", "out", "flowers.csv", "--out", "near.csv") == 0
    summary = capsys.readouterr().err
    assert summary.startswith("30 rows assigned to 3 of 3 prototypes; mean distance ")
    assert call("assign", "out", "flowers.csv", "--out", "near.csv", "--force", "-q") == 0
    assert capsys.readouterr().err == ""


def test_recorded_files_are_found_from_another_folder(saved, monkeypatch, tmp_path_factory):
    """They are looked up beside the selection too, and in the folder above."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert call("certify", saved, "--no-save") == 0
    assert call("check", saved, saved.parent / "flowers.csv", "-q") == 0
