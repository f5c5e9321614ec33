"""Samples drawn by keys in one pass: uniform, by weight, and unbiased whatever the parts."""

from __future__ import annotations

import numpy as np
import pytest

from protobandit.rows.part_reading import carry_out
from protobandit.rows.part_sampling import SampleRequest, survey, uniform_hashes
from protobandit.rows.parts import Part, PartForm, Parts
from protobandit.run.executors.thread_executor import ThreadExecutor, array_parts

N = 400
ROWS = np.arange(N, dtype=np.float64)[:, None]


def sampled(rows, weights=None, *, lengths=None, seed=0, n=80, is_known=True):
    """Return the sample of rows in parts of the given lengths."""
    ends = np.cumsum(lengths or [100] * 4)
    pieces = np.split(rows, ends[:-1])
    own = [None] * len(pieces) if weights is None else np.split(weights, ends[:-1])
    parts = Parts(
        form=PartForm(name="source"),
        parts=tuple(Part(i, [piece], own[i]) for i, piece in enumerate(pieces)),
        executor=ThreadExecutor(1),
        carry_out=carry_out,
    )
    request = SampleRequest(
        seed=seed,
        n_rows=n,
        n_bytes=10**9,
        n_parts=len(pieces),
        n_total=len(rows) if is_known else None,
    )
    return survey(parts, request, lambda n_done: None).sampled


def test_hashes_are_uniform_and_differ_between_parts():
    first, second = (uniform_hashes(0, part, np.arange(20_000)) for part in (0, 1))
    counts = np.histogram(first, bins=20, range=(0, 1))[0]
    assert counts.min() > 850
    assert counts.max() < 1150
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert 0 < first.min() < first.max() < 1


def test_every_row_is_equally_likely():
    counts = np.zeros(N)
    for seed in range(300):
        counts[sampled(ROWS, seed=seed).ids] += 1
    assert counts.mean() == pytest.approx(60)  # 80 of 400, 300 times
    assert counts.std() < 1.2 * np.sqrt(60 * 0.8)


def test_the_sample_has_its_rows_in_order():
    found = sampled(ROWS)
    assert found.rows[:, 0].tolist() == found.ids.tolist() == sorted(found.ids)
    assert found.weights is None
    assert len(found.ids) == 80


@pytest.mark.parametrize("is_known", [True, False], ids=["known lengths", "unknown lengths"])
@pytest.mark.parametrize("has_weights", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("lengths", [[100] * 4, [370, 10, 10, 10]], ids=["even", "uneven"])
def test_weighted_sums_are_unbiased(is_known, has_weights, lengths):
    """A part that returns fewer rows than it should counts more."""
    random = np.random.default_rng(1)
    weights = random.exponential(size=N) ** 2 if has_weights else None
    own = np.ones(N) if weights is None else weights
    values = np.where(np.arange(N) < 370, 1.0, 5.0)
    true = np.average(values, weights=own)
    found = []
    for seed in range(150):
        some = sampled(ROWS, weights, lengths=lengths, seed=seed, is_known=is_known)
        counts = np.ones(len(some.ids)) if some.weights is None else some.weights
        found.append(np.average(values[some.ids], weights=counts))
    assert np.mean(found) == pytest.approx(true, abs=4 * np.std(found) / np.sqrt(150))


def test_rows_without_weight_are_not_drawn():
    weights = np.where(np.arange(N) % 2 == 0, 1.0, 0.0)
    assert (sampled(ROWS, weights).ids % 2 == 0).all()


def test_a_sample_of_all_rows_has_their_weights():
    weights = np.arange(N) + 0.0
    found = sampled(ROWS, weights, n=1000)
    assert found.ids.tolist() == list(range(N))
    np.testing.assert_allclose(found.weights, weights / weights.mean())


def test_bytes_bound_the_sample():
    parts = array_parts(ROWS, None, form=PartForm(name="source"), n_jobs=1)
    request = SampleRequest(
        seed=0, n_rows=300, n_bytes=8 * 50, n_parts=1, n_total=N, row_factor=1.0
    )
    assert len(survey(parts, request, lambda n_done: None).sampled.ids) == 50
