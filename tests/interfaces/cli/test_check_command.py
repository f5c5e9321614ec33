"""``protobandit check``."""

import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.run_cli import call, only_line, run_process


@pytest.fixture
def chosen(folder):
    """Select from 300 rows with ids, and write new rows: the same, and moved ones."""
    random = np.random.default_rng(0)
    for name, n, move in (("old", 300, 0), ("same", 150, 0), ("moved", 150, 1.5)):
        rows = random.normal(size=(n, 2)) + move
        lines = [f"{name}{i},{x},{y}" for i, (x, y) in enumerate(rows)]
        (folder / f"{name}.csv").write_text("\n".join(["name,x,y", *lines, ""]))
    assert call("select", "old.csv", "-k", 30, "--id", "name", "--out", "out", "-q") == 0
    return folder


def test_new_rows_are_compared(chosen, capsys):
    assert call("check", "out", "same.csv") == 0
    assert "No drift was found" in capsys.readouterr().out
    assert call("check", "out", "moved.csv") == 0
    shown = capsys.readouterr().out
    assert "worse than rows of the target" in shown
    assert "worst ids    moved" in shown


def test_the_exit_code_for_pipelines(chosen):
    assert (
        run_process("check", "out", "same.csv", "--fail-above", "1.3", cwd=chosen).returncode == 0
    )
    found = run_process("check", "out", "moved.csv", "--fail-above", "1.3", "-q", cwd=chosen)
    assert found.returncode == 4
    assert found.stdout == ""
    assert found.stderr.startswith("protobandit: the ratio ")
    assert found.stderr.endswith(" exceeds 1.3.\n")


def test_json(chosen, capsys):
    assert call("check", "out", "moved.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    selection = pb.Selection.from_json((chosen / "out/selection.json").read_text())
    rows = np.loadtxt(chosen / "moved.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    drift = selection.drift(rows)
    assert found["ratio"] == pytest.approx(drift.ratio)
    assert found["p_value"] == drift.p_value
    assert found["worst_rows"] == drift.worst_rows.tolist()
    assert found["worst_ids"] == [f"moved{i}" for i in drift.worst_rows]
    assert found["ids_to_add"] == [f"moved{i}" for i in drift.rows_to_add] != []
    assert len(found["mass_change"]) == 30
    assert found["quantiles"][2]["share"] == 0.5


def test_a_missing_reference_is_computed_once(chosen, capsys):
    path = chosen / "out/selection.json"
    document = json.loads(path.read_text())
    kept = document.pop("reference")
    path.write_text(json.dumps(document))
    assert call("check", "out", "same.csv", "-q") == 0
    found = json.loads(path.read_text())["reference"]
    assert np.mean(found["distances"]) == pytest.approx(np.mean(kept["distances"]), rel=0.1)
    document.pop("reference", None)
    path.write_text(json.dumps(document))
    (chosen / "old.csv").unlink()
    capsys.readouterr()
    assert call("check", "out", "same.csv") == 2
    assert "--source" in only_line(capsys.readouterr().err)


def test_limits_leave_the_reference_for_later(folder, points):
    assert call("select", "points.npy", "-k", 4, "--max-seconds", 60, "--out", "out", "-q") == 0
    assert json.loads((folder / "out/selection.json").read_text())["reference"] is None
    assert call("check", "out", "points.npy", "-q") == 0


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf"])
def test_invalid_ratios(chosen, capsys, text):
    assert call("check", "out", "same.csv", "--fail-above", text) == 2
    assert "--fail-above" in only_line(capsys.readouterr().err)


def test_a_selection_saved_from_python_knows_its_columns(chosen, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(chosen / "old.csv")
    pb.select(frame[["x", "y"]], k=30, random_state=0).save(chosen / "mine.json")
    assert call("check", "mine.json", "moved.csv", "--fail-above", 1.2, "-q") == 4
    assert call("assign", "mine.json", "moved.csv", "--out", "near.csv", "-q") == 0


@pytest.fixture
def filtered(folder):
    """Select from rows of kind a; new rows are moved, except those of kind a, which come last."""
    random = np.random.default_rng(1)
    old, new = random.normal(size=(300, 2)), random.normal(size=(200, 2))
    new[:100] += 9
    kinds = {"old": ["a"] * 300, "new": ["b"] * 100 + ["a"] * 100}
    for name, rows in (("old", old), ("new", new)):
        lines = [
            f"{name}{i},{kind},{x},{y}"
            for i, (kind, (x, y)) in enumerate(zip(kinds[name], rows, strict=True))
        ]
        (folder / f"{name}.csv").write_text("\n".join(["name,kind,x,y", *lines, ""]))
    arguments = ("--columns", "x,y", "--id", "name", "--where", "kind == 'a'", "--out", "out", "-q")
    assert call("select", "old.csv", "-k", 20, *arguments) == 0
    return folder


def test_the_condition_of_the_selection_holds_for_new_rows(filtered, capsys):
    assert call("check", "out", "new.csv") == 0
    shown = capsys.readouterr().out
    assert "new rows     100\n" in shown
    assert "where        kind == 'a' (200 rows in the files)\n" in shown
    assert call("check", "out", "new.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["where"] == "kind == 'a'"
    assert min(found["worst_rows"]) >= 100
    assert found["worst_ids"] == [f"new{row}" for row in found["worst_rows"]]


def test_a_report_of_new_rows_names_the_condition(filtered, capsys):
    assert call("report", "out", "--new", "new.csv", "--out", "page.html") == 0
    assert capsys.readouterr().err.endswith(
        "100 of 200 new rows were compared: those with kind == 'a', which is the --where of the "
        "selection.\n"
    )


def test_another_condition_or_none(filtered, capsys):
    assert call("check", "out", "new.csv", "--where", "", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 200
    assert "where" not in found
    assert found["p_value"] < 0.05
    assert call("check", "out", "new.csv", "--where", "kind == 'b'", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_rows"], found["where"]) == (100, "kind == 'b'")
    assert max(found["worst_rows"]) < 100


def test_new_rows_without_the_column_of_the_condition(filtered, capsys):
    (filtered / "bare.csv").write_text("x,y\n0,0\n1,1\n")
    assert call("check", "out", "bare.csv") == 2
    shown = only_line(capsys.readouterr().err)
    assert "made with --where \"kind == 'a'\"" in shown
    assert "--where '' for all rows" in shown
    assert call("check", "out", "bare.csv", "--where", "", "-q") == 0
    assert call("check", "out", "missing.csv") == 2
    assert "--where" not in only_line(capsys.readouterr().err)


def test_select_leaves_an_expensive_reference_to_check(folder, points, capsys, monkeypatch):
    assert call("select", "points.npy", "-k", 4, "--out", "cheap") == 0
    assert "`protobandit check`" not in capsys.readouterr().out
    monkeypatch.setattr("protobandit.run.reference._FEW_NUMBERS", 0)
    assert call("select", "points.npy", "-k", 4, "--out", "out") == 0
    shown = capsys.readouterr().out
    assert "drift        the first `protobandit check` repeats a part of the search\n" in shown
    assert json.loads((folder / "out/selection.json").read_text())["reference"] is None
    assert call("check", "out", "points.npy", "-q") == 0
    assert json.loads((folder / "out/selection.json").read_text())["reference"] is not None
