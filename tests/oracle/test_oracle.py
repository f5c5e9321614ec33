from __future__ import annotations

import threading
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from brute import CountedBlocks, CountedPairs, normal
from protobandit import InvalidInput, block_metric
from protobandit.oracle.counts import PHASES
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.posing import pose

TARGET_SIZES = [1, CHUNK - 1, CHUNK, CHUNK + 1, 5000]
SOURCE_SIZES = [1, 255, 256, 257, 5000]


def manhattan(target, source):
    return float(abs(target - source).sum())


def oracle_of(source, target=None, *, metric="manhattan", n_jobs=1, **options):
    return Oracle(pose(source, target, k=1, metric=metric, **options), n_jobs=n_jobs)


def scanned(oracle, sources):
    """Return what `scan` shows, as one matrix; every place must be shown exactly once."""
    n_target = len(oracle.problem.target)
    out, times = (
        np.empty((len(sources), n_target), oracle.dtype),
        np.zeros((len(sources), n_target)),
    )

    def visit(tile):
        width = tile.columns.stop - tile.columns.start
        block = tile.matrix[tile.rows, tile.first : tile.first + width]
        place = np.ix_(tile.positions, np.arange(tile.columns.start, tile.columns.stop))
        out[place] = block
        times[place] += 1
        whole = oracle.groups[tile.group]
        assert whole.start <= tile.columns.start < tile.columns.stop <= whole.stop
        assert (tile.columns.start - whole.start) % CHUNK == 0

    with oracle.at_work():
        oracle.scan(sources, visit)
    assert (times == 1).all()
    return out


def listed(oracle, sources):
    with oracle.at_work():
        return oracle.distances(sources, oracle.targets(slice(0, len(oracle.problem.target))))


def visited(oracle, sources):
    out = np.full((len(sources), len(oracle.problem.target)), np.nan, oracle.dtype)

    def visit(block, tile):
        out[tile] = block

    with oracle.at_work():
        oracle.visit(sources, oracle.targets(slice(0, out.shape[1])), visit)
    return out


def columns(oracle, sources):
    with oracle.at_work():
        return np.array([oracle.column(int(source)) for source in sources])


def chunked(oracle, sources):
    out = np.full((len(sources), len(oracle.problem.target)), np.nan, oracle.dtype)

    def visit(block, cut):
        out[:, cut] = block

    with oracle.at_work():
        oracle.each_chunk(sources, visit)
    return out


def tabulated(oracle, sources):
    out = np.full((len(sources), len(oracle.problem.target)), np.nan, oracle.dtype)
    with oracle.at_work():
        oracle.tabulate(sources, oracle.targets(slice(0, out.shape[1])), out)
    return out


