"""benchmarks/paper: methods, scores, resuming, and the report."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.common import sessions
from benchmarks.common.records import DamagedTable
from benchmarks.paper import problems
from benchmarks.paper.__main__ import compute, main, parse
from benchmarks.paper.cells import read_cells
from benchmarks.paper.grid import GRIDS, METHODS, Key, Setting
from benchmarks.paper.jobs import jobs_for, run_jobs
from benchmarks.paper.methods import (
    LIMITS,
    DistanceMismatch,
    Instance,
    generator_of,
    run_method,
)
from benchmarks.paper.page import NoCompleteRun, write_report
from benchmarks.paper.problems import LabelledProblem
from benchmarks.paper.scores import scores_of
from benchmarks.paper.statistics import Spread, normalised, results, tidy

import protobandit as pb
from protobandit.oracle.target_orders import RandomOrder

GRID = GRIDS["digits"]


@pytest.fixture(scope="module")
def instance():
    return Instance.of(problems.digits(None, 10, 0), 6)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the table of two uninterrupted runs."""
    table = tmp_path_factory.mktemp("paper") / "digits.csv"
    run(table, runs=2)
    return table


def run(table, *, runs=1, grid=GRID):
    messages = []
    jobs = list(jobs_for(grid, None, runs, read_cells(table)))
    run_jobs(jobs, table, n_processes=1, report=messages.append)
    return messages


def rows(table):
    return sorted(table.read_text().splitlines())


# -- the methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "method"),
    [
        (Key(0, 10, 6, "protobandit", 0.2, 0.05), pb.methods.ProtoBandit(nu_step=0.05)),
        (Key(0, 10, 6, "lazybandit-fast"), pb.methods.LazyBandit(effort="fast")),
        (Key(0, 10, 6, "lazybandit-balanced"), pb.methods.LazyBandit()),
    ],
    ids=lambda value: getattr(value, "method", ""),
)
def test_method_agrees_with_select(instance, key, method):
    if key.method == "protobandit":
        method = replace(method, scale=instance.scale)
    problem = instance.problem
    selection = pb.select(
        problem.source,
        problem.target,
        k=6,
        method=method,
        random_state=generator_of(key),
        limits=LIMITS,
    )
    found = run_method(instance, key, {})
    np.testing.assert_array_equal(found.indices, selection.indices)
    phases = selection.evaluations_by_phase
    assert found.evaluations == phases["build"] + phases["swap"]
    assert found.comparisons > found.pulls > 0


def test_exact_greedy_has_prefixes_and_a_formula(instance):
    problem = instance.problem
    n_source, n_target = len(problem.source), len(problem.target)
    few = pb.select(problem.source, problem.target, k=3, method="lazygreedy")
    found = run_method(instance, Key(0, 10, 3, "spotgreedy"), {})
    np.testing.assert_array_equal(found.indices, few.indices)
    assert found.evaluations == (3 * n_source - 3) * n_target
    assert run_method(instance, Key(0, 10, 3, "spot_m"), {}).evaluations == n_source * n_target
    assert instance.scale == instance.distances.max()


def test_random_rows_have_prefixes_and_cost_nothing(instance):
    few, many = (run_method(instance, Key(0, 10, k, "random"), {}) for k in (3, 6))
    np.testing.assert_array_equal(few.indices, many.indices[:3])
    assert len(set(many.indices)) == 6
    assert (many.pulls, many.comparisons, many.evaluations) == (0, 0, 0)
    assert not np.array_equal(
        many.indices, run_method(instance, Key(1, 10, 6, "random"), {}).indices
    )


def test_lazybandit_without_swaps_is_greedy_on_the_first_rung(instance):
    found = run_method(instance, Key(0, 10, 6, "lazybandit-fast-build"), {})
    # All pairs of a small problem are computed: the first rung is the whole target.
    np.testing.assert_array_equal(found.indices, instance.greedy)
    assert found.evaluations == instance.distances.size
    swapped = run_method(instance, Key(0, 10, 6, "lazybandit-fast"), {})
    costs = [instance.distances[each.indices].min(axis=0).mean() for each in (found, swapped)]
    assert costs[1] < costs[0]
    # All pulls after the build are made with six prototypes.
    more = swapped.pulls - found.pulls
    assert more > 0
    assert swapped.comparisons - found.comparisons == 7 * more


