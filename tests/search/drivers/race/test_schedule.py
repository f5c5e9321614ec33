from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protobandit.oracle.oracle import Oracle
from protobandit.oracle.target_orders import RandomOrder
from protobandit.problem.posing import pose
from protobandit.search.drivers.race.race import race
from protobandit.search.drivers.race.schedule import (
    Rung,
    least_evaluations,
    most_evaluations,
    rungs_for,
)
from protobandit.search.drivers.race.schedule import planned_evaluations as planned

PLENTY = 10**15
lawful = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@st.composite
def sizes(draw):
    n_source = draw(st.integers(1, 10**6))
    return {
        "n_source": n_source,
        "n_target": draw(st.integers(1, 10**9)),
        "k": draw(st.integers(1, min(n_source, 2000))),
        "effort": draw(st.floats(1e-3, 50)),
        "at_once": draw(st.sampled_from([0, 1 << 14, 1 << 24])),
        "entries": draw(st.sampled_from([0, 10**5, 10**8, PLENTY])),
        "evaluations": draw(st.none() | st.integers(1, 10**10)),
    }


def plan(**changes):
    size = {
        "n_source": 5000,
        "n_target": 100_000,
        "k": 20,
        "effort": 1.0,
        "at_once": 0,
        "entries": PLENTY,
        "evaluations": None,
    }
    return rungs_for(**(size | changes))


# -- invariants ------------------------------------------------------------------------------------


@lawful
@given(size=sizes())
def test_rows_grow_and_arms_become_fewer(size):
    rungs = rungs_for(**size)
    n_source, n_target, k = size["n_source"], size["n_target"], size["k"]
    assert all(before.n_rows < after.n_rows for before, after in pairwise(rungs))
    assert all(before.n_arms >= after.n_arms for before, after in pairwise(rungs))
    assert min(n_target, k + 1) <= rungs[0].n_rows
    assert rungs[-1].n_rows <= n_target
    assert min(n_source, 2 * k) <= rungs[-1].n_arms
    assert rungs[0].n_arms <= n_source
    assert rungs[0].n_cells == 0
    assert all(1 <= rung.n_cells <= k for rung in rungs[1:])
    assert all(rung.passes <= rungs[-1].passes for rung in rungs)
    assert not any(rung.n_finalists or rung.n_trials for rung in rungs[:-1])
    for rung in rungs:
        assert all(type(value) is int for value in vars(rung).values())


@lawful
@given(size=sizes())
def test_kept_entries_fit_into_memory(size):
    first = rungs_for(**size)[0]
    fewest = min(size["n_source"], 2 * size["k"])
    assert first.n_arms == fewest or first.n_arms * first.n_rows <= size["entries"]


@lawful
@given(size=sizes())
def test_finalists_are_more_than_prototypes_and_fit_into_memory(size):
    rungs = rungs_for(**size)
    last = rungs[-1]
    if last.n_finalists:
        assert size["effort"] >= 5
        assert last.n_reads == 0
        assert 1 < size["k"] < last.n_finalists <= min(last.n_arms, 18 * size["k"])
        assert last.n_finalists * last.n_rows <= size["entries"]
        assert last.n_trials > 0
    else:
        assert last.n_trials == 0


@lawful
@given(size=sizes())
def test_a_race_never_needs_more_evaluations_than_all_pairs(size):
    """Unless memory is insufficient for all pairs, or too few arms are allowed."""
    rungs = rungs_for(**(size | {"entries": PLENTY}))
    assert planned(rungs, size["k"], size["n_target"]) <= rungs[0].n_arms * size["n_target"]


@lawful
@given(size=sizes())
def test_the_plan_respects_every_limit_from_the_least_on(size):
    rungs = rungs_for(**size)
    least = least_evaluations(**{name: size[name] for name in ("n_source", "n_target", "k")})
    if size["evaluations"] is not None:
        limit = size["evaluations"]
        assert planned(rungs, size["k"], size["n_target"], limit) <= max(limit, least)


# -- efforts and limits ----------------------------------------------------------------------------


def test_an_effort_of_one_reads_100_plus_2k_rows():
    assert plan(k=20)[0] == Rung(5000, 140, 0, 1)
    assert plan(k=20, effort=2.5)[0].n_rows == 350
    assert plan(k=1, effort=1e-9)[0].n_rows == 2
    assert plan(k=20, n_target=100)[0].n_rows == 100


def test_more_effort_reads_more_rows_with_more_evaluations():
    costs = [planned(plan(effort=effort), 20, 100_000) for effort in (0.1, 0.5, 1, 3, 10, 30)]
    assert costs == sorted(set(costs))


def test_small_problems_have_one_rung():
    (rung,) = plan(n_target=3000, at_once=5000 * 3000)
    assert (rung.n_arms, rung.n_rows) == (5000, 3000)
    assert planned([rung], 20, 3000) == 5000 * 3000
    assert len(plan(n_target=3000, at_once=5000 * 3000 - 1)) > 1


