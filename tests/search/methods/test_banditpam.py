"""BanditPAM: the result of PAM with fewer evaluations, all of which are counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import brute
import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.methods import BanditPAM
from protobandit.search.objectives.prefixes import Prefixes
from search.objectives.instances import Seen

weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def pam(d, q, k):
    """Return the prototypes of PAM by its definition: greedy, then the best swap, repeatedly."""
    q = q / q.sum()
    chosen = [int((q @ d).argmin())]
    while len(chosen) < k:
        covered = np.minimum(d, d[:, chosen].min(axis=1)[:, None])
        costs = q @ covered
        costs[chosen] = np.inf
        chosen.append(int(costs.argmin()))
    while True:
        cost, best = q @ d[:, chosen].min(axis=1), None
        for slot in range(k):
            left = d[:, chosen[:slot] + chosen[slot + 1 :]].min(axis=1, initial=d.max())
            costs = q @ np.minimum(d, left[:, None])
            costs[chosen] = np.inf
            if costs.min() < cost * (1 - 1e-6):
                cost, best = costs.min(), (slot, int(costs.argmin()))
        if best is None:
            return sorted(chosen)
        chosen[best[0]] = best[1]


def wide_and_narrow(n_source, n_target, columns=6):
    """Return a wide source, most of whose rows represent the target badly."""
    return 3 * brute.normal(n_source, columns), brute.normal(n_target, columns, seed=1)


def clusters(n, k, *, seed, columns=4):
    """Return rows of k clusters of different sizes and widths."""
    random = np.random.default_rng(seed)
    centres = 10 * np.random.default_rng(k).normal(size=(k, columns))
    which = random.integers(0, k, size=n)
    return centres[which] + (0.5 + which[:, None] / k) * random.normal(size=(n, columns))


# -- the result ------------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("k", [1, 2, 5, 11])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["euclidean", "skewed"])
def test_a_batch_of_all_rows_is_pam(is_weighted, k, seed, metric):
    source, target = brute.normal(18, seed=seed), brute.normal(60, seed=seed + 20)
    weights = brute.whole(60, 1, seed=seed)[:, 0] if is_weighted else None
    function = brute.skewed if metric == "skewed" else brute.DEFINITIONS[metric]
    d = brute.distances(function, target, source)
    chosen = pb.select(
        source,
        target,
        k=k,
        weights=weights,
        metric=brute.skewed if metric == "skewed" else metric,
        method=BanditPAM(batch=60),
        random_state=seed,
    )
    q = brute.even(60) if weights is None else weights
    expected = pam(d, q, k)
    assert sorted(chosen.indices.tolist()) == expected
    assert chosen.cost == pytest.approx(brute.cost(d, q, expected), rel=1e-9)
    assert "(1 - 1/e)" in str(chosen.guarantee)


def test_swaps_improve_on_the_build():
    """Rows on a line: BUILD keeps its first pick in the middle, which swaps move."""
    rows = np.concatenate([np.zeros(9), np.full(10, 4.0), np.full(9, 8.0)]) + np.arange(28) / 100
    d = abs(rows[:, None] - rows)
    built, final = (
        pb.select(rows[:, None], k=2, method=m, random_state=0)
        for m in (pb.methods.SpotGreedy(), BanditPAM(batch=5))
    )
    assert sorted(final.indices.tolist()) == pam(d, brute.even(28), 2)
    assert final.cost < built.cost


@weighted
def test_the_result_of_pam_for_nearly_all_seeds(is_weighted):
    source, target = clusters(150, 5, seed=1), clusters(2500, 5, seed=2)
    weights = np.random.default_rng(3).uniform(0.5, 2, size=2500) if is_weighted else None
    q = brute.even(2500) if weights is None else weights
    expected = pam(cdist(target, source), q, 5)
    runs = [
        pb.select(source, target, k=5, weights=weights, method="banditpam", random_state=seed)
        for seed in range(40)
    ]
    assert sum(sorted(run.indices.tolist()) == expected for run in runs) >= 38
    assert all(run.evaluations < 150 * 2500 for run in runs)
    assert all(run.guarantee is None for run in runs)


def test_a_tiny_batch_and_a_large_delta_give_other_results():
    """The test above can fail."""
    source, target = clusters(150, 5, seed=1), clusters(2500, 5, seed=2)
    expected = pam(cdist(target, source), brute.even(2500), 5)
    method = BanditPAM(batch=2, delta=0.999, max_iter=1)
    runs = [pb.select(source, target, k=5, method=method, random_state=seed) for seed in range(10)]
    assert sum(sorted(run.indices.tolist()) == expected for run in runs) < 8


def test_more_searches_never_raise_the_cost():
    source, target = brute.normal(200), brute.normal(1500, seed=1)
    costs = [
        pb.select(source, target, k=8, method=BanditPAM(batch=20, max_iter=n), random_state=0).cost
        for n in (0, 1, 2, 4, 300)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_the_default_batch_contains_rows_of_nearly_all_clusters():
    """Ten rows per slot miss hardly any of 60 clusters; 100 rows would miss many."""
    rows = clusters(3000, 60, seed=0, columns=8)
    small, default = (
        pb.select(rows[:600], rows, k=60, method=method, random_state=0)
        for method in (BanditPAM(batch=30, max_iter=0), BanditPAM(max_iter=0))
    )
    greedy = pb.select(rows[:600], rows, k=60, method="lazygreedy")
    assert default.cost < 1.005 * greedy.cost
    assert small.cost > 1.02 * greedy.cost


# -- evaluations -----------------------------------------------------------------------------------


class CountedDistances:
    """Euclidean distances in blocks that count their pairs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, targets, sources):
        self.calls += len(targets) * len(sources)
        return cdist(targets, sources)


