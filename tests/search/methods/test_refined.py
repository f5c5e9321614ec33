"""A start improved by swaps, within limits."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import (
    LazyGreedy,
    ProtoBandit,
    Random,
    Refined,
    SpotGreedy,
    StochasticGreedy,
)

exact = pytest.mark.parametrize("swaps", ["eager", "best"])
N_SOURCE, N_TARGET = 30, 50


def refined(method, *, k=5, **limits):
    source, target = brute.normal(N_SOURCE), brute.normal(N_TARGET, seed=1)
    return pb.select(source, target, k=k, method=method, limits=pb.Limits(**limits), random_state=0)


def spent(selection):
    return selection.evaluations_by_phase["build"] + selection.evaluations_by_phase["swap"]


@exact
@pytest.mark.parametrize("build", ["lazygreedy", "random", LazyGreedy(memoize=False)])
def test_no_swap_lowers_the_cost(swaps, build):
    d = brute.distances(
        brute.DEFINITIONS["euclidean"], brute.normal(N_TARGET, seed=1), brute.normal(N_SOURCE)
    )
    found = refined(Refined(build=build, swaps=swaps))
    members = found.indices.tolist()
    for slot in range(5):
        for arm in set(range(N_SOURCE)) - set(members):
            after = [*members[:slot], arm, *members[slot + 1 :]]
            assert brute.cost(d, brute.even(N_TARGET), after) >= found.cost * (1 - 1e-6)
    assert "passes." in found.status


@exact
def test_the_result_is_that_of_the_method_with_the_same_swaps(swaps):
    rows = brute.normal(100)
    by_name = {"eager": pb.methods.FasterPAM(init="build"), "best": pb.methods.FastPAM1()}[swaps]
    one, other = (
        pb.select(rows, k=6, method=m, random_state=0) for m in (Refined(swaps=swaps), by_name)
    )
    assert one.indices.tolist() == other.indices.tolist()
    assert one.guarantee.statement == other.guarantee.statement


@exact
def test_passes_are_limited(swaps):
    few = refined(Refined(build="random", swaps=swaps, passes=1))
    assert "in 1 pass, ended by passes=1 before convergence." in few.status


@exact
def test_swaps_beyond_the_limit_are_not_started(swaps):
    n_pairs = N_SOURCE * N_TARGET
    method = Refined(build="random", swaps=swaps)
    short = refined(method, evaluations=n_pairs - 1)
    assert spent(short) == 0
    assert short.k == 5
    assert short.status.endswith("The limit of 1,499 evaluations left no room for swaps.")
    assert short.guarantee is None
    enough = refined(method, evaluations=n_pairs)
    assert spent(enough) == n_pairs
    assert enough.indices.tolist() == refined(method).indices.tolist()


@exact
@pytest.mark.parametrize("build", [LazyGreedy(), StochasticGreedy(epsilon=0.3, memoize=True)])
def test_kept_dissimilarities_are_not_computed_again(swaps, build):
    n_pairs = N_SOURCE * N_TARGET
    found = refined(Refined(build=build, swaps=swaps), evaluations=n_pairs)
    assert found.k == 5
    assert spent(found) == n_pairs
    assert "left no room" not in found.status


@pytest.mark.parametrize("swaps", ["eager", "best", "local"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_build_ends_within_its_limit(swaps, n):
    """A pick that would exceed the limit is not started."""
    picks = [(N_SOURCE - picked + 1) * N_TARGET for picked in range(5)]
    method = Refined(build=SpotGreedy(memoize=False), swaps=swaps)
    found = refined(method, evaluations=sum(picks[: n + 1]) - 1)
    assert found.evaluations == sum(picks[:n])
    assert found.k == n
    assert f"after {n} of the 5 prototypes" in found.status
    assert "left no room for swaps." in found.status


@pytest.mark.parametrize("build", ["lazygreedy", SpotGreedy(r=2, memoize=False)])
def test_it_extends_its_result(build):
    method = Refined(build=build, swaps="best")
    found = refined(method)
    assert Refined(**found.parameters) == method
    more = found.extended(7)
    assert more.method == "refined"
    assert more.parameters == found.parameters
    assert more.indices[:5].tolist() == found.indices.tolist()
    assert more.k == 7


def test_a_bandit_build_stops_at_the_limit():
    source, target = brute.normal(100, 6), brute.normal(3000, 6, seed=1)
    method = Refined(build=ProtoBandit(nu_step=0.05))
    whole = pb.select(source, target, k=6, method=method.builder, random_state=0)
    limits = pb.Limits(evaluations=whole.steps[3].evaluations)
    found = pb.select(source, target, k=6, method=method, limits=limits, random_state=0)
    assert spent(found) <= limits.evaluations
    assert found.indices.tolist() == whole.indices[: found.k].tolist()


@exact
def test_memory_is_checked_for_the_matrix(swaps):
    rows = np.random.default_rng(0).normal(size=(1600, 4)).astype(np.float32)
    method = Refined(build=Random(), swaps=swaps, passes=3)
    with pytest.raises(pb.InvalidInput, match=r"swaps='\w+' needs .* Pass swaps='local'"):
        pb.select(rows, k=4, method=method, limits=pb.Limits(memory=1600**2 * 4 - 1))
    pb.select(rows, k=4, method=method, random_state=0)
    tracemalloc.start()
    try:
        pb.select(rows, k=4, method=method, random_state=0, limits=pb.Limits(memory=1600**2 * 4))
        assert tracemalloc.get_traced_memory()[1] < 1.2 * 1600**2 * 4
    finally:
        tracemalloc.stop()
