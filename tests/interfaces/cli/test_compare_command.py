"""``protobandit compare``."""

import json

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.run_cli import call, file_names, only_line
from protobandit.interfaces.jobs import compare
from protobandit.interfaces.jobs.compare import compare_methods
from protobandit.interfaces.jobs.opened_problem import SelectArguments
from protobandit.interfaces.jobs.read_options import ReadOptions


def quiet(sentence):
    pass


def test_the_table(points, capsys):
    assert call("compare", "points.npy", "-k", 3, "--methods", "lazygreedy,random", "-q") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["method", "prototypes", "cost", "evaluations", "seconds"]
    rows = {line.split()[0]: line.split() for line in printed[2:4]}
    assert rows["lazygreedy"][-1] == "best"
    assert rows["random"][-1] != "best"
    assert "all 40 target rows" in printed[-1]
    assert file_names(points.parent) == ["points.npy"]


def test_json_with_several_seeds(points, capsys):
    options = ["--methods", "random,lazygreedy", "--seeds", 3, "--json"]
    assert call("compare", "points.npy", "-k", 2, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == "lazygreedy"
    rows = np.load(points)
    costs = [pb.select(rows, k=2, method="random", random_state=s).cost for s in range(3)]
    random, greedy = found["methods"]
    assert random["cost"] == pytest.approx(np.mean(costs))
    assert random["cost_deviation"] == pytest.approx(np.std(costs, ddof=1))
    assert greedy["cost"] == pytest.approx(pb.select(rows, k=2, method="lazygreedy").cost)
    assert greedy["evaluations"] == 1600


def test_deterministic_methods_have_no_deviation(points, capsys):
    options = ["--methods", "lazygreedy,random", "--seeds", 3, "-q"]
    assert call("compare", "points.npy", "-k", 2, *options) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.split()}
    assert "±" not in lines["lazygreedy"]
    assert "±" in lines["random"]


def test_a_failed_method_is_printed(points, capsys):
    options = ["--methods", "pam,lazygreedy", "--max-evaluations", 1000]
    assert call("compare", "points.npy", "-k", "auto", *options[:2]) == 0
    printed = capsys.readouterr().out
    assert "failed: method='pam' does not support k='auto'" in " ".join(printed.split())
    assert "best" in printed
    assert call("compare", "points.npy", "-k", "auto", "--methods", "pam") == 1
    assert only_line(capsys.readouterr().err) == "All methods failed; the table shows why."


def test_a_repeated_method_runs_once_and_equal_costs_are_both_best(points, capsys):
    options = ["--methods", "lazygreedy,spotgreedy,lazygreedy,random", "-q"]
    assert call("compare", "points.npy", "-k", 3, *options) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:5]]
    assert [row[0] for row in rows] == ["lazygreedy", "spotgreedy", "random"]
    assert [row[-1] == "best" for row in rows] == [True, True, False]


def test_fewer_prototypes_than_requested_are_printed(points, capsys):
    options = ["--methods", "stochasticgreedy", "--max-evaluations", 1500, "-q", "--json"]
    assert call("compare", "points.npy", "-k", 9, *options) == 0
    (score,) = json.loads(capsys.readouterr().out)["methods"]
    assert 1 <= score["prototypes"] < 9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.npy", "-k", 2], "does not exist"),
        (["points.npy", "-k", 41], "k=41 exceeds the 40 source rows"),
        (["points.npy", "-k", 2, "--methods", "pamm"], "--method 'pamm' is not known"),
        (["points.npy", "-k", 2, "--methods", ","], "holds no names"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_invalid_input(arguments, words, points, capsys):
    assert call("compare", *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err)


def test_costs_are_measured_on_the_same_rows_by_weight(folder, monkeypatch):
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=(300, 2)), random.integers(1, 3, size=300)
    rows[100:] += 1000
    weights[100:] = 0  # so these rows are never drawn
    np.savez("a.npz", X=rows, w=weights)
    arguments = SelectArguments(sources=("a.npz",), k=2, read_options=ReadOptions(weights="w"))
    whole = compare_methods(arguments, ["random"], 1, quiet)
    assert (whole.n_test, whole.n_target) == (300, 300)
    with np.load("a.npz") as file:
        exact = pb.select(file["X"], k=2, weights=file["w"], method="random", random_state=0)
    assert whole.scores[0].cost == pytest.approx(exact.cost)
    monkeypatch.setattr(compare, "MAX_TEST_ROWS", 250)
    drawn = compare_methods(arguments, ["random", "random"], 1, quiet)
    assert drawn.n_test == 250
    assert drawn.scores[0].cost == drawn.scores[1].cost
    assert drawn.scores[0].cost == pytest.approx(exact.cost, rel=0.2)
