"""CLARA: samples, validation rows, and the best result."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import Clara
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers.subsample import ValidationRows, sample_target, subsample

METRIC = brute.DEFINITIONS["euclidean"]
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def candidates_of(oracle, *, n_rows, n_validation, seed):
    """Return the best sets after each sample, all drawn with one seed."""
    random = np.random.default_rng(seed)
    return subsample(ValidationRows.of(oracle, n_validation, random), n_rows=n_rows, random=random)


def clustered(n, columns=4, *, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, columns)) + 5 * random.integers(0, 3, size=(n, columns))


def weights_for(n, is_weighted):
    return np.random.default_rng(7).integers(0, 6, size=n).astype(float) if is_weighted else None


class RecordedMetric:
    """A block metric on row numbers that records the blocks it computes."""

    def __init__(self, source, target):
        self.source, self.target, self.blocks = source, target, []

    def __call__(self, targets, sources):
        at, by = targets[:, 0].astype(int), sources[:, 0].astype(int)
        self.blocks.append((set(at.tolist()), set(by.tolist())))
        return np.sqrt(((self.target[at][:, None] - self.source[by][None]) ** 2).sum(axis=2))


def numbered(n):
    return np.arange(float(n)).reshape(-1, 1)


# -- more samples ----------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("is_same", [True, False])
def test_more_samples_are_never_worse_on_the_whole_target(is_same, is_weighted):
    n_better = 0
    for seed in range(3):
        source = clustered(400, seed=seed)
        target = source if is_same else clustered(500, seed=seed + 9)
        weights = weights_for(len(target), is_weighted)
        costs = [
            pb.select(
                source,
                target,
                k=6,
                weights=weights,
                method=Clara(n_samples=n, sample_size=12),
                random_state=seed,
            ).cost
            for n in (1, 2, 3, 5, 9, 20)
        ]
        assert costs == sorted(costs, reverse=True)
        n_better += costs[-1] < costs[0]
    assert n_better >= 2, "or the samples were of no use"


@weighted
@pytest.mark.parametrize("seed", range(3))
def test_more_samples_are_never_worse_on_validation_rows(seed, is_weighted):
    """Validation rows are drawn first, so a run of fewer samples is the start of a longer one."""
    rows = clustered(600, seed=seed)
    weights = weights_for(600, is_weighted)
    runs = []
    for n in (3, 12):
        oracle = Oracle(pose(rows, k=5, weights=weights))
        candidates = candidates_of(oracle, n_rows=14, n_validation=80, seed=seed)
        runs.append(list(islice(candidates, n)))
    shorter, longer = ([v.cost for v in run] for run in runs)
    assert longer[:3] == shorter
    assert longer == sorted(longer, reverse=True)
    assert longer[-1] < longer[0]


@weighted
def test_the_cost_is_that_on_the_validation_rows(is_weighted):
    rows = clustered(300)
    weights = weights_for(300, is_weighted)
    d = brute.distances(METRIC, rows, rows)
    oracle = Oracle(pose(rows, k=5, weights=weights))
    validation, counts = sample_target(oracle, 60, np.random.default_rng(3))
    assert len(validation) < 300
    candidates = candidates_of(oracle, n_rows=15, n_validation=60, seed=3)
    for candidate in islice(candidates, 6):
        chosen = candidate.prototypes.tolist()
        assert chosen == sorted(set(chosen))
        assert candidate.cost == pytest.approx(brute.cost(d[validation], counts, chosen), rel=1e-9)
        np.testing.assert_allclose(candidate.matrix, d[np.ix_(validation, chosen)].T, atol=1e-9)


def test_known_prototypes_are_looked_up():
    rows = clustered(50)
    d = brute.distances(METRIC, rows, rows)
    oracle = Oracle(pose(rows, k=4))
    validation = ValidationRows.of(oracle, 30, np.random.default_rng(0))
    best = validation.evaluate(np.array([3, 10, 20, 40]), None)
    assert oracle.evaluations["assign"] == 4 * 30
    other = validation.evaluate(np.array([5, 10, 40, 44]), best)
    assert oracle.evaluations["assign"] == 6 * 30
    assert oracle.lookups["assign"] == 2 * 30
    np.testing.assert_allclose(
        other.matrix, d[np.ix_(validation.rows, other.prototypes)].T, atol=1e-9
    )
    again = validation.evaluate(best.prototypes, best)
    assert oracle.evaluations["assign"] == 6 * 30
    assert again.cost == best.cost


# -- drawn rows ------------------------------------------------------------------------------------


def test_rows_are_drawn_by_weight_and_weighted_by_count():
    weights = np.array([0.0, 1, 1, 0, 48, 0, 0, 0, 0, 0])
    oracle = Oracle(pose(numbered(10), k=1, weights=weights))
    rows, counts = sample_target(oracle, 9, np.random.default_rng(0))
    assert set(rows.tolist()) <= {1, 2, 4}
    assert counts.sum() == 9
    assert counts[rows.tolist().index(4)] >= 6
    all_rows, own = sample_target(oracle, 10, np.random.default_rng(0))
    assert all_rows.tolist() == list(range(10))
    assert own.tolist() == weights.tolist()


def test_rows_of_equal_weight_are_drawn_once():
    oracle = Oracle(pose(numbered(10), k=1))
    rows, counts = sample_target(oracle, 7, np.random.default_rng(0))
    assert len(set(rows.tolist())) == 7
    assert counts.tolist() == [1] * 7


# -- samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_same", [True, False])
def test_a_sample_includes_the_best_so_far(is_same):
    source = clustered(200)
    target = source if is_same else clustered(300, seed=4)
    seen = RecordedMetric(source, target)
    numbers = numbered(200)
    oracle = Oracle(
        pose(
            numbers,
            numbers if is_same else numbered(300),
            k=4,
            metric=pb.block_metric(seen),
        )
    )
    candidates = candidates_of(oracle, n_rows=20, n_validation=10**6, seed=0)
    best, samples = None, []
    for candidate in islice(candidates, 6):
        jurors = [block for block in seen.blocks if len(block[0]) > 20]
        sample = [block for block in seen.blocks if len(block[0]) <= 20]
        targets, sources = (set().union(*(block[i] for block in sample)) for i in (0, 1))
        assert len(targets) == 20
        assert 20 <= len(sources) <= 24
        assert len(jurors) >= (0 if best else 1)
        if is_same:
            assert targets <= sources
        elif best is None:
            assert len(sources) == 20
        if best is not None:
            assert set(best) <= sources
        samples.append((frozenset(targets), frozenset(sources)))
        best = candidate.prototypes.tolist()
        seen.blocks.clear()
    assert len(set(samples)) == 6, "each sample is drawn anew"


def test_a_sample_is_solved_to_a_local_minimum():
    """With one sample of all rows, no swap lowers the cost."""
    rows = clustered(40, seed=3)
    d = brute.distances(METRIC, rows, rows)
    chosen = pb.select(rows, k=5, method=Clara(n_samples=1), random_state=0).indices.tolist()
    reached = brute.cost(d, brute.even(40), chosen)
    for slot in range(5):
        for other in set(range(40)) - set(chosen):
            swapped = [*chosen[:slot], other, *chosen[slot + 1 :]]
            assert brute.cost(d, brute.even(40), swapped) >= reached * (1 - 1e-6)


def test_a_prototype_comes_from_its_sample():
    rows = clustered(500)
    seen = RecordedMetric(rows, rows)
    pb.select(
        numbered(500),
        k=3,
        metric=pb.block_metric(seen),
        method=Clara(n_samples=1, sample_size=10),
        random_state=0,
    )
    (targets, sources), *candidates_of = seen.blocks
    assert len(targets) == len(sources) == 10
    assert all(by <= sources for _, by in candidates_of)


# -- evaluations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_same", [True, False])
def test_evaluations_are_those_of_the_samples_and_of_new_prototypes(is_same):
    source = clustered(300)
    target = source if is_same else clustered(350, seed=1)
    one = pb.select(source, target, k=5, method=Clara(n_samples=1), random_state=0)
    assert one.evaluations_by_phase["build"] == 50 * 50
    assert one.evaluations_by_phase["assign"] == 5 * len(target)
    many = pb.select(source, target, k=5, method=Clara(n_samples=6), random_state=0)
    assert 6 * 50 * 50 <= many.evaluations_by_phase["build"] <= 6 * 50 * 55
    assert many.evaluations_by_phase["assign"] <= 6 * 5 * len(target)
    assert many.evaluations_by_phase["assign"] % len(target) == 0
    planned = pb.plan(source, target, k=5, method=Clara(n_samples=6)).evaluations
    assert many.evaluations_by_phase["build"] == pytest.approx(planned, rel=0.11)


def test_a_large_target_has_validation_rows(monkeypatch):
    monkeypatch.setattr("protobandit.search.methods.clara._MOST_VALIDATION_ROWS", 5000)
    source, target = clustered(300), clustered(9000, seed=1)
    selection = pb.select(source, target, k=5, method="clara", random_state=0)
    assert "4096 fresh ones" in selection.status
    assert selection.cost_error > 0
    whole = pb.select(source, target[:5000], k=5, method="clara", random_state=0)
    searched = 9000  # rows, for far ones: one to five evaluations each
    candidates_of = selection.evaluations_by_phase["assign"] - 5 * 4096
    assert 5 * 5000 <= candidates_of - searched <= whole.evaluations_by_phase["assign"]
    assert selection.cost == pytest.approx(selection.assign(target).distances.mean(), rel=0.05)


def test_less_memory_means_fewer_validation_rows():
    source, target = clustered(300), clustered(9000, seed=1)
    limits = pb.Limits(memory=2 * 5 * 8 * 1000)
    selection = pb.select(source, target, k=5, method="clara", limits=limits, random_state=0)
    assert (selection.evaluations_by_phase["assign"] - 5 * 4096) % 1000 == 0


def test_a_limit_ends_the_search_after_a_sample():
    source, target = clustered(300), clustered(400, seed=1)
    one, two = (
        pb.select(source, target, k=5, method=Clara(n_samples=n), random_state=0) for n in (1, 2)
    )
    per_sample = 50 * 55 + 5 * 400  # at most
    limits = pb.Limits(evaluations=one.evaluations + per_sample)
    short = pb.select(source, target, k=5, method=Clara(n_samples=9), limits=limits, random_state=0)
    assert short.evaluations == two.evaluations <= limits.evaluations
    assert "evaluations ended the search after 2 of 9 samples." in short.status
    assert short.indices.tolist() == two.indices.tolist()
    hasty = pb.select(
        source, target, k=5, method="clara", limits=pb.Limits(seconds=1e-9), random_state=0
    )
    assert "after 1 of 5 samples" in hasty.status
    assert len(set(hasty.indices.tolist())) == 5
    with pytest.raises(pb.InvalidInput, match="evaluations=2,499 is less than the 2,500"):
        pb.select(source, target, k=5, method="clara", limits=pb.Limits(evaluations=2499))


# -- the result ------------------------------------------------------------------------------------


def test_it_is_better_than_random_rows_and_larger_samples_are_better():
    rows = clustered(2000, 6)
    costs = {
        name: np.mean([pb.select(rows, k=10, method=m, random_state=s).cost for s in range(4)])
        for name, m in {
            "random": "random",
            "small": Clara(sample_size=20),
            "default": Clara(),
            "large": Clara(sample_size=400),
        }.items()
    }
    assert costs["large"] < costs["default"] < costs["small"] < costs["random"]


@pytest.mark.parametrize("is_same", [True, False])
def test_fixed_rows_and_quotas_hold(is_same):
    source = clustered(200)
    target = source if is_same else clustered(150, seed=2)
    groups = np.arange(200) % 20
    feasibility = pb.Constraints(fixed=[7, 190], groups=groups, at_most=1, at_least={3: 1, 4: 1})
    for seed in range(5):
        selection = pb.select(
            source,
            target,
            k=8,
            method=Clara(sample_size=9),
            constraints=feasibility,
            random_state=seed,
        )
        chosen = selection.indices
        assert chosen[:2].tolist() == [7, 190]
        counts = np.bincount(groups[chosen], minlength=20)
        assert counts.max() == 1
        assert counts[3] == counts[4] == 1
        assert len(set(chosen.tolist())) == 8


@pytest.mark.parametrize("name", ["n_samples", "sample_size"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True])
def test_invalid_numbers(name, value):
    with pytest.raises(pb.InvalidInput, match=f"{name}="):
        Clara(**{name: value})


def test_a_sample_must_contain_all_prototypes():
    with pytest.raises(pb.InvalidInput, match="sample_size=4 is less than k=5"):
        pb.select(clustered(30), k=5, method=Clara(sample_size=4))
    assert pb.select(clustered(30), k=5, method=Clara(sample_size=5), random_state=0).k == 5
