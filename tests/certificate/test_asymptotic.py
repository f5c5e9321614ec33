"""Asymptotic certificates: nominal coverage where few rows matter, and stated conditions."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom, norm

import protobandit as pb
from benchmarks import certificate_coverage as study
from protobandit.certificate import asymptotic
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose

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


# -- the formulas ---------------------------------------------------------------------------------

SCOUTS, ROWS, GUIDES = 60, 50, 20


def bound_and_draws(monkeypatch, *, confidence, cost, is_weighted=False, shift=0.0):
    """Return a bound, what its betting bound was made from, and the distances of its draws.

    Draws are repeated with a generator of the same seed: scouts, then guides, then rows. With
    ``shift`` the rows are farther from the selection than the scouts.
    """
    random = np.random.default_rng(5)
    target = random.normal(size=(500, 2))
    target[0] += shift
    weights = random.exponential(size=500) + 0.1 if is_weighted else None
    problem = pose(target[1:8], target, k=2, weights=weights)
    prototypes, seen = np.array([1, 5]), {}

    def least_mean(bound, bet, penalty):
        seen.update(bound=bound, bet=bet, penalty=penalty)
        return -0.25

    monkeypatch.setattr(asymptotic, "least_mean", least_mean)
    drawn = asymptotic._drawn

    def with_the_far_row(oracle, n, generator):
        rows = drawn(oracle, n, generator)
        if shift and n == ROWS:
            rows[0] = 0
        return rows

    monkeypatch.setattr(asymptotic, "_drawn", with_the_far_row)
    oracle = Oracle(problem)
    numbers = SCOUTS, ROWS, GUIDES
    with oracle.at_work():
        found = asymptotic.asymptotic_bound(
            oracle, prototypes, *numbers, confidence, np.random.default_rng(9), cost
        )
    again = np.random.default_rng(9)
    distances = cdist(target, target[1:8])
    near = distances[:, prototypes].min(axis=1)
    order = SCOUTS, GUIDES, ROWS
    draws = [with_the_far_row(Oracle(problem), n, again) for n in order]
    assert found.n_rows == sum(len(np.unique(rows)) for rows in draws[1:])
    assert oracle.evaluations.total() == 2 * SCOUTS + 7 * found.n_rows
    # Distances to the selection are cut off at the farthest scout. No set of two reaches less than
    # the dual bound, which is close to the best of them.
    unit, farthest = near[draws[0]].mean(), near[draws[0]].max()
    gaps = distances[draws[2]] - np.minimum(near[draws[2]], farthest)[:, None]
    values = np.log1p(seen["bet"] * gaps / unit) / seen["bet"]
    pairs = combinations(range(7), 2)
    least = min(values[:, list(pair)].min(axis=1).mean() for pair in pairs)
    assert least - 0.02 < seen["bound"] <= min(least, 0) + 1e-9
    return found, seen, near[draws[0]], near[draws[2]]


def error_of(values, level, *, left):
    """Return the margin of a mean to one side, at this level, by SciPy's normal distribution."""
    return norm.isf(level) * math.sqrt(values.var() * left / len(values))


@pytest.mark.parametrize("confidence", [0.6, 0.95])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_an_estimated_cost_has_a_margin_of_its_level(monkeypatch, confidence, is_weighted):
    """Three statements about means have a tenth of delta each, the bet has the rest.

    The margin holds to both sides. Rows of equal weight are drawn without replacement.
    """
    delta, left = 1 - confidence, 1.0 if is_weighted else 1 - ROWS / 500
    found, seen, scouts, rows = bound_and_draws(
        monkeypatch, confidence=confidence, cost=None, is_weighted=is_weighted, shift=30.0
    )
    unit, farthest = scouts.mean(), scouts.max()
    assert rows.max() > farthest
    assert seen["penalty"] == pytest.approx(math.log(1 / (0.7 * delta)) / ROWS)
    assert 0 < seen["bet"] <= 0.9 * unit / farthest * (1 + 1e-9)
    assert found.cost == pytest.approx(rows.mean())
    assert found.margin == pytest.approx(error_of(rows, 0.1 * delta, left=left))
    near, beyond = np.minimum(rows, farthest), np.maximum(rows - farthest, 0)
    lowest = near.mean() - error_of(near, 0.1 * delta, left=left)
    tail = beyond.mean() + error_of(beyond, 0.1 * delta, left=left)
    best = lowest - 0.25 * unit
    assert found.best == pytest.approx(best)
    assert found.ratio == pytest.approx((lowest + tail) / best)
    assert (found.kind, found.confidence) == ("asymptotic", confidence)
    assert f"of {ROWS} drawn rows" in found.conditions[0]
    assert f"all {SCOUTS} rows drawn" in found.conditions[1]


def test_a_known_cost_has_no_margin(monkeypatch):
    options = {"confidence": 0.9, "shift": 30.0}
    found, _, scouts, rows = bound_and_draws(monkeypatch, cost=1.5, **options)
    farthest = scouts.max()
    beyond = np.maximum(rows - farthest, 0)
    tail = beyond.mean() + error_of(beyond, 0.01, left=0.9)
    assert (found.cost, found.margin) == (1.5, 0)
    best = 1.5 - tail - 0.25 * scouts.mean()
    assert found.best == pytest.approx(best)
    assert found.ratio == (pytest.approx(1.5 / best) if best > 0 else math.inf)


@pytest.mark.parametrize("excess", [-0.01, 0.01])
def test_a_cost_that_the_rows_cannot_explain_is_that_of_missed_outliers(monkeypatch, excess):
    """The limit is the upper end of the mean; then the lower end is all that is known."""
    first, _, scouts, rows = bound_and_draws(monkeypatch, confidence=0.9, cost=None)
    assert rows.max() <= scouts.max()
    error = error_of(rows, 0.01, left=0.9)
    cost = first.cost + error + excess
    found, *_ = bound_and_draws(monkeypatch, confidence=0.9, cost=cost)
    lowest = rows.mean() - error if excess > 0 else cost
    best = lowest - 0.25 * scouts.mean()
    assert found.best == pytest.approx(best)
    assert found.ratio == pytest.approx(cost / best)


def test_the_bet_is_the_best_one_for_the_guides(monkeypatch):
    """It depends on scouts and guides only, and is at most what the farthest scout allows."""
    seen = []
    best_bet_for = asymptotic.best_bet_for

    def remembered(sample, penalty, most):
        seen.append((sample, penalty, most))
        return best_bet_for(sample, penalty, most)

    monkeypatch.setattr(asymptotic, "best_bet_for", remembered)
    _, used, scouts, _ = bound_and_draws(monkeypatch, confidence=0.9, cost=None)
    ((sample, penalty, most),) = seen
    assert most == pytest.approx(0.9 * scouts.mean() / scouts.max())
    assert penalty == used["penalty"]
    assert len(sample) <= GUIDES
    assert (sample >= -scouts.max() / scouts.mean()).all()
    assert sample.min() < 0, "a guess at the best set is better than the selection on some rows"


@pytest.mark.parametrize("cost", [None, 2.0])
def test_scouts_that_cost_nothing_prove_nothing(cost):
    problem = pose(np.zeros((3, 1)), np.zeros((40, 1)), k=1)
    oracle = Oracle(problem)
    with oracle.at_work():
        found = asymptotic.asymptotic_bound(
            oracle, np.array([0]), 5, 8, 4, 0.9, np.random.default_rng(0), cost
        )
    assert (found.kind, found.confidence, found.n_rows) == ("asymptotic", 0.9, 0)
    assert (found.cost, found.best, found.ratio) == (cost or 0.0, 0.0, math.inf)
