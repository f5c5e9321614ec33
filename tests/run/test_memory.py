"""Plans and the available memory: what is refused, and what the message advises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import METHODS, LazyBandit, LazyGreedy, Refined
from protobandit.problem.limits import WORKING_BYTES
from protobandit.problem.posing import pose

ROWS = brute.normal(3000, 6)


@pytest.fixture
def available(monkeypatch):
    """Set the memory that is available; the machine's own does not matter."""

    def set_to(n_bytes):
        monkeypatch.setattr("protobandit.run.memory.available_memory", lambda: n_bytes)

    return set_to


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_plan_does_not_depend_on_the_available_memory(available, method):
    rows = brute.normal(60)
    plans = []
    for n_bytes in (1, 10**6, 10**15):
        available(n_bytes)
        plans.append(pb.plan(rows, k=3, method=method))
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.parametrize("method", [LazyBandit(), LazyGreedy(), Refined(swaps="local")], ids=repr)
def test_the_message_names_a_limit_that_works(available, method):
    needed = pb.plan(ROWS, k=5, method=method).memory
    available(needed)
    free = pb.select(ROWS, k=5, method=method, random_state=0)
    available(needed // 2)
    with pytest.raises(pb.InvalidInput, match=r"of memory for this problem, but") as refusal:
        pb.select(ROWS, k=5, method=method, random_state=0)
    assert re.search(r"Limits\(memory=(\d+)\), with which a smaller plan works", str(refusal.value))
    named = int(re.search(r"Limits\(memory=(\d+)\)", str(refusal.value)).group(1))
    assert pb.plan(ROWS, k=5, method=method, limits=pb.Limits(memory=named)).memory <= needed // 2
    chosen = pb.select(ROWS, k=5, method=method, random_state=0, limits=pb.Limits(memory=named))
    assert chosen.k == free.k == 5
    if isinstance(method, LazyBandit):
        assert WarningKind.ROWS_LEFT_OUT in {warning.kind for warning in chosen.warnings}


def test_a_method_without_a_smaller_plan_names_another(available):
    needed = pb.plan(ROWS, k=5, method="pam").memory
    available(needed - 1)
    with pytest.raises(
        pb.InvalidInput, match=r"Use method='lazybandit', which needs less; or pass"
    ):
        pb.select(ROWS, k=5, method="pam", random_state=0)
    # A limit is the user's own decision.
    limits = pb.Limits(memory=needed)
    assert pb.select(ROWS[:300], k=5, method="pam", limits=limits, random_state=0).k == 5


def test_a_resumed_run_follows_the_plan_of_its_limits(available, tmp_path):
    limits, checkpoint = pb.Limits(memory=4_000_000), pb.Checkpoint(tmp_path / "saved")
    plain = pb.select(ROWS, k=5, random_state=0, limits=limits)
    again = pb.select(ROWS, k=5, random_state=0, limits=limits, checkpoint=checkpoint)
    assert again.indices.tolist() == plain.indices.tolist()
    assert again.warnings == plain.warnings != ()


# -- Limits(memory) --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_limit_is_refused_with_one_that_works(name):
    source, target = brute.normal(3000, 4), brute.normal(30_000, 4, seed=1)
    method = METHODS[name]()
    problem = {"source": source, "target": target, "k": 400, "method": method}
    little = pb.Limits(memory=1)
    if method.schedule(pose(source, target, k=400), little).memory <= 1 + WORKING_BYTES:
        assert pb.plan(**problem, limits=little).memory <= 1 + WORKING_BYTES
        return  # nothing but working blocks
    with pytest.raises(pb.InvalidInput, match="more than Limits") as refusal:
        pb.select(**problem, limits=little)
    with pytest.raises(pb.InvalidInput, match=re.escape(str(refusal.value))):
        pb.plan(**problem, limits=little)
    named = re.search(r"Pass Limits\(memory=(\d+)\) or more", str(refusal.value))
    if named is not None:
        enough = pb.Limits(memory=int(named.group(1)))
        assert pb.plan(**problem, limits=enough).memory <= enough.memory + WORKING_BYTES


@pytest.mark.parametrize("by", [None, np.arange(6000) % 2])
def test_plan_refuses_what_select_refuses(by):
    for method, limits in (
        ("fasterpam", pb.Limits(memory=1)),
        ("lazybandit", pb.Limits(evaluations=100)),
        ("lazygreedy", pb.Limits(evaluations=100)),
    ):
        call = {"k": 2800, "method": method, "by": by, "limits": limits}
        messages = []
        for function in (pb.plan, pb.select):
            with pytest.raises(
                pb.InvalidInput, match=r"Limits\(memory=1\)|evaluations=100 "
            ) as error:
                function(np.vstack([ROWS, ROWS]), **call)
            messages.append(str(error.value))
        assert messages[1].endswith(messages[0])  # select adds the class


GROWING = ("heavy tails", "very large k", "clara, large k", "random, large k", "pac swaps")


@pytest.fixture(scope="module")
def growth():
    """Run some problems of benchmarks/memory_limits.py in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory_limits", *GROWING]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", GROWING)
def test_the_memory_grows_by_no_more_than_the_limit(growth, name):
    found = growth[name]
    if found["growth"] is None:
        pytest.skip("this system does not tell the peak of the memory")
    assert found["growth"] <= 1.1 * found["limit"] + 64_000_000
