"""LazyBandit as `select` runs it."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits

import brute
import protobandit as pb
from protobandit.methods import LazyBandit
from protobandit.problem.posing import pose
from protobandit.search.methods import lazybandit as lazybandit_file

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def run(*sides, **options):
    return pb.select(*sides, **({"method": "lazybandit", "random_state": 0} | options))


def true_cost(selection, target, weights=None):
    return float(np.average(selection.assign(target).distances.astype(float), weights=weights))


@pytest.fixture
def always_race(monkeypatch):
    """Race on small problems too."""
    monkeypatch.setattr(lazybandit_file, "AT_ONCE", 0)
    monkeypatch.setattr(lazybandit_file, "_AT_ONCE_IF_EXPENSIVE", 0)


@pytest.fixture(scope="module")
def digits():
    """Return scikit-learn's digits, and many noisy copies of them, so that a race is needed."""
    rows = load_digits().data.astype(np.float32)
    random = np.random.default_rng(0)
    many = np.vstack([rows] * 12)
    return rows, many + random.normal(size=many.shape).astype(np.float32)


@pytest.fixture(scope="module")
def greedy(digits):
    """Return exact greedy on the digits; its first k picks are those for that k."""
    return pb.select(*digits, k=40, method="lazygreedy")


# -- small problems: one rung ----------------------------------------------------------------------


def best_cost(d, k):
    """Return the lowest mean distance of any k columns."""
    subsets = np.array([*combinations(range(d.shape[1]), k)]).T
    nearest = d.T[subsets[0]]
    for others in subsets[1:]:
        nearest = np.minimum(nearest, d.T[others])
    return float(nearest.mean(axis=1).min())


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_optimum_is_found_with_and_without_repeated_rows(repeats):
    """With repeated rows there are more than 65,536 dissimilarities."""
    n_found = 0
    for seed in range(15):
        rows = np.random.default_rng(seed).random((56, 3))
        d = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
        chosen = run(np.repeat(rows, repeats, axis=0), k=3, random_state=seed)
        n_found += chosen.cost <= best_cost(d, 3) * (1 + 1e-6)
    assert n_found >= 14


def test_more_effort_is_never_worse_if_everything_is_computed():
    for seed in range(5):
        rows = brute.normal(270, seed=seed)
        costs = [
            run(rows, k=12, method=LazyBandit(effort=effort), random_state=seed).cost
            for effort in (0.01, 1.0, 2.5, 6.0, 20.0)
        ]
        assert costs == sorted(costs, reverse=True)


@weighted
@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_a_small_problem_ends_in_a_local_minimum_not_worse_than_greedy(is_weighted, k, seed):
    source, target = brute.normal(25, seed=seed), brute.normal(40, seed=seed + 50)
    weights = np.random.default_rng(seed).integers(0, 4, size=40) if is_weighted else None
    plain = brute.even(40) if weights is None else weights
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    chosen = run(source, target, k=k, weights=weights)
    members = chosen.indices.tolist()
    cost = brute.cost(d, plain, members)
    assert chosen.cost == pytest.approx(cost, rel=1e-9)
    assert cost <= brute.cost(d, plain, brute.greedy(d, plain, k)) + 1e-12
    for slot in range(k):
        for arm in set(range(25)) - set(members):
            swapped = [*members[:slot], arm, *members[slot + 1 :]]
            assert brute.cost(d, plain, swapped) >= cost * (1 - 1e-6)
    assert chosen.evaluations == 25 * 40
    assert chosen.evaluations_by_phase["build"] == 25 * 40
    assert chosen.cost_error == 0.0
    assert "(1 - 1/e)" in str(chosen.guarantee)
    assert chosen.status == (
        f"Selected {k} prototype{'s' * (k > 1)}; cost and mass are exact over all 40 target rows."
    )


