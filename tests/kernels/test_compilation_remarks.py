from __future__ import annotations

import numpy as np

import protobandit as pb
from protobandit.kernels.compilation_remarks import add_remark, take_remarks


def test_a_run_says_once_why_it_was_slow():
    take_remarks()
    rows = np.random.default_rng(0).normal(size=(20, 2))
    pb.select(rows, k=2)  # compiles, if necessary
    for sentence in ("Code was compiled again.", "It is kept.", "Code was compiled again."):
        add_remark(sentence)
    assert "Code was compiled again. It is kept." in pb.select(rows, k=2).status
    assert "compiled" not in pb.select(rows, k=2).status
