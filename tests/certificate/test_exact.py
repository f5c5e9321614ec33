"""Exact certificates: never above the best cost, within bounded memory, on any threads."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import brute
import protobandit as pb
from protobandit.certificate import certify, dual, exact


def with_few_candidates(monkeypatch, n=12, rows=40):
    """Let problems of a few dozen rows need candidates."""
    monkeypatch.setattr(exact, "_FEW_ARMS", 1)
    monkeypatch.setattr(exact, "_FEW_CELLS", 1)
    monkeypatch.setattr(exact, "_CANDIDATES", n)
    monkeypatch.setattr(exact, "_CANDIDATES_PER_PROTOTYPE", 1)
    monkeypatch.setattr(exact, "_FIRST_ROWS", rows)


def problem(seed):
    """Return distances, weights and k of a small random problem; some have ties or zeros."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 40)), int(random.integers(2, 12))
    k = int(random.integers(1, min(m, 4) + 1))
    style = seed % 5
    if style == 0:
        distances = cdist(random.normal(size=(n, 2)), random.normal(size=(m, 2)))
    elif style == 1:
        distances = random.integers(0, 3, size=(n, m)).astype(float)
    elif style == 2:
        distances = random.pareto(0.7, size=(n, m))
    elif style == 3:
        distances = np.minimum(random.exponential(size=(n, m)), 0.5).astype(np.float32)
    else:
        distances = np.tile(random.exponential(size=m), (n, 1))
    weights = random.pareto(1.0, size=n) * (random.random(n) < 0.7) if seed % 3 == 0 else None
    if weights is not None and weights.sum() == 0:
        weights = None
    return distances, weights, k


def enumerated(distances, weights, k):
    wide = distances.astype(np.float64)
    return [
        (float(np.average(wide[:, list(s)].min(axis=1), weights=weights)), s)
        for s in combinations(range(wide.shape[1]), k)
    ]


@pytest.mark.parametrize("has_candidates", [False, True])
def test_the_bound_is_never_above_the_best_cost(monkeypatch, has_candidates):
    if has_candidates:
        with_few_candidates(monkeypatch, n=3, rows=16)
    for seed in range(80):
        distances, weights, k = problem(seed)
        chosen = pb.select(
            distances, k=k, metric="precomputed", weights=weights, method="random", random_state=0
        )
        best = min(enumerated(distances, weights, k))[0]
        found = chosen.certify()
        assert (found.kind, found.conditions) == ("exact", ())
        assert found.cost_bound <= best * (1 + 1e-9)
        assert found.cost_ratio >= max(1, chosen.cost / best if best else 1) * (1 - 1e-9)
        assert found.cost_bound <= found.cost
        assert not np.isnan([found.cost, found.cost_bound, found.cost_ratio]).any()
        assert k > 1 or found.cost_bound == pytest.approx(best)


def test_candidates_reach_the_bound_of_all_arms(monkeypatch):
    rows = brute.normal(600, 3)
    chosen = pb.select(rows, k=6, random_state=0)
    whole = chosen.certify()
    with_few_candidates(monkeypatch, n=150, rows=200)
    found = chosen.certify()
    assert whole.evaluations == 600 * 600 < found.evaluations
    assert found.cost_ratio == pytest.approx(whole.cost_ratio, abs=2e-3)


def test_candidates_within_a_budget(monkeypatch):
    chosen = pb.select(brute.normal(600, 3), k=6, random_state=0)
    with_few_candidates(monkeypatch, n=60, rows=200)
    monkeypatch.setattr(exact, "_TOLERANCE", -1.0)  # as many rounds as are allowed
    for rounds in (1.0, 1.9, 2.5):
        found = chosen.certify(evaluations=int(rounds * 360_000))
        assert found.kind == "exact"
        assert found.evaluations <= rounds * 360_000


def test_evaluations_equal_the_calls_of_the_metric(monkeypatch):
    with_few_candidates(monkeypatch)
    metric = brute.CountedBlocks()
    chosen = pb.select(
        brute.whole(70), brute.whole(90, seed=1), k=4, metric=pb.block_metric(metric)
    )
    before = metric.calls
    found = chosen.certify(kind="exact")
    assert found.evaluations == metric.calls - before > 70 * 90


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    with_few_candidates(monkeypatch, n=100, rows=256)
    monkeypatch.setattr(dual, "_FEW_CELLS", 1 << 10)
    chosen = pb.select(brute.normal(2100, 40), k=5, random_state=0)
    assert chosen.certify(n_jobs=1) == chosen.certify(n_jobs=3, random_state=7)


