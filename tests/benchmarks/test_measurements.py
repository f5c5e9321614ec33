"""The scripts that write measurements, on very small problems, and the files that they write."""

from __future__ import annotations

import argparse
import math

import numpy as np
import pytest
from benchmarks.common import machine
from benchmarks.common.cases import Case
from benchmarks.common.records import command_of, read_measurement, write_measurement

from benchmarks import choosing, efforts, frontier, readme, shared_rows, sizes


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(n, 6)).astype(np.float32) for n in (150, 500))


# -- files ----------------------------------------------------------------------------------------


def test_a_measurement_names_its_run(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "commit", lambda: "abc1234")
    path = tmp_path / "new" / "x.json"
    figures = {"a": [1.23456789, math.inf], 5: (2, "b", None)}
    arguments = ["--data", "/a/folder", "--k", "5", "--room=/b"]
    write_measurement(path, "benchmarks.x", figures, seconds=61.0, arguments=arguments)
    found = read_measurement(path)
    assert found.figures == {"a": [1.23457, None], "5": [2, "b", None]}
    assert found.session.command == "python -m benchmarks.x --data DIR --k 5 --room=DIR"
    assert (found.session.commit, found.session.minutes) == ("abc1234", 2)
    assert found.session.date == machine.today()
    assert found.session.machine == machine.describe()
    assert "/a" not in path.read_text(encoding="utf-8")


def test_a_command_without_folders_is_unchanged():
    assert command_of("benchmarks.x", ["--only", "a,b"]) == "python -m benchmarks.x --only a,b"


@pytest.mark.parametrize(("changed", "commit"), [("", "abc1234"), (" M src/a.py", "abc1234-dirty")])
def test_a_commit_with_changed_files_is_marked(monkeypatch, changed, commit):
    answers = {"rev-parse": "abc1234", "status": changed}
    monkeypatch.setattr(machine, "_git", lambda name, *rest: answers[name])
    assert machine.commit() == commit


def test_no_commit_without_git(monkeypatch):
    def missing(*arguments):
        raise FileNotFoundError

    monkeypatch.setattr(machine, "_git", missing)
    assert machine.commit() == ""


# -- scripts --------------------------------------------------------------------------------------


def test_frontier(rows, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    source, target = rows
    monkeypatch.setattr(frontier, "paper_problem", lambda folder: (source, None, target, None))
    monkeypatch.setattr(frontier, "_SAMPLES", (50, 100))
    figures = frontier.measure(argparse.Namespace(data=None, k=4, seeds=2))
    points = figures["points"]
    assert {point["curve"] for point in points} == {*frontier._COLOURS}
    assert points[0]["evaluations"] == 150 * 50 + 4 * 500  # the sample, and judging the result
    frontier.draw(figures, tmp_path / "frontier.svg")
    text = (tmp_path / "frontier.svg").read_text(encoding="utf-8")
    assert "lazybandit with perturbation" in text


def test_choosing(rows):
    options = argparse.Namespace(seeds=2, only="random,fasterpam")
    figures = choosing.figures_of(choosing.Task("few rows", *rows, 4), options)
    methods = {each["method"]: each for each in figures["methods"]}
    assert methods.keys() == {"lazygreedy", "random", "fasterpam"}
    assert methods["lazygreedy"]["excess"] == 0
    assert methods["lazygreedy"]["share"] == 1
    assert methods["random"]["share"] == 4 / 150  # what judging the result costs
    assert methods["random"]["excess"] > methods["fasterpam"]["excess"]
    assert figures["methods"][-1]["method"] == "random"
    (title, _, table, _) = readme._method_table(figures)
    assert title.startswith("**few rows** (lazygreedy: cost ")
    assert "| `lazygreedy` | +0.00% | 1 | 1 |" in table


def test_efforts(rows, monkeypatch):
    some = {name: efforts.SETTINGS[name] for name in ("default", "growth 2", "arms ×0.4")}
    monkeypatch.setattr(efforts, "SETTINGS", some)
    results = [efforts.costs(Case(*rows), 4, setting, 2) for setting in some.values()]
    figures = efforts.figures_of(np.array(results))
    assert figures["excess"]["default"] == 0
    assert figures["evaluations"]["default"] == 1
    assert figures["regret"] == pytest.approx(1 / (1 + min(figures["excess"].values())) - 1)
    summary = efforts.summary([{"problem": "a", "k": 4, **figures}] * 2)
    assert summary["mean_excess"] == pytest.approx(figures["excess"])


def test_shared_rows(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    for name, value in {"_SOURCE": 40, "_TARGET": 5000, "_KS": (2, 4), "_NU": 2.0}.items():
        monkeypatch.setattr(shared_rows, name, value)
    figures = shared_rows.measure(1)
    uniform = figures["searches"][0]
    assert uniform["search"] == "uniform"
    assert uniform["shared"]["counts"][1] < uniform["alone"]["counts"][1]
    assert uniform["shared"]["powers"][0] < uniform["alone"]["powers"][0]
    shared_rows.draw(figures, tmp_path / "shared.svg")
    assert "slope 3" in (tmp_path / "shared.svg").read_text(encoding="utf-8")


def test_sizes(monkeypatch, tmp_path):
    report = {"seconds": 2.0, "peak": 9.0, "growth": 5.0, "read_bytes": 256, "rchar": 1}
    small = {**report, "seconds": 1.0, "growth": 3.0}
    monkeypatch.setattr(sizes, "_measured", lambda *arguments: [report, report, small])
    figures = sizes._npy(tmp_path, 1e-6)
    assert figures["rows"] == 20
    assert figures["bytes"] == 20 * 256 + 128
    assert (figures["bytes_read"], figures["time_of_few"]) == (256, 2.0)
    assert figures["memory_above_few_mb"] == 2.0
    assert not [*tmp_path.iterdir()]
