"""Update a selection with new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import brute
import protobandit as pb


@pytest.fixture
def old():
    return brute.normal(200, 2)


@pytest.fixture
def new():
    """Half of the rows lie in a new cluster."""
    return np.concatenate([brute.normal(50, 2, seed=1), 20 + brute.normal(50, 2, seed=2)])


def cost(selection, rows):
    return selection.assign(rows).distances.astype(np.float64).mean()


@pytest.fixture
def selection(old):
    return pb.select(old, k=10, random_state=0, n_jobs=1)


@pytest.mark.parametrize("keep", [0, 0.5, 0.8, 1])
def test_enough_prototypes_stay_and_the_cost_falls(selection, old, new, keep):
    both = np.concatenate([old, new])
    updated = selection.updated(new, keep=keep, random_state=0)
    n_kept = len(set(updated.indices) & set(selection.indices))
    assert updated.k == 10
    assert n_kept >= keep * 10
    assert updated.cost == pytest.approx(cost(updated, both))
    assert updated.cost <= cost(selection, both) + 1e-12
    np.testing.assert_allclose(updated.prototypes, both[updated.indices])
    assert updated.mass.sum() == pytest.approx(1)
    assert f"kept {n_kept} of 10 prototypes and added {10 - n_kept}" in updated.status
    if keep < 1:
        scratch = pb.select(both, k=10, random_state=0)
        assert updated.cost < 1.1 * scratch.cost < 0.5 * cost(selection, both)


def test_more_and_fewer_prototypes(selection, old, new):
    more = selection.updated(new, k=14, keep=1, random_state=0)
    assert set(selection.indices) < set(more.indices)
    fewer = selection.updated(new, k=7, keep=0.5, random_state=0)
    assert fewer.k == 7
    assert len(set(fewer.indices) & set(selection.indices)) >= 5
    with pytest.raises(pb.InvalidInput, match="k=7 is less than the 8 of 10 prototypes"):
        selection.updated(new, k=7)
    with pytest.raises(pb.InvalidInput, match="keep=2 is not allowed"):
        selection.updated(new, keep=2)


def test_the_result_is_a_selection_like_others(selection, old, new):
    updated = selection.updated(new, random_state=0)
    again = pb.Selection.from_json(updated.to_json()).attached(np.concatenate([old, new]))
    assert again.certify(n_jobs=1).cost_ratio >= 1
    twice = updated.updated(new + 5, random_state=0)
    assert twice.problem.n_source == 400
    assert not updated.drift(np.concatenate([old, new])).is_significant


def test_samples_of_a_large_problem(monkeypatch, selection, old, new):
    """The same, if only samples of source and target take part."""
    monkeypatch.setattr("protobandit.run.update._PAIRS", 1000)
    monkeypatch.setattr("protobandit.run.update._LEAST_ROWS", 100)
    monkeypatch.setattr("protobandit.run.update._LEAST_CANDIDATES", 40)
    both = np.concatenate([old, new])
    updated = selection.updated(new, random_state=0)
    assert len(set(updated.indices) & set(selection.indices)) >= 8
    assert updated.cost == pytest.approx(cost(updated, both))
    assert updated.cost < 0.5 * cost(selection, both)
    assert "exact over all 300 target rows" in updated.status
    assert updated.evaluations >= 10 * 300
    repeated = selection.updated(new, random_state=0, n_jobs=2)
    assert repeated.indices.tolist() == updated.indices.tolist()


def test_the_share_of_new_rows(selection, old):
    """New rows that hardly count change nothing; new rows that count almost alone change much."""
    new = 20 + brute.normal(100, 2, seed=2)
    light = selection.updated(new, keep=0, share=1e-6, random_state=0)
    heavy = selection.updated(new, keep=0, share=0.999, random_state=0)
    assert (light.indices < 200).all()
    assert (heavy.indices >= 200).sum() >= 8
    with pytest.raises(pb.InvalidInput, match="share=1 is not allowed"):
        selection.updated(new, share=1)


def test_weights_of_new_rows(selection, new):
    ignored = selection.updated(new, keep=0, weights=np.r_[np.ones(50), np.zeros(50)])
    assert (ignored.indices < 250).all()


def test_a_separate_target_gets_the_new_rows(old, new):
    selection = pb.select(old, brute.normal(80, 2, seed=3), k=5, random_state=0)
    updated = selection.updated(new, random_state=0)
    assert (updated.problem.n_source, updated.problem.n_target) == (200, 180)
    assert (updated.indices < 200).all()


@pytest.mark.parametrize(
    ("rows", "more", "options"),
    [
        (sparse.csr_array(brute.whole(40, top=3)), sparse.csr_array(brute.whole(9, top=3)), {}),
        ([f"word{i % 7}" for i in range(30)], ["other"] * 9, {"metric": "levenshtein"}),
        (
            np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0))),
            np.full((9, 30), 3.0),
            {"metric": "precomputed"},
        ),
        (
            brute.normal(40).astype(np.float32),
            brute.normal(9),
            {"preparation": pb.Preparation(standardize=True)},
        ),
        (brute.normal(40), brute.normal(9), {"constraints": pb.Constraints(fixed=[3, 30])}),
    ],
    ids=["sparse", "texts", "precomputed", "prepared", "fixed"],
)
def test_rows_of_other_kinds(rows, more, options):
    selection = pb.select(rows, k=5, random_state=0, **options)
    updated = selection.updated(more, random_state=0)
    assert updated.k == 5
    assert len(set(updated.indices) & set(selection.indices)) >= 4
    if "constraints" in options:
        assert {3, 30} <= set(updated.indices)


def test_what_cannot_be_updated(selection, old, new):
    loaded = pb.Selection.from_json(selection.to_json())
    with pytest.raises(pb.NotAvailable, match=r"selection\.attached\(source, target\)"):
        loaded.updated(new)
    classes = pb.select(old, k=4, by=["a", "b"] * 100)
    with pytest.raises(pb.InvalidInput, match="class by class"):
        classes.updated(new)
    quotas = pb.Constraints(groups=["a", "b"] * 100, at_least=1)
    with pytest.raises(pb.InvalidInput, match="quotas, costs or a minimum"):
        pb.select(old, k=4, constraints=quotas).updated(new)
    with pytest.raises(pb.InvalidInput, match="rows do not fit this selection"):
        selection.updated(brute.normal(5, 3))


def test_fixed_rows_stay_also_after_loading(old, new):
    selection = pb.select(old, k=5, constraints=pb.Constraints(fixed=[7, 3]), random_state=0)
    assert selection.fixed == (7, 3)
    loaded = pb.Selection.from_json(selection.to_json())
    assert loaded.fixed == (7, 3)
    assert loaded.to_frame()["is_fixed"].tolist() == [True, True, False, False, False]
    for each in (selection, loaded.attached(old)):
        updated = each.updated(new, keep=0, random_state=0)
        assert {7, 3} <= set(updated.indices)
        assert updated.fixed == (7, 3)
        assert {7, 3} <= set(updated.updated(new + 9, keep=0, random_state=0).indices)


def test_lost_constraints_are_refused(old, new):
    quotas = pb.Constraints(groups=["a", "b"] * 100, at_least=1)
    selection = pb.select(old, k=4, constraints=quotas)
    loaded = pb.Selection.from_json(selection.to_json()).attached(old)
    with pytest.raises(pb.InvalidInput, match=r"not saved with it: groups\. Select again"):
        loaded.updated(new)
    with pytest.raises(pb.InvalidInput, match="not saved with it: groups"):
        loaded.extended(6)
    assert selection.extended(6).k == 6
