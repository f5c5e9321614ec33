"""The bars of the flagship, on problems so small that they say nothing; and who prints them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks._data import MissingData
from benchmarks._referee import mean_distance
from benchmarks.bars import clock, growth, objective, strings
from benchmarks.bars._bar import Bar, Options, by_seed, lazybandit, search_evaluations, timed

import protobandit as pb
from benchmarks import flagship

ROOT = Path(__file__).parents[2]
ONE = Options(seeds=1)


@pytest.fixture
def rows():
    """Return a source and a target that hardly differ from noise."""
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(n, 6)).astype(np.float32) for n in (120, 400))


@pytest.fixture
def problem(rows):
    """Return a reader of made-up data, labels and all."""
    source, target = rows
    return lambda folder: (source, np.zeros(120), target, np.zeros(400))


@pytest.fixture
def children(monkeypatch):
    """Let processes of their own find the benchmarks."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [ROOT, *path])))


def bars_of(lines):
    bars = [line for line in lines if isinstance(line, Bar)]
    assert all(np.isfinite(bar.figure) and str(bar) for bar in bars)
    return {bar.name: bar.figure for bar in bars}


def shown(bar):
    return " ".join(str(bar).split())


# -- what a bar is --------------------------------------------------------------------------------


def test_a_bar_is_reached_on_the_right_side_of_its_limit():
    assert Bar("cost", 1.0, 1.0).is_reached
    assert not Bar("cost", 1.1, 1.0).is_reached
    assert Bar("speed", 4.0, 4.0, True).is_reached
    assert not Bar("speed", 3.9, 4.0, True).is_reached
    assert shown(Bar("speed", 3.5, 4.0, True)) == "not reached speed 3.5 (>= 4)"
    assert shown(Bar("loss", 0.001, 0.01, form=".1%")) == "OK loss 0.1% (<= 1.0%)"


def test_small_things(rows):
    seconds, result = timed(lambda: 7)
    assert seconds >= 0
    assert result == 7
    assert by_seed([0.5, 0.25], ".1%") == "50.0% 25.0%"
    selection = lazybandit(*rows, k=3, effort="fast", seed=0)
    phases = selection.evaluations_by_phase
    assert search_evaluations(selection) == phases["build"] + phases["swap"] > 0


# -- the parts ------------------------------------------------------------------------------------


def test_objective_is_measured_against_exact_greedy(rows):
    source, target = rows
    contest = objective.Contest.on(source, target, 4)
    exact = pb.select(source, target, k=4, method="spotgreedy")
    np.testing.assert_array_equal(contest.picks, exact.indices)
    distances = np.linalg.norm(source[:, None] - target[None], axis=2)
    assert contest.scale == pytest.approx(distances.max(), rel=1e-5)
    expected = 1 - distances[exact.indices].min(axis=0).mean() / distances.max()
    assert contest.f(exact.indices) == pytest.approx(expected, rel=1e-5)
    evaluations, losses = contest.results(4, "fast", 2)
    assert evaluations.shape == losses.shape == (2,)
    assert (losses < 0.2).all()


def test_mnist_and_cifar(monkeypatch, rows, problem):
    monkeypatch.setattr(objective, "paper_problem", problem)
    monkeypatch.setattr(objective, "cifar_problem", lambda folder: rows)
    monkeypatch.setattr(objective, "_FAST", {3: (1e9, 0.5), 5: (1e9, 0.5)})
    monkeypatch.setattr(objective, "_BETTER", {3: "balanced"})
    monkeypatch.setattr(objective, "_CIFAR_K", 3)
    figures = bars_of(objective.mnist(ONE))
    assert set(figures) == {
        *(f"k = {k}, fast: {what}" for k in (3, 5) for what in ("evaluations", "loss of f")),
        *(f"k = 3, effort balanced: {what}" for what in ("evaluations", "loss of f")),
    }
    assert 0 < figures["k = 3, fast: evaluations"] <= 2 * 120 * 400
    figures = bars_of(objective.cifar(ONE))
    # All pairs are computed once, where SPOTgreedy computes them for each of three.
    assert figures["k = 3, fast: SPOTgreedy / evaluations"] == pytest.approx(3, rel=0.5)


def test_the_clock(monkeypatch, problem):
    monkeypatch.setattr(clock, "paper_problem", problem)
    monkeypatch.setattr(clock, "_K", 3)
    lines = [*clock.clock(ONE)]
    assert lines[-1] == "    interpret is left out: no environment in --peers"
    assert [*bars_of(lines)] == ["time / float32 product S T' on two threads"]


