"""The saved states of a search."""

from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import LazyBandit
from protobandit.oracle.counts import Counts
from protobandit.run.checkpoint import archive
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
        first.counts.keep(np.array([1, 4]))
        first.counts.keep(np.array([0]))
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
        assert [scan.tolist() for scan in second.counts.kept] == [[1, 4], [0]]
        assert second.counts.n_kept == 3
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


def test_a_state_can_take_the_place_of_another(path):
    with Opened(path) as first:
        first.states.save("a", SavedState())
        first.states.save("b", SavedState(), instead_of="a")
        first.states.save("c", SavedState(), instead_of="never saved")
    with Opened(path) as second:
        assert second.states.restore("a") is None
        assert second.states.restore("b") is not None
        assert second.states.restore("c") is not None


def large(n):
    return SavedState({"n": n}, {"rows": np.zeros(n)})


def test_all_states_of_a_file_together_have_a_largest_size(path, monkeypatch):
    """What does not fit leaves the states before it alone, also the one it was to replace."""
    monkeypatch.setattr(archive, "MOST_BYTES", 8 * 100)
    with Opened(path, name="0") as first:
        first.states.save("a", large(60))
        first.states.save("b", large(41))
        first.states.save("b", large(101), instead_of="a")
        first.states.save("a", large(100))
        first.states.save("a", large(70))
    with Opened(path, name="1") as second:
        second.states.save("c", large(31))
        second.states.save("d", large(30))
        assert second.states.restore("c") is None
    with Opened(path, name="0") as third:
        assert third.states.restore("a").values["n"] == 70
        assert third.states.restore("b") is None
        third.states.save("b", large(70), instead_of="a")
        assert third.states.restore("a") is None
        assert third.file.n_bytes() == 8 * 100


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


RACE = {**call("lazybandit", "one"), "source": TARGET, "k": 40, "method": LazyBandit(effort=0.5)}


def test_the_checkpoint_of_a_race_has_no_tables(kill, tmp_path):
    """Neither the tables of its rungs nor the distances of its prototypes."""
    rungs = RACE["method"].schedule(pb.select(**RACE).problem, pb.Limits()).rungs
    assert len(rungs) > 2
    whole = outcome(pb.select(**RACE))
    for n in (3, 5):
        path = tmp_path / f"search {n}"
        assert kill(n, RACE, path) is None
        assert path.stat().st_size < 0.35 * rungs[0].n_arms * rungs[0].n_rows * 4
        found = resumed(RACE, path)
        assert "started again" not in found.status
        assert outcome(found) == whole
        assert path.stat().st_size < 0.4 * 40 * rungs[-1].n_rows * 4


@pytest.mark.parametrize("most", [0, 60_000, 150_000])
def test_a_race_resumes_from_the_last_state_that_fits(most, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", most)
    whole, stop = outcome(pb.select(**RACE)), pb.Interrupt()

    def late(progress):
        if progress.doing.startswith("round 3"):
            stop.set()

    resumed({**RACE, "interrupt": stop, "progress": late}, tmp_path / "search")
    assert (tmp_path / "search").stat().st_size < most + 10_000
    found = resumed(RACE, tmp_path / "search")
    assert ("started again" in found.status) == (most == 0)
    assert outcome(found) == whole
    assert outcome(resumed(RACE, tmp_path / "search")) == whole


@pytest.mark.parametrize("name", ["pam", "fasterpam", "lazygreedy", "onebatch"])
def test_a_checkpoint_holds_no_matrix(name, tmp_path):
    arguments = {**call(name, "one"), "source": TARGET[:700]}
    resumed(arguments, tmp_path / "search")
    assert (tmp_path / "search").stat().st_size < 700 * 700 * 4 / 10