def test_a_race_that_needs_all_evaluations_has_one_rung():
    expensive = {"n_source": 2000, "n_target": 14_000, "k": 500, "effort": 12.0}
    (rung,) = plan(**expensive)
    assert (rung.n_arms, rung.n_rows) == (2000, 14_000)
    assert planned([rung], 500, 14_000) == 2000 * 14_000
    assert (rung.n_finalists, rung.n_trials) == (0, 0)
    assert rung.n_reads > 0
    assert len(plan(**expensive | {"effort": 4.0})) > 1
    assert len(plan(**expensive, entries=2000 * 14_000 - 1)) > 1  # that does not fit into memory


@pytest.mark.parametrize("effort", [1.0, 6.0])
def test_the_plan_does_not_depend_on_the_size_of_a_large_target(effort):
    assert plan(n_target=10**5, effort=effort) == plan(n_target=10**9, effort=effort)


def test_rows_grow_by_three():
    """Unless the next rung has nearly all rows."""
    for n_target in (1000, 2500, 10**4, 10**6):
        rows = [rung.n_rows for rung in plan(n_target=n_target)]
        ratios = [after / before for before, after in pairwise(rows)]
        assert all(ratio == pytest.approx(3) for ratio in ratios[:-1])
        assert 1 < ratios[-1] < 1.4 * 3 + 0.01
        assert rows[-1] == min(32 * 140, n_target)


@pytest.mark.parametrize(("k", "n_cells"), [(1, 1), (8, 8), (12, 12), (13, 8), (100, 8)])
def test_arms_use_all_cells_if_there_are_few(k, n_cells):
    assert {rung.n_cells for rung in plan(k=k)[1:]} == {n_cells}


@pytest.mark.parametrize("cells", [13, 10**6])
def test_arms_can_use_all_cells(monkeypatch, cells):
    """As in a benchmark of home cells."""
    monkeypatch.setattr("protobandit.search.drivers.race.schedule._CELLS", cells)
    assert {rung.n_cells for rung in plan(k=20)[1:]} == {min(cells, 20)}


def test_a_single_rung_has_restarts_that_grow_with_the_effort():
    for n_target in (1, 100, 4000):
        reads = [
            plan(n_source=1000, n_target=n_target, effort=effort, at_once=1 << 24)[0].n_reads
            for effort in (0.5, 1.0, 2.5, 6.0)
        ]
        assert all(after >= 1.9 * before > 0 for before, after in pairwise(reads))
        passes = [n / (1000 * n_target) for n in reads]
        if n_target == 4000:
            assert passes[2] == pytest.approx(2.5 * 0.45 * 20**0.5, rel=0.1)
    assert all(rung.n_reads == 0 for rung in plan(effort=6.0))


@pytest.mark.parametrize("effort", [1.0, 2.5, 6.0])
def test_restarts_become_no_fewer_at_any_size(effort):
    """The entries read grow with the table, and never jump."""
    sizes = [(n, n) for n in range(10, 4000, 7)] + [(256, n) for n in (255, 256, 257)]
    sizes.sort(key=np.prod)
    reads = [
        plan(n_source=n, n_target=m, k=5, effort=effort, at_once=1 << 24)[0].n_reads
        for n, m in sizes
    ]
    assert all(0 < before <= after < 1.5 * before for before, after in pairwise(reads))


def test_finalists_need_an_effort_of_five():
    assert plan(effort=4.99)[-1].n_finalists == 0
    last = plan(effort=5.0)[-1]
    assert (last.n_finalists, last.n_trials) == (18 * 20, 100)
    assert plan(effort=6.0)[-1].n_trials == 120
    few = plan(effort=6.0, n_source=100)[-1]
    assert few.n_finalists == few.n_arms < 100


@pytest.mark.parametrize("sized", [{"k": 1}, {"k": 50, "n_source": 50}])
def test_without_possible_swaps_there_are_no_finalists(sized):
    assert plan(effort=6.0, **sized)[-1].n_finalists == 0