def test_far_fewer_evaluations_than_pam_on_large_problems():
    metric = CountedDistances()
    source, target = wide_and_narrow(5000, 20_000)
    chosen = pb.select(
        source, target, k=6, metric=pb.block_metric(metric), method="banditpam", random_state=0
    )
    assert chosen.evaluations == metric.calls
    assert chosen.evaluations < 0.05 * 5000 * 20_000
    assert chosen.lookups > 5000 * 100 * 6
    rival = pb.select(source, target, k=6, method="lazybandit", random_state=0)
    assert chosen.cost < 1.001 * rival.assign(target).distances.mean()


@weighted
@pytest.mark.parametrize("batch", [None, 8])
def test_no_pair_is_computed_twice(is_weighted, batch):
    random = np.random.default_rng(0)
    metric = Seen(random.uniform(size=(300, 40)) + np.linspace(0, 1, 40))
    weights = random.integers(0, 3, size=300) if is_weighted else None
    chosen = pb.select(
        list(range(40)),
        list(range(300)),
        k=5,
        weights=weights,
        metric=metric,
        method=BanditPAM(batch=batch),
        random_state=0,
    )
    assert max(metric.pairs.values()) == 1
    assert chosen.evaluations == metric.pairs.total() < 40 * 300
    assert chosen.evaluations_by_phase["certify"] == 0
    if is_weighted:
        assert not {target for target, _ in metric.pairs} & set(np.flatnonzero(weights == 0))


def test_distances_that_do_not_fit_are_computed_again():
    source, target = brute.normal(60), brute.normal(400, seed=1)
    members = 4 * 400 * 8
    answers, spent = [], []
    for room in (0, 20_000, 60 * 400 * 8):
        metric = CountedDistances()
        chosen = pb.select(
            source,
            target,
            k=4,
            metric=pb.block_metric(metric),
            method=BanditPAM(batch=20),
            limits=pb.Limits(memory=members + room),
            random_state=0,
        )
        assert chosen.evaluations == metric.calls
        answers.append(chosen.indices.tolist())
        spent.append(chosen.evaluations)
    assert answers[0] == answers[1] == answers[2]
    assert spent[0] > spent[1] > spent[2]
    assert spent[2] <= 60 * 400


def test_the_distances_of_the_prototypes_are_part_of_the_memory(monkeypatch):
    rooms = []

    class Noted(Prefixes):
        def __init__(self, oracle, random, *, room):
            rooms.append(room)
            super().__init__(oracle, random, room=room)

    monkeypatch.setattr("protobandit.search.methods.banditpam.Prefixes", Noted)
    pb.select(brute.normal(400), k=3, method="banditpam", limits=pb.Limits(memory=100_000))
    assert rooms == [100_000 - 3 * 400 * 8]


def test_the_distances_of_the_prototypes_must_fit():
    limits = pb.Limits(memory=3 * 400 * 8 - 1)
    with pytest.raises(pb.InvalidInput, match=r"needs 9,600 bytes .* allows\. .*lazybandit"):
        pb.select(brute.normal(400), k=3, method="banditpam", limits=limits)