def test_swaps_of_a_race_are_counted():
    random = np.random.default_rng(0)
    source, target = (random.normal(size=(n, 2)).astype(np.float32) for n in (3000, 8000))
    problem = LabelledProblem(source, np.zeros(3000), target, np.zeros(8000))
    raced = Instance(problem, distances=np.empty((3000, 8000)), scale=1.0, greedy=np.empty(0))
    key = Key(0, 10, 4, "lazybandit-fast")
    whole, build = (
        run_method(raced, key._replace(method=key.method + x), {}) for x in ("", "-build")
    )
    n_rows = 100 + 2 * 4
    assert build.evaluations == 3000 * n_rows
    assert build.evaluations < whole.evaluations < 3000 * 8000
    assert whole.comparisons - build.comparisons == 5 * (whole.pulls - build.pulls) > 0
    rows = RandomOrder(8000, generator_of(key)).read(0, n_rows)
    exact = pb.select(source, target[rows], k=4, method="lazygreedy")
    np.testing.assert_array_equal(build.indices, exact.indices)


def test_uniform_sample_has_as_many_evaluations_as_fast(instance):
    n_source, n_target = instance.distances.shape
    key = Key(0, 10, 6, "uniform")
    assert run_method(instance, key, {6: 100 * n_source + 7}).evaluations == 100 * n_source
    assert run_method(instance, key, {6: 10**9}).evaluations == n_source * n_target
    assert run_method(instance, key, {6: 10**9}).comparisons > n_source * n_target


def test_wrong_distances_are_an_error(instance):
    instance.check(3)
    with pytest.raises(DistanceMismatch, match="in float64"):
        replace(instance, distances=instance.distances * 1.001).check(3)


# -- scores ---------------------------------------------------------------------------------------


def test_scores_of_a_known_example():
    column = np.array([[0.0], [10.0], [11.0], [99.0]], dtype=np.float32)
    target = np.array([[1.0], [4.0], [6.0], [9.0], [14.0]], dtype=np.float32)
    labels = np.array([0, 1, 1, 1, 1])
    problem = LabelledProblem(column, np.array([0, 1, 2, 3]), target, labels)
    scores = scores_of(problem, 100.0, np.array([3, 0, 1]))
    assert scores.cost == pytest.approx((1 + 4 + 4 + 1 + 4) / 5)
    assert scores.f == pytest.approx(1 - scores.cost / 100)
    # Cells: none, {1, 4} and {6, 9, 14}: 4 is nearer to 0, and to the first image, 2.5.
    assert scores.accuracy_nearest == pytest.approx(4 / 5)
    assert scores.accuracy_barycentric == pytest.approx(3 / 5)  # 6 is nearer to 2.5 than to 9.67


def test_normalised_loss_and_spread():
    assert normalised(0.6, 0.55, 0.5) == pytest.approx(0.5)
    assert normalised(0.6, 0.62, 0.5) == pytest.approx(-0.2)
    assert math.isnan(normalised(0.6, 0.6, 0.6))
    spread = Spread.of([1.0, 2.0, 6.0])
    assert (spread.n, spread.mean, spread.low, spread.high) == (3, 3.0, 1.0, 6.0)
    assert spread.sd == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert math.isnan(Spread.of([1.0]).sd)


# -- the table of cells ---------------------------------------------------------------------------


def test_grids_are_those_of_the_paper():
    keys = list(GRIDS["mnist"].all_keys(10))
    assert len(keys) == len(set(keys)) == 10 * 5 * 3 * (8 + 4)
    assert {key.run for key in keys[:180]} == {0}, "run by run"
    assert {key.method for key in keys} == set(METHODS)
    assert len(list(GRIDS["cifar10"].all_keys(10))) == 10 * 3 * (8 + 2)


def test_setting_is_a_key_without_its_run():
    key = Key(3, 10, 100, "protobandit", 0.2, 0.05)
    assert key.setting == Setting(10, 100, "protobandit", 0.2, 0.05)
    assert Key._fields == ("run", *Setting._fields)
    assert Setting(10, 100, "random") == Key(0, 10, 100, "random").setting


def test_table_is_complete(finished):
    with finished.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 2 * 2 * 2 * (8 + 2)
    assert all(None not in row and None not in row.values() for row in table)
    cells = read_cells(finished)
    assert {cell.key for cell in cells} == set(GRID.all_keys(2))
    assert all(0 < cell.f < 1 and 0 <= cell.accuracy_nearest <= 1 for cell in cells)


def test_interrupted_run_resumes_to_the_same_table(finished, tmp_path):
    lines = finished.read_text().splitlines(keepends=True)
    table = tmp_path / "digits.csv"
    # "uniform" is missing but "lazybandit-fast", which determines its size, is not; the last row is
    # incomplete.
    kept = [each for each in lines[:60] if ",uniform," not in each]
    table.write_text("".join(kept) + lines[60][:25])
    messages = run(table, runs=2)
    assert messages[0].startswith(f"Computing {81 - len(kept)} cells on ")
    assert rows(table) == rows(finished)
    assert run(table, runs=2) == ["Computing 0 cells on 0 problems."]


