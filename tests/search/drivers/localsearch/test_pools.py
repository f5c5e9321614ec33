from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import protobandit as pb
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.localsearch import pools, schedule
from protobandit.search.drivers.localsearch.judged_rows import JudgedRows
from protobandit.search.drivers.localsearch.pools import SourcePool
from protobandit.search.drivers.localsearch.schedule import MOST_STEPS, Size, n_first_cells

K = 600  # enough cells that rows are not compared with all


def pool_of(source, target, *, is_descending=True, is_held=True, metric="euclidean", n_jobs=None):
    """Return source rows beside judged rows that random prototypes serve."""
    random = np.random.default_rng(0)
    oracle = Oracle(pose(source, target, k=K, metric=metric), n_jobs=n_jobs)
    start = random.choice(len(source), K, replace=False)
    judged = JudgedRows.assigned(
        oracle, np.arange(len(target)), np.ones(len(target)), start, 6, random
    )
    judged.find_common(K, 64)
    kept = {"is_held": is_held, "is_descending": is_descending}
    return SourcePool(judged, np.arange(len(source)), K, **kept)


def rows_of(n, seed):
    centres = 3 * np.random.default_rng(0).normal(size=(40, 5))
    random = np.random.default_rng(seed)
    rows = centres[random.integers(40, size=n)] + random.normal(size=(n, 5))
    return rows.astype(np.float32)


def size_of(n_source, n_target, k):
    return Size(
        n_source=n_source,
        n_target=n_target,
        k=k,
        is_same=False,
        is_indexed=True,
        row_bytes=256,
        itemsize=4,
    )


def exact_gaps(pool, source, target):
    """Return the cells that have rows, and the distances to their representatives."""
    cells, rows = pool._judged.representatives(pool._k)
    return cells, cdist(source, target[pool._judged.ids[rows]])


def test_most_rows_find_the_nearest_cell_with_few_evaluations():
    source, target = rows_of(20_000, 1), rows_of(5000, 2)
    pool = pool_of(source, target)
    before = pool._judged.oracle.evaluations.total()
    cells, exact = exact_gaps(pool, source, target)
    slots = pool.slots
    spent = pool._judged.oracle.evaluations.total() - before
    assert spent < 0.5 * len(source) * K
    assert spent <= len(source) * (2 * n_first_cells(K) + MOST_STEPS * 64)
    size = size_of(len(source), len(target), K)
    stage = replace(size.stages(2.5)[-1], n_sources=len(source))
    assert stage.is_descending
    assert spent <= size.assignment_evaluations(stage, is_most=True) - stage.n_rows * K
    at = np.searchsorted(cells, slots)
    np.testing.assert_array_equal(cells[at], slots)
    np.testing.assert_allclose(pool.gaps, exact[np.arange(len(source)), at], rtol=1e-3, atol=1e-3)
    assert (pool.gaps <= exact.min(axis=1) * (1 + 1e-3) + 1e-3).mean() > 0.9
    assert pool.gaps.mean() < 1.05 * exact.min(axis=1).mean()


def test_rows_go_on_while_they_find_nearer_cells():
    source, target = rows_of(20_000, 1), rows_of(5000, 2)
    pool = pool_of(source, target)
    cells, exact = exact_gaps(pool, source, target)
    column = np.full(K, -1)
    column[cells] = np.arange(len(cells))
    around = pool._judged.common[pool.slots]
    is_there = (around >= 0) & (column[around] >= 0)
    gaps = np.take_along_axis(exact, np.where(is_there, column[around], 0), axis=1)
    nearest = np.where(is_there, gaps, np.inf).min(axis=1)
    assert (pool.gaps <= nearest * (1 + 1e-3) + 1e-3).mean() > 0.99


@pytest.mark.parametrize("is_held", [True, False])
def test_other_rows_are_compared_with_all_cells(is_held):
    source, target = rows_of(900, 1), rows_of(2000, 2)
    pool = pool_of(source, target, is_descending=not is_held, is_held=is_held)
    _, exact = exact_gaps(pool, source, target)
    np.testing.assert_allclose(pool.gaps, exact.min(axis=1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("sizes", "effort", "is_descending"),
    [
        ((100_000, 100_000, 1000), 2.5, False),
        ((400_000, 100_000, 1000), 2.5, True),
        ((100_000, 100_000, 1000), 0.25, True),
        ((400_000, 100_000, 100), 0.25, False),
    ],
)
def test_cells_are_found_faster_where_that_takes_most_of_the_time(sizes, effort, is_descending):
    size = size_of(*sizes)
    assert size.stages(effort)[-1].is_descending == is_descending


def test_cells_without_rows_get_no_source_rows():
    """Repeated target rows leave most cells empty."""
    source, target = rows_of(4000, 1), np.repeat(rows_of(20, 2), 50, axis=0)
    pool = pool_of(source, target)
    cells, exact = exact_gaps(pool, source, target)
    assert len(cells) <= 20
    assert np.isin(pool.slots, cells).all()
    np.testing.assert_allclose(pool.gaps, exact.min(axis=1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_threads_do_not_change_the_cells(monkeypatch, metric):
    monkeypatch.setattr(pools, "_ROWS", 100)
    source, target = rows_of(8000, 1), rows_of(2000, 2)
    one, two = (pool_of(source, target, metric=metric, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.slots, two.slots)
    np.testing.assert_array_equal(one.gaps, two.gaps)


def test_a_search_with_many_source_rows_does_not_compare_them_with_all_cells(monkeypatch):
    source, target = rows_of(20_000, 1), rows_of(2000, 2)
    found = []
    for n in (40, 10**9):
        monkeypatch.setattr(schedule, "_MANY_CELLS_OF_POOL", n)
        found.append(pb.select(source, target, k=300, method="localsearch", random_state=0))
    fewer, all_cells = found
    assert fewer.evaluations < all_cells.evaluations - 0.3 * 300 * len(source)
    assert fewer.cost < 1.02 * all_cells.cost


def test_evaluations_are_the_calls_of_the_metric_and_within_the_bound(monkeypatch):
    monkeypatch.setattr(schedule, "_MANY_CELLS_OF_POOL", 40)
    n_calls = 0

    def counted(A, B):
        nonlocal n_calls
        n_calls += len(A) * len(B)
        return cdist(A, B, "cityblock")

    source, target = rows_of(4000, 1).astype(float), rows_of(900, 2).astype(float)
    arguments = {"k": 60, "metric": pb.block_metric(counted), "method": "localsearch"}
    planned = pb.plan(source, target, **arguments)
    n_calls = 0
    found = pb.select(source, target, **arguments, random_state=0)
    assert found.evaluations == n_calls
    assert found.evaluations_by_phase["swap"] <= planned.most_evaluations


@pytest.mark.parametrize("most", [150_000, 400_000])
def test_a_limit_of_evaluations_holds(monkeypatch, most):
    monkeypatch.setattr(schedule, "_MANY_CELLS_OF_POOL", 40)
    limits = pb.Limits(evaluations=most)
    found = pb.select(
        rows_of(5000, 1),
        rows_of(4000, 2),
        k=60,
        method="localsearch",
        limits=limits,
        random_state=0,
    )
    by_phase = found.evaluations_by_phase
    assert by_phase.get("build", 0) + by_phase["swap"] <= most