def test_less_memory_means_fewer_finalists():
    found = []
    for entries in (10, 10_000, 20_000, 10**6, 5 * 10**6, 10**7):
        last = plan(effort=6.0, entries=entries)[-1]
        room = min(entries // last.n_rows, 360)
        assert last.n_finalists == (room if room > 20 else 0)
        found.append(last.n_finalists)
    assert found[:3] == [0, 0, 0]
    assert 20 < found[3] < found[4] < found[5] == 360


def test_the_plan_includes_finalists():
    """At all rows except those of the first rung, without the prototypes."""
    rungs = plan(effort=6.0)
    plain = [*rungs[:-1], replace(rungs[-1], n_finalists=0)]
    more = planned(rungs, 20, 100_000) - planned(plain, 20, 100_000)
    assert more == (18 * 20 - 20) * (rungs[-1].n_rows - rungs[0].n_rows)


def test_a_limit_that_finalists_would_exceed_lowers_the_effort():
    whole = planned(plan(effort=6.0), 20, 100_000)
    for share in (0.99, 0.5, 0.1):
        rungs = plan(effort=6.0, evaluations=round(share * whole))
        assert planned(rungs, 20, 100_000, round(share * whole)) <= share * whole


def test_less_memory_means_fewer_arms():
    assert plan(entries=100 * 140)[0].n_arms == 100
    assert plan(entries=10)[0].n_arms == 40
    assert plan(entries=10, n_source=30)[0].n_arms == 30


def test_a_sufficient_limit_changes_nothing():
    whole = plan()
    assert plan(evaluations=2 * planned(whole, 20, 100_000)) == whole
    assert plan(evaluations=PLENTY) == whole


def test_a_limit_of_all_pairs_allows_all_pairs():
    every = 5000 * 3000
    sized = {"n_target": 3000, "at_once": every}
    assert plan(**sized, evaluations=every) == plan(**sized)
    assert plan(**sized, evaluations=every - 1) != plan(**sized)


def test_lower_limits_reduce_rows_and_then_arms():
    whole = planned(plan(), 20, 100_000)
    plans = [plan(evaluations=round(share * whole)) for share in (0.9, 0.65, 0.3, 0.1, 0.01)]
    rows = [rungs[0].n_rows for rungs in plans]
    assert rows == sorted(rows, reverse=True)
    arms = [rungs[0].n_arms for rungs in plans]
    assert arms[:2] == [5000, 5000]
    assert arms == sorted(arms, reverse=True)
    assert arms[-1] < 1000
    used = [
        planned(rungs, 20, 100_000, round(share * whole)) / (share * whole)
        for rungs, share in zip(plans, (0.9, 0.65, 0.3, 0.1, 0.01), strict=True)
    ]
    assert min(used) > 0.7


@pytest.mark.parametrize(("n_source", "n_target", "k"), [(5000, 10**5, 20), (30, 9, 20), (1, 1, 1)])
def test_the_least_is_one_rung_of_few_arms_and_rows(n_source, n_target, k):
    sized = {"n_source": n_source, "n_target": n_target, "k": k}
    least = least_evaluations(**sized)
    (rung,) = plan(**sized, evaluations=1)
    assert rung.n_arms * rung.n_rows == least


# -- the bound ------------------------------------------------------------------------------------


@lawful
@given(size=sizes())
def test_the_bound_of_the_documentation_holds(size):
    """docs/choosing-a-method.md and the docstring of `LazyBandit` state these multiples."""
    size |= {"entries": PLENTY, "evaluations": None}
    n_source, n_target, k = size["n_source"], size["n_target"], size["k"]
    n_pairs = n_source * n_target
    rungs = rungs_for(**size)
    first = n_source * max(k + 1, round(size["effort"] * (100 + 2 * k)))
    multiple = 13 if k < 100 else 4
    if size["effort"] >= 5:
        multiple = 14 if k < 100 else 11
    search = 73_664 * k + 64 * n_source + max(32, 2 * k) * (n_source + 7100)
    for can_repeat in (False, True):
        most = most_evaluations(rungs, k, n_target, can_repeat=can_repeat)
        assert planned(rungs, k, n_target) <= most
        if n_pairs <= size["at_once"]:
            assert most == n_pairs
        else:
            assert most <= multiple * first + search


# -- predictions -----------------------------------------------------------------------------------


def spent(rungs, n_source, n_target, k, rows):
    problem = pose(rows[:n_source], rows[n_source:], k=k)
    oracle, random = Oracle(problem, n_jobs=1), np.random.default_rng(0)
    for lap in race(oracle, RandomOrder(n_target, random), rungs, k=k, weights=None, random=random):
        assert lap.swap_state.matrix.shape == (k, lap.rung.n_rows)
    return oracle.evaluations.total()


def test_a_plan_of_one_rung_is_exact():
    rows = np.random.default_rng(0).normal(size=(600, 4))
    rungs = plan(n_source=200, n_target=400, k=5, at_once=80_000)
    assert spent(rungs, 200, 400, 5, rows) == planned(rungs, 5, 400) == 80_000


@pytest.mark.parametrize("k", [1, 4, 15, 60])
@pytest.mark.parametrize("shape", ["round", "clusters"])
@pytest.mark.parametrize("n_finalists", [0, 100])
def test_plans_are_about_right(k, shape, n_finalists):
    random = np.random.default_rng(k)
    n_source, n_target = 800, 6000
    rows = random.normal(size=(n_source + n_target, 6)).astype(np.float32)
    if shape == "clusters":
        rows += 8 * random.integers(0, 2, size=rows.shape)
    rungs = plan(n_source=n_source, n_target=n_target, k=k, effort=0.6)
    rungs[-1] = replace(rungs[-1], n_finalists=n_finalists, n_trials=10)
    assert len(rungs) > 2
    ratio = spent(rungs, n_source, n_target, k, rows) / planned(rungs, k, n_target)
    # In clusters an arm has fewer home cells than planned.
    assert (1 / 1.5 if shape == "round" else 1 / 2.5) < ratio < 1.5
