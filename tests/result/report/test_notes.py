"""Notes appear exactly where they apply."""

from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay

ROWS = np.random.default_rng(0).normal(size=(60, 2))
SELECTION = pb.select(ROWS, k=12, method="lazygreedy")


def notes(selection=SELECTION, *, labels=None, **options):
    display = RowDisplay(kind="texts", take=lambda ids: ["x" for _ in ids], labels=labels)
    options = {"layout": "pca", **options}
    return report_data(selection, ROWS, source=display, target=display, **options).notes


def test_a_whole_target_needs_no_notes():
    assert notes() == ()
    assert notes(replace(SELECTION, cost_error=0.1)) == ()


def test_a_sample_is_noted():
    assert notes(n_sample=20) == (
        "Members, distances and worst-covered rows are computed from 20 target rows drawn at "
        "random from 60.",
    )
    assert notes(n_sample=20, labels=["a"] * 60) == (
        "Members, distances, worst-covered rows and label agreement are computed from 20 target "
        "rows drawn at random from 60.",
    )


@pytest.mark.parametrize("error", [0.1, np.nan])
def test_estimated_mass_is_noted(error):
    assert any(
        note.startswith("The share of the target that each prototype represents is an estimate")
        for note in notes(replace(SELECTION, cost_error=error), n_sample=20)
    )


def test_rows_without_weight_or_label_are_counted():
    weights, labels = np.ones(60), np.array(["a"] * 60, dtype=object)
    weights[:3], labels[[0, 10, 20]] = 0, None
    assert notes(weights=weights, labels=labels) == (
        "3 target rows of weight 0 are left out.",
        "2 target rows have no label and are left out where labels are compared.",
    )
    weights, labels = np.ones(60), np.array(["a"] * 60, dtype=object)
    weights[0], labels[10] = 0, None
    assert notes(weights=weights, labels=labels) == (
        "1 target row of weight 0 is left out.",
        "1 target row has no label and is left out where labels are compared.",
    )


def test_criticisms_that_are_left_out_are_noted(monkeypatch):
    monkeypatch.setattr("protobandit.result.report.report_data._MOST_CRITICISMS", 2)
    assert notes(replace(SELECTION, criticisms=np.array([5, 3, 1]))) == (
        "The first 2 of 3 criticisms are shown.",
    )
