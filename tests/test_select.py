"""`select`: callbacks, stopping, status, random state, and restoring the process state."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import brute
import protobandit as pb
from protobandit.methods import METHODS, SpotGreedy

named = pytest.mark.parametrize("name", sorted(METHODS))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


class InterruptionError(Exception):
    pass


# -- callback -------------------------------------------------------------------------------------


@named
def test_the_callback_receives_every_step_in_order(name):
    seen = []
    rows = brute.normal(30)
    selection = pb.select(rows, k=5, method=name, random_state=0, callback=seen.append)
    assert tuple(seen) == selection.steps
    assert [step.index for step in seen] == selection.indices.tolist()
    seconds = [step.seconds for step in seen]
    assert seconds == sorted(seconds)
    assert selection.seconds == seconds[-1]


@pytest.mark.parametrize("name", ["spotgreedy", "lazygreedy", "protobandit"])
def test_the_callback_receives_a_step_before_the_next_search(name):
    spent = []
    metric = brute.CountedPairs()
    pb.select(
        brute.whole(12),
        k=4,
        metric=metric,
        method=name,
        random_state=0,
        callback=lambda step: spent.append((step.evaluations, metric.calls)),
    )
    assert all(reported == called for reported, called in spent)


@pytest.mark.parametrize("answer", [None, False, np.False_, 0, 1, "stop"])
def test_only_true_stops_the_search(answer):
    assert pb.select(brute.normal(9), k=3, callback=lambda step: answer).k == 3


@pytest.mark.parametrize("answer", [True, np.True_])
def test_true_of_python_and_numpy_stops_the_search(answer):
    assert pb.select(brute.normal(9), k=3, callback=lambda step: answer).k == 1


@pytest.mark.parametrize("r", [2, 3, 6])
def test_a_stop_within_an_iteration_keeps_its_picks(r):
    source, target = brute.normal(20), brute.normal(40, seed=1)
    seen = []
    selection = pb.select(
        source,
        target,
        k=6,
        method=SpotGreedy(r=r, memoize=False),
        callback=lambda step: seen.append(step) or len(seen) == 5,
    )
    d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
    assert selection.k == 5
    np.testing.assert_allclose(selection.costs, brute.costs(d, brute.even(40), selection.indices))
    np.testing.assert_allclose(selection.mass, brute.mass(d, brute.even(40), selection.indices))


@named
def test_an_exception_in_the_callback_propagates_and_blas_is_restored(name):
    inside = []

    def interrupt(step):
        inside.append(blas_threads())
        raise InterruptionError

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(InterruptionError):
            pb.select(brute.normal(20), k=3, method=name, random_state=0, callback=interrupt)
        assert blas_threads() == before
    assert len(inside) == 1
    assert 1 in inside[0]
    assert 1 not in before


@named
def test_an_exception_in_the_metric_propagates(name):
    calls = []

    def failing(target, source):
        calls.append(1)
        if len(calls) > 5:
            raise InterruptionError
        return abs(target[0] - source[0])

    with pytest.raises(InterruptionError):
        pb.select(brute.normal(20), k=3, metric=failing, method=name, random_state=0)
    assert len(calls) == 6


@named
def test_blas_is_restored_after_an_invalid_value(name):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(pb.InvalidInput, match="precomputed"):
            pb.select(-np.ones((9, 9)), k=3, metric="precomputed", method=name)
        assert blas_threads() == before


@named
def test_a_user_metric_keeps_its_blas_threads(name):
    seen = []

    def block(targets, sources):
        seen.append(tuple(blas_threads()))
        return abs(targets[:, :1] - sources[:, :1].T)

    with threadpool_limits(2, user_api="blas"):
        before = tuple(blas_threads())
        pb.select(brute.normal(20), k=3, metric=pb.block_metric(block), method=name)
    assert set(seen) == {before}


# -- status and random state ----------------------------------------------------------------------


def test_the_status_of_a_selection():
    rows, target = brute.normal(20), brute.normal(5000, seed=1)
    for method in ("spotgreedy", "protobandit"):
        assert pb.select(rows, k=3, method=method).status == (
            "Selected 3 prototypes; cost and mass are exact over all 20 target rows."
        )
    assert pb.select(rows, target, k=3, method="protobandit").status == (
        "Selected 3 prototypes on sampled target rows; cost and mass are estimated on 4096 fresh "
        "ones."
    )


def test_a_sample_without_variance_is_reported_as_a_sample():
    selection = pb.select([[0.0], [1.0]], np.zeros((5000, 1)), k=1, method="random", random_state=0)
    assert np.isnan(selection.cost_error)  # 0 would mean an exact cost
    assert "estimated on 4096" in selection.status


def test_a_generator_is_advanced():
    rows, random = brute.normal(40), np.random.default_rng(0)
    first, second = (
        pb.select(rows, k=5, method="random", random_state=random).indices.tolist() for _ in "ab"
    )
    assert first != second


@named
def test_the_global_random_state_is_unchanged(name):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    pb.select(brute.normal(30), k=3, method=name)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_a_metric_and_its_name_give_the_same_result():
    rows = brute.normal(30)
    by_name = pb.select(rows, k=3, metric="cityblock")
    by_record = pb.select(rows, k=3, metric=pb.metric("manhattan"))
    assert by_name.indices.tolist() == by_record.indices.tolist()
    assert by_name.metric.name == "manhattan"
