"""Calls that are compared with the call that a checkpoint belongs to."""

from __future__ import annotations

import re

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import LazyGreedy
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
