from __future__ import annotations

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
    at = np.searchsorted(cells, slots)
    np.testing.assert_array_equal(cells[at], slots)
    np.testing.assert_allclose(pool.gaps, exact[np.arange(len(source)), at], rtol=1e-3, atol=1e-3)
    assert (pool.gaps <= exact.min(axis=1) * (1 + 1e-3) + 1e-3).mean() > 0.9
    assert pool.gaps.mean() < 1.05 * exact.min(axis=1).mean()


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
    n_source, n_target, k = sizes
    size = Size(
        n_source=n_source,
        n_target=n_target,
        k=k,
        is_same=False,
        is_indexed=True,
        row_bytes=256,
        itemsize=4,
    )
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
