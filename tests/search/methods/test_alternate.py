"""Voronoi iteration as `select` runs it."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import Alternate, FasterPAM


def park_jun(d, members):
    """Return k-medoids by alternation on a square matrix: each cell takes the best of its rows."""
    members = list(members)
    while True:
        cells = d[:, members].argmin(axis=1)
        after = list(members)
        for slot, member in enumerate(members):
            own = np.flatnonzero(cells == slot)
            totals = d[np.ix_(own, own)].sum(axis=0)
            if totals.min() < d[own, member].sum() * (1 - 1e-12):
                after[slot] = own[totals.argmin()]
        if after == members:
            return members
        members = after


@pytest.mark.parametrize("k", [2, 5, 11])
@pytest.mark.parametrize("seed", range(5))
def test_if_source_is_target_it_is_the_algorithm_of_park_and_jun(k, seed):
    rows = brute.normal(120, 4, seed=seed)
    start = np.random.default_rng(seed).choice(120, k, replace=False)
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows, rows)
    found = pb.select(rows, k=k, method=Alternate(init=start))
    assert sorted(found.indices.tolist()) == sorted(map(int, park_jun(d, start)))
    by_matrix = pb.select(d, k=k, method=Alternate(init=start), metric="precomputed")
    assert by_matrix.indices.tolist() == found.indices.tolist()


def test_swaps_find_a_lower_cost():
    rows = [brute.normal(200, 4, seed=seed) for seed in range(6)]
    start = np.arange(8)
    alternated, swapped = (
        np.mean([pb.select(some, k=8, method=method(init=start)).cost for some in rows])
        for method in (Alternate, FasterPAM)
    )
    assert swapped < alternated


def test_passes_are_counted_and_limited():
    rows = brute.normal(300, 2)
    whole, short = (
        pb.select(rows, k=9, method=Alternate(init="random", max_iter=n), random_state=0)
        for n in (300, 1)
    )
    assert "in 1 pass, ended by max_iter=1 before convergence." in short.status
    assert "ended by" not in whole.status
    assert whole.cost < short.cost
    assert whole.evaluations == 300 * 300
