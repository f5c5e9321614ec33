from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from protobandit import Constraints, MinGain, Target
from protobandit.problem.posing import pose

ROWS = np.random.default_rng(0).normal(size=(10, 3))
WEIGHTS = np.arange(10, dtype=np.float64)


def test_a_target_has_no_length_and_shows_its_rows():
    target = Target(ROWS, weights=WEIGHTS)
    with pytest.raises(TypeError):
        len(target)
    assert not hasattr(target, "shape")
    assert repr(target) == "Target(rows=ndarray(10, 3))"
    assert repr(Target(["a"])) == "Target(rows=list)"


def test_a_problem_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        pose(ROWS, k=1).k = 2


def test_sizes_and_weights():
    problem = pose(ROWS[:4], ROWS, k=1, weights=WEIGHTS)
    assert (problem.n_source, problem.n_target, problem.total) == (4, 10, 45)
    assert problem.target_weights is problem.weights
    equal = pose(ROWS[:4], ROWS, k=1)
    assert equal.target_weights.tolist() == [1] * 10


def test_needs_and_open_end():
    plain = pose(ROWS, k=2)
    assert (plain.needs, plain.is_open_ended) == (frozenset(), False)
    fixed = pose(ROWS, k=2, constraints=Constraints(fixed=[1]))
    assert (fixed.needs, fixed.is_open_ended) == ({"fixed"}, False)
    goal = pose(ROWS, k=None, until=MinGain(0.1))
    assert (goal.needs, goal.is_open_ended) == ({"until"}, True)
    budget = pose(ROWS, k=None, constraints=Constraints(costs=[1] * 10, budget=2))
    assert (budget.needs, budget.is_open_ended) == ({"costs"}, True)


def block_of(rows):
    block = rows.take(slice(0, len(rows)))
    return block.toarray() if sp.issparse(block) else np.asarray(block)


@pytest.mark.parametrize(
    "wrap", [np.asarray, sp.csr_array, lambda rows: [str(row) for row in rows]]
)
def test_a_part_has_some_rows_and_their_weights(wrap):
    rows = wrap(ROWS)
    metric = (lambda a, b: abs(len(a) - len(b))) if isinstance(rows, list) else "euclidean"
    problem = pose(rows, k=2, metric=metric, weights=WEIGHTS)
    part = problem.part(np.array([1, 4, 7]), np.array([0, 9]), 1)
    assert (part.n_source, part.n_target, part.k) == (3, 2, 1)
    assert part.weights.tolist() == [0, 9]
    assert part.feasibility.is_free
    whole = block_of(problem.source)
    np.testing.assert_array_equal(block_of(part.source), whole[[1, 4, 7]])
    np.testing.assert_array_equal(block_of(part.target), whole[[0, 9]])


def test_a_part_with_equal_ids_shares_its_rows():
    ids = np.array([2, 3, 5])
    part = pose(ROWS, k=2).part(ids, ids, 1)
    assert part.target is part.source
    assert part.weights is None


def test_a_part_of_a_matrix_has_some_rows_and_columns():
    matrix = np.arange(28.0).reshape(4, 7)
    part = pose(matrix, k=2, metric="precomputed").part(np.array([1, 5]), np.array([0, 3]), 1)
    assert part.n_source == 2
    np.testing.assert_array_equal(block_of(part.target), matrix[np.ix_([0, 3], [1, 5])])
