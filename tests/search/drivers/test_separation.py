"""No two prototypes closer than ``Constraints(min_distance=…)``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import brute
import protobandit as pb
from protobandit import Constraints, InvalidInput, methods
from protobandit.search.methods.table import METHODS

ROWS = brute.normal(80, 2)
SUPPORTING = [name for name, each in METHODS.items() if "min_distance" in each.supports]


def separated(rows, target, k, distance, fixed=()):
    """Return the picks of greedy selection among rows that are far enough from earlier picks."""
    d, between = cdist(target, rows), cdist(rows, rows)
    chosen = list(fixed)
    while len(chosen) < k:
        is_far = (between[:, chosen] >= distance).all(axis=1)
        is_far[chosen] = False
        if not is_far.any():
            break
        nearest = d[:, chosen].min(axis=1) if chosen else np.full(len(target), np.inf)
        costs = np.minimum(nearest[:, None], d).mean(axis=0)
        chosen.append(int(np.where(is_far, costs, np.inf).argmin()))
    return chosen


@pytest.mark.parametrize("method", ["lazygreedy", methods.SpotGreedy(memoize=False), "auto"])
@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.parametrize("fixed", [(), (3, 4)])
def test_greedy_by_its_definition(method, is_same, fixed):
    target = ROWS if is_same else brute.normal(60, 2, seed=1)
    selection = pb.select(
        ROWS,
        None if is_same else target,
        k=8,
        method=method,
        constraints=Constraints(min_distance=0.9, fixed=fixed),
        random_state=0,
    )
    assert selection.indices.tolist() == separated(ROWS, target, 8, 0.9, fixed)
    assert selection.guarantee is None


def test_methods_that_support_it():
    assert SUPPORTING == [
        "spotgreedy",
        "lazygreedy",
        "stochasticgreedy",
        "thresholdgreedy",
        "protobandit",
    ]
    with pytest.raises(InvalidInput, match=r"'min_distance', .* \['auto', 'spotgreedy', 'lazyg"):
        pb.select(ROWS, k=3, method="fasterpam", constraints=Constraints(min_distance=1))


@pytest.mark.parametrize("name", SUPPORTING)
@pytest.mark.parametrize("k", [5, 70])
def test_prototypes_are_far_apart(name, k):
    constraints = Constraints(min_distance=0.5)
    selection = pb.select(ROWS, k=k, method=name, constraints=constraints, random_state=0)
    assert pdist(ROWS[selection.indices]).min() >= 0.5
    planned = pb.plan(ROWS, k=k, method=name, constraints=constraints)
    if planned.most_evaluations is not None:
        searched = selection.evaluations - selection.evaluations_by_phase["assign"]
        assert searched <= planned.most_evaluations
    if k == 5:
        assert selection.k == 5
        assert "min_distance" not in selection.status
        return
    assert 20 < selection.k < 70
    near = (cdist(ROWS, ROWS[selection.indices]) < 0.5).any(axis=1)
    assert near.all(), "no other row is far enough"
    assert "fewer prototypes than the 70 requested, because no other source row is" in (
        selection.status
    )
    assert not selection.end.is_partial


def test_rows_without_gain_are_separated_too():
    """Copies of five rows: the sixth prototype gains nothing, and none is far enough."""
    rows = np.repeat(ROWS[:5], 6, axis=0)
    selection = pb.select(rows, k=10, constraints=Constraints(min_distance=1e-9))
    assert sorted(selection.indices // 6) == [0, 1, 2, 3, 4]
    target = np.zeros((3, 2)) + ROWS[0]  # after the first prototype no row has a gain
    selection = pb.select(ROWS, target, k=10, constraints=Constraints(min_distance=0.8))
    assert selection.k == 10
    assert pdist(ROWS[selection.indices]).min() >= 0.8


def test_a_square_matrix_has_the_distances():
    constraints = Constraints(min_distance=0.9)
    matrix = cdist(ROWS, ROWS)
    found = pb.select(matrix, k=8, metric="precomputed", constraints=constraints)
    assert found.indices.tolist() == separated(ROWS, ROWS, 8, 0.9)
    with pytest.raises(InvalidInput, match="50 target rows and 80 source rows"):
        pb.select(matrix[:50], k=8, metric="precomputed", constraints=constraints)


def test_groups_with_a_maximum():
    groups = ["a", "b"] * 40
    constraints = Constraints(min_distance=0.5, groups=groups, at_most={"a": 2})
    selection = pb.select(ROWS, k=9, constraints=constraints, random_state=0)
    assert sum(groups[i] == "a" for i in selection.indices) == 2
    assert pdist(ROWS[selection.indices]).min() >= 0.5


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "far", True])
def test_invalid_distances(value):
    with pytest.raises(InvalidInput, match="min_distance"):
        Constraints(min_distance=value)


def test_what_it_is_not_combined_with():
    with pytest.raises(InvalidInput, match="at_least is given with min_distance"):
        Constraints(min_distance=1, groups=["a"], at_least=1)
    with pytest.raises(InvalidInput, match="costs is given with min_distance"):
        Constraints(min_distance=1, costs=[1], budget=1)


def test_a_checkpoint_resumes_it(tmp_path):
    constraints, steps = Constraints(min_distance=0.5), []
    whole = pb.select(ROWS, k=12, method="spotgreedy", constraints=constraints, random_state=0)

    def stop(step):
        steps.append(step)
        return len(steps) == 5

    asked = {"k": 12, "method": "spotgreedy", "constraints": constraints, "random_state": 0}
    path = tmp_path / "state"
    checkpoint = pb.Checkpoint(path, seconds=0)
    assert pb.select(ROWS, **asked, checkpoint=checkpoint, callback=stop).k == 5
    resumed = pb.select(ROWS, **asked, checkpoint=checkpoint)
    assert resumed.indices.tolist() == whole.indices.tolist()


def test_later_calls(tmp_path):
    constraints = Constraints(min_distance=0.5)
    selection = pb.select(ROWS, k=5, constraints=constraints, random_state=0)
    longer = selection.extended(9)
    assert pdist(ROWS[longer.indices]).min() >= 0.5
    assert selection.with_reference().reference.cost > 0
    with pytest.raises(InvalidInput, match="a minimum distance, which an update"):
        selection.updated(ROWS)
    loaded = pb.Selection.from_json(selection.to_json()).attached(ROWS)
    assert loaded.other_constraints == ("min_distance",)
    for call in (lambda: loaded.updated(ROWS), lambda: loaded.extended(9)):
        with pytest.raises(InvalidInput, match="not saved with it: min_distance"):
            call()
