"""The `Selection` itself: its repr, that it is frozen, attached rows, and rows to take."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import brute
import protobandit as pb


@pytest.fixture
def rows():
    return brute.normal(30, 3)


@pytest.fixture
def selection(rows):
    return pb.select(rows, brute.normal(50, 3, seed=1), k=4, weights=np.arange(1, 51))


def test_repr_shows_the_facts(selection):
    shown = repr(selection)
    assert "4 prototypes by lazybandit (euclidean)" in shown
    assert ", ".join(map(str, selection.indices)) in shown
    assert f"{selection.cost:.6g}" in shown
    assert f"{selection.evaluations:,} ({selection.lookups:,} lookups)" in shown
    assert "f >= (1 - 1/e) f*" in shown
    assert selection.status in shown
    assert "±" not in shown


def test_repr_shows_the_evaluations_of_the_certificate_separately(selection):
    certified = selection.certified()
    more = certified.evaluations - selection.evaluations
    assert more > 0
    line = f"evaluations  {selection.evaluations:,} (+ {more:,} for the certificate, "
    assert line in repr(certified)


def test_repr_of_a_sampled_run_shows_its_error_and_few_indices():
    chosen = pb.select(brute.normal(20), brute.normal(5000, seed=1), k=10, method="random")
    shown = repr(chosen)
    assert f"± {chosen.cost_error:.2g}" in shown
    assert ", …" in shown
    assert str(chosen.indices[7]) in shown
    assert "guarantee    none" in shown


def test_a_selection_is_frozen(selection):
    with pytest.raises(AttributeError):
        selection.status = "better"


def test_take_keeps_index_and_columns_of_a_frame(rows, selection):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], index=[f"row {i}" for i in range(30)])
    taken = selection.take(frame)
    assert list(taken.columns) == ["a", "b", "c"]
    assert taken.index.tolist() == [f"row {i}" for i in selection.indices]
    assert (taken.to_numpy() == rows[selection.indices]).all()
    assert selection.take(frame["b"]).tolist() == rows[selection.indices, 1].tolist()


def test_take_keeps_the_type(rows, selection):
    chosen = selection.indices.tolist()
    polars = selection.take(pl.DataFrame(rows, schema=["a", "b", "c"]))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["a", "b", "c"]
    assert (polars.to_numpy() == rows[chosen]).all()
    assert (selection.take(rows) == rows[chosen]).all()
    assert (selection.take(rows[:, 0]) == rows[chosen, 0]).all()
    assert selection.take(list(range(30))) == chosen
    assert selection.take(tuple(range(30))) == chosen
    assert (selection.take(sparse.csr_array(rows)).toarray() == rows[chosen]).all()
    assert selection.take(pl.Series(range(30))).to_list() == chosen


def reloaded(selection, **options):
    return pb.Selection.from_json(selection.to_json(), **options)


def test_rows_can_be_attached_to_a_loaded_selection():
    rows, target = np.random.default_rng(0).normal(size=(2, 50, 3))
    weights = np.arange(50.0)
    made = pb.select(rows, target, k=4, weights=weights, method="lazygreedy")
    loaded = reloaded(made)
    attached = loaded.attached(rows, target, weights=weights)
    assert loaded.problem is None
    assert attached.members(1).tolist() == made.members(1).tolist()
    assert attached.certify() == made.certify()
    assert attached.extended(6).indices.tolist() == made.extended(6).indices.tolist()
    assert attached.at(2).mass.tolist() == made.at(2).mass.tolist()
    assert attached.to_json() == made.to_json()


def test_attached_rows_are_prepared():
    rows = np.random.default_rng(0).normal(size=(60, 3)) * [1, 100, 1]
    made = pb.select(rows, k=3, preparation=pb.Preparation(standardize=True))
    attached = reloaded(made).attached(rows)
    assert attached.members(0).tolist() == made.members(0).tolist()
    assert attached.certify() == made.certify()


@pytest.mark.parametrize("side", ["source", "target"])
def test_attaching_other_rows_raises(side):
    rows, target = np.random.default_rng(0).normal(size=(2, 50, 3))
    loaded = reloaded(pb.select(rows, target, k=2))
    given = {"source": rows, "target": target, side: rows + target}
    with pytest.raises(pb.InvalidInput, match=rf"{side} is not what this selection was made from"):
        loaded.attached(**given)
    with pytest.raises(pb.InvalidInput, match="target is not what"):
        loaded.attached(rows)


def test_a_user_metric_is_attached_with_the_rows():
    def gap(a, b):
        return abs(len(a) - len(b))

    words = ["a", "bb", "ccc", "dddddd", "eeeeeee"]
    made = pb.select(words, k=2, metric=gap)
    loaded = reloaded(made)
    with pytest.raises(pb.NotAvailable, match="your own metric 'gap'"):
        loaded.attached(words)
    with pytest.raises(pb.InvalidInput, match="metric='len' is not the 'gap'"):
        loaded.attached(words, metric=len)
    assert loaded.attached(words, metric=gap).members(0).tolist() == made.members(0).tolist()


def test_a_pickle_does_not_contain_the_rows_unless_asked():
    rows = brute.normal(5000, 20)
    selection = pb.select(rows, k=3, random_state=0)
    small = pickle.dumps(selection)
    assert len(small) < rows.nbytes / 20
    loaded = pickle.loads(small)
    assert loaded.problem is None
    assert loaded.assign(rows[:5]).labels.tolist() == selection.assign(rows[:5]).labels.tolist()
    whole = pickle.loads(pickle.dumps(selection.including_rows()))
    assert whole.members(0).tolist() == selection.members(0).tolist()
    assert copy.copy(selection).problem is selection.problem
    assert copy.deepcopy(selection).problem is selection.problem


def test_an_unknown_error_is_shown_as_such():
    """All rows that were drawn have the same distance; others may have another one."""
    rows = np.zeros((30_000, 1))
    rows[0] = 1.0
    fixed = pb.Constraints(fixed=[5])
    found = pb.select(rows, k=1, method="random", constraints=fixed, random_state=0)
    assert np.isnan(found.cost_error)
    assert "  cost         0 with unknown error\n" in repr(found)
    assert "cost 0 with unknown error</p>" in found._repr_html_()
    assert "nan" not in repr(found)


def test_gains_are_never_negative_zero():
    found = pb.select(np.zeros((30, 2)), k=4, random_state=0)
    assert found.gains[1:].tolist() == [0, 0, 0]
    assert not np.signbit(found.gains[1:]).any()


def test_sentences_about_one_row_are_singular():
    one = pb.select([[0.0], [1.0]], [[0.2]], k=1)
    assert one.status.startswith(
        "Selected 1 prototype; cost and mass are exact over the one target"
    )
    three = pb.select([[0.0], [1.0], [5.0]], k=3)
    assert three.at(1).status.startswith("The first of 3 prototypes. Selected 3")
    assert three.at(2).status.startswith("The first 2 of 3 prototypes. Selected 3")
