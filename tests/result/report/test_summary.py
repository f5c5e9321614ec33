"""The facts of a selection: metric, preparation, classes, budget, certificate."""

from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report.summary import summarize

ROWS = np.random.default_rng(0).normal(size=(40, 3))


def summary(selection):
    return summarize(selection, n_source=None, n_target=40, command="")


def test_a_metric_is_shown_with_its_parameters():
    assert summary(pb.select(ROWS, k=2)).metric == "euclidean"
    assert summary(pb.select(ROWS, k=2, metric=pb.metric("minkowski", {"p": 3}))).metric == (
        "minkowski (p=3)"
    )
    weights = pb.metric("seuclidean", {"V": np.array([1.0, 2.0, 3.0])})
    assert summary(pb.select(ROWS, k=2, metric=weights)).metric == (
        "seuclidean (V=numbers of shape (3,))"
    )


def test_a_loaded_user_metric_is_shown_by_name():
    def steps(a, b):
        return float(np.abs(a - b).sum())

    loaded = pb.Selection.from_json(pb.select(ROWS, k=2, metric=steps).to_json())
    assert summary(loaded).metric == "steps"


def test_the_preparation_is_shown():
    assert summary(pb.select(ROWS, k=2)).preparation == ""
    prepared = pb.select(ROWS, k=2, preparation=pb.Preparation(standardize=True))
    assert summary(prepared).preparation.startswith("Rows were prepared (standardize=True)")


def test_classes_are_shown():
    assert summary(pb.select(ROWS, k=2)).classes == ""
    by_class = pb.select(ROWS, k=4, by=["a", "b"] * 20)
    assert summary(by_class).classes == ("Prototypes were selected per class (by=), for 2 classes.")


def test_spent_is_shown_with_the_budget():
    feasibility = pb.Constraints(costs=np.full(40, 2.5), budget=8)
    selection = pb.select(ROWS, k=None, constraints=feasibility)
    assert summary(selection).spent == "7.5 of a budget of 8"
    assert summary(replace(selection, problem=None)).spent == "7.5"
    assert summary(pb.select(ROWS, k=2)).spent == ""


@pytest.mark.parametrize(
    ("kind", "confidence"),
    [
        ("exact", "for certain"),
        ("rigorous", "with probability ≥ 0.95"),
        ("asymptotic", "with probability of about 0.95"),
    ],
)
def test_a_certificate_is_shown_with_its_confidence(kind, confidence):
    selection = pb.select(ROWS, k=2).certified()
    assert summary(selection).confidence == "for certain"
    probability = 1.0 if kind == "exact" else 0.95
    certificate = replace(selection.certificate, kind=kind, confidence=probability)
    assert summary(replace(selection, certificate=certificate)).confidence == confidence
    assert summary(pb.select(ROWS, k=2)).confidence == ""
