"""The benchmark that draws the paper's figures: how it counts, judges, goes on and reports."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.paper import _problems
from benchmarks.paper.__main__ import compute, main, parse
from benchmarks.paper._cells import Cell, SpoiltTable, append, appending, read_cells
from benchmarks.paper._contest import LIMITS, Arena, Disagreement, find, seed_of
from benchmarks.paper._counting import (
    Round,
    paper_comparisons,
    recorded,
    spotgreedy_comparisons,
)
from benchmarks.paper._grid import GRIDS, METHODS, Key, Setting
from benchmarks.paper._judge import judge
from benchmarks.paper._problems import Posed
from benchmarks.paper._report import NothingYet, report
from benchmarks.paper._sessions import read_sessions
from benchmarks.paper._statistics import Spread, normalised, results, tidy
from benchmarks.paper._work import jobs_for, work

import protobandit as pb
from protobandit.oracle.target_orders import RandomOrder
from protobandit.search.drivers import greedy

GRID = GRIDS["digits"]
EXACT = pb.methods.SpotGreedy(memoize=False)


def line(n, *, offset=0.0):
    """Rows on a line, of which no two distances are alike."""
    return (np.arange(n) ** 1.5 + offset)[:, None].astype(np.float32)


@pytest.fixture(scope="module")
def arena():
    return Arena.of(_problems.digits(None, 10, 0), 6)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the table of two runs that were not interrupted."""
    table = tmp_path_factory.mktemp("paper") / "digits.csv"
    run(table, runs=2)
    return table


def run(table, *, runs=1, grid=GRID):
    said = []
    jobs = list(jobs_for(grid, None, runs, read_cells(table)))
    work(jobs, table, n_processes=1, say=said.append)
    return said


def rows(table):
    return sorted(table.read_text().splitlines())


# -- the rules of counting ------------------------------------------------------------------------


def test_a_pull_costs_one_comparison_more_than_there_are_prototypes():
    assert paper_comparisons([Round(0, 5), Round(1, 3), Round(2, 10)]) == 5 + 2 * 3 + 3 * 10


def test_rounds_of_exact_greedy_by_hand():
    with recorded() as record:
        selection = pb.select(line(4), line(3, offset=0.3), k=2, method=EXACT)
    assert record.rounds == [Round(0, 4 * 3), Round(1, 3 * 3)]
    assert paper_comparisons(record.rounds) == 12 + 2 * 9
    assert selection.evaluations_by_phase["build"] == spotgreedy_comparisons(4, 3, 2) == 21


def test_rounds_of_protobandit_by_hand():
    # |R| = ceil(6 / 3 ln 5) = 4 arms; a target of 8 rows is read whole by the first pull.
    method = pb.methods.ProtoBandit(epsilon=0.2, nu_step=0.05, scale=20.0)
    with recorded() as record:
        selection = pb.select(line(6), line(8, offset=0.3), k=3, method=method, random_state=0)
    assert record.rounds == [Round(0, 32), Round(1, 32), Round(2, 32)]
    assert paper_comparisons(record.rounds) == 32 + 64 + 96
    # Shared rows: each of the 8 is compared with a new prototype once, whatever the arms.
    assert selection.evaluations_by_phase["build"] == 32 + (32 + 8) + (32 + 8)


def test_an_iteration_without_a_pull_costs_nothing():
    method = pb.methods.ProtoBandit(epsilon=0.6, nu_step=0.05, scale=20.0)  # |R| = 1
    with recorded() as record:
        pb.select(line(4), line(5), k=3, method=method, random_state=0)
    assert record.rounds == [Round(0, 0), Round(1, 0), Round(2, 0)]


def test_what_counts_is_taken_away_again():
    play = greedy.play
    with recorded():
        assert greedy.play is not play
    with pytest.raises(pb.InvalidInput), recorded():
        pb.select(line(4), k=9)
    assert greedy.play is play


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
def test_a_method_does_what_select_does(arena, key, method):
    if key.method == "protobandit":
        method = replace(method, scale=arena.scale)
    posed = arena.posed
    selection = pb.select(
        posed.source, posed.target, k=6, method=method, random_state=seed_of(key), limits=LIMITS
    )
    found = find(arena, key, {})
    np.testing.assert_array_equal(found.indices, selection.indices)
    phases = selection.evaluations_by_phase
    assert found.evaluations == phases["build"] + phases["swap"]
    assert found.comparisons > found.pulls > 0


def test_exact_greedy_is_nested_and_counted_by_formula(arena):
    posed = arena.posed
    n_source, n_target = len(posed.source), len(posed.target)
    few = pb.select(posed.source, posed.target, k=3, method="lazygreedy")
    found = find(arena, Key(0, 10, 3, "spotgreedy"), {})
    np.testing.assert_array_equal(found.indices, few.indices)
    assert found.evaluations == (3 * n_source - 3) * n_target
    assert find(arena, Key(0, 10, 3, "spot_m"), {}).evaluations == n_source * n_target
    assert arena.scale == arena.distances.max()


