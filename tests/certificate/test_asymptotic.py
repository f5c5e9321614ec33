"""Asymptotic certificates: nominal coverage where few rows matter, and stated conditions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom

import protobandit as pb
from benchmarks import certificate_coverage as study
from protobandit.certificate import asymptotic

N, N_TARGET, CONFIDENCE = 40, 2000, 0.9
BUDGET_ROWS = 600
FAMILIES = ("binary", "1 in 100", "1 in 1,000", "heavy-tailed", "uneven weights")


def wrong(family, n=N):
    """Return how many certificates of small problems claim too much."""
    count = 0
    for seed in range(n):
        case = study.instance(family, seed, n_target=N_TARGET)
        kind = "asymptotic, estimated" if seed % 4 < 2 else "asymptotic, known"
        n_source = case.selection.problem.n_source
        found = study.certificate(
            case,
            kind,
            seed,
            confidence=CONFIDENCE,
            evaluations=BUDGET_ROWS * (n_source + case.selection.k),
        )
        assert found.kind == "asymptotic"
        assert found.cost_ratio >= 1
        assert found.cost_bound <= found.cost + found.cost_margin
        assert "never drawn" in str(found) or math.isinf(found.cost_ratio)
        count += study.is_wrong(case, found)
    return count


@pytest.mark.parametrize("family", FAMILIES)
def test_certificates_hold_with_their_confidence(family):
    assert wrong(family) <= binom.ppf(0.999, N, 1 - CONFIDENCE)


def wrong_without_far_rows(n=8):
    """Return how many of ``n`` certificates of one selection claim too much.

    One row in a hundred carries about half of the cost. The best set serves these rows, and the
    selection does not.
    """
    random = np.random.default_rng(0)
    target = random.normal(size=(N_TARGET, 2))
    target[::100] += 90
    distances = cdist(target, target[[0, 1, 2, 3]])
    cost, best = (distances[:, each].min(axis=1).mean() for each in ([1, 2], [0, 1]))
    assert cost > 1.5 * best
    made = pb.select(distances, k=2, metric="precomputed", method="random")
    selection = replace(made, indices=np.array([1, 2]), costs=np.full(2, cost), cost_error=0.0)
    case = study.Instance(selection=selection, cost=cost, best=best)
    options = {"confidence": CONFIDENCE, "evaluations": BUDGET_ROWS * 6}
    found = [study.certificate(case, "asymptotic, known", seed, **options) for seed in range(n)]
    return sum(study.is_wrong(case, each) for each in found)


def test_the_test_detects_a_bet_that_a_far_row_can_lose(monkeypatch):
    """Where 1 + b X would be negative, rounding it up makes the lower bound too high."""
    assert wrong_without_far_rows() == 0

    def value_function(unit, bet):
        return lambda gaps, cut: np.log1p(np.maximum(0.45 * gaps / unit, -0.9)) / 0.45

    def least_mean(bound, bet, penalty):
        return math.expm1(0.45 * bound - penalty) / 0.45

    monkeypatch.setattr(asymptotic, "value_function", value_function)
    monkeypatch.setattr(asymptotic, "least_mean", least_mean)
    assert wrong_without_far_rows() == 8


def test_an_estimated_cost_is_measured_on_the_whole_target_where_that_is_cheap():
    """One row of 2,000, which is rarely drawn, carries most of the cost."""
    target = np.random.default_rng(0).normal(size=(N_TARGET, 2))
    target[0] += 5000
    made = pb.select(target[:200], target, k=2, method="random", random_state=0)
    cost = made.cost
    selection = replace(made, cost_error=cost / 100)
    whole, least = 2 * N_TARGET, 16 * 200
    assert selection.certify(kind="asymptotic", evaluations=whole + least).kind == "asymptotic"
    for seed in range(3):
        found = selection.certify(kind="asymptotic", evaluations=2 * whole, random_state=seed)
        assert (found.kind, found.conditions) == ("rigorous", ())
        assert found.cost == pytest.approx(cost)
        assert whole < found.evaluations <= 2 * whole
    known = made.certify(kind="asymptotic", evaluations=2 * whole, random_state=0)
    assert known.kind == "asymptotic"


def test_equal_distances_of_a_sample_are_not_a_known_cost():
    """The far row is not among the 4,096 rows that measured the cost."""
    target = np.zeros((30_000, 2))
    target[0] = 1000
    source = np.ones((40, 2))
    found = pb.select(source, target, k=2, method=pb.methods.ProtoBandit(), random_state=3)
    assert found.cost == pytest.approx(np.sqrt(2))
    assert math.isnan(found.cost_error)
    found = found.certify(kind="asymptotic", evaluations=200_000, random_state=0)
    assert found.kind == "rigorous"  # the whole target costs no more than the drawn rows
    assert found.cost == pytest.approx(np.sqrt(2) * (29_999 + 999) / 30_000)


def test_a_known_cost_shows_that_an_outlier_was_missed():
    """The estimated cost cannot show it; the conditions of the certificate say so."""
    misled = 0
    for seed in range(8):
        case = study.instance("unseen", seed)
        options = {"evaluations": 400 * case.selection.problem.n_source}
        assert not study.is_wrong(
            case, study.certificate(case, "asymptotic, known", seed, **options)
        )
        found = study.certificate(case, "asymptotic, estimated", seed, **options)
        misled += study.is_wrong(case, found)
        assert "an outlier that was never drawn cannot be seen" in " ".join(found.conditions)
    assert misled > 0
