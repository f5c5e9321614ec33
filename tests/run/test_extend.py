"""Larger and smaller selections made from one: `extended`, `at`, and several k at once."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import constrained
import protobandit as pb
from protobandit import Constraints, InvalidInput, NotAvailable, Selection
from protobandit.methods import (
    LazyBandit,
    LazyGreedy,
    ProtoBandit,
    Random,
    SpotGreedy,
    StochasticGreedy,
)
from protobandit.oracle.target_orders import RandomOrder
from protobandit.run import assessment
from protobandit.search.objectives import sampled_coverage

EXACT = [SpotGreedy(), LazyGreedy(), SpotGreedy(memoize=False), LazyGreedy(memoize=False)]
exact = pytest.mark.parametrize("method", EXACT, ids=brute.name_of)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def pose(is_weighted=False, n_source=30, n_target=40):
    weights = np.random.default_rng(0).integers(0, 4, size=n_target)
    return {
        "source": brute.normal(n_source, seed=1),
        "target": brute.normal(n_target, seed=2),
        "weights": weights if is_weighted else None,
    }


def distances(problem):
    return brute.distances(brute.DEFINITIONS["euclidean"], problem["target"], problem["source"])


def _weights(problem):
    return brute.even(40) if problem["weights"] is None else problem["weights"]


# -- extended -------------------------------------------------------------------------------------


@exact
@weighted
@pytest.mark.parametrize("ks", [(1, 8), (5, 6), (3, 7, 11), (12, 30)])
def test_extending_gives_the_same_as_selecting_more_at_once(method, is_weighted, ks):
    problem = pose(is_weighted)
    selection = pb.select(**problem, k=ks[0], method=method, random_state=0)
    for k in ks[1:]:
        selection = selection.extended(k)
    whole = pb.select(**problem, k=ks[-1], method=method, random_state=0)
    n = len(brute.greedy(distances(problem), _weights(problem), ks[-1]))
    assert selection.indices[:n].tolist() == whole.indices[:n].tolist()
    assert selection.costs.tobytes() == whole.costs.tobytes()
    gains = [[step.gain for step in each.steps[1:n]] for each in (selection, whole)]
    np.testing.assert_allclose(gains[0], gains[1], rtol=1e-12)
    np.testing.assert_array_equal(selection.mass[:n], whole.mass[:n])
    assert selection.guarantee == whole.guarantee
    assert selection.k == ks[-1]
    assert selection.status == whole.status
    assert selection.problem.feasibility.is_free


def test_only_new_prototypes_are_evaluated():
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    problem = {**pose(), "metric": pb.block_metric(metric)}
    selection = pb.select(**problem, k=5, method=SpotGreedy(memoize=False))
    before, metric.calls = metric.calls, 0
    more = selection.extended(7)
    assert more.evaluations == metric.calls
    # Five earlier and two new prototypes are assigned; two rounds compute the gains of the others.
    assert more.evaluations_by_phase["assign"] == 7 * 40
    assert more.evaluations_by_phase["build"] == (25 + 24) * 40
    assert metric.calls < before


@pytest.mark.parametrize("method", [Random(), StochasticGreedy()], ids=brute.name_of)
def test_random_methods_extend_the_earlier_prototypes(method):
    problem = pose()
    few = pb.select(**problem, k=4, method=method, random_state=0)
    more = few.extended(9, random_state=1)
    assert more.method == method.name
    assert more.indices[:4].tolist() == few.indices.tolist()
    assert len(set(more.indices.tolist())) == 9
    np.testing.assert_allclose(
        more.costs, brute.costs(distances(problem), brute.even(40), more.indices)
    )


def test_extensions_with_the_same_seed_read_other_rows(monkeypatch):
    """Otherwise the rows that chose the prototypes would judge the next ones."""
    read: list[list[bytes]] = []

    class Recorded(RandomOrder):
        def __init__(self, n, random):
            super().__init__(n, random)
            read[-1].append(RandomOrder.read(self, 0, 64).tobytes())

    monkeypatch.setattr(sampled_coverage, "RandomOrder", Recorded)
    source, target = brute.normal(300, seed=1), brute.normal(5000, seed=2)
    read.append([])
    found = pb.select(source, target, k=4, method=ProtoBandit(scale=9.0), random_state=0)
    for k in (8, 12):
        read.append([])
        found = found.extended(k, random_state=0)
    assert [len(orders) for orders in read] == [4, 4, 4]
    assert len({order for orders in read for order in orders}) == 12


def test_a_part_is_judged_on_other_rows_than_the_search_with_the_same_seed(monkeypatch):
    rows, drawn = brute.normal(20_000, 2), []
    found = pb.select(rows[:1000], rows, k=4, method=LazyBandit(effort=0.2), random_state=0)
    assert found.cost_error > 0
    draw = assessment.draw_rows
    monkeypatch.setattr(assessment, "draw_rows", lambda *a: drawn.append(draw(*a)) or drawn[-1])
    found.at(2, random_state=0)
    order = RandomOrder(20_000, np.random.default_rng(0))  # the race reads it from its beginning
    assert set(drawn[0].tolist()) != set(order.read(0, len(drawn[0])).tolist())


def test_another_method_extends_if_the_first_cannot():
    problem = pose()
    few = pb.select(**problem, k=4, method="banditpam", random_state=0)
    more = few.extended(6)
    assert more.method == "lazygreedy"
    assert "banditpam cannot extend given prototypes: lazygreedy did." in more.status
    assert more.indices[:4].tolist() == few.indices.tolist()
    assert more.guarantee.conditions == ("f* is the best f within the constraints",)
    by_spot = few.extended(6, method="spotgreedy")
    assert by_spot.method == "spotgreedy"
    assert by_spot.indices.tolist() == more.indices.tolist()
    with pytest.raises(InvalidInput, match=r"method='banditpam' does not support 'fixed'"):
        few.extended(6, method="banditpam")


def test_quotas_hold_for_an_extended_selection():
    problem = pose()
    groups = ["a"] * 25 + ["b"] * 5
    quotas = Constraints(groups=groups, at_least={"b": 2}, at_most={"a": 4})
    few = pb.select(**problem, k=4, constraints=quotas)
    more = few.extended(7)
    counts = [int((few.indices < 25).sum()), int((more.indices < 25).sum())]
    assert counts[0] == 2
    assert counts[1] == 4
    with pytest.raises(InvalidInput, match=r"at_most allows 9 rows in total but k=10"):
        few.extended(10)


def test_an_extended_selection_has_no_goal():
    problem = pose()
    few = pb.select(**problem, until=pb.MinGain(0.1), method="lazygreedy")
    more = few.extended(few.k + 2)
    whole = pb.select(**problem, k=few.k + 2, method="lazygreedy")
    assert more.indices.tolist() == whole.indices.tolist()


def test_limits_and_callbacks_apply_to_an_extension():
    few = pb.select(**pose(), k=3, method=LazyGreedy(memoize=False))
    stopped = few.extended(9, callback=lambda step: step.index not in few.indices)
    assert stopped.k == 4
    assert stopped.status == "Stopped by the callback after 4 of the 9 prototypes requested."
    limited = few.extended(9, limits=pb.Limits(evaluations=30 * 40))
    assert 3 < limited.k < 9


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (3, r"k=3 is not more than the 3 prototypes there are. Pass k > 3, or use at\(k\)"),
        (31, r"k=31 exceeds the 30 source rows"),
        (0.01, r"k=1 is not more than"),
        ("auto", r"k='auto' is not a number of prototypes. Pass an int from 4 to 30"),
    ],
)
def test_a_k_that_is_not_larger_is_refused(k, message):
    selection = pb.select(**pose(), k=3)
    with pytest.raises(InvalidInput, match=message):
        selection.extended(k)


def test_a_selection_without_a_single_k_is_not_extended():
    rows = brute.normal(9)
    bought = pb.select(rows, constraints=Constraints(costs=np.ones(9), budget=3))
    with pytest.raises(InvalidInput, match=r"ended by budget=3"):
        bought.extended(5)
    classes = pb.select(rows, k=4, by=list("aaabbbccc"))
    with pytest.raises(InvalidInput, match=r"made class by class"):
        classes.extended(5)
    loaded = Selection.from_json(pb.select(rows, k=2).to_json())
    with pytest.raises(NotAvailable, match=r"Constraints\(fixed=selection\)"):
        loaded.extended(5)
    again = pb.select(rows, k=4, constraints=Constraints(fixed=loaded))
    assert again.indices[:2].tolist() == loaded.indices.tolist()


# -- several k at once ----------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("method", ["lazygreedy", "lazybandit", "random"])
def test_several_k_are_prefixes_of_the_largest(method, is_weighted):
    problem = pose(is_weighted)
    nested = pb.select(**problem, k=[3, 9, 6], method=method, random_state=0)
    whole = pb.select(**problem, k=9, method=method, random_state=0)
    assert nested.indices.tolist() == whole.indices.tolist()
    d = distances(problem)
    weights = _weights(problem)
    for k in (1, 3, 6, 9):
        part = nested.at(k)
        assert part.indices.tolist() == nested.indices[:k].tolist()
        assert part.cost == pytest.approx(brute.cost(d, weights, part.indices))
        np.testing.assert_allclose(part.costs, brute.costs(d, weights, part.indices))
        np.testing.assert_allclose(part.mass, brute.mass(d, weights, part.indices), atol=1e-12)
        assert part.k == len(part.steps) == k
        assert (part.prototypes == problem["source"][part.indices]).all()
        assert part.assign(problem["target"]).labels.max() < k
    assert nested.at(9) is nested


def test_the_evaluations_of_a_part_are_counted():
    metric = brute.CountedPairs()
    nested = pb.select(brute.whole(12), k=[2, 5], metric=metric, method="lazygreedy")
    metric.calls = 0
    part = nested.at(2)
    assert part.evaluations == metric.calls == part.evaluations_by_phase["assign"] == 24
    assert set(part.evaluations_by_phase) == set(nested.evaluations_by_phase)
    assert part.status.startswith("The first 2 of 5 prototypes. Selected 5")
    assert part.guarantee is None
    assert part.extended(5).indices.tolist() == nested.indices.tolist()


def test_a_part_of_a_sampled_selection_is_judged_on_fresh_rows():
    rows = brute.normal(9000, columns=2)
    nested = pb.select(rows[:200], rows, k=[3, 6], method="random", random_state=0)
    part = nested.at(3, random_state=1)
    assert part.cost == nested.costs[2]
    assert part.cost_error > 0
    assert part.evaluations == 3 * 4096
    exact = brute.distances(lambda t, s: np.linalg.norm(t - s), rows[:2000], part.prototypes)
    shares = np.bincount(exact.argmin(axis=1), minlength=3) / 2000
    np.testing.assert_allclose(part.mass, shares, atol=0.05)


def test_a_part_has_its_own_spent_budget():
    prices = np.arange(1.0, 13)
    bought = pb.select(brute.whole(12), constraints=Constraints(costs=prices, budget=30))
    assert bought.k > 1
    part = bought.at(1)
    assert part.spent == prices[part.indices[0]]


@pytest.mark.parametrize("k", [0, 6, -1, 2.0, True, None])
def test_the_size_of_a_part_is_validated(k):
    selection = pb.select(brute.whole(12), k=5)
    with pytest.raises(InvalidInput, match=r"is not between 1 and the 5 prototypes"):
        selection.at(k)


def test_a_loaded_selection_has_no_parts():
    loaded = Selection.from_json(pb.select(brute.whole(12), k=5).to_json())
    with pytest.raises(NotAvailable, match=r"Take the parts before it is saved"):
        loaded.at(3)


def test_an_extension_is_greedy():
    """Each new prototype is the best one, also after random prototypes."""
    problem = pose()
    few = pb.select(**problem, k=3, method="random", random_state=4)
    more = few.extended(8, method="lazygreedy")
    expected = constrained.greedy(
        distances(problem), brute.even(40), 8, [set(range(30))], few.indices.tolist()
    )
    assert more.indices.tolist() == expected


def test_the_tolerance_of_a_sampled_search_grows_with_k():
    """The guarantee of 3 rows has the tolerance of 3 iterations, which 6 rows do not satisfy."""
    rows = brute.normal(60)
    method = pb.methods.ProtoBandit(nu_step=0.01)
    part = pb.select(rows, k=3, metric="cosine", method=method, random_state=0)
    more = part.extended(6)
    assert more.guarantee.nu == pytest.approx(2 * part.guarantee.nu)
    assert more.guarantee.conditions == ("f* is the best f within the constraints",)
