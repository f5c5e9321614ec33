"""One search: what is left of it when it has ended."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from contextlib import suppress

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import METHODS
from protobandit.oracle.oracle import Oracle
from watched import call, look_often


@pytest.fixture
def oracles(monkeypatch):
    """Return weak references to all oracles that are made; the garbage collector is off."""
    made, original = [], Oracle.__init__

    def recorded(oracle, *values, **named):
        original(oracle, *values, **named)
        made.append(weakref.ref(oracle))

    monkeypatch.setattr(Oracle, "__init__", recorded)
    gc.collect()
    gc.disable()
    yield made
    gc.enable()


@pytest.mark.parametrize(
    "name", [*METHODS, "classes", "k='auto'", "until", "until, on a sample", "budget"]
)
@pytest.mark.parametrize("is_observed", [False, True])
def test_a_search_leaves_no_oracle_behind(name, is_observed, oracles, tmp_path):
    """A reference cycle would keep the matrix until the garbage collector runs."""
    arguments = call(name)
    if is_observed:
        arguments.update(
            progress=lambda progress: None,
            interrupt=pb.Interrupt(),
            callback=lambda step: None,
            checkpoint=tmp_path / "search",
        )
    selection = pb.select(**arguments)
    assert oracles
    assert [oracle for oracle in oracles if oracle() is not None] == []
    assert selection.k


def test_an_interrupted_search_leaves_no_oracle_behind(oracles, tmp_path, monkeypatch):
    look_often(monkeypatch)
    stop = pb.Interrupt()
    stop.set()
    with pytest.raises(pb.Interrupted):
        pb.select(**call("lazygreedy"), interrupt=stop, checkpoint=tmp_path / "search")
    found = pb.select(**call("pam"), limits=pb.Limits(seconds=1e-9))
    assert found.k
    assert [oracle for oracle in oracles[1:] if oracle() is not None] == []


class Failed(Exception):
    """Raised by functions of the user."""


def fail(*_):
    raise Failed


def at_third(action):
    """Return a function that does something when it is called for the third time."""
    calls = []

    def called(*_):
        calls.append(None)
        if len(calls) == 3:
            action()

    return called


def ends(path):
    """Return how a run can end, each as options of `select`."""
    stop, checkpoint = pb.Interrupt(), pb.Checkpoint(path, seconds=0)
    yield "interrupted", {"interrupt": stop, "progress": at_third(stop.set)}
    yield "out of time", {"limits": pb.Limits(seconds=1e-9), "progress": lambda progress: None}
    yield "a callback that fails", {"callback": at_third(fail), "checkpoint": checkpoint}
    yield "a display that fails", {"progress": at_third(fail), "checkpoint": checkpoint}
    yield "resumed", {"checkpoint": checkpoint, "progress": lambda progress: None}
    yield "resumed from its end", {"checkpoint": checkpoint, "interrupt": pb.Interrupt()}


@pytest.mark.parametrize("name", [*METHODS, "classes", "budget", "refined, local"])
def test_no_end_of_a_search_leaves_an_oracle_behind(name, oracles, tmp_path, monkeypatch):
    look_often(monkeypatch)
    for how, options in ends(tmp_path / "search"):
        with suppress(Failed, pb.Interrupted):
            pb.select(**call(name), **options)
        assert oracles, how
        assert [oracle for oracle in oracles if oracle() is not None] == [], how
        oracles.clear()


@pytest.mark.parametrize("method", ["fasterpam", "lazygreedy", "lazybandit"])
def test_the_memory_of_a_call_is_free_when_it_returns(method, oracles, tmp_path):
    """With everybody who observes a search, and without the garbage collector."""
    rows = np.random.default_rng(0).normal(size=(1500, 2)).astype(np.float32)
    stop = pb.Interrupt()

    def run(i):
        pb.select(
            rows,
            k=3,
            method=method,
            random_state=0,
            progress=lambda progress: None,
            callback=lambda step: None,
            interrupt=stop,
            checkpoint=tmp_path / str(i),
        )

    run(0)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(1, 4):
            run(i)
            # The matrix has 9 MB. Each call may keep small things, such as compiled types.
            assert tracemalloc.get_traced_memory()[0] - before < 1e6
        assert tracemalloc.get_traced_memory()[1] - before > 8e6
    finally:
        tracemalloc.stop()
