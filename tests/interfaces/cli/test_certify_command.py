"""``protobandit certify``."""

import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.run_cli import call, file_names, only_line


def test_the_certificate_is_saved(saved, capsys):
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
    assert file_names(saved) == ["prototypes.csv", "selection.json"]
    selection = pb.Selection.from_json((saved / "selection.json").read_text(encoding="utf-8"))
    assert selection.certificate.kind == "exact"


def test_options(saved, capsys):
    options = ["--kind", "asymptotic", "--evaluations", "1e3", "--seed", 1, "--no-save"]
    assert call("certify", "out", *options) == 0
    assert "Certificate (" in capsys.readouterr().out
    assert call("certify", "out", "--confidence", 2) == 2
    assert "confidence" in only_line(capsys.readouterr().err)


def test_a_sampled_target_is_reported_and_opened_again(folder, capsys):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = np.random.default_rng(3).normal(size=(500, 2))
    parquet.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1], "w": [1.0] * 500}), "t.parquet")
    parquet.write_table(pa.table({"x": rows[:50, 0], "y": rows[:50, 1]}), "s.parquet")
    options = ["--sample-rows", 100, "--cache", "cache", "--weights", "w", "-k", 3, "--out", "out"]
    assert call("select", "s.parquet", "--target", "t.parquet", *options) == 0
    assert "a sample of 100 of the 500 rows of t.parquet" in capsys.readouterr().out
    assert call("certify", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 100
    assert call("report", "out", "-q") == 0


def test_a_separate_target_is_opened_again(points, folder, capsys):
    np.save("target.npy", np.random.default_rng(5).normal(size=(25, 3)))
    options = ["--target", "target.npy", "-k", 3, "--out", "out", "-q"]
    assert call("select", "points.npy", *options) == 0
    assert call("certify", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 25
    target = folder / "target.npy"
    target.rename("moved.npy")
    assert call("certify", "out", "--source", "points.npy") == 2
    line = only_line(capsys.readouterr().err)
    assert "target.npy does not exist" in line
    assert line.endswith("pass --target with the new path.")
    assert call("certify", "out", "--target", "moved.npy", "--no-save") == 0
    capsys.readouterr()
    np.save(target, np.zeros((25, 3)))
    assert call("certify", "out") == 2
    assert "target is not what" in only_line(capsys.readouterr().err)
