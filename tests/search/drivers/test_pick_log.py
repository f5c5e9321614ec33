"""Picks of a checkpoint that was modified are refused."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds
from protobandit.search.arms.threshold import Level
from protobandit.search.control import SavedState, SearchControl, StateStore
from protobandit.search.drivers.pick_log import PickLog

N = 9


class Memory(StateStore):
    """Keeps one state."""

    is_active = True

    def __init__(self):
        self.saved = None

    def save(self, name, state, *, instead_of=""):
        arrays = {key: each() if callable(each) else each for key, each in state.arrays.items()}
        self.saved = SavedState(state.values, arrays)

    def restore(self, name):
        return self.saved


def control(saved=None):
    states = Memory()
    states.saved = saved
    return SearchControl(states=states)


def log_of_two_picks(bounds=None):
    """Return what two picks of a search of N rows leave behind."""
    used = control()
    log = PickLog(used, N)
    for arms in ([3], [8, 0]):
        log.save(np.array(arms), np.ones(len(arms)), is_proven=True, bounds=bounds)
    return used.states.saved


def test_picks_are_restored():
    level = Level(np.arange(N, dtype=float), 2.0, 0.5, 3)
    for bounds in (None, Bounds(np.ones(4)), level):
        log = PickLog(control(log_of_two_picks(bounds)), N)
        assert log.is_resumed
        picks = list(log.earlier())
        assert [pick.arms.tolist() for pick in picks] == [[3], [8, 0]]
        assert [pick.gains.tolist() for pick in picks] == [[1], [1, 1]]
        assert all(pick.is_proven and pick.counts.sum() == 0 for pick in picks)
        assert type(log.bounds) is type(bounds)
        assert bounds is None or log.bounds.upper.tolist() == bounds.upper.tolist()


def test_nothing_is_restored_without_a_state():
    assert not PickLog(SearchControl(), N).is_resumed


DAMAGE = {
    "arms": [[3, 8, -1], [3, 8, N], [3, 8, 8], [3, 8], [[3, 8, 0]], [3.0, 8.0, 0.0]],
    "sizes": [[4, -1], [1, 1], [1, 3], [3, 0], [3], [1.0, 2.0], [[1, 2]]],
    "gains": [[1.0], [1, 1, 1], [[1.0, 1.0, 1.0]]],
    "is_proven": [[True], [1, 1]],
    "counts": [np.zeros((1, 8), int), np.zeros((2, 7), int), np.zeros((2, 8)), -np.ones((2, 8))],
    "seconds": [[0.0], [0, 0]],
}


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, every in DAMAGE.items() for wrong in every]
)
def test_picks_that_were_modified_are_refused(name, wrong):
    saved = log_of_two_picks()
    saved.arrays[name] = np.array(wrong)
    with pytest.raises(InvalidInput, match=r"checkpoint holds picks .*: it was modified"):
        PickLog(control(saved), N)


@pytest.mark.parametrize("name", DAMAGE)
def test_missing_and_swapped_arrays_are_refused(name):
    saved = log_of_two_picks()
    own = saved.arrays.pop(name)
    with pytest.raises(InvalidInput, match="checkpoint holds picks"):
        PickLog(control(saved), N)
    if own.dtype != bool:
        saved.arrays[name] = own.astype(own.dtype.newbyteorder())
        with pytest.raises(InvalidInput, match="checkpoint holds picks"):
            PickLog(control(saved), N)


@pytest.mark.parametrize(
    ("upper", "values"),
    [
        (None, {}),
        (np.ones(N + 1), {}),
        (np.ones((1, N)), {}),
        (np.ones(N, int), {}),
        (np.ones(N), {"kind": "Unknown"}),
        (np.ones(N), {"kind": "Bounds"}),
        (np.ones(N), {"power": "3"}),
        (np.ones(N), {"power": float("nan")}),
        (np.ones(N), {"other": 1}),
    ],
)
def test_bounds_that_were_modified_are_refused(upper, values):
    saved = log_of_two_picks(Level(np.ones(N), 2.0, 0.5, 3))
    saved.arrays.pop("upper")
    if upper is not None:
        saved.arrays["upper"] = upper
    saved.values["bounds"].update(values)
    with pytest.raises(InvalidInput, match="checkpoint holds bounds"):
        PickLog(control(saved), N)
