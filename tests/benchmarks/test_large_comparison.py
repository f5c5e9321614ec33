"""The large-scale part of benchmarks/comparison, on tiny rows and on made-up results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.common import costs
from benchmarks.common.peers import SCRIPTS
from benchmarks.common.sessions import Session
from benchmarks.comparison import __main__ as script
from benchmarks.comparison import page as comparison_page
from benchmarks.comparison import results, schedule
from benchmarks.comparison.contestants import Contestant
from benchmarks.comparison.large import bars, page, problems
from benchmarks.comparison.large.bars import MET, MISSED, OPEN, Bar, Frontier, frontiers, verdicts
from benchmarks.comparison.large.contestants import (
    BALANCED,
    CONTESTANTS,
    FAISS,
    FAISS_ALL,
    MINIBATCH,
    OURS,
    RANDOM,
    REFERENCE,
    RIVALS,
    STATED,
    THOROUGH,
)
from benchmarks.comparison.large.ratios import Fits
from benchmarks.comparison.problems import Data
from benchmarks.comparison.results import FAILED, LIMIT, MISSING, OK, SKIPPED, Result
from benchmarks.comparison.schedule import Plan
from benchmarks.peers import setup

CHOSEN_ON = {1, 2, 3, 5, 12, 77}  # seeds of rows on which constants were chosen
BY_NAME = {contestant.name: contestant for contestant in CONTESTANTS}


# -- nearest distinct rows ------------------------------------------------------------------------


@pytest.fixture
def nearest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import _nearest

    monkeypatch.setattr(_nearest, "_CENTRES", 7)
    monkeypatch.setattr(_nearest, "_ROWS", 16)
    return _nearest.nearest_distinct_rows


def test_centres_get_their_nearest_rows(nearest) -> None:
    random = np.random.default_rng(0)
    rows = (random.normal(size=(200, 3)) + 1000).astype(np.float32)  # far from 0
    order = random.permutation(200)[:30]
    centres = rows[order] + np.float32(1e-3)
    assert nearest(centres, rows).tolist() == order.tolist()


def test_centres_that_share_a_row_get_the_next_free_rows(nearest) -> None:
    rows = np.arange(40, dtype=np.float32)[:, None]
    centres = np.array([[20.1], [20.2], [20.05], [3.0], [21.1]], dtype=np.float32)
    # 20.1 keeps row 20. Then 20.2 gets row 19, since 21 is taken, and 22 is left for 20.05.
    assert nearest(centres, rows).tolist() == [20, 19, 22, 3, 21]
    repeated = nearest(np.zeros((40, 1), dtype=np.float32), rows)
    assert repeated.tolist() == list(range(40))
    with pytest.raises(ValueError, match="41 centres need as many rows, got 40"):
        nearest(np.zeros((41, 1), dtype=np.float32), rows)


# -- the scripts of k-means, with a package that records how it is called --------------------------

FAKE_FAISS = """
import json, os
def omp_set_num_threads(n): pass
class Kmeans:
    def __init__(self, d, k, **options):
        self.k = k
        with open(os.environ["CALLS"], "a") as file:
            file.write(json.dumps(options) + "\\n")
    def train(self, rows):
        self.centroids = rows[: self.k]
