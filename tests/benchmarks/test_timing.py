"""benchmarks/timing.py and benchmarks/edit_distance.py on very small problems."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.common.records import read_measurement

import protobandit as pb
from benchmarks import edit_distance, timing

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(timing, "_K", 3)
    monkeypatch.setattr(timing, "_N_CLUSTERED", 600)
    monkeypatch.setattr(timing, "_K_CLUSTERED", 5)
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(n, 6)).astype(np.float32) for n in (120, 400))


@pytest.fixture
def children(monkeypatch):
    """Let other processes import the benchmarks."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [ROOT, *path])))


# -- timing ---------------------------------------------------------------------------------------


def test_methods_are_compared_with_the_product(rows, capsys, monkeypatch):
    monkeypatch.setattr(timing, "timed", lambda function: (0.5, function()))
    ratios = timing.compare_methods(*rows, 2)
    assert ratios == dict.fromkeys(timing._METHODS, 1.0)
    assert "lazygreedy                0.50 s   1.000 times the product" in capsys.readouterr().out


def test_first_call_compiles_and_later_ones_do_not(rows, monkeypatch):
    runs = iter(2 * [(0.2, 9.0), (0.1, 2.0), (0.3, 1.0), (0.2, 3.0)])
    monkeypatch.setattr(timing, "_first_call", lambda *arguments: next(runs))
    calls = timing.time_calls(*rows, 3)
    assert calls == {
        "import": 0.2,
        "lazybandit compiling call": 9.0,
        "lazybandit first call": 2.0,
        "localsearch compiling call": 9.0,
        "localsearch first call": 2.0,
    }


def test_a_first_call_says_which_method_it_used(tmp_path):
    rows = tmp_path / "rows.npz"
    np.savez(rows, target=np.random.default_rng(0).normal(size=(50, 3)))
    imported, called = timing._first_call(rows, 50, "lazybandit", {**os.environ})
    assert 0 < imported < called
    with pytest.raises(AssertionError, match="auto used lazybandit for 50 rows"):
        timing._first_call(rows, 50, "localsearch", {**os.environ})


def test_passes_are_compared_with_a_product(rows, capsys):
    assert timing.compare_passes(*rows, 1)["passes"] > 0
    assert "Clusters (600, 64), k = 5: passes take" in capsys.readouterr().out


def test_threads_give_the_same_indices(rows, capsys, monkeypatch, children):
    two = {"one thread": (1, False), "two threads": (2, False)}
    monkeypatch.setattr(timing, "_CONFIGURATIONS", two)
    found = timing.compare_threads(*rows, 1)
    assert found.keys() == {"lazybandit", "localsearch"}
    for ratios in found.values():
        assert ratios["one thread"] == 1
        assert ratios["two threads"] > 0
    printed = capsys.readouterr().out
    assert printed.count("the same indices in all configurations: 1 of 1 seeds") == 2


def test_timed_returns_the_result():
    seconds, result = timing.timed(lambda: 7)
    assert seconds >= 0
    assert result == 7


def test_script_runs_the_requested_parts(rows, capsys, monkeypatch, tmp_path):
    source, target = rows
    monkeypatch.setattr(timing, "paper_problem", lambda folder: (source, None, target, None))
    done = []
    for name in timing.PARTS:
        part = lambda *arguments, name=name: done.append((name, arguments[-1]))  # noqa: E731
        monkeypatch.setitem(timing.PARTS, name, part)
    out = tmp_path / "timing.json"
    arguments = ["--only", "threads", "--seeds", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["timing", *arguments])
    timing.main()
    assert done == [("threads", 2)]
    measurement = read_measurement(out)
    assert measurement.figures.keys() == {"seeds", "k", "threads", "threads_others_cores"}
    assert measurement.session.command.startswith("python -m benchmarks.timing --only threads")
    monkeypatch.setattr(sys, "argv", ["timing", "--only", "medoids"])
    with pytest.raises(SystemExit):
        timing.main()
    assert "['medoids'] not allowed. Use some of ['methods'" in capsys.readouterr().err


# -- edit distance --------------------------------------------------------------------------------


def test_edit_distance(capsys):
    pytest.importorskip("rapidfuzz")
    losses = edit_distance.compare(150, 4, 1)
    assert {"fast", "balanced", "thorough", "random"} < {*losses}
    assert losses["fast"]["loss"] < losses["random"]["loss"]
    assert 0 < losses["fast"]["share"] <= 1
    assert "of all pairs   loss of f" in capsys.readouterr().out


def test_greedy_on_a_matrix_of_integers_is_exact():
    matrix = np.random.default_rng(0).integers(200, size=(30, 40)).astype(np.uint8)
    nearest, picks = np.full(40, matrix.max(), dtype=int), []
    for _ in range(6):
        gains = np.maximum(nearest - matrix, 0).sum(axis=1)
        picks.append(int(gains.argmax()))
        nearest = np.minimum(nearest, matrix[picks[-1]])
    assert edit_distance.greedy(matrix, 6).tolist() == picks
    assert edit_distance.cost(matrix, np.array(picks)) == nearest.mean()
    exact = pb.select(matrix.T.astype(float), k=6, metric="precomputed", method="lazygreedy")
    assert exact.indices.tolist() == picks
