"""The reference of a selection: it must cost what new rows of the same distribution cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.problem.posing import pose
from protobandit.problem.reference import Reference
from protobandit.run.reference import Solved, is_cheap


def reference(selection) -> Reference:
    return selection.with_reference(n_jobs=1).reference


def cost_of_new_rows(selection, new):
    return float(selection.assign(new, n_jobs=1).distances.astype(np.float64).mean())


@pytest.mark.parametrize("separate", [False, True])
def test_the_reference_costs_what_new_rows_cost(separate):
    """Few rows per prototype: the cost on the target is far too low, the reference is not."""
    rows = brute.normal(600, 2)
    target = brute.normal(600, 2, seed=1) if separate else None
    selection = pb.select(rows, target, k=60, random_state=0, n_jobs=1)
    true = cost_of_new_rows(selection, brute.normal(20_000, 2, seed=2))
    assert selection.cost < 0.85 * true
    found = reference(selection)
    assert found.cost == pytest.approx(true, rel=0.07)  # 512 rows have an error of 2 to 3 %
    assert 340 < len(found.distances) < 450  # 512, which are not independent
    assert (np.diff(found.distances) >= 0).all()
    assert found.evaluations > 0


def test_rows_with_weights_count_by_their_weight():
    """Half of the rows lie far out and have almost no weight: they hardly occur."""
    rows = np.concatenate([brute.normal(300, 2), 100 + 10 * brute.normal(300, 2, seed=1)])
    weights = np.repeat([1.0, 0.01], 300)
    selection = pb.select(rows, k=20, weights=weights, random_state=0, n_jobs=1)
    assert (reference(selection).distances > 5).mean() < 0.05


def test_many_rows_per_prototype_are_read_directly():
    rows = brute.normal(3000, 2)
    selection = pb.select(rows, k=2, random_state=0, n_jobs=1)
    found = reference(selection)
    assert found.evaluations == 2 * 512
    assert found.cost == pytest.approx(selection.cost, rel=0.1)
    assert found.distances[0] > 0, "prototypes are not among them"


def test_large_targets_are_replaced_by_a_part(monkeypatch):
    monkeypatch.setattr("protobandit.run.reference._LARGE", 400)
    rows = brute.normal(2000, 2)
    selection = pb.select(rows, k=200, random_state=0, n_jobs=1)
    true = cost_of_new_rows(selection, brute.normal(20_000, 2, seed=2))
    assert reference(selection).cost == pytest.approx(true, rel=0.12)


def test_a_limited_search_has_a_reference_of_its_own_quality():
    """A repeated search without the limit would find better prototypes."""
    rows, new = brute.normal(400, 2), brute.normal(20_000, 2, seed=2)
    limits = pb.Limits(evaluations=5_000)
    limited = pb.select(rows, k=20, random_state=0, n_jobs=1, limits=limits)
    true = cost_of_new_rows(limited, new)
    assert true > 1.04 * cost_of_new_rows(pb.select(rows, k=20, random_state=0, n_jobs=1), new)
    assert 0.98 * true < reference(limited).cost < 1.12 * true  # rather too large than too small


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": 30},  # every row is a prototype
        {"k": 1},
        {"k": 3, "method": "fasterpam"},
        {"k": 3, "method": pb.methods.FasterPAM(init=[0, 1, 29])},
        {"k": 3, "constraints": pb.Constraints(fixed=[0, 29])},
        {"k": 3, "constraints": pb.Constraints(fixed=[0, 7, 29])},
        {"k": 30, "constraints": pb.Constraints(fixed=list(range(30)))},
        {
            "k": 10,
            "constraints": pb.Constraints(
                groups=["a"] * 25 + ["b"] * 5, at_least={"b": 5}, at_most={"a": 5}
            ),
        },
        {"constraints": pb.Constraints(costs=np.arange(1.0, 31.0), budget=20)},
        {"k": "auto"},
        {"k": 6, "by": ["a"] * 15 + ["b"] * 15},
        {"k": 3, "weights": [1.0] + [0.0] * 29},
        {"k": 3, "metric": brute.skewed},
        {"k": 4, "method": "mmd-critic"},
        {"k": 4, "limits": pb.Limits(evaluations=400)},
    ],
    ids=lambda arguments: "-".join(arguments),
)
def test_every_kind_of_selection_has_a_reference(arguments):
    selection = pb.select(brute.normal(30, 2), random_state=0, n_jobs=1, **arguments)
    found = reference(selection)
    assert 1 <= len(found.distances) <= 512
    assert np.isfinite(found.distances).all()
    again = reference(replace(selection))  # without what the first call kept
    assert again is not found
    np.testing.assert_array_equal(again.distances, found.distances)


def test_precomputed_dissimilarities():
    rows = brute.normal(60, 2)
    matrix = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(-1))
    by_rows = reference(pb.select(rows, k=6, random_state=0, method="lazygreedy"))
    by_matrix = reference(
        pb.select(matrix, k=6, random_state=0, metric="precomputed", method="lazygreedy")
    )
    np.testing.assert_allclose(by_matrix.distances, by_rows.distances, atol=1e-6)


def test_a_stream_keeps_rows_that_were_drawn_later():
    batches = (brute.normal(500, 2, seed=seed) for seed in range(40))
    selection = pb.select(brute.normal(50, 2), pb.Stream(batches), k=5, random_state=0)
    found = reference(selection)
    assert found.evaluations == 5 * len(found.distances)
    true = cost_of_new_rows(selection, brute.normal(20_000, 2, seed=99))
    assert found.cost == pytest.approx(true, rel=0.1)


# -- is it computed unasked? ----------------------------------------------------------------------


def solved(n: int, k: int, columns: int = 2, metric: str = "cityblock") -> Solved:
    problem = pose(np.zeros((n, columns)), None, k=k, metric=metric)
    return Solved(
        problem=problem,
        indices=np.arange(k),
        cost=1.0,
        method="fasterpam",
        parameters={},
        is_repeatable=True,
    )


@pytest.mark.parametrize(
    ("n", "most"),
    [
        (2000, 1e9 / 3),  # three searches without 200 rows each
        (5000, 1e9),  # one search
        (20_480, 1e9),  # two searches on half of the rows
    ],
)
def test_the_reference_is_cheap_up_to_a_number_of_numbers(n, most):
    def is_it(evaluations):
        return is_cheap(solved(n, 50), evaluations=int(evaluations), lookups=0)

    assert is_it(0.99 * most)
    assert not is_it(1.01 * most)
    assert is_cheap(solved(n, 50, columns=1), evaluations=int(1.9 * most), lookups=0)
    assert not is_cheap(solved(n, 50), evaluations=0, lookups=int(2.1 * most))


def test_the_reference_is_cheap_beside_a_long_search():
    assert is_cheap(solved(90_000, 100), evaluations=10**13, lookups=0)
    assert not is_cheap(solved(70_000, 100), evaluations=10**13, lookups=0)
    assert is_cheap(solved(5000, 5), evaluations=10**13, lookups=0), "no search is repeated"


def test_matrix_products_are_faster():
    numbers = {"evaluations": 3 * 10**9, "lookups": 0}
    assert is_cheap(solved(5000, 50, metric="euclidean"), **numbers)
    assert not is_cheap(solved(5000, 50), **numbers)


def test_an_expensive_reference_is_computed_on_request_only(monkeypatch, tmp_path):
    selection = pb.select(brute.normal(100, 2), k=5, random_state=0, n_jobs=1)
    monkeypatch.setattr("protobandit.run.reference._FEW_NUMBERS", 0)
    assert selection.with_reference(only_if_cheap=True).reference is None
    assert pb.Selection.load(selection.save(tmp_path)).reference is None
    assert pb.Selection.load(selection.save(tmp_path, reference=True)).reference is not None