@weighted
def test_costs_mass_and_steps_follow_the_order(is_weighted):
    source, target = brute.normal(25), brute.normal(40, seed=50)
    weights = np.arange(40) if is_weighted else None
    plain = brute.even(40) if weights is None else weights
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    chosen = run(source, target, k=8, weights=weights)
    np.testing.assert_allclose(chosen.costs, brute.costs(d, plain, chosen.indices), rtol=1e-9)
    np.testing.assert_allclose(chosen.mass, brute.mass(d, plain, chosen.indices), atol=1e-12)
    gains = [step.gain for step in chosen.steps]
    np.testing.assert_allclose(gains[1:], chosen.gains[1:], rtol=1e-9)
    assert np.isnan(gains[0])


@weighted
def test_prefixes_are_greedy_among_the_prototypes(is_weighted):
    """Costs decrease, each time by no more than before."""
    source, target = brute.normal(60), brute.normal(80, seed=50)
    weights = np.random.default_rng(1).integers(1, 9, size=80) if is_weighted else None
    plain = brute.even(80) if weights is None else weights
    chosen = run(source, target, k=12, weights=weights)
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source[chosen.indices])
    assert brute.greedy(d, plain, 12) == list(range(12))
    assert all(after <= before + 1e-12 for before, after in pairwise(chosen.gains[1:]))
    assert (chosen.gains[1:] > 0).all()


# -- larger problems: a race -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [10, 40])
@pytest.mark.parametrize(
    ("effort", "most"), [("fast", 1.02), ("balanced", 1.005), ("thorough", 1.0)]
)
def test_digits_against_exact_greedy(digits, greedy, k, effort, most):
    source, target = digits
    exact = greedy.costs[k - 1]
    for seed in range(2):
        chosen = run(source, target, k=k, method=LazyBandit(effort=effort), random_state=seed)
        assert chosen.evaluations < len(source) * len(target) / (1.5 if most == 1 else 8)
        assert true_cost(chosen, target) <= most * exact
    random = run(source, target, k=k, method="random")
    assert true_cost(random, target) > 1.05 * exact


def test_more_effort_needs_more_evaluations_and_is_better(digits):
    source, target = digits
    runs = [run(source, target, k=30, method=LazyBandit(effort=e)) for e in (0.1, 1, 12)]
    assert all(b.evaluations > 2 * a.evaluations for a, b in pairwise(runs))
    costs = [true_cost(chosen, target) for chosen in runs]
    assert costs[0] > costs[1] > costs[2]


def test_a_sampled_cost_is_accurate_and_prefixes_are_good(digits, greedy):
    chosen = run(*digits, k=40)
    assert "sampled target rows" in chosen.status
    assert chosen.guarantee is None
    assert 0 < chosen.cost_error < 0.01 * chosen.cost
    assert abs(chosen.cost - true_cost(chosen, digits[1])) < 4 * chosen.cost_error
    assert (np.diff(chosen.costs) < 0).all()
    seen = [step.gain for step in chosen.steps[1:]]  # on the rows of the last rung
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(seen))
    noise = 2 * chosen.cost_error
    assert all(after <= before + noise for before, after in pairwise(chosen.gains[1:]))
    for n in (5, 10, 20):
        assert chosen.costs[n - 1] < 1.06 * greedy.costs[n - 1]


@pytest.mark.parametrize("k", [2, 8, 30])
@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_every_cluster_gets_a_prototype(always_race, k, effort):
    random = np.random.default_rng(k)
    centres = 40 * random.permutation(100)[:k, None] + np.zeros((1, 5))
    source = centres[np.arange(40 * k) % k] + random.normal(size=(40 * k, 5))
    target = centres[np.arange(600 * k) % k] + random.normal(size=(600 * k, 5))
    for seed in range(5):
        chosen = run(source, target, k=k, method=LazyBandit(effort=effort), random_state=seed)
        assert sorted(chosen.indices % k) == list(range(k))
        assert chosen.evaluations_by_phase["build"] < len(source) * len(target)


