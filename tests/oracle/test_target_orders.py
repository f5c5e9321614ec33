from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from protobandit import InvalidInput
from protobandit.foundation.generators import as_generator
from protobandit.oracle.target_orders import RandomOrder, WeightedOrder, WeightedSampler, draw_rows

SIZES = [1, 2, 3, 5, 100, 4096, 4097, 10_000]
WEIGHTS = np.array([3.0, 0.0, 1.0, 5.0, 0.0, 0.5, 0.0])


def order(n, seed=0):
    return RandomOrder(n, np.random.default_rng(seed))


# -- orders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_an_order_holds_every_number_once(n, seed):
    ids = order(n, seed).read(0, n)
    assert ids.dtype == np.int64
    np.testing.assert_array_equal(np.sort(ids), np.arange(n))


@pytest.mark.parametrize("n", SIZES)
def test_an_order_reads_the_same_in_any_cut(n):
    whole, again = order(n, 1).read(0, n), order(n, 1)
    edges = np.unique(np.append([0, n], np.random.default_rng(2).integers(0, n + 1, size=9)))
    for start, stop in reversed(list(pairwise(edges))):
        np.testing.assert_array_equal(again.read(start, stop), whole[start:stop])
    assert len(again.read(n // 2, n // 2)) == 0


@pytest.mark.parametrize("n", SIZES)
def test_an_order_ends_where_the_rows_end(n):
    np.testing.assert_array_equal(order(n).read(0, n + 50), order(n).read(0, n))


@pytest.mark.parametrize("n", [5, 100, 4097, 10_000])
def test_seeds_give_different_orders(n):
    firsts = {tuple(order(n, seed).read(0, 5).tolist()) for seed in range(50)}
    assert len(firsts) > 25


@pytest.mark.parametrize("n", [6, 4096, 4097, 5000, 16_384, 70_000])
def test_each_row_is_as_likely_at_any_position(n):
    """Chi-square over keys: which of 16 equal parts of the rows stands at some positions."""
    n_keys, n_parts = 4000, min(n, 16)
    generator = np.random.default_rng(3)
    positions = [0, 1, n // 2, n - 1]
    seen = np.array(
        [[RandomOrder(n, generator).read(at, at + 1)[0] for at in positions] for _ in range(n_keys)]
    )
    parts = seen * n_parts // n
    sizes = np.bincount(np.arange(n) * n_parts // n)
    for column in parts.T:
        counts = np.bincount(column, minlength=n_parts)
        assert stats.chisquare(counts, sizes / n * n_keys).pvalue > 1e-4


def test_pairs_of_positions_are_independent():
    """Chi-square over keys: the parts of the rows at two neighbouring positions."""
    n, n_keys, n_parts = 4100, 4000, 5
    generator = np.random.default_rng(4)
    seen = np.array([RandomOrder(n, generator).read(7, 9) for _ in range(n_keys)]) * n_parts // n
    table = np.zeros((n_parts, n_parts))
    np.add.at(table, (seen[:, 0], seen[:, 1]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_a_long_order_is_read_in_little_memory():
    n = 10**9
    tracemalloc.start()
    ids = np.concatenate([order(n, 5).read(at, at + 1000) for at in (0, n // 3, n - 1000)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7
    assert len(np.unique(ids)) == 3000
    assert ids.min() >= 0
    assert ids.max() < n
    assert stats.kstest(ids / n, "uniform").pvalue > 1e-4


# -- draws ----------------------------------------------------------------------------------------


def test_draws_follow_the_weights():
    draws = WeightedOrder(WeightedSampler(WEIGHTS), np.random.default_rng(0)).read(0, 20_000)
    counts = np.bincount(draws, minlength=len(WEIGHTS))
    assert draws.dtype == np.int64
    assert not counts[WEIGHTS == 0].any()
    wanted = WEIGHTS / WEIGHTS.sum() * len(draws)
    assert stats.chisquare(counts[WEIGHTS > 0], wanted[WEIGHTS > 0]).pvalue > 1e-4


def test_draws_are_remembered():
    draws = WeightedOrder(WeightedSampler(WEIGHTS), np.random.default_rng(0))
    late = draws.read(40, 50)
    whole = draws.read(0, 60)
    np.testing.assert_array_equal(whole[40:50], late)
    np.testing.assert_array_equal(draws.read(0, 60), whole)
    at_once = WeightedOrder(WeightedSampler(WEIGHTS), np.random.default_rng(0)).read(0, 60)
    np.testing.assert_array_equal(whole, at_once)


class Rolls:
    """Dice that show what they are told to."""

    def __init__(self, *values):
        self.values = np.array(values)

    def random(self, n):
        return self.values[:n]


ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(
    ("weights", "roll", "row"),
    [
        ([1.0, 1.0], 0.0, 0),
        ([0.0, 1.0, 1.0], 0.0, 1),
        ([1.0, 1.0], 0.5, 1),
        ([1.0, 1.0], np.nextafter(0.5, 0), 0),
        ([1.0, 0.0, 1.0], 0.5, 2),
        ([1.0, 1.0], ALMOST_ONE, 1),
        ([1.0, 3.0, 0.0, 0.0], ALMOST_ONE, 1),
        ([5e-324, 0.0], ALMOST_ONE, 0),  # the product rounds up to the total
        ([0.0, 5e-324, 0.0], 0.75, 1),
        ([1e300, 1e308], ALMOST_ONE, 1),
        ([0.1] * 10 + [0.0], ALMOST_ONE, 9),
    ],
)
def test_the_rungs_of_a_lottery(weights, roll, row):
    assert WeightedSampler(np.array(weights)).draw(1, Rolls(roll)).tolist() == [row]


# -- rows to look at ------------------------------------------------------------------------------


def test_even_weights_draw_distinct_rows_and_no_more_than_there_are():
    ids = draw_rows(100, None, 30, np.random.default_rng(0))
    assert len(np.unique(ids)) == 30
    np.testing.assert_array_equal(
        np.sort(draw_rows(5, None, 30, np.random.default_rng(0))), range(5)
    )


def test_uneven_weights_draw_independently():
    ids = draw_rows(len(WEIGHTS), WEIGHTS, 30, np.random.default_rng(0))
    assert len(ids) == 30
    assert WEIGHTS[ids].all()


# -- generators -----------------------------------------------------------------------------------


def test_a_generator_passes_unchanged():
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: np.int32(7),
        lambda: np.uint64(7),
        lambda: np.array(7),
        lambda: 2**80,
        lambda: np.random.RandomState(7),
        lambda: np.random.RandomState(np.random.PCG64(7)),
    ],
)
def test_a_seed_fixes_what_follows(make):
    assert as_generator(make()).integers(2**62) == as_generator(make()).integers(2**62)


def test_a_random_state_moves_on():
    state = np.random.RandomState(0)
    assert as_generator(state).integers(2**62) != as_generator(state).integers(2**62)


def test_none_differs_each_time():
    assert as_generator(None).integers(2**62) != as_generator(None).integers(2**62)


@pytest.mark.parametrize(
    "value", [True, np.True_, -1, np.int64(-1), 1.0, "7", [1, 2], np.array([1, 2]), np.random]
)
def test_anything_else_is_refused(value):
    with pytest.raises(InvalidInput, match="is not a valid random_state"):
        as_generator(value)


@pytest.mark.parametrize("wrong", [[3, -1], [3, len(WEIGHTS)], [3.0, 1.0], [[3, 1]]])
def test_draws_that_were_modified_are_refused(wrong):
    draws = WeightedOrder(WeightedSampler(WEIGHTS), np.random.default_rng(0))
    draws.restore(np.array([3, 1]))
    assert draws.read(0, 2).tolist() == [3, 1]
    with pytest.raises(InvalidInput, match="checkpoint holds rows"):
        draws.restore(np.array(wrong))
