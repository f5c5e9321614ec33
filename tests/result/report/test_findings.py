"""What a report says, against brute force on tiny problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import protobandit as pb
from protobandit.result.report.composition import MOST_VALUES, compose
from protobandit.result.report.distances import SHARES, quantiles, spread
from protobandit.result.report.exhibit import RowDisplay
from protobandit.result.report.findings import report_data as make_findings
from protobandit.result.report.members import gather
from protobandit.result.report.page import page as render_page
from protobandit.result.report.sample import ReportSample, draw

SOURCE = np.random.default_rng(1).normal(size=(30, 3))
TARGET = np.random.default_rng(2).normal(size=(200, 3))
WEIGHTS = np.random.default_rng(3).integers(0, 4, 200).astype(float)
SELECTION = pb.select(SOURCE, TARGET, k=6, weights=WEIGHTS, method="lazygreedy")
COUNTED = np.flatnonzero(WEIGHTS)  # rows of weight 0 are no part of what is to be stood for
DISTANCES = cdist(TARGET, SOURCE[SELECTION.indices])[COUNTED]
OWN_LABELS = [f"s{i % 3}" for i in range(30)]
LABELS = [f"s{i % 4}" for i in range(200)]


def look(rows, **fields):
    return RowDisplay(
        kind="records", take=lambda ids: {"x": [float(rows[i][0]) for i in ids]}, **fields
    )


def found(selection=SELECTION, rows=TARGET, **options):
    options = {
        "source": look(SOURCE, labels=OWN_LABELS),
        "target": look(TARGET, labels=LABELS),
        "weights": WEIGHTS,
        "layout": "pca",
        **options,
    }
    return make_findings(selection, rows, **options)


FOUND = found()


def test_the_nearest_prototypes_are_those_of_brute_force():
    np.testing.assert_array_equal(FOUND.sample.ids, COUNTED)
    np.testing.assert_array_equal(FOUND.sample.labels, DISTANCES.argmin(axis=1))
    np.testing.assert_allclose(FOUND.sample.distances, DISTANCES.min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(FOUND.sample.weights, WEIGHTS[COUNTED] / WEIGHTS.sum())
    assert FOUND.sample.is_whole
    assert FOUND.sample.is_weighted


@pytest.mark.parametrize("i", range(6))
def test_members_are_the_nearest_and_the_farthest_rows(i):
    own = np.flatnonzero(DISTANCES.argmin(axis=1) == i)
    own = own[np.argsort(DISTANCES[own, i], kind="stable")]
    most = FOUND.members.nearest.shape[1]
    n_near = min(most, -(-len(own) // 2))
    near, far = (side[i][side[i] >= 0] for side in (FOUND.members.nearest, FOUND.members.farthest))
    assert near.tolist() == own[:n_near].tolist()
    assert far.tolist() == own[n_near:][::-1][:most].tolist()
    assert FOUND.members.counts[i] == len(own)
    mean = np.average(DISTANCES[own, i], weights=WEIGHTS[COUNTED][own])
    assert FOUND.members.means[i] == pytest.approx(mean)


def test_a_prototype_without_rows_has_no_members_and_no_mean():
    sample = ReportSample(
        ids=np.arange(3),
        labels=np.array([1, 1, 1]),
        distances=np.array([2.0, 0.0, 1.0]),
        weights=np.full(3, 1 / 3),
        n_target=3,
    )
    members = gather(sample, k=2, most=4)
    assert members.counts.tolist() == [0, 3]
    assert (members.nearest[0] == -1).all()
    assert np.isnan(members.means[0])
    assert members.nearest[1].tolist() == [1, 2, -1, -1]
    assert members.farthest[1].tolist() == [0, -1, -1, -1]


def test_the_histogram_holds_every_row_and_all_the_weight():
    assert FOUND.spread.counts.sum() == len(COUNTED) < 200
    assert FOUND.spread.heights.sum() == pytest.approx(1)
    nearest = DISTANCES.min(axis=1)
    for low, high, count in zip(
        FOUND.spread.edges[:-1], FOUND.spread.edges[1:], FOUND.spread.counts, strict=True
    ):
        is_last = high == FOUND.spread.edges[-1]
        inside = (nearest >= low) & ((nearest <= high) if is_last else (nearest < high))
        assert inside.sum() == count


def test_quantiles_are_those_of_the_rows_repeated_by_weight():
    repeated = np.sort(np.repeat(DISTANCES.min(axis=1), WEIGHTS[COUNTED].astype(int)))
    expected = [repeated[int(np.ceil(share * len(repeated))) - 1] for share in SHARES]
    np.testing.assert_allclose(FOUND.spread.quantiles, expected, rtol=1e-6)
    assert FOUND.spread.mean == pytest.approx(SELECTION.cost)


def test_quantiles_of_even_weights_do_not_suffer_from_rounding():
    values = np.arange(10.0)
    assert quantiles(values, np.full(10, 0.1), (0.1, 0.3, 0.5, 1.0)).tolist() == [0, 2, 4, 9]


def test_distances_that_are_all_alike_have_a_histogram():
    sample = ReportSample(
        ids=np.arange(4),
        labels=np.zeros(4, dtype=int),
        distances=np.zeros(4),
        weights=np.full(4, 0.25),
        n_target=4,
    )
    found = spread(sample, n_worst=2)
    assert found.counts.sum() == 4
    assert (np.diff(found.edges) > 0).all()


def test_the_worst_rows_come_worst_first():
    worst = np.argsort(-DISTANCES.min(axis=1), kind="stable")[:24]
    assert FOUND.spread.worst.tolist() == worst.tolist()


def test_shares_are_counted_by_hand():
    (shares,) = FOUND.compositions
    mass = dict.fromkeys(shares.values, 0.0)
    for i, m in zip(SELECTION.indices, SELECTION.mass, strict=True):
        mass[OWN_LABELS[i]] += m
    for place, value in enumerate(shares.values):
        assert shares.source[place] == pytest.approx(OWN_LABELS.count(value) / 30)
        target = sum(w for w, label in zip(WEIGHTS, LABELS, strict=True) if label == value)
        assert shares.target[place] == pytest.approx(target / WEIGHTS.sum())
        assert shares.mass[place] == pytest.approx(mass[value])
    assert shares.counts.sum() == 6
    assert set(shares.values) == {"s0", "s1", "s2", "s3"}
    assert (np.diff(shares.target) <= 0).all()


def test_a_few_numbers_are_in_order_and_what_is_missing_has_a_word():
    shares = compose(
        "label", prototypes=[10, 2], mass=np.array([0.4, 0.6]), source=[10, 2, 2, 2, 10]
    )
    assert shares.values == ("2", "10")
    named = compose("label", prototypes=[None], mass=np.ones(1), source=[None, float("nan"), "a"])
    assert named.values == ("(none)", "a")


def test_very_many_values_are_added_up_in_the_last():
    labels = [f"v{i}" for i in range(100) for _ in range(100 - i)]
    shares = compose("label", prototypes=["v0", "v99"], mass=np.array([0.3, 0.7]), source=labels)
    assert len(shares.values) == MOST_VALUES
    assert shares.values[-1] == f"{100 - MOST_VALUES + 1} others"
    assert shares.source.sum() == pytest.approx(1)
    assert shares.mass.sum() == pytest.approx(1)
    assert shares.mass[-1] == pytest.approx(0.7)
    assert shares.counts.sum() == 2


def test_agreement_is_the_weight_of_rows_that_carry_their_prototypes_label():
    of = [OWN_LABELS[SELECTION.indices[i]] for i in DISTANCES.argmin(axis=1)]
    rows = zip(WEIGHTS[COUNTED], of, [LABELS[i] for i in COUNTED], strict=True)
    same = sum(w for w, a, b in rows if a == b)
    assert FOUND.agreement.share == pytest.approx(same / WEIGHTS.sum())
    assert FOUND.agreement.n_left_out == 0


def test_groups_make_a_composition_of_their_own():
    groups = [i % 2 for i in range(30)]
    _, shares = found(groups=groups).compositions
    assert shares.name == "group"
    assert shares.values == ("0", "1")
    assert shares.target is None
    chosen = Counter(groups[i] for i in SELECTION.indices)
    assert shares.counts.tolist() == [chosen[0], chosen[1]]


def test_groups_are_the_targets_too_where_it_is_the_source():
    own = look(SOURCE)
    selection = pb.select(SOURCE, k=3)
    shares = found(
        selection, SOURCE, source=own, target=own, weights=None, groups=["a"] * 20 + ["b"] * 10
    ).compositions[0]
    np.testing.assert_allclose(shares.target, [2 / 3, 1 / 3])


def test_what_the_page_holds_covers_every_list():
    listed = [FOUND.members.nearest, FOUND.members.farthest, FOUND.spread.worst, FOUND.points]
    wanted = {int(COUNTED[i]) for part in listed for i in np.ravel(part) if i >= 0}
    assert wanted == set(FOUND.rows.ids.tolist())
    assert len(FOUND.rows.ids) == len(wanted) == len(FOUND.wall.rows.items)
    for at, row in enumerate(FOUND.rows.ids):
        assert FOUND.wall.rows.items[at] == [pytest.approx(TARGET[row, 0], rel=1e-14)]
        assert FOUND.rows.labels[at] == LABELS[row]
        place = np.searchsorted(COUNTED, row)
        assert FOUND.rows.nearest[at] == DISTANCES[place].argmin()
        assert FOUND.rows.distances[at] == pytest.approx(DISTANCES[place].min(), rel=1e-6)


def test_a_sample_is_drawn_by_the_seed():
    first, again, other = (found(n_sample=50, random_state=seed) for seed in (0, 0, 1))
    assert first.sample.ids.tolist() == again.sample.ids.tolist()
    assert first.sample.ids.tolist() != other.sample.ids.tolist()
    assert len(first.sample) == 50
    assert len(set(first.sample.ids.tolist())) == 50
    places = np.searchsorted(COUNTED, first.sample.ids)
    np.testing.assert_array_equal(COUNTED[places], first.sample.ids)
    np.testing.assert_array_equal(first.sample.labels, DISTANCES.argmin(axis=1)[places])
    assert render_page(first) == render_page(again)


KINDS = {
    "array": TARGET,
    "float32": TARGET.astype(np.float32),
    "list": TARGET.tolist(),
    "frame": pd.DataFrame(TARGET, columns=list("abc"), index=np.arange(200)[::-1]),
}


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_every_kind_of_rows_gives_the_same_findings(rows):
    same = found(rows=rows, n_sample=60)
    expected = found(n_sample=60)
    np.testing.assert_array_equal(same.sample.labels, expected.sample.labels)
    np.testing.assert_allclose(same.plane.rows, expected.plane.rows, atol=1e-4)


def test_sparse_rows_give_the_findings_of_dense_ones():
    selection = pb.select(
        csr_array(SOURCE), csr_array(TARGET), k=6, weights=WEIGHTS, method="lazygreedy"
    )
    same = found(selection, csr_array(TARGET), n_sample=60)
    expected = found(n_sample=60)
    np.testing.assert_array_equal(same.sample.labels, expected.sample.labels)
    np.testing.assert_allclose(same.plane.rows, expected.plane.rows, atol=1e-6)
    np.testing.assert_allclose(same.plane.prototypes, expected.plane.prototypes, atol=1e-6)


def test_a_memory_map_is_read_at_the_sampled_rows_only(tmp_path):
    np.save(tmp_path / "rows.npy", TARGET)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(found(rows=rows).sample.labels, FOUND.sample.labels)


def test_texts_and_matrices_have_findings():
    words = ["a" * n for n in range(1, 40)]
    texts = RowDisplay(kind="texts", take=lambda ids: [words[i] for i in ids])
    selection = pb.select(words, k=4, metric=lambda a, b: abs(len(a) - len(b)), method="lazygreedy")
    shown = make_findings(selection, words, source=texts, target=texts, layout="pca")
    assert shown.wall.prototypes.items == [words[i] for i in selection.indices]
    matrix = np.abs(np.subtract.outer(np.arange(39.0), np.arange(39.0)))
    same = pb.select(matrix, k=4, metric="precomputed", method="lazygreedy")
    numbers = make_findings(same, matrix, source=texts, target=texts, layout="pca")
    np.testing.assert_allclose(numbers.sample.distances, shown.sample.distances)


def test_a_function_of_the_users_own_is_called_less():
    selection = pb.select(SOURCE, k=2, metric=lambda a, b: float(np.abs(a - b).sum()))
    dear = replace(selection, indices=np.arange(1500) % 30)
    rows = np.zeros((5000, 3))
    asked = []

    class Counting:
        metric, indices = dear.metric, dear.indices

        def assign(self, given):
            asked.append(len(given))
            return np.zeros(len(given), dtype=int), np.zeros(len(given))

    draw(Counting(), rows, weights=None, n_sample=None, random=np.random.default_rng(0))
    assert asked == [2_000_000 // 1500]


def test_a_loaded_selection_will_do():
    loaded = pb.Selection.from_json(SELECTION.to_json())
    again = found(loaded)
    np.testing.assert_array_equal(again.sample.labels, FOUND.sample.labels)
    assert again.about.n_source == 30


def test_facts_are_those_of_the_selection():
    about = FOUND.about
    assert (about.k, about.n_source, about.n_target) == (6, 30, 200)
    assert about.n_pairs == 6000
    assert about.n_exact == 36000
    assert about.cost == SELECTION.cost
    assert about.evaluations == SELECTION.evaluations
    assert about.certified is None
    certified = found(SELECTION.certified()).about
    assert certified.certified == SELECTION.certify().cost_ratio
    assert certified.certificate.startswith("For certain")
    assert certified.evaluations > certified.searched == about.searched == SELECTION.evaluations


def test_the_source_is_as_large_as_the_problem_says_where_no_exhibit_does():
    assert found(source=look(SOURCE)).about.n_source == 30
    loaded = pb.Selection.from_json(SELECTION.to_json())
    assert found(loaded, source=look(SOURCE)).about.n_exact is None


def test_classes_are_labels_where_no_others_are_given():
    selection = pb.select(SOURCE, k=3, by=OWN_LABELS)
    labels = found(selection, source=look(SOURCE), target=look(TARGET), weights=None)
    assert sorted(labels.prototypes.labels) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"weights": np.ones(3)}, "weights have shape"),
        ({"weights": np.full(200, -1.0)}, "negative"),
        ({"weights": np.zeros(200)}, "all 0"),
        ({"n_sample": 0}, "n_sample=0"),
        ({"rows": TARGET[:0], "weights": None}, "no rows"),
        ({"target": look(TARGET, n=3)}, "target shows 3 rows but target_rows has 200"),
        ({"source": look(SOURCE, n=2)}, "source shows 2 rows"),
        ({"groups": [1]}, "groups has 1 values"),
        ({"groups": [1] * 29}, "groups has 29 values but the source 30 rows"),
        ({"groups": [1] * 31}, "groups has 31 values but the source 30 rows"),
        ({"layout": "tsne"}, "layout='tsne'"),
    ],
)
def test_what_does_not_fit_is_refused(options, says):
    with pytest.raises(pb.InvalidInput, match=says):
        found(**options)
