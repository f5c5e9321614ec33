"""What a reader must know of the findings is said, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report.exhibit import RowDisplay
from protobandit.result.report.findings import report_data as make_findings

ROWS = np.random.default_rng(0).normal(size=(60, 2))
SELECTION = pb.select(ROWS, k=12, method="lazygreedy")


def notes(selection=SELECTION, *, labels=None, **options):
    look = RowDisplay(kind="texts", take=lambda ids: ["x" for _ in ids], labels=labels)
    options = {"layout": "pca", **options}
    return make_findings(selection, ROWS, source=look, target=look, **options).notes


def test_of_a_whole_target_nothing_is_said():
    assert notes() == ()
    assert notes(replace(SELECTION, cost_error=0.1)) == ()


def test_a_sample_is_said_to_be_one():
    assert notes(n_sample=20) == (
        "Members, distances and worst-covered rows are those of 20 target rows drawn at random "
        "from 60.",
    )
    assert notes(n_sample=20, labels=["a"] * 60) == (
        "Members, distances, worst-covered rows and how many carry their prototype's label are "
        "those of 20 target rows drawn at random from 60.",
    )


@pytest.mark.parametrize("error", [0.1, np.nan])
def test_a_mass_that_is_an_estimate_is_said_to_be_one(error):
    assert any(
        note.startswith("The share of the target that a prototype stands for is an estimate")
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


def test_criticisms_beyond_the_first_are_said_to_be_left_out(monkeypatch):
    monkeypatch.setattr("protobandit.result.report.findings._MOST_CRITICISMS", 2)
    assert notes(replace(SELECTION, criticisms=np.array([5, 3, 1]))) == (
        "The first 2 of 3 criticisms are shown.",
    )