def patched(oracle, sources):
    out = np.full((len(sources), len(oracle.problem.target)), np.nan, oracle.dtype)
    edges = [0, 3, len(sources)], [0, out.shape[1] // 3, out.shape[1]]
    places = list(product(*([slice(*pair) for pair in pairwise(side)] for side in edges)))

    def visit(block, patch):
        out[places[patch]] = block

    with oracle.at_work():
        oracle.each_patch([(sources[a], oracle.targets(b)) for a, b in places], visit)
    return out


WAYS = {
    "distances": listed,
    "visit": visited,
    "column": columns,
    "each_chunk": chunked,
    "tabulate": tabulated,
    "each_patch": patched,
    "scan": scanned,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)

SOURCE, TARGET = normal(37, 2, seed=1), normal(23, 2, seed=2)
SOME = np.array([5, 6, 7, 8, 0, 36, 5])  # a run, others out of order, one again


# -- the truth ------------------------------------------------------------------------------------

KINDS = {
    "dense": (SOURCE, TARGET, "manhattan"),
    "float32": (SOURCE.astype(np.float32), TARGET.astype(np.float32), "manhattan"),
    "sparse": (sp.csr_array(SOURCE), sp.csr_array(TARGET), "manhattan"),
    "callable": (SOURCE, TARGET, manhattan),
    "block": (SOURCE, TARGET, block_metric(lambda A, B: cdist(A, B, "cityblock"))),
    "objects": (
        [tuple(row) for row in SOURCE],
        [tuple(row) for row in TARGET],
        lambda t, s: manhattan(np.array(t), np.array(s)),
    ),
    "precomputed": (cdist(TARGET, SOURCE, "cityblock"), None, "precomputed"),
}


@every_way
@pytest.mark.parametrize(("source", "target", "metric"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("is_kept", [False, True])
def test_every_way_gives_the_distances_of_every_kind_of_rows(way, source, target, metric, is_kept):
    oracle = oracle_of(source, target, metric=metric)
    if is_kept:
        oracle.keep()
    truth = cdist(SOURCE[SOME], TARGET, "cityblock")
    np.testing.assert_allclose(way(oracle, SOME), truth, rtol=1e-5)
    np.testing.assert_allclose(way(oracle, SOME), truth, rtol=1e-5)


@every_way
def test_the_source_may_be_its_own_target(way):
    truth = cdist(SOURCE[SOME], SOURCE, "cityblock")
    np.testing.assert_allclose(way(oracle_of(SOURCE), SOME), truth, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_target", "n_source"),
    [*product(TARGET_SIZES, [1, 257]), *product([1, CHUNK + 1], SOURCE_SIZES), (200_000, 3)],
)
@pytest.mark.parametrize("is_kept", [False, True])
def test_tiles_cover_targets_and_sources_of_any_number(n_target, n_source, is_kept):
    target, source = (
        np.arange(n_target, dtype=np.float32)[:, None],
        3 * np.arange(n_source)[:, None],
    )
    oracle = oracle_of(source.astype(np.float32), target)
    ids = np.random.default_rng(0).permutation(n_source)[: -(-n_source // 2)]
    if is_kept:
        oracle.keep()
        scanned(oracle, ids[: len(ids) // 2])
    truth = abs(target[:, 0] - source[ids])
    np.testing.assert_array_equal(scanned(oracle, ids), truth)
    np.testing.assert_array_equal(scanned(oracle, np.sort(ids)), truth[np.argsort(ids)])
    assert len(oracle.groups) <= 64


@pytest.mark.parametrize("n_sources", [1, 5, 3000])
def test_chunks_cover_any_rows(n_sources):
    oracle = oracle_of(normal(n_sources, 1), normal(5000, 1, seed=1))
    rows = np.random.default_rng(0).integers(5000, size=4500)
    sources = np.arange(n_sources)[::-1]
    wanted = sources[:7]
    out = np.full((len(wanted), len(rows)), np.nan)

    def visit(block, cut):
        assert block.shape == (n_sources, cut.stop - cut.start)
        out[:, cut] = block[: len(wanted)]

    oracle.each_chunk(sources, visit, rows)
    truth = abs(normal(n_sources, 1)[wanted] - normal(5000, 1, seed=1)[rows, 0])
    np.testing.assert_allclose(out, truth, rtol=1e-12)
    assert oracle.evaluations["build"] == n_sources * len(rows)


@pytest.mark.parametrize("is_sample", [False, True])
def test_parts_are_few_and_each_is_visited_in_order(monkeypatch, is_sample):
    """Sums of k numbers are kept per part, so there must not be many."""
    monkeypatch.setattr("protobandit.oracle.oracle._BLOCK_CELLS", 20)
    oracle = oracle_of(normal(10, 1), normal(5000, 1, seed=1))
    rows = np.random.default_rng(0).integers(5000, size=4500) if is_sample else None
    out, ends = np.full((10, 4500 if is_sample else 5000), np.nan), {}

    def visit(block, cut, part):
        assert cut.start == ends.get(part, cut.start)
        out[:, cut], ends[part] = block, cut.stop

    n_parts = oracle.each_part(np.arange(10), visit, rows)
    assert sorted(ends) == list(range(n_parts))
    assert 1 < n_parts <= 64
    targets = normal(5000, 1, seed=1)[np.arange(5000) if rows is None else rows, 0]
    np.testing.assert_allclose(out, abs(normal(10, 1) - targets), rtol=1e-12)


def test_a_source_too_large_to_be_held_twice_gives_the_same(monkeypatch):
    whole = scanned(oracle_of(SOURCE, TARGET, metric="euclidean"), SOME)
    monkeypatch.setattr("protobandit.oracle.oracle._CACHED_CELLS", 1)
    oracle = oracle_of(SOURCE, TARGET, metric="euclidean")
    assert oracle._all_sources is None
    np.testing.assert_array_equal(scanned(oracle, SOME), whole)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "jaccard", "manhattan", manhattan])
@pytest.mark.parametrize("kind", ["in memory", "on disk", "cached", "sparse"])
@pytest.mark.parametrize(
    "ids", [np.random.default_rng(0).permutation(9000)[:8500], np.arange(3, 8990)]
)
@pytest.mark.parametrize("side", ["targets", "sources"])
def test_many_rows_are_prepared_as_few_are(monkeypatch, tmp_path, metric, kind, ids, side):
    rows = 5 + normal(9000, 14).astype(np.float32)
    if kind == "on disk":
        np.save(tmp_path / "rows.npy", rows)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif kind == "sparse" and metric not in ("jaccard", manhattan):
        rows = sp.csr_array(rows)
    if kind != "cached":
        monkeypatch.setattr("protobandit.oracle.oracle._CACHED_CELLS", 0)
    oracle = oracle_of(rows, metric=metric, n_jobs=2)
    few, many = getattr(oracle, side)(ids), getattr(oracle, f"many_{side}")(ids)
    assert len(many) == len(ids)
    for name in ("rows", "norms", "near"):
        one, other = getattr(few, name), getattr(many, name)
        if one is None:
            assert other is None
        elif sp.issparse(one):
            assert (one != other).nnz == 0
        else:
            np.testing.assert_array_equal(one, other)


def test_consecutive_rows_are_not_copied(monkeypatch):
    monkeypatch.setattr("protobandit.oracle.oracle._CACHED_CELLS", 0)
    oracle = oracle_of(5 + normal(9000, 14).astype(np.float32), metric="euclidean")
    many = oracle.many_sources(np.arange(10, 8000))
    assert np.shares_memory(many.given, oracle.problem.source.take(slice(10, 8000)))
    assert many.near is not None


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", manhattan])
def test_nearest_since_compares_with_later_sources_only(metric):
    oracle = oracle_of(SOURCE, TARGET, metric=metric)
    prototypes = np.array([3, 1, 30, 4])
    since = np.arange(len(TARGET)) % 5
    with oracle.at_work():
        nearest = oracle.nearest_since(
            oracle.sources(prototypes), oracle.targets(slice(0, len(TARGET))), since
        )
    d = cdist(TARGET, SOURCE[prototypes], "cityblock" if metric != "euclidean" else "euclidean")
    truth = [min(row[start:], default=np.inf) for row, start in zip(d, since, strict=True)]
    np.testing.assert_allclose(nearest, truth, rtol=1e-12)
    assert oracle.evaluations.total() == (4 - since).sum()


# -- the counts -----------------------------------------------------------------------------------


def counting(metric):
    counted = metric(manhattan)
    return counted, block_metric(counted) if metric is CountedBlocks else counted


@every_way
@pytest.mark.parametrize("metric", [CountedPairs, CountedBlocks])
@pytest.mark.parametrize("is_kept", [False, True])
def test_evaluations_are_the_calls_of_the_metric(way, metric, is_kept):
    counted, measure = counting(metric)
    oracle = oracle_of(SOURCE, TARGET, metric=measure, n_jobs=2)
    if is_kept:
        oracle.keep()
    for n_times in (1, 2):
        way(oracle, SOME)
        assert oracle.evaluations.total() == counted.calls
        n_answers = oracle.evaluations.total() + oracle.lookups.total()
        assert n_answers == n_times * len(SOME) * len(TARGET)
    if not is_kept:
        assert not oracle.lookups


@pytest.mark.parametrize("metric", [CountedPairs, CountedBlocks])
def test_what_was_kept_is_looked_up(metric):
    counted, measure = counting(metric)
    oracle = oracle_of(SOURCE, TARGET, metric=measure)
    oracle.keep()
    scanned(oracle, np.array([4, 5, 9]))
    assert (counted.calls, oracle.lookups.total()) == (3 * 23, 0)
    scanned(oracle, np.array([9, 1, 4, 2]))
    assert (counted.calls, oracle.lookups.total()) == (5 * 23, 2 * 23)
    columns(oracle, [1, 5, 30])
    assert (counted.calls, oracle.lookups.total()) == (6 * 23, 4 * 23)
    assert oracle.evaluations.total() == counted.calls


def test_counts_go_to_the_phase_at_hand():
    oracle = oracle_of(SOURCE, TARGET)
    targets = oracle.targets(slice(0, 4))
    for n, phase in enumerate(PHASES, start=1):
        with oracle.during(phase):
            oracle.distances(np.arange(n), targets)
    with pytest.raises(ValueError, match="out"), oracle.during("swap"), oracle.during("certify"):
        raise ValueError("out")
    oracle.distances(np.arange(1), targets)
    assert oracle.evaluations == {"build": 8, "swap": 8, "assign": 12, "certify": 16}


def test_a_column_is_part_of_the_assignment():
    oracle = oracle_of(SOURCE, TARGET)
    oracle.keep()
    scanned(oracle, np.array([3]))
    columns(oracle, [3, 4])
    assert oracle.evaluations == {"build": 23, "assign": 23}
    assert oracle.lookups == {"assign": 23}


def test_an_interrupted_scan_keeps_nothing():
    oracle = oracle_of(SOURCE, TARGET)
    oracle.keep()

    def visit(tile):
        raise KeyError

    with pytest.raises(KeyError):
        oracle.scan(SOME, visit)
    truth = cdist(SOURCE[SOME], TARGET, "cityblock")
    np.testing.assert_allclose(scanned(oracle, SOME), truth, rtol=1e-12)
    assert not oracle.lookups


def test_what_is_kept_stays():
    oracle = oracle_of(SOURCE, TARGET)
    assert oracle.n_kept == 0
    oracle.keep()
    scanned(oracle, SOME[:6])
    oracle.keep()
    assert oracle.n_kept == 6
    assert oracle.kept is None
    scanned(oracle, np.arange(len(SOURCE)))
    assert oracle.n_kept == len(SOURCE)
    assert oracle.evaluations == {"build": len(SOURCE) * len(TARGET)}
    np.testing.assert_allclose(oracle.kept, cdist(SOURCE, TARGET, "cityblock"), rtol=1e-12)


def test_the_matrix_would_take_as_many_bytes_as_it_does():
    for dtype in (np.float32, np.float64):
        oracle = oracle_of(SOURCE.astype(dtype), TARGET.astype(dtype))
        oracle.keep()
        assert oracle.matrix_bytes == oracle._kept.nbytes


# -- threads --------------------------------------------------------------------------------------

WORK = normal(300, 40, seed=3, dtype=np.float32), normal(3000, 40, seed=4, dtype=np.float32)


@every_way
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("is_kept", [False, True])
def test_any_number_of_threads_gives_the_same_bits(way, metric, is_kept):
    ids = np.append(np.arange(250), [299, 260, 280])
    if way is columns:
        ids = ids[[0, -1]]
    answers = []
    for n_jobs in (1, 2, 3, 7):
        oracle = oracle_of(*WORK, metric=metric, n_jobs=n_jobs)
        if is_kept:
            oracle.keep()
        answers.append((way(oracle, ids), way(oracle, ids), oracle.evaluations, oracle.lookups))
    first, again, evaluations, lookups = answers[0]
    np.testing.assert_array_equal(again, first)
    for one, two, *counts in answers[1:]:
        np.testing.assert_array_equal(one, first)
        np.testing.assert_array_equal(two, first)
        assert counts == [evaluations, lookups]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_kept_or_not_a_scan_shows_the_same_bits(metric):
    kept, loose = (oracle_of(*WORK, metric=metric, n_jobs=2) for _ in range(2))
    kept.keep()
    ids = np.arange(300)
    first = scanned(kept, ids)
    np.testing.assert_array_equal(scanned(kept, ids), first)
    np.testing.assert_array_equal(scanned(loose, ids), first)


@every_way
def test_a_metric_of_ones_own_is_called_on_the_calling_thread_only(way):
    threads = set()

    def metric(A, B):
        threads.add(threading.get_ident())
        return cdist(A, B, "cityblock")

    way(oracle_of(*WORK, metric=block_metric(metric), n_jobs=4), np.arange(0, 300, 30))
    assert threads == {threading.get_ident()}


def test_kept_rows_beyond_the_source_are_refused():
    rows = normal(20)
    oracle = oracle_of(rows)
    oracle.keep()
    oracle.counts.keep(np.array([3, len(rows)]))
    with pytest.raises(InvalidInput, match="checkpoint holds rows"):
        oracle.column(3)
