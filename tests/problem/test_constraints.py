"""Fixed rows, quotas and budgets of `select`, compared with their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brute
import constrained
import protobandit as pb
from protobandit import Constraints, InvalidInput
from protobandit.methods import LazyGreedy, Random, SpotGreedy, StochasticGreedy

ROWS = brute.whole(8, seed=1)
EXACT = [
    SpotGreedy(),
    LazyGreedy(),
    SpotGreedy(memoize=False),
    LazyGreedy(memoize=False),
]
exact = pytest.mark.parametrize("method", EXACT, ids=brute.name_of)
seeded = pytest.mark.parametrize("seed", range(12))


def pose(seed, n_source=8, n_target=11):
    """Return source rows, target rows, weights and the dissimilarities."""
    random = np.random.default_rng(seed)
    source, target = brute.whole(n_source, seed=seed), brute.whole(n_target, seed=seed + 100)
    weights = random.integers(0, 4, size=n_target).astype(float)
    weights[0] = 1
    d = brute.distances(brute.DEFINITIONS["manhattan"], target, source)
    return source, target, weights, d


def quotas(seed, n, k):
    """Return groups, minima, maxima and fixed rows that some k rows satisfy."""
    random = np.random.default_rng(seed)
    while True:
        groups = [("a", "b", "c")[g] for g in random.integers(0, 3, size=n)]
        least = {label: int(random.integers(0, 3)) for label in set(groups)}
        most = {label: int(random.integers(least[label], 4)) for label in set(groups)}
        fixed = random.choice(n, int(random.integers(0, 3)), replace=False).tolist()
        sets = constrained.allowed_sets(n, k, groups, least, most, fixed)
        if sets and all(least[g] <= groups.count(g) for g in least):
            return groups, least, most, fixed, sets


# -- fixed ----------------------------------------------------------------------------------------


@exact
@seeded
def test_greedy_starts_from_fixed_rows(method, seed):
    source, target, weights, d = pose(seed)
    fixed = [5, 2]
    selection = pb.select(
        source,
        target,
        k=5,
        weights=weights,
        metric="manhattan",
        method=method,
        constraints=Constraints(fixed=fixed),
        random_state=0,
    )
    unconstrained = [set(range(8))]
    expected = constrained.greedy(d, weights, 5, unconstrained, fixed)
    assert selection.indices[: len(expected)].tolist() == expected
    assert selection.k == 5
    assert len(set(selection.indices.tolist())) == 5
    np.testing.assert_allclose(selection.costs, brute.costs(d, weights, selection.indices))
    np.testing.assert_allclose(selection.mass, brute.mass(d, weights, selection.indices))
    assert np.isnan([step.gain for step in selection.steps[:2]]).all()
    for step, gain in list(zip(selection.steps, selection.gains, strict=True))[2:]:
        assert step.gain == pytest.approx(gain, abs=1e-12)


def test_a_selection_can_be_fixed():
    first = pb.select(ROWS, k=2)
    again = pb.select(ROWS, k=4, constraints=Constraints(fixed=first))
    assert again.indices[:2].tolist() == first.indices.tolist()


@pytest.mark.parametrize("method", [*EXACT, Random(), StochasticGreedy()], ids=brute.name_of)
def test_all_k_rows_can_be_fixed(method):
    fixed = [3, 1, 0]
    selection = pb.select(
        ROWS, k=3, method=method, constraints=Constraints(fixed=fixed), random_state=0
    )
    assert selection.indices.tolist() == fixed
    d = brute.distances(brute.DEFINITIONS["euclidean"], ROWS, ROWS)
    np.testing.assert_allclose(selection.costs, brute.costs(d, brute.even(8), fixed))


def test_stochastic_greedy_samples_more_rows_if_rows_are_fixed():
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    rows = brute.whole(40, seed=3)
    selection = pb.select(
        rows,
        k=10,
        metric=pb.block_metric(metric),
        method=StochasticGreedy(epsilon=0.5, memoize=False),
        constraints=Constraints(fixed=range(8)),
        random_state=0,
    )
    subset = math.ceil(40 / 2 * math.log(2))
    assert selection.evaluations_by_phase["build"] == 2 * subset * 40
    assert selection.evaluations == metric.calls


def test_a_callback_can_stop_at_a_fixed_row():
    selection = pb.select(
        ROWS,
        k=4,
        method="lazygreedy",
        constraints=Constraints(fixed=[6, 2, 4]),
        callback=lambda step: step.index == 2,
    )
    assert selection.indices.tolist() == [6, 2]
    d = brute.distances(brute.DEFINITIONS["euclidean"], ROWS, ROWS)
    np.testing.assert_allclose(selection.mass, brute.mass(d, brute.even(8), [6, 2]))


# -- quotas ---------------------------------------------------------------------------------------


@exact
@pytest.mark.parametrize("seed", range(25))
def test_greedy_under_quotas_is_greedy_among_extendable_sets(method, seed):
    source, target, weights, d = pose(seed)
    groups, least, most, fixed, sets = quotas(seed, 8, 4)
    selection = pb.select(
        source,
        target,
        k=4,
        weights=weights,
        metric="manhattan",
        method=method,
        constraints=Constraints(groups=groups, at_least=least, at_most=most, fixed=fixed),
        random_state=seed,
    )
    expected = constrained.greedy(d, weights, 4, sets, fixed)
    assert selection.indices[: len(expected)].tolist() == expected
    assert set(selection.indices.tolist()) in sets
    assert len(selection.steps) == 4
    f = {i: 30 - brute.cost(d, weights, list(i)) for i in map(frozenset, sets)}
    assert f[frozenset(selection.indices.tolist())] >= max(f.values()) / 2


@pytest.mark.parametrize("method", [*EXACT, Random(), StochasticGreedy()], ids=brute.name_of)
@pytest.mark.parametrize("r", [1, 3])
@seeded
def test_rows_without_gain_satisfy_the_quotas(method, r, seed):
    """All rows are equal: after the first pick the rest is drawn at random."""
    if r > 1 and not hasattr(method, "r"):
        return
    method = type(method)(r=r) if r > 1 else method
    groups, least, most, fixed, sets = quotas(seed, 8, 4)
    selection = pb.select(
        np.ones((8, 2)),
        k=4,
        method=method,
        constraints=Constraints(groups=groups, at_least=least, at_most=most, fixed=fixed),
        random_state=seed,
    )
    assert set(selection.indices.tolist()) in sets


@pytest.mark.parametrize("r", [2, 3, 8])
@seeded
def test_several_rows_per_iteration_satisfy_the_quotas(r, seed):
    source, target, weights, _ = pose(seed)
    groups, least, most, fixed, sets = quotas(seed, 8, 4)
    for method in (SpotGreedy(r=r), LazyGreedy(r=r)):
        selection = pb.select(
            source,
            target,
            k=4,
            weights=weights,
            method=method,
            constraints=Constraints(groups=groups, at_least=least, at_most=most, fixed=fixed),
            random_state=seed,
        )
        assert set(selection.indices.tolist()) in sets
        assert selection.guarantee is None


def test_one_quota_for_all_groups():
    groups = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    for k, options in ((3, {"at_least": 1}), (3, {"at_most": 1}), (6, {"at_most": 2})):
        chosen = pb.select(ROWS, k=k, constraints=Constraints(groups=groups, **options)).indices
        counts = np.bincount(groups[chosen], minlength=3)
        assert (counts >= options.get("at_least", 0)).all()
        assert (counts <= options.get("at_most", 8)).all()


# -- budgets --------------------------------------------------------------------------------------


@exact
@pytest.mark.parametrize("seed", range(30))
def test_a_budget_takes_the_better_of_both_orders(method, seed):
    source, target, weights, d = pose(seed)
    random = np.random.default_rng(seed)
    prices = random.integers(1, 12, size=8).astype(float)
    budget = float(random.integers(prices.min(), 25))
    cap = [None, 2][seed % 2]
    fixed = [int(prices.argmin())] if seed % 3 == 0 else []
    selection = pb.select(
        source,
        target,
        k=cap,
        weights=weights,
        metric="manhattan",
        method=method,
        constraints=Constraints(costs=prices, budget=budget, fixed=fixed),
        random_state=0,
    )
    expected = constrained.bought(d, weights, prices, budget, cap or 8, fixed)
    assert selection.indices.tolist() == expected
    assert selection.spent == prices[expected].sum() <= budget
    np.testing.assert_allclose(selection.costs, brute.costs(d, weights, expected))
    assert "Stopped" not in selection.status
    assert f"  spent        {selection.spent:g}" in repr(selection)


@pytest.mark.parametrize("seed", range(30))
def test_a_budget_reaches_its_guarantee(seed):
    source, target, weights, d = pose(seed, n_source=7)
    random = np.random.default_rng(seed)
    prices = random.choice([1.0, 2.0, 15.0], size=7)
    budget = float(prices.max() + 1)
    selection = pb.select(
        source,
        target,
        weights=weights,
        metric="manhattan",
        constraints=Constraints(costs=prices, budget=budget),
    )
    constant = 2 * max(brute.cost(d, weights, [i]) for i in range(7))
    best = constant - constrained.best_affordable(d, weights, prices, budget)
    assert constant - selection.cost >= (1 - 1 / math.e) / 2 * best
    assert selection.guarantee.statement == "f >= (1 - 1/e)/2 f*"


def test_the_best_single_row_wins_over_a_cheap_one():
    """A cheap row has the better ratio, but leaves too little budget for the central row."""
    rows = np.array([[0.0], [0.1], [0.2], [-0.1], [-0.2], [40.0]])
    prices = [10.0, 20, 20, 20, 20, 1.0]
    target = rows[:5]
    single = pb.select(rows, target, constraints=Constraints(costs=prices, budget=10))
    assert single.indices.tolist() == [0]
    both = pb.select(rows, target, constraints=Constraints(costs=prices, budget=11))
    assert both.indices.tolist() == [5, 0]


def test_rows_without_gain_are_not_bought():
    """Once every target row is a prototype, the rest of the budget is not spent."""
    rows = np.array([[0.0], [0.0], [5.0], [5.0]])
    selection = pb.select(rows, constraints=Constraints(costs=[1, 1, 1, 1], budget=4))
    assert selection.k == 2
    assert selection.spent == 2
    fixed = pb.select(rows, constraints=Constraints(costs=[1] * 4, budget=4, fixed=[0, 2]))
    assert fixed.indices.tolist() == [0, 2]


def test_maxima_hold_with_a_budget():
    constraints = Constraints(
        costs=np.ones(8), budget=6, groups=list("aaaabbbb"), at_most={"a": 1, "b": 2}
    )
    selection = pb.select(ROWS, constraints=constraints)
    assert selection.k == 3
    assert (selection.indices < 4).sum() == 1
    assert selection.guarantee is None


@pytest.mark.parametrize("method", [SpotGreedy(memoize=False), LazyGreedy(memoize=False, r=2)])
def test_evaluations_with_a_budget_are_counted(method):
    metric = brute.CountedPairs()
    selection = pb.select(
        ROWS,
        metric=metric,
        method=method,
        constraints=Constraints(costs=np.arange(1, 9), budget=12, fixed=[1]),
    )
    assert selection.evaluations == metric.calls
    assert selection.indices[0] == 1
    assert selection.spent <= 12


def test_a_limit_stops_a_search_with_a_budget():
    rows = brute.normal(60, seed=4)
    constraints = Constraints(costs=np.ones(60), budget=40)
    method = LazyGreedy(memoize=False)
    limits = pb.Limits(evaluations=60 * 60 + 200)
    selection = pb.select(rows, constraints=constraints, method=method, limits=limits)
    assert 1 <= selection.k < 40
    assert "within the budget was stopped by the limit of 3,800 evaluations." in selection.status
    whole = pb.select(rows, constraints=constraints, method=method)
    assert whole.k == 40
    assert selection.indices.tolist() == whole.indices[: selection.k].tolist()


@pytest.mark.parametrize("n", [1, 3])
def test_a_callback_stops_a_search_with_a_budget(n):
    constraints = Constraints(costs=np.ones(8), budget=5)
    whole = pb.select(ROWS, constraints=constraints)
    seen = []
    stopped = pb.select(
        ROWS, constraints=constraints, callback=lambda s: seen.append(s) or len(seen) == n
    )
    assert stopped.indices.tolist() == whole.indices[:n].tolist()
    np.testing.assert_allclose(stopped.costs, whole.costs[:n])
    assert stopped.status.startswith(f"Stopped by the callback after {n} prototype")


# -- guarantees ----------------------------------------------------------------------------------


def test_guarantees_under_constraints_compare_with_feasible_sets():
    groups = list("aaaabbbb")
    statements = {
        "f >= (1 - 1/e) f*": Constraints(fixed=[1]),
        "f >= f*/2": Constraints(groups=groups, at_most=2),
        "f >= (1 - 1/e)/2 f*": Constraints(costs=np.ones(8), budget=3),
    }
    for statement, constraints in statements.items():
        guarantee = pb.select(ROWS, k=3, method="spotgreedy", constraints=constraints).guarantee
        assert guarantee.statement == statement
        assert guarantee.conditions[0] == "f* is the best f within the constraints"
    quota = Constraints(groups=groups, at_most=2)
    assert pb.select(ROWS, k=3, method="stochasticgreedy", constraints=quota).guarantee is None


# -- invalid constraints --------------------------------------------------------------------------

GROUPS = list("aaaabbcc")
INVALID = {
    "not Constraints": ({"fixed": [1]}, 3, r"constraints=\{'fixed': \[1\]\} is not known"),
    "fixed not integers": (Constraints(fixed=[1.5]), 3, r"fixed=\[1\.5\] are not row numbers"),
    "fixed not a sequence": (Constraints(fixed=3), 3, r"fixed=3 are not row numbers"),
    "fixed too large": (Constraints(fixed=[8]), 3, r"fixed holds 8.*8 source rows.*0 to 7"),
    "fixed negative": (Constraints(fixed=[-1]), 3, r"fixed holds -1"),
    "fixed huge": (Constraints(fixed=[10**30]), 3, r"are not row numbers of the source"),
    "fixed twice": (Constraints(fixed=[2, 2]), 3, r"fixed holds 2 more than once"),
    "fixed too many": (Constraints(fixed=[0, 1, 2]), 2, r"3 rows are fixed but k=2.*k >= 3"),
    "groups too short": (Constraints(groups=["a"], at_most=1), 2, r"1 labels for 8 rows"),
    "groups a string": (Constraints(groups="aaaabbcc", at_most=1), 2, r"groups='aaaabbcc' names a"),
    "groups missing": (
        Constraints(groups=[None, *GROUPS[1:]], at_most=1),
        2,
        r"groups\[0\]=None is missing",
    ),
    "groups NaN": (
        Constraints(groups=[1.0] * 7 + [math.nan], at_most=1),
        1,
        r"groups\[7\]=nan is missing",
    ),
    "groups unhashable": (
        Constraints(groups=[[1]] * 8, at_most=1),
        2,
        r"labels that cannot be hashed",
    ),
    "quota unknown": (
        Constraints(groups=GROUPS, at_least={"x": 1}),
        3,
        r"at_least names the group 'x'.*'a', 'b', 'c'.",
    ),
    "quota negative": (Constraints(groups=GROUPS, at_least=-1), 3, r"at_least=-1 is not a number"),
    "quota not an integer": (
        Constraints(groups=GROUPS, at_most={"a": 1.5}),
        3,
        r"at_most\['a'\]=1\.5 is not a number of rows",
    ),
    "quota True": (Constraints(groups=GROUPS, at_most=True), 3, r"at_most=True is not a number"),
    "minimum above maximum": (
        Constraints(groups=GROUPS, at_least={"a": 2}, at_most=1),
        3,
        r"at_least requires 2 rows of group 'a' but at_most allows 1",
    ),
    "minimum above size": (
        Constraints(groups=GROUPS, at_least={"b": 3}),
        8,
        r"at_least requires 3 rows of group 'b', which has 2",
    ),
    "minima above k": (
        Constraints(groups=GROUPS, at_least=2),
        5,
        r"at_least requires 6 rows in total but k=5.*k >= 6",
    ),
    "maxima below k": (
        Constraints(groups=GROUPS, at_most=1),
        4,
        r"at_most allows 3 rows in total but k=4.*k <= 3",
    ),
    "fixed above a maximum": (
        Constraints(groups=GROUPS, at_most=1, fixed=[0, 1]),
        3,
        r"2 fixed rows belong to group 'a', but at_most allows 1",
    ),
    "fixed and minima above k": (
        Constraints(groups=GROUPS, at_least={"b": 1, "c": 1}, fixed=[0, 1]),
        3,
        r"at_least requires 2 rows in addition to the 2 fixed rows, but k=3.*k >= 4",
    ),
    "costs not numbers": (
        Constraints(costs=["x"] * 8, budget=1),
        None,
        r"costs=.* are not numbers. Pass 8 numbers > 0",
    ),
    "costs too few": (Constraints(costs=[1, 2], budget=1), None, r"costs have shape \(2,\)"),
    "costs zero": (Constraints(costs=[1] * 7 + [0], budget=1), None, r"costs\[7\]=0.0 is not"),
    "costs infinite": (
        Constraints(costs=[math.inf] + [1] * 7, budget=1),
        None,
        r"costs\[0\]=inf is not allowed",
    ),
    "budget negative": (Constraints(costs=[1] * 8, budget=-1), None, r"budget=-1 is not allowed"),
    "budget not a number": (Constraints(costs=[1] * 8, budget="1"), None, r"budget='1' is not"),
    "budget too small": (
        Constraints(costs=[2] * 8, budget=1),
        None,
        r"budget=1 is less than the cost of the cheapest row, 2",
    ),
    "fixed above the budget": (
        Constraints(costs=[2] * 8, budget=3, fixed=[0, 1]),
        None,
        r"the fixed rows cost 4 but budget=3",
    ),
    "fixed without k": (Constraints(fixed=[1]), None, r"k=None needs until= or a budget"),
}


@pytest.mark.parametrize(("constraints", "k", "message"), INVALID.values(), ids=INVALID.keys())
def test_infeasible_constraints_raise(constraints, k, message):
    with pytest.raises(InvalidInput, match=message):
        pb.select(ROWS, k=k, constraints=constraints)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_least": 1}, r"groups=None. Pass groups="),
        ({"groups": GROUPS}, r"neither at_least nor at_most"),
        ({"costs": [1] * 8}, r"costs is given alone"),
        ({"budget": 3}, r"budget is given alone"),
        (
            {"costs": [1] * 8, "budget": 3, "groups": GROUPS, "at_least": 1},
            r"at_least is given with costs",
        ),
    ],
)
def test_inconsistent_constraints_raise_when_created(options, message):
    with pytest.raises(InvalidInput, match=message):
        Constraints(**options)


def test_groups_accept_labels_of_any_type():
    pandas = pytest.importorskip("pandas")
    for groups in (
        pandas.Series(GROUPS),
        pandas.Categorical(GROUPS),
        np.array(GROUPS),
        tuple(GROUPS),
        ["a", "a", "a", "a", 1, 1, (2, 3), (2, 3)],
    ):
        selection = pb.select(ROWS, k=3, constraints=Constraints(groups=groups, at_most=1))
        assert sorted(np.searchsorted([4, 6], selection.indices, side="right")) == [0, 1, 2]
    missing = Constraints(groups=["a", pandas.NA, *GROUPS[2:]], at_most=1)
    with pytest.raises(InvalidInput, match=r"groups\[1\]=<NA> is missing"):
        pb.select(ROWS, k=3, constraints=missing)


def test_guarantee_of_protobandit_under_constraints():
    rows = brute.normal(30)
    method = pb.methods.ProtoBandit(nu_step=0.01, scale=20.0)

    def guarantee(**options):
        constraints = Constraints(**options) if options else None
        return pb.select(
            rows, k=4, method=method, constraints=constraints, random_state=0
        ).guarantee

    within = "f* is the best f within the constraints"
    assert within not in guarantee().conditions
    assert guarantee(fixed=[3]).conditions[0] == within
    assert guarantee(groups=["a", "b"] * 15, at_most={"a": 1}) is None


@pytest.mark.parametrize("quotas", [{"at_most": 4}, {"at_least": 0}, {"at_most": {"a": 9}}])
def test_quotas_that_restrict_nothing_are_one_group(quotas):
    """Loops over swaps have one row of slots if all rows are feasible."""
    feasibility = Constraints(groups=GROUPS, **quotas).feasibility(len(GROUPS))
    assert feasibility.is_free
    assert not feasibility.groups.any()
    assert feasibility.names == ("all",)


def test_lists_of_groups_are_cut_at_whole_items():
    groups = [f"a long name of group {i:02}" for i in range(20)]
    asked = Constraints(groups=groups, at_least={"other": 1})
    with pytest.raises(InvalidInput) as caught:
        pb.select(np.eye(20), k=3, constraints=asked)
    assert str(caught.value).endswith("'a long name of group 07', … (20 in all). Use one of these.")


def test_a_number_for_all_groups_has_exceptions_and_takes_all_rows_of_small_groups():
    groups = ["a"] * 6 + ["b"] * 6 + ["small"] * 2
    rows = brute.normal(14, 2)

    def counts(k=8, **quotas):
        found = pb.select(rows, k=k, constraints=Constraints(groups=groups, **quotas))
        chosen = [groups[i] for i in found.indices]
        return [chosen.count(name) for name in ("a", "b", "small")], found.status

    (_, b, small), status = counts(at_least={None: 3, "a": 0})
    assert (b >= 3, small) == (True, 2)
    assert "selected completely: 'small' (2 of 3)." in status
    found, status = counts(at_least={None: 1}, at_most={None: 2, "a": 4})
    assert found == [4, 2, 2]
    assert "completely" not in status
    assert counts(at_least=3)[0][2] == 2


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_fixed_rows_as_a_mask(form):
    mask = [i in (3, 5) for i in range(12)]
    found = pb.select(brute.normal(12, 2), k=4, constraints=Constraints(fixed=form(mask)))
    assert sorted(found.indices[:2].tolist()) == [3, 5]
    with pytest.raises(InvalidInput, match=r"fixed is a mask of shape \(11,\) for 12 source rows"):
        pb.select(brute.normal(12, 2), k=4, constraints=Constraints(fixed=form(mask[1:])))


# -- ids ------------------------------------------------------------------------------------------

IDS = ["a", "b", "c", "c", "e", "f", "g", "h"]


@pytest.mark.parametrize("ids", [IDS, np.array(IDS)])
def test_fixed_rows_by_their_ids(ids):
    found = pb.select(ROWS, k=3, constraints=Constraints(fixed=["e", "b"], ids=ids))
    assert found.indices[:2].tolist() == [4, 1]
    assert pb.select(ROWS, k=3, constraints=Constraints(fixed="h", ids=ids)).indices[0] == 7
    mask = np.arange(8) == 5
    assert pb.select(ROWS, k=3, constraints=Constraints(fixed=mask, ids=ids)).indices[0] == 5
    again = pb.select(ROWS, k=4, constraints=Constraints(fixed=found, ids=ids))
    assert again.indices[:3].tolist() == found.indices.tolist()


def test_integers_are_ids_if_there_are_ids_and_row_numbers_otherwise():
    numbers = [7, 6, 5, 4, 3, 2, 1, 0]
    assert pb.select(ROWS, k=2, constraints=Constraints(fixed=[7], ids=numbers)).indices[0] == 0
    assert pb.select(ROWS, k=2, constraints=Constraints(fixed=[7])).indices[0] == 7


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (["z"], "fixed holds 'z', which is the id of 0 source rows"),
        (["c"], r"fixed holds 'c', which is the id of 2 source rows\. Pass ids of one row each\.$"),
        ([["a"]], r"fixed holds \['a'\], which is the id of 0 source rows"),
        (["A"], r"ids of one row each\. Did you mean 'a'\?"),
        (["a", "a"], "fixed holds 0 more than once"),
    ],
)
def test_ids_must_be_those_of_one_row(fixed, message):
    with pytest.raises(InvalidInput, match=message):
        pb.select(ROWS, k=3, constraints=Constraints(fixed=fixed, ids=IDS))


def test_an_id_of_another_type_is_recognised():
    with pytest.raises(InvalidInput, match=r"fixed holds '3', .* Did you mean 3\?"):
        pb.select(ROWS, k=3, constraints=Constraints(fixed=["3"], ids=range(8)))


def test_no_fixed_rows_may_be_none():
    rows = [[0.0], [1.0], [7.0]]
    constraints = pb.Constraints(fixed=None)
    assert constraints.fixed == ()
    found = pb.select(rows, k=2, constraints=constraints)
    assert found.indices.tolist() == pb.select(rows, k=2).indices.tolist()
    assert pb.Constraints(fixed=None, ids=list("abc")).fixed == ()
