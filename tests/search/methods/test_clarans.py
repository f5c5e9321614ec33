"""CLARANS, against its definition on the same random numbers."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import Clarans
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.random_swaps import BLOCK, ColumnCache, random_swaps

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def one_search(d, weights, start, patience, random, n_fixed=0):
    """Return the prototypes at the end of a search, all costs, and the arms that were tried."""
    n_source, current = d.shape[1], list(start)
    cost = brute.cost(d, weights, current)
    costs, tried, failed = [cost], [], 0
    while failed < patience:
        n = min(BLOCK, patience - failed)
        arms = random.integers(n_source, size=n)
        slots = n_fixed + random.integers(len(current) - n_fixed, size=n)
        for arm, slot in zip(arms.tolist(), slots.tolist(), strict=True):
            if arm in current:
                continue
            tried.append(arm)
            neighbour = [*current[:slot], arm, *current[slot + 1 :]]
            other = brute.cost(d, weights, neighbour)
            if other < cost * (1 - 1e-12):
                current, cost, failed = neighbour, other, 0
                costs.append(cost)
            else:
                failed += 1
    return current, costs, tried


def clarans(d, weights, k, numlocal, patience, seed):
    """Return the best of several searches, and the costs and arms of each."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(numlocal):
        start = random.choice(d.shape[1], size=k, replace=False).tolist()
        found.append(one_search(d, weights, start, patience, random))
    return min(found, key=lambda each: each[1][-1]), found


def instance(seed, n_source=25, n_target=40, is_weighted=False):
    source, target = brute.normal(n_source, seed=seed), brute.normal(n_target, seed=seed + 50)
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    weights = np.random.default_rng(seed).integers(0, 5, size=n_target).astype(float)
    return source, target, d, weights if is_weighted else brute.even(n_target)


@weighted
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize(("numlocal", "patience"), [(1, 10), (2, 60), (3, 300)])
@pytest.mark.parametrize("seed", range(2))
def test_the_result_is_that_of_the_definition(seed, numlocal, patience, k, is_weighted):
    source, target, d, weights = instance(seed, is_weighted=is_weighted)
    (expected, costs, _), found = clarans(d, weights, k, numlocal, patience, seed)
    selection = pb.select(
        source,
        target,
        k=k,
        weights=weights,
        method=Clarans(numlocal=numlocal, maxneighbor=patience),
        random_state=seed,
    )
    assert sorted(selection.indices.tolist()) == sorted(expected)
    assert selection.cost == pytest.approx(costs[-1], rel=1e-9)
    is_short = patience == 10
    assert is_short or any(len(passed) > 1 for _, passed, _ in found), "or nothing was moved"


def test_more_searches_are_never_worse():
    source, target, d, weights = instance(3, 60, 80)
    costs = []
    for numlocal in (1, 2, 4):
        _, found = clarans(d, weights, 6, numlocal, 250, 5)
        selection = pb.select(
            source, target, k=6, method=Clarans(numlocal=numlocal, maxneighbor=250), random_state=5
        )
        for _, passed, _ in found:
            assert selection.cost < 0.95 * passed[0]
        costs.append(selection.cost)
    assert costs == sorted(costs, reverse=True)


def test_a_single_prototype_is_replaced_at_all_rows():
    """Compared with 45, -20 is nearer to most rows but too far from the others."""
    target = np.repeat([[0.0], [100.0]], [60, 40], axis=0)
    source = np.array([[45.0], [-20.0], [-30.0]])
    for seed in range(5):
        selection = pb.select(source, target, k=1, method="clarans", random_state=seed)
        assert selection.indices.tolist() == [0]


def test_the_default_patience_is_a_share_of_all_neighbours():
    few, many = pose(brute.normal(50), k=5), pose(brute.normal(2000), k=30)
    assert Clarans().patience(few) == 250
    assert Clarans().patience(many) == round(0.0125 * 30 * 1970)
    assert Clarans(maxneighbor=7).patience(many) == 7


def test_the_default_is_nearly_a_local_minimum():
    """Few of its neighbours are better: 250 in a row were not."""
    source, target, d, weights = instance(4)
    chosen = pb.select(source, target, k=4, method="clarans", random_state=0).indices.tolist()
    cost = brute.cost(d, weights, chosen)
    n_better = sum(
        brute.cost(d, weights, [*chosen[:slot], arm, *chosen[slot + 1 :]]) < cost * (1 - 1e-9)
        for slot in range(4)
        for arm in set(range(25)) - set(chosen)
    )
    assert n_better <= 1


# -- evaluations -----------------------------------------------------------------------------------


