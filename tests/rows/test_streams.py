from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import protobandit as pb
from protobandit.foundation.run_warning import WarningKind
from protobandit.methods import LazyBandit
from protobandit.problem.limits import Limits
from protobandit.rows.columns import Columns
from protobandit.rows.convert import as_rows
from protobandit.rows.streams import (
    KEPT_ROWS,
    OpenStream,
    Stream,
    StreamEnded,
    StreamReader,
    take_stream_rows,
)
from protobandit.search.methods import lazybandit
from watched import outcome

SOURCE = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)


class Feed:
    """An endless iterator of batches that counts them."""

    def __init__(self, size=100, n_columns=4, seed=1, last=None):
        self.random = np.random.default_rng(seed)
        self.size, self.n_columns, self.last = size, n_columns, last
        self.n_batches = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.n_batches == self.last:
            raise StopIteration
        self.n_batches += 1
        return self.random.normal(size=(self.size, self.n_columns)).astype(np.float32)


def select(stream, source=SOURCE, **options):
    return pb.select(source, stream, **{"k": 5, "random_state": 0, **options})


ONE_HOT = pb.Preparation(categories="one-hot")


def read(batches, n_rows, n_fresh, **options):
    given = {"takes_objects": False, **options}
    return take_stream_rows(StreamReader(Stream(batches), **given), n_rows, n_fresh)


# -- number of rows read --------------------------------------------------------------------------


