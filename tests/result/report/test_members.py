import numpy as np

from protobandit.result.report.members import find_members
from protobandit.result.report.sample import ReportSample


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
