"""benchmarks/timing.py and benchmarks/edit_distance.py on very small problems."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import protobandit as pb
from benchmarks import edit_distance, timing

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(timing, "_K", 3)
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
    printed = capsys.readouterr().out
    assert "lazygreedy                0.50 s   1.000 times the product" in printed
    assert "import protobandit" in printed


def test_threads_give_the_same_indices(rows, capsys, monkeypatch, children):
    two = {"one thread": (1, False), "two threads": (2, False)}
    monkeypatch.setattr(timing, "_CONFIGURATIONS", two)
    ratios = timing.compare_threads(*rows, 1)
    assert ratios["one thread"] == 1
    assert ratios["two threads"] > 0
    assert "the same indices in all configurations: 1 of 1 seeds" in capsys.readouterr().out


def test_timed_returns_the_result():
    seconds, result = timing.timed(lambda: 7)
    assert seconds >= 0
    assert result == 7


def test_script_runs_the_requested_parts(rows, capsys, monkeypatch):
    source, target = rows
    monkeypatch.setattr(timing, "paper_problem", lambda folder: (source, None, target, None))
    done = []
    for name in timing.PARTS:
        part = lambda *arguments, name=name: done.append((name, arguments[-1]))  # noqa: E731
        monkeypatch.setitem(timing.PARTS, name, part)
    monkeypatch.setattr(sys, "argv", ["timing", "--only", "threads", "--seeds", "2"])
    timing.main()
    assert done == [("threads", 2)]
    monkeypatch.setattr(sys, "argv", ["timing", "--only", "medoids"])
    with pytest.raises(SystemExit):
        timing.main()
    assert "['medoids'] not allowed. Use some of ['methods'" in capsys.readouterr().err


# -- edit distance --------------------------------------------------------------------------------


def test_edit_distance(capsys):
    pytest.importorskip("rapidfuzz")
    losses = edit_distance.compare(150, 4, 1)
    assert [*losses] == ["fast", "balanced", "thorough", "random"]
    assert losses["fast"] < losses["random"]
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