@weighted
def test_every_row_that_is_drawn_is_computed_once(is_weighted):
    source, target, d, weights = instance(1, 300, 20, is_weighted)
    metric = brute.CountedBlocks(brute.DEFINITIONS["euclidean"])
    selection = pb.select(
        source,
        target,
        k=4,
        weights=weights,
        metric=pb.block_metric(metric),
        method=Clarans(numlocal=1, maxneighbor=30),
        random_state=2,
    )
    random = np.random.default_rng(2)
    start = random.choice(300, size=4, replace=False).tolist()
    _, _, tried = one_search(d, weights, start, 30, random)
    drawn = {*start, *tried}
    assert len(drawn) < 300
    assert selection.evaluations == metric.calls == 20 * len(drawn)
    assert selection.evaluations_by_phase["build"] == 20 * 4


def test_no_dissimilarity_is_computed_twice():
    source, target, _, _ = instance(2)
    selection = pb.select(source, target, k=3, method=Clarans(numlocal=5), random_state=0)
    assert selection.evaluations == 25 * 40
    assert selection.lookups > 10 * 25 * 40
    planned = pb.plan(source, target, k=3, method=Clarans(numlocal=5))
    assert planned.evaluations == 25 * 40


@weighted
def test_less_memory_means_more_evaluations_and_the_same_result(is_weighted):
    source, target, _, weights = instance(5, 600, 30, is_weighted)
    method = Clarans(numlocal=2, maxneighbor=400)
    room = (256 + 10) * 30 * 8
    plenty, short = (
        pb.select(
            source,
            target,
            k=5,
            weights=weights,
            method=method,
            limits=pb.Limits(memory=memory),
            random_state=1,
        )
        for memory in (10**9, room)
    )
    assert plenty.indices.tolist() == short.indices.tolist()
    assert plenty.evaluations <= 600 * 30 < short.evaluations
    with pytest.raises(pb.InvalidInput, match=r"clarans' needs .* Use method='clara'"):
        pb.select(source, target, k=5, method=method, limits=pb.Limits(memory=room - 1))


def test_the_cache_drops_columns_only_if_it_is_full():
    oracle = Oracle(pose(brute.normal(20), brute.normal(6, seed=1), k=2))
    truth = brute.distances(
        brute.DEFINITIONS["euclidean"], brute.normal(6, seed=1), brute.normal(20)
    )
    columns = ColumnCache(oracle, 5)
    for wanted, n_new in [([3, 9], 2), ([3, 9, 11], 1), ([3], 0), ([1, 2, 3], 2), ([3, 7], 2)]:
        sources = np.array(wanted)
        before = oracle.evaluations.total()
        assert columns.n_missing(sources) == n_new
        columns.fetch(sources)
        assert oracle.evaluations.total() - before == 6 * n_new
        np.testing.assert_allclose(columns.matrix[columns.places[sources]], truth[:, wanted].T)


def test_a_limit_ends_the_search():
    source, target, d, weights = instance(6, 200, 50)
    method = Clarans(maxneighbor=300)
    free = pb.select(source, target, k=5, method=method, random_state=0)
    assert "limit" not in free.status
    for allowed in (5 * 50, 100 * 50, free.evaluations - 1):
        limits = pb.Limits(evaluations=allowed)
        short = pb.select(source, target, k=5, method=method, limits=limits, random_state=0)
        assert short.evaluations <= allowed
        assert f"The limit of {allowed:,} evaluations ended the search." in short.status
        assert len(set(short.indices.tolist())) == 5
        assert short.cost == pytest.approx(brute.cost(d, weights, short.indices), rel=1e-9)
    hasty = pb.select(
        source, target, k=5, method=method, limits=pb.Limits(seconds=1e-9), random_state=0
    )
    assert "The limit of 1e-09 seconds ended the search." in hasty.status
    assert hasty.k == 5
    with pytest.raises(pb.InvalidInput, match="evaluations=249 is less than the 250"):
        pb.select(source, target, k=5, method=method, limits=pb.Limits(evaluations=249))


def test_fixed_rows_are_never_swapped():
    source, target, d, weights = instance(7)
    feasibility = pb.Constraints(fixed=[24, 3])
    selection = pb.select(
        source, target, k=5, method="clarans", constraints=feasibility, random_state=0
    )
    assert selection.indices[:2].tolist() == [24, 3]
    oracle = Oracle(pose(source, target, k=5))
    columns, start = ColumnCache(oracle, 25), np.array([24, 3, 0, 1, 2])
    found = random_swaps(
        columns,
        start,
        weights,
        n_fixed=2,
        patience=100,
        random=np.random.default_rng(0),
        may_compute=lambda n: True,
    )
    expected, _, _ = one_search(
        d, weights, start.tolist(), 100, np.random.default_rng(0), n_fixed=2
    )
    assert found.members.tolist() == expected
    both = pb.select(source, target, k=2, method="clarans", constraints=feasibility, random_state=0)
    assert both.indices.tolist() == [24, 3]


@pytest.mark.parametrize("name", ["numlocal", "maxneighbor"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True])
def test_invalid_numbers(name, value):
    with pytest.raises(pb.InvalidInput, match=f"{name}="):
        Clarans(**{name: value})