def test_jobs_go_run_by_run_and_report_the_time_left(tmp_path):
    small = replace(GRID, ks=(2,))
    messages = run(tmp_path / "digits.csv", runs=2, grid=small)
    names = [each.split(" is done")[0] for each in messages[1:]]
    assert names == [f"run {r}, skew {s}" for r in (0, 1) for s in (10, 100)]
    assert messages[1].startswith("run 0, skew 10 is done: 10 of 40 cells")
    assert messages[1].endswith("min left.")


def test_damaged_table_is_an_error(finished, tmp_path, capsys):
    table = tmp_path / "digits.csv"
    table.write_text(finished.read_text() + "1,2\n")
    with pytest.raises(DamagedTable, match=r"line 82: '1,2' cannot be read"):
        read_cells(table)
    assert main(["digits", "--out", str(tmp_path)]) == 1
    assert "DamagedTable: digits.csv, line 82" in capsys.readouterr().err


# -- the report -----------------------------------------------------------------------------------


def test_only_complete_runs_are_reported(finished):
    cells = read_cells(finished)
    assert results(GRID, cells).runs == (0, 1)
    assert results(GRID, cells[:-1]).runs == (0,)
    assert results(GRID, cells[1:40]) is None


def test_means_over_the_runs(finished):
    cells = read_cells(finished)
    found = results(GRID, cells)
    mine = [c.f for c in cells if c.key[1:] == (10, 10, "lazybandit-fast", 0, 0)]
    spread = found.spreads[Setting(10, 10, "lazybandit-fast")]["f"]
    assert spread == Spread.of(mine)
    assert spread.n == 2
    assert found.mean("normalised_loss", 10, 10, "random") == pytest.approx(1)
    assert found.mean("normalised_loss", 10, 10, "spotgreedy") == pytest.approx(0)
    assert found.fewer("evaluations", 10, 10, "spot_m") == pytest.approx((10 * 600 - 45) / 600)
    lines = tidy(found).splitlines()
    assert len(lines) == 1 + 2 * 2 * 10 * 7
    assert {each.count(",") for each in lines} == {11}


def test_report_has_tables_figures_and_page(finished, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    # Another process computes the missing cells.
    lines = finished.read_text().splitlines(keepends=True)
    out.mkdir()
    (out / "digits.csv").write_text("".join(lines[:-15]))
    assert main(["digits", "--out", str(out), "--runs", "2", "--jobs", "2"]) == 0
    assert rows(out / "digits.csv") == rows(finished)
    names = {path.name for path in out.iterdir()}
    figures = ("digits-skew10-epsilon0.2", "digits-skew100-epsilon0.2", "digits-ratios")
    drawn = {f"{name}.{kind}" for name in figures for kind in ("png", "svg")}
    assert names == {"README.md", "digits.csv", "sessions.json", "digits-summary.csv"} | drawn
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "2 complete runs." in text
    assert "`python -m benchmarks.paper digits --out DIR --runs 2 --jobs 2`, 15 results" in text
    assert str(tmp_path) not in text + (out / "sessions.json").read_text()
    assert "as little as 1/100 of the comparisons of SPOTgreedy" in text
    assert (out / "digits-ratios.png").read_bytes().startswith(b"\x89PNG")
    assert "SPOTgreedy" in (out / "digits-skew10-epsilon0.2.svg").read_text(encoding="utf-8")
    assert "15 of 15 cells" in capsys.readouterr().err
    compute(parse(["digits", "--out", str(out), "--runs", "2"]))
    assert "All cells of 2 runs are in" in capsys.readouterr().err
    (session,) = sessions.read(out / "sessions.json")["digits"]
    assert session.n_results == 15


def test_folder_without_a_complete_run_is_an_error(tmp_path, capsys):
    with pytest.raises(NoCompleteRun, match="contains no table with a complete run"):
        write_report(tmp_path)
    assert main(["summary", "--out", str(tmp_path)]) == 1
    assert "Run `python -m benchmarks.paper mnist" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["mnist", "cifar10"])
def test_missing_data_is_an_error(tmp_path, capsys, what):
    out = str(tmp_path / "out")
    assert main([what, "--data", str(tmp_path), "--out", out, "--jobs", "1"]) == 1
    assert "MissingData: " in capsys.readouterr().err
    assert not [*tmp_path.rglob("*.json")]


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_invalid_number_of_runs_is_an_error(tmp_path, capsys, count):
    with pytest.raises(SystemExit):
        main(["mnist", "--out", str(tmp_path), "--runs", count])
    assert "is not allowed. Pass an integer >= 1" in capsys.readouterr().err
