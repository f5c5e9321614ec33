"""The contract of every method in the table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.foundation import threads as threads_module
from protobandit.methods import METHODS

every = pytest.mark.parametrize("method", brute.variants(), ids=brute.name_of)
named = pytest.mark.parametrize("name", sorted(METHODS))

SHAPES = [(1, 1, 1), (1, 7, 1), (7, 1, 3), (6, 9, 1), (6, 9, 6), (12, 5, 4)]
shaped = pytest.mark.parametrize(("n_source", "n_target", "k"), SHAPES)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["even", "weighted"])


def pose(n_source, n_target, k, is_weighted=False):
    """Return the arguments of `select` for rows of integers."""
    weights = np.random.default_rng(n_target).integers(1, 5, size=n_target)
    return {
        "source": brute.whole(n_source, seed=n_source),
        "target": brute.whole(n_target, seed=n_target + 50),
        "k": k,
        "weights": weights if is_weighted else None,
    }


@every
@shaped
@weighted
def test_indices_are_distinct_source_rows(method, n_source, n_target, k, is_weighted):
    problem = pose(n_source, n_target, k, is_weighted)
    selection = pb.select(**problem, method=method, random_state=0)
    assert selection.indices.dtype == np.int64
    assert selection.indices.shape == (k,)
    assert len(set(selection.indices.tolist())) == k
    assert set(selection.indices.tolist()) <= set(range(n_source))
    assert selection.costs.shape == selection.gains.shape == selection.mass.shape == (k,)
    assert len(selection.steps) == selection.k == k
    assert (selection.prototypes == problem["source"][selection.indices]).all()


@every
@shaped
@weighted
@pytest.mark.parametrize("counted", [brute.CountedPairs, brute.CountedBlocks])
def test_evaluations_equal_the_calls_of_a_counting_metric(
    method, n_source, n_target, k, is_weighted, counted
):
    metric, kernel = counted(), brute.CountedBlocks(brute.likeness)
    selection = pb.select(
        **pose(n_source, n_target, k, is_weighted),
        metric=pb.block_metric(metric) if counted is brute.CountedBlocks else metric,
        method=brute.with_kernel(method, kernel),
        random_state=0,
    )
    assert selection.evaluations == metric.calls + kernel.calls > 0
    assert selection.evaluations == sum(selection.evaluations_by_phase.values())


@every
def test_evaluations_are_counted_on_rows_of_strings(method):
    metric, kernel = brute.CountedPairs(brute.edits), brute.CountedBlocks(brute.likeness)
    method = brute.with_kernel(method, kernel)
    words = ["tree", "free", "three", "house", "mouse", "hose", "moss", "trees", "houses"]
    selection = pb.select(words, k=3, metric=metric, method=method, random_state=0)
    assert selection.evaluations == metric.calls + kernel.calls
    assert selection.prototypes == [words[i] for i in selection.indices]


@every
@weighted
def test_a_seed_gives_the_same_result(method, is_weighted):
    problem = pose(30, 40, 6, is_weighted)
    results = [pb.select(**problem, method=method, random_state=11) for _ in range(2)]
    assert results[0].indices.tolist() == results[1].indices.tolist()
    assert results[0].costs.tobytes() == results[1].costs.tobytes()
    assert results[0].evaluations == results[1].evaluations


@every
def test_every_type_of_random_state_is_accepted(method):
    problem = pose(12, 20, 3)
    states = (None, 5, np.int64(5), np.random.default_rng(5), np.random.RandomState(5))
    for random_state in states:
        assert pb.select(**problem, method=method, random_state=random_state).k == 3
    by_seed = pb.select(**problem, method=method, random_state=5)
    by_generator = pb.select(**problem, method=method, random_state=np.random.default_rng(5))
    assert by_seed.indices.tolist() == by_generator.indices.tolist()


@every
@weighted
def test_any_number_of_threads_gives_the_same_bits(method, is_weighted):
    """The problem is large enough for several tasks along source and target."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(4300, 32)).astype(np.float32)
    weights = random.integers(1, 5, size=3500) if is_weighted else None
    one, *others = (
        pb.select(
            rows[:800],
            rows[800:],
            k=3,
            weights=weights,
            method=method,
            random_state=1,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2, 4)
    )
    assert threads_module._state.pool.threads, "several threads have worked"
    for other in others:
        assert other.indices.tolist() == one.indices.tolist()
        assert other.costs.tobytes() == one.costs.tobytes()
        assert other.mass.tobytes() == one.mass.tobytes()
        assert other.evaluations_by_phase == one.evaluations_by_phase
        assert _gains(other).tobytes() == _gains(one).tobytes()


