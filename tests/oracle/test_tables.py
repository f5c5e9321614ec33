"""Tables and patchworks: what is kept is right, and nothing is computed twice."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import brute
import protobandit as pb
from protobandit.oracle.oracle import Oracle
from protobandit.oracle.tables import FullTable, RowBatch
from protobandit.oracle.tasks import CHUNK
from protobandit.problem.feasibility import Feasibility
from protobandit.problem.posing import pose
from protobandit.search.arms.lazy import Lazy
from protobandit.search.drivers.greedy import greedy
from protobandit.search.objectives.coverage import ExactCoverage
from search.objectives.instances import table, watched

N_SOURCE, N_TARGET = 9, 24
D = table(N_TARGET, N_SOURCE, seed=3)


def batch_of(oracle, rows, start=0):
    rows = np.asarray(rows)
    return RowBatch(start, oracle.targets(rows), rows + 1.0)


def first_patchwork(oracle, arms, rows):
    batch = batch_of(oracle, rows)
    return FullTable.of(oracle, np.asarray(arms), batch.targets).ragged(batch)


def entries_of(ragged, arm):
    """Return what is known of an arm: its distance by column."""
    own = slice(ragged.starts[arm], ragged.starts[arm + 1])
    columns = ragged.columns[own].tolist()
    assert len(set(columns)) == len(columns)
    return dict(zip(columns, ragged.values[own].tolist(), strict=True))


# -- full tables -----------------------------------------------------------------------------------


def test_a_table_holds_each_distance_and_computes_it_once():
    oracle, metric = watched(D)
    arms, rows = np.array([7, 0, 4]), np.array([20, 3, 3, 11])
    held = FullTable.of(oracle, arms, oracle.targets(rows))
    np.testing.assert_array_equal(held.matrix, D[np.ix_(rows, arms)].T)
    assert metric.pairs.total() == oracle.evaluations["build"] == 12
    assert oracle.lookups.total() == 0


def test_reading_a_table_costs_lookups_only():
    oracle, metric = watched(D)
    held = FullTable.of(oracle, np.arange(N_SOURCE), oracle.targets(np.arange(N_TARGET)))
    before = metric.pairs.total()
    np.testing.assert_array_equal(held.column(5), D[:, 5])
    assert oracle.lookups.total() == N_TARGET
    seen = {}

    def visit(tile):
        for row, position in zip(tile.rows, tile.positions, strict=True):
            seen[int(position)] = tile.matrix[row, tile.first : tile.columns.stop].copy()

    held.scan(np.array([8, 2]), visit)
    np.testing.assert_array_equal([seen[0], seen[1]], D[:, [8, 2]].T)
    assert oracle.lookups.total() == 3 * N_TARGET
    assert metric.pairs.total() == before


def test_greedy_on_a_table_is_greedy_on_its_rows():
    oracle, _ = watched(D)
    arms, rows = np.array([1, 2, 4, 5, 8]), np.array([0, 3, 4, 9, 10, 17, 23])
    held = FullTable.of(oracle, arms, oracle.targets(rows))
    weights = rows + 1.0
    coverage = ExactCoverage.over(held, weights)
    picks = greedy(
        Lazy(), coverage, feasibility=Feasibility.none(5), k=3, random=np.random.default_rng(0)
    )
    chosen = [int(arm) for pick in picks for arm in pick.arms]
    assert chosen == brute.greedy(D[np.ix_(rows, arms)], weights, 3)


def test_scans_are_cut_without_a_seam():
    """A table of more entries than a task takes."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(1500, 2))
    oracle = Oracle(pose(rows, k=1), n_jobs=2)
    held = FullTable.of(oracle, np.arange(1500), oracle.targets(slice(0, 1500)))
    seen = np.zeros(1500, dtype=int)
    tiles = []

    def visit(tile):
        tiles.append(len(tile.rows))
        seen[tile.positions] += 1
        assert (tile.rows == 1499 - tile.positions).all()

    held.scan(np.arange(1500)[::-1].copy(), visit)
    assert (seen == 1).all()
    assert len(tiles) > 1
    assert max(tiles) * 1500 <= CHUNK * CHUNK


# -- a table as a patchwork ------------------------------------------------------------------------


