"""Certificates hold with their confidence, for any kind of rows, within their evaluations."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from scipy.stats import binom

import brute
import protobandit as pb
from protobandit.certificate import asymptotic, certify, dual, rigorous
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose

N_TARGET = 3000
N_ROWS = 100  # of the target, at most a thirtieth


# -- confidence -----------------------------------------------------------------------------------


def clusters(random):
    """Return target rows in a few clusters of uneven size."""
    centres = 6 * random.normal(size=(5, 2))
    return centres[random.integers(5, size=N_TARGET) ** 2 % 5] + random.normal(size=(N_TARGET, 2))


def heavy(random):
    """Return rows with far outliers."""
    return random.standard_t(2.5, size=(N_TARGET, 2))


def pocket(random):
    """Return rows of which one in a hundred is far away and makes up a third of the cost."""
    rows = random.normal(size=(N_TARGET, 2))
    rows[random.random(N_TARGET) < 0.01] += 40
    return rows


DATASETS = {"clusters": clusters, "heavy": heavy, "pocket": pocket}


def all_costs(d, weights, k):
    """Return every set of k source rows, and the cost of each."""
    sets = list(combinations(range(d.shape[1]), k))
    return sets, [float(np.average(d[:, list(s)].min(axis=1), weights=weights)) for s in sets]


def instance(dataset, seed, *, is_weighted):
    """Return a selection that is not the best, its exact cost, and the cost of the best set.

    With few source rows there is little to overfit. The slack of the bound is then small, so the
    test detects a bound without slack.
    """
    random = np.random.default_rng(seed)
    target = DATASETS[dataset](random)
    k = int(random.integers(1, 3))
    source = target[random.choice(N_TARGET, k + 2, replace=False)]
    if dataset == "pocket":
        source[0] = target[np.abs(target).max(axis=1).argmax()]
    weights = random.exponential(size=N_TARGET) if is_weighted else None
    d = cdist(target, source)
    by = np.ones(N_TARGET) if weights is None else weights
    sets, costs = all_costs(d, by, k)
    second = int(np.argsort(costs)[1])
    chosen = pb.select(source, target, k=k, weights=weights, method="lazygreedy")
    worse = replace(
        chosen, indices=np.array(sets[second]), costs=np.full(k, costs[second]), cost_error=0.0
    )
    return worse, costs[second], min(costs)


def failures(kind, dataset, *, n=100, confidence=0.9, is_weighted=False, is_known=True):
    """Return how many of ``n`` certificates are wrong."""
    wrong = 0
    for seed in range(n):
        selection, cost, best = instance(dataset, seed, is_weighted=is_weighted)
        if not is_known:
            selection = replace(selection, cost_error=0.1)
        budget = N_ROWS * len(selection.problem.source)
        budget += selection.k * N_TARGET if kind == "rigorous" else 0
        certificate = selection.certify(
            confidence=confidence, kind=kind, evaluations=budget, random_state=seed
        )
        assert certificate.kind == kind
        assert certificate.n_rows <= N_ROWS
        rounding = 1 - 1e-9
        is_ratio_wrong = certificate.cost_ratio < cost / best * rounding
        wrong += is_ratio_wrong or certificate.cost_bound * rounding > best
    return wrong


def at_most(n, delta):
    """Return the 0.999 quantile of the failures among ``n`` of probability ``delta`` each."""
    return int(binom.ppf(0.999, n, delta))


@pytest.mark.parametrize(
    ("dataset", "is_weighted"), [("clusters", False), ("heavy", True), ("pocket", False)]
)
def test_a_rigorous_certificate_holds_with_its_confidence(dataset, is_weighted):
    assert failures("rigorous", dataset, is_weighted=is_weighted) <= at_most(100, 0.1)


def test_a_low_confidence_holds_too():
    assert failures("rigorous", "clusters", confidence=0.5) <= at_most(100, 0.5)


@pytest.mark.parametrize(
    ("is_weighted", "is_known"), [(False, True), (False, False), (True, False)]
)
def test_an_asymptotic_certificate_nearly_holds_with_its_confidence(is_weighted, is_known):
    """With a hundred rows the normal approximation may miss by a few in a hundred."""
    wrong = failures("asymptotic", "clusters", is_weighted=is_weighted, is_known=is_known)
    assert wrong <= at_most(100, 0.1 + 0.04)


@pytest.mark.parametrize("is_known", [True, False])
def test_an_asymptotic_certificate_covers_a_small_far_cluster(is_known):
    """One row in a hundred makes up a third of the cost."""
    assert failures("asymptotic", "pocket", is_known=is_known) <= at_most(100, 0.1)


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_the_test_detects_a_bound_without_slack(monkeypatch, kind):
    module = {"rigorous": rigorous, "asymptotic": asymptotic}[kind]
    monkeypatch.setattr(module, BETS[kind], lambda sample, penalty, most: 1e-6)
    monkeypatch.setattr(module, "least_mean", lambda bound, bet, penalty: bound)
    assert failures(kind, "clusters") > at_most(100, 0.1 + 0.04)


BETS = {"rigorous": "best_bet", "asymptotic": "best_bet_for"}


def test_more_rows_or_less_confidence_give_a_sharper_bound():
    selection = large()
    ratios = {
        (n, confidence): np.median(
            [
                selection.certify(
                    confidence=confidence,
                    kind="rigorous",
                    evaluations=5 * 4000 + n * 40,
                    random_state=seed,
                ).cost_ratio
                for seed in range(5)
            ]
        )
        for n in (50, 400)
        for confidence in (0.9, 0.999)
    }
    assert 1 < ratios[400, 0.9] < ratios[400, 0.999] < ratios[50, 0.999]
    assert ratios[400, 0.9] < ratios[50, 0.9]


# -- exact certificates ---------------------------------------------------------------------------


def relaxed(d, weights, k):
    """Return the value of the linear relaxation of the k-median problem."""
    n, m = d.shape
    each = sparse.hstack([sparse.kron(sparse.eye(n), np.ones((1, m))), sparse.csr_matrix((n, m))])
    count = np.concatenate([np.zeros(n * m), np.ones(m)])[None]
    served = sparse.hstack([sparse.eye(n * m), -sparse.kron(np.ones((n, 1)), sparse.eye(m))])
    return linprog(
        np.concatenate([(weights[:, None] * d).ravel(), np.zeros(m)]),
        A_eq=sparse.vstack([each, count]).tocsr(),
        b_eq=np.concatenate([np.ones(n), [k]]),
        A_ub=served.tocsr(),
        b_ub=np.zeros(n * m),
    ).fun


def submodular(d, weights, chosen):
    """Return the cost minus the k largest gains."""
    gains = np.maximum(brute.gains(d, weights, list(chosen)), 0)
    return brute.cost(d, weights, chosen) - np.sort(gains)[-len(chosen) :].sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["lazygreedy", "random"])
def test_an_exact_certificate_is_the_linear_relaxation(seed, method):
    source, target = brute.normal(12, seed=seed), brute.normal(40, seed=seed + 100)
    weights = np.random.default_rng(seed).exponential(size=40)
    k = 2 + seed % 3
    chosen = pb.select(source, target, k=k, weights=weights, method=method, random_state=seed)
    certificate = chosen.certify()
    assert (certificate.kind, certificate.confidence) == ("exact", 1.0)
    assert certificate.evaluations == 12 * 40
    d, shares = cdist(target, source), weights / weights.sum()
    best = min(all_costs(d, weights, k)[1])
    assert certificate.cost == pytest.approx(chosen.cost)
    assert certificate.cost_margin == 0
    assert certificate.cost_bound <= best * (1 + 1e-9)
    assert certificate.cost_bound >= submodular(d, weights, chosen.indices) * (1 - 1e-6)
    assert certificate.cost_bound == pytest.approx(relaxed(d, shares, k), rel=2e-3)
    assert certificate.cost_ratio == pytest.approx(certificate.cost / certificate.cost_bound)


def test_little_memory_gives_a_looser_valid_bound(monkeypatch):
    source, target = brute.normal(60), brute.normal(700, seed=1)
    chosen = pb.select(source, target, k=2, method="random", random_state=0)
    whole = chosen.certify(random_state=0)
    monkeypatch.setattr(dual, "_MOST_CELLS", 45 * 100)
    monkeypatch.setattr(dual, "_LEAST_ROWS", 50)
    small = chosen.certify(kind="rigorous", evaluations=2 * 700 + 60 * 600, random_state=0)
    assert (whole.kind, whole.n_rows) == ("exact", 700)
    assert (small.kind, small.confidence) == ("rigorous", 0.95)
    assert small.n_rows <= 100
    assert whole.cost_ratio < small.cost_ratio < math.inf
    _, costs = all_costs(cdist(target, source), np.ones(700), 2)
    assert small.cost_bound < whole.cost_bound <= min(costs)


# -- rows ------------------------------------------------------------------------------------------


def test_rows_are_drawn_in_proportion_to_weight_and_distance():
    target = np.abs(brute.normal(40, 1))
    target[7] = 0  # the prototype, at distance 0
    weights = np.r_[0.0, np.random.default_rng(1).exponential(size=39)]
    problem = pose(target[[7, 8]], target, k=1, weights=weights)
    assignment = rigorous.assign_target(Oracle(problem), np.array([0]))
    shares = weights / weights.sum()
    expected = shares * (target[:, 0] + shares @ target[:, 0]) / 2
    random = np.random.default_rng(2)
    n, rounds = 25, 2000
    drawn = [assignment.draw(n, random) for _ in range(rounds)]
    seen = np.bincount(np.concatenate(drawn), minlength=40) / (n * rounds)
    np.testing.assert_allclose(seen, expected / expected.sum(), atol=0.002)
    assert seen[0] == 0
    assert seen[7] > 0


def large(**options):
    source, target = brute.normal(40, seed=3), brute.normal(4000, seed=4)
    return pb.select(source, target, k=5, method="random", random_state=0, **options)


def test_the_generator_is_independent_of_the_search(monkeypatch):
    """With the same seed, the rows must not be those that the search has drawn."""
    drawn, bound = [], certify.rigorous_bound

    def recorded(*arguments):
        drawn.append(deepcopy(arguments[-1]).random(8).tolist())
        return bound(*arguments)

    monkeypatch.setattr(certify, "rigorous_bound", recorded)
    for _ in range(2):
        large().certify(kind="rigorous", random_state=0)
    assert drawn[0] == drawn[1]
    assert not set(drawn[0]) & set(np.random.default_rng(0).random(100).tolist())


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_a_seed_gives_the_same_certificate_on_any_number_of_threads(kind):
    selection = pb.select(
        brute.normal(500, 40), brute.normal(6000, 40, seed=1), k=9, method="random", random_state=0
    )
    one, other = (selection.certify(kind=kind, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == other
    assert one.cost_ratio != selection.certify(kind=kind, random_state=4).cost_ratio


# -- evaluations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [brute.CountedPairs, brute.CountedBlocks])
@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_evaluations_equal_the_calls_of_the_metric(kind, counted):
    metric = counted()
    wrapped = pb.block_metric(metric) if counted is brute.CountedBlocks else metric
    selection = pb.select(
        brute.whole(12), brute.whole(400, seed=1), k=3, metric=wrapped, random_state=0
    )
    before = metric.calls
    for evaluations in (3 * 400 + 12 * 50, 12 * 400, None):
        certificate = selection.certify(kind=kind, evaluations=evaluations, random_state=0)
        assert certificate.evaluations == metric.calls - before
        assert certificate.evaluations <= (evaluations or 12 * 400)
        before = metric.calls


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_a_block_metric_is_called_few_times(kind):
    calls = []

    def block(targets, sources):
        calls.append(len(targets) * len(sources))
        return cdist(targets, sources)

    selection = pb.select(
        brute.normal(30), brute.normal(6000, seed=1), k=3, metric=pb.block_metric(block)
    )
    calls.clear()
    certificate = selection.certify(kind=kind, random_state=0)
    assert sum(calls) == certificate.evaluations
    assert len(calls) <= 8


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_the_default_evaluates_a_quarter_of_all_pairs(kind):
    selection = pb.select(brute.normal(50), brute.normal(8000, seed=1), k=5, random_state=0)
    certificate = selection.certify(kind=kind, random_state=0)
    assert certificate.kind == kind
    assert certificate.evaluations <= 50 * 8000 / 4 + 5 * 8000
    assert certificate.cost_ratio < 1.5


def test_the_default_number_of_rows_is_bounded():
    problem = pose(np.zeros((5000, 1)), np.zeros((4_000_000, 1)), k=10)
    solution = certify.Solution(problem=problem, prototypes=np.arange(10), cost=1.0, is_exact=True)
    assert certify._proof(solution, "rigorous", None).n_rows == 4096 + 10 * 128
    proof = certify._proof(solution, "asymptotic", None)
    assert (proof.n_scouts, proof.n_rows) == (65_536, 6588)


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
def test_a_budget_that_is_too_small_is_not_spent(kind):
    selection = large()
    certificate = selection.certify(kind=kind, evaluations=100)
    needed = 16 * 40 + 5 * (4000 if kind == "rigorous" else 16)
    assert certificate.cost_ratio == math.inf
    assert certificate.cost_bound == 0
    assert certificate.evaluations == certificate.n_rows == 0
    assert f"at least {needed:,} evaluations, and 100 are allowed" in str(certificate)
    assert f"evaluations={needed}" in str(certificate)
    assert certificate.f_ratio(100).ratio == 0
    enough = selection.certify(kind=kind, evaluations=needed, random_state=0)
    assert 0 < enough.evaluations <= needed


def test_the_statement_reports_that_nothing_is_proven():
    certificate = large().certify(
        confidence=1 - 1e-12, evaluations=5 * 4000 + 16 * 40, random_state=0
    )
    assert certificate.cost_ratio == math.inf
    assert certificate.evaluations > 0
    assert "Nothing is proven: on 16 target rows" in str(certificate)
    assert "at most inf" in repr(certificate)


# -- any rows, any metric --------------------------------------------------------------------------


def cases():
    rows, target = brute.normal(30, 4), brute.normal(90, 4, seed=1)
    matrix = cdist(target, rows)
    yield "dense", (rows, target), {}
    yield "float32", (rows.astype(np.float32), target.astype(np.float32)), {}
    yield "k-medoids", (rows,), {}
    yield "weights", (rows, target), {"weights": np.arange(90.0)}
    yield "sparse", (sparse.csr_array(rows), sparse.csr_array(target)), {"metric": "cosine"}
    yield "precomputed", (matrix,), {"metric": "precomputed"}
    yield "callable", (rows, target), {"metric": brute.skewed}
    yield "words", (["tree", "free", "three", "house", "mouse", "a"],), {"metric": brute.edits}


@pytest.mark.parametrize(("rows", "options"), [pytest.param(*c[1:], id=c[0]) for c in cases()])
@pytest.mark.parametrize("kind", ["exact", "rigorous", "asymptotic"])
def test_certificates_of_any_rows_and_any_metric(rows, options, kind):
    selection = pb.select(*rows, k=3, random_state=0, **options)
    n_pairs = len(selection.problem.source) * len(selection.problem.target)
    if kind == "exact":
        certificate = selection.certify()
    else:
        certificate = selection.certify(kind=kind, evaluations=n_pairs - 1, random_state=0)
    assert certificate.kind == kind or n_pairs < 16 * 30
    assert certificate.cost == pytest.approx(selection.cost, rel=1e-5)
    assert certificate.cost_ratio >= 1
    assert certificate.evaluations <= n_pairs


def test_one_prototype_is_certified_as_the_best():
    chosen = pb.select(brute.normal(50), k=1, method="lazygreedy")
    certificate = chosen.certify()
    assert certificate.cost_ratio == pytest.approx(1, abs=1e-3)
    assert "times that of the best source row" in str(certificate)


@pytest.mark.parametrize("n", [1, 5])
def test_all_source_rows_are_certified_as_the_best(n):
    certificate = pb.select(brute.normal(n), brute.normal(60, seed=1), k=n).certify()
    assert certificate.kind == "exact"
    assert certificate.cost_ratio == pytest.approx(1, abs=1e-6)
    assert certificate.evaluations == 60 * n


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_cost_of_zero_is_the_best(kind, is_known):
    rows = np.repeat(brute.normal(3), 2000, axis=0)
    chosen = pb.select(rows[::100], rows, k=3, method="lazygreedy")
    assert chosen.cost == 0
    if not is_known:
        chosen = replace(chosen, cost_error=np.nan)
    certificate = chosen.certify(kind=kind, random_state=0)
    assert certificate.cost_ratio == 1
    assert certificate.cost_bound == 0
    assert (certificate.kind, certificate.confidence) == ("exact", 1.0)
    assert certificate.evaluations == 3 * 6000  # an estimate of 0 is not trusted


@pytest.mark.parametrize("kind", ["rigorous", "asymptotic"])
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_the_ratio_does_not_depend_on_the_unit(kind, scale):
    d = cdist(brute.normal(4000, seed=4), brute.normal(40, seed=3))
    one, other = (
        pb.select(m, k=5, metric="precomputed", method="random", random_state=0).certify(
            kind=kind, random_state=0
        )
        for m in (d, d * scale)
    )
    assert other.cost_ratio == pytest.approx(one.cost_ratio, rel=1e-9)
    assert other.cost_bound == pytest.approx(one.cost_bound * scale, rel=1e-9)


# -- results --------------------------------------------------------------------------------------


def test_an_estimated_cost_has_a_margin():
    selection, options = large(), {"kind": "asymptotic", "evaluations": 38_000, "random_state": 0}
    certificate = replace(selection, cost_error=0.1).certify(**options)
    assert certificate.kind == "asymptotic"
    assert abs(certificate.cost - selection.cost) <= certificate.cost_margin < selection.cost / 10
    assert f"± {certificate.cost_margin:.2g}" in repr(certificate)
    known = replace(selection, cost_error=0.0).certify(**options)
    assert (known.cost, known.cost_margin) == (selection.cost, 0)
    assert known.cost_ratio < certificate.cost_ratio


def test_the_statement_of_a_certificate():
    certificate = large().certify(kind="rigorous", random_state=0)
    shown = repr(certificate)
    ratio = certificate.cost_ratio + 5e-5
    assert str(certificate) == (
        f"With probability at least 0.95, the cost is at most {ratio:.4f} times that of the best "
        f"5 source rows"
    )
    assert "Certificate (rigorous, confidence 0.95)" in shown
    assert f"{certificate.evaluations:,} on {certificate.n_rows:,} target rows" in shown
    asymptotic = large().certify(kind="asymptotic", random_state=0)
    assert "With probability about 0.95" in str(asymptotic)
    assert "provided that the mean distance of 896 drawn rows is close to normal" in str(asymptotic)
    assert "an outlier that was never drawn cannot be seen" in str(asymptotic)


def test_a_certified_selection_counts_the_evaluations():
    selection = large()
    held = selection.certified(random_state=0)
    assert selection.certificate is None
    assert "certificate" not in repr(selection)
    assert held.certificate == selection.certify(random_state=0)
    assert held.evaluations_by_phase["certify"] == held.certificate.evaluations > 0
    assert held.evaluations == selection.evaluations + held.certificate.evaluations
    assert f"certificate  {held.certificate}" in repr(held)
    again = held.certified(kind="asymptotic", random_state=0)
    assert again.certificate.kind == "asymptotic"
    assert again.evaluations == held.evaluations + again.certificate.evaluations


@pytest.mark.parametrize("evaluations", [None, 10], ids=["proven", "nothing proven"])
def test_a_certificate_survives_json(evaluations):
    held = large().certified(random_state=0, evaluations=evaluations)
    loaded = pb.Selection.from_json(held.to_json())
    assert loaded.certificate == held.certificate
    assert isinstance(loaded.certificate, pb.Certificate)
    assert repr(loaded) == repr(held)
    assert pb.Selection.from_json(loaded.to_json()).certificate == held.certificate
    with pytest.raises(pb.NotAvailable, match=r"Certify a selection before it is saved"):
        loaded.certify()
    with pytest.raises(pb.NotAvailable, match="does not hold the target rows"):
        loaded.certified()


def test_json_without_a_certificate_is_read():
    document = json.loads(large().to_json())
    assert document["certificate"] is None
    del document["certificate"]
    assert pb.Selection.from_json(json.dumps(document)).certificate is None
    document["certificate"] = {"kind": "rigorous"}
    with pytest.raises(pb.InvalidInput, match="text is not a whole protobandit selection"):
        pb.Selection.from_json(json.dumps(document))


BAD = {
    "confidence of 0": (
        {"confidence": 0.0},
        r"confidence=0\.0 is not allowed.* > 0 and < 1",
    ),
    "confidence of 1": ({"confidence": 1}, r"confidence=1 is not allowed"),
    "confidence is a bool": ({"confidence": True}, r"confidence=True is not allowed"),
    "confidence in percent": ({"confidence": 95}, r"confidence=95 is not allowed"),
    "confidence is a string": ({"confidence": "high"}, r"confidence='high' is not allowed"),
    "confidence is NaN": ({"confidence": math.nan}, r"confidence=nan is not allowed"),
    "unknown kind": (
        {"kind": "proven"},
        r"kind='proven' is not known. Use one of .'auto', 'exact', 'rigorous', 'asy",
    ),
    "kind is None": ({"kind": None}, r"kind=None is not known"),
    "evaluations of 0": (
        {"evaluations": 0},
        r"evaluations=0 is not allowed.*whole number > 0",
    ),
    "evaluations negative": ({"evaluations": -5}, r"evaluations=-5 is not allowed"),
    "evaluations fractional": ({"evaluations": 10.5}, r"evaluations=10\.5 is not allowed"),
    "evaluations infinite": ({"evaluations": math.inf}, r"evaluations=inf is not allowed"),
    "evaluations is a string": ({"evaluations": "many"}, r"evaluations='many' is not allowed"),
    "random_state": ({"random_state": "seed"}, r"random_state='seed' is not a valid random_state"),
    "n_jobs": ({"n_jobs": 0}, r"n_jobs=0 is not allowed"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_arguments_raise(case):
    options, message = BAD[case]
    with pytest.raises(pb.InvalidInput, match=message):
        large().certify(**options)


def test_evaluations_may_be_a_float():
    selection = large()
    one, other = (selection.certify(evaluations=n, random_state=0) for n in (30_000, 3e4))
    assert one == other
