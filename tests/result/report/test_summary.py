"""The facts of a selection: what distances mean, how it was restricted, what is certain."""

from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report.summary import describe

ROWS = np.random.default_rng(0).normal(size=(40, 3))


def about(selection):
    return describe(selection, n_source=None, n_target=40, command="")


def test_a_metric_is_told_with_its_parameters():
    assert about(pb.select(ROWS, k=2)).metric == "euclidean"
    assert about(pb.select(ROWS, k=2, metric=pb.metric("minkowski", {"p": 3}))).metric == (
        "minkowski (p=3)"
    )
    weights = pb.metric("seuclidean", {"V": np.array([1.0, 2.0, 3.0])})
    assert about(pb.select(ROWS, k=2, metric=weights)).metric == (
        "seuclidean (V=numbers of shape (3,))"
    )


def test_a_loaded_metric_of_the_users_own_is_a_name():
    def steps(a, b):
        return float(np.abs(a - b).sum())

    loaded = pb.Selection.from_json(pb.select(ROWS, k=2, metric=steps).to_json())
    assert about(loaded).metric == "steps"


def test_what_rows_went_through_is_told():
    assert about(pb.select(ROWS, k=2)).preparation == ""
    prepared = pb.select(ROWS, k=2, preparation=pb.Preparation(standardize=True))
    assert about(prepared).preparation.startswith("Rows were prepared (standardize=True)")


def test_classes_are_told():
    assert about(pb.select(ROWS, k=2)).classes == ""
    by_class = pb.select(ROWS, k=4, by=["a", "b"] * 20)
    assert about(by_class).classes == (
        "Prototypes were chosen class by class (by=), for 2 classes."
    )


def test_what_was_spent_is_told_with_the_budget():
    feasibility = pb.Constraints(costs=np.full(40, 2.5), budget=8)
    selection = pb.select(ROWS, k=None, constraints=feasibility)
    assert about(selection).spent == "7.5 of a budget of 8"
    assert about(replace(selection, problem=None)).spent == "7.5"
    assert about(pb.select(ROWS, k=2)).spent == ""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("exact", "for certain"),
        ("rigorous", "with probability ≥ 0.95"),
        ("asymptotic", "with probability of about 0.95"),
    ],
)
def test_a_certificate_says_how_sure_it_is(kind, said):
    selection = pb.select(ROWS, k=2).certified()
    assert about(selection).certainty == "for certain"
    confidence = 1.0 if kind == "exact" else 0.95
    certificate = replace(selection.certificate, kind=kind, confidence=confidence)
    assert about(replace(selection, certificate=certificate)).certainty == said
    assert about(pb.select(ROWS, k=2)).certainty == ""
