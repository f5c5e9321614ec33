"""``protobandit update``."""

import csv
import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.run_cli import call, file_names, only_line


@pytest.fixture
def chosen(folder):
    """Select from 60 rows, and write 30 new ones elsewhere."""
    random = np.random.default_rng(0)
    for name, n, move in (("old", 60, 0), ("new", 30, 9)):
        rows = random.normal(size=(n, 2)) + move
        lines = [f"{name}{i},{x},{y}" for i, (x, y) in enumerate(rows)]
        (folder / f"{name}.csv").write_text("\n".join(["name,x,y", *lines, ""]))
    options = ["--id", "name", "--standardize", "--out", "out", "-q"]
    assert call("select", "old.csv", "-k", 10, *options) == 0
    return folder


def test_the_result_is_like_that_of_select(chosen, capsys):
    assert call("update", "out", "new.csv", "--keep", 0.7) == 0
    assert "kept 7 of 10 prototypes and added 3" in " ".join(capsys.readouterr().out.split())
    assert file_names(chosen / "out-updated") == ["prototypes.csv", "selection.json"]
    text = (chosen / "out-updated/selection.json").read_text()
    updated, before = (
        pb.Selection.from_json((chosen / name / "selection.json").read_text())
        for name in ("out-updated", "out")
    )
    assert len(set(updated.indices) & set(before.indices)) == 7
    assert json.loads(text)["run"]["source"] == ["old.csv", "new.csv"]
    names = [f"old{i}" for i in range(60)] + [f"new{i}" for i in range(30)]
    with (chosen / "out-updated/prototypes.csv").open() as file:
        assert [row["id"] for row in csv.DictReader(file)] == [names[i] for i in updated.indices]
    # Later commands recognise the files.
    assert call("certify", "out-updated", "--no-save") == 0
    assert call("report", "out-updated", "-q") == 0
    assert call("check", "out-updated", "new.csv") == 0
    assert "No drift was found" in capsys.readouterr().out
    assert call("update", "out-updated", "new.csv", "--out", "third", "--json") == 0
    assert json.loads(capsys.readouterr().out)["k"] == 10


def test_a_target_gets_the_new_rows(chosen):
    options = ["--target", "new.csv", "-k", 5, "--columns", "x", "--columns", "y", "-q"]
    assert call("select", "old.csv", *options, "--out", "aim") == 0
    assert call("update", "aim", "new.csv", "-k", 6, "-q") == 0
    run = json.loads((chosen / "aim-updated/selection.json").read_text())["run"]
    assert (run["source"], run["target"]) == (["old.csv"], ["new.csv", "new.csv"])


def test_errors(chosen, capsys):
    assert call("update", "out", "new.csv", "--keep", 2) == 2
    assert "--keep '2' is not a number from 0 to 1" in only_line(capsys.readouterr().err)
    assert call("update", "out", "new.csv", "-k", 3) == 2
    assert "keep=0.8" in only_line(capsys.readouterr().err)
    changed = (chosen / "old.csv").read_text().replace("old59,", "old59,1")
    (chosen / "old.csv").write_text(changed)
    assert call("update", "out", "new.csv") == 2
    assert "another digest" in only_line(capsys.readouterr().err)
    assert not (chosen / "out-updated").exists()
    (chosen / "out-updated").mkdir()
    (chosen / "out-updated/selection.json").write_text("")
    assert call("update", "out", "new.csv") == 2
    assert "--force" in only_line(capsys.readouterr().err)


def test_constraints_are_kept_or_refused(chosen, capsys):
    options = ["--id", "name", "--out", "kept", "-q"]
    assert call("select", "old.csv", "-k", 5, "--fixed", "old7,old9", *options) == 0
    assert call("update", "kept", "new.csv", "--keep", 0, "-q") == 0
    with (chosen / "kept-updated/prototypes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["id"] for row in rows if row["fixed"] == "yes"} == {"old7", "old9"}
    options = ["--columns", "x,y", "--groups", "name", "--at-most", 1, "--out", "quotas", "-q"]
    assert call("select", "old.csv", "-k", 5, "--min-distance", 0.1, "--out", "apart", "-q") != 0
    assert call("select", "old.csv", "-k", 5, "--min-distance", 0.1, *options) == 0
    capsys.readouterr()
    assert call("update", "quotas", "new.csv") == 2
    assert "not saved with it: min_distance" in only_line(capsys.readouterr().err)
