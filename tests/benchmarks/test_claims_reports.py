"""The report on each claim agrees with its published figures, recomputed here."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.claims import build, growth, medoids, optimum, small, target
from benchmarks.claims.__main__ import CLAIMS
from benchmarks.claims.report import Options, section
from benchmarks.common.records import csv_text, read_csv

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "claims"


def figures(name):
    """Return the rows of a published file as text."""
    with (PUBLISHED / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


@pytest.fixture(scope="module")
def reports():
    return {
        name: claim.report(read_csv(PUBLISHED / f"{name}.csv")) for name, claim in CLAIMS.items()
    }


def means(rows, x, y, **where):
    """Return the values of x, and for each the mean of y over the seeds."""
    found = defaultdict(list)
    for row in rows:
        if all(row[name] == value for name, value in where.items()):
            found[int(row[x])].append(float(row[y]))
    return {at: float(np.mean(found[at])) for at in sorted(found)}


def slopes(rows, x, y, **where):
    """Return the powers between neighbours, of the geometric means over the seeds."""
    found = defaultdict(list)
    for row in rows:
        if all(row[name] == value for name, value in where.items()):
            found[int(row[x])].append(math.log(float(row[y])))
    at = sorted(found)
    return [(np.mean(found[b]) - np.mean(found[a])) / math.log(b / a) for a, b in pairwise(at)]


def between(powers):
    least, most = (f"{round(power, 2) + 0.0:.2f}" for power in (min(powers), max(powers)))
    return least if least == most else f"between {least} and {most}"


# -- every claim ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLAIMS)
def test_figure_is_drawn(name, reports, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.svg"
    reports[name].draw(path)
    text = path.read_text(encoding="utf-8")
    assert text.count("<path") > 20
    assert text.count("<text") > 10
    assert text.rstrip().endswith("</svg>")


@pytest.mark.parametrize("name", CLAIMS)
def test_published_page_agrees_with_its_figures(name, reports):
    """After a change of wording, run `python -m benchmarks.claims --summary`."""
    expected = section(reports[name]).rpartition("\n\n")[0]
    assert expected in (PUBLISHED / "README.md").read_text(encoding="utf-8")


# -- one by one -----------------------------------------------------------------------------------


def test_target(reports):
    rows, change = figures("target"), 0.0
    for name in ("protobandit", "lazybandit fast", "lazybandit balanced"):
        mean = means(rows, "n_target", "evaluations", method=name)
        late = [mean[n] for n in (10**5, 10**6, 10**7)]
        change = max(change, max(late) / min(late) - 1)
        finding = next(f for f in reports["target"].findings if f.startswith(f"{name}:"))
        assert f"{late[0]:.3g} evaluations at |T| = 100,000 and {late[-1]:.3g}" in finding
        local = slopes(rows, "n_target", "evaluations", method=name)[2:]
        assert f"the power of |T| is {between(local)} (overall fit" in finding
    assert f"by more than {change:.1%}." in reports["target"].verdict
    exact = next(r for r in rows if r["method"] == "exact greedy" and r["n_target"] == "100000")
    assert f"is {float(exact['cost']):.3f}." in reports["target"].findings[-1]


def test_growth(reports):
    rows, report = figures("growth"), reports["growth"]
    whole = {"along": "k", "method": "protobandit, nu of the run fixed"}
    local = slopes(rows, "k", "comparisons", **whole)
    assert f"that of k is {between(local)} (overall fit" in report.verdict
    line = next(r for r in report.summary if r["power"].startswith(whole["method"]))
    shown = [float(value) for name, value in line.items() if name.startswith("of k, ")]
    assert shown == pytest.approx(local, abs=0.0051)
    assert [name for name in line if name.startswith("of k")][:2] == [
        "of k, 5 to 10",
        "of k, 10 to 20",
    ]
    clusters = next(finding for finding in report.findings if "50 clusters" in finding)
    assert f"{between(local[:3])} below and {between(local[3:])} above (" in clusters
    slack = [float(r["bound"]) / float(r["comparisons"]) for r in rows if r["bound"]]
    kept = next(finding for finding in report.findings if finding.startswith("The bound holds"))
    assert f"all {len(slack)} runs" in kept
    assert f"of {min(slack):.3g} to {max(slack):.3g}." in kept


def test_growth_without_the_later_columns():
    """The report says if neither the scale nor full reads were recorded."""
    rows = read_csv(PUBLISHED / "growth.csv")
    later = ("scale", "capped_arms", "capped_pulls")
    older = [{name: cell for name, cell in row.items() if name not in later} for row in rows]
    report = growth.report(older)
    assert "How many arms did so was not recorded" in report.findings[-1]
    assert "estimates C" in report.setting
    capped = [
        row | {"scale": 30.0, "capped_arms": row["k"] / 1000, "capped_pulls": 0.25} for row in older
    ]
    report = growth.report(capped)
    assert "0.5% (25%) at k = 5, 1.0% (25%) at k = 10" in report.findings[-1]
    assert "given C = 30" in report.setting
    none = growth.report([row | {"capped_arms": 0.0, "capped_pulls": 0.0} for row in older])
    assert "none with nu of the run fixed; none with nu per iteration" in none.findings[-1]


def test_build(reports):
    rows, report = figures("build"), reports["build"]
    clear = [row for row in rows if row["is_tied"] == "False"]
    same = sum(row["spotgreedy"] == "True" for row in clear)
    assert f"in {same} of {len(clear)} instances without ties" in report.findings[0]
    assert report.verdict.startswith("It holds") == (same == len(clear))
    assert sum(line["number"] for line in report.summary) == len(rows)


def test_medoids(reports):
    rows, report = figures("medoids"), reports["medoids"]
    random = means(rows, "k", "loss", method="random")
    worst = 0.0
    for nu in (0.05, 0.09):
        name = f"protobandit nu0={nu}"
        loss = means(rows, "k", "loss", method=name)
        share = max(loss[k] / random[k] for k in loss)
        assert f"{max(loss.values()):.2%} at nu0 = {nu}" in report.verdict
        assert f"{share:.0%}" in report.verdict
        runs = [float(row["loss"]) for row in rows if row["method"] == name]
        worst = max(worst, *runs)
        assert f"{max(runs):.2%} in the worst run" in report.findings[0]
        cell = report.summary[-1][f"loss, nu0={nu} (worst run)"]
        assert cell.startswith(f"{loss[100]:.2%} (")
    assert f"it is {worst:.2%}." in report.verdict
    assert "[20, 50, 100] at nu0 = 0.05" in report.findings[-1]


def test_optimum(reports):
    rows, report = figures("optimum"), reports["optimum"]
    n_promised = sum(row["promised"] != "" for row in rows)
    assert sum(int(row["below"] or 0) for row in rows) == 0
    assert f"each of {n_promised:,} runs" in report.verdict
    (table,) = report.more.values()
    for line in table:
        own = [row for row in rows if row["method"] == line["method"]]
        by_family = defaultdict(list)
        for row in own:
            by_family[row["family"]].append(int(row["best"]))
            by_family["all"].append(int(row["best"]))
        for family, found in by_family.items():
            assert line[family] == f"{np.mean(found):.1%}"
        misses = Counter(row["family"] for row in own if row["best"] == "0")
        if line["method"] in ("lazybandit balanced", "fasterpam", "spotgreedy"):
            many = f"{misses.total()} of {len(own)} runs" if misses else f"none of {len(own)} runs"
            assert any(f"{line['method']} in {many}" in finding for finding in report.findings)


def test_mean_over_the_seeds_is_that_of_the_proven_stop(reports):
    rows = read_csv(PUBLISHED / "optimum.csv")
    lowered = [row | ({"f_ratio": 0.0} if row["method"] == "protobandit" else {}) for row in rows]
    finding = optimum.report(lowered).findings[0]
    assert "with that stop the mean over the seeds is below in 0 of 360 instances" in finding
    lowered = [
        row | ({"f_ratio": 0.0} if row["method"] == "protobandit, proven" else {}) for row in rows
    ]
    finding = optimum.report(lowered).findings[0]
    assert "below in 360 of 360 instances" in finding


def test_misses_name_their_family():
    runs = [("a", 1), ("a", 0), ("b", 0), ("b", 0), ("c", 1)]
    rows = [{"method": "m", "family": family, "best": best} for family, best in runs]
    assert optimum._misses(rows, "m") == "m in 3 of 5 runs (2 of them in the family 'b')"
    assert optimum._misses(rows[2:], "m") == "m in 2 of 3 runs (all of them in the family 'b')"
    assert optimum._misses(rows[:1], "m") == "m in none of 1 runs"


# -- small runs of all claims ---------------------------------------------------------------------


def run_and_report(module, options=None):
    """Run a claim and report on it, as the script does."""
    rows = module.measure(options or Options(seeds=2))
    columns = csv_text(rows).splitlines()[0].split(",")
    return rows, columns, module.report(rows)


def test_a_small_target(monkeypatch):
    sizes = {"_SIZES": (300, 600, 1200), "_MOST_EXACT": 300, "_MANY": 300, "_SOURCE": 60}
    for name, value in {**sizes, "_K": 3, "_TEST": 200}.items():
        monkeypatch.setattr(target, name, value)
    rows, columns, report = run_and_report(target)
    assert len(rows) == 3 * 3 * 2 + 1
    assert "scale" in columns
    scales = {row["scale"] for row in rows if row["method"] == "protobandit"}
    assert len(scales) == 1  # for every size of the target
    assert f"C = {scales.pop():.4g}, the largest" in report.setting
    assert [line["|T|"] for line in report.summary] == ["300", "600", "1,200"]


def test_a_small_growth(monkeypatch):
    sizes = {"_TARGET": 800, "_SOURCES": (40, 80), "_K": 3, "_KS": (2, 4), "_SOURCE": 60}
    for name, value in sizes.items():
        monkeypatch.setattr(growth, name, value)
    rows, columns, report = run_and_report(growth)
    assert len(rows) == 4 * 3 * 2
    assert {"scale", "capped_arms", "capped_pulls"} <= {*columns}
    assert all((row["capped_arms"] is None) == (row["method"] == "lazybandit") for row in rows)
    assert "An arm reads at most all |T| = 800 rows" in report.findings[-1]
    assert not any("clusters" in finding for finding in report.findings)


def test_small_medoids(monkeypatch):
    images = np.random.default_rng(0).random((200, 5), dtype=np.float32)
    monkeypatch.setattr(medoids, "mnist", lambda folder: (images,))
    monkeypatch.setattr(medoids, "_ROWS", 150)
    monkeypatch.setattr(medoids, "_KS", (2, 4))
    rows, columns, report = run_and_report(medoids)
    assert len(rows) == 2 * 5 * 2
    assert "scale" in columns
    assert [line["k"] for line in report.summary] == [2, 4]


def test_a_small_build(monkeypatch):
    monkeypatch.setattr(build, "_INSTANCES", 3)
    rows, _, report = run_and_report(build)
    assert len(rows) == 9
    assert report.findings[1] == "The package kmedoids was not available."


def test_a_small_optimum(monkeypatch):
    monkeypatch.setattr(optimum, "_INSTANCES", 1)
    rows, columns, report = run_and_report(optimum)
    assert len(rows) == 6 * (1 + 7 * 2)
    assert {"best", "promised", "below"} <= {*columns}
    assert len(report.summary) == 8


def test_few_small_problems(monkeypatch):
    monkeypatch.setattr(small, "_ENUMERATED", 2)
    monkeypatch.setattr(small, "_COMPARED", 1)
    monkeypatch.setattr(small, "_SIZES", ((60, 4),))
    rows, _, report = run_and_report(small)
    assert len(rows) == (2 * 2 + 1) * 3
    enumerated = [row["ratio"] for row in rows if row["kind"] == "enumerated"]
    assert min(enumerated) > 1 - 1e-6, "no cost is below the optimum"
    assert [line["effort"] for line in report.summary] == ["fast", "balanced", "thorough"]
