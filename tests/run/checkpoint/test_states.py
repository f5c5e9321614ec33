"""The saved states of a search."""

from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import LazyBandit
from protobandit.oracle.counts import Counts
from protobandit.run.checkpoint import states as states_module
from protobandit.run.checkpoint.archive import CheckpointFile
from protobandit.run.checkpoint.states import SavedStates
from protobandit.search.control import INTERRUPTED, Clock, SavedState, StopKind, StopReason
from protobandit.search.drivers.race.schedule import Rung
from protobandit.search.methods.method import Schedule
from watched import TARGET, call, outcome, resumed


class Opened:
    """The states of one search in a file, with their generator, counts and clock."""

    def __init__(self, path, is_active=True, name=""):
        self.file = CheckpointFile(pb.Checkpoint(path, seconds=0), {}, {}, has_log=False)
        self.random, self.counts, self.clock = np.random.default_rng(0), Counts(), Clock()
        self.states = SavedStates(
            self.file,
            name,
            random=self.random,
            counts=self.counts,
            clock=self.clock,
            is_active=is_active,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search"


def test_a_state_is_restored_once_with_the_generator_and_the_counts(path):
    with Opened(path) as first:
        first.random.random(5)
        first.counts.evaluations["swap"] = 7
        first.counts.lookups["build"] = 9
        first.counts.kept = np.array([1, 4])
        state = SavedState({"n": 3}, {"rows": np.arange(3), "late": lambda: np.arange(2)})
        first.states.save("a", state)
        expected = first.random.random(3)
    with Opened(path) as second:
        second.random.random(100)
        found = second.states.restore("a")
        assert found.values["n"] == 3
        assert found.arrays["rows"].tolist() == [0, 1, 2]
        assert found.arrays["late"].tolist() == [0, 1]
        assert second.counts.total == 7
        assert second.counts.lookups.total() == 9
        assert second.counts.kept.tolist() == [1, 4]
        assert second.random.random(3).tolist() == expected.tolist()
        assert second.states.restore("a") is None
        assert second.states.restore("b") is None
        second.counts.evaluations["swap"] = 100
        second.states.rewind(found)
        assert second.counts.total == 7


def test_a_state_that_this_run_has_saved_is_not_restored(path):
    with Opened(path) as first:
        first.states.save("a", SavedState({"n": 1}))
    with Opened(path) as second:
        second.states.save("a", SavedState({"n": 2}))
        assert second.states.restore("a") is None


def test_searches_of_one_file_have_their_own_states(path):
    with Opened(path, name="0") as first:
        first.states.save("a", SavedState({"n": 1}))
    with Opened(path, name="1") as second:
        assert second.states.restore("a") is None
    with Opened(path, name="0") as third:
        assert third.states.restore("a").values["n"] == 1


def test_a_dropped_state_is_not_saved(path):
    with Opened(path) as first:
        first.states.save("a", SavedState())
        first.states.drop("a")
        first.states.drop("never saved")
        first.states.save("b", SavedState())
    with Opened(path) as second:
        assert second.states.restore("a") is None
        assert second.states.restore("b") is not None


def test_a_large_state_is_not_saved(path, monkeypatch):
    monkeypatch.setattr(states_module, "_MOST_BYTES", 100)
    with Opened(path) as first:
        first.states.save("a", SavedState(arrays={"rows": np.zeros(100)}))
    with Opened(path) as second:
        assert second.states.restore("a") is None


def test_inactive_states_save_nothing_but_the_schedule(path):
    schedule = Schedule(
        evaluations=np.int64(5), memory=6, keeps_matrix=True, rungs=(Rung(1, np.int64(2), 3, 4),)
    )
    with Opened(path, is_active=False) as first:
        assert first.states.schedule(lambda: schedule) == schedule
        first.states.save("a", SavedState())
    with Opened(path) as second:
        assert second.states.schedule(lambda: pytest.fail("it is saved")) == schedule
        assert second.states.restore("a") is None


@pytest.mark.parametrize("reason", [INTERRUPTED, StopReason(StopKind.SECONDS, 3.0)], ids=str)
def test_nothing_is_saved_after_a_stop_that_need_not_be_repeated(reason, path):
    with Opened(path) as first:
        first.states.save("a", SavedState({"n": 1}))
        first.states.stop(reason)
        first.states.save("a", SavedState({"n": 2}))
        first.states.complete()
        first.states.end()
        assert not first.file.is_complete
    with Opened(path) as second:
        assert second.states.restore("a").values["n"] == 1


def test_a_limit_of_evaluations_is_the_same_in_every_run(path):
    with Opened(path) as first:
        first.states.stop(StopReason(StopKind.EVALUATIONS, 3))
        first.states.save("a", SavedState({"n": 2}))
    with Opened(path) as second:
        assert second.states.restore("a").values["n"] == 2


def test_the_checkpoint_of_a_race_has_no_table_of_the_first_rung(kill, tmp_path):
    arguments = {**call("lazybandit", "one"), "source": TARGET, "k": 40}
    arguments["method"] = LazyBandit(effort=0.5)
    rungs = arguments["method"].schedule(pb.select(**arguments).problem, pb.Limits()).rungs
    assert len(rungs) > 1
    table = rungs[0].n_arms * rungs[0].n_rows * 4
    kill(3, arguments, tmp_path / "search")
    assert (tmp_path / "search").stat().st_size < 0.7 * table
    found = resumed(arguments, tmp_path / "search")
    assert "started again" not in found.status
    assert outcome(found) == outcome(pb.select(**arguments))


@pytest.mark.parametrize("name", ["pam", "fasterpam", "lazygreedy", "onebatch"])
def test_a_checkpoint_holds_no_matrix(name, tmp_path):
    arguments = {**call(name, "one"), "source": TARGET[:700]}
    resumed(arguments, tmp_path / "search")
    assert (tmp_path / "search").stat().st_size < 700 * 700 * 4 / 10
