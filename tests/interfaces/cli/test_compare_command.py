"""``protobandit compare``."""

import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.calling import call, names, only_line
from protobandit.interfaces.jobs import compare
from protobandit.interfaces.jobs.compare import compared
from protobandit.interfaces.jobs.read_options import ReadOptions
from protobandit.interfaces.jobs.select_arguments import SelectArguments


def quiet(sentence):
    pass


def test_the_table(points, capsys):
    assert call("compare", "points.npy", "-k", 3, "--methods", "lazygreedy,random", "-q") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["method", "prototypes", "cost", "evaluations", "seconds"]
    rows = {line.split()[0]: line.split() for line in shown[2:4]}
    assert rows["lazygreedy"][-1] == "best"
    assert rows["random"][-1] != "best"
    assert "all 40 target rows" in shown[-1]
    assert names(points.parent) == ["points.npy"]


def test_for_machines_over_seeds(points, capsys):
    asked = ["--methods", "random,lazygreedy", "--seeds", 3, "--json"]
    assert call("compare", "points.npy", "-k", 2, *asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == "lazygreedy"
    rows = np.load(points)
    costs = [pb.select(rows, k=2, method="random", random_state=s).cost for s in range(3)]
    chance, greedy = found["methods"]
    assert chance["cost"] == pytest.approx(np.mean(costs))
    assert chance["cost_deviation"] == pytest.approx(np.std(costs, ddof=1))
    assert greedy["cost"] == pytest.approx(pb.select(rows, k=2, method="lazygreedy").cost)
    assert greedy["evaluations"] == 1600


def test_a_failure_is_shown_as_one(points, capsys):
    asked = ["--methods", "pam,lazygreedy", "--max-evaluations", 1000]
    assert call("compare", "points.npy", "-k", "auto", *asked[:2]) == 0
    shown = capsys.readouterr().out
    assert "failed: method='pam' does not heed k='auto'" in " ".join(shown.split())
    assert "best" in shown
    assert call("compare", "points.npy", "-k", "auto", "--methods", "pam") == 1
    assert only_line(capsys.readouterr().err) == "No method could solve this; the table says why."


def test_a_method_named_twice_runs_once_and_equals_share_the_first_place(points, capsys):
    asked = ["--methods", "lazygreedy,spotgreedy,lazygreedy,random", "-q"]
    assert call("compare", "points.npy", "-k", 3, *asked) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:5]]
    assert [row[0] for row in rows] == ["lazygreedy", "spotgreedy", "random"]
    assert [row[-1] == "best" for row in rows] == [True, True, False]


def test_fewer_prototypes_than_asked_for_are_shown(points, capsys):
    asked = ["--methods", "stochasticgreedy", "--max-evaluations", 1500, "-q", "--json"]
    assert call("compare", "points.npy", "-k", 9, *asked) == 0
    (score,) = json.loads(capsys.readouterr().out)["methods"]
    assert 1 <= score["prototypes"] < 9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.npy", "-k", 2], "does not exist"),
        (["points.npy", "-k", 41], "k=41 exceeds the 40 source rows"),
        (["points.npy", "-k", 2, "--methods", "pamm"], "method='pamm' is not known"),
        (["points.npy", "-k", 2, "--methods", ","], "names nothing"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_a_bad_call(arguments, words, points, capsys):
    assert call("compare", *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in only_line(shown.err)


def test_all_are_judged_on_the_same_rows_by_weight(folder, monkeypatch):
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=(300, 2)), random.integers(1, 3, size=300)
    rows[100:] += 1000
    weights[100:] = 0  # and so never judges
    np.savez("a.npz", X=rows, w=weights)
    task = SelectArguments(sources=("a.npz",), k=2, reading=ReadOptions(weights="w"))
    whole = compared(task, ["random"], 1, quiet)
    assert (whole.n_judges, whole.n_target) == (300, 300)
    with np.load("a.npz") as file:
        exact = pb.select(file["X"], k=2, weights=file["w"], method="random", random_state=0)
    assert whole.scores[0].cost == pytest.approx(exact.cost)
    monkeypatch.setattr(compare, "JUDGED", 250)
    drawn = compared(task, ["random", "random"], 1, quiet)
    assert drawn.n_judges == 250
    assert drawn.scores[0].cost == drawn.scores[1].cost
    assert drawn.scores[0].cost == pytest.approx(exact.cost, rel=0.2)
