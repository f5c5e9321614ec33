from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.problem.constraints import Constraints
from protobandit.search.drivers.voronoi import voronoi_passes
from search.drivers.test_full_swaps import Witness, start_of, weights_of
from search.objectives.instances import table

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "uneven"])


def square(n, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    return np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2))


def recentred(d, weights, members, homes):
    """Return the prototypes of the next pass: the best arm of each cell."""
    n_target, n_source = d.shape
    cells = [min(range(len(members)), key=lambda m: d[j, members[m]]) for j in range(n_target)]
    after = list(members)
    for slot in range(len(members)):
        own = [j for j in range(n_target) if cells[j] == slot]

        def total(arm, own=own):
            return sum(weights[j] * d[j, arm] for j in own)

        arms = [i for i in range(n_source) if cells[homes[i]] == slot and i not in members]
        best = min([*arms, members[slot]], key=total)
        if total(best) < total(members[slot]) * (1 - 1e-12):
            after[slot] = best
    return after


def passes_of(d, weights, members):
    """Return the prototypes after each pass."""
    homes = [min(range(len(d)), key=lambda j: d[j, i]) for i in range(d.shape[1])]
    trail = [list(members)]
    while (after := recentred(d, weights, trail[-1], homes)) != trail[-1]:
        trail.append(after)
    return trail


@weighted
@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_square", [True, False], ids=["square", "rectangular"])
def test_every_pass_equals_the_definition(is_weighted, k, seed, is_square):
    d = square(30, seed) if is_square else table(30, 18, seed=seed)
    weights = weights_of(is_weighted, 30, seed)
    start = start_of(k, seed, d.shape[1])
    medoids, trail = Witness(d, start, weights), passes_of(d, weights, start)
    done = []
    for each in voronoi_passes(medoids):
        done.append(each)
        assert medoids.members.tolist() == trail[min(len(done), len(trail) - 1)]
        assert len(set(medoids.members.tolist())) == k
    assert len(done) == len(trail)
    assert [each.is_last for each in done] == [False] * (len(done) - 1) + [True]
    costs = [brute.cost(d, weights, members) for members in trail]
    assert (np.diff(costs) < 0).all()


def test_if_source_is_target_an_arm_is_in_its_own_cell():
    """Each cell takes the best of its own rows, as in k-medoids."""
    for seed in range(5):
        d, start = square(40, seed), start_of(4, seed, 40)
        medoids = Witness(d, start, np.ones(40))
        next(voronoi_passes(medoids))
        cells = d[:, start].argmin(axis=1)
        for slot, member in enumerate(medoids.members):
            own = np.flatnonzero(cells == slot)
            assert member in own
            best = d[np.ix_(own, own)].sum(axis=0).min()
            assert d[own, member].sum() == pytest.approx(best, rel=1e-12)


def test_several_prototypes_change_in_several_passes():
    trails = [passes_of(square(60, seed), np.ones(60), start_of(5, seed, 60)) for seed in range(5)]
    assert max(map(len, trails)) > 2


def test_empty_cells_keep_their_prototypes():
    d = np.zeros((6, 4))
    medoids = Witness(d, [2, 0, 3], np.ones(6))
    (only,) = voronoi_passes(medoids)
    assert only.is_last
    assert medoids.members.tolist() == [2, 0, 3]


def test_fixed_prototypes_stay_and_quotas_hold():
    groups = np.arange(40) % 2
    for seed in range(5):
        d, start = square(40, seed), [0, 2, 4, 1, 3]
        rule = Constraints(fixed=[4], groups=groups, at_most={1: 2})
        medoids = Witness(d, start, np.ones(40), rule)
        list(voronoi_passes(medoids))
        assert medoids.members[2] == 4
        assert np.count_nonzero(groups[medoids.members]) <= 2
        assert brute.cost(d, np.ones(40), medoids.members) < brute.cost(d, np.ones(40), start)
