"""benchmarks/comparison, with contestants that fit, fail, hang or use too much memory."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.common.peers import SCRIPTS
from benchmarks.common.sessions import Session
from benchmarks.comparison import __main__ as script
from benchmarks.comparison import fit, page, results, schedule
from benchmarks.comparison.contestants import CONTESTANTS, REFERENCE, Contestant
from benchmarks.comparison.figure import _best_place, _overlap
from benchmarks.comparison.problems import FULL, QUICK, Data, Problem
from benchmarks.comparison.ratios import lines
from benchmarks.comparison.results import FAILED, LIMIT, MISSING, OK, SKIPPED, Result
from benchmarks.comparison.schedule import Plan
from benchmarks.peers import setup

import protobandit as pb

LIMITS = fit.Limits(seconds=30.0, start_seconds=60.0)
BLANK = Result(
    problem="mnist-2000", n=2000, n_target=2000, d=784, k=10, seed=0, contestant="x", status=MISSING
)


def contestant_script(folder: Path, body: str) -> list[str]:
    """Return the command of a script whose ``fit`` has this body."""
    path = folder / "fit_example.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport numpy as np\n"
        f"from _fit import part, time_fit\n"
        f"def fit(source, target, k, seed, word):\n    {body}\ntime_fit('numpy', fit)\n"
    )
    return [sys.executable, str(path), "word"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32))
    return path


def run(command: list[str], rows: Path, target: Path | None = None, **limits: float) -> Result:
    blank = replace(BLANK, k=3, seed=5)
    return fit.run(blank, command, rows, target, replace(LIMITS, **limits))


def test_fit_is_timed_and_its_cost_computed(tmp_path: Path, rows: Path) -> None:
    body = "print('noise'); assert word == 'word'; return [seed, 7, len(target) - 1]"
    targets = tmp_path / "target.npy"
    np.save(targets, np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32))
    result = run(contestant_script(tmp_path, body), rows, targets)
    source, target = (np.load(path).astype(np.float64) for path in (rows, targets))
    distances = np.linalg.norm(target[:, None] - source[None, [5, 7, 49]], axis=2)
    assert result.status == OK
    assert result.cost == pytest.approx(distances.min(axis=1).mean(), abs=1e-9)
    assert result.n_prototypes == 3
    assert result.version == np.__version__
    assert result.seconds is not None
    assert 0 < result.seconds < 30
    assert result.import_seconds is not None
    assert 0 < result.import_seconds < 60
    if Path("/proc/self/status").exists():
        assert result.others_cores is not None
        assert result.peak_mb is not None
        assert result.baseline_mb is not None
        assert result.peak_mb >= result.baseline_mb > 5


def test_peak_memory_is_that_of_the_fit(tmp_path: Path, rows: Path) -> None:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs Linux")
    body = "np.ones((20 if len(source) > 200 else 60, 2**17)); return range(k)"
    result = run(contestant_script(tmp_path, body), rows)
    assert result.peak_mb is not None
    assert result.baseline_mb is not None
    assert 18 < result.peak_mb - result.baseline_mb < 40


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('bad /some/where/lib.so')", "ValueError: bad lib.so"),
        ("import os; os._exit(3)", "ended with code 3"),
        ("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV"),
    ],
)
def test_failure_is_a_result_with_a_reason(
    tmp_path: Path, rows: Path, body: str, reason: str
) -> None:
    result = run(contestant_script(tmp_path, body), rows)
    assert result.status == FAILED
    assert reason in result.reason
    assert "\n" not in result.reason
    assert result.cost is None


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ([0, 1, 2, 3], "returned 4 rows, not 3"),
        ([], "returned 0 rows, not 3"),
        ([0, 300], "returned row 300 of 300"),
        ([-1, 2], "returned row -1 of 300"),
        ([0, 299], ""),
    ],
)
def test_invalid_indices_are_a_failure(indices: list[int], reason: str) -> None:
    assert fit._invalid(np.array(indices), 3, 300) == reason


def test_memory_is_limited(tmp_path: Path, rows: Path) -> None:
    pytest.importorskip("resource")
    body = "np.ones(2**28 if len(source) > 200 else 1); return range(k)"
    result = run(contestant_script(tmp_path, body), rows, n_bytes=2**30)
    assert result.status == FAILED
    assert "Unable to allocate 2.00 GiB" in result.reason


@pytest.mark.parametrize(
    ("output", "status", "reason"),
    [("{}", LIMIT, "over 0.3 s"), (None, FAILED, "not ready within 0.3 s")],
)
def test_fit_that_hangs_is_ended(
    tmp_path: Path, rows: Path, output: str | None, status: str, reason: str
) -> None:
    path = tmp_path / "hangs.py"
    ready = "" if output is None else f"print('{output}', flush=True)"
    path.write_text(f"import threading\n{ready}\nthreading.Event().wait()\n")
    late = {"seconds": 0.3} if output else {"start_seconds": 0.3}
    result = run([sys.executable, str(path)], rows, **late)
    assert (result.status, result.reason) == (status, reason)


# -- the schedule ---------------------------------------------------------------------------------

SMALL = Problem(name="small", n=10, n_target=10, d=2, ks=(1, 2))
LARGE = Problem(name="large", n=20, n_target=20, d=2, ks=(1, 2))
WIDE = Problem(name="wide", n=10, n_target=40, d=2, ks=(1,))
SEEDED, FIXED = (
    Contestant(
        name=name, script="none.py", has_seed=name == "seeded", takes_target=name == "seeded"
    )
    for name in ("seeded", "fixed")
)


def plan(**given: object) -> Plan:
    usual = {
        "problems": (SMALL, LARGE, WIDE),
        "contestants": (SEEDED, FIXED),
        "seeds": 3,
        "limit": 9.0,
        "once": 5.0,
    }
    return Plan(**{**usual, **given})  # type: ignore[arg-type]


def done(problem: Problem, contestant: Contestant, blank: Result) -> Result:
    return replace(blank, status=OK, seconds=1.0, cost=2.0, n_prototypes=blank.k)


def last(steps: object) -> list[Result]:
    return list(steps)[-1]  # type: ignore[call-overload, no-any-return]


def test_contestants_are_interleaved_and_run_once_without_a_seed() -> None:
    found = last(schedule.run_plan(plan(), [], done))
    assert [(r.seed, r.problem, r.k, r.contestant) for r in found[:4]] == [
        (0, "small", 1, "seeded"),
        (0, "small", 1, "fixed"),
        (0, "small", 2, "seeded"),
        (0, "small", 2, "fixed"),
    ]
    assert [r.seed for r in found] == sorted(r.seed for r in found)
    assert sum(r.contestant == "fixed" for r in found) == 4
    assert sum(r.contestant == "seeded" for r in found) == 15
    assert not any(r.contestant == "fixed" and r.problem == "wide" for r in found)


def test_each_round_starts_with_another_contestant() -> None:
    many = tuple(replace(SEEDED, name=f"c{i}") for i in range(6))
    cells = list(plan(problems=(WIDE,), contestants=many).fits())
    assert [cells[6 * i][1].name for i in range(3)] == ["c0", "c2", "c4"]


def test_existing_results_are_kept() -> None:
    whole = [list(step) for step in schedule.run_plan(plan(), [], done)]
    resumed = [list(step) for step in schedule.run_plan(plan(), whole[6], done)]
    assert len(resumed) == len(whole) - 7
    assert resumed[-1] == whole[-1]
    assert not list(schedule.run_plan(plan(), whole[-1], done))


def test_larger_fits_are_skipped_after_the_limit() -> None:
    def run_fit(problem: Problem, contestant: Contestant, blank: Result) -> Result:
        is_late = (problem, contestant, blank.k) == (SMALL, SEEDED, 2)
        status = LIMIT if is_late else OK
        return replace(done(problem, contestant, blank), status=status, limit=9.0)

    found = last(schedule.run_plan(plan(), [], run_fit))
    skipped = [r for r in found if r.status == SKIPPED]
    assert [(r.problem, r.k, r.seed, r.contestant) for r in skipped] == [("large", 2, 0, "seeded")]
    assert skipped[0].reason == "not tried: over 9 s at small, k = 2"
    assert sum(r.problem == "large" and r.k == 1 for r in found) == 4
    again = last(schedule.run_plan(plan(limit=20.0), found, done))
    assert all(r.status == OK for r in again)


def test_slow_and_failed_fits_are_not_repeated_but_missing_packages_are() -> None:
    def run_fit(problem: Problem, contestant: Contestant, blank: Result) -> Result:
        if problem is SMALL:
            return replace(done(problem, contestant, blank), seconds=6.0)
        return replace(blank, status=FAILED if problem is LARGE else MISSING, reason="why")

    found = last(schedule.run_plan(plan(), [], run_fit))
    assert {r.seed for r in found} == {0}
    again = last(schedule.run_plan(plan(), found, done))
    assert {r.problem for r in again if r not in found} == {"wide"}
    assert [r.reason for r in again if r.problem == "large"] == ["why"] * 4


# -- table, ratios, page, figure ------------------------------------------------------------------


def fits() -> list[Result]:
    table = [
        (REFERENCE, 0, 2.0, 1.0),
        (REFERENCE, 1, 4.0, 1.2),
        ("lazybandit fast", 0, 1.0, 1.5),
        ("lazybandit fast", 1, 1.0, 1.5),
        ("kmedoids FasterPAM", 0, 8.0, 1.0),
        ("kmedoids FasterPAM", 1, 8.0, 1.1),
        ("submodlib", 0, 6.0, 2.1),
    ]
    found = [
        replace(
            BLANK,
            contestant=name,
            seed=seed,
            status=OK,
            seconds=seconds,
            matrix_seconds=0.5 + seed if name == "kmedoids FasterPAM" else None,
            cost=cost,
            n_prototypes=9 if name == "submodlib" else 10,
            baseline_mb=100.0,
            peak_mb=150.0 + seed,
            others_cores=0.25,
            version="9.8.7",
            python="3.11.7",
        )
        for name, seed, seconds, cost in table
    ]
    late = replace(BLANK, contestant="BanditPAM", status=LIMIT, reason="over 60 s", limit=60.0)
    gone = replace(BLANK, contestant="apricot", status=MISSING, reason="not found by pip")
    full = replace(BLANK, contestant="interpret SPOT", status=FAILED, reason="out of memory")
    return [*found, late, gone, full, replace(late, k=100)]


def test_ratios_to_the_best_cost_and_to_the_reference_in_the_same_round() -> None:
    found = {line.contestant: line for line in lines(fits(), "mnist-2000", 10)}
    assert list(found) == ["kmedoids FasterPAM", REFERENCE, "lazybandit fast", "submodlib"]
    assert found["kmedoids FasterPAM"].cost_ratio == 1.0
    assert found["submodlib"].cost_ratio == pytest.approx(2.0)
    assert found["kmedoids FasterPAM"].time_ratio == pytest.approx((4 * 2) ** 0.5)
    assert found["submodlib"].time_ratio == pytest.approx(3.0)  # its only round
    assert found[REFERENCE].time_ratio == pytest.approx(1.0)
    assert found["kmedoids FasterPAM"].time_range == (2.0, 4.0)
    assert found["kmedoids FasterPAM"].cost_spread == pytest.approx(0.1 / 2**0.5 / 1.05)
    assert found["submodlib"].cost_spread is None
    assert found["kmedoids FasterPAM"].matrix_seconds == pytest.approx(1.0)
    assert found["lazybandit fast"].matrix_seconds is None
    assert found["lazybandit fast"].extra_mb == 51.0
    assert [line.n_seeds for line in found.values()] == [2, 2, 2, 1]
    assert (
        lines([r for r in fits() if r.contestant != REFERENCE], "mnist-2000", 10)[0].time_ratio
        is None
    )


def test_results_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "comparison.csv"
    assert results.read(path) == []
    results.write(path, fits())
    assert results.read(path) == fits()
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + len(fits())


def test_summary_writes_page_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    results.write(tmp_path / "comparison.csv", fits())
    session = Session(
        command="python -m benchmarks.comparison --quick",
        machine="a machine, 2 cores",
        date="2025-01-31",
        commit="abc1234",
    )
    conditions = page.Conditions(
        sessions=(session,),
        threads=2,
        limit=60.0,
        once=20.0,
        memory_gb=16.0,
        cold_seconds=4.5,
        cached_seconds=1.5,
    )
    page.write_conditions(tmp_path, conditions)
    assert page.read_conditions(tmp_path) == conditions
    folder = str(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["comparison", "--peers", folder, "--out", folder, "--summary"]
    )
    script.main()
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    cells = "1.0000 ± 0.0673 | 2.83 (2 to 4) | 8 (matrix 1) | 51 | 2"
    assert f"| kmedoids FasterPAM † | {cells} |" in text
    assert "| submodlib † | 2.0000 (9 rows) | 3 | 6 | 50 | 1 |" in text
    assert f"| **{REFERENCE}** | 1.0476 ± 0.1347 | 1 | 2.83 | 51 | 2 |" in text
    assert "| BanditPAM | over 60 s | mnist-2000 k = 10, mnist-2000 k = 100 |" in text
    assert "| apricot | not found by pip | all |" in text
    assert "| kmedoids FasterPAM † | kmedoids 0.5.5 | 3.11.7 | no |" in text
    assert "| interpret SPOT | out of memory | mnist-2000 k = 10 |" in text
    assert (
        "Run on 2025-01-31, commit abc1234: `python -m benchmarks.comparison --quick`. Machine: a"
        in text
    )
    assert "0.25 cores busy" in text
    assert "These times are not reliable." in text
    assert "4.5 s if nothing has been compiled before, and 1.5 s afterwards" in text
    assert "![Cost against time](mnist-2000.svg)" in text
    assert folder not in text
    picture = (tmp_path / "mnist-2000.svg").read_text(encoding="utf-8")
    assert {"kmedoids FasterPAM", REFERENCE, "k = 10"} <= set(
        re.findall(">([^<>]+)</text>", picture)
    )
    assert "not within the limit: BanditPAM" in picture
    assert "failed (reasons in README.md): interpret SPOT" in picture
    assert "could not be installed: apricot" in picture
    assert (tmp_path / "mnist-2000.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(tmp_path.glob("*.part*"))


def test_labels_do_not_overlap() -> None:
    taken = [(96.0, 96.0, 104.0, 104.0)]
    for _ in range(4):
        box, _ = _best_place(100, 100, 40, 10, taken, (0, 0, 200, 200), 7)
        assert not any(_overlap(box, other) for other in taken)
        taken.append(box)


# -- a small comparison, with contestants that need no environment ---------------------------------


@pytest.mark.parametrize("is_resumed", [False, True])
def test_comparison_from_rows_to_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_resumed: bool
) -> None:
    pytest.importorskip("matplotlib")
    images = np.random.default_rng(0).random((200, 9), dtype=np.float32)
    monkeypatch.setattr(
        "benchmarks.comparison.problems.mnist", lambda _: (images, None, None, None)
    )
    small = replace(FULL[0], n=200, n_target=200, d=9, ks=(3,))
    monkeypatch.setattr(script, "QUICK", (small,))
    monkeypatch.setattr(script, "_first_calls", lambda *_: (4.0, 1.0))
    out = tmp_path / "out"
    arguments = [
        "comparison",
        "--peers",
        str(tmp_path),
        "--out",
        str(out),
        "--quick",
        "--limit",
        "60",
    ]
    monkeypatch.setattr(sys, "argv", [*arguments, "--only", "random,lazygreedy"])
    script.main()
    first = results.read(out / "comparison.csv")
    if is_resumed:
        script.main()
        assert results.read(out / "comparison.csv") == first
    assert [(r.contestant, r.status, r.n_prototypes) for r in first] == [
        ("lazygreedy", OK, 3),
        ("random", OK, 3),
    ]
    best = pb.select(images, k=3, method="lazygreedy")
    assert first[0].cost == pytest.approx(best.cost, rel=1e-5)
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "--quick --limit 60 --only random,lazygreedy" in text
    assert "4.0 s if nothing has been compiled before" in text
    assert str(tmp_path) not in text


# -- contestants and problems ---------------------------------------------------------------------


def test_every_contestant_has_a_script_and_pins() -> None:
    names = [contestant.name for contestant in CONTESTANTS]
    assert len(set(names)) == len(names)
    assert REFERENCE in names
    for contestant in CONTESTANTS:
        assert (SCRIPTS / contestant.script).exists()
        if contestant.environment is not None:
            assert all("==" in pin for pin in setup.packages(contestant.environment))


def test_unknown_contestant_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = [
        "comparison",
        "--peers",
        str(tmp_path),
        "--out",
        str(tmp_path),
        "--only",
        "random,pam",
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match=r"\['pam'\] are not contestants"):
        script.main()


def test_rows_of_a_problem_are_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {p.name for p in QUICK} <= {p.name for p in FULL}
    images = np.random.default_rng(0).random((3000, 60), dtype=np.float32)
    monkeypatch.setattr(
        "benchmarks.comparison.problems.mnist", lambda _: (images, None, None, None)
    )
    small = replace(FULL[0], d=60)
    data = Data(None, tmp_path)
    source, target = data.paths(small)
    assert target is None
    np.testing.assert_array_equal(np.load(source), images[:2000])
    written = os.stat(source).st_mtime_ns
    assert data.paths(small) == (source, None)
    assert os.stat(source).st_mtime_ns == written
    few = np.load(data.paths(replace(small, name="pca", n=200, n_target=200, d=50))[0])
    assert (few.shape, few.dtype) == ((200, 50), np.float32)
    centred = (images - images.mean(axis=0)).astype(np.float64)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    expected = np.abs(centred[:200] @ directions[:50].T)
    np.testing.assert_allclose(np.abs(few), expected, atol=1e-4)
