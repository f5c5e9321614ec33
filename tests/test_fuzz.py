"""The fuzzer: a few seconds of it, and proof that its judge can fail."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.fuzz import distances as definitions
from benchmarks.fuzz.attempts import Planned, Report
from benchmarks.fuzz.batches import run_batch
from benchmarks.fuzz.cases import KINDS, VERDICTS, Outcome, kind_of, run_case
from benchmarks.fuzz.judge import Truth, compared, judged, judged_assignment, judged_certificate
from benchmarks.fuzz.summary import Summary

import brute
import protobandit as pb

SEED, N_CASES = 0, 70

ROWS = brute.whole(12, seed=1)
D = definitions.distances("euclidean", ROWS, ROWS)
GROUPS = np.arange(12) % 2


def truth(**changes):
    return Truth(D, np.ones(12), 3, precision=2.0**-53, **changes)


def selected(method="lazygreedy", **arguments):
    return pb.select(ROWS, k=3, method=method, random_state=0, **arguments)


def test_cases_of_a_fixed_seed_pass():
    outcomes = list(run_batch(SEED, range(N_CASES)))
    assert [outcome.number for outcome in outcomes] == list(range(N_CASES))
    assert {outcome.kind for outcome in outcomes} == set(KINDS)
    failed = [outcome for outcome in outcomes if outcome.complaints]
    assert not failed, failed
    verdicts = [outcome.verdict for outcome in outcomes]
    assert min(verdicts.count("accepted"), verdicts.count("refused")) > N_CASES // 4


def test_a_case_follows_from_its_seed_and_number():
    for kind in ("numbers", "hostile call"):
        assert run_case(SEED, 5, kind=kind) == run_case(SEED, 5, kind=kind)
    assert len({kind_of(SEED, number) for number in range(N_CASES)}) == len(KINDS)


_CRASHING = """
import os, sys
from benchmarks.fuzz import __main__, cases

def crash(random, report):
    if random.random() < 0.3:
        os.abort()

for name in cases.KINDS:
    cases.KINDS[name] = (crash, 1)
