"""One search: what is left of it when it has ended."""

from __future__ import annotations

import gc
import weakref

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


@pytest.mark.parametrize("name", [*METHODS, "classes", "k='auto'", "until", "budget"])
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
