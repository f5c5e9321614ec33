"""What can be done with a saved selection: assign, report, certify."""

import csv
import io
import json
import sys

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.calling import call, names, only_line
from protobandit.interfaces.jobs import assign
from protobandit.interfaces.jobs.assign import assigned
from protobandit.interfaces.jobs.saved_result import SavedResult


def lines(text):
    return list(csv.DictReader(text.splitlines()))


# -- assign ---------------------------------------------------------------------------------------


def test_assign_says_which_prototype_is_nearest(saved, capsys):
    assert call("assign", "out", "flowers.csv") == 0
    rows = lines(capsys.readouterr().out)
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
    assert "id" not in lines(found[0])[0]


def test_stdout_gets_what_a_file_would_whatever_the_locale(saved, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert call("assign", "out", "flowers.csv") == 0
    shown = sys.stdout.buffer.getvalue()
    assert "“ü”".encode() in shown
    assert call("assign", "out", "flowers.csv", "--out", "near.csv") == 0
    assert saved.with_name("near.csv").read_bytes() == shown


def test_json_keeps_what_the_locale_has_no_letters_for(saved, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    asked = ["--id", "name", "--label", "kind", "--out", "again", "--json"]
    assert call("select", "flowers.csv", "-k", 2, *asked) == 0
    assert json.loads(sys.stdout.buffer.getvalue())["ids"][0].endswith("“ü”")


@pytest.mark.parametrize("size", [1, 7, 30, 100])
def test_blocks_make_no_difference(saved, size, capsys, monkeypatch):
    assert call("assign", "out", "flowers.csv") == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(assign, "BLOCK", size)
    assert call("assign", "out", "flowers.csv", "--out", "near.csv") == 0
    assert saved.with_name("near.csv").read_text(encoding="utf-8") == whole


def test_how_far_assign_is(saved, monkeypatch):
    monkeypatch.setattr(assign, "BLOCK", 20)
    said = []
    result = SavedResult.load(saved)
    assert len(list(assigned(result, ["flowers.csv"], tell=said.append))) == 2
    assert said[-2:] == ["20 of 30 rows assigned …", "30 of 30 rows assigned …"]


def test_assign_to_parquet(saved):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("assign", "out", "flowers.csv", "--format", "parquet", "--out", "near.pq") == 0
    found = parquet.read_table(saved.with_name("near.pq")).to_pydict()
    assert found["row"] == list(range(30))
    assert set(found["rank"]) == {1, 2, 3}


def test_a_selection_saved_from_python_can_assign(points, folder, capsys):
    rows = np.load(points)
    selection = pb.select(rows, k=2)
    (folder / "mine.json").write_text(selection.to_json(), encoding="utf-8")
    assert call("assign", "mine.json", "points.npy") == 0
    found = [int(row["prototype"]) for row in lines(capsys.readouterr().out)]
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
        (["odd.json", "flowers.csv"], "'odd.json' does not say how it was made"),
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
def test_what_assign_refuses(arguments, words, saved, capsys):
    folder = saved.parent
    text = (saved / "selection.json").read_text(encoding="utf-8")
    (folder / "cut.json").write_text(text[:500], encoding="utf-8")
    odd = {**json.loads(text), "run": {"command": "mine"}}
    (folder / "odd.json").write_text(json.dumps(odd), encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    np.save(folder / "wide.npy", np.zeros((2, 5)))
    before = names(folder)
    assert call("assign", *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in only_line(shown.err)
    assert names(folder) == before


# -- report and certify ---------------------------------------------------------------------------


def test_report_beside_the_selection(saved, capsys):
    assert call("report", "out") == 0
    assert capsys.readouterr().out == "out/report.html\n"
    page = (saved / "report.html").read_text(encoding="utf-8")
    assert "=n, " in page
    assert "protobandit select flowers.csv -k 3" in page
    assert call("report", "out") == 2
    assert "'out/report.html' exists. Pass --force" in only_line(capsys.readouterr().err)
    assert call("report", "out", "--force", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"out": "out/report.html"}


def test_files_that_have_moved(saved, capsys):
    flowers = saved.with_name("flowers.csv").rename(saved.with_name("elsewhere.csv"))
    for command in ("report", "certify"):
        assert call(command, "out") == 2
        line = only_line(capsys.readouterr().err)
        assert "flowers.csv does not exist" in line
        assert "made from --source flowers.csv, " in line
        assert line.endswith("If these have moved, pass --source with their new place.")
    assert call("report", "out", "--source", flowers, "--out", "page.html", "-q") == 0
    assert "page.html" in names(saved.parent)


@pytest.mark.parametrize("command", ["report", "certify"])
def test_files_that_have_changed(saved, command, capsys):
    flowers = saved.with_name("flowers.csv")
    text = flowers.read_text(encoding="utf-8")
    flowers.write_text(text + "another,1,1,a,1\n", encoding="utf-8")
    before = names(saved)
    assert call(command, "out") == 2
    line = only_line(capsys.readouterr().err)
    assert "source is not what this selection was made from" in line
    assert "select again" in line
    assert names(saved) == before


def test_certify_keeps_what_it_found(saved, capsys):
    before = json.loads((saved / "selection.json").read_text(encoding="utf-8"))
    assert call("certify", "out", "--no-save") == 0
    assert "cost ratio   at most 1." in capsys.readouterr().out
    assert json.loads((saved / "selection.json").read_text(encoding="utf-8")) == before
    assert call("certify", "out", "--confidence", 0.9, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    after = json.loads((saved / "selection.json").read_text(encoding="utf-8"))
    assert after["certificate"] == found
    assert after["evaluations_by_phase"]["certify"] == found["evaluations"]
    assert after["run"] == before["run"]
    assert names(saved) == ["prototypes.csv", "selection.json"]
    selection = pb.Selection.from_json((saved / "selection.json").read_text(encoding="utf-8"))
    assert selection.certificate.kind == "exact"


def test_certify_with_options(saved, capsys):
    asked = ["--kind", "asymptotic", "--evaluations", "1e3", "--seed", 1, "--no-save"]
    assert call("certify", "out", *asked) == 0
    assert "Certificate (" in capsys.readouterr().out
    assert call("certify", "out", "--confidence", 2) == 2
    assert "confidence" in only_line(capsys.readouterr().err)


def test_a_sample_of_the_target_is_said_and_found_again(folder, capsys):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = np.random.default_rng(3).normal(size=(500, 2))
    parquet.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1], "w": [1.0] * 500}), "t.parquet")
    parquet.write_table(pa.table({"x": rows[:50, 0], "y": rows[:50, 1]}), "s.parquet")
    asked = ["--sample-rows", 100, "--cache", "cache", "--weights", "w", "-k", 3, "--out", "out"]
    assert call("select", "s.parquet", "--target", "t.parquet", *asked) == 0
    assert "a sample of 100 of the 500 rows of t.parquet" in capsys.readouterr().out
    assert call("certify", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 100
    assert call("report", "out", "-q") == 0


def test_a_target_is_opened_again_too(points, folder, capsys):
    np.save("target.npy", np.random.default_rng(5).normal(size=(25, 3)))
    asked = ["--target", "target.npy", "-k", 3, "--out", "out", "-q"]
    assert call("select", "points.npy", *asked) == 0
    assert call("certify", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 25
    target = folder / "target.npy"
    target.rename("moved.npy")
    assert call("certify", "out", "--source", "points.npy") == 2
    line = only_line(capsys.readouterr().err)
    assert "target.npy does not exist" in line
    assert line.endswith("pass --target with their new place.")
    assert call("certify", "out", "--target", "moved.npy", "--no-save") == 0
    capsys.readouterr()
    np.save(target, np.zeros((25, 3)))
    assert call("certify", "out") == 2
    assert "target is not what" in only_line(capsys.readouterr().err)
