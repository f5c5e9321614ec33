"""Calls that are compared with the call that a checkpoint belongs to."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import LazyGreedy
from protobandit.problem.posing import pose
from protobandit.rows.convert import as_rows
from protobandit.run.checkpoint import identity as identity_module
from protobandit.run.checkpoint.identity import digest, identity_of
from watched import N_TARGET, SOURCE, TARGET, WEIGHTS, call, outcome, resumed

OTHERS = {
    "k": {"k": 5},
    "source": {"source": SOURCE + np.float32(1)},
    "target": {"target": TARGET[::-1].copy()},
    "weights": {"weights": WEIGHTS},
    "metric": {"metric": "manhattan"},
    "method": {"method": LazyGreedy(r=2)},
    "random_state": {"random_state": 4},
    "constraints": {"constraints": pb.Constraints(fixed=[1])},
    "until": {"until": pb.MinGain(0.5)},
    "limits": {"limits": pb.Limits(evaluations=10**9)},
    "by": {"source": TARGET, "target": None, "by": np.arange(N_TARGET) % 2},
}
MESSAGES = {
    "k": "another k: 4, not 5",
    "source": "other source rows",
    "target": "other target rows",
    "weights": "other weights",
    "metric": "another metric: 'euclidean', not 'manhattan'",
    "method": "another method: 'lazygreedy' memoize='auto', r=1, not",
    "random_state": "another random_state",
    "constraints": "other constraints",
    "until": "another until: None, not MinGain",
    "limits": "another limits: evaluations=None, memory=None, not evaluations=1000000000",
    "by": "other classes",
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_call_is_refused_and_the_message_states_the_difference(name, tmp_path):
    path = tmp_path / "search"
    resumed(call("lazygreedy"), path)
    before = path.read_bytes()
    with pytest.raises(pb.InvalidInput, match="belongs to another call: ") as refused:
        resumed({**call("lazygreedy"), **OTHERS[name]}, path)
    assert MESSAGES[name] in str(refused.value)
    assert not re.search(r"[0-9a-f]{16}", str(refused.value).replace(str(path), "")), "no digests"
    assert path.read_bytes() == before


def test_a_users_function_with_the_name_of_a_metric_is_another_metric(tmp_path):
    def euclidean(a, b):
        return np.zeros((len(a), len(b)))

    resumed(call("lazygreedy"), tmp_path / "search")
    with pytest.raises(
        pb.InvalidInput, match=r"another metric: 'euclidean', not 'euclidean \(your"
    ):
        resumed({**call("lazygreedy"), "metric": pb.block_metric(euclidean)}, tmp_path / "search")


def test_a_users_kernel_with_the_name_of_a_kernel_is_another_method(tmp_path):
    def rbf(a, b):
        return np.exp(-np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2))

    arguments = call("mmd-critic")
    resumed(arguments, tmp_path / "search")
    with pytest.raises(pb.InvalidInput, match="another method"):
        resumed({**arguments, "method": pb.methods.MMDCritic(kernel=rbf)}, tmp_path / "search")


def test_threads_time_and_listeners_may_differ(tmp_path):
    arguments, path = call("lazygreedy"), tmp_path / "search"
    whole = resumed(arguments, path)
    others = {"n_jobs": 2, "limits": pb.Limits(seconds=100), "progress": lambda progress: None}
    assert outcome(resumed({**arguments, **others}, path)) == outcome(whole)


# -- every part of an identity --------------------------------------------------------------------


def identity(problem=None, method=("lazygreedy", {}), limits=None, **changes):
    """Return the identity of a small call in which some fields of the problem are changed."""
    changed = replace(PROBLEM if problem is None else problem, **changes)
    return identity_of(changed, {"source": "1", "target": "2"}, method, limits or pb.Limits())


PROBLEM = pose(
    SOURCE[:6],
    TARGET[:9],
    k=2,
    constraints=pb.Constraints(
        groups=list("aabbcc"), at_least={"a": 1}, at_most={"b": 1}, fixed=[0]
    ),
)
# Each array or number of the constraints, and another value of it.
CONSTRAINTS = {
    "fixed": np.array([1]),
    "groups": np.array([0, 0, 1, 1, 2, 1]),
    "least": np.array([0, 1, 0]),
    "most": np.array([2, 2, 2]),
    "prices": np.arange(6.0),
    "budget": 4.0,
    "min_distance": 0.5,
}


def test_every_constraint_is_part_of_the_identity():
    """Quotas, prices and the budget too: only the names of groups and the remark may differ."""
    first = PROBLEM.feasibility
    assert {field.name for field in fields(first)} == {*CONSTRAINTS, "names", "remark"}
    found = [identity()["constraints"]]
    for name, value in CONSTRAINTS.items():
        feasibility = replace(first, **{name: value})
        found.append(identity(feasibility=feasibility)["constraints"])
    assert len(set(found)) == len(found)
    assert identity(feasibility=replace(first, names=("x", "y", "z"))) == identity()


@pytest.mark.parametrize("name", ["prices", "budget"])
def test_another_price_or_budget_is_another_call(name):
    priced = replace(PROBLEM.feasibility, prices=np.ones(6), budget=3.0)
    other = replace(priced, **{name: CONSTRAINTS[name]})
    one, another = (identity(feasibility=each)["constraints"] for each in (priced, other))
    assert one != another


class Scale:
    """A preparation that differs by one number."""

    def __init__(self, factor):
        self.factor = factor

    def to_document(self):
        return {"kind": "scale", "factor": self.factor}


class Reordered(Scale):
    def to_document(self):
        return {"factor": self.factor, "kind": "scale"}


def test_the_order_of_the_parts_of_a_preparation_does_not_matter():
    assert identity(preparation=Scale(1)) == identity(preparation=Reordered(1))


# Pairs of calls that differ in one part, and the name of that part.
PAIRS = {
    "k": ({}, {"k": 3}),
    "weights": ({}, {"weights": np.arange(1.0, 10)}),
    "metric": (
        {"metric": pb.metric("minkowski", {"p": 3})},
        {"metric": pb.metric("minkowski", {"p": 4})},
    ),
    "preparation": ({"preparation": Scale(1)}, {"preparation": Scale(2)}),
    "until": ({"goal": pb.MinGain(0.5)}, {"goal": pb.MinGain(0.25)}),
    "stream": ({}, {"stream": object()}),
    "dtype": ({}, {"target": as_rows(TARGET[:9].astype(float), name="target")}),
    "method": (
        {"method": ("clara", {"n": 1, "init": np.array([1, 2])})},
        {"method": ("clara", {"n": 1, "init": np.array([2, 1])})},
    ),
    "limits": ({"limits": pb.Limits(memory=10**9)}, {"limits": pb.Limits(memory=10**10)}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_identities_differ_in_the_part_that_differs(name):
    one, other = (identity(**each) for each in PAIRS[name])
    assert {each for each in one if one[each] != other[each]} == {name}
    assert one.keys() == other.keys()


def test_an_identity_has_all_parts_and_no_others(monkeypatch):
    parts = {"protobandit", "source", "target", "constraints", *PAIRS}
    first = identity()
    assert set(first) == parts
    assert (first["source"], first["target"]) == ("1", "2")
    assert (first["weights"], first["preparation"], first["stream"]) == ("none",) * 3
    assert first["constraints"] != "none"
    monkeypatch.setattr(identity_module, "__version__", "0.0.0")
    assert {each for each in parts if identity()[each] != first[each]} == {"protobandit"}


def test_time_is_not_part_of_the_identity():
    assert identity(limits=pb.Limits(seconds=3)) == identity()


def test_the_text_of_a_value_is_the_same_in_every_process():
    method = ("m", {"b": (1, [2.5, None]), "a": np.float32(0.5), "f": np.sort, "e": ()})
    assert identity(method=method)["method"] == "'m' a=0.5, b=1 2.5 None, e=, f=sort"
    method = ("m", {"parts": {"a": 1, 0: 2}, "kernel": partial(max, 1)})
    assert identity(method=method)["method"] == "'m' kernel=partial, parts=0=2, a=1"


def test_digests_tell_arrays_of_other_types_and_shapes_apart():
    numbers = np.arange(6)
    others = [numbers, numbers.astype(np.uint64), numbers.reshape(2, 3), numbers[::-1]]
    assert len({digest(each) for each in others}) == 4
    columns = np.asfortranarray(numbers.reshape(2, 3))
    assert digest(columns) == digest(numbers.reshape(2, 3))
    assert digest(None, None) == "none"
    assert digest(None, 1) != digest(None, 2) != "none"
    assert re.fullmatch("[0-9a-f]{16}", digest(1))
