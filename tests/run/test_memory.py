"""Plans and the available memory: what is refused, and what the message advises."""

from __future__ import annotations

import re

import pytest

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import METHODS, LazyBandit, LazyGreedy, Refined

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
