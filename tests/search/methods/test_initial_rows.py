"""The initial rows of k-medoids."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import PAM, Alternate, FasterPAM, FastPAM1

every = pytest.mark.parametrize("method", [PAM, FastPAM1, FasterPAM, Alternate])


def start(init, rows, other=None, *, k=4, seed=0, **given):
    """Return the initial rows of an init."""
    method = FasterPAM(init=init, max_iter=0)
    return pb.select(rows, other, k=k, method=method, random_state=seed, **given).indices.tolist()


# -- by name ---------------------------------------------------------------------------------------


def test_build_is_greedy():
    rows = brute.normal(40)
    assert start("build", rows) == pb.select(rows, k=4, method="spotgreedy").indices.tolist()


def test_random_rows_depend_on_the_seed():
    rows = brute.normal(40)
    starts = {tuple(sorted(start("random", rows, seed=seed))) for seed in range(20)}
    assert len(starts) > 15
    assert start("random", rows, seed=7) == start("random", rows, seed=7)
    assert len(set(np.concatenate([list(some) for some in starts]).tolist())) > 25


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_heuristic_picks_the_most_central_rows(is_weighted):
    source, target = brute.normal(20), brute.normal(30, seed=1)
    weights = np.random.default_rng(0).integers(0, 4, size=30) if is_weighted else None
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    q = brute.even(30) if weights is None else weights
    central = sorted(range(20), key=lambda i: sum(q[j] * d[j, i] for j in range(30)))
    for seed in range(3):
        found = start("heuristic", source, target, k=5, weights=weights, seed=seed)
        assert sorted(found) == sorted(central[:5])


def test_k_medoids_plus_plus_picks_rows_far_apart():
    """Each of three distant clusters gets a row; with random rows some get none."""
    random = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], 20, axis=0)
    rows = centres + random.normal(size=centres.shape)

    def hits(init):
        starts = [np.array(start(init, rows, k=3, seed=seed)) for seed in range(20)]
        return sum(len(set(some // 20)) == 3 for some in starts)

    assert hits("k-medoids++") == 20
    assert hits("random") < 10


def test_k_medoids_plus_plus_draws_rows_with_weight():
    """Rows without weight are not drawn, however far they are."""
    rows = np.concatenate([brute.normal(20), brute.normal(20) + 1000])
    weights = np.repeat([1.0, 0.0], 20)
    for seed in range(10):
        found = start("k-medoids++", rows, k=4, weights=weights, seed=seed)
        assert np.count_nonzero(np.array(found) < 20) >= 3  # the first is a random row


def test_k_medoids_plus_plus_picks_the_source_rows_nearest_to_the_target():
    source = np.arange(30.0).reshape(-1, 1)
    target = np.array([[2.2], [11.1], [24.9]])
    for seed in range(10):
        found = start("k-medoids++", source, target, k=4, seed=seed)
        assert {2, 11, 25} <= set(found)


@pytest.mark.parametrize("init", ["build", "random", "heuristic", "k-medoids++"])
def test_fewer_distinct_rows_than_k(init):
    rows = np.repeat([[0.0], [5.0]], 6, axis=0)
    assert len(set(start(init, rows, k=9))) == 9


def test_distances_whose_squares_overflow():
    rows = np.array([[0.0], [1e200], [2e200], [3e200]])
    assert len(set(start("k-medoids++", rows, k=3, metric="manhattan"))) == 3


# -- given rows ------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda r: np.array(r, dtype=np.uint8)])
def test_row_numbers(method, kind):
    given = method(init=kind([8, 1, 5]), max_iter=0)
    assert given.init == (8, 1, 5)
    assert given == method(init=(8, 1, 5), max_iter=0)
    found = pb.select(brute.normal(20), k=3, method=given)
    assert sorted(found.indices.tolist()) == [1, 5, 8]
    assert found.parameters["init"] == (8, 1, 5)
    again = pb.Selection.from_json(found.to_json())
    assert method(**again.parameters) == given


@every
def test_a_selection_is_improved(method):
    rows = brute.normal(100)
    first = pb.select(rows, k=5, method="random", random_state=0)
    after = pb.select(rows, k=5, method=method(init=first))
    assert after.cost < first.cost
    assert after.parameters["init"] == tuple(first.indices.tolist())
    settled = pb.select(rows, k=5, method=method(init=after))
    assert settled.indices.tolist() == after.indices.tolist()


@every
@pytest.mark.parametrize(
    "init",
    [
        None,
        "means",
        3,
        [],
        [0.5, 1.0],
        [[1, 2]],
        [True, False],
        ["a"],
        {1: 2},
        [[1], [2, 3]],
    ],
    ids=repr,
)
def test_invalid_init(method, init):
    with pytest.raises(pb.InvalidInput, match=r"init=.*needs to be one of .*'build'.*Selection"):
        method(init=init)


@every
@pytest.mark.parametrize(
    ("init", "message"),
    [
        ([1, 2], r"init names 2 rows but k=3. Pass 3"),
        ([1, 2, 3, 4], r"init names 4 rows but k=3"),
        ([1, 2, 20], r"init names row 20 but source has 20 rows. Pass row numbers < 20"),
    ],
)
def test_rows_that_do_not_fit_the_problem(method, init, message):
    with pytest.raises(pb.InvalidInput, match=message):
        pb.select(brute.normal(20), k=3, method=method(init=init))


@every
def test_rows_that_violate_the_constraints(method):
    rows, groups = brute.normal(20), np.arange(20) % 2
    given = method(init=[1, 2, 3])
    with pytest.raises(pb.InvalidInput, match=r"init does not have row .*, which constraints fix"):
        pb.select(rows, k=3, method=given, constraints=pb.Constraints(fixed=[7]))
    for quota in ({"at_least": {0: 2}}, {"at_most": {1: 1}}):
        rule = pb.Constraints(groups=groups, **quota)
        with pytest.raises(pb.InvalidInput, match="init violates at_least or at_most"):
            pb.select(rows, k=3, method=given, constraints=rule)
