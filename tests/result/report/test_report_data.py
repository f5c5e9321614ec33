"""The data of a report, against brute force on tiny problems."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import protobandit as pb
from protobandit.result.report.page import page as render_page
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay
from protobandit.result.report.sample import SHARES

SOURCE = np.random.default_rng(1).normal(size=(30, 3))
TARGET = np.random.default_rng(2).normal(size=(200, 3))
WEIGHTS = np.random.default_rng(3).integers(0, 4, 200).astype(float)
SELECTION = pb.select(SOURCE, TARGET, k=6, weights=WEIGHTS, method="lazygreedy")
WITH_WEIGHT = np.flatnonzero(WEIGHTS)  # rows of weight 0 do not contribute to the cost
DISTANCES = cdist(TARGET, SOURCE[SELECTION.indices])[WITH_WEIGHT]
SOURCE_LABELS = [f"s{i % 3}" for i in range(30)]
LABELS = [f"s{i % 4}" for i in range(200)]


def display(rows, **fields):
    return RowDisplay(
        kind="records", take=lambda ids: {"x": [float(rows[i][0]) for i in ids]}, **fields
    )


def report(selection=SELECTION, rows=TARGET, **options):
    options = {
        "source": display(SOURCE, labels=SOURCE_LABELS),
        "target": display(TARGET, labels=LABELS),
        "weights": WEIGHTS,
        "layout": "pca",
        **options,
    }
    return report_data(selection, rows, **options)


REPORT = report()


def test_nearest_prototypes_match_brute_force():
    np.testing.assert_array_equal(REPORT.sample.ids, WITH_WEIGHT)
    np.testing.assert_array_equal(REPORT.sample.labels, DISTANCES.argmin(axis=1))
    np.testing.assert_allclose(REPORT.sample.distances, DISTANCES.min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(REPORT.sample.weights, WEIGHTS[WITH_WEIGHT] / WEIGHTS.sum())
    assert REPORT.sample.is_whole
    assert REPORT.sample.is_weighted


@pytest.mark.parametrize("i", range(6))
def test_members_are_the_nearest_and_the_farthest_rows(i):
    own = np.flatnonzero(DISTANCES.argmin(axis=1) == i)
    own = own[np.argsort(DISTANCES[own, i], kind="stable")]
    most = REPORT.members.nearest.shape[1]
    n_near = min(most, -(-len(own) // 2))
    near, far = (
        side[i][side[i] >= 0] for side in (REPORT.members.nearest, REPORT.members.farthest)
    )
    assert near.tolist() == own[:n_near].tolist()
    assert far.tolist() == own[n_near:][::-1][:most].tolist()
    assert REPORT.members.counts[i] == len(own)
    mean = np.average(DISTANCES[own, i], weights=WEIGHTS[WITH_WEIGHT][own])
    assert REPORT.members.means[i] == pytest.approx(mean)


def test_the_histogram_contains_every_row_and_all_the_weight():
    assert REPORT.distances.counts.sum() == len(WITH_WEIGHT) < 200
    assert REPORT.distances.heights.sum() == pytest.approx(1)
    nearest = DISTANCES.min(axis=1)
    for low, high, count in zip(
        REPORT.distances.edges[:-1],
        REPORT.distances.edges[1:],
        REPORT.distances.counts,
        strict=True,
    ):
        is_last = high == REPORT.distances.edges[-1]
        inside = (nearest >= low) & ((nearest <= high) if is_last else (nearest < high))
        assert inside.sum() == count


def test_quantiles_are_those_of_rows_repeated_by_weight():
    repeated = np.sort(np.repeat(DISTANCES.min(axis=1), WEIGHTS[WITH_WEIGHT].astype(int)))
    expected = [repeated[int(np.ceil(share * len(repeated))) - 1] for share in SHARES]
    np.testing.assert_allclose(REPORT.distances.quantiles, expected, rtol=1e-6)
    assert REPORT.distances.mean == pytest.approx(SELECTION.cost)


def test_the_worst_rows_have_the_largest_distances():
    worst = np.argsort(-DISTANCES.min(axis=1), kind="stable")[:24]
    assert REPORT.distances.worst.tolist() == worst.tolist()


def test_shares_match_brute_force():
    (shares,) = REPORT.compositions
    mass = dict.fromkeys(shares.values, 0.0)
    for i, m in zip(SELECTION.indices, SELECTION.mass, strict=True):
        mass[SOURCE_LABELS[i]] += m
    for place, value in enumerate(shares.values):
        assert shares.source[place] == pytest.approx(SOURCE_LABELS.count(value) / 30)
        target = sum(w for w, label in zip(WEIGHTS, LABELS, strict=True) if label == value)
        assert shares.target[place] == pytest.approx(target / WEIGHTS.sum())
        assert shares.mass[place] == pytest.approx(mass[value])
    assert shares.counts.sum() == 6
    assert set(shares.values) == {"s0", "s1", "s2", "s3"}
    assert (np.diff(shares.target) <= 0).all()


def test_agreement_is_the_weight_of_rows_with_their_prototypes_label():
    of = [SOURCE_LABELS[SELECTION.indices[i]] for i in DISTANCES.argmin(axis=1)]
    rows = zip(WEIGHTS[WITH_WEIGHT], of, [LABELS[i] for i in WITH_WEIGHT], strict=True)
    same = sum(w for w, a, b in rows if a == b)
    assert REPORT.agreement.share == pytest.approx(same / WEIGHTS.sum())
    assert REPORT.agreement.n_left_out == 0


def test_groups_have_a_separate_composition():
    groups = [i % 2 for i in range(30)]
    _, shares = report(groups=groups).compositions
    assert shares.name == "group"
    assert shares.values == ("0", "1")
    assert shares.target is None
    chosen = Counter(groups[i] for i in SELECTION.indices)
    assert shares.counts.tolist() == [chosen[0], chosen[1]]


def test_groups_apply_to_a_target_that_is_the_source():
    own = display(SOURCE)
    selection = pb.select(SOURCE, k=3)
    shares = report(
        selection, SOURCE, source=own, target=own, weights=None, groups=["a"] * 20 + ["b"] * 10
    ).compositions[0]
    np.testing.assert_allclose(shares.target, [2 / 3, 1 / 3])


def test_the_page_holds_the_rows_of_every_list():
    listed = [
        REPORT.members.nearest,
        REPORT.members.farthest,
        REPORT.distances.worst,
        REPORT.points,
    ]
    wanted = {int(WITH_WEIGHT[i]) for part in listed for i in np.ravel(part) if i >= 0}
    assert wanted == set(REPORT.rows.ids.tolist())
    assert len(REPORT.rows.ids) == len(wanted) == len(REPORT.contents.rows.items)
    for at, row in enumerate(REPORT.rows.ids):
        assert REPORT.contents.rows.items[at] == [pytest.approx(TARGET[row, 0], rel=1e-14)]
        assert REPORT.rows.labels[at] == LABELS[row]
        place = np.searchsorted(WITH_WEIGHT, row)
        assert REPORT.rows.nearest[at] == DISTANCES[place].argmin()
        assert REPORT.rows.distances[at] == pytest.approx(DISTANCES[place].min(), rel=1e-6)


def test_the_seed_determines_the_sample():
    first, again, other = (report(n_sample=50, random_state=seed) for seed in (0, 0, 1))
    assert first.sample.ids.tolist() == again.sample.ids.tolist()
    assert first.sample.ids.tolist() != other.sample.ids.tolist()
    assert len(first.sample) == 50
    assert len(set(first.sample.ids.tolist())) == 50
    places = np.searchsorted(WITH_WEIGHT, first.sample.ids)
    np.testing.assert_array_equal(WITH_WEIGHT[places], first.sample.ids)
    np.testing.assert_array_equal(first.sample.labels, DISTANCES.argmin(axis=1)[places])
    assert render_page(first) == render_page(again)


KINDS = {
    "array": TARGET,
    "float32": TARGET.astype(np.float32),
    "list": TARGET.tolist(),
    "frame": pd.DataFrame(TARGET, columns=list("abc"), index=np.arange(200)[::-1]),
}


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_every_form_of_rows_gives_the_same_report(rows):
    same = report(rows=rows, n_sample=60)
    expected = report(n_sample=60)
    np.testing.assert_array_equal(same.sample.labels, expected.sample.labels)
    np.testing.assert_allclose(same.projection.rows, expected.projection.rows, atol=1e-4)


def test_sparse_rows_give_the_report_of_dense_rows():
    selection = pb.select(
        csr_array(SOURCE), csr_array(TARGET), k=6, weights=WEIGHTS, method="lazygreedy"
    )
    same = report(selection, csr_array(TARGET), n_sample=60)
    expected = report(n_sample=60)
    np.testing.assert_array_equal(same.sample.labels, expected.sample.labels)
    np.testing.assert_allclose(same.projection.rows, expected.projection.rows, atol=1e-6)
    np.testing.assert_allclose(
        same.projection.prototypes, expected.projection.prototypes, atol=1e-6
    )


def test_memory_maps_are_supported(tmp_path):
    np.save(tmp_path / "rows.npy", TARGET)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(report(rows=rows).sample.labels, REPORT.sample.labels)


def test_texts_and_precomputed_matrices_have_reports():
    words = ["a" * n for n in range(1, 40)]
    texts = RowDisplay(kind="texts", take=lambda ids: [words[i] for i in ids])
    selection = pb.select(words, k=4, metric=lambda a, b: abs(len(a) - len(b)), method="lazygreedy")
    shown = report_data(selection, words, source=texts, target=texts, layout="pca")
    assert shown.contents.prototypes.items == [words[i] for i in selection.indices]
    matrix = np.abs(np.subtract.outer(np.arange(39.0), np.arange(39.0)))
    same = pb.select(matrix, k=4, metric="precomputed", method="lazygreedy")
    numbers = report_data(same, matrix, source=texts, target=texts, layout="pca")
    np.testing.assert_allclose(numbers.sample.distances, shown.sample.distances)


def test_loaded_selections_have_reports():
    loaded = pb.Selection.from_json(SELECTION.to_json())
    again = report(loaded)
    np.testing.assert_array_equal(again.sample.labels, REPORT.sample.labels)
    assert again.summary.n_source == 30


def test_the_summary_matches_the_selection():
    summary = REPORT.summary
    assert (summary.selection.k, summary.n_source, summary.n_target) == (6, 30, 200)
    assert summary.n_pairs == 6000
    assert summary.n_exact == 36000
    assert summary.selection.cost == SELECTION.cost
    assert summary.selection.evaluations == SELECTION.evaluations
    assert summary.certified is None
    certified = report(SELECTION.certified()).summary
    assert certified.certified == SELECTION.certify().cost_ratio
    assert certified.certificate.startswith("For certain")
    assert certified.search_evaluations == summary.search_evaluations == SELECTION.evaluations
    assert certified.selection.evaluations > SELECTION.evaluations


def test_the_number_of_source_rows_falls_back_on_the_problem():
    assert report(source=display(SOURCE)).summary.n_source == 30
    loaded = pb.Selection.from_json(SELECTION.to_json())
    assert report(loaded, source=display(SOURCE)).summary.n_exact is None


def test_classes_are_used_as_labels_by_default():
    selection = pb.select(SOURCE, k=3, by=SOURCE_LABELS)
    labels = report(selection, source=display(SOURCE), target=display(TARGET), weights=None)
    assert sorted(labels.prototypes.labels) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.ones(3)}, "weights have shape"),
        ({"weights": np.full(200, -1.0)}, "negative"),
        ({"weights": np.zeros(200)}, "all 0"),
        ({"n_sample": 0}, "n_sample=0"),
        ({"rows": TARGET[:0], "weights": None}, "no rows"),
        ({"target": display(TARGET, n=3)}, "target shows 3 rows but target_rows has 200"),
        ({"source": display(SOURCE, n=2)}, "source shows 2 rows"),
        ({"groups": [1]}, "groups has 1 values"),
        ({"groups": [1] * 29}, "groups has 29 values but the source has 30 rows"),
        ({"groups": [1] * 31}, "groups has 31 values but the source has 30 rows"),
        ({"layout": "tsne"}, "layout='tsne'"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises(pb.InvalidInput, match=message):
        report(**options)
