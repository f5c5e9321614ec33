from dataclasses import replace

import numpy as np

import protobandit as pb
from protobandit.result.report.sample import draw_sample


def test_fewer_rows_are_drawn_if_the_metric_is_expensive():
    selection = pb.select(np.eye(30, 3), k=2, metric=lambda a, b: float(np.abs(a - b).sum()))
    expensive = replace(selection, indices=np.arange(1500) % 30)
    rows = np.zeros((5000, 3))
    n_assigned = []

    class Counting:
        metric, indices = expensive.metric, expensive.indices

        def assign(self, given):
            n_assigned.append(len(given))
            return np.zeros(len(given), dtype=int), np.zeros(len(given))

    draw_sample(Counting(), rows, weights=None, n_sample=None, random=np.random.default_rng(0))
    assert n_assigned == [2_000_000 // 1500]