def test_random_rows_are_nested_distinct_and_free(arena):
    few, many = (find(arena, Key(0, 10, k, "random"), {}) for k in (3, 6))
    np.testing.assert_array_equal(few.indices, many.indices[:3])
    assert len(set(many.indices)) == 6
    assert (many.pulls, many.comparisons, many.evaluations) == (0, 0, 0)
    assert not np.array_equal(many.indices, find(arena, Key(1, 10, 6, "random"), {}).indices)


def test_without_swaps_it_is_greedy_on_the_first_rung(arena):
    found = find(arena, Key(0, 10, 6, "lazybandit-fast-build"), {})
    # So small a problem is computed at once: the first rung is all of the target.
    np.testing.assert_array_equal(found.indices, arena.greedy)
    assert found.evaluations == arena.distances.size
    swapped = find(arena, Key(0, 10, 6, "lazybandit-fast"), {})
    costs = [arena.distances[each.indices].min(axis=0).mean() for each in (found, swapped)]
    assert costs[1] < costs[0]
    # All pulls beyond the build are made with six prototypes in place.
    more = swapped.pulls - found.pulls
    assert more > 0
    assert swapped.comparisons - found.comparisons == 7 * more


def test_a_race_pays_for_its_swaps_too():
    random = np.random.default_rng(0)
    source, target = (random.normal(size=(n, 2)).astype(np.float32) for n in (3000, 8000))
    posed = Posed(source, np.zeros(3000), target, np.zeros(8000))
    raced = Arena(posed, distances=np.empty((3000, 8000)), scale=1.0, greedy=np.empty(0))
    key = Key(0, 10, 4, "lazybandit-fast")
    whole, build = (find(raced, key._replace(method=key.method + x), {}) for x in ("", "-build"))
    n_rows = 100 + 2 * 4
    assert build.evaluations == 3000 * n_rows
    assert build.evaluations < whole.evaluations < 3000 * 8000
    assert whole.comparisons - build.comparisons == 5 * (whole.pulls - build.pulls) > 0
    rows = RandomOrder(8000, seed_of(key)).read(0, n_rows)
    exact = pb.select(source, target[rows], k=4, method="lazygreedy")
    np.testing.assert_array_equal(build.indices, exact.indices)


def test_the_uniform_sample_has_the_rows_that_fast_could_pay_for(arena):
    n_source, n_target = arena.distances.shape
    key = Key(0, 10, 6, "uniform")
    assert find(arena, key, {6: 100 * n_source + 7}).evaluations == 100 * n_source
    assert find(arena, key, {6: 10**9}).evaluations == n_source * n_target
    assert find(arena, key, {6: 10**9}).comparisons > n_source * n_target


def test_distances_that_the_referee_does_not_confirm_are_refused(arena):
    arena.check(3)
    with pytest.raises(Disagreement, match="by the referee"):
        replace(arena, distances=arena.distances * 1.001).check(3)


# -- the judge ------------------------------------------------------------------------------------


def test_verdict_by_hand():
    column = np.array([[0.0], [10.0], [11.0], [99.0]], dtype=np.float32)
    target = np.array([[1.0], [4.0], [6.0], [9.0], [14.0]], dtype=np.float32)
    posed = Posed(column, np.array([0, 1, 2, 3]), target, np.array([0, 1, 1, 1, 1]))
    distances = np.abs(column - target.T)
    verdict = judge(posed, distances, 100.0, np.array([3, 0, 1]))
    assert verdict.cost == pytest.approx((1 + 4 + 4 + 1 + 4) / 5)
    assert verdict.f == pytest.approx(1 - verdict.cost / 100)
    # Cells: none, {1, 4} and {6, 9, 14}: 4 is nearer to 0, and to the first image, 2.5.
    assert verdict.accuracy_nearest == pytest.approx(4 / 5)
    assert verdict.accuracy_barycentric == pytest.approx(3 / 5)  # 6 is nearer to 2.5 than to 9.67


def test_normalised_loss_and_spread():
    assert normalised(0.6, 0.55, 0.5) == pytest.approx(0.5)
    assert normalised(0.6, 0.62, 0.5) == pytest.approx(-0.2)
    assert math.isnan(normalised(0.6, 0.6, 0.6))
    spread = Spread.of([1.0, 2.0, 6.0])
    assert (spread.n, spread.mean, spread.low, spread.high) == (3, 3.0, 1.0, 6.0)
    assert spread.sd == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert math.isnan(Spread.of([1.0]).sd)


# -- the table of cells ---------------------------------------------------------------------------


def test_the_grids_are_the_papers():
    keys = list(GRIDS["mnist"].all_keys(10))
    assert len(keys) == len(set(keys)) == 10 * 5 * 3 * (8 + 4)
    assert {key.run for key in keys[:180]} == {0}, "run by run"
    assert {key.method for key in keys} == set(METHODS)
    assert len(list(GRIDS["cifar10"].all_keys(10))) == 10 * 3 * (8 + 2)


def test_a_setting_is_a_key_without_its_run():
    key = Key(3, 10, 100, "protobandit", 0.2, 0.05)
    assert key.setting == Setting(10, 100, "protobandit", 0.2, 0.05)
    assert Key._fields == ("run", *Setting._fields)
    assert Setting(10, 100, "random") == Key(0, 10, 100, "random").setting