def test_parts_are_added_in_their_order_while_the_lock_is_held():
    """The order of a sum decides its last bits; two threads must not add at the same time."""
    parts = [(1.0, slice(0, 2)), (1e-16, slice(2, 5)), (-1.0, slice(5, 6))]
    found = exact._OrderedSum(1)

    class Total:
        value = 0.0

        def __iadd__(self, part):
            assert found._lock.locked()
            self.value += float(part[0])
            return self

    found.total = Total()
    for part, cut in reversed(parts):
        found.add(np.array([part]), cut)
    assert found.total.value == (1.0 + 1e-16) - 1.0
    assert not found._lock.locked()


def test_all_pairs_are_never_kept(monkeypatch):
    """2.25e7 pairs in float32 would be 90 MB."""
    monkeypatch.setattr(dual, "_TUNED_CELLS", 1 << 19)
    rows = brute.normal(4700, 2).astype(np.float32)
    chosen = pb.select(rows, k=4, method="random", random_state=0)
    tracemalloc.start()
    try:
        found = chosen.certify(n_jobs=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.kind == "exact"
    assert peak < 70e6


# -- when it is the default -----------------------------------------------------------------------


def solution(n_source, n_target, metric="euclidean"):
    from protobandit.problem.posing import pose

    posed = pose(np.zeros((n_source, 1)), np.zeros((n_target, 1)), k=2, metric=metric)
    return certify.Solution(problem=posed, prototypes=np.arange(2), cost=1.0, is_exact=True)


def test_auto_is_exact_up_to_a_number_of_pairs():
    assert certify._proof(solution(10_000, 20_000), "auto", None).kind == "exact"
    assert certify._proof(solution(10_000, 20_001), "auto", None).kind == "rigorous"
    assert certify._proof(solution(10_000, 20_000), "auto", 10**7).kind == "rigorous"
    assert certify._proof(solution(10_000, 20_001), "exact", None).kind == "exact"
    assert certify._proof(solution(10_000, 20_000), "rigorous", None).kind == "rigorous"


def test_auto_does_not_compute_all_of_an_expensive_metric():
    assert certify._proof(solution(1000, 20_000, brute.skewed), "auto", None).kind == "rigorous"


def test_an_exact_certificate_needs_its_evaluations():
    chosen = pb.select(brute.normal(40), brute.normal(400, seed=1), k=3, random_state=0)
    found = chosen.certify(kind="exact", evaluations=15_999)
    assert (found.kind, found.cost_ratio, found.evaluations) == ("exact", np.inf, 0)
    assert "Pass evaluations=16000" in str(found)
    assert chosen.certify(kind="exact", evaluations=16_000).cost_ratio < 1.1


def test_an_estimate_of_zero_is_not_trusted():
    """All rows of a sample may be at distance 0 although the target is not."""
    rows = np.zeros((20_000, 1))
    rows[7] = 1000.0
    chosen = pb.select(rows[:10], rows, k=1, random_state=0, method="random")
    prototype = int(chosen.indices[0])
    wrong = replace(chosen, indices=np.array([0 if prototype == 7 else prototype]))
    wrong = replace(wrong, costs=np.zeros(1), cost_error=0.0)
    for kind in ("auto", "rigorous", "asymptotic"):
        assert wrong.certify(kind=kind, random_state=0).cost == pytest.approx(0.05)


def test_a_table_of_few_arms_holds_all_of_them_for_a_long_target():
    """Candidates among few arms gave a looser bound than drawn rows, for many times the cost."""
    random = np.random.default_rng(0)
    source, target = random.normal(size=(40, 3)), random.normal(size=(120_000, 3))
    selection = pb.select(source, target, k=4, random_state=0)
    exact_one = selection.certify()
    drawn = selection.certify(kind="rigorous", random_state=0)
    assert exact_one.kind == "exact"
    assert exact_one.evaluations == 40 * 120_000
    assert exact_one.cost_ratio < drawn.cost_ratio
