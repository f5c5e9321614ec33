"""benchmarks/mnist.py and benchmarks/medoids.py, on made-up rows and with rivals made up here."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.bars._bar import Bar

import protobandit as pb
from benchmarks import medoids, mnist

OPTIONS = Namespace(k=3, repeats=1, seeds=2, n_jobs=1, peer="their python", peer_picks=2)
reads_memory = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc"
)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(n, 6)).astype(np.float32) for n in (80, 300))


# -- exact greedy and ProtoBandit -----------------------------------------------------------------


def test_exact_greedy_then_protobandit(rows, capsys):
    exact = mnist.exact_greedy(*rows, OPTIONS)
    np.testing.assert_array_equal(
        exact["selection"].indices, pb.select(*rows, k=3, method="spotgreedy").indices
    )
    mnist.bandit(*rows, OPTIONS, exact)
    shown = capsys.readouterr().out
    assert "lazygreedy" in shown
    assert "evaluations             2.400e+04 = |S||T|" in shown
    assert "normalised loss" in shown
    assert "nan" not in shown


def test_the_largest_distance_and_the_mean_of_the_nearest(rows):
    source, target = rows
    distances = np.linalg.norm(source[:, None] - target[None], axis=2)
    assert mnist.largest(source, target) == pytest.approx(distances.max(), rel=1e-5)
    selection = pb.select(source, target, k=3)
    nearest = distances[selection.indices].min(axis=0)
    assert mnist.mean_distance(selection, target) == pytest.approx(nearest.mean(), rel=1e-5)


@reads_memory
def test_memory(rows, capsys):
    mnist.memory(*rows, 3)
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].startswith("peak memory, memoize=True ")
    assert lines[2].startswith("peak memory, memoize=False")
    assert lines[2].endswith(" x the matrix")


def test_a_rival_is_run_and_its_time_extrapolated(rows, capsys, monkeypatch):
    selection = pb.select(*rows, k=3, method="lazygreedy")

    def run(script, path, picks, *, python):
        assert (script, picks, python) == ("interpret_spot.py", 2, "their python")
        with np.load(path) as kept:
            np.testing.assert_array_equal(kept["target"], rows[1])
        indices = selection.indices[:2].tolist()
        return {"version": "0.0", "matrix": 4.0, "picks": 2.0, "indices": indices}

    monkeypatch.setattr(mnist._peers, "run", run)
    mnist.peer(*rows, OPTIONS, {"selection": selection, "lazy": 0.5})
    shown = capsys.readouterr().out
    assert "2 picks 2.0 s" in shown
    assert "(extrapolated from those picks)  7 s   14 x lazygreedy's time" in shown
    assert "same picks              True" in shown


def test_the_script_does_all_in_turn(rows, capsys, monkeypatch):
    source, target = rows
    monkeypatch.setattr(
        mnist, "paper_problem", lambda folder: (source, np.zeros(80), target, np.zeros(300))
    )
    done = []
    for name in ("memory", "starting", "peer"):
        monkeypatch.setattr(mnist, name, lambda *given, name=name: done.append(name))
    given = "mnist --k 3 --seeds 1 --repeats 1 --n-jobs 1 --peer python"
    monkeypatch.setattr(sys, "argv", shlex.split(given))
    mnist.main()
    assert done == ["memory", "starting", "peer"]
    assert "S (80, 6), T (300, 6), k = 3, n_jobs = 1" in capsys.readouterr().out


# -- k-medoids with its matrix --------------------------------------------------------------------


def peer(rows):
    """Return a stand-in for the package kmedoids, which finds what we find."""

    def run(script, path, k, *more, python):
        assert python == "their python"
        with np.load(path) as kept:
            n = len(kept["rows"])
        ours = pb.select(rows[:n], k=k, method="pam").indices.tolist()
        if script == "fasterpam.py":
            (n_seeds,) = more
            return {"version": "0", "seconds": [1.0] * n_seeds, "indices": [ours] * n_seeds}
        assert script == "pam.py"
        build = pb.select(rows[:n], k=k, method="spotgreedy").indices.tolist()
        return {"version": "0", "swaps": 1.0, "n_iter": 2, "start": build, "indices": ours}

    return run


@reads_memory
def test_medoids(monkeypatch, tmp_path, rows):
    some = rows[1]
    monkeypatch.setattr(medoids._peers, "run", peer(some))
    monkeypatch.setattr(medoids, "_PASSES", (("pam", 60, 3), ("fastpam1", 90, 4)))
    lines = [*medoids._contest(some, 5, 1, tmp_path, "their python")]
    bars = [line for line in lines if isinstance(line, Bar)]
    assert [bar.name.strip() for bar in bars] == [
        "kmedoids' time / ours, each with its matrix",
        "cost / kmedoids' cost",
        "memory / float32 matrix",
        *(["time of a pass / kmedoids'", "the same on one core", "cost / kmedoids' cost"] * 2),
    ]
    costs = [bar.figure for bar in bars if "cost" in bar.name]
    assert costs == pytest.approx([1, 1, 1], rel=0.02)
    # From the same start and in the same way: the very same medoids.
    assert costs[1] == pytest.approx(1, rel=1e-12)


def test_medoids_say_what_they_lack(monkeypatch, rows, tmp_path):
    monkeypatch.setattr(medoids, "mnist", lambda folder: rows)
    monkeypatch.setattr(sys, "argv", ["medoids", "--peers", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"environment of kmedoids is not in --peers"):
        medoids.main()