def _gains(selection):
    return np.array([step.gain for step in selection.steps])


@named
def test_concurrent_calls_do_not_disturb_each_other(name):
    random = np.random.default_rng(2)
    source, target = random.normal(size=(300, 24)), random.normal(size=(3000, 24))

    def run(seed):
        return pb.select(source, target, k=3, method=name, random_state=seed, n_jobs=2)

    alone = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(4)))
    for one, other in zip(alone, together, strict=True):
        assert one.indices.tolist() == other.indices.tolist()
        assert one.costs.tobytes() == other.costs.tobytes()
        assert one.evaluations == other.evaluations


@every
def test_the_selection_names_its_method_and_parameters(method):
    selection = pb.select(**pose(9, 12, 2), method=method, random_state=0)
    assert selection.method == method.name
    assert selection.parameters == {f.name: getattr(method, f.name) for f in fields(method)}
    assert type(method)(**selection.parameters) == method
    assert set(selection.evaluations_by_phase) == {"build", "swap", "assign", "certify"}


@named
def test_a_name_means_the_default_parameters(name):
    problem = pose(20, 30, 4)
    by_name = pb.select(**problem, method=name, random_state=3)
    by_value = pb.select(**problem, method=METHODS[name](), random_state=3)
    assert by_name.indices.tolist() == by_value.indices.tolist()
    assert by_name.parameters == by_value.parameters


@every
def test_the_inputs_are_not_modified(method):
    problem = pose(12, 20, 3, is_weighted=True)
    before = {name: np.copy(problem[name]) for name in ("source", "target", "weights")}
    for name in before:
        problem[name].setflags(write=False)
    pb.select(**problem, method=method, random_state=0)
    assert all((problem[name] == before[name]).all() for name in before)


@every
@pytest.mark.parametrize("stop_after", [1, 2, 4])
def test_a_callback_stops_the_search(method, stop_after):
    seen = []
    problem = pose(20, 30, 6)
    selection = pb.select(
        **problem,
        method=method,
        random_state=0,
        callback=lambda step: seen.append(step) or len(seen) == stop_after,
    )
    whole = pb.select(**problem, method=method, random_state=0)
    assert tuple(seen) == selection.steps
    assert selection.k == stop_after
    assert selection.status == (
        f"Stopped by the callback after {stop_after} of the 6 prototypes requested."
    )
    assert selection.guarantee is None
    assert selection.indices.tolist() == whole.indices[:stop_after].tolist()
    np.testing.assert_allclose(selection.costs, whole.costs[:stop_after], rtol=1e-12)
    d = brute.distances(brute.DEFINITIONS["euclidean"], problem["target"], problem["source"])
    expected = brute.mass(d, brute.even(30), selection.indices)
    np.testing.assert_allclose(selection.mass, expected, atol=1e-12)


@every
def test_a_callback_that_stops_at_the_last_step_changes_nothing(method):
    seen = []
    selection = pb.select(
        **pose(20, 30, 4),
        method=method,
        random_state=0,
        callback=lambda step: seen.append(step) or len(seen) == 4,
    )
    assert selection.k == 4
    assert "Stopped" not in selection.status
