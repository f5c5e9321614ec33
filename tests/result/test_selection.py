"""The `Selection` itself: its repr, and that it is frozen."""

from __future__ import annotations

import numpy as np
import pytest

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
