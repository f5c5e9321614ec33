"""OneBatchPAM: the rows of the batch, their weights, and swaps on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import OneBatch
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.subsample import sample_target

METRIC = brute.DEFINITIONS["euclidean"]
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def clustered(n, columns=5, *, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, columns)) + 4 * random.integers(0, 3, size=(n, columns))


def weights_for(n, is_weighted):
    return np.random.default_rng(7).integers(0, 6, size=n).astype(float) if is_weighted else None


def batch_of(source, target, weights, n, seed):
    """Return the batch that `select` draws, and the number of times each row was drawn."""
    oracle = Oracle(pose(source, target, k=1, weights=weights))
    return sample_target(oracle, n, np.random.default_rng(seed))


def is_local_minimum(d, weights, chosen):
    """Return whether no swap lowers the cost by more than a millionth."""
    cost = brute.cost(d, weights, chosen)
    return all(
        brute.cost(d, weights, [*chosen[:slot], arm, *chosen[slot + 1 :]]) >= cost * (1 - 1e-6)
        for slot in range(len(chosen))
        for arm in set(range(d.shape[1])) - set(chosen)
    )


# -- the batch -------------------------------------------------------------------------------------


def test_the_batch_grows_with_the_logarithm():
    for n, k in ((500, 3), (5000, 20)):
        problem = pose(np.zeros((n, 1)), np.zeros((10**6, 1)), k=k)
        assert OneBatch().n_rows(problem) == math.ceil(100 * math.log(n * k))
    many = pose(np.zeros((5000, 1)), np.zeros((10**5, 1)), k=4000)
    assert OneBatch().n_rows(many) == 4000
    assert OneBatch(batch_size=70).n_rows(many) == 70
    few = pose(np.zeros((50, 1)), k=5)
    assert OneBatch().n_rows(few) == 50
    assert OneBatch(batch_size=70).n_rows(few) == 50


@weighted
def test_evaluations_are_source_rows_times_batch_rows(is_weighted):
    source, target = clustered(80), clustered(300, seed=1)
    weights = weights_for(300, is_weighted)
    selection = pb.select(
        source, target, k=4, weights=weights, method=OneBatch(batch_size=60), random_state=0
    )
    rows, _ = batch_of(source, target, weights, 60, 0)
    assert selection.evaluations_by_phase["build"] == 80 * len(rows)
    assert selection.evaluations_by_phase["swap"] == 0
    planned = pb.plan(source, target, k=4, method=OneBatch(batch_size=60))
    assert planned.evaluations == 80 * 60
    assert planned.memory > 80 * 60 * 8


@weighted
@pytest.mark.parametrize("seed", range(3))
def test_the_result_is_a_local_minimum_on_the_batch(seed, is_weighted):
    source, target = clustered(40, seed=seed), clustered(200, seed=seed + 50)
    weights = weights_for(200, is_weighted)
    rows, counts = batch_of(source, target, weights, 50, seed)
    d = brute.distances(METRIC, target[rows], source)
    selection = pb.select(
        source, target, k=4, weights=weights, method=OneBatch(batch_size=50), random_state=seed
    )
    chosen = selection.indices.tolist()
    assert is_local_minimum(d, counts, chosen)
    assert not is_local_minimum(d, counts, [0, 1, 2, 3]), "or any rows would do"
    d, q = brute.distances(METRIC, target, source), brute.even(200) if weights is None else weights
    assert selection.cost == pytest.approx(brute.cost(d, q, chosen), rel=1e-9)


@weighted
@pytest.mark.parametrize("is_same", [True, False])
def test_a_batch_of_the_whole_target_is_exact(is_same, is_weighted):
    """Weights and self distances are not replaced."""
    source = clustered(40)
    target = source if is_same else clustered(60, seed=1)
    weights = weights_for(len(target), is_weighted)
    d = brute.distances(METRIC, target, source)
    q = brute.even(len(target)) if weights is None else weights
    selection = pb.select(source, target, k=4, weights=weights, method="onebatch", random_state=0)
    chosen = selection.indices.tolist()
    assert is_local_minimum(d, q, chosen)
    assert selection.cost == pytest.approx(brute.cost(d, q, chosen), rel=1e-9)
    assert selection.evaluations == d.size
    assert "exact" in selection.status


def test_a_batch_of_the_whole_target_is_exact_if_self_distances_are_large():
    """The nearest batch row is then another one, whose weight must not be counted twice."""
    rows = np.sort(np.random.default_rng(0).uniform(size=(30, 1)), axis=0)

    def strange(targets, sources):
        far = np.abs(targets - sources.T)
        return np.where(far == 0, 5.0, far)

    d = strange(rows, rows)
    metric = pb.block_metric(strange)
    chosen = pb.select(rows, k=3, metric=metric, method="onebatch", random_state=0)
    assert chosen.cost == pytest.approx(d[:, chosen.indices].min(axis=1).mean(), rel=1e-12)
    assert is_local_minimum(d, brute.even(30), chosen.indices.tolist())


# -- the source is the target ----------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("weighting", ["auto", "nearest", "uniform"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_and_self_distances_of_batch_rows(seed, weighting, is_weighted):
    rows = clustered(60, seed=seed)
    weights = weights_for(60, is_weighted)
    batch, counts = batch_of(rows, None, weights, 25, seed)
    d = brute.distances(METRIC, rows[batch], rows)
    if weighting != "uniform":
        q = brute.even(60) if weights is None else weights
        counts = np.zeros(len(batch))
        for i in range(60):
            counts[min(range(len(batch)), key=lambda j: d[j, i])] += q[i]
    for j, own in enumerate(batch):
        d[j, own] = min(d[j, i] for i in range(60) if i != own)
    selection = pb.select(
        rows,
        k=4,
        weights=weights,
        method=OneBatch(batch_size=25, weighting=weighting),
        random_state=seed,
    )
    assert is_local_minimum(d, counts, selection.indices.tolist())


def test_weightings_give_different_results():
    """On these rows both weightings and unchanged self distances give different results."""
    rows = clustered(60, seed=0)
    batch, counts = batch_of(rows, None, None, 25, 0)
    d = brute.distances(METRIC, rows[batch], rows)
    nearest = np.bincount(d.argmin(axis=0), minlength=len(batch)).astype(float)
    estranged = d.copy()
    for j, own in enumerate(batch):
        estranged[j, own] = np.delete(d[j], own).min()
    by_weighting = {
        name: pb.select(
            rows, k=4, method=OneBatch(batch_size=25, weighting=name), random_state=0
        ).indices.tolist()
        for name in ("nearest", "uniform")
    }
    assert not is_local_minimum(estranged, counts, by_weighting["nearest"])
    assert not is_local_minimum(estranged, nearest, by_weighting["uniform"])
    assert not is_local_minimum(d, counts, by_weighting["uniform"])


def test_replaced_self_distances_and_nearest_weighting_lower_the_true_cost(monkeypatch):
    rows = clustered(3000, 8)

    def reached(method):
        runs = [pb.select(rows, k=20, method=method, random_state=seed) for seed in range(4)]
        return np.mean([run.assign(rows).distances.mean() for run in runs])

    nearest, uniform = (
        reached(OneBatch(batch_size=150, weighting=name)) for name in ("nearest", "uniform")
    )
    monkeypatch.setattr(
        "protobandit.search.methods.onebatch._replace_self_distances", lambda table, rows: None
    )
    biased = reached(OneBatch(batch_size=150, weighting="nearest"))
    assert nearest < min(uniform, biased)
    assert max(uniform, biased) < reached("random")


def test_nearest_is_refused_if_source_is_not_target():
    source, target = clustered(30), clustered(300, seed=1)
    with pytest.raises(pb.InvalidInput, match=r"weighting='nearest' needs .*'uniform'"):
        pb.select(source, target, k=3, method=OneBatch(weighting="nearest"))
    auto, uniform = (
        pb.select(source, target, k=3, method=OneBatch(batch_size=40, weighting=w), random_state=0)
        for w in ("auto", "uniform")
    )
    assert auto.indices.tolist() == uniform.indices.tolist()


# -- limits, constraints, parameters ---------------------------------------------------------------


def test_limits():
    source, target = clustered(100), clustered(500, seed=1)
    method = OneBatch(batch_size=90)
    with pytest.raises(pb.InvalidInput, match="evaluations=8,999 is less than the 9,000"):
        pb.select(source, target, k=5, method=method, limits=pb.Limits(evaluations=8999))
    enough = pb.Limits(evaluations=9000)
    assert pb.select(source, target, k=5, method=method, limits=enough, random_state=0).k == 5
    with pytest.raises(pb.InvalidInput, match="Pass a smaller batch_size"):
        pb.select(source, target, k=5, method=method, limits=pb.Limits(memory=90 * 100 * 8 - 1))
    room = pb.Limits(memory=90 * 100 * 8)
    assert pb.select(source, target, k=5, method=method, limits=room, random_state=0).k == 5
    hasty = pb.select(
        source, target, k=5, method=method, limits=pb.Limits(seconds=1e-9), random_state=0
    )
    assert "ended by the limit of 1e-09 seconds" in hasty.status
    assert len(set(hasty.indices.tolist())) == 5


def test_max_iter_0_returns_the_build():
    source, target = clustered(60), clustered(300, seed=1)
    rows, counts = batch_of(source, target, None, 50, 0)
    d = brute.distances(METRIC, target[rows], source)
    method = OneBatch(batch_size=50, max_iter=0)
    selection = pb.select(source, target, k=5, method=method, random_state=0)
    assert selection.indices.tolist() == brute.greedy(d, counts, 5)


def test_fixed_rows_and_quotas_hold():
    source, target = clustered(200), clustered(400, seed=2)
    groups = np.arange(200) % 20
    feasibility = pb.Constraints(fixed=[7, 190], groups=groups, at_most=1, at_least={3: 1, 4: 1})
    method = OneBatch(batch_size=60)
    selection = pb.select(
        source, target, k=8, method=method, constraints=feasibility, random_state=0
    )
    counts = np.bincount(groups[selection.indices], minlength=20)
    assert selection.indices[:2].tolist() == [7, 190]
    assert counts.max() == 1
    assert counts[3] == counts[4] == 1


@pytest.mark.parametrize("weighting", ["nniw", "", None, 1])
def test_an_unknown_weighting_is_refused(weighting):
    with pytest.raises(pb.InvalidInput, match=r"weighting=.* is not known. Use one of"):
        OneBatch(weighting=weighting)


@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True])
def test_invalid_batch_size(value):
    with pytest.raises(pb.InvalidInput, match="batch_size="):
        OneBatch(batch_size=value)


@pytest.mark.parametrize("value", [-1, 2.5, "5", True])
def test_invalid_max_iter(value):
    with pytest.raises(pb.InvalidInput, match="max_iter="):
        OneBatch(max_iter=value)
