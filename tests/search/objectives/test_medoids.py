"""Prototypes on a full table that were modified in a checkpoint are refused."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.oracle.tables import FullTable
from protobandit.search.objectives.medoids import Medoids
from search.objectives.instances import table, uneven, watched

N_TARGET, N_SOURCE = 31, 12


def medoids(members):
    oracle, _ = watched(table(N_TARGET, N_SOURCE))
    held = FullTable.of(oracle, np.arange(N_SOURCE), oracle.targets(slice(0, N_TARGET)))
    feasibility = oracle.problem.feasibility
    return Medoids(held, np.array(members), uneven(N_TARGET), feasibility)


@pytest.mark.parametrize("members", [[4], [4, 0], [7, 3, 11]], ids=len)
def test_a_state_is_restored(members):
    first, second = medoids(members), medoids([1, 2, 5][: len(members)])
    first.exchange(0, 9)
    second.restore(first.state())
    assert second.cost == first.cost
    for own, other in zip(second.changes(slice(0, 12)), first.changes(slice(0, 12)), strict=True):
        assert own.tolist() == other.tolist()


@pytest.mark.parametrize("name", ["members", "near", "second", "D", "E"])
@pytest.mark.parametrize("number", [-2, -1, N_SOURCE])
def test_a_state_that_was_modified_is_refused(name, number):
    own = medoids([7, 3, 11])
    state = own.state()
    state[name] = state[name].astype(np.int64)
    state[name][-1] = number
    if (name, number) == ("second", -1):  # allowed: there may be no second prototype
        own.restore(state)
        return
    with pytest.raises(InvalidInput, match="checkpoint holds prototypes"):
        own.restore(state)
