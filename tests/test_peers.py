"""Results of other packages, recorded by the scripts in benchmarks/peers; ours are the same.

Rows are integers, computed by the recipe of each case, so that costs are exact. The integers are
large enough that no two choices have the same cost.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import METHODS, BanditPAM

FIXTURES = Path(__file__).parent / "fixtures"


def cases_of(peer):
    return json.loads((FIXTURES / f"{peer}.json").read_text(encoding="utf-8"))["cases"]


def name_of(case):
    rows = case["rows"]["n"] if "rows" in case else case["source"]["n"]
    weights = f"-weights {case['weights']['period']}" if "weights" in case else ""
    init = case.get("init", "")
    start = init if isinstance(init, str) else "rows"
    return f"{case['method']}-{rows}-k={case['k']}-{start}{weights}"


def make_rows(recipe):
    """Return centre ``i % n_centres`` plus noise; centres are drawn first, then noise by row."""
    state = recipe["seed"]

    def draw(n, columns, top):
        nonlocal state
        found = np.empty(n * columns)
        for i in range(len(found)):
            state = (1103515245 * state + 12345) % 2**31
            found[i] = (state >> 8) * top >> 23
        return found.reshape(n, columns)

    n, columns = recipe["n"], recipe["columns"]
    centres = draw(recipe["n_centres"], columns, 10_000)
    return centres[np.arange(n) % len(centres)] + draw(n, columns, recipe["noise"])


def total(rows, chosen, targets=None, weights=1):
    """Return the exact sum of the distances to the nearest chosen row."""
    targets = rows if targets is None else targets
    d = np.abs(targets[:, None] - rows[None, chosen]).sum(axis=2)
    return float((weights * d.min(axis=1)).sum())


def best_swap(rows, chosen):
    """Return the smallest total after one swap."""
    d = np.abs(rows[:, None] - rows[None]).sum(axis=2)
    left = (np.delete(d[:, chosen], slot, axis=1).min(axis=1) for slot in range(len(chosen)))
    totals = np.array([np.minimum(d, nearest[:, None]).sum(axis=0) for nearest in left])
    return np.delete(totals, chosen, axis=1).min()


def run(case, method):
    rows = make_rows(case["rows"])
    chosen = pb.select(rows, k=case["k"], metric=case["metric"], method=method, random_state=0)
    assert chosen.cost * len(rows) == pytest.approx(total(rows, chosen.indices), rel=1e-12)
    return rows, sorted(chosen.indices.tolist())


BY_SWAPS = [case for case in cases_of("kmedoids") if case["method"] != "fasterpam"]
EAGER = [case for case in cases_of("kmedoids") if case["method"] == "fasterpam"]
BUILT = [c for c in cases_of("kmedoids") if c["method"] == "pam" and c["init"] == "build"]


@pytest.mark.parametrize("case", [*BY_SWAPS, *cases_of("sklearn_extra")], ids=name_of)
def test_medoids_equal_those_of_the_peer(case):
    rows, chosen = run(case, METHODS[case["method"]](init=case["init"]))
    assert chosen == case["indices"]
    assert total(rows, chosen) == case["total"]


@pytest.mark.parametrize("case", BUILT, ids=name_of)
def test_banditpam_with_exact_search_equals_pam(case):
    _, chosen = run(case, BanditPAM(batch=1000))
    assert chosen == case["indices"]


@pytest.mark.parametrize("case", EAGER, ids=name_of)
def test_eager_swaps_end_in_a_local_optimum(case):
    """Which local optimum is reached depends on the order of the arms."""
    rows, chosen = run(case, METHODS[case["method"]](init=case["init"]))
    assert total(rows, chosen) <= best_swap(rows, chosen)
    assert case["total"] == total(rows, case["indices"]) <= best_swap(rows, case["indices"])
    assert total(rows, chosen) == pytest.approx(case["total"], rel=0.015)


def test_eager_swaps_mostly_end_at_the_rows_of_the_peer():
    found = [run(c, METHODS[c["method"]](init=c["init"]))[1] == c["indices"] for c in EAGER]
    assert sum(found) >= len(found) - 2


@pytest.mark.parametrize("case", cases_of("sklearn_extra"), ids=name_of)
def test_the_estimator_gives_the_results_of_the_peer(case):
    rows = make_rows(case["rows"])
    model = pb.KMedoids(
        case["k"], metric=case["metric"], method=case["method"], init=case["init"]
    ).fit(rows)
    assert sorted(model.medoid_indices_.tolist()) == case["indices"]
    assert model.inertia_ == pytest.approx(case["total"], rel=1e-12)
    assert (model.cluster_centers_ == rows[model.medoid_indices_]).all()


@pytest.mark.parametrize("method", ["spotgreedy", "lazygreedy"])
@pytest.mark.parametrize("case", cases_of("interpret"), ids=name_of)
def test_picks_equal_those_of_the_peer_in_order(case, method):
    source, target = (make_rows(case[s])[:, : case["columns"]] for s in ("source", "target"))
    weights = 1 + np.arange(len(target)) % case["weights"]["period"]
    chosen = pb.select(
        source, target, k=case["k"], weights=weights, metric=case["metric"], method=method
    )
    assert chosen.indices.tolist() == case["indices"]
    assert chosen.mass == pytest.approx(case["mass"], abs=1e-12)
    assert total(source, case["indices"], target, weights) == case["total"]
    assert chosen.cost * weights.sum() == pytest.approx(case["total"], rel=1e-12)