@pytest.mark.parametrize("kind", ["float32", "sparse", "precomputed", "strings", "blocks"])
def test_every_kind_of_rows(always_race, kind):
    random = np.random.default_rng(0)
    rows = random.normal(size=(700, 5)) * (random.random((700, 5)) < 0.7)
    source, target, options = rows[:300], rows, {}
    if kind == "float32":
        source, target = source.astype(np.float32), target.astype(np.float32)
    if kind == "sparse":
        source, target = scipy.sparse.csr_matrix(source), scipy.sparse.csr_matrix(target)
    if kind == "blocks":
        options["metric"] = pb.block_metric(lambda a, b: abs(a[:, None] - b[None]).sum(axis=2))
    if kind == "strings":
        words = ["".join(random.choice(list("abc"), size=random.integers(1, 9))) for _ in rows]
        source, target, options["metric"] = words[:100], words[:300], brute.edits
    sides = (source, target)
    if kind == "precomputed":
        d = np.sqrt(((target[:, None] - source[None]) ** 2).sum(axis=2))
        sides, options["metric"] = (d,), "precomputed"
    chosen = run(*sides, k=5, method=LazyBandit(effort=0.5), **options)
    exact, by_chance = (
        run(*sides, k=5, method=method, **options) for method in ("lazygreedy", "random")
    )
    assert chosen.evaluations < exact.evaluations
    assert len(set(chosen.indices.tolist())) == 5
    assert exact.cost * 0.9 < chosen.cost < 1.06 * exact.cost
    assert chosen.cost < by_chance.cost


def test_source_is_target(always_race, digits):
    rows, _ = digits
    chosen = run(rows, k=15, method=LazyBandit(effort=1.0))
    exact = pb.select(rows, k=15, method="lazygreedy")
    assert chosen.evaluations < exact.evaluations / 2
    assert chosen.cost < 1.02 * exact.cost
    assert chosen.assign(rows).labels[chosen.indices].tolist() == list(range(15))


def test_a_race_that_reads_all_rows_has_an_exact_cost(always_race):
    source, target = brute.normal(200), brute.normal(900, seed=1)
    weights = np.random.default_rng(0).integers(1, 4, size=900)
    chosen = run(source, target, k=4, weights=weights, method=LazyBandit(effort=1.0))
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source[chosen.indices])
    assert chosen.cost_error == 0.0
    assert "exact over all 900 target rows" in chosen.status
    assert chosen.guarantee is None
    np.testing.assert_allclose(chosen.costs, brute.costs(d, weights, range(4)), rtol=1e-9)
    np.testing.assert_allclose(chosen.mass, brute.mass(d, weights, range(4)), atol=1e-9)
    assert chosen.evaluations_by_phase["assign"] == 0


# -- seeds and threads -----------------------------------------------------------------------------


@weighted
def test_seeds_matter_and_threads_do_not(digits, is_weighted):
    source, target = digits
    weights = np.random.default_rng(2).random(len(target)) ** 6 if is_weighted else None
    one, two, again = (
        run(source, target, k=12, weights=weights, method=LazyBandit(effort=0.5), n_jobs=n_jobs)
        for n_jobs in (1, 2, 1)
    )
    for other in (two, again):
        assert other.indices.tolist() == one.indices.tolist()
        assert other.costs.tobytes() == one.costs.tobytes()
        assert other.evaluations_by_phase == one.evaluations_by_phase
    seeds = [
        run(source, target, k=12, method=LazyBandit(effort=0.5), random_state=seed)
        for seed in (1, 2)
    ]
    assert seeds[0].indices.tolist() != seeds[1].indices.tolist()


def test_threads_do_not_matter_for_finalists(digits):
    source, target = digits
    method = LazyBandit(effort=6.0)
    assert last_rung(source, target, k=15, effort=6.0).n_finalists > 15
    one, *others = (run(source, target, k=15, method=method, n_jobs=n) for n in (1, 2, 4))
    for other in others:
        assert other.indices.tolist() == one.indices.tolist()
        assert other.costs.tobytes() == one.costs.tobytes()
        assert other.evaluations_by_phase == one.evaluations_by_phase


# -- finalists -------------------------------------------------------------------------------------


def last_rung(*sides, k, effort, limits=None, **options):
    """Return the last rung of the schedule."""
    problem = pose(*sides, k=k, **options)
    limits = limits or pb.Limits()
    return lazybandit_file.race_schedule(problem, limits, effort).rungs[-1]


