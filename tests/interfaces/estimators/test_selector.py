"""Constraints and goals of `PrototypeSelector`."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import brute
import protobandit as pb

GRID = brute.normal(40, seed=5)
FIXED = pb.Constraints(fixed=[7, 30])
CASES = {
    "fixed": {"n_prototypes": 5, "constraints": FIXED},
    "quotas": {
        "n_prototypes": 4,
        "constraints": pb.Constraints(groups=["a", "b"] * 20, at_most={"a": 1}),
    },
    "budget": {
        "n_prototypes": None,
        "constraints": pb.Constraints(costs=np.arange(1.0, 41), budget=20),
    },
    "coverage": {"n_prototypes": None, "until": pb.Coverage(0.8, radius=1.5)},
    "capped": {"n_prototypes": 2, "until": pb.MinGain(1e-6)},
    "knee": {"n_prototypes": "auto"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_result_equals_that_of_select(case):
    given = CASES[case]
    model = clone(pb.PrototypeSelector(**given, random_state=0)).fit(GRID)
    options = {name: value for name, value in given.items() if name != "n_prototypes"}
    found = pb.select(GRID, k=given["n_prototypes"], **options, random_state=0)
    assert model.prototype_indices_.tolist() == found.indices.tolist()
    assert model.transform(GRID).shape == (40, found.k)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(GRID).tolist() == model.labels_.tolist()
    assert again.get_params().keys() == model.get_params().keys()


def test_constraints_refer_to_rows_of_x_including_zero_weights():
    weights = np.ones(40)
    weights[[0, 7, 12]] = 0
    model = pb.PrototypeSelector(5, constraints=FIXED).fit(GRID, sample_weight=weights)
    assert model.prototype_indices_[:2].tolist() == [7, 30]
    found = pb.select(GRID, k=5, weights=weights, constraints=FIXED)
    assert model.prototype_indices_.tolist() == found.indices.tolist()


def test_a_goal_ignores_rows_of_zero_weight():
    weights = np.repeat([1.0, 0.0], 20)
    until = pb.MinGain(0.1)
    model = pb.PrototypeSelector(None, until=until).fit(GRID, sample_weight=weights)
    alone = pb.PrototypeSelector(None, until=until).fit(GRID[:20])
    assert model.prototype_indices_.tolist() == alone.prototype_indices_.tolist()


@pytest.mark.parametrize("wrap", [lambda rows: rows, pb.Target])
def test_a_stream_as_target(wrap):
    with pytest.raises(pb.InvalidInput) as caught:
        pb.PrototypeSelector(3).fit(GRID, target=wrap(pb.Stream([GRID])))
    assert str(caught.value) == (
        "target is a Stream, which fit does not support. Pass it to protobandit.select, or pass an "
        "array of its rows as the target."
    )


def test_no_count_requires_a_goal_or_budget():
    with pytest.raises(
        pb.InvalidInput, match=r"n_prototypes=None.*None requires until= or a budget"
    ):
        pb.PrototypeSelector(None).fit(GRID)
    with pytest.raises(pb.InvalidInput, match=r"n_prototypes=None"):
        pb.PrototypeSelector(None, constraints=FIXED).fit(GRID)
    with pytest.raises(pb.InvalidInput, match=r"constraints=.* is not known"):
        pb.PrototypeSelector(3, constraints={"fixed": [1]}).fit(GRID)
