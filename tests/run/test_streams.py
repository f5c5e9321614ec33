"""Searches that draw rows of a stream as they need them."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import brute
import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import SEARCHES, ProtoBandit
from watched import outcome

SOURCE = brute.normal(120, 4, dtype=np.float32)
PROVEN = ProtoBandit(nu_step=0.2, early_stop=False)
N_FIRST, N_FRESH = 1024, 4096


def batches(sizes=None, last=None, seed=1):
    """Yield batches of these sizes, ``last`` rows in all; the rows depend on the seed alone."""
    random, n_left = np.random.default_rng(seed), np.inf if last is None else last
    for size in itertools.repeat(100) if sizes is None else sizes:
        if n_left == 0:
            return
        n = int(min(size, n_left))
        n_left -= n
        yield random.normal(size=(n, 4)).astype(np.float32)


def select(stream, source=SOURCE, **options):
    return pb.select(
        source, pb.Stream(stream), **{"k": 5, "random_state": 0, "method": PROVEN, **options}
    )


def head(n, seed=1):
    return next(batches([n], seed=seed))


# -- what is read ---------------------------------------------------------------------------------


def test_rows_and_pulls_are_in_the_result():
    chosen = select(batches())
    n = chosen.rows_read
    assert N_FIRST + N_FRESH < n < 50_000
    assert chosen.pulls > 0
    assert f"{n:,} in all" in chosen.status
    np.testing.assert_array_equal(chosen.problem.target.take(slice(0, n)), head(n))
    np.testing.assert_array_equal(chosen.problem.fresh.take(slice(0, N_FRESH)), head(n)[-N_FRESH:])
    loaded = pb.Selection.from_json(chosen.to_json())
    assert (loaded.rows_read, loaded.pulls) == (n, chosen.pulls)
    assert chosen.warnings == ()


def test_targets_that_are_not_streams_have_no_rows_read():
    chosen = pb.select(SOURCE, brute.normal(5000, 4), k=3, method=PROVEN, random_state=0)
    assert chosen.rows_read is None
    assert chosen.pulls > 0
    assert pb.select(SOURCE, k=3).pulls == 0


SIZES = {
    "one row": itertools.repeat(1),
    "large": itertools.repeat(20_000),
    "varying": itertools.cycle([1, 700, 0, 3, 0, 0, 4099]),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_sizes_of_batches_do_not_matter(sizes):
    a, b = select(batches()), select(batches(sizes))
    assert outcome(a) == outcome(b)
    assert (a.rows_read, a.pulls, a.status) == (b.rows_read, b.pulls, b.status)


def test_a_better_answer_reads_more_rows():
    read = [select(batches(), method=ProtoBandit(nu_step=nu)).rows_read for nu in (0.3, 0.1, 0.05)]
    assert read[0] < read[1] < read[2]


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_draws_rows(search):
    chosen = select(
        batches(itertools.repeat(5000)),
        method=ProtoBandit(search=search, nu_step=0.5, delta=0.2, early_stop=False),
    )
    assert chosen.k == 5
    assert chosen.guarantee is not None
    best = pb.select(SOURCE, head(4096), k=5, method="lazygreedy").cost
    assert chosen.cost < 1.2 * best


def test_no_row_is_read_in_two_rounds(monkeypatch):
    """A round with shared rows reads as many rows as its longest arm, and pulls no other ones."""
    from protobandit.search.objectives.sampled_coverage import StreamedCoverage

    drawn, original = [], StreamedCoverage.draw

    def watched(self, n):
        targets, nearest = original(self, n)
        drawn.append((len(self.prototypes), np.array(targets.rows)))
        return targets, nearest

    monkeypatch.setattr(StreamedCoverage, "draw", watched)
    chosen = select(batches())
    rows = np.concatenate([block for _, block in drawn])
    n = chosen.rows_read - N_FRESH
    np.testing.assert_array_equal(rows, head(n)[N_FIRST:])
    assert sorted({round for round, _ in drawn}) == [0, 1, 2, 3, 4]


def test_the_seed_and_the_rows_determine_the_result():
    for n_jobs in (1, 2):
        a, b = (select(batches(), n_jobs=n_jobs) for _ in range(2))
        assert outcome(a) == outcome(b) == outcome(select(batches(), n_jobs=3 - n_jobs))
    assert select(batches(seed=2)).cost != a.cost


@pytest.mark.parametrize("last", [None, 3000])
def test_evaluations_are_the_calls_of_the_metric(last):
    counted = brute.CountedBlocks(lambda a, b: float(abs(a[0] - b[0])))
    chosen = select(
        lambda: batches(last=last),
        SOURCE[:20],
        metric=pb.block_metric(counted),
        k=2,
        method=ProtoBandit(nu_step=0.3),
    )
    assert chosen.evaluations == counted.calls
    assert bool(chosen.warnings) == (last is not None)


def test_memory_does_not_grow_with_the_rows_read():
    """100 columns of float32: 400 bytes per row, of which 50,000 + 16,384 may be kept."""
    source = brute.normal(60, 100, dtype=np.float32)
    block = brute.normal(5000, 100, seed=3, dtype=np.float32)

    def endless():
        while True:
            yield block

    method = ProtoBandit(search="uniform", nu_step=0.025, delta=0.05)
    select(endless, source, method=ProtoBandit(nu_step=0.3))  # compiles
    tracemalloc.start()
    try:
        chosen = select(endless, source, method=method, k=6)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert chosen.rows_read > 120_000
    n_bytes = chosen.rows_read * 400
    assert len(chosen.problem.target) == 50_000
    # The kept rows are joined at the end, so they exist twice for a moment.
    assert peak < 45e6 + 16_384 * 3 * 400 < 1.4 * n_bytes


# -- what it is worth -----------------------------------------------------------------------------


def test_the_guarantee_is_about_the_distribution():
    chosen = select(batches())
    assert "independent draws from one distribution, which is the target" in str(chosen.guarantee)
    assert "rows that were read from the stream" not in str(chosen.guarantee)


def test_cost_and_mass_are_measured_on_rows_that_the_search_has_not_seen():
    chosen = select(batches())
    fresh = head(chosen.rows_read)[-N_FRESH:]
    d = chosen.distances(fresh)
    assert chosen.cost == pytest.approx(d.min(axis=1).mean(), rel=1e-5)
    assert chosen.cost_error == pytest.approx(d.min(axis=1).std(ddof=1) / 64, rel=1e-4)
    np.testing.assert_allclose(chosen.mass, np.bincount(d.argmin(axis=1), minlength=5) / N_FRESH)
    n_scanned = chosen.evaluations_by_phase["assign"] - 5 * N_FRESH  # for far rows
    assert 0 <= n_scanned <= 5 * 20_000


def test_later_queries_use_the_rows_that_were_kept():
    chosen = select(batches())
    assert sum(len(chosen.members(i)) for i in range(5)) == chosen.rows_read
    assert chosen.barycentres().shape == (5, 4)
    certificate = chosen.certify(random_state=0)
    assert certificate.cost_ratio >= 1
    kept = f"the target is the first {chosen.rows_read:,} rows that were read from the stream"
    assert certificate.conditions == (kept,)
    text = chosen.to_json()
    again = pb.Selection.from_json(text).attached(SOURCE, head(chosen.rows_read))
    assert again.members(0).tolist() == chosen.members(0).tolist()


def test_an_extension_is_about_the_rows_that_were_kept():
    """The rows that judged the first prototypes are among its target, so they judge it no more."""
    chosen = select(batches())
    more = chosen.extended(6, random_state=0)
    assert more.k == 6
    kept = f"the target is the first {chosen.rows_read:,} rows that were read from the stream"
    assert kept in str(more.guarantee)
    assert "distribution" not in str(more.guarantee)
    assert kept[1:] in more.status
    exact = chosen.extended(6, method="lazygreedy")
    nearest = exact.distances(head(chosen.rows_read)).min(axis=1)
    assert exact.cost == pytest.approx(nearest.mean(), rel=1e-5)


# -- streams that end -----------------------------------------------------------------------------


@pytest.mark.parametrize("last", [1, 500, N_FIRST - 1, N_FIRST, 2000, 4500])
def test_a_stream_that_ends_too_early_says_so(last):
    chosen = select(lambda: batches(last=last))
    assert chosen.k == 5
    assert chosen.rows_read == len(chosen.problem.target) == last
    (warning,) = chosen.warnings
    assert warning.kind is WarningKind.STREAM_ENDED
    assert f"the stream ended after {last:,} rows" in warning.message
    assert warning.message in chosen.status
    assert chosen.problem.fresh is None
    if last <= 4096:
        assert chosen.cost_error == 0
        exact = chosen.distances(head(last)).min(axis=1).mean()
        assert chosen.cost == pytest.approx(exact, rel=1e-5)
    if last > 1:  # of one row everything is known
        expected = f"the target is the first {last:,} rows that were read from the stream"
        assert expected in str(chosen.guarantee)
        assert "distribution" not in str(chosen.guarantee)


def test_a_stream_that_ends_after_many_rows_leaves_those_that_were_kept():
    block = brute.normal(52_000, 4, dtype=np.float32)
    chosen = select([block], method=ProtoBandit(search="uniform", nu_step=0.02, epsilon=0.4))
    assert (chosen.rows_read, len(chosen.problem.target)) == (52_000, 50_000)
    assert "the first 50,000 of them as its target" in chosen.warnings[0].message


def test_an_answer_on_the_rows_read_is_as_good_as_without_a_stream():
    rows = head(3000)
    streamed = select([rows])
    plain = pb.select(SOURCE, rows, k=5, method=PROVEN, random_state=1)
    assert streamed.cost == pytest.approx(plain.cost, rel=0.1)
    assert streamed.evaluations > plain.evaluations  # it started again


def test_a_stream_without_rows_raises():
    for nothing in ([], [np.empty((0, 4))]):
        with pytest.raises(pb.InvalidInput, match="ended before its first row"):
            select(nothing)


@pytest.mark.parametrize("last", [None, 2500])
def test_limits_and_callbacks_end_the_search(last):
    few = select(lambda: batches(last=last), limits=pb.Limits(evaluations=10_000))
    assert 1 <= few.k < 5
    assert "Stopped by the limit" in few.status
    one = select(lambda: batches(last=last), callback=lambda step: True)
    assert one.k == 1
    for chosen in (few, one):
        assert chosen.guarantee is None
        assert chosen.cost_error > 0
        assert np.isfinite(chosen.cost)


def test_a_stream_that_ends_while_the_result_is_judged_says_so():
    n_read = select(batches(), callback=lambda step: True).rows_read
    chosen = select(lambda: batches(last=n_read - 1), callback=lambda step: True)
    assert (chosen.k, chosen.rows_read) == (1, n_read - 1)
    (warning,) = chosen.warnings
    assert warning.kind is WarningKind.STREAM_ENDED
    assert f"ended after {n_read - 1:,} rows, before there were enough to judge" in warning.message
    last = head(n_read - 1)[-N_FRESH:]
    assert chosen.cost == pytest.approx(chosen.distances(last).min(axis=1).mean(), rel=1e-5)


def test_an_interruption_reads_no_further_row():
    interrupt, n_batches = pb.Interrupt(), 0

    def counted():
        nonlocal n_batches
        for batch in batches():
            n_batches += 1
            yield batch

    def stop(step):
        interrupt.set()

    chosen = select(counted, callback=stop, interrupt=interrupt)
    assert chosen.k == 1
    assert "interruption" in chosen.status
    assert chosen.cost_error > 0
    assert n_batches == -(-chosen.rows_read // 100)


# -- rows of every kind ---------------------------------------------------------------------------


def test_sparse_rows_and_texts():
    source = sparse.csr_matrix(brute.whole(60, 6, top=3))

    def scattered():
        for seed in itertools.count():
            yield sparse.csr_array(brute.whole(500, 6, top=3, seed=seed))

    assert select(scattered, source).rows_read > N_FIRST + N_FRESH

    def words():
        for i in itertools.count():
            yield ["abc"[: i % 3 + 1] * (i % 4 + 1)] * 50

    chosen = select(words, ["a", "ab", "abc", "zzzz"], metric="levenshtein", k=2)
    assert 3 not in chosen.indices
    assert chosen.rows_read > N_FIRST + N_FRESH


def test_a_preparation_is_fitted_on_the_first_rows_and_applied_to_all():
    source = 1000 * SOURCE + 7

    def far():
        for batch in batches(itertools.repeat(3000)):
            yield pd.DataFrame(1000 * batch + 7, columns=list("abcd"))

    chosen = select(
        far,
        pd.DataFrame(source, columns=list("abcd")),
        preparation=pb.Preparation(standardize=True),
    )
    fresh = pd.DataFrame(1000 * head(chosen.rows_read)[-N_FRESH:] + 7, columns=list("abcd"))
    assert chosen.cost == pytest.approx(chosen.distances(fresh).min(axis=1).mean(), rel=1e-4)
    fitted = pb.Preparation(standardize=True).fit(1000 * head(16_384) + 7)
    np.testing.assert_allclose(
        chosen.prototypes, fitted.transform(source[chosen.indices]), rtol=1e-4, atol=1e-4
    )


LATE = {
    "NaN": (np.full((100, 4), np.nan), r"batch 200 of the stream contains nan"),
    "columns": (np.zeros((100, 3)), "batch 200 of the stream holds dense rows of 3 column"),
    "words": ([["a"] * 4], "batch 200 of the stream does not hold numbers"),
}


def spoilt(late):
    yield from itertools.islice(batches(), 200)
    yield late
    yield from batches()


@pytest.mark.parametrize(("late", "message"), LATE.values(), ids=LATE)
def test_a_bad_batch_raises_when_it_is_read(late, message):
    with pytest.raises(pb.InvalidInput, match=message):
        select(spoilt(late), method=ProtoBandit(nu_step=0.03))


def test_a_missing_value_raises_unless_it_is_imputed():
    late = np.full((100, 4), np.nan)
    options = {"method": ProtoBandit(nu_step=0.03)}
    with pytest.raises(pb.InvalidInput, match="target has missing values"):
        select(spoilt(late), preparation=pb.Preparation(standardize=True), **options)
    filled = pb.Preparation(impute="mean")
    assert select(spoilt(late), preparation=filled, **options).rows_read > 20_100


def test_errors_of_the_iterator_propagate():
    def broken():
        yield from itertools.islice(batches(), 20)
        raise ConnectionError("connection lost")

    with pytest.raises(ConnectionError, match="connection lost"):
        select(broken)


def test_constraints_hold():
    groups = np.arange(120) % 3
    constraints = pb.Constraints(fixed=[7, 11], groups=groups, at_most=2)
    chosen = select(batches(), constraints=constraints)
    assert chosen.indices[:2].tolist() == [7, 11]
    assert np.bincount(groups[chosen.indices]).max() <= 2
    assert select(batches(), constraints=pb.Constraints(fixed=range(5))).rows_read == (
        N_FIRST + N_FRESH
    )


# -- checkpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "own"])
@pytest.mark.parametrize(("last", "n_steps"), [(None, 3), (2900, 1), (2900, -3)])
def test_a_search_can_be_resumed(metric, last, n_steps, tmp_path):
    """The same call reads the same rows again, without another search for known prototypes.

    If the stream ends, the first search is the one that is resumed, even if the second was stopped.
    """

    def own(a, b):
        return np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2)

    options = {"metric": pb.block_metric(own) if metric == "own" else metric}
    steps = []
    whole = select(lambda: batches(last=last), **options, callback=steps.append)
    assert bool(whole.warnings) == (len(steps) > 5) == (last is not None)
    path, n_stop = tmp_path / "search", n_steps if n_steps > 0 else len(steps) + n_steps
    steps.clear()

    def stop(step):
        steps.append(step)
        return len(steps) == n_stop

    stopped = select(lambda: batches(last=last), **options, callback=stop, checkpoint=path)
    assert stopped.k == (n_steps if n_steps > 0 else 5 + n_steps)
    found = select(lambda: batches(last=last), **options, checkpoint=path)
    assert outcome(found) == outcome(whole)
    assert (found.rows_read, found.pulls) == (whole.rows_read, whole.pulls)
    assert found.warnings == whole.warnings
    assert found.guarantee == whole.guarantee
    with pytest.raises(pb.InvalidInput, match="other target rows"):
        select(lambda: batches(seed=5), **options, checkpoint=path)
