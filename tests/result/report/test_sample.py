from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report.sample import (
    ReportSample,
    draw_sample,
    find_members,
    summarize_distances,
    weighted_quantiles,
)


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


def test_a_prototype_without_members_has_no_mean():
    sample = ReportSample(
        ids=np.arange(3),
        labels=np.array([1, 1, 1]),
        distances=np.array([2.0, 0.0, 1.0]),
        weights=np.full(3, 1 / 3),
        n_target=3,
    )
    members = find_members(sample, k=2, most=4)
    assert members.counts.tolist() == [0, 3]
    assert (members.nearest[0] == -1).all()
    assert np.isnan(members.means[0])
    assert members.nearest[1].tolist() == [1, 2, -1, -1]
    assert members.farthest[1].tolist() == [0, -1, -1, -1]


def test_quantiles_of_equal_weights_are_not_affected_by_rounding():
    values = np.arange(10.0)
    assert weighted_quantiles(values, np.full(10, 0.1), (0.1, 0.3, 0.5, 1.0)).tolist() == [
        0,
        2,
        4,
        9,
    ]


def test_equal_distances_have_a_histogram():
    sample = ReportSample(
        ids=np.arange(4),
        labels=np.zeros(4, dtype=int),
        distances=np.zeros(4),
        weights=np.full(4, 0.25),
        n_target=4,
    )
    found = summarize_distances(sample, n_worst=2)
    assert found.counts.sum() == 4
    assert (np.diff(found.edges) > 0).all()


def test_the_histogram_ends_before_few_rows_that_are_much_farther():
    rows = np.append(np.linspace(0, 1, 999), 500.0)[:, None]
    sample = draw_sample(
        pb.select(rows, k=1, constraints=pb.Constraints(fixed=[0])),
        rows,
        weights=None,
        n_sample=None,
        random=np.random.default_rng(0),
    )
    found = summarize_distances(sample, n_worst=3)
    assert found.edges[-1] < 2
    assert found.beyond == pytest.approx(0.001)
    assert found.most == 500
    assert found.heights.sum() == pytest.approx(0.999)
