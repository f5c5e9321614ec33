import numpy as np

from protobandit.result.report.distances import summarize_distances, weighted_quantiles
from protobandit.result.report.sample import ReportSample


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
