"""PAC swaps: the proof on a sample, its error rate on hostile problems, and how swaps end."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.methods import Refined
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.drivers import pac_swaps
from protobandit.search.drivers.pac_swaps import SwapSample
from protobandit.search.objectives.swap_state import SwapState

N_SOURCE, N_TARGET = 24, 3000
DELTA = 0.1


# -- hostile problems ------------------------------------------------------------------------------


def _around(centres, n, random):
    return centres[random.integers(len(centres), size=n)] + random.normal(size=(n, 2))


def pockets(random):
    """0.3 % of the target lie 300 standard deviations away, and one source row is near them."""
    source, target = random.normal(size=(N_SOURCE, 2)), random.normal(size=(N_TARGET, 2))
    source[0], target[:9] = 300, random.normal(size=(9, 2)) + 300
    return source, target, None


def heavy_tails(random):
    return random.standard_t(1.2, (N_SOURCE, 2)), random.standard_t(1.2, (N_TARGET, 2)), None


def uneven_weights(random):
    source, target = (random.normal(size=(n, 2)) for n in (N_SOURCE, N_TARGET))
    return source, target, random.pareto(0.7, size=N_TARGET)


def repeated_rows(random):
    values = random.integers(0, 4, size=(12, 2)).astype(float)
    return (
        values[random.integers(12, size=N_SOURCE)] + 0.0,
        values[random.integers(12, size=N_TARGET)] + random.normal(size=(N_TARGET, 2)) * 1e-3,
        None,
    )


def clumps(random):
    centres = random.normal(size=(6, 2)) * 30
    return _around(centres, N_SOURCE, random), _around(centres, N_TARGET, random), None


FAMILIES = [pockets, heavy_tails, uneven_weights, repeated_rows, clumps]
hostile = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


def instance(family, seed, k=3):
    """Return an oracle, random prototypes with their distances, and the largest gain of a swap."""
    random = np.random.default_rng(seed)
    source, target, weights = family(random)
    problem = pose(source, target, k=k, weights=weights)
    oracle = Oracle(problem)
    d = oracle.distances(np.arange(N_SOURCE), oracle.targets(slice(0, N_TARGET)))
    # The prototypes are those of a few swaps: far from the best, with small gains left to prove.
    members = random.choice(N_SOURCE, k, replace=False)
    state = SwapState(members, d[members], problem.target_weights)
    return oracle, state, largest_gain(d, problem.target_weights, members)


def largest_gain(d, weights, members):
    """Return the largest gain of a single swap as a share of the cost, from its definition."""
    q = weights / weights.sum()
    cost, others = d[members].min(axis=0) @ q, np.delete(np.arange(len(d)), members)
    after = [
        d[[*np.delete(members, slot), arm]].min(axis=0) @ q
        for slot, arm in product(range(len(members)), others)
    ]
    return (cost - min(after)) / cost


def honest_bound(sample, members, share):
    return sample.gain_bound(members, math.log((N_SOURCE - 3) * 3 / DELTA), share)


def mean_gain(sample, members, share):
    """Return the largest gain on the sample, without a margin: a strategy that cheats."""
    return -sample.log_changes(members, bet=1e-6).min() / 1e-6


def proofs(family, factor, *, bound=honest_bound, n=None, n_runs=40):
    """Return the share of samples that prove that no swap gains ``factor`` times the largest gain.

    By default samples are large enough to prove what is true by a factor of 3.
    """
    n_proven = n_all = 0
    for seed in range(6):
        oracle, state, gain = instance(family, seed)
        if gain <= 0.02:
            continue
        share = factor * gain
        size = n or math.ceil(200 / gain)
        for run in range(n_runs):
            sample = SwapSample.draw(oracle, state, size, np.random.default_rng([seed, run]))
            n_proven += bound(sample, state.members, share) <= share
            n_all += 1
    assert n_all >= 2 * n_runs
    return n_proven / n_all


@hostile
@pytest.mark.parametrize("n", [None, 40])
def test_a_proof_is_wrong_less_often_than_stated(family, n):
    assert proofs(family, 0.99, n=n, n_runs=30) <= DELTA


@hostile
def test_what_is_true_by_a_factor_of_3_is_proven(family):
    assert proofs(family, 3, n_runs=4) > 0.95


@hostile
def test_a_strategy_without_the_margin_is_rejected(family):
    assert proofs(family, 0.99, bound=mean_gain, n=40) > DELTA


def test_a_strategy_that_draws_rows_evenly_is_rejected(monkeypatch):
    """Rows of a small far cluster are then rarely drawn, and the swap that serves it is missed."""

    def evenly(state, n, random):
        return random.integers(len(state.D), size=n)

    monkeypatch.setattr(pac_swaps, "draw_strata", evenly)
    assert proofs(pockets, 0.5) > DELTA


@hostile
@pytest.mark.parametrize("nu", [0.3, 0.05])
def test_results_keep_the_statement(family, nu):
    for seed in range(4):
        random = np.random.default_rng([seed, 9])
        source, target, weights = family(random)
        method = Refined(build="random", swaps="pac", nu=nu, delta=DELTA)
        found = pb.select(source, target, k=3, weights=weights, method=method, random_state=seed)
        d = brute_matrix(source, target)
        q = brute.even(N_TARGET) if weights is None else weights
        assert largest_gain(d, q, found.indices) <= nu
        assert found.passes.gain_bound <= nu
        assert largest_gain(d, q, found.indices) <= found.passes.gain_bound
        assert f"more than {nu:g} times the cost" in found.guarantee.statement


def brute_matrix(source, target):
    return np.sqrt(((source[:, None] - target[None]) ** 2).sum(axis=2))


# -- the proof against its definition --------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_changes_are_those_of_the_definition(k, dtype):
    source, target = brute.normal(9, dtype=dtype), brute.normal(40, seed=1, dtype=dtype)
    oracle = Oracle(pose(source, target, k=k))
    d = oracle.distances(np.arange(9), oracle.targets(slice(0, 40))).astype(np.float64)
    members = np.arange(k) * 2
    state = SwapState(members, d[members].astype(dtype), np.ones(40))
    sample = SwapSample.draw(oracle, state, 25, np.random.default_rng(0))
    drawn = pac_swaps.draw_strata(state, 25, np.random.default_rng(0))
    units = 0.75 * d[members].min(axis=0) + 0.25 * state.cost
    changes = sample.log_changes(members, bet=0.3)
    expected = -math.expm1(changes.min() - 3.0 / 25) / 0.3  # the bet is 2 (3 / 25) / 0.8
    assert sample.gain_bound(members, log_pairs=3.0, share=0.8) == pytest.approx(expected)
    for arm in range(9):
        if arm in members:
            assert changes[arm] == np.inf
            continue
        means = []
        for slot in range(k):
            after = d[[*np.delete(members, slot), arm]].min(axis=0)
            X = (after - d[members].min(axis=0)) / units
            means.append(np.log1p(0.3 * X[drawn]).mean())
        assert changes[arm] == pytest.approx(min(means), rel=1e-4, abs=1e-6)


def test_rows_are_drawn_in_proportion_to_their_unit():
    _, state, _ = instance(pockets, 0)
    p = state.weights * pac_swaps.row_units(state)
    drawn = pac_swaps.draw_strata(state, 200_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=N_TARGET) / 200_000
    np.testing.assert_allclose(counts, p / p.sum(), atol=2 / 200_000)


def test_a_larger_sample_gives_a_sharper_bound():
    oracle, state, gain = instance(clumps, 1)
    bounds = [
        SwapSample.draw(oracle, state, n, np.random.default_rng(0)).gain_bound(
            state.members, 8.0, share * gain
        )
        for n, share in ((1000, 1), (10_000, 0.3), (300_000, 0.05))
    ]
    assert bounds[0] > bounds[1] > bounds[2] >= gain
    assert bounds[2] < 1.1 * gain


def test_quotas_restrict_the_swaps():
    """The best swap is not allowed, so a smaller bound holds."""
    source, target, _ = pockets(np.random.default_rng(0))
    rule = pb.Constraints(groups=["far"] + ["near"] * (N_SOURCE - 1), at_most={"far": 0})
    free, bound = (
        pb.select(
            source,
            target,
            k=3,
            constraints=each,
            method=Refined(build="random", swaps="pac", nu=0.3),
            random_state=0,
        )
        for each in (None, rule)
    )
    assert 0 in free.indices
    assert 0 not in bound.indices
    assert "no single swap within the constraints lowers" in bound.guarantee.statement


def test_attempts_share_the_error_probability(monkeypatch):
    """Attempt i uses delta / (i (i + 1)) for all swaps together, on rows drawn after the swaps."""
    asked, drawn = [], []
    bound, draw = SwapSample.gain_bound, SwapSample.draw

    def failing(self, members, log_pairs, share):
        asked.append(log_pairs)
        assert drawn[-1] == members.tolist(), "the prototypes were fixed before the rows"
        return math.inf if len(asked) < 3 else bound(self, members, log_pairs, share)

    def noted(oracle, state, n, random):
        drawn.append(state.members.tolist())
        return draw(oracle, state, n, random)

    monkeypatch.setattr(SwapSample, "gain_bound", failing)
    monkeypatch.setattr(SwapSample, "draw", noted)
    found = solve(nu=0.3)
    n_pairs = 196 * 4
    expected = [math.log(n_pairs * i * (i + 1) / 0.05) for i in range(1, len(asked) + 1)]
    np.testing.assert_allclose(asked, expected)
    assert found.passes.n_passes == len(drawn) == len(asked) + 1


# -- how swaps end ---------------------------------------------------------------------------------


def solve(*, nu=0.3, k=4, limits=None, **parameters):
    source, target = brute.normal(200, 4), brute.normal(9000, 4, seed=1)
    method = Refined(build="random", swaps="pac", nu=nu, **parameters)
    return pb.select(source, target, k=k, method=method, limits=limits, random_state=0)


def test_a_sample_is_cheaper_than_the_matrix():
    found = solve(nu=0.05)
    assert found.evaluations < 0.4 * 200 * 9000
    assert found.cost_error == 0
    assert found.passes.ended_by is None
    assert found.passes.gain_bound < 0.05
    assert found.guarantee.probability == 0.95
    assert found.guarantee.delta == 0.05
    assert found.guarantee.nu == 0.05
    assert found.guarantee.cost_factor == pytest.approx(5 / (1 - 4 * found.passes.gain_bound))
    assert found.guarantee.statement.startswith(
        "with probability at least 0.95, no single swap lowers the cost by more than 0.05 times "
        "the cost and cost <= "
    )
    planned = pb.plan(
        brute.normal(200, 4),
        brute.normal(9000, 4, seed=1),
        k=4,
        method=Refined(build="random", swaps="pac", nu=0.05),
    )
    assert 1 / 1.5 < planned.evaluations / found.evaluations < 1.5


def test_a_tolerance_that_needs_the_whole_target_gives_certainty():
    found = solve(nu=1e-4)
    eager = pb.select(
        brute.normal(200, 4), brute.normal(9000, 4, seed=1), k=4, method="fasterpam",
        random_state=0,
    )  # fmt: skip
    assert found.guarantee.probability == 1
    assert found.guarantee.statement.startswith(
        "no single swap lowers the cost by more than 0.0001"
    )
    assert found.passes.gain_bound < 1e-6
    assert found.cost < 1.02 * eager.cost
    kept = solve(nu=0.3, limits=None)
    assert kept.guarantee.probability == 0.95


@pytest.mark.parametrize("scale", [None, 10.0])
def test_exact_swaps_do_not_claim_a_tolerance_below_their_threshold(scale):
    """Exact swaps end where none gains more than about 1e-7 of the cost."""
    found = pb.select(
        brute.normal(30), brute.normal(900, seed=1), k=4,
        method=Refined(build="random", swaps="pac", nu=1e-12, scale=scale), random_state=0,
    )  # fmt: skip
    unit = found.cost if scale is None else scale
    proven = found.passes.gain_bound * found.cost / unit
    assert found.guarantee.nu == pytest.approx(proven)
    assert found.guarantee.nu > 1e-8
    assert "1e-12" not in found.guarantee.statement


@pytest.mark.parametrize(
    "parameters",
    [
        {"nu": 5e-324},
        {"nu": 1e-300, "scale": 1e-300},
        {"nu": 0.1, "scale": 1e300},
        {"nu": 1e300, "scale": 1e300},
        {"delta": 5e-324},
    ],
    ids=str,
)
@pytest.mark.parametrize("limits", [None, pb.Limits(memory=400_000)], ids=["all", "memory"])
def test_extreme_parameters(parameters, limits):
    method = Refined(build="random", swaps="pac", **parameters)
    problem = {"source": brute.normal(30), "target": brute.normal(900, seed=1), "k": 4}
    assert pb.plan(**problem, method=method, limits=limits).evaluations > 0
    found = pb.select(**problem, method=method, limits=limits, random_state=0)
    assert found.k == 4
    is_trivial = parameters.get("scale", 0) == 1e300
    assert found.guarantee is not None or (limits is not None and not is_trivial)


def test_a_probability_close_to_1_is_not_shown_as_1():
    statement = solve(nu=0.3, delta=1e-9).guarantee.statement
    assert statement.startswith("with probability at least 0.999999, ")


def test_a_start_that_kept_all_dissimilarities_needs_no_sample():
    source, target = brute.normal(30), brute.normal(900, seed=1)
    one, other = (
        pb.select(source, target, k=4, method=Refined(swaps=swaps), random_state=0)
        for swaps in ("pac", "eager")
    )
    assert one.evaluations == other.evaluations == 30 * 900
    assert one.indices.tolist() == other.indices.tolist()
    assert "f >= (1 - 1/e) f*" in one.guarantee.statement


def test_the_unit_may_be_a_bound_of_the_dissimilarity():
    found = solve(nu=0.02, scale=10.0)
    assert found.passes.gain_bound <= 0.02 * 10 / found.cost
    assert "by more than 0.02 times C = 10" in found.guarantee.statement
    assert found.guarantee.scale == 10


@pytest.mark.parametrize("most", [20_000, 60_000, 90_000])
def test_a_limit_of_evaluations_ends_the_swaps(most):
    found = solve(nu=0.05, limits=pb.Limits(evaluations=most))
    assert found.k == 4
    assert found.guarantee is None
    assert found.evaluations_by_phase["swap"] <= most
    assert "evaluations" in found.status


def test_memory_limits_the_sample():
    found = solve(nu=0.01, limits=pb.Limits(memory=4 * 9000 * 8 + 200 * 900 * 8))
    assert found.guarantee is None
    assert "ended by the memory for 900 sampled rows before convergence" in found.status
    with pytest.raises(pb.InvalidInput, match=r"swaps='pac' needs .* Pass swaps='local'"):
        solve(limits=pb.Limits(memory=4 * 9000 * 8))


def test_the_default_tolerance_bounds_the_cost():
    found = solve(nu=None)
    assert found.guarantee.nu == 1 / 16
    assert found.guarantee.cost_factor <= 20 / 3
    assert found.passes.n_passes >= 2, "the first sample only finds swaps"


def test_a_loose_tolerance_still_improves_the_start():
    start = pb.select(
        brute.normal(200, 4), brute.normal(9000, 4, seed=1), k=4, method="random", random_state=0
    )
    assert solve(nu=0.9).cost < 0.95 * start.cost


def test_the_number_of_samples_is_limited():
    found = solve(nu=0.05, passes=1)
    assert found.guarantee is None
    assert "in 1 pass, ended by passes=1 before convergence." in found.status


def test_a_cost_of_0_is_the_end():
    rows = np.repeat(brute.normal(3), 400, axis=0)
    found = pb.select(
        rows, k=3, method=Refined(build="random", swaps="pac", nu=0.3), random_state=0
    )
    assert found.cost == 0
    assert found.guarantee is not None


def test_a_single_prototype():
    found = solve(nu=0.05, k=1)
    d = brute_matrix(brute.normal(200, 4), brute.normal(9000, 4, seed=1))
    assert found.cost <= 1.05 * d.mean(axis=1).min() / 0.95
    assert found.guarantee.probability == 0.95


@pytest.mark.parametrize(
    ("name", "value"), [("nu", 0), ("nu", math.nan), ("delta", 0), ("delta", 1), ("scale", -1)]
)
def test_invalid_parameters(name, value):
    with pytest.raises(pb.InvalidInput, match=rf"{name}="):
        Refined(swaps="pac", **{name: value})
