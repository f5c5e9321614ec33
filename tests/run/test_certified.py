"""`Certified`: growing effort until a rigorous certificate holds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import brute
import protobandit as pb
from protobandit.certificate.certificate import Certificate
from protobandit.certificate.certify import certify
from protobandit.methods import LazyBandit
from protobandit.run import certified
from protobandit.run.certification import CertificationEnd
from protobandit.search.methods import lazybandit


def rows(n=60, columns=3, seed=0):
    return brute.normal(n, columns, seed=seed)


def scripted(monkeypatch, bounds, *, kind="rigorous"):
    """Let certificates return these lower bounds, one after the other; return what was asked."""
    asked = []

    def scripted_certify(solution, **arguments):
        bound = bounds[min(len(asked), len(bounds) - 1)]
        asked.append(arguments)
        return Certificate(
            kind=kind,
            confidence=arguments["confidence"],
            cost=solution.cost,
            cost_margin=0.0,
            cost_bound=bound,
            cost_ratio=math.inf,
            evaluations=1000,
            n_rows=10,
            statement="",
        )

    monkeypatch.setattr(certified, "certify", scripted_certify)
    return asked


# -- what is found ---------------------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_apart", [False, True])
def test_the_certificate_holds(is_weighted, is_apart):
    for seed in range(3):
        source = rows(14, seed=seed)
        target = rows(40, seed=seed + 50) if is_apart else source
        weights = np.random.default_rng(seed).exponential(size=len(target)) if is_weighted else None
        found = pb.select(
            source,
            target if is_apart else None,
            k=3,
            weights=weights,
            until=pb.Certified(1.05),
            random_state=seed,
        )
        d = brute.distances(brute.DEFINITIONS["euclidean"], target, source)
        q = brute.even(len(target)) if weights is None else weights
        best = brute.best_cost(d, q, 3)
        assert found.k == 3
        assert found.certificate.cost_bound <= best * (1 + 1e-9)
        assert found.cost <= found.certificate.cost_ratio * best * (1 + 1e-9)
        reached = found.certificate.cost_ratio <= 1.05 + 1e-6
        assert found.certification.is_reached == reached
        assert f"Certified within {found.certificate.cost_ratio:.3f}"[:22] in found.status


def test_a_search_ends_at_the_first_attempt_that_reaches_the_ratio(monkeypatch):
    cost = pb.select(rows(), k=4, random_state=0).cost
    asked = scripted(monkeypatch, [cost / 2, cost / 1.5, cost / 1.01])
    found = pb.select(rows(), k=4, until=pb.Certified(1.02, confidence=0.9), random_state=0)
    attempts = found.certification.attempts
    assert [attempt.effort for attempt in attempts] == ["fast", "balanced", "thorough"]
    assert found.certification.end is CertificationEnd.REACHED
    assert found.certificate.cost_ratio == attempts[-1].cost_ratio <= 1.02
    assert found.certificate.confidence == 0.9
    np.testing.assert_allclose(
        [1 - each["confidence"] for each in asked], [0.1 / 2, 0.1 / 6, 0.1 / 12]
    )
    assert [each["evaluations"] for each in asked] == [None, 2000, 4000]
    assert len({each["random_state"] for each in asked}) == 3
    assert "after 3 attempts up to effort thorough." in found.status


def test_the_highest_bound_of_all_attempts_counts(monkeypatch):
    cost = pb.select(rows(), k=4, random_state=0).cost
    scripted(monkeypatch, [cost / 1.2, cost / 2])
    found = pb.select(rows(), k=4, until=pb.Certified(1.01), random_state=0)
    assert found.certificate.cost_bound == pytest.approx(cost / 1.2)


def test_attempts_end_after_three_without_gain(monkeypatch):
    cost = pb.select(rows(), k=4, random_state=0).cost
    scripted(monkeypatch, [cost / 2, cost / 1.5, cost / 1.5])
    found = pb.select(rows(), k=4, until=pb.Certified(1.02), random_state=0)
    efforts = [attempt.effort for attempt in found.certification.attempts]
    assert efforts == ["fast", "balanced", "thorough", 12.0, 24.0]
    assert found.certification.end is CertificationEnd.NO_GAIN
    assert "1.02 was not reached: larger efforts gained nothing." in found.status
    assert found.k == 4


def test_an_exact_bound_is_computed_once(monkeypatch):
    cost = pb.select(rows(), k=4, random_state=0).cost
    asked = scripted(monkeypatch, [cost / 1.5], kind="exact")
    found = pb.select(rows(), k=4, until=pb.Certified(1.02), random_state=0)
    assert len(asked) == 1
    assert found.certificate.confidence == 1.0
    assert found.certificate.statement.startswith("For certain, the cost is at most")
    assert len(found.certification.attempts) == 4


def test_the_best_attempt_is_returned():
    found = pb.select(brute.normal(700, 8), k=9, until=pb.Certified(1), random_state=0, n_jobs=1)
    costs = [attempt.cost for attempt in found.certification.attempts]
    assert found.cost == pytest.approx(min(costs), rel=1e-9)
    assert found.certificate.cost == pytest.approx(min(costs), rel=1e-9)


def test_a_method_starts_with_its_own_effort(monkeypatch):
    scripted(monkeypatch, [1e-9])
    found = pb.select(rows(), k=4, method=LazyBandit(effort=9), until=pb.Certified(1.5))
    assert [each.effort for each in found.certification.attempts] == [9, 18.0, 36.0, 72.0]


# -- counts, limits, progress ----------------------------------------------------------------------


def test_a_limit_that_leaves_no_certificate_is_named():
    found = pb.select(
        rows(300), rows(5000, seed=1), k=3, until=pb.Certified(1.01),
        limits=pb.Limits(evaluations=2000), random_state=0,
    )  # fmt: skip
    assert math.isinf(found.certificate.cost_ratio)
    assert "Limits(evaluations=2000) left too few" in found.certificate.statement


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_evaluations_include_certificates(ratio):
    metric = brute.CountedBlocks(brute.DEFINITIONS["manhattan"])
    found = pb.select(
        rows(40), rows(50, seed=1), k=3, metric=pb.block_metric(metric), until=pb.Certified(ratio),
        random_state=0,
    )  # fmt: skip
    assert found.evaluations == metric.calls
    assert found.evaluations_by_phase["certify"] > 0
    assert found.evaluations == sum(each.evaluations for each in found.certification.attempts)
    assert found.steps[-1].evaluations <= found.evaluations


def test_a_limit_of_evaluations_includes_certificates():
    whole = brute.normal(400, 4)
    for most in (30_000, 100_000, 500_000):
        found = pb.select(
            whole, k=5, until=pb.Certified(1), limits=pb.Limits(evaluations=most), random_state=0
        )
        assert found.k == 5
        assert found.evaluations_by_phase["build"] + found.evaluations_by_phase["swap"] <= most
        assert found.evaluations <= most + found.evaluations_by_phase["assign"]
        assert found.certification.reason is None or "evaluations" in found.status


def test_a_limit_of_seconds_ends_the_attempts_after_a_certificate(monkeypatch):
    scripted(monkeypatch, [1e-9])
    found = pb.select(
        rows(200), k=5, until=pb.Certified(1), limits=pb.Limits(seconds=1e-9), random_state=0
    )
    assert len(found.certification.attempts) == 1
    assert found.certificate is not None
    assert "was not reached: ended by the limit of 1e-09 seconds." in found.status


def test_an_interruption_returns_the_best_so_far(monkeypatch):
    interrupt = pb.Interrupt()
    scripted(monkeypatch, [1e-9])
    seen = []

    def watch(progress):
        seen.append(progress)
        if progress.doing.startswith("attempt 2"):
            interrupt.set()

    found = pb.select(
        rows(), k=4, until=pb.Certified(1.01), random_state=0, progress=watch, interrupt=interrupt
    )
    assert found.k == 4
    assert found.certification.end is CertificationEnd.STOPPED
    assert "ended by an interruption." in found.status
    assert len(found.certification.attempts) == 2
    assert found.certificate is not None


def test_the_callback_ends_all_attempts():
    found = pb.select(rows(), k=4, until=pb.Certified(1.01), callback=lambda step: True)
    assert found.k == 1
    assert found.certificate is None
    assert "Nothing is certified: the callback ended 1 attempt" in found.status


def test_progress_never_goes_back(monkeypatch):
    scripted(monkeypatch, [1e-9])
    seen = []
    found = pb.select(rows(), k=4, until=pb.Certified(1.01), random_state=0, progress=seen.append)
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert seen[-1].doing == "done"
    assert [each.doing for each in seen].count("done") == 1
    assert seen[-1].evaluations <= found.evaluations
    assert any(each.doing == "attempt 2: certifying" for each in seen)


# -- checkpoints -----------------------------------------------------------------------------------


class Killed(Exception):
    """Stands for the end of a process."""


def sampled(monkeypatch, *, killed_at=None):
    """Let certificates be loose, and sampled, so that each attempt has one; return their calls."""
    real, calls = certify, []

    def counted(*arguments, **keywords):
        calls.append(keywords)
        if len(calls) == killed_at:
            raise Killed
        found = real(*arguments, **keywords)
        return replace(found, kind="rigorous", confidence=0.9, cost_bound=0.8 * found.cost_bound)

    monkeypatch.setattr(certified, "certify", counted)
    return calls


@pytest.mark.parametrize("metric", ["euclidean", "own"])
@pytest.mark.parametrize("killed_at", [1, 2, 4])
def test_a_killed_call_resumes(tmp_path, monkeypatch, metric, killed_at):
    counted = brute.CountedBlocks(brute.DEFINITIONS["euclidean"])
    measure = pb.block_metric(counted) if metric == "own" else metric
    call = {"k": 4, "until": pb.Certified(1), "random_state": 3, "metric": measure}
    calls = sampled(monkeypatch)
    whole = pb.select(rows(70), **call)
    n_evaluated, n_attempts = counted.calls, len(whole.certification.attempts)
    assert len(calls) == n_attempts >= 4
    checkpoint = pb.Checkpoint(tmp_path / "search", seconds=0)
    sampled(monkeypatch, killed_at=killed_at)
    with pytest.raises(Killed):
        pb.select(rows(70), **call, checkpoint=checkpoint)
    calls, counted.calls = sampled(monkeypatch), 0
    found = pb.select(rows(70), **call, checkpoint=checkpoint)
    assert len(calls) == n_attempts - killed_at + 1, "earlier certificates were saved"
    if metric == "own":
        assert counted.calls < n_evaluated
    assert found.indices.tolist() == whole.indices.tolist()
    assert found.costs.tobytes() == whole.costs.tobytes()
    assert found.evaluations_by_phase == whole.evaluations_by_phase
    assert found.certificate == whole.certificate
    assert found.certification == whole.certification
    calls = sampled(monkeypatch)
    again = pb.select(rows(70), **call, checkpoint=checkpoint)
    assert calls == []
    assert again.certification == whole.certification


def test_a_checkpoint_of_another_goal_is_refused(tmp_path):
    path = tmp_path / "search"
    pb.select(rows(), k=4, until=pb.Certified(1.5), random_state=0, checkpoint=path)
    with pytest.raises(pb.InvalidInput, match="another until"):
        pb.select(rows(), k=4, until=pb.Certified(1.4), random_state=0, checkpoint=path)
    with pytest.raises(pb.InvalidInput, match="another until"):
        pb.select(rows(), k=4, method=LazyBandit(effort="fast"), random_state=0, checkpoint=path)


# -- threads, plans, refusals ----------------------------------------------------------------------


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    whole = brute.normal(700, 10).astype(np.float32)
    sampled(monkeypatch)
    monkeypatch.setattr(certified, "_PATIENCE", 2)
    one, two = (
        pb.select(whole, k=5, until=pb.Certified(1.0), random_state=0, n_jobs=n) for n in (1, 2)
    )
    assert len(one.certification.attempts) > 2
    assert one.indices.tolist() == two.indices.tolist()
    assert one.certificate == two.certificate
    assert one.evaluations_by_phase == two.evaluations_by_phase


def test_a_plan_is_for_the_first_attempt_and_its_certificate():
    plan = pb.plan(rows(), k=4, until=pb.Certified(1.5))
    assert (plan.method, plan.parameters) == ("lazybandit", {"effort": "fast"})
    found = pb.select(rows(), k=4, until=pb.Certified(5))
    assert plan.evaluations == found.evaluations == 2 * 60 * 60


@pytest.mark.parametrize("ratio", [0.99, -1, math.nan, math.inf, "1.05", None, True], ids=repr)
def test_invalid_ratios(ratio):
    with pytest.raises(pb.InvalidInput, match=r"Certified\(ratio\)="):
        pb.Certified(ratio)


@pytest.mark.parametrize("confidence", [0, 1, math.nan, "much"], ids=repr)
def test_invalid_confidences(confidence):
    with pytest.raises(pb.InvalidInput, match=r"Certified\(confidence\)="):
        pb.Certified(1.05, confidence=confidence)


@pytest.mark.parametrize("call", [pb.select, pb.plan])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"k=None is given with until=Certified\(.* Pass k as a number"),
        ({"k": "auto"}, r"k='auto' is given with until=Certified"),
        ({"k": 3, "method": "fasterpam"}, r"method='fasterpam' has no effort .* method='auto'"),
        ({"k": 3, "by": np.arange(60) % 2}, r"until is given with by="),
        (
            {"k": 3, "constraints": pb.Constraints(costs=np.ones(60), budget=2)},
            r"method='lazygreedy' has no effort",
        ),
    ],
    ids=["none", "auto", "method", "by", "costs"],
)
def test_what_it_does_not_support_is_refused(call, arguments, message):
    with pytest.raises(pb.InvalidInput, match=message):
        call(rows(), until=pb.Certified(1.05), **arguments)


def test_a_stream_is_refused():
    stream = pb.Stream(iter([rows()]))
    with pytest.raises(pb.InvalidInput, match="is given with a Stream as target"):
        pb.select(rows(), stream, k=3, until=pb.Certified(1.05))


def test_a_selection_without_the_goal_has_no_certification():
    assert pb.select(rows(), k=3).certification is None


def test_the_best_selection_reaches_a_ratio_of_1():
    two = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    found = pb.select(two, k=2, until=pb.Certified(1))
    assert found.certification.is_reached
    assert found.certificate.cost_ratio == pytest.approx(1)


def test_an_estimate_is_never_compared_with_a_bound(monkeypatch):
    """A cost that was only estimated may be too low, so it must not give a ratio."""
    monkeypatch.setattr(lazybandit, "AT_ONCE", 0)
    source, target = brute.normal(30), brute.normal(6000, seed=1)
    low, seen = [1e-3], []
    real = certified.search

    def optimistic(*arguments, **keywords):
        found = real(*arguments, **keywords)
        costs = found.assessment.costs * (1.0 if not seen else low[0])
        seen.append(found)
        return replace(found, assessment=replace(found.assessment, costs=costs))

    monkeypatch.setattr(certified, "search", optimistic)
    monkeypatch.setattr(certified, "_PATIENCE", 2)
    calls = sampled(monkeypatch)
    call = {"k": 3, "until": pb.Certified(1), "random_state": 0}
    found = pb.select(source, target, **call)
    assert seen[0].assessment.error > 0
    assert len(calls) > 2
    d = brute.distances(brute.DEFINITIONS["euclidean"], target[:2000], source)
    exact = d[:, found.indices].min(axis=1).mean()
    assert found.certificate.cost == pytest.approx(exact, rel=0.1)
    assert found.certificate.cost_ratio > 1.2
    seen.clear()
    interrupt = pb.Interrupt()

    def stop(progress):
        if progress.doing.startswith("attempt 2"):
            interrupt.set()

    early = pb.select(source, target, **call, progress=stop, interrupt=interrupt)
    assert len(early.certification.attempts) == 2
    assert early.certification.attempts[1].cost < 0.1 * exact, "what was not certified"
    assert early.certificate.cost_ratio > 1.2
    seen.clear()
    limited = pb.select(source, target, **call, limits=pb.Limits(evaluations=6000))
    assert limited.k == 3
    assert limited.certificate.cost_ratio == math.inf
    assert limited.certificate.statement.startswith("Nothing is proven")
    assert pb.Selection.from_json(limited.to_json()).certificate == limited.certificate
    assert "Certified within" not in limited.status
    assert "Nothing is proven after" in limited.status


def test_a_part_has_no_certification():
    assert pb.select(rows(), k=[2, 3], until=pb.Certified(2)).at(2).certification is None


def test_an_estimator_takes_the_goal():
    model = pb.PrototypeSelector(n_prototypes=3, until=pb.Certified(3), random_state=0)
    assert model.fit(rows()).selection_.certificate.cost_ratio <= 3
