"""Invariances of the result: unit, origin, order of rows, repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import protobandit as pb
from protobandit.methods import SEARCHES, LazyGreedy, ProtoBandit, SpotGreedy, StochasticGreedy

lawful = settings(max_examples=30, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 10_000)
ks = st.integers(1, 5)

# Methods that are exact by design, or because a subset holds every row and the tolerance is small
# enough to read the whole target.
COVERING = (
    SpotGreedy(memoize=False),
    LazyGreedy(),
    StochasticGreedy(epsilon=1e-9),
    *(ProtoBandit(epsilon=1e-9, nu_step=1e-9, search=s) for s in SEARCHES),
)
covering = pytest.mark.parametrize("method", COVERING, ids=brute.name_of)


# Methods without randomness. Their swaps leave no order of picks to compare.
deterministic = pytest.mark.parametrize("method", ["pam", "fastpam1", "alternate"])


def instance(seed):
    random = np.random.default_rng(seed)
    n_source, n_target = random.integers(5, 13), random.integers(2, 25)
    return random.normal(size=(n_source, 3)), random.normal(size=(n_target, 3))


def sure_picks(source, target, k, weights=None):
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    return brute.decided(d, brute.even(len(target)) if weights is None else weights, k)


@covering
@lawful
@given(seed=seeds, k=ks)
def test_covering_methods_are_greedy(method, seed, k):
    source, target = instance(seed)
    sure = sure_picks(source, target, k)
    selection = pb.select(source, target, k=k, method=method, random_state=seed)
    assert selection.indices[: len(sure)].tolist() == sure


@covering
@lawful
@given(seed=seeds, k=ks)
def test_covering_methods_are_greedy_with_weights(method, seed, k):
    source, target = instance(seed)
    weights = np.random.default_rng(seed + 1).uniform(0.1, 5, size=len(target))
    sure = sure_picks(source, target, k, weights)
    selection = pb.select(source, target, k=k, weights=weights, method=method, random_state=seed)
    assert selection.indices[: len(sure)].tolist() == sure


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", brute.variants(), ids=brute.name_of)
@lawful
@given(seed=seeds, power=st.integers(-8, 8))
def test_scaling_the_rows_scales_the_costs(method, dtype, seed, power):
    """Multiplication by a power of two is exact, so this holds to the last bit for every method."""
    source, target = (rows.astype(dtype) for rows in instance(seed))
    unit = dtype(2.0**power)
    plain = pb.select(source, target, k=3, method=method, random_state=seed)
    scaled = pb.select(source * unit, target * unit, k=3, method=method, random_state=seed)
    assert scaled.indices.tolist() == plain.indices.tolist()
    assert (scaled.costs == plain.costs * 2.0**power).all()
    assert scaled.evaluations == plain.evaluations
    assert (scaled.mass == plain.mass).all()


@covering
@lawful
@given(
    seed=seeds,
    shift=st.integers(-(2**20), 2**20),
    metric=st.sampled_from(["euclidean", "sqeuclidean", "manhattan", "chebyshev"]),
)
def test_shifting_the_rows_changes_nothing(method, metric, seed, shift):
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 100, size=(9, 3)), random.integers(0, 100, size=(15, 3))
    d = brute.distances(brute.DEFINITIONS[metric], target, source)
    sure = brute.decided(d, brute.even(15), 4)
    moved = pb.select(
        source + float(shift),
        target + float(shift),
        k=4,
        metric=metric,
        method=method,
        random_state=seed,
    )
    assert moved.indices[: len(sure)].tolist() == sure
    np.testing.assert_allclose(
        moved.costs, brute.costs(d, brute.even(15), moved.indices), rtol=1e-9, atol=1e-9
    )


@covering
@lawful
@given(seed=seeds, k=ks)
def test_the_order_of_source_rows_does_not_matter(method, seed, k):
    source, target = instance(seed)
    order = np.random.default_rng(seed + 2).permutation(len(source))
    sure = sure_picks(source, target, k)
    shuffled = pb.select(source[order], target, k=k, method=method, random_state=seed)
    assert order[shuffled.indices][: len(sure)].tolist() == sure


@covering
@lawful
@given(seed=seeds, k=ks)
def test_the_order_of_target_rows_does_not_matter(method, seed, k):
    source, target = instance(seed)
    random = np.random.default_rng(seed + 3)
    weights, order = random.uniform(0.1, 5, size=len(target)), random.permutation(len(target))
    sure = sure_picks(source, target, k, weights)
    shuffled = pb.select(
        source, target[order], k=k, weights=weights[order], method=method, random_state=seed
    )
    assert shuffled.indices[: len(sure)].tolist() == sure


@covering
@lawful
@given(seed=seeds, k=ks)
def test_a_weight_of_two_equals_a_repeated_row(method, seed, k):
    source, target = instance(seed)
    times = np.random.default_rng(seed + 4).integers(0, 3, size=len(target))
    times[0] = 2
    twice = np.repeat(target, times, axis=0)
    weighted = pb.select(source, target, k=k, weights=times, method=method, random_state=seed)
    repeated = pb.select(source, twice, k=k, method=method, random_state=seed)
    sure = sure_picks(source, target, k, times)
    n = len(sure)
    assert weighted.indices[:n].tolist() == repeated.indices[:n].tolist() == sure
    np.testing.assert_allclose(weighted.costs[:n], repeated.costs[:n], rtol=1e-12, atol=1e-12)
    if n == k:
        np.testing.assert_allclose(weighted.mass, repeated.mass, rtol=1e-12, atol=1e-12)


def instance_with_cost(seed):
    """Return rows of which no three have cost 0, and weights."""
    random = np.random.default_rng(seed)
    times = random.integers(1, 4, size=20)
    return random.normal(size=(12, 3)), random.normal(size=(20, 3)), times


@deterministic
@lawful
@given(seed=seeds, k=st.integers(1, 3))
def test_for_deterministic_methods_the_order_of_rows_does_not_matter(method, seed, k):
    source, target, times = instance_with_cost(seed)
    random = np.random.default_rng(seed + 6)
    sources, targets = random.permutation(len(source)), random.permutation(len(target))
    plain = pb.select(source, target, k=k, weights=times, method=method, random_state=0)
    shuffled = pb.select(
        source[sources], target[targets], k=k, weights=times[targets], method=method, random_state=0
    )
    assert set(sources[shuffled.indices]) == set(plain.indices)
    assert shuffled.cost == pytest.approx(plain.cost, rel=1e-12)


@deterministic
@lawful
@given(seed=seeds, k=st.integers(1, 3))
def test_for_deterministic_methods_a_weight_of_two_equals_a_repeated_row(method, seed, k):
    source, target, times = instance_with_cost(seed)
    twice = np.repeat(target, times, axis=0)
    weighted = pb.select(source, target, k=k, weights=times, method=method, random_state=0)
    repeated = pb.select(source, twice, k=k, method=method, random_state=0)
    assert weighted.indices.tolist() == repeated.indices.tolist()
    assert weighted.cost == pytest.approx(repeated.cost, rel=1e-12)


@covering
@lawful
@given(seed=seeds)
def test_scaling_the_weights_changes_nothing(method, seed):
    source, target = instance(seed)
    weights = np.random.default_rng(seed + 5).uniform(0.1, 5, size=len(target))
    some, more = (
        pb.select(source, target, k=3, weights=times * weights, method=method, random_state=seed)
        for times in (1, 1024)
    )
    assert some.indices.tolist() == more.indices.tolist()
    np.testing.assert_allclose(some.costs, more.costs, rtol=1e-12, atol=1e-12)


@lawful
@given(seed=seeds, k=ks)
def test_a_selection_of_fewer_is_a_prefix(seed, k):
    source, target = instance(seed)
    sure = sure_picks(source, target, k)
    longer = pb.select(source, target, k=5, method="spotgreedy", random_state=0)
    shorter = pb.select(source, target, k=k, method="spotgreedy", random_state=0)
    n = len(sure)
    assert longer.indices[:n].tolist() == shorter.indices[:n].tolist() == sure
    np.testing.assert_allclose(longer.costs[:n], shorter.costs[:n])


@lawful
@given(seed=seeds)
def test_costs_decrease_and_mass_sums_to_one(seed):
    source, target = instance(seed)
    for method in pb.methods.METHODS:
        selection = pb.select(source, target, k=len(source), method=method, random_state=seed)
        assert (np.diff(selection.costs) <= 0).all()
        assert selection.mass.sum() == pytest.approx(1)
        assert (selection.mass >= 0).all()
