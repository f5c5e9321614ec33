"""Goals that end a search, compared with prefixes of the greedy order."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brute
import constrained
import protobandit as pb
from protobandit import Constraints, Coverage, InvalidInput, MinGain
from protobandit.methods import LazyGreedy, SpotGreedy

ROWS = brute.whole(12, seed=1)
EXACT = [SpotGreedy(), LazyGreedy(), LazyGreedy(memoize=False)]
exact = pytest.mark.parametrize("method", EXACT, ids=brute.name_of)
seeded = pytest.mark.parametrize("seed", range(8))


def pose(seed):
    random = np.random.default_rng(seed)
    source, target = brute.normal(9, seed=seed), brute.normal(14, seed=seed + 100)
    weights = random.integers(0, 4, size=14).astype(float)
    weights[0] = 1
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    return {"source": source, "target": target, "weights": weights, "metric": "manhattan"}, d


# -- coverage -------------------------------------------------------------------------------------


@exact
@seeded
@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_coverage_ends_with_the_first_prefix_that_reaches_the_share(method, seed, share):
    problem, d = pose(seed)
    radius = float(np.quantile(d.min(axis=1), 1.0)) + 0.2
    selection = pb.select(**problem, until=Coverage(share, radius=radius), method=method)
    order = brute.greedy(d, problem["weights"], 9)
    shares = [
        constrained.covered(d, problem["weights"], order[: n + 1], radius)
        for n in range(len(order))
    ]
    expected = next(n for n, covered in enumerate(shares, start=1) if covered >= share - 1e-12)
    assert selection.indices.tolist() == order[:expected]
    assert f"{100 * shares[expected - 1]:.4g} % of the target lies within" in selection.status
    assert "Stopped" not in selection.status
    np.testing.assert_allclose(
        selection.mass, brute.mass(d, problem["weights"], order[:expected]), atol=1e-12
    )
    assert selection.guarantee.statement == "f >= (1 - 1/e) f*"


def test_the_radius_is_inclusive():
    assert pb.select([[0.0], [3.0]], until=Coverage(1, radius=3)).k == 1
    assert pb.select([[0.0], [3.0]], until=Coverage(1, radius=2.9)).k == 2


@exact
@seeded
def test_an_unreachable_share_raises_with_the_reachable_one(method, seed):
    problem, d = pose(seed)
    nearest, weights = d.min(axis=1), problem["weights"]
    radius = float(np.quantile(nearest, 0.5))
    best = weights[nearest <= radius].sum() / weights.sum()
    with pytest.raises(InvalidInput, match=r"cannot be reached") as caught:
        pb.select(**problem, until=Coverage(1.0, radius=radius), method=method)
    assert f"{100 * best:.4g} % of the target within {radius:g}" in str(caught.value)
    needed = float(nearest[weights > 0].max())
    assert f"radius >= {needed:.4g}" in str(caught.value)
    enough = pb.select(**problem, until=Coverage(1.0, radius=needed), method=method)
    assert constrained.covered(d, weights, enough.indices, needed) == 1


def test_a_share_can_be_unreachable_under_quotas():
    rows = [[0.0], [1.0], [50.0], [51.0], [90.0]]
    only_two = Constraints(groups=list("aaaab"), at_most=1)
    with pytest.raises(InvalidInput, match=r"cannot be reached"):
        pb.select(rows, until=Coverage(1.0, radius=1), constraints=only_two)
    closed, steps = Constraints(groups=list("aaaab"), at_most={"b": 0}), []
    with pytest.raises(InvalidInput, match=r"cover 80 % of the target"):
        pb.select(rows, until=Coverage(1.0, radius=1), constraints=closed, callback=steps.append)
    assert steps == []


def test_k_is_an_upper_bound_for_a_goal():
    rows = [[0.0], [1.0], [50.0], [51.0], [90.0]]
    goal = Coverage(1.0, radius=1)
    capped = pb.select(rows, k=2, until=goal)
    assert capped.k == 2
    assert "less than 100 %: k is too small" in capped.status
    assert pb.select(rows, k=4, until=goal).k == 3


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_reachability_check_needs_no_extra_evaluations(n_jobs):
    """The check reads dissimilarities that the search needs anyway."""
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    selection = pb.select(
        ROWS,
        metric=pb.block_metric(metric),
        until=Coverage(0.9, radius=4),
        method="lazygreedy",
        n_jobs=n_jobs,
    )
    assert selection.evaluations == metric.calls == 144


def test_the_reachability_check_is_the_same_on_any_number_of_threads():
    random = np.random.default_rng(0)
    source = random.normal(size=(600, 16)).astype(np.float32)
    target = random.normal(size=(9000, 16)).astype(np.float32)
    messages = []
    for n_jobs in (1, 2, 4):
        with pytest.raises(InvalidInput) as caught:
            pb.select(source, target, until=Coverage(1.0, radius=1.0), n_jobs=n_jobs)
        messages.append(str(caught.value))
    assert len(set(messages)) == 1
    assert "radius >= " in messages[0]


# -- gains ----------------------------------------------------------------------------------------


@exact
@seeded
def test_min_gain_ends_before_the_first_smaller_gain(method, seed):
    problem, d = pose(seed)
    order = brute.greedy(d, problem["weights"], 9)
    drops = -np.diff(brute.costs(d, problem["weights"], order))
    for least in (drops[0] * 1.01, drops[2] * 0.999, drops[-1] / 2):
        selection = pb.select(**problem, until=MinGain(least), method=method)
        small = np.flatnonzero(drops < least)
        expected = order[: small[0] + 1 if len(small) else len(order)]
        assert selection.indices.tolist() == expected
        ends_early = len(expected) < 9
        message = "The next prototype would have" if ends_early else "Every prototype lowered"
        assert message in selection.status
        np.testing.assert_allclose(
            selection.costs, brute.costs(d, problem["weights"], expected), rtol=1e-12
        )


def test_min_gain_ends_within_an_iteration_of_several_rows():
    rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [20.0], [21.0], [22.0]]
    selection = pb.select(rows, until=MinGain(0.5), method=SpotGreedy(r=4))
    d = brute.distances(brute.DEFINITIONS["euclidean"], rows, rows)
    np.testing.assert_allclose(selection.costs, brute.costs(d, brute.even(9), selection.indices))
    assert selection.k >= 4


def test_equal_rows_need_one_prototype():
    assert pb.select(np.ones((5, 2)), until=MinGain(1e-9)).k == 1


# -- both -----------------------------------------------------------------------------------------


@exact
def test_evaluations_with_a_goal_are_counted(method):
    metric = brute.CountedPairs()
    goals = (Coverage(0.8, radius=12), MinGain(0.8))
    for goal in goals:
        metric.calls = 0
        selection = pb.select(ROWS, metric=metric, until=goal, method=method)
        assert 1 < selection.k < 12
        assert selection.evaluations == metric.calls


def test_goals_work_with_fixed_rows_and_maxima():
    fixed = pb.select(ROWS, until=Coverage(0.1, radius=9), constraints=Constraints(fixed=[4, 7]))
    assert fixed.indices.tolist() == [4, 7]
    groups = Constraints(groups=["a"] * 6 + ["b"] * 6, at_most={"a": 1})
    some = pb.select(ROWS, until=MinGain(1e-6), constraints=groups)
    assert (some.indices < 6).sum() == 1


def test_a_callback_or_a_limit_ends_the_search_before_the_goal():
    goal = MinGain(1e-9)
    stopped = pb.select(ROWS, until=goal, callback=lambda step: True)
    assert stopped.status.startswith("Stopped by the callback after 1 prototype, before")
    assert stopped.guarantee is None
    method = LazyGreedy(memoize=False)
    limited = pb.select(ROWS, until=goal, method=method, limits=pb.Limits(evaluations=150))
    assert limited.k < 12
    assert "Stopped by the limit of 150 evaluations" in limited.status


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": 3}, r"until=3 is not known. Pass Coverage\(share, radius\), MinGain"),
        ({"until": MinGain(1.0), "k": "auto"}, r"until=MinGain\(gain=1.0\) is given with k='auto'"),
        (
            {
                "until": MinGain(1.0),
                "constraints": Constraints(costs=[1] * 12, budget=3),
            },
            r"is given with budget=3, but both end the search",
        ),
        (
            {"k": "auto", "constraints": Constraints(costs=[1] * 12, budget=3)},
            r"k='auto' is given with budget=3",
        ),
        (
            {
                "until": MinGain(1.0),
                "constraints": Constraints(groups=["a"] * 12, at_least=1),
            },
            r"may end the search before at_least is satisfied",
        ),
        ({"k": "automatic"}, r"k='automatic' is not a number of prototypes"),
    ],
)
def test_goals_that_contradict_other_arguments_raise(options, message):
    with pytest.raises(InvalidInput, match=message):
        pb.select(ROWS, **options)


@pytest.mark.parametrize("share", [0, 1.1, -1, "all", True, math.nan, None])
def test_an_invalid_share_raises(share):
    with pytest.raises(InvalidInput, match=r"Coverage\(share\)=.*finite number > 0 and <= 1"):
        Coverage(share, radius=1)


@pytest.mark.parametrize("radius", [-1, math.inf, "far", True, math.nan])
def test_an_invalid_radius_raises(radius):
    with pytest.raises(InvalidInput, match=r"Coverage\(radius\)=.*finite number >= 0"):
        Coverage(0.5, radius=radius)


@pytest.mark.parametrize("gain", [0, -1, math.inf, "much", True, math.nan])
def test_an_invalid_gain_raises(gain):
    with pytest.raises(InvalidInput, match=r"MinGain\(gain\)=.*finite number > 0"):
        MinGain(gain)
