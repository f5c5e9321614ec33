"""The warning that few far rows carry much of the cost."""

from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.run.assessment import FarRows, HeavyRows

SAMPLING = [
    "protobandit",
    "banditpam",
    "onebatch",
    "clara",
    "clarans",
    "random",
    "stochasticgreedy",
]


def with_far_cluster(share: float, distance: float, n: int = 20_000) -> np.ndarray:
    random = np.random.default_rng(5)
    rows = random.normal(size=(n, 3))
    rows[: round(share * n)] += distance
    return random.permutation(rows)


def test_equal_distances_have_no_far_rows() -> None:
    assert FarRows.among(np.ones(1000), np.ones(1000)) == FarRows(1000, 0.0, 0.0)
    assert FarRows.among(np.zeros(1000), np.ones(1000)) == FarRows(1000, 0.0, 0.0)


def test_far_rows_are_measured_by_weight() -> None:
    nearest = np.append(np.ones(990), np.full(10, 99.0))
    far = FarRows.among(nearest, np.ones(1000))
    assert (far.row_share, far.cost_share) == pytest.approx((0.01, 0.5))
    nearest, weights = np.append(np.ones(999), 99.0), np.append(np.full(999, 1.0), 999 / 99)
    far = FarRows.among(nearest, weights)
    assert (far.row_share, far.cost_share) == pytest.approx((0.01, 0.5))


def test_one_far_row_among_rows_of_distance_zero_carries_everything() -> None:
    far = FarRows.among(np.append(np.zeros(999), 1.0), np.ones(1000))
    assert (far.row_share, far.cost_share) == pytest.approx((0.001, 1.0))


def test_distances_that_are_merely_spread_out_carry_little() -> None:
    for seed in range(20):
        nearest = np.random.default_rng(seed).exponential(size=4096)
        assert FarRows.among(nearest, np.ones(4096)).cost_share < 0.08


@pytest.mark.parametrize("method", SAMPLING)
def test_a_sampling_method_warns_if_it_overlooked_a_far_cluster(method: str) -> None:
    rows = with_far_cluster(0.005, 3000.0)
    found = pb.select(rows[:800], rows, k=5, method=method, random_state=0)
    best = pb.select(rows[:800], rows, k=5, method="lazygreedy").cost
    kinds = [warning.kind for warning in found.warnings]
    if found.cost > 1.1 * best:
        assert kinds == [WarningKind.FAR_ROWS]
        assert "lazybandit" in found.status
    else:
        assert kinds == []


@pytest.mark.parametrize("method", ["protobandit", "clara", "random"])
def test_a_cluster_that_is_missing_in_the_rows_judged_is_found(method: str) -> None:
    """4,096 rows contain none of 5 in 10,000 rows with a probability of 13 %."""
    rows = with_far_cluster(0.0005, 50_000.0, n=40_000)
    for seed in range(12):
        found = pb.select(rows[:300], rows, k=3, method=method, random_state=seed)
        assert [warning.kind for warning in found.warnings] == [WarningKind.FAR_ROWS]


def test_very_far_rows_with_a_tenth_of_the_cost_cause_a_warning() -> None:
    """Few of them are in the sample, which may contain less than their share."""
    rows = with_far_cluster(0.0005, 170.0, n=40_000)
    for seed in range(12):
        found = pb.select(rows[1000:1300], rows, k=8, method="clara", random_state=seed)
        assert [warning.kind for warning in found.warnings] == [WarningKind.FAR_ROWS]
    assert not FarRows(1000, 0.01, 0.07).is_much
    assert FarRows(1000, 0.01, 0.07, is_very_far=True).is_much


def test_ordinary_rows_cause_no_warning() -> None:
    rows = with_far_cluster(0.0, 0.0, n=6000)
    for method in SAMPLING:
        found = pb.select(rows[:300], rows, k=5, method=method, random_state=0)
        assert found.warnings == ()


def test_warnings_are_saved_and_shown() -> None:
    rows = with_far_cluster(0.005, 3000.0)
    found = pb.select(rows[:2000], rows, k=5, method="random", random_state=0)
    (warning,) = found.warnings
    assert str(warning) in found.status
    assert pb.Selection.from_json(found.to_json()).warnings == found.warnings


def test_warnings_of_classes_name_the_class() -> None:
    rows = with_far_cluster(0.005, 3000.0)
    by = np.array(["a", "b"])[np.arange(len(rows)) % 2]
    found = pb.select(rows, k=4, by=by, method="random", random_state=0)
    assert {warning.message[:6] for warning in found.warnings} == {"in 'a'", "in 'b'"}


# -- rows of large weight --------------------------------------------------------------------------


def test_heavy_rows_are_the_fewest_with_most_of_the_cost() -> None:
    weights = np.ones(1003)
    weights[:3] = 500.0, 300.0, 200.0
    rows, costs = np.arange(1003), weights / 2000
    assert HeavyRows.among(rows, costs, weights, 4) is None, "one row has 25 % of the cost"
    assert HeavyRows.among(rows, costs, weights, 40) is None, "all three have exactly half"
    costs[0] += 0.1
    assert HeavyRows.among(rows, costs, weights, 11) is None, "at most a quarter of 11 rows count"
    found = HeavyRows.among(rows, costs, weights, 12)
    assert found == HeavyRows(3, pytest.approx(0.6 / 1.1))
    assert HeavyRows.among(rows, costs, None, 12) is None
    assert HeavyRows.among(rows, np.zeros(1003), weights, 12) is None


def test_draws_of_the_same_heavy_row_are_one_row() -> None:
    weights = np.append(np.ones(99), 1e6)
    found = HeavyRows.among(np.array([99, 99, 5, 99]), np.ones(4), weights, 1)
    assert found == HeavyRows(1, 0.75)


@pytest.mark.parametrize("method", SAMPLING)
def test_a_sampling_method_warns_if_it_overlooked_a_heavy_row(method: str) -> None:
    rows = np.random.default_rng(6).normal(size=(6000, 4))
    n_missed = 0
    for seed, heavy in enumerate((17, 2345, 5999)):
        weights = np.ones(len(rows))
        weights[heavy] = 1e8
        found = pb.select(rows, k=4, method=method, weights=weights, random_state=seed)
        kinds = [warning.kind for warning in found.warnings]
        if heavy not in found.indices:
            assert WarningKind.HEAVY_ROWS in kinds
            n_missed += 1
        else:
            assert WarningKind.HEAVY_ROWS not in kinds
    assert n_missed or method != "random"


def test_uneven_weights_alone_cause_no_warning() -> None:
    random = np.random.default_rng(7)
    rows, weights = random.normal(size=(6000, 4)), random.exponential(size=6000) ** 3
    for method in SAMPLING:
        found = pb.select(rows, k=4, method=method, weights=weights, random_state=0)
        assert WarningKind.HEAVY_ROWS not in [warning.kind for warning in found.warnings]
