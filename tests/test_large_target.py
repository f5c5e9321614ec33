"""The work of a sampling method does not depend on the number of target rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import protobandit as pb
from protobandit.methods import ProtoBandit
from protobandit.rows.rows import Rows

COLUMNS = 8
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class VirtualRows(Rows):
    """Rows computed from their row numbers when they are read, and counted."""

    kind = "dense"
    n_columns = COLUMNS
    dtype = np.dtype(np.float32)

    def __init__(self, n, *, name="target"):
        self.n = n
        self.name = name
        self.n_read = 0
        self.largest_block = 0

    def __len__(self):
        return self.n

    def take(self, where):
        ids = np.arange(self.n)[where] if isinstance(where, slice) else np.asarray(where)
        self.n_read += len(ids)
        self.largest_block = max(self.largest_block, len(ids))
        return self.compute(ids)

    def compute(self, ids):
        """Return rows of numbers in [0, 1): SplitMix64 of row and column."""
        cells = (ids.astype(np.uint64)[:, None] << np.uint64(3)) + np.arange(
            COLUMNS, dtype=np.uint64
        )
        mixed = (cells + np.uint64(1)) * _MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[1]
        mixed ^= mixed >> np.uint64(31)
        return ((mixed >> np.uint64(40)) / 2.0**24).astype(np.float32)

    def _bytes(self, ids):
        return self.take(ids).tobytes()


def run(n_target, method, **options):
    target = VirtualRows(n_target)
    source = VirtualRows(500, name="source").compute(np.arange(10**8, 10**8 + 500))
    selection = pb.select(source, target, k=20, method=method, random_state=0, **options)
    return selection, target


METHODS = {
    "default": ProtoBandit(),
    "strict": ProtoBandit(),
    "uniform": ProtoBandit(search="uniform", nu_step=0.1),
}
sampled = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@sampled
def test_ten_million_rows_are_neither_read_nor_stored(method):
    run(20_000, method)
    tracemalloc.start()
    try:
        selection, target = run(10_000_000, method)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(selection.indices.tolist())) == 20
    assert target.n_read < 0.01 * len(target)
    assert target.largest_block <= 4096
    assert peak < 50e6


@pytest.mark.parametrize(
    ("name", "n_few"), [("default", 10_000), ("uniform", 10_000), ("strict", 100_000)]
)
def test_evaluations_do_not_depend_on_the_size_of_the_target(name, n_few):
    """A strict search reads rows of a small target again, and has stored their nearest distance."""
    few, many = (run(n, METHODS[name])[0].evaluations for n in (n_few, 10_000_000))
    assert abs(few - many) <= 0.2 * many


def test_random_selection_from_a_large_target_evaluates_only_its_assessment():
    selection, target = run(10_000_000, "random")
    counts = dict(selection.evaluations_by_phase)
    assert 20_000 <= counts.pop("assign") - 20 * 4096 <= 20 * 20_000  # the scan for far rows
    assert counts == {"build": 0, "swap": 0, "certify": 0}
    assert target.n_read < 30_000


def test_an_assessment_on_a_sample_is_reported_and_close_to_the_true_cost():
    selection, target = run(200_000, METHODS["default"])
    _, distances = selection.assign(target)
    assert "estimated on 4096 fresh" in selection.status
    assert 0 < selection.cost_error < 0.01
    assert abs(selection.cost - distances.mean()) < 4 * selection.cost_error
