"""Drift: the comparison of new rows with rows like those of the target."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.result.drift import permutation_p_value


@pytest.fixture(scope="module")
def selection():
    chosen = pb.select(brute.normal(400, 2), k=20, random_state=0, n_jobs=1)
    return chosen.with_reference(n_jobs=1)


def test_rows_of_the_same_distribution(selection):
    drift = selection.drift(brute.normal(300, 2, seed=5), n_jobs=1)
    assert drift.p_value > 0.05
    assert drift.ratio == pytest.approx(1, abs=0.1)
    assert drift.share_beyond == pytest.approx(0.05, abs=0.04)
    assert len(drift.rows_to_add) == 0
    assert "No drift was found" in repr(drift)


def test_shifted_rows(selection):
    new = brute.normal(300, 2, seed=5) + 1
    drift = selection.drift(new, n_jobs=1)
    labels, distances = selection.assign(new)
    assert drift.cost == pytest.approx(distances.mean())
    assert drift.reference_cost == selection.reference.cost
    assert drift.ratio == drift.cost / drift.reference_cost > 1.2
    assert drift.p_value == 1 / 2000
    assert drift.worst_rows.tolist() == np.argsort(-distances)[:10].tolist()
    mass = np.bincount(labels, minlength=20) / 300
    np.testing.assert_allclose(drift.mass_change, mass - selection.mass)
    assert [each.share for each in drift.quantiles] == [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
    np.testing.assert_allclose(
        [each.new for each in drift.quantiles],
        np.quantile(distances, [each.share for each in drift.quantiles]),
    )
    limit = drift.quantiles[5].reference
    assert drift.share_beyond == pytest.approx((distances > limit).mean())
    assert drift.evaluations >= 20 * 300
    assert "worse" in drift.verdict


def test_rows_to_add_bring_the_cost_back(selection):
    """A new cluster: one of its rows is added, and the cost is that of the reference again."""
    new = np.concatenate([brute.normal(270, 2, seed=5), 30 + brute.normal(30, 2, seed=6) / 9])
    drift = selection.drift(new, n_jobs=1)
    assert drift.rows_to_add[0] >= 270
    chosen = np.concatenate([selection.prototypes, new[drift.rows_to_add]])
    distances = np.sqrt(((new[:, None] - chosen[None]) ** 2).sum(-1)).min(axis=1)
    assert distances.mean() <= drift.reference_cost < drift.cost
    assert set(drift.worst_rows) <= set(range(270, 300))


def test_few_far_rows_are_noticed(selection):
    """Two of 20 rows are far away; a t-test would not see it."""
    new = brute.normal(20, 2, seed=5)
    new[[3, 11]] += 50
    assert selection.drift(new).p_value < 0.01


def test_weights_of_new_rows(selection):
    new = np.concatenate([brute.normal(200, 2, seed=5), brute.normal(200, 2, seed=6) + 30])
    plain = selection.drift(new)
    light = selection.drift(new, weights=np.repeat([1.0, 0.0], 200))
    assert plain.p_value < 0.001 < 0.05 < light.p_value
    assert light.cost == pytest.approx(selection.drift(new[:200]).cost)
    assert set(light.worst_rows) <= set(range(200))


def test_drift_of_a_loaded_selection_is_the_same(selection):
    new = brute.normal(100, 2, seed=5) * 1.2
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.drift(new).ratio == pytest.approx(selection.drift(new).ratio, rel=1e-4)
    bare = pb.Selection.from_json(pb.select(brute.normal(40), k=3).to_json())
    with pytest.raises(pb.NotAvailable, match=r"selection\.save\(path, reference=True\)"):
        bare.drift(brute.normal(5))


def test_the_reference_is_computed_once(monkeypatch):
    chosen = pb.select(brute.normal(50, 2), k=5, random_state=0)
    first = chosen.drift(brute.normal(20, 2, seed=1))
    monkeypatch.setattr("protobandit.result.selection.reference_of", None)
    assert chosen.drift(brute.normal(20, 2, seed=1)).p_value == first.p_value


def test_rows_that_are_all_prototypes():
    rows = np.repeat(brute.normal(3, 2), 20, axis=0)
    chosen = pb.select(rows, k=3, random_state=0)
    drift = chosen.drift(rows)
    assert (drift.cost, drift.ratio, drift.p_value) == (0, 1, 1)
    assert chosen.drift(rows + 1).ratio == np.inf


def test_precomputed_dissimilarities_have_no_rows_to_add():
    matrix = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    chosen = pb.select(matrix, k=4, metric="precomputed", random_state=0)
    drift = chosen.drift(matrix + 50)
    assert drift.p_value < 0.05
    assert len(drift.rows_to_add) == 0


def test_texts_are_compared():
    words = ["".join(letters) for letters in brute.whole(60, 4, top=3).astype(int).astype(str)]
    chosen = pb.select(words, k=6, metric="levenshtein", random_state=0)
    assert chosen.drift(["999999999"] * 20).rows_to_add.tolist() != []


def test_one_new_row(selection):
    near, far = selection.drift([[0.1, 0.1]]), selection.drift([[90.0, 90.0]])
    assert near.p_value > 0.05 > far.p_value


@pytest.fixture
def few_permutations(monkeypatch):
    monkeypatch.setattr("protobandit.result.drift._N_PERMUTATIONS", 199)


def test_the_p_value_is_uniform_for_exchangeable_distances(few_permutations):
    random = np.random.default_rng(0)
    p_values = [
        permutation_p_value(random.pareto(1.5, 30), random.pareto(1.5, 60), random)
        for _ in range(100)
    ]
    assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.11
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.1)


def test_false_alarms_are_rare_although_prototypes_fit_their_rows(few_permutations):
    """Ten rows per prototype. Without the correction of the reference, all of these are alarms."""
    alarms, naive = [], []
    for seed in range(16):
        random = np.random.default_rng(seed)
        chosen = pb.select(random.normal(size=(200, 2)), k=20, random_state=seed, n_jobs=1)
        new = random.normal(size=(500, 2))
        alarms.append(chosen.drift(new, n_jobs=1).p_value < 0.05)
        own = chosen.assign(chosen.problem.target).distances
        other = chosen.assign(new).distances
        naive.append(permutation_p_value(other, own, random) < 0.05)
    assert sum(alarms) <= 3
    assert sum(naive) == 16


def test_a_prefix_has_another_reference(selection):
    assert selection.at(3).reference is None
    assert selection.certified().reference is selection.reference