@weighted
@pytest.mark.parametrize("counted", [brute.CountedPairs, brute.CountedBlocks])
def test_a_counting_metric_agrees_with_the_count_of_finalists(
    always_race, monkeypatch, counted, is_weighted
):
    monkeypatch.setattr(lazybandit_file, "_EXPENSIVE_EFFORT", 1.0)
    monkeypatch.setattr("protobandit.search.drivers.race.schedule._PERTURBED_EFFORT", 0.1)
    monkeypatch.setattr("protobandit.search.drivers.race.schedule._FINALISTS", 4)
    counting = counted()
    metric = pb.block_metric(counting) if counted is brute.CountedBlocks else counting
    source, target = brute.normal(150), brute.normal(500, seed=1)
    weights = np.random.default_rng(0).integers(0, 3, size=500) if is_weighted else None
    last = last_rung(source, target, k=3, effort=0.2, metric=metric)
    assert 3 < last.n_finalists < last.n_arms
    chosen = run(source, target, k=3, metric=metric, weights=weights, method=LazyBandit(effort=0.2))
    assert chosen.evaluations == counting.calls
    assert chosen.evaluations < 150 * 500


@pytest.mark.parametrize("k", [1, 2, 5, 30])
@pytest.mark.parametrize("n_source", [30, 300])
def test_finalists_for_every_number_of_prototypes(always_race, monkeypatch, k, n_source):
    monkeypatch.setattr("protobandit.search.drivers.race.schedule._PERTURBED_EFFORT", 0.1)
    source, target = brute.normal(n_source), brute.normal(5000, seed=1)
    weights = np.random.default_rng(0).integers(0, 3, size=5000)
    for sides in ((source, target), (source.astype(np.float32), target.astype(np.float32))):
        chosen = run(*sides, k=k, weights=weights, method=LazyBandit(effort=0.3))
        assert len(set(chosen.indices.tolist())) == k
        exact = run(*sides, k=k, weights=weights, method="lazygreedy")
        assert true_cost(chosen, sides[1], weights) < 1.05 * exact.cost


# -- weights ---------------------------------------------------------------------------------------


def weights_by_name(name, n):
    random = np.random.default_rng(3)
    return {
        "mild": random.uniform(0.5, 1.5, size=n),
        "some zero": random.integers(0, 4, size=n).astype(float),
        "uneven": random.random(n) ** 12,
        "mostly zero": random.random(n) * (random.random(n) < 0.05),
        "one label": np.where(np.resize(load_digits().target, n) == 0, 30.0, 1.0),
    }[name]


@pytest.mark.parametrize("name", ["mild", "some zero", "uneven", "mostly zero", "one label"])
def test_weights_matter(digits, name):
    source, target = digits
    weights = weights_by_name(name, len(target))
    exact = pb.select(source, target, k=15, weights=weights, method="lazygreedy")
    for seed in range(2):
        chosen = run(
            source,
            target,
            k=15,
            weights=weights,
            method=LazyBandit(effort=1.0),
            random_state=seed,
        )
        assert true_cost(chosen, target, weights) < 1.02 * exact.cost
        assert chosen.evaluations < exact.evaluations / 8
        error = max(chosen.cost_error, 1e-9)
        assert abs(chosen.cost - true_cost(chosen, target, weights)) < 5 * error


def test_a_single_row_with_weight():
    """Also if the race reads all of the target and its first rows have no weight."""
    rows = np.random.default_rng(0).normal(size=(5000, 6)).astype(np.float32)
    weights = np.zeros(5000)
    weights[4321] = 1.0
    chosen = run(rows[:4000], rows, k=3, weights=weights)
    assert np.isfinite(chosen.costs).all()
    assert chosen.mass.sum() == pytest.approx(1.0)
    by_chance = run(rows[:4000], rows, k=3, weights=weights, method="random")
    assert chosen.cost < by_chance.cost


def test_equal_weights_change_nothing(digits):
    source, target = digits
    even, none = (
        run(source, target, k=6, weights=weights, method=LazyBandit(effort=0.3))
        for weights in (np.full(len(target), 7.0), None)
    )
    assert even.indices.tolist() == none.indices.tolist()