def test_the_table_is_tidy(finished):
    with finished.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 2 * 2 * 2 * (8 + 2)
    assert all(None not in row and None not in row.values() for row in table)
    cells = read_cells(finished)
    assert {cell.key for cell in cells} == set(GRID.all_keys(2))
    assert all(0 < cell.f < 1 and 0 <= cell.accuracy_nearest <= 1 for cell in cells)


def test_a_torn_table_goes_on_to_the_same_end(finished, tmp_path):
    lines = finished.read_text().splitlines(keepends=True)
    table = tmp_path / "digits.csv"
    # The uniform samples are gone, what they are sized by is there; the last row is torn.
    kept = [each for each in lines[:60] if ",uniform," not in each]
    table.write_text("".join(kept) + lines[60][:25])
    said = run(table, runs=2)
    assert said[0].startswith(f"{81 - len(kept)} cells on ")
    assert rows(table) == rows(finished)
    assert run(table, runs=2) == ["0 cells on 0 problems are to be computed."]


def test_work_goes_run_by_run_and_tells_the_time_left(tmp_path):
    small = replace(GRID, ks=(2,))
    said = run(tmp_path / "digits.csv", runs=2, grid=small)
    names = [each.split(" is done")[0] for each in said[1:]]
    assert names == [f"run {r}, skew {s}" for r in (0, 1) for s in (10, 100)]
    assert said[1].startswith("run 0, skew 10 is done: 10 of 40 cells")
    assert said[1].endswith("min left.")


def test_cells_come_back_as_they_went(finished, tmp_path):
    cell = read_cells(finished)[0]
    with appending(tmp_path / "new" / "cells.csv") as file:
        append(file, cell)
    assert read_cells(tmp_path / "new" / "cells.csv") == [cell]
    assert isinstance(cell, Cell)
    assert read_cells(tmp_path / "none.csv") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "starts with 'a,b', not with the names of 17 columns"),
        ("{head}\n1,2\n", "line 2: '1,2' is not a cell"),
        ("{head}\n{row}x\n", "line 2: .* is not a cell"),
    ],
)
def test_a_spoilt_table_is_refused(finished, tmp_path, text, message):
    head, row = finished.read_text().splitlines()[:2]
    (tmp_path / "cells.csv").write_text(text.format(head=head, row=row))
    with pytest.raises(SpoiltTable, match=message):
        read_cells(tmp_path / "cells.csv")


# -- the report -----------------------------------------------------------------------------------


def test_only_whole_runs_are_reported(finished):
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


def test_the_report_writes_tables_figures_and_words(finished, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    # What is missing of a finished table is computed by another process.
    lines = finished.read_text().splitlines(keepends=True)
    out.mkdir()
    (out / "digits.csv").write_text("".join(lines[:-15]))
    assert main(["digits", "--out", str(out), "--runs", "2", "--jobs", "2"]) == 0
    assert rows(out / "digits.csv") == rows(finished)
    names = {path.name for path in out.iterdir()}
    figures = ("digits-skew10-epsilon0.2", "digits-skew100-epsilon0.2", "digits-ratios")
    drawn = {f"{name}.{kind}" for name in figures for kind in ("png", "svg")}
    assert names == {"README.md", "digits.csv", "digits.json", "digits-summary.csv"} | drawn
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "2 whole runs, `python -m benchmarks.paper digits --out DIR --runs 2 --jobs 2`" in text
    assert str(tmp_path) not in text + (out / "digits.json").read_text()
    assert "as little as 1/100 of SPOTgreedy's comparisons" in text
    assert (out / "digits-ratios.png").read_bytes().startswith(b"\x89PNG")
    assert "SPOTgreedy" in (out / "digits-skew10-epsilon0.2.svg").read_text(encoding="utf-8")
    assert "15 of 15 cells" in capsys.readouterr().err
    compute(parse(["digits", "--out", str(out), "--runs", "2"]))
    assert "All cells of 2 runs are in" in capsys.readouterr().err
    (noted,) = read_sessions(out / "digits.json")
    assert noted["cells"] == 15


def test_an_empty_folder_is_said_to_be_empty(tmp_path, capsys):
    with pytest.raises(NothingYet, match="holds no table with a whole run"):
        report(tmp_path)
    assert main(["summary", "--out", str(tmp_path)]) == 1
    assert "Run `python -m benchmarks.paper mnist" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["mnist", "cifar10"])
def test_missing_data_is_said_to_be_missing(tmp_path, capsys, what):
    out = str(tmp_path / "out")
    assert main([what, "--data", str(tmp_path), "--out", out, "--jobs", "1"]) == 1
    assert "MissingData: " in capsys.readouterr().err
    assert not [*tmp_path.rglob("*.json")]


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_a_wrong_number_of_runs_is_refused(tmp_path, capsys, count):
    with pytest.raises(SystemExit):
        main(["mnist", "--out", str(tmp_path), "--runs", count])
    assert "is not a whole number >= 1" in capsys.readouterr().err
