"""The betting bound: its formulas, against numbers and against the inequality they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from protobandit.certificate.betting import (
    LARGEST_LOSS,
    best_bet,
    best_bet_for,
    least_mean,
    no_cost,
    value_function,
)


def slack(bet, penalty, variance):
    return bet * variance / 2 + penalty / bet


def test_the_best_bet_has_the_least_slack():
    penalty, variance = 0.003, 0.05
    found = best_bet(penalty, variance, 1.0)
    assert found == pytest.approx(math.sqrt(0.12))
    for other in (0.9 * found, 1.1 * found):
        assert slack(found, penalty, variance) < slack(other, penalty, variance)
    assert best_bet(penalty, variance, 0.2) == 0.2


def test_the_best_bet_for_a_sample_gives_the_highest_bound():
    sample, penalty = np.array([-0.5, 0.1, 0.2, 0.3]), 0.01
    bets = [0.9 * 2.0 ** (-i / 2) for i in range(32)]
    bounds = [least_mean(float(np.log1p(bet * sample).mean()) / bet, bet, penalty) for bet in bets]
    found = best_bet_for(sample, penalty, 0.9)
    assert found == pytest.approx(bets[int(np.argmax(bounds))])
    assert 0.9 * 2.0**-15.5 < found < 0.9, "the grid contains the best bet"
    assert best_bet_for(np.array([5.0, 6.0]), 1e9, 0.9) == 0.9
    assert best_bet_for(np.array([-1.0, 1.0]), 1e-14, 0.9) == pytest.approx(0.9 * 2.0**-15.5)


def test_values_are_logarithms_of_what_is_left_of_the_stake():
    gaps, bet = np.array([[0.0, 2.0], [-1.0, 8.0]]), 0.25
    found = value_function(2.0, bet)(gaps, slice(0, 2))
    np.testing.assert_allclose(found, np.log(1 + bet * gaps / 2) / bet)
    units = np.array([9.0, 2.0, 4.0])
    found = value_function(units, bet)(gaps, slice(1, 3))
    np.testing.assert_allclose(found, np.log(1 + bet * gaps / [[2.0], [4.0]]) / bet)
    assert found[0, 0] == 0


def test_a_value_is_finite_in_float32_for_any_gap():
    value = value_function(1e-100, 0.5)(np.array([[1e100]]), slice(0, 1))
    assert value.item() == pytest.approx(2 * math.log(0.5e30))


def test_the_least_mean_solves_the_inequality():
    bound, bet, penalty = -0.02, 0.4, 0.003
    mean = least_mean(bound, bet, penalty)
    assert math.log(1 + bet * mean) == pytest.approx(bet * bound - penalty)
    assert mean < bound
    assert least_mean(bound, bet, 2 * penalty) < mean


def test_a_bound_fails_no_more_often_than_its_delta():
    """All samples of n rows with values -1 and 1: the probability of a failure is summed."""
    n, delta, bet = 12, 0.1, 0.6
    penalty = math.log(1 / delta) / n
    for share in (0.2, 0.5, 0.8):
        wrong = 0.0
        for ones in range(n + 1):
            logs = (ones * math.log1p(bet) + (n - ones) * math.log1p(-bet)) / n
            if least_mean(logs / bet, bet, penalty) > 2 * share - 1:
                wrong += math.comb(n, ones) * share**ones * (1 - share) ** (n - ones)
        assert wrong <= delta


def test_one_row_cannot_lose_the_whole_stake():
    assert 0 < LARGEST_LOSS < 1


def test_a_selection_that_costs_nothing_is_a_best_one():
    found = no_cost(7)
    assert (found.kind, found.confidence, found.n_rows) == ("exact", 1.0, 7)
    assert (found.cost, found.best, found.ratio, found.margin) == (0, 0, 1, 0)
    assert found.conditions == ()