def test_the_clock_with_a_rival(monkeypatch, problem):
    def run(script, rows, picks, *, python):
        assert (script, python) == ("interpret_spot.py", "their python")
        with np.load(rows) as kept:
            assert kept["source"].shape == (120, 6)
        return {"version": "0", "matrix": 2.0, "picks": 1.0 * picks}

    monkeypatch.setattr(clock, "paper_problem", problem)
    monkeypatch.setattr(clock, "_K", 3)
    monkeypatch.setattr(clock._peers, "python_of", lambda folder, name: "their python")
    monkeypatch.setattr(clock._peers, "run", run)
    monkeypatch.setattr(clock, "timed", lambda function: (0.5, function()))
    figures = bars_of(clock.clock(ONE))
    assert figures["time / float32 product S T' on two threads"] == 1
    # Two seconds for the matrix and one for each of three picks.
    assert figures["SPOT's time with its matrix / time"] == 5 / 0.5


def test_threads(monkeypatch, children, problem):
    monkeypatch.setattr(clock, "paper_problem", problem)
    monkeypatch.setattr(clock, "_K", 3)
    monkeypatch.setattr(clock, "_WAYS", {"one": (1, False), "two": (2, False)})
    figures = bars_of(clock.threads(ONE))
    assert figures["share of seeds with the same indices in all"] == 1
    assert len(figures) == 2


def test_growth(monkeypatch, children):
    monkeypatch.setattr(growth, "_SMALL", 300)
    monkeypatch.setattr(growth, "_LARGE", 1500)
    monkeypatch.setattr(growth, "_SOURCE", 50)
    monkeypatch.setattr(growth, "_K", 3)
    monkeypatch.setattr(growth, "_SOURCES", (40, 80))
    lines = [*growth.growth(ONE)]
    names = [*bars_of(lines)]
    if Path("/proc/self/status").exists():
        assert names.pop(0) == "time for 1e7 target rows / 1e5"
        assert names.pop(0) == "growth of anonymous memory, MB"
    assert names == ["time grows with |S| to the power"]
    assert sum(" rows: " in str(line) for line in lines) == 2


def test_rows_of_growth_come_in_pieces_of_the_same_centres():
    pieces = [*growth._pieces(25, size=10)]
    assert [len(piece) for piece in pieces] == [10, 10, 5]
    assert all(piece.dtype == np.float32 for piece in pieces)
    np.testing.assert_array_equal(pieces[0], next(growth._pieces(10, size=10)))


def test_strings(monkeypatch):
    pytest.importorskip("rapidfuzz")
    monkeypatch.setattr(strings, "_N", 150)
    monkeypatch.setattr(strings, "_K", 4)
    figures = bars_of(strings.strings(ONE))
    assert [*figures] == [
        "fast: |S||T| / evaluations",
        "fast: loss of f",
        "random rows: loss of f",
    ]
    assert figures["fast: loss of f"] < figures["random rows: loss of f"]


def test_greedy_on_a_matrix_of_whole_numbers_is_exact():
    matrix = np.random.default_rng(0).integers(200, size=(30, 40)).astype(np.uint8)
    nearest, picks = np.full(40, matrix.max(), dtype=int), []
    for _ in range(6):
        gains = np.maximum(nearest - matrix, 0).sum(axis=1)
        picks.append(int(gains.argmax()))
        nearest = np.minimum(nearest, matrix[picks[-1]])
    assert strings._greedy(matrix, 6).tolist() == picks
    assert strings._cost(matrix, np.array(picks)) == nearest.mean()


def test_the_referee(rows):
    source, target = rows
    distances = np.linalg.norm(source[None, :5].astype(float) - target[:, None], axis=2)
    assert mean_distance(source[:5], target) == pytest.approx(distances.min(axis=1).mean())


# -- the script -----------------------------------------------------------------------------------


def test_the_script_goes_on_where_data_are_missing(monkeypatch, capsys):
    def good(options):
        yield "some words"
        yield Bar("one", options.seeds, 3)
        yield Bar("two", 5, 3)

    def bad(options):
        yield Bar("three", 1, 1)
        raise MissingData("no such file")

    monkeypatch.setattr(flagship, "PARTS", {"good": good, "bad": bad})
    monkeypatch.setattr(sys, "argv", ["flagship", "--seeds", "2"])
    flagship.main()
    printed = capsys.readouterr().out
    assert "some words" in printed
    assert "left out: no such file" in printed
    assert "2 of 3 bars reached" in printed
    assert printed.rstrip().endswith("(<= 3)")


def test_the_script_runs_what_it_is_asked_for(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["flagship", "--data", str(tmp_path), "--only", "cifar,clock"])
    names, options = flagship.parse()
    assert names == ["cifar", "clock"]
    assert (options.data, options.peers, options.seeds) == (tmp_path, None, 5)
    monkeypatch.setattr(sys, "argv", ["flagship", "--only", "medoids"])
    with pytest.raises(SystemExit):
        flagship.parse()
    assert "['medoids'] not among ['mnist', 'cifar', 'clock'" in capsys.readouterr().err