# -- edge cases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 40, 60])
def test_few_distinct_rows(always_race, k):
    """More prototypes than distinct rows are different rows, and need no swap."""
    kinds = 10 * np.random.default_rng(0).normal(size=(40, 4))
    rows = kinds[np.arange(4000) % 40]
    chosen = run(rows[:400], rows, k=k, method=LazyBandit(effort=0.5))
    assert len(set(chosen.indices.tolist())) == k
    if k >= 40:
        assert chosen.cost == 0
        assert len(set(chosen.indices[:40] % 40)) == 40
        assert (chosen.gains[40:] == 0).all()


def test_identical_rows(always_race):
    chosen = run(np.ones((300, 3)), np.ones((3000, 3)), k=5, method=LazyBandit(effort=0.2))
    assert len(set(chosen.indices.tolist())) == 5
    assert chosen.cost == 0


@pytest.mark.parametrize("n_target", [1, 2, 5, 50])
def test_all_source_rows_of_a_small_target(always_race, n_target):
    source, target = brute.normal(30), brute.normal(n_target, seed=1)
    chosen = run(source, target, k=30)
    assert sorted(chosen.indices.tolist()) == list(range(30))


def test_progress_is_reported_best_first(digits):
    seen = []
    chosen = run(*digits, k=6, method=LazyBandit(effort=0.3), callback=seen.append)
    assert tuple(seen) == chosen.steps
    assert [step.index for step in seen] == chosen.indices.tolist()


@pytest.mark.parametrize("effort", ["slow", 0, -1, float("nan"), float("inf"), None, True, [1]])
def test_bad_efforts_are_refused(effort):
    with pytest.raises(pb.InvalidInput, match=r"effort=.* is not allowed. Use one of \['fast'"):
        LazyBandit(effort=effort)


def test_an_effort_is_a_name_or_a_number(digits):
    by_name, by_number = (
        run(*digits, k=5, method=LazyBandit(effort=effort)) for effort in ("fast", 1.0)
    )
    assert by_name.indices.tolist() == by_number.indices.tolist()


# -- constraints -----------------------------------------------------------------------------------


def test_a_guarantee_under_constraints_names_them():
    source, target = brute.normal(25), brute.normal(40, seed=1)
    groups = np.arange(25) % 3
    quotas = pb.Constraints(groups=groups, at_most=2)
    assert "f*/2" in str(run(source, target, k=5, constraints=quotas).guarantee)
    fixed = run(source, target, k=5, constraints=pb.Constraints(fixed=[3])).guarantee
    assert "(1 - 1/e)" in str(fixed)
    assert any("within the constraints" in condition for condition in fixed.conditions)


@pytest.mark.parametrize("effort", [0.5, 6.0])
def test_a_race_satisfies_fixed_rows_and_quotas(always_race, digits, effort):
    rows, many = digits
    groups = np.random.default_rng(0).integers(4, size=len(rows))
    constraints = pb.Constraints(fixed=[11, 5], groups=groups, at_least=3, at_most={0: 4})
    method = LazyBandit(effort=effort)
    bound = run(rows, many, k=20, method=method, constraints=constraints)
    assert bound.indices[:2].tolist() == [11, 5]
    counts = np.bincount(groups[bound.indices], minlength=4)
    assert (counts >= 3).all()
    assert counts[0] <= 4
    free = run(rows, many, k=20, method=method)
    greedy = run(rows, many, k=20, method="lazygreedy", constraints=constraints)
    assert true_cost(free, many) < true_cost(bound, many) * 1.01
    assert true_cost(bound, many) < true_cost(greedy, many) * 1.02


def test_a_part_of_the_rows_can_satisfy_the_constraints(digits):
    rows, many = digits
    groups = np.zeros(len(rows), dtype=int)
    groups[[7, 1000]] = 1
    constraints = pb.Constraints(fixed=[3], groups=groups, at_least={1: 2})
    limits = pb.Limits(evaluations=4000)
    chosen = run(rows, many, k=10, limits=limits, constraints=constraints)
    assert {3, 7, 1000} <= set(chosen.indices.tolist())