sys.exit(__main__.main())
"""


def test_a_crash_is_attributed_to_its_case():
    expected = [np.random.default_rng([SEED, n, 1]).random() < 0.3 for n in range(6)]
    assert 0 < sum(expected) < 6, "the seed must give both"
    program = (sys.executable, "-c", _CRASHING)
    outcomes = list(run_batch(SEED, range(6), program=program))
    assert [outcome.number for outcome in outcomes] == list(range(6))
    assert [bool(outcome.complaints) for outcome in outcomes] == expected
    assert all("ended with code" in each.complaints[0] for each in outcomes if each.complaints)


# -- the judge ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(brute.DEFINITIONS) & set(definitions.DEFINITIONS)))
def test_the_definitions_of_the_judge(name):
    target, source = brute.rows_for(name, 7, seed=1), brute.rows_for(name, 5, seed=2)
    expected = brute.distances(brute.DEFINITIONS[name], target, source)
    found = definitions.distances(name, target, source).astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_judge_accepts_what_is_right():
    for method in ("lazygreedy", "fasterpam", "auto"):
        assert judged(selected(method), truth()) == []
    certificate = selected().certify()
    assert judged_certificate(certificate, selected().indices, truth()) == []


def swapped(selection, slot, row):
    """Return the selection with another row, and the costs that belong to it."""
    indices = selection.indices.copy()
    indices[slot] = row
    costs = truth().costs(indices).astype(float)
    mass = brute.mass(D, np.ones(12), indices.tolist())
    return replace(selection, indices=indices, costs=costs, mass=mass)


def last_choice(selection):
    """Return the worst row that could have been chosen last."""
    others = np.setdiff1d(np.arange(12), selection.indices)
    costs = [truth().costs([*selection.indices[:2], i])[-1] for i in others]
    return int(others[np.argmax(costs)])


BROKEN = {
    "a repeated row": (lambda s: swapped(s, 2, s.indices[0]), {}, "not distinct"),
    "a row that does not exist": (lambda s: replace(s, indices=s.indices + 12), {}, "not rows"),
    "too few rows": (lambda s: s.at(2), {}, "2 prototypes where k=3"),
    "too short a field": (lambda s: replace(s, mass=s.mass[:2]), {}, "lengths"),
    "a wrong cost": (lambda s: replace(s, costs=s.costs * (1 + 1e-9)), {}, "differ"),
    "a cost that is NaN": (lambda s: replace(s, costs=s.costs * np.nan), {}, "not numbers"),
    "costs that grow": (lambda s: replace(s, costs=s.costs[::-1]), {}, "grow"),
    "a wrong estimate": (
        lambda s: replace(s, costs=s.costs * 2, cost_error=0.001),
        {},
        "is true",
    ),
    "a wrong mass": (lambda s: replace(s, mass=s.mass[[1, 2, 0]]), {}, "mass"),
    "a mass above 1": (lambda s: replace(s, mass=s.mass * 2), {}, "sum to 1"),
    "a bad pick": (lambda s: swapped(s, 2, last_choice(s)), {}, "pick 2"),
    "a fixed row that is missing": (lambda s: s, {"fixed": [11]}, "fixed rows"),
    "a quota that is exceeded": (
        lambda s: s,
        {"groups": GROUPS, "least": np.zeros(2, int), "most": np.array([1, 1])},
        "counts",
    ),
    "a budget that is exceeded": (
        lambda s: replace(s, spent=3.0),
        {"prices": np.ones(12), "budget": 2.5},
        "above the budget",
    ),
    "a wrong sum of prices": (
        lambda s: replace(s, spent=2.0),
        {"prices": np.ones(12), "budget": 5.0},
        "spent=2.0",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_judge_detects(name):
    broken, changes, complaint = BROKEN[name]
    found = judged(broken(selected()), truth(**changes))
    assert complaint in " ".join(found)


def test_the_judge_detects_a_swap_that_was_missed():
    selection = selected("fasterpam")
    assert selection.passes.gain_bound is not None
    found = judged(swapped(selection, 2, last_choice(selection)), truth())
    assert "lowers the cost" in " ".join(found)


def test_the_judge_detects_a_guarantee_that_is_broken():
    selection = selected("fasterpam")
    guarantee = replace(selection.guarantee, cost_factor=0.5)
    assert "guarantee" in " ".join(judged(replace(selection, guarantee=guarantee), truth()))


def test_the_judge_detects_wrong_certificates():
    selection, certificate = selected("random"), selected("random").certify()
    for changes, complaint in (
        ({"cost_bound": certificate.cost_bound * 1.2}, "as a bound"),
        ({"cost_ratio": 1.0}, "certified ratio 1.0"),
        ({"cost_ratio": 0.9}, "below 1"),
    ):
        found = judged_certificate(replace(certificate, **changes), selection.indices, truth())
        assert complaint in " ".join(found)


def test_the_judge_detects_wrong_assignments():
    columns = D[:, selected().indices]
    labels, nearest = columns.argmin(axis=1), columns.min(axis=1)
    assert judged_assignment(labels, nearest, columns, truth()) == []
    for found in (
        judged_assignment((labels + 1) % 3, nearest, columns, truth()),
        judged_assignment(labels, nearest + 1e-6, columns, truth()),
        judged_assignment(labels + 9, nearest, columns, truth()),
        judged_assignment(labels[:5], nearest, columns, truth()),
    ):
        assert len(found) == 1


def test_the_judge_compares_bits():
    one = selected()
    assert compared(one, selected(n_jobs=3), "threads") == []
    other = replace(one, costs=np.nextafter(one.costs, 0), evaluations_by_phase={"build": 1})
    assert [each.split(":")[0] for each in compared(one, other, "x")] == [
        "x changes costs",
        "x changes the counts",
    ]


# -- errors and warnings --------------------------------------------------------------------------


def raising(error):
    def call():
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        (ValueError("bad."), "ValueError from"),
        (IndexError("bad."), "IndexError from"),
        (pb.ProtobanditError("bad."), "ProtobanditError from"),
        (pb.InvalidInput("no full stop"), "without a full stop"),
        (pb.InvalidInput("long " * 200 + "."), "1001 characters"),
    ],
)
def test_errors_that_are_not_allowed(error, complaint):
    report = Report()
    assert report.made(raising(error)) is None
    assert len(report.complaints) == 1
    assert complaint in report.complaints[0]


def test_control_characters_are_not_allowed(monkeypatch):
    monkeypatch.setattr(pb.ProtobanditError, "__str__", Exception.__str__)  # which escapes them
    report = Report()
    report.made(raising(pb.InvalidInput("\x1b[31m.")))
    assert "control characters" in report.complaints[0]


def test_errors_that_are_allowed():
    report = Report()
    report.made(raising(pb.NotAvailable("Not here.")))
    report.made(raising(Planned()))
    report.made(lambda: pb.KMedoids(2).fit([[np.nan]]), errors_of="sklearn")
    assert report.complaints == []
    assert report.refusal


def test_refusals_of_ordinary_calls_and_leaked_warnings():
    report = Report()
    report.made(raising(pb.InvalidInput("No.")), is_due=True)
    report.made(lambda: warnings.warn("odd", RuntimeWarning, stacklevel=1))
    report.made(lambda: warnings.warn("odd", UserWarning, stacklevel=1), expected=(UserWarning,))
    assert [each.split()[0] for each in report.complaints] == ["refused", "leaked"]


def test_the_summary_counts_by_kind_and_lists_failures():
    summary = Summary(3)
    for outcome in (
        Outcome(0, "texts"),
        Outcome(1, "texts", refusal="No."),
        Outcome(2, "file", complaints=["cost 1.5 is wrong"]),
        Outcome(7, "file", complaints=["cost 2.5 is wrong"]),
    ):
        summary.add(outcome)
    text = str(summary).splitlines()
    assert [line.split() for line in text[:4]] == [
        ["kind", *VERDICTS],
        ["file", "0", "0", "2"],
        ["texts", "1", "1", "0"],
        ["all", "1", "1", "2"],
    ]
    assert "2 times: cost # is wrong" in text
    assert any("--seed 3 --case 7" in line for line in text)


def test_evaluations_must_equal_the_calls_of_the_metric(monkeypatch):
    from benchmarks.fuzz import selecting

    monkeypatch.setattr(
        selecting.Counted, "calls", property(lambda self: 7, lambda *_: None), False
    )
    found = [run_case(SEED, number, kind="own metric") for number in range(4)]
    assert any("where the metric computed 7" in each for case in found for each in case.complaints)
