"""Constraints and goals for every method of the table: supported or refused."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit import Constraints, Coverage, InvalidInput, Selection
from protobandit.methods import METHODS

N = 14
ROWS = brute.whole(N, seed=3)
GROUPS = ["a"] * 7 + ["b"] * 4 + ["c"] * 3
FIXED = [13, 2]
NEEDS = {
    "fixed": {"k": 5, "constraints": Constraints(fixed=FIXED)},
    "groups": {
        "k": 5,
        "constraints": Constraints(groups=GROUPS, at_least={"b": 2}, at_most={"a": 1}),
    },
    "costs": {"constraints": Constraints(costs=np.arange(1.0, N + 1), budget=12)},
    "min_distance": {"k": 4, "constraints": Constraints(min_distance=4.0)},
    "until": {"until": Coverage(0.8, radius=5.0)},
}
every = pytest.mark.parametrize("method", brute.variants(), ids=brute.name_of)
needed = pytest.mark.parametrize("need", NEEDS)


def check_fixed(selection):
    assert selection.indices[:2].tolist() == FIXED
    assert selection.k == 5


def check_groups(selection):
    labels = [GROUPS[i] for i in selection.indices]
    assert labels.count("b") >= 2
    assert labels.count("a") <= 1
    assert selection.k == 5


def check_costs(selection):
    assert selection.spent == (selection.indices + 1.0).sum() <= 12


def check_min_distance(selection):
    rows = ROWS[selection.indices]
    apart = brute.distances(brute.DEFINITIONS["euclidean"], rows, rows)
    assert selection.k > 1
    assert apart[~np.eye(selection.k, dtype=bool)].min() >= 4


def check_until(selection):
    distances = selection.assign(ROWS).distances
    assert (distances <= 5).mean() >= 0.8
    assert (selection.at(selection.k - 1).assign(ROWS).distances <= 5).mean() < 0.8


CHECKS = {
    "fixed": check_fixed,
    "groups": check_groups,
    "costs": check_costs,
    "min_distance": check_min_distance,
    "until": check_until,
}


@every
@needed
def test_declared_needs_are_met_and_others_are_refused(method, need):
    declared = method.supports
    assert declared <= set(NEEDS)
    metric = brute.CountedBlocks(brute.DEFINITIONS["euclidean"])
    kernel = brute.CountedBlocks(brute.likeness)
    options = {
        **NEEDS[need],
        "metric": pb.block_metric(metric),
        "method": brute.with_kernel(method, kernel),
        "random_state": 0,
    }
    if need not in declared and not (need == "until" and method.with_more_effort() is not None):
        with pytest.raises(InvalidInput, match=f"does not support '{need}'") as caught:
            pb.select(ROWS, **options)
        assert metric.calls + kernel.calls == 0
        assert "'lazygreedy'" in str(caught.value)
        return
    selection = pb.select(ROWS, **options)
    assert selection.evaluations == metric.calls + kernel.calls
    assert len(set(selection.indices.tolist())) == selection.k
    if getattr(method, "r", 1) == 1 or need != "until":
        CHECKS[need](selection)
    d = brute.distances(brute.DEFINITIONS["euclidean"], ROWS, ROWS)
    np.testing.assert_allclose(
        selection.costs, brute.costs(d, brute.even(N), selection.indices), rtol=1e-9
    )


@every
@pytest.mark.parametrize("seed", range(3))
def test_fixed_rows_and_quotas_hold_together(method, seed):
    if not {"fixed", "groups"} <= method.supports:
        return
    constraints = Constraints(fixed=[13], groups=GROUPS, at_least=1, at_most=2)
    selection = pb.select(
        brute.normal(N, seed=seed), k=5, constraints=constraints, method=method, random_state=seed
    )
    counts = [[GROUPS[i] for i in selection.indices].count(label) for label in "abc"]
    assert min(counts) >= 1
    assert max(counts) <= 2
    assert selection.indices[0] == 13
    assert selection.k == 5


@needed
def test_auto_chooses_a_method_that_supports_the_call(need):
    selection = pb.select(ROWS, **NEEDS[need], random_state=0)
    assert need in METHODS[selection.method].supports
    CHECKS[need](selection)
    if need not in METHODS["lazybandit"].supports:
        assert selection.method == "lazygreedy"
        remark = f"method='auto' used lazygreedy, since lazybandit does not support '{need}'."
        assert remark in selection.status
    by_name = pb.select(ROWS, **NEEDS[need], method=selection.method, random_state=0)
    assert by_name.indices.tolist() == selection.indices.tolist()
    assert "method='auto'" not in by_name.status


def test_the_error_lists_methods_that_support_the_call():
    with pytest.raises(InvalidInput) as caught:
        pb.select(ROWS, **NEEDS["costs"], method="stochasticgreedy")
    assert "does not support 'costs', which this call needs" in str(caught.value)
    assert "['auto', 'spotgreedy', 'lazygreedy'" in str(caught.value)


@needed
def test_selections_survive_json(need):
    selection = pb.select(ROWS, **NEEDS[need])
    loaded = Selection.from_json(selection.to_json())
    assert loaded.indices.tolist() == selection.indices.tolist()
    assert loaded.spent == selection.spent
    assert loaded.curve is None
    assert loaded.prototype_labels is None
    assert loaded.guarantee == selection.guarantee
    gains = [[step.gain for step in each.steps] for each in (loaded, selection)]
    np.testing.assert_array_equal(*gains)


def test_a_curve_survives_json():
    selection = pb.select(ROWS, k="auto")
    loaded = Selection.from_json(selection.to_json())
    assert loaded.curve.tolist() == selection.curve.tolist()
    assert loaded.curve.dtype == np.float64


def test_a_method_as_a_parameter_survives_json():
    method = pb.methods.Refined(build=pb.methods.StochasticGreedy(epsilon=0.3))
    chosen = pb.select(brute.normal(30), k=3, method=method, random_state=0)
    loaded = pb.Selection.from_json(chosen.to_json())
    assert loaded.parameters["build"]["method"] == "stochasticgreedy"
    assert loaded.parameters["build"]["epsilon"] == 0.3


# -- plans -----------------------------------------------------------------------------------------


@needed
def test_a_plan_takes_the_same_arguments(need):
    metric = brute.CountedPairs()
    plan = pb.plan(ROWS, **NEEDS[need], metric=metric)
    assert metric.calls == 0
    selection = pb.select(ROWS, **NEEDS[need], metric=metric)
    assert plan.method == selection.method
    assert plan.parameters == selection.parameters
    # The rows are also compared with each prototype, to keep the distance.
    assert plan.evaluations == N * N + (4 * N if need == "min_distance" else 0)
    with pytest.raises(InvalidInput, match=f"does not support '{need}'"):
        pb.plan(ROWS, **NEEDS[need], method="banditpam")


def test_a_plan_for_classes_is_the_sum_over_classes():
    plan = pb.plan(ROWS, k=4, by=GROUPS, method="lazygreedy")
    assert plan.evaluations == 7**2 + 4**2 + 3**2
    with pytest.raises(InvalidInput, match=r"less than the 3 classes"):
        pb.plan(ROWS, k=2, by=GROUPS)
    with pytest.raises(InvalidInput, match=r"constraints is given with by="):
        pb.plan(ROWS, k=4, by=GROUPS, constraints=Constraints(fixed=[1]))
    assert pb.plan(ROWS, k="auto").method == "lazygreedy"
    assert pb.plan(ROWS, k=[2, 5]).evaluations == pb.plan(ROWS, k=5).evaluations