@pytest.mark.parametrize("effort", [0.5, "balanced"])
@pytest.mark.parametrize("k", [1, 5, 20])
def test_the_race_reads_what_its_last_rung_needs_and_no_further(k, effort):
    feed = Feed()
    chosen = select(Stream(feed), k=k, method=LazyBandit(effort=effort))
    n_rows = LazyBandit(effort=effort).stream_rows(
        n_source=300, k=k, is_expensive=False, limits=Limits()
    )
    assert len(chosen.problem.target) == n_rows
    assert len(chosen.problem.fresh) == 4096
    assert feed.n_batches == -(-(n_rows + 4096) // 100)
    assert f"first {n_rows:,} rows of a stream, in order of arrival, as many as" in chosen.status
    assert "as many as lazybandit needs" in chosen.status
    assert chosen.rows_read == n_rows + 4096
    assert "assumed to be exchangeable" in chosen.status


@pytest.mark.parametrize("method", ["lazygreedy", "protobandit", "random"])
def test_other_methods_read_the_given_number_of_rows(method):
    feed = Feed()
    chosen = select(Stream(feed, rows=730), method=method)
    assert len(chosen.problem.target) == 730
    assert feed.n_batches == 49  # 4,826 rows
    assert chosen.rows_read == 730 + 4096
    assert "as many as Stream(rows=730) asks for" in chosen.status


def test_other_methods_read_fifty_thousand_by_default():
    feed = Feed(size=10_000)
    chosen = select(Stream(feed), method="random")
    assert len(chosen.problem.target) == 50_000
    assert feed.n_batches == 6
    assert "because random reads its whole target before it starts" in chosen.status


@pytest.mark.parametrize("rows", [200, 10**6])
def test_rows_limit_the_race(rows):
    chosen = select(Stream(Feed(), rows=rows))
    needed = LazyBandit().stream_rows(n_source=300, k=5, is_expensive=False, limits=Limits())
    assert len(chosen.problem.target) == min(rows, needed)


def test_limits_reduce_the_rows_read():
    chosen = select(Stream(Feed()), k=5, limits=Limits(evaluations=100_000))
    assert len(chosen.problem.target) < len(select(Stream(Feed())).problem.target)
    assert sum(chosen.evaluations_by_phase[p] for p in ("build", "swap")) <= 100_000


BAD = {
    "weights": ({"weights": np.ones(3)}, "weights are given for a Stream"),
    "precomputed": ({"metric": "precomputed"}, "does not support a Stream"),
    "k": ({"k": 301}, "k=301 exceeds the 300 source rows"),
    "metric": ({"metric": "nonsense"}, "metric='nonsense' is not known"),
    "method": ({"method": "nonsense"}, "method='nonsense'"),
    "by": ({"by": np.zeros(300)}, "target is a Stream, which only select"),
    "goal": ({"method": "protobandit", "until": pb.MinGain(0.1)}, "does not support 'until'"),
    "knee": ({"method": "clara", "k": "auto"}, "does not support k='auto'"),
    "constraints": ({"constraints": pb.Constraints(fixed=[300])}, "fixed holds 300"),
    "source": ({"source": 5}, "source=5 is not a set of rows"),
    "number": ({"source": np.array(5)}, "source has 0 dimension"),
}


@pytest.mark.parametrize(("options", "expected"), BAD.values(), ids=BAD)
def test_a_bad_call_reads_nothing(options, expected):
    feed = Feed()
    with pytest.raises(pb.InvalidInput, match=expected):
        select(Stream(feed), **options)
    assert feed.n_batches == 0


def test_the_reason_names_the_method_that_runs():
    chosen = select(Stream(Feed(size=10_000)), k=None, until=pb.MinGain(0.5))
    assert "because lazygreedy reads its whole target before it starts" in chosen.status
    prices = pb.Constraints(costs=np.ones(300), budget=2)
    chosen = select(Stream(Feed(size=10_000)), constraints=prices, k=3)
    assert len(chosen.problem.target) == 50_000
    assert "as many as lazybandit needs" not in chosen.status


def test_only_select_accepts_a_stream():
    for call in (lambda t: pb.plan(SOURCE, t, k=3), lambda t: select(pb.Target(t, weights=[1]))):
        with pytest.raises(pb.InvalidInput, match="target is a Stream"):
            call(Stream(Feed()))


# -- results --------------------------------------------------------------------------------------


def test_cost_and_mass_are_measured_on_later_rows():
    batches = [next(Feed(size=5000)), next(Feed(size=4096, seed=9)) + 3]
    chosen = select(Stream(batches, rows=5000), method="lazygreedy")
    nearest = chosen.distances(batches[1])
    assert chosen.cost == pytest.approx(nearest.min(axis=1).mean(), rel=1e-5)
    assert chosen.cost_error == pytest.approx(nearest.min(axis=1).std(ddof=1) / 64, rel=1e-5)
    shares = np.bincount(nearest.argmin(axis=1), minlength=5) / 4096
    np.testing.assert_allclose(chosen.mass, shares, atol=1e-12)
    truth = pb.select(SOURCE, batches[0], k=5, method="lazygreedy")
    assert chosen.indices.tolist() == truth.indices.tolist()
    assert "4096 fresh ones" in chosen.status
    assert chosen.evaluations_by_phase["assign"] == 5 * 4096


def test_the_cost_of_a_short_stream_is_not_exact():
    chosen = select(Stream(Feed(), rows=100), method="lazygreedy")
    assert chosen.cost_error > 0
    assert "exact" not in chosen.status
    assert "the first 100 rows that were read from the stream" in str(chosen.guarantee)


def test_the_race_reads_rows_in_order_of_arrival(monkeypatch):
    orders = []
    original = lazybandit.order_for

    def watched(oracle, n_rows, random):
        order, weights = original(oracle, n_rows, random)
        orders.append((n_rows, order))
        return order, weights

    monkeypatch.setattr(lazybandit, "order_for", watched)
    source = np.random.default_rng(5).normal(size=(6000, 4)).astype(np.float32)
    feed = Feed(size=1000)
    pb.select(source, Stream(feed), k=20, random_state=0)
    ((n_rows, order),) = orders
    assert len(n_rows) > 1, "there is a race"
    assert order.read(3, n_rows[0]).tolist() == list(range(3, n_rows[0]))


def test_a_stream_is_as_good_as_its_rows():
    rows = np.concatenate([next(feed) for feed in [Feed(size=20_000)]])
    streamed = select(Stream([rows]), k=10)
    plain = select(rows, k=10)
    costs = [s.distances(rows).min(axis=1).mean() for s in (streamed, plain)]
    assert costs[0] == pytest.approx(costs[1], rel=0.01)


@pytest.mark.parametrize("n_batches", [1, 3])
def test_a_stream_that_ends_is_all_of_the_target(n_batches):
    chosen = select(Stream(Feed(last=n_batches)))
    assert len(chosen.problem.target) == 100 * n_batches
    assert chosen.problem.fresh is None
    assert chosen.cost_error == 0
    (warning,) = chosen.warnings
    assert warning.kind is WarningKind.STREAM_ENDED
    assert f"ended after {100 * n_batches} rows; all of them are the target" in warning.message
    assert chosen.rows_read == 100 * n_batches
    (condition,) = chosen.certify(random_state=0).conditions
    assert (
        condition
        == f"the target is the first {100 * n_batches} rows that were read from the stream"
    )
    assert condition in str(chosen.guarantee)


def test_a_stream_that_ends_within_the_fresh_rows_is_all_target():
    chosen = select(Stream(Feed(last=30), rows=2000))
    assert len(chosen.problem.target) == 3000
    assert "ended after 3,000 rows" in chosen.status


def test_a_stream_without_rows_raises():
    for batches in ([], [np.empty((0, 4))]):
        with pytest.raises(pb.InvalidInput, match="ended before its first row"):
            select(Stream(batches))


def test_certificates_and_members_refer_to_the_rows_read():
    chosen = select(Stream(Feed(), rows=500))
    assert sum(len(chosen.members(i)) for i in range(5)) == 500
    certificate = chosen.certify(random_state=0)
    assert certificate.cost_ratio >= 1
    condition = "the target is the first 500 rows that were read from the stream"
    assert certificate.conditions == (condition,)
    assert str(certificate).endswith(f"provided that {condition}")
    assert pb.Selection.from_json(chosen.to_json()).status == chosen.status


def test_preparation_is_fitted_on_the_target_and_applied_to_fresh_rows():
    batches = [1000 * next(Feed(size=5096)) + 7]
    chosen = select(Stream(batches, rows=1000), preparation=pb.Preparation(standardize=True))
    nearest = chosen.distances(batches[0][1000:]).min(axis=1)
    assert chosen.cost == pytest.approx(nearest.mean(), rel=1e-4)
    assert "assumed to be exchangeable" in chosen.status
    assert "standardize=True" in chosen.status


def test_source_may_be_a_file(tmp_path):
    np.save(tmp_path / "source.npy", SOURCE)
    chosen = pb.select(tmp_path / "source.npy", Stream(Feed()), k=5, random_state=0)
    assert chosen.indices.tolist() == select(Stream(Feed())).indices.tolist()


# -- batches --------------------------------------------------------------------------------------


def cut(rows, sizes=(3, 4, 5)):
    stops = np.cumsum(sizes)
    return [rows[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)]


ROWS = np.arange(24.0).reshape(12, 2)
FRAME = pd.DataFrame({"a": range(12), "b": list("xyzxyzxyzxyz")})


def test_batches_are_cut_where_the_target_ends():
    for make in (np.asarray, sp.csr_array, pd.DataFrame):
        found = read(map(make, cut(ROWS)), 5, 4)
        rows, fresh = (
            part.toarray() if sp.issparse(part) else part for part in (found.rows, found.fresh)
        )
        np.testing.assert_array_equal(rows, ROWS[:5])
        np.testing.assert_array_equal(fresh, ROWS[5:9])


def test_batches_of_texts():
    found = read(cut(list("abcdefghijkl")), 4, 3, takes_objects=True)
    assert (found.rows, found.fresh) == (list("abcd"), list("efg"))
    chosen = pb.select(["a", "b", "zz"], Stream([["a", "a"], ["b"]]), k=1, metric="levenshtein")
    assert chosen.indices.tolist() == [0]


@pytest.mark.parametrize("preparation", [None, pb.Preparation()])
def test_batches_may_be_files(tmp_path, preparation):
    paths = [tmp_path / f"{at}.npy" for at in range(3)]
    for path, rows in zip(paths, cut(ROWS), strict=True):
        np.save(path, rows)
    found = read(paths, 5, 4, preparation=preparation)
    rows = found.rows.numbers if preparation else found.rows
    np.testing.assert_array_equal(rows, ROWS[:5])


def test_batches_to_be_prepared_stay_columns():
    found = read(cut(FRAME), 5, 4, preparation=ONE_HOT)
    assert isinstance(found.rows, Columns)
    assert found.rows.numbers.ravel().tolist() == [0, 1, 2, 3, 4]
    assert found.fresh.categories["b"].tolist() == list("zxyz")


def test_empty_batches_are_ignored():
    found = read([ROWS[:0], ROWS[:3], ROWS[:0], ROWS[3:]], 4, 2)
    np.testing.assert_array_equal(found.rows, ROWS[:4])


NAMED = pd.DataFrame(ROWS, columns=["a", "b"])
SWAPPED = NAMED[["b", "a"]]


@pytest.mark.parametrize("columns", [None, ("a", "b"), ("b", "a")])
def test_columns_of_batches_are_matched_by_name(columns):
    found = read([SWAPPED, NAMED, SWAPPED.to_numpy(), NAMED], 100, 10, columns=columns)
    first = (NAMED if columns == ("a", "b") else SWAPPED).to_numpy()
    by_position = SWAPPED.to_numpy()
    np.testing.assert_array_equal(found.rows, np.concatenate([first, first, by_position, first]))


@pytest.mark.parametrize("columns", [None, ("a", "b")])
def test_the_error_names_a_batch_with_other_columns(columns):
    other = "source" if columns else "batch 0 of the stream"
    expected = f"batch 1 of the stream has other columns than {other}: missing 'a'; unexpected 'z'"
    with pytest.raises(pb.InvalidInput, match=expected):
        read([NAMED, NAMED.rename(columns={"a": "z"})], 100, 10, columns=columns)


@pytest.mark.parametrize("method", ["auto", "lazygreedy", "protobandit"])
def test_a_stream_of_frames_is_matched_with_the_source(method):
    source = pd.DataFrame(SOURCE * np.float32([1, 1, 1, 50]), columns=list("abcd"))

    def frames(order):
        for batch in Feed(size=1000):
            yield pd.DataFrame(batch * np.float32([1, 1, 1, 50]), columns=list("abcd"))[order]

    def chosen(order):
        n_rows = 2000 if method == "lazygreedy" else None
        stream = Stream(lambda: frames(order), rows=n_rows)
        return pb.select(source, stream, k=3, method=method, random_state=0)

    same, other = chosen(list("abcd")), chosen(list("dbca"))
    assert (same.indices.tolist(), same.cost) == (other.indices.tolist(), other.cost)


def test_a_prepared_stream_has_the_columns_of_the_source():
    frame = pd.DataFrame({"id": range(40), "v": list(SOURCE[:40])})
    found = pb.select(frame, Stream([frame]), k=3, preparation=pb.Preparation(standardize=True))
    assert found.columns == ("v",)
    assert found.columns_left_out == {"id": "beside the vectors of 'v'"}


UNLIKE = {
    "columns": ([ROWS, ROWS[:, :1]], "batch 1 of the stream holds dense rows of 1 column"),
    "kinds": ([ROWS, sp.csr_array(ROWS)], "batch 1 of the stream holds sparse rows"),
    "one row": ([ROWS, ROWS[0]], "batch 1 of the stream has 1 dimension"),
    "NaN": ([ROWS, ROWS * np.nan], "batch 1 of the stream contains nan"),
    "words": ([ROWS, [["a"]]], "batch 1 of the stream does not hold numbers"),
    "nothing": ([ROWS, None], "batch 1 of the stream=None is not a set of rows"),
}


@pytest.mark.parametrize(("batches", "expected"), UNLIKE.values(), ids=UNLIKE)
def test_the_error_names_a_batch_of_another_kind(batches, expected):
    with pytest.raises(pb.InvalidInput, match=expected):
        read(batches, 100, 10)


def test_the_error_names_a_prepared_batch_with_other_columns():
    with pytest.raises(pb.InvalidInput, match="batch 1 of the stream holds the columns"):
        read([FRAME, FRAME[["a"]]], 100, 10, preparation=ONE_HOT)


def test_a_batch_may_be_written_to_the_memory_of_the_last():
    def reused():
        buffer = np.empty((2, 2))
        for start in range(0, 12, 2):
            buffer[:] = ROWS[start : start + 2]
            yield buffer

    found = read(reused(), 5, 4)
    np.testing.assert_array_equal(found.rows, ROWS[:5])
    np.testing.assert_array_equal(found.fresh, ROWS[5:9])


def test_errors_of_the_iterator_propagate():
    def broken():
        yield ROWS
        raise ConnectionError("connection lost")

    with pytest.raises(ConnectionError, match="connection lost"):
        pb.select(ROWS, Stream(broken), k=1)


# -- streams that are read while the search runs --------------------------------------------------


def opened(batches, n_first):
    reader = StreamReader(Stream(batches), takes_objects=False)
    first = reader.read(n_first)
    return OpenStream(reader, first, lambda rows: as_rows(rows, name="target"))


@pytest.mark.parametrize("sizes", [(12,), (1,) * 12, (3, 0, 4, 0, 5)])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_are_drawn_once_and_in_order(sizes, make):
    stream = opened(map(make, cut(ROWS, sizes)), 2)
    drawn = [stream.draw(n).take(slice(0, n)) for n in (1, 4, 3)]
    found = np.concatenate([part.toarray() if sp.issparse(part) else part for part in drawn])
    np.testing.assert_array_equal(found, ROWS[2:10])
    assert stream.n_read == 10
    kept = stream.kept().take(slice(0, 10))
    np.testing.assert_array_equal(kept.toarray() if sp.issparse(kept) else kept, ROWS[:10])


def test_no_batch_is_read_before_it_is_needed():
    feed = Feed(size=10)
    stream = opened(feed, 5)
    assert feed.n_batches == 1
    stream.draw(5)
    assert feed.n_batches == 1
    stream.draw(1)
    assert feed.n_batches == 2


def test_an_open_stream_says_that_it_ended_and_keeps_what_came():
    stream = opened(cut(ROWS), 5)
    with pytest.raises(StreamEnded):
        stream.draw(8)
    assert stream.n_read == 12
    np.testing.assert_array_equal(stream.kept().take(slice(0, 12)), ROWS)
    with pytest.raises(StreamEnded):
        stream.draw(1)


def test_a_limited_number_of_rows_is_kept():
    feed = Feed(size=7000, n_columns=1)
    stream = opened(feed, 100)
    stream.skip_to(80_000)
    assert stream.n_read == 80_000
    kept = stream.kept()
    assert len(kept) == KEPT_ROWS
    rows = np.concatenate([next(feed) for feed in [Feed(size=7000, n_columns=1)] for _ in range(8)])
    np.testing.assert_array_equal(kept.take(slice(0, KEPT_ROWS)), rows[:KEPT_ROWS])


# -- repeated use ---------------------------------------------------------------------------------


def test_an_iterator_can_be_used_once():
    stream = Stream(Feed(), rows=100)
    select(stream)
    with pytest.raises(pb.InvalidInput, match=r"has been used .*function that returns"):
        select(stream)


def test_unread_batches_of_an_iterator_remain():
    feed = Feed(size=5000)
    select(Stream(feed, rows=100))
    assert feed.n_batches == 1
    assert next(feed).shape == (5000, 4)


@pytest.mark.parametrize("batches", [lambda: Feed(), [next(Feed(size=9000))]])
def test_functions_and_lists_can_be_used_again(batches):
    stream = Stream(batches, rows=100)
    assert select(stream).indices.tolist() == select(stream).indices.tolist()


@pytest.mark.parametrize("batches", [None, 3, "rows.npy", b"rows"])
def test_input_that_is_not_an_iterator_of_batches_raises(batches):
    with pytest.raises(pb.InvalidInput, match="is not an iterator of batches"):
        Stream(batches)
    with pytest.raises(pb.InvalidInput, match="is not an iterator of batches"):
        select(Stream(lambda: batches))


@pytest.mark.parametrize("rows", [0, -1, 1.5, "all", True])
def test_rows_must_be_a_positive_integer(rows):
    with pytest.raises(pb.InvalidInput, match=r"rows=.* is not allowed\. Pass an integer >= 1"):
        Stream([], rows=rows)


@pytest.mark.parametrize("metric", ["euclidean", "own"])
@pytest.mark.parametrize("method", ["lazygreedy", "protobandit", LazyBandit(effort=0.5)], ids=str)
def test_a_search_on_a_stream_can_be_resumed(method, metric, tmp_path):
    """The same call reads the same rows again."""

    def own(a, b):
        return np.abs(np.asarray(a)[:, None] - np.asarray(b)[None]).sum(axis=2)

    options = {"method": method, "metric": pb.block_metric(own) if metric == "own" else metric}
    whole = select(Stream(Feed(), rows=400), **options)
    path = tmp_path / "search"
    stopped = select(Stream(Feed(), rows=400), **options, callback=lambda _: True, checkpoint=path)
    assert stopped.k == 1
    found = select(Stream(Feed(), rows=400), **options, checkpoint=path)
    assert outcome(found) == outcome(whole)
    with pytest.raises(pb.InvalidInput, match="other target rows"):
        select(Stream(Feed(seed=2), rows=400), **options, checkpoint=path)


def test_repr():
    assert repr(Stream([], rows=3)) == "Stream(list, rows=3)"


def test_the_source_may_be_a_file_of_numbers_and_texts(tmp_path):
    path = tmp_path / "source.csv"
    path.write_text("x,colour\n0,red\n9,blue\n")
    frame = pd.DataFrame({"x": [0.1, 0.2] * 50, "colour": ["red", "red"] * 50})
    preparation = pb.Preparation(categories="one-hot")
    found = pb.select(path, pb.Stream(lambda: [frame]), k=1, preparation=preparation)
    assert found.indices.tolist() == [0]
    assert "the stream ended after 100 rows" in found.status