"""


@pytest.mark.parametrize(("metric", "rows"), [("euclidean", "sample"), ("cosine", "all")])
def test_faiss_is_called_as_stated(tmp_path: Path, metric: str, rows: str) -> None:
    (tmp_path / "faiss.py").write_text(FAKE_FAISS)
    about = tmp_path / "faiss_cpu-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faiss-cpu\nVersion: 1.2\n")
    np.save(tmp_path / "rows.npy", np.eye(20, dtype=np.float32))
    calls = tmp_path / "calls"
    text = (SCRIPTS / "fit_faiss.py").read_text(encoding="utf-8")
    (tmp_path / "fit_faiss.py").write_text(text.replace("10**10", "100"))
    done = subprocess.run(
        [sys.executable, tmp_path / "fit_faiss.py", tmp_path / "rows.npy", "-", "6", "4", rows],
        env=os.environ
        | {
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{SCRIPTS}",
            "CALLS": str(calls),
            "COMPARISON_METRIC": metric,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["indices"] == list(range(6))
    assert report["version"] == "1.2"
    warm, options = (json.loads(line) for line in calls.read_text().splitlines())
    assert warm["niter"] == 25
    assert options["niter"] == 10  # from n·k = 100 on
    assert options["seed"] == 4
    assert options["spherical"] is (metric == "cosine")
    assert options.get("max_points_per_centroid") == (20 if rows == "all" else None)


# -- the referee ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_costs_of_both_metrics_in_small_blocks(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    target, chosen = random.normal(size=(100, 4)), random.normal(size=(5, 4))
    if metric == "euclidean":
        distances = np.linalg.norm(target[:, None] - chosen, axis=2)
    else:
        lengths = np.linalg.norm(target, axis=1)[:, None] * np.linalg.norm(chosen, axis=1)
        distances = 1 - target @ chosen.T / lengths
    expected = distances.min(axis=1).mean()
    assert costs.COSTS[metric](chosen, target) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(costs, "_MOST_PAIRS", 10)
    sizes = [len(block) for block in costs._blocks(target, 5)]
    assert (max(sizes), sum(sizes)) == (2, 100)
    assert costs.COSTS[metric](chosen, target) == pytest.approx(expected, rel=1e-12)


# -- problems and contestants ---------------------------------------------------------------------


@pytest.mark.parametrize("data", problems.GENERATORS)
def test_generated_rows_depend_on_the_size_alone(data: str) -> None:
    rows = problems.GENERATORS[data](500, 8)
    assert (rows.shape, rows.dtype) == ((500, 8), np.float32)
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(rows, problems.GENERATORS[data](500, 8))


def test_generated_rows_have_the_properties_that_their_names_state() -> None:
    sizes = np.bincount(problems._zipf(np.random.default_rng(0), 50_000))
    assert 4 < sizes[0] / sizes[9] < 25  # Zipf: 10
    embeddings = problems.embeddings(2_000, 64)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-5)
    assert (embeddings @ embeddings[0]).mean() > 0.05
    values = np.linalg.eigvalsh(np.cov(embeddings.T))[::-1]
    assert 3 < values[0] / values[31] < 60  # 32^0.8 = 16
    table = problems.table(20_000, 5)
    assert (np.abs(table).max(axis=0) > 8).all()
    np.testing.assert_allclose(table.std(axis=0), 1, atol=1e-2)


def test_problems_are_those_that_are_stated() -> None:
    seeds = {problems.SEED, *range(problems.FIRST_SEED, problems.FIRST_SEED + 3)}
    assert not seeds & CHOSEN_ON
    sizes = {(p.n, p.d): p for p in problems.FULL}
    assert set(sizes) == {(60_000, 784), (100_000, 384), (336_000, 5), (100_000, 64), (10**6, 64)}
    assert {p.d for p in problems.FULL if 10_000 in p.ks} == {64}
    assert [p.metric for p in problems.FULL if p.metric != "euclidean"] == ["cosine"]
    assert sizes[100_000, 384].title == "synthetic embeddings, 100,000 rows, d = 384, cosine"
    names = [p.name for p in problems.FULL + problems.QUICK]
    assert len(set(names)) == len(names)
    assert {bar.problem for bar in bars.BARS} <= set(names)


def test_rows_are_generated_into_files(tmp_path: Path) -> None:
    data = Data(None, tmp_path, problems.GENERATORS)
    source, target = data.paths(problems.QUICK[0])
    assert target is None
    np.testing.assert_array_equal(np.load(source), problems.embeddings(3_000, 32))


def test_every_contestant_has_a_script_and_pins() -> None:
    assert len(BY_NAME) == len(CONTESTANTS)
    assert {*OURS, *RIVALS, RANDOM} == set(BY_NAME)
    assert {bar.rival for bar in bars.BARS} | {bar.ours for bar in bars.BARS} <= set(BY_NAME)
    for contestant in CONTESTANTS:
        assert (SCRIPTS / contestant.script).exists()
        if contestant.environment is not None:
            assert all("==" in pin for pin in setup.packages(contestant.environment))


def test_fits_that_say_nothing_new_are_left_out() -> None:
    mnist, _, _, few, many = problems.FULL

    def tried(name: str, problem: problems.Problem) -> list[int]:
        return [k for k in problem.ks if BY_NAME[name].is_tried(problem, k)]

    assert tried(FAISS_ALL, few) == [100]
    assert tried(FAISS_ALL, many) == [100, 1_000]
    assert tried(BALANCED, many) == [100]
    assert tried(THOROUGH, many) == []
    assert tried(THOROUGH, mnist) == [100]
    assert tried(REFERENCE, many) == tried(FAISS, many) == [100, 1_000, 10_000]


# -- the schedule ---------------------------------------------------------------------------------


def test_limit_counts_for_larger_problems_of_the_same_data() -> None:
    slow = Contestant(name="slow", script="none.py")
    small, other, large = (
        replace(problems.FULL[0], name=name, n=n, n_target=n, ks=(1, 2))
        for name, n in (("a-10", 10), ("b-20", 20), ("a-30", 30))
    )

    def run_fit(problem: problems.Problem, contestant: Contestant, blank: Result) -> Result:
        is_late = (problem.name, blank.k) == ("a-10", 2)
        status, seconds = (LIMIT, None) if is_late else (OK, 130.0 if problem is large else 1.0)
        return replace(blank, status=status, limit=9.0, seconds=seconds, cost=1.0)

    plan = Plan(
        problems=(small, other, large),
        contestants=(slow,),
        seeds=3,
        limit=9.0,
        once=120.0,
        first_seed=101,
        is_by_data=True,
    )
    *_, found = schedule.run_plan(plan, [], run_fit)
    assert [(r.problem, r.k) for r in found if r.status == SKIPPED] == [("a-30", 2)]
    assert [r.seed for r in found if (r.problem, r.k) == ("b-20", 2)] == [101, 102, 103]
    assert [r.seed for r in found if (r.problem, r.k) == ("a-30", 1)] == [101]  # over 120 s
    fixed = replace(plan, contestants=(replace(slow, has_seed=False),))
    *_, once = schedule.run_plan(fixed, [], run_fit)
    assert [r.seed for r in once] == [101] * 6
    *_, found = schedule.run_plan(replace(plan, is_by_data=False), [], run_fit)
    assert ("b-20", 2) in {(r.problem, r.k) for r in found if r.status == SKIPPED}


# -- bars, frontier, page -------------------------------------------------------------------------


def fit_of(
    contestant: str,
    cost: float,
    seconds: float,
    *,
    problem: str = "clusters-1000000",
    k: int = 1_000,
    seed: int = 101,
    growth_mb: float = 100.0,
) -> Result:
    n = int(problem.rpartition("-")[2])
    return Result(
        problem=problem,
        n=n,
        n_target=n,
        d=64,
        k=k,
        seed=seed,
        contestant=contestant,
        status=OK,
        limit=600.0,
        seconds=seconds,
        cost=cost,
        n_prototypes=k,
        baseline_mb=50.0,
        peak_mb=50.0 + growth_mb,
        others_cores=0.1,
        version="9.8.7",
        python="3.11.7",
    )


def test_ratios_are_those_of_shared_rounds() -> None:
    fits = [
        fit_of(REFERENCE, 1.0, 2.0, seed=101),
        fit_of(REFERENCE, 2.0, 8.0, seed=102),
        fit_of(FAISS, 2.0, 1.0, seed=101),
        fit_of(FAISS, 2.0, 1.0, seed=102, growth_mb=300.0),
        fit_of(MINIBATCH, 3.0, 4.0, seed=102),
    ]
    cell = Fits(fits, "clusters-1000000", 1_000)
    ratio = cell.ratio(FAISS, REFERENCE)
    assert ratio is not None
    assert ratio.cost == pytest.approx((2**0.5, 1.0, 2.0))
    assert ratio.time == pytest.approx((0.25, 0.125, 0.5))
    once = cell.ratio(MINIBATCH, REFERENCE)
    assert once is not None
    assert (once.cost[0], once.time[0], once.n_rounds) == (1.5, 0.5, 1)
    assert cell.ratio("OneBatchPAM", REFERENCE) is None
    assert cell.growth(FAISS) == 300 * 2**20


BAR = Bar(problem="clusters-1000000", k=1_000, rival=FAISS, cost=0.9, time=0.5, gigabytes=1.0)


@pytest.mark.parametrize(
    ("bar", "cost", "seconds", "growth_mb", "status"),
    [
        (BAR, 0.9, 5.0, 900.0, MET),
        (BAR, 0.91, 5.0, 900.0, MISSED),
        (BAR, 0.9, 5.1, 900.0, MISSED),
        (BAR, 0.9, 5.0, 960.0, MISSED),  # MiB: over 1e9 bytes
        (replace(BAR, gigabytes=None), 0.9, 5.0, 960.0, MET),
        (replace(BAR, is_strict=True), 0.9, 5.0, 900.0, MISSED),
        (replace(BAR, is_strict=True), 0.89, 5.0, 900.0, MET),
    ],
)
def test_bar_is_met_if_cost_time_and_memory_are_reached(
    bar: Bar, cost: float, seconds: float, growth_mb: float, status: str
) -> None:
    ours = fit_of(REFERENCE, cost, seconds, growth_mb=growth_mb)
    (verdict,) = verdicts([ours, fit_of(FAISS, 1.0, 10.0)], (bar,))
    assert verdict.status == status


def test_bar_without_a_result_says_why() -> None:
    ours, rival = fit_of(REFERENCE, 1.0, 1.0), fit_of(FAISS, 1.0, 1.0)
    late = replace(rival, status=LIMIT, reason="over 600 s", cost=None, seconds=None)
    (verdict,) = verdicts([ours, late], (BAR,))
    assert (verdict.status, verdict.reason) == (OPEN, f"{FAISS}: over 600 s")
    (verdict,) = verdicts([rival], (BAR,))
    assert (verdict.status, verdict.reason) == (OPEN, f"{REFERENCE}: not measured")
    failed = replace(ours, status=FAILED, reason="MemoryError", cost=None)
    (verdict,) = verdicts([failed, rival], (BAR,))
    assert (verdict.status, verdict.reason) == (MISSED, f"{REFERENCE}: MemoryError")
    assert [replace(BAR, k=k).ours for k in (100, 1_000)] == [STATED, REFERENCE]
    assert replace(BAR, k=100, contestant=BALANCED).ours == BALANCED


def test_frontier_is_our_best_cost_in_the_time_of_a_rival() -> None:
    fits = [
        fit_of(REFERENCE, 1.0, 4.0),
        fit_of(STATED, 1.1, 2.0),
        fit_of(RANDOM, 0.1, 0.1),
        fit_of(FAISS, 1.05, 3.0),  # only the fast effort is in its time
        fit_of(FAISS_ALL, 0.998, 5.0),
        fit_of(MINIBATCH, 0.996, 4.0),
        fit_of("OneBatchPAM", 2.0, 1.0),
        fit_of("OneBatchPAM", 2.0, 1.0, k=30),
        fit_of(REFERENCE, 1.0, 4.0, k=30),
    ]
    cell = {"problem": "clusters-1000000", "k": 1_000}
    found = {each.rival: each for each in frontiers(fits)}
    assert found[FAISS] == Frontier(
        **cell, rival=FAISS, ours=STATED, cost=pytest.approx(1.05 / 1.1)
    )
    assert found[FAISS_ALL].ours == found[MINIBATCH].ours == REFERENCE
    assert found["OneBatchPAM"] == Frontier(**cell, rival="OneBatchPAM", ours=None, cost=None)
    assert [name for name, each in found.items() if each.is_met] == [FAISS_ALL]


def made_up() -> list[Result]:
    speeds = {REFERENCE: 1.0, FAISS: 2.5, MINIBATCH: 2.0, RANDOM: 0.01}
    found = [
        fit_of(
            name,
            (1.05 if name in RIVALS else 1.0) * 5 / k**0.05,
            speed * k / 1e3 * n / 1e5,
            problem=f"clusters-{n}",
            k=k,
            seed=seed,
        )
        for n in (100_000, 1_000_000)
        for k in (1_000, 10_000)
        for seed in (101, 102)
        for name, speed in speeds.items()
    ]
    late = replace(found[0], contestant="KMeans + rows", status=LIMIT, reason="over 600 s")
    return [*found, replace(late, cost=None, seconds=None)]


def test_summary_writes_page_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    results.write(tmp_path / "comparison.csv", made_up())
    session = Session(command="x", machine="m", date="2025-01-31", n_results=4, minutes=7)
    conditions = comparison_page.Conditions(
        sessions=(session, session), threads=2, limit=600.0, once=120.0, memory_gb=16.0
    )
    comparison_page.write_conditions(tmp_path, conditions)
    monkeypatch.setattr(sys, "argv", ["comparison", "--out", str(tmp_path), "--large", "--summary"])
    script.main()
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (
        "| clusters-100000 k = 10,000 | **auto** | faiss + rows | 0.9524 | ≤ 0.965 | 0.4 | ≤ 0.5 "
        "| 0.10 | – | **met** |"
    ) in text
    assert "≤ 0.980 (aim 0.975) | 0.4 | ≤ 0.5 | 0.10 | ≤ 3 | **met**, aim reached |" in text
    assert "Met: 4, missed: 0, open: 7 of 11." in text
    assert "This holds in 8 of 8 cases." in text
    assert "| faiss + rows | 1.0500 | 2.5 | 2.5 | 105 | 2 |" in text
    assert "| KMeans + rows | over 600 s | clusters-100000 k = 1000 |" in text
    assert "the sessions took 14 min" in text
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert pictures == [
        "clusters-100000.svg",
        "clusters-1000000.svg",
        "against-k.svg",
        "against-rows.svg",
    ]
    for name in pictures[2:]:
        shown = re.findall(">([^<>]+)</text>", (tmp_path / name).read_text(encoding="utf-8"))
        assert {REFERENCE, FAISS, MINIBATCH, RANDOM, "seconds"} <= set(shown)
        assert "KMeans + rows" not in shown
    assert "auto, one point per effort" in (tmp_path / pictures[0]).read_text(encoding="utf-8")


def test_missed_cases_are_listed() -> None:
    fits = [fit_of(REFERENCE, 1.0, 4.0), fit_of(FAISS, 0.9, 5.0), fit_of(MINIBATCH, 0.9, 3.0)]
    text = "\n".join(page._frontier(fits))
    assert "holds in 0 of 2 cases. The others:" in text
    assert "| clusters-1000000 k = 1,000 | faiss + rows | **auto** | 0.9000 |" in text
    assert "| MiniBatchKMeans + rows | all of ours are slower | – |" in text


# -- a small comparison, with contestants that need no environment ---------------------------------


def test_comparison_from_rows_to_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    tiny = tuple(
        replace(p, name=f"{p.data}-200", n=200, n_target=200, d=6, ks=(3,))
        for p in problems.QUICK[:2]
    )
    monkeypatch.setattr(script.large_problems, "QUICK", tiny)
    monkeypatch.setattr(page, "QUICK", tiny)
    out = tmp_path / "out"
    command = ["comparison", "--peers", str(tmp_path), "--out", str(out), "--large", "--quick"]
    command += ["--limit", "60", "--only", f"{RANDOM},{STATED}"]
    monkeypatch.setattr(sys, "argv", [*command, "--problems", "embeddings-200"])
    script.main()
    first = results.read(out / "comparison.csv")
    assert [(r.problem, r.contestant, r.status, r.seed) for r in first] == [
        ("embeddings-200", STATED, OK, 101),
        ("embeddings-200", RANDOM, OK, 101),
    ]
    assert first[0].cost is not None
    assert first[1].cost is not None
    assert 0 < first[0].cost < first[1].cost < 1  # cosine
    monkeypatch.setattr(sys, "argv", [*command, "--minutes", "1e-9"])
    script.main()
    second = results.read(out / "comparison.csv")
    assert second[:2] == first
    assert [(r.problem, r.contestant) for r in second[2:]] == [("table-200", STATED)]
    monkeypatch.setattr(sys, "argv", [*command, "--problems", "embeddings-200"])
    script.main()  # nothing is left
    conditions = comparison_page.read_conditions(out)
    assert conditions is not None
    assert [(s.n_results, s.minutes) for s in conditions.sessions] == [(2, 1), (1, 1)]
    assert "--large --quick --limit 60 --problems embeddings-200 --only" in (
        conditions.sessions[0].command
    )
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "the sessions took 2 min" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--large", "--only", "pam"], r"\['pam'\] are not contestants"),
        (["--large", "--problems", "mnist-1"], r"--problems: \['mnist-1'\] are not problems"),
        (["--large", "--headline"], "2"),
    ],
)
def test_unknown_names_are_errors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], message: str
) -> None:
    command = ["comparison", "--peers", str(tmp_path), "--out", str(tmp_path), *options]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit, match=message):
        script.main()


def test_missing_package_is_listed(tmp_path: Path) -> None:
    gone = replace(fit_of(FAISS, 1.0, 1.0), status=MISSING, reason="not found by pip", cost=None)
    text = "\n".join(comparison_page.failure_lines([gone], CONTESTANTS))
    assert "| faiss + rows | not found by pip | all |" in text