@weighted
def test_the_number_of_threads_changes_no_bit(is_weighted):
    random = np.random.default_rng(0)
    rows = random.normal(size=(9000, 48)).astype(np.float32)
    weights = random.uniform(0.5, 1.5, size=6000) if is_weighted else None
    one, two = (
        pb.select(
            rows[:3000],
            rows[3000:],
            k=4,
            weights=weights,
            method="banditpam",
            random_state=1,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    assert threads_module._state.pool.threads, "several threads have worked"
    assert one.indices.tolist() == two.indices.tolist()
    assert one.costs.tobytes() == two.costs.tobytes()
    assert one.evaluations_by_phase == two.evaluations_by_phase
    assert one.lookups == two.lookups


def test_the_plan_is_correct_within_a_factor():
    source, target = wide_and_narrow(1500, 8000)
    planned = pb.plan(source, target, k=8, method="banditpam")
    done = pb.select(source, target, k=8, method="banditpam", random_state=0)
    assert done.evaluations / 4 < planned.evaluations < 4 * done.evaluations
    assert planned.memory > 8 * 8000 * 8


# -- limits ----------------------------------------------------------------------------------------


def run(k=6, **limits):
    source, target = brute.normal(100), brute.normal(900, seed=1)
    return pb.select(
        source, target, k=k, method="banditpam", limits=pb.Limits(**limits), random_state=0
    )


def test_a_time_limit_is_reported_and_leaves_one_prototype():
    chosen = run(seconds=1e-9)
    assert chosen.k == 1
    assert chosen.indices.tolist() == [int(cdist(*_sides()).mean(axis=0).argmin())]
    assert "after 1 of the 6 prototypes requested" in chosen.status
    assert "The limit of 1e-09 seconds left no room for swaps." in chosen.status
    assert chosen.guarantee is None


def _sides():
    return brute.normal(900, seed=1), brute.normal(100)


def test_a_limit_of_evaluations_ends_the_build_after_a_pick():
    whole = run()
    first = run(k=1)
    chosen = run(evaluations=100 * 100)
    assert 1 <= chosen.k < 6
    assert "The limit of 10,000 evaluations left no room for swaps." in chosen.status
    assert chosen.evaluations <= first.evaluations
    assert "limit" not in whole.status


def test_a_limit_reached_by_swaps_keeps_all_prototypes():
    source, target = clusters(400, 3, seed=1), clusters(3000, 3, seed=2)
    method = BanditPAM(batch=10, delta=0.9)
    free = pb.select(source, target, k=12, method=method, random_state=0)
    build = sum(free.evaluations_by_phase[phase] for phase in ("build", "assign"))
    assert free.evaluations > build + 1
    chosen = pb.select(
        source,
        target,
        k=12,
        method=method,
        limits=pb.Limits(evaluations=build + 1),
        random_state=0,
    )
    assert chosen.k == 12
    assert f"The limit of {build + 1:,} evaluations ended the swaps." in chosen.status
    assert chosen.cost >= free.cost


def test_max_iter_is_reported_if_it_ends_the_swaps():
    source, target = brute.normal(200), brute.normal(1500, seed=1)
    few, enough, none = (
        pb.select(source, target, k=8, method=BanditPAM(batch=20, max_iter=n), random_state=0)
        for n in (1, 300, 0)
    )
    assert "max_iter=1 ended the swaps." in few.status
    assert "max_iter" not in enough.status + none.status
    assert none.evaluations_by_phase["swap"] == 0


def test_a_limit_below_the_first_batch_is_refused():
    with pytest.raises(pb.InvalidInput, match="less than the 10,000 that method='banditpam'"):
        run(evaluations=9999)


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"batch": 2.5},
        {"batch": True},
        {"delta": 0},
        {"delta": 1.0},
        {"delta": "small"},
        {"delta": math.nan},
        {"max_iter": -1},
        {"max_iter": None},
    ],
    ids=str,
)
def test_invalid_parameters_are_named(options):
    name, value = next(iter(options.items()))
    with pytest.raises(pb.InvalidInput, match=f"{name}={value!r} is not"):
        BanditPAM(**options)


@pytest.mark.parametrize(("k", "n_target", "expected"), [(3, 5000, 100), (40, 5000, 400)])
def test_the_first_batch_grows_with_the_number_of_slots(k, n_target, expected):
    source, target = brute.normal(50), brute.normal(n_target, seed=1)
    calls = []

    def watch(targets, sources):
        calls.append((len(targets), len(sources)))
        return cdist(targets, sources)

    method = BanditPAM(max_iter=0)
    metric = pb.block_metric(watch)
    pb.select(source, target, k=k, metric=metric, method=method, random_state=0)
    assert calls[0] == (expected, 50)
