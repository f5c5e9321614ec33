"""The members of `Objective` that drivers and runs use instead of asking for a class."""

from __future__ import annotations

import numpy as np
import pytest

import brute
from protobandit.metrics.similarities import similarity
from protobandit.oracle.oracle import Oracle
from protobandit.problem.posing import pose
from protobandit.search.arms.contract import Pull
from protobandit.search.objectives.coverage import ExactCoverage, Priced
from protobandit.search.objectives.discrepancy import Discrepancy, criticisms
from protobandit.search.objectives.embedding import Embedding
from protobandit.search.objectives.mixture import Mixture
from protobandit.search.objectives.objective import RewardSums, advance
from protobandit.search.objectives.prefixes import PrefixCoverage, Prefixes
from protobandit.search.objectives.sampled_coverage import SampledCoverage

N = 30
KERNEL = similarity("rbf", gamma=0.5, degree=3, coef0=1.0)


def oracle():
    return Oracle(pose(brute.normal(N), k=1), n_jobs=1)


def discrepancy(**options):
    embedding = Embedding.of(oracle(), KERNEL)
    return Discrepancy.of(embedding, embedding, **options)


def prefix_coverage():
    return PrefixCoverage.of(Prefixes(oracle(), np.random.default_rng(0), room=10**6), 4)


OBJECTIVES = {
    "exact": lambda: ExactCoverage.of(oracle()),
    "priced": lambda: Priced(ExactCoverage.of(oracle()), np.ones(N)),
    "prefix": prefix_coverage,
    "sampled": lambda: SampledCoverage.of(oracle(), scale=1.0),
    "discrepancy": discrepancy,
    "mixture": lambda: Mixture.of(Embedding.of(oracle(), KERNEL)),
}
every = pytest.mark.parametrize("name", OBJECTIVES)


@every
def test_abilities(name):
    objective = OBJECTIVES[name]().commit(np.array([3, 5]))
    assert objective.population == N
    assert (objective.exact_coverage is not None) == (name in {"exact", "priced"})
    assert objective.has_read_target == (name not in {"prefix", "sampled"})
    assert (objective.clipping is not None) == (name == "sampled")
    assert bool(objective.state()) == (name == "sampled")
    assert (objective.finish().coefficients is not None) == (name == "mixture")
    assert objective.finish().criticisms is None


@every
def test_restore_ignores_the_arrays_of_others(name):
    objective = OBJECTIVES[name]().commit(np.array([3]))
    objective.restore({"arms": np.array([3]), **objective.state()})


def test_exact_coverage():
    coverage = Priced(ExactCoverage.of(oracle()), np.ones(N)).commit(np.array([3, 5]))
    exact = coverage.exact_coverage
    assert exact.prototypes.tolist() == [3, 5]
    assert len(exact.costs) == 2
    assert exact.costs[-1] == pytest.approx(exact.nearest.mean())
    assert exact.mass.sum() == pytest.approx(1)


def test_a_restored_objective_does_not_compute_again():
    arms, first = np.arange(10, 20), SampledCoverage.of(oracle(), scale=0.5)
    first = first.commit(np.array([3, 5]))
    first.open(arms, np.random.default_rng(0)).pull(Pull(arms, 12))
    state = first.state()
    second = SampledCoverage.of(oracle(), scale=0.5).commit(np.array([3, 5]))
    second.restore(state)
    assert second.clipping == first.clipping
    assert second.clipping.n_clipped > 0
    seen = second.open(arms, np.random.default_rng(0)).pull(Pull(arms, 12))
    again = first.open(arms, np.random.default_rng(0)).pull(Pull(arms, 12))
    np.testing.assert_array_equal(seen.mean, again.mean)
    assert second.oracle.evaluations == {"build": 12 * len(arms)}


def test_finish_returns_criticisms():
    objective = discrepancy(n_criticisms=4, is_diverse=False).commit(np.array([3, 5]))
    expected = criticisms(objective, 4, is_diverse=False)
    assert objective.finish().criticisms.tolist() == expected.tolist()
    assert len(expected) == 4
    witness = np.abs(objective.witness())
    witness[[3, 5]] = -1
    assert set(expected) == set(np.argsort(-witness)[:4])


def test_advance_groups_slots_by_count():
    calls, count = [], np.array([0, 2, 0, 5])
    advance(count, np.array([3, 2, 0]), 4, 6, lambda *call: calls.append(call))
    assert [(group.tolist(), start, stop) for group, start, stop in calls] == [
        ([2, 0], 0, 4),
        ([3], 5, 6),
    ]
    assert count.tolist() == [4, 2, 4, 6]


def test_reward_sums():
    sums = RewardSums(np.array([7, 2, 9]))
    slots = sums.slots(np.array([9, 2]))
    sums.count[slots], sums.total[slots], sums.squares[slots] = [2, 4], [1.0, 2.0], [1.0, 1.0]
    moments = sums.moments(slots)
    assert moments.count.tolist() == [2, 4]
    assert moments.mean.tolist() == [0.5, 0.5]
    assert moments.spread.tolist() == [0.25, 0.0]
    sums.clear()
    assert sums.moments(slots).count.tolist() == [0, 0]