def test_a_table_as_a_patchwork_holds_the_same_numbers_in_the_same_place():
    oracle, metric = watched(D)
    batch = batch_of(oracle, [5, 1, 9])
    held = FullTable.of(oracle, np.array([3, 6]), batch.targets)
    ragged = held.ragged(batch)
    assert len(ragged) == 2
    assert ragged.n_rows == 3
    assert ragged.arms.tolist() == [3, 6]
    assert ragged.weights.tolist() == [6, 2, 10]
    assert np.shares_memory(ragged.values, held.matrix)
    for arm, source in enumerate((3, 6)):
        assert entries_of(ragged, arm) == {0: D[5, source], 1: D[1, source], 2: D[9, source]}
    assert metric.pairs.total() == 6


@pytest.mark.parametrize("limit", [0.0, 0.4, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_patchwork_may_hold_what_is_below_limits_only(limit, dtype):
    oracle, _ = watched(D)
    batch = batch_of(oracle, range(N_TARGET))
    held = FullTable(oracle=oracle, arms=np.arange(N_SOURCE), matrix=D.T.astype(dtype))
    limits = np.full(N_TARGET, limit, dtype=dtype)
    limits[::3] = 0.2
    ragged = held.ragged(batch, limits)
    for arm in range(N_SOURCE):
        known = dict(enumerate(held.matrix[arm].tolist()))
        assert entries_of(ragged, arm) == within(known, limits)
    assert ragged.values.dtype == dtype
    assert ragged.columns.dtype == np.int32
    np.testing.assert_array_equal(ragged.distances(np.arange(N_SOURCE)), held.matrix)
    for one, other in zip(held.within(limits)[:3], ragged.entries, strict=True):
        np.testing.assert_array_equal(one, other)


def test_large_tables_are_compared_with_limits_without_a_seam():
    random = np.random.default_rng(0)
    rows = random.normal(size=(2300, 2)).astype(np.float32)
    limits = random.uniform(0.0, 0.5, size=2300).astype(np.float32)
    both = []
    for n_jobs in (1, 2):
        oracle = Oracle(pose(rows, k=1), n_jobs=n_jobs)
        held = FullTable.of(oracle, np.arange(2300), oracle.targets(slice(0, 2300)))
        both.append(held.within(limits)[:3])
    is_within = held.matrix < limits
    is_within[np.arange(2300), held.matrix.argmin(axis=1)] = True
    assert 0.01 < is_within.mean() < 0.2
    for starts, columns, values in both:
        np.testing.assert_array_equal(np.diff(starts), is_within.sum(axis=1))
        np.testing.assert_array_equal(columns, np.nonzero(is_within)[1])
        np.testing.assert_array_equal(values, held.matrix[is_within])


# -- growing ---------------------------------------------------------------------------------------

FIRST = [5, 1, 9]
CELLS = [[2, 3, 4, 6], [], [7, 8], [10, 11, 12]]
MORE = [row for cell in CELLS for row in cell]
STARTS = np.array([0, 4, 4, 6, 9])
KEPT = np.array([0, 2, 3])
HOMES = np.array([[3, 1], [2, 0], [0, 1]])


def grown(oracle, is_measured=(True, True, True), limits=(np.inf, np.inf, np.inf)):
    """Return a patchwork of arms 0, 3, 6, 8 on three rows, and three of them on nine more."""
    before = first_patchwork(oracle, [0, 3, 6, 8], FIRST)
    batch = batch_of(oracle, MORE, start=3)
    return before, before.extended(
        KEPT, batch, STARTS, HOMES, np.array(is_measured), np.array(limits)
    )


def expected_entries(source, homes):
    truth = {column: D[row, source] for column, row in enumerate(FIRST)}
    for home in homes:
        for column in range(STARTS[home], STARTS[home + 1]):
            truth[3 + column] = D[MORE[column], source]
    return truth


def test_an_arm_gets_exactly_the_rows_of_its_home_cells():
    oracle, metric = watched(D)
    before, after = grown(oracle)
    assert after.arms.tolist() == [0, 6, 8]
    assert len(after) == 3
    assert after.n_rows == 12
    assert after.weights.tolist() == [row + 1 for row in FIRST + MORE]
    for arm, source in enumerate((0, 6, 8)):
        assert entries_of(after, arm) == expected_entries(source, HOMES[arm])
    # Arm 0 has homes of 3 and 0 rows, arm 6 of 2 and 4, arm 8 of 4 and 0.
    assert oracle.evaluations["build"] == metric.pairs.total() == 12 + 3 + 6 + 4
    assert max(metric.pairs.values()) == 1
    assert entries_of(before, 1) == {c: D[row, 3] for c, row in enumerate(FIRST)}


def test_an_arm_that_needs_no_rows_gets_none():
    oracle, metric = watched(D)
    _, after = grown(oracle, is_measured=(True, False, True))
    assert entries_of(after, 0) == expected_entries(0, HOMES[0])
    assert entries_of(after, 1) == expected_entries(6, [])
    assert entries_of(after, 2) == expected_entries(8, HOMES[2])
    assert metric.pairs.total() == oracle.evaluations["build"] == 12 + 3 + 4


def test_no_arm_at_all_may_need_rows():
    oracle, metric = watched(D)
    _, after = grown(oracle, is_measured=(False, False, False))
    assert after.n_rows == 12
    assert [entries_of(after, arm) for arm in range(3)] == [
        expected_entries(source, []) for source in (0, 6, 8)
    ]
    assert metric.pairs.total() == 12


def test_the_distances_of_an_arm_are_complete_and_counted():
    oracle, metric = watched(D)
    _, after = grown(oracle, limits=(0.3, 0.3, 0.3))
    before, looked_up = metric.pairs.total(), oracle.lookups.total()
    found = after.distances(np.array([2, 0]))
    np.testing.assert_array_equal(found, D[FIRST + MORE][:, [8, 0]].T)
    # The first batch is kept in full, whatever was forgotten; the second is computed.
    assert oracle.lookups.total() - looked_up == 2 * 3
    assert metric.pairs.total() - before == 2 * 9
    assert oracle.evaluations["build"] == metric.pairs.total()
    assert after.distances(np.zeros(0, dtype=np.int64)).shape == (0, 12)


def test_distances_at_the_first_batch_cost_lookups_only():
    oracle, metric = watched(D)
    ragged = first_patchwork(oracle, [0, 3, 8], FIRST)
    found = ragged.distances(np.array([2, 2, 0]))
    np.testing.assert_array_equal(found, D[FIRST][:, [8, 8, 0]].T)
    assert metric.pairs.total() == 9
    assert oracle.lookups.total() == 9
    found[:] = -1
    assert (ragged.table.matrix >= 0).all()


def test_arms_at_home_everywhere_get_all_rows():
    """Whatever the order of an arm's homes, and in one piece."""
    oracle, metric = watched(D)
    before = first_patchwork(oracle, [3, 6, 8], FIRST)
    homes = np.array([[3, 0, 1, 2], [2, 1, 0, 3], [1, 2, 3, 0]])
    batch = batch_of(oracle, MORE, start=3)
    is_measured = np.array([True, False, True])
    after = before.extended(np.arange(3), batch, STARTS, homes, is_measured, np.full(3, np.inf))
    assert entries_of(after, 0) == expected_entries(3, range(4))
    assert entries_of(after, 1) == expected_entries(6, [])
    assert entries_of(after, 2) == expected_entries(8, range(4))
    assert metric.pairs.total() == 3 * 3 + 2 * 9
    assert max(metric.pairs.values()) == 1


def test_what_is_out_of_reach_is_forgotten_when_growing():
    """But not an arm's least, by which its home is found."""
    limits = D[FIRST, 3]  # of arm 3, which is not kept
    for some in (limits, 0 * limits):
        oracle, _ = watched(D)
        _, after = grown(oracle, limits=some)
        for arm, source in enumerate((0, 6, 8)):
            known = D[FIRST, source]
            kept = {c for c in range(3) if known[c] < some[c]} | {int(known.argmin())}
            truth = expected_entries(source, HOMES[arm])
            forgotten = set(range(3)) - kept
            assert entries_of(after, arm) == {c: d for c, d in truth.items() if c not in forgotten}


def test_more_cells_than_short_integers_count():
    """Of 70,000 cells the last stand where a short integer would begin anew."""
    n_cells = 70_000
    oracle, metric = watched(D)
    before = first_patchwork(oracle, [0, 3, 6], FIRST)
    sizes = np.zeros(n_cells, dtype=int)
    sizes[[4, 65_540, 69_999]] = 1, 2, 3
    starts = np.concatenate([[0], np.cumsum(sizes)])
    batch = batch_of(oracle, MORE[:6], start=3)
    homes = np.array([[65_540, 9], [4, 69_999], [69_999, 65_535]])
    after = before.extended(
        np.arange(3), batch, starts, homes, np.ones(3, dtype=bool), np.full(3, np.inf)
    )
    columns = [sorted(set(entries_of(after, arm)) - {0, 1, 2}) for arm in range(3)]
    assert columns == [[4, 5], [3, 6, 7, 8], [6, 7, 8]]
    for arm, source in enumerate((0, 3, 6)):
        for column, value in entries_of(after, arm).items():
            assert value == D[(FIRST + MORE)[column], source]
    assert metric.pairs.total() == 9 + 2 + 4 + 3


def test_growing_again_keeps_what_was_known():
    oracle, metric = watched(D)
    _, middle = grown(oracle, is_measured=(True, False, True))
    last = [13, 14, 15, 16, 17]
    batch = batch_of(oracle, last, start=12)
    kept, homes = np.array([1, 2]), np.array([[1], [0]])
    limits = np.full(12, np.inf)
    after = middle.extended(kept, batch, np.array([0, 2, 5]), homes, np.ones(2, dtype=bool), limits)
    assert after.arms.tolist() == [6, 8]
    assert [batch.start for batch in after.batches] == [0, 3, 12]
    assert entries_of(after, 0) == expected_entries(6, []) | {
        14: D[15, 6],
        15: D[16, 6],
        16: D[17, 6],
    }
    assert entries_of(after, 1) == expected_entries(8, HOMES[2]) | {12: D[13, 8], 13: D[14, 8]}
    assert max(metric.pairs.values()) == 1
    np.testing.assert_array_equal(
        after.distances(np.arange(2)), D[FIRST + MORE + last][:, [6, 8]].T
    )


def within(known, limits):
    """Return the entries below the limits of their columns, and the least."""
    least = min(known, key=known.get)
    return {c: d for c, d in known.items() if d < limits[c] or c == least}


def test_random_growth_is_that_of_brute_force():
    for seed in range(20):
        random = np.random.default_rng(seed)
        oracle, metric = watched(D)
        ragged = first_patchwork(oracle, np.arange(N_SOURCE), random.permutation(4))
        truth = [entries_of(ragged, arm) for arm in range(N_SOURCE)]
        rows = list(ragged.batches[0].targets.rows)
        n_evaluations = 4 * N_SOURCE
        for _ in range(3):
            kept = np.sort(random.choice(len(ragged), max(1, len(ragged) - 2), False))
            n_cells = int(random.integers(1, 5))
            sizes = random.integers(0, 4, size=n_cells)
            sizes[0] += not sizes.any()
            new = random.integers(0, N_TARGET, size=sizes.sum())
            starts = np.concatenate([[0], np.cumsum(sizes)])
            n_homes = int(random.integers(1, n_cells + 1))
            homes = np.array([random.permutation(n_cells)[:n_homes] for _ in kept])
            is_measured = random.random(len(kept)) < 0.7
            first = ragged.n_rows
            batch = batch_of(oracle, new, start=first)
            limits = random.choice([0.0, 0.5, 0.8, np.inf], size=first)
            ragged = ragged.extended(kept, batch, starts, homes, is_measured, limits)
            truth = [within(truth[arm], limits) for arm in kept]
            for arm in np.flatnonzero(is_measured):
                for column in range(len(new)):
                    if starts.searchsorted(column, side="right") - 1 in homes[arm]:
                        truth[arm][first + column] = D[new[column], ragged.arms[arm]]
                        n_evaluations += 1
            rows += new.tolist()
            assert [entries_of(ragged, arm) for arm in range(len(kept))] == truth
            assert ragged.n_rows == len(rows)
        assert metric.pairs.total() == oracle.evaluations["build"] == n_evaluations
        everyone = np.arange(len(ragged))
        np.testing.assert_array_equal(ragged.distances(everyone), D[rows][:, ragged.arms].T)


# -- kinds of rows ---------------------------------------------------------------------------------

WORDS = ["tree", "free", "three", "house", "mouse", "hose", "moss", "trees", "houses", "oak", "ox"]
POINTS = brute.normal(30, 5)
POINTS[np.abs(POINTS) < 0.5] = 0.0


def kinds():
    euclidean = brute.DEFINITIONS["euclidean"]
    sparse = scipy.sparse.csr_matrix(POINTS)
    matrix = brute.distances(euclidean, POINTS, POINTS[:20])
    return {
        "dense": (pose(POINTS[:20], POINTS[5:], k=1), euclidean, POINTS[:20], POINTS[5:]),
        "itself": (pose(POINTS, k=1), euclidean, POINTS, POINTS),
        "float32": (
            pose(POINTS.astype(np.float32), k=1),
            euclidean,
            POINTS.astype(np.float32),
            POINTS.astype(np.float32),
        ),
        "sparse": (pose(sparse[:20], sparse[5:], k=1), euclidean, POINTS[:20], POINTS[5:]),
        "precomputed": (pose(matrix, k=1, metric="precomputed"), euclidean, POINTS[:20], POINTS),
        "strings": (pose(WORDS, k=1, metric=brute.edits), brute.edits, WORDS, WORDS),
        "blocks": (
            pose(POINTS, k=1, metric=pb.block_metric(brute.CountedBlocks())),
            brute.skewed,
            POINTS,
            POINTS,
        ),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_kind_of_rows_can_be_kept(kind):
    problem, metric, source, target = kinds()[kind]
    truth = brute.distances(metric, target, source)
    oracle = Oracle(problem, n_jobs=1)
    n_first, arms = 4, np.array([0, 2, 6, 9])
    order = np.random.default_rng(0).permutation(len(target))
    ragged = first_patchwork(oracle, arms, order[:n_first])
    new = order[n_first:]
    starts = np.array([0, 3, len(new)])
    homes = np.array([[0], [1], [1], [0]])
    batch = batch_of(oracle, new, start=n_first)
    ragged = ragged.extended(
        np.arange(4), batch, starts, homes, np.ones(4, dtype=bool), np.full(n_first, np.inf)
    )
    tolerance = 1e-5 if oracle.dtype == np.float32 else 1e-9
    for arm, source_row in enumerate(arms):
        known = entries_of(ragged, arm)
        assert len(known) == n_first + np.diff(starts)[homes[arm]].sum()
        for column, value in known.items():
            assert value == pytest.approx(truth[order[column], source_row], abs=tolerance)
    np.testing.assert_allclose(
        ragged.distances(np.arange(4)), truth[np.ix_(order, arms)].T, atol=tolerance
    )
    assert ragged.values.dtype == oracle.dtype
    n_later = 2 * 3 + 2 * (len(new) - 3)
    assert oracle.evaluations["build"] == 4 * n_first + n_later + 4 * len(new)


@pytest.mark.parametrize("counted", [brute.CountedPairs, brute.CountedBlocks])
def test_a_counting_metric_agrees_with_the_count(counted):
    counting = counted()
    metric = pb.block_metric(counting) if counted is brute.CountedBlocks else counting
    oracle = Oracle(pose(POINTS[:9], POINTS[:24], k=1, metric=metric), n_jobs=1)
    _, after = grown(oracle)
    after.distances(np.array([1]))
    assert counting.calls == oracle.evaluations["build"] == 12 + 13 + 9


# -- far rows --------------------------------------------------------------------------------------


def test_more_rows_with_some_distances():
    oracle, metric = watched(D)
    held = first_patchwork(oracle, [3, 6, 7], [5, 1, 9])
    before = [entries_of(held, arm) for arm in range(3)]
    metric.pairs.clear()
    more = RowBatch(3, oracle.targets(np.array([2, 8])), np.array([0.5, 0.25]), np.array([2, 8]))
    arms, columns = np.array([0, 0, 2]), np.array([3, 4, 4])
    wider = held.with_entries(more, arms, columns, np.array([D[2, 3], D[8, 3], D[8, 7]]))
    assert wider.n_rows == 5
    assert entries_of(wider, 0) == before[0] | {3: D[2, 3], 4: D[8, 3]}
    assert entries_of(wider, 1) == before[1]
    assert entries_of(wider, 2) == before[2] | {4: D[8, 7]}
    assert metric.pairs.total() == 0
    np.testing.assert_array_equal(wider.distances(np.array([1]))[0], D[[5, 1, 9, 2, 8], 6])
    assert wider.weights[3:].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("n", range(6))
def test_other_weights_of_the_first_rows(n):
    oracle, _ = watched(D)
    held = first_patchwork(oracle, [3, 6], [5, 1, 9])
    more = RowBatch(3, oracle.targets(np.array([2, 8])), np.array([0.5, 0.25]), np.array([2, 8]))
    none = np.empty(0, dtype=np.int64)
    wider = held.with_entries(more, none, none, np.empty(0))
    weights = np.arange(10.0, 10.0 + n)
    assert wider.reweighted(weights).weights.tolist() == [*weights, *wider.weights[n:]]
