"""Selection by class, compared with a selection of each class alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import brute
import protobandit as pb
from protobandit import Constraints, InvalidInput, Selection

N = 24
ROWS = brute.whole(N, seed=5)
LABELS = np.array(["cat"] * 12 + ["dog"] * 8 + ["ant"] * 4)
TARGET = brute.whole(30, seed=6)
TARGET_LABELS = np.array(["ant"] * 5 + ["cat"] * 15 + ["dog"] * 10)
COUNTS = {"ant": 1, "cat": 3, "dog": 2}


def select(source=ROWS, target=None, by=LABELS, k=COUNTS, **options):
    return pb.select(source, target, by=by, k=k, **{"random_state": 0, **options})


def of_class(selection, label):
    return selection.indices[selection.prototype_labels == label].tolist()


@pytest.mark.parametrize("method", ["lazygreedy", "spotgreedy", "lazybandit"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_each_class_is_solved_alone(method, is_weighted):
    weights = np.random.default_rng(1).integers(1, 4, size=30) if is_weighted else None
    pair = (LABELS, TARGET_LABELS)
    joined = select(target=TARGET, by=pair, weights=weights, method=method)
    assert joined.k == 6
    for label, k in COUNTS.items():
        own, asked = np.flatnonzero(label == LABELS), np.flatnonzero(label == TARGET_LABELS)
        alone = pb.select(
            ROWS[own],
            TARGET[asked],
            k=k,
            weights=None if weights is None else weights[asked],
            method=method,
            random_state=0,
        )
        assert of_class(joined, label) == own[alone.indices].tolist()
    d = brute.distances(brute.DEFINITIONS["euclidean"], TARGET, ROWS)
    even = brute.even(30) if weights is None else weights
    np.testing.assert_allclose(joined.costs, brute.costs(d, even, joined.indices))
    np.testing.assert_allclose(joined.mass, brute.mass(d, even, joined.indices))
    assert set(joined.prototype_labels[:3]) == set(COUNTS)
    assert (LABELS[joined.indices] == joined.prototype_labels).all()


@pytest.mark.parametrize("method", ["lazygreedy", "lazybandit", "random", "stochasticgreedy"])
def test_counts_add_up(method):
    metric = brute.CountedPairs()
    joined = select(metric=metric, method=method)
    assert joined.evaluations == metric.calls
    parts = 0
    for label, k in COUNTS.items():
        own = ROWS[label == LABELS]
        parts += pb.select(own, k=k, metric=metric, method=method, random_state=0).evaluations
    if method == "lazygreedy":
        assert joined.evaluations == parts + 6 * N


def test_prototypes_are_ordered_by_gain():
    joined = select(method="lazygreedy")
    shares = {label: (label == LABELS).mean() for label in COUNTS}
    assert joined.prototype_labels[:3].tolist() == sorted(COUNTS, key=lambda x: -shares[x])
    drops = [step.gain for step in joined.steps]
    assert np.isnan(drops[:3]).all()
    assert drops[3:] == sorted(drops[3:], reverse=True)
    for label in COUNTS:
        own = np.flatnonzero(label == LABELS)
        alone = pb.select(ROWS[own], k=COUNTS[label], method="lazygreedy")
        mine = [s.gain for s in joined.steps if LABELS[s.index] == label]
        np.testing.assert_allclose(mine[1:], alone.gains[1:] * shares[label])


@pytest.mark.parametrize(
    ("k", "counts"),
    [
        (6, {"ant": 1, "cat": 3, "dog": 2}),
        (3, {"ant": 1, "cat": 1, "dog": 1}),
        (4, {"ant": 1, "cat": 2, "dog": 1}),
        (12, {"ant": 2, "cat": 6, "dog": 4}),
        (0.5, {"ant": 2, "cat": 6, "dog": 4}),
        (24, {"ant": 4, "cat": 12, "dog": 8}),
    ],
)
def test_a_total_is_divided_by_size(k, counts):
    joined = select(k=k)
    labels = joined.prototype_labels.tolist()
    assert {label: labels.count(label) for label in COUNTS} == counts


def test_a_total_is_divided_by_weight_up_to_the_rows_of_a_class():
    weights = np.where(LABELS == "ant", 100.0, 1.0)
    labels = select(k=10, weights=weights).prototype_labels.tolist()
    assert labels.count("ant") == 4
    assert labels.count("cat") + labels.count("dog") == 6
    nothing = np.where(LABELS == "ant", 0.0, 1.0)
    assert select(k=6, weights=nothing).prototype_labels.tolist().count("ant") == 1


def test_classes_without_target_rows_get_no_prototypes():
    pair = (LABELS, ["cat"] * 30)
    joined = select(target=TARGET, by=pair, k=3)
    assert set(joined.prototype_labels) == {"cat"}
    with pytest.raises(InvalidInput, match=r"k\['dog'\]=1 is not allowed.*from 0 to 0"):
        select(target=TARGET, by=pair, k={"cat": 2, "dog": 1})
    assert select(target=TARGET, by=pair, k={"cat": 2, "dog": 0}).k == 2


def kinds():
    words = np.array(["".join("ab"[int(v) % 2] for v in row) for row in ROWS])
    d = brute.distances(brute.DEFINITIONS["euclidean"], ROWS, ROWS)
    return {
        "dense": (ROWS, "euclidean"),
        "narrow": (ROWS.astype(np.float32), "euclidean"),
        "sparse": (csr_array(ROWS), "euclidean"),
        "strings": (words.tolist(), brute.edits),
        "precomputed": (d, "precomputed"),
        "skewed": (ROWS, brute.skewed),
    }


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_of_rows_has_classes(kind):
    rows, metric = kinds()[kind]
    joined = select(rows, metric=metric, method="lazygreedy")
    for label, k in COUNTS.items():
        own = np.flatnonzero(label == LABELS)
        some = [rows[i] for i in own] if isinstance(rows, list) else rows[own]
        some = some[:, own] if metric == "precomputed" else some
        alone = pb.select(some, k=k, metric=metric, method="lazygreedy", random_state=0)
        n = len(alone.indices) if kind != "strings" else 1
        assert of_class(joined, label)[:n] == own[alone.indices][:n].tolist()
    assert joined.assign(rows).labels.shape == (N,)


def test_rectangular_matrices_need_a_pair_of_labels():
    d = brute.distances(brute.DEFINITIONS["euclidean"], TARGET, ROWS)
    by_matrix = select(d, by=(LABELS, TARGET_LABELS), metric="precomputed", method="lazygreedy")
    by_rows = select(target=TARGET, by=(LABELS, TARGET_LABELS), method="lazygreedy")
    assert by_matrix.indices.tolist() == by_rows.indices.tolist()
    np.testing.assert_allclose(by_matrix.costs, by_rows.costs)
    with pytest.raises(InvalidInput, match=r"labels of the source rows only"):
        select(d, metric="precomputed")


def test_prototypes_of_all_classes_make_a_classifier():
    joined = select(method="lazygreedy")
    nearest = joined.assign(ROWS)
    assert set(joined.prototype_labels[nearest.labels]) <= set(COUNTS)
    weights = np.full(N, 1 / N)
    assert joined.cost == pytest.approx(float(weights @ nearest.distances))


def test_a_guarantee_of_every_class_is_a_guarantee_of_all():
    exact = select(method="lazygreedy")
    assert exact.guarantee.statement == "f >= (1 - 1/e) f*"
    assert "own class" in exact.guarantee.conditions[-1]
    assert select(method="random").guarantee is None
    assert "Each of the 3 classes was solved by itself." in exact.status
    assert "exact over all 24 target rows" in exact.status


def test_coefficients_and_criticisms_are_joined():
    pair = (LABELS, TARGET_LABELS)
    by_kernel = select(target=TARGET, by=pair, method="protodash")
    critic = pb.methods.MMDCritic(n_criticisms=2)
    criticised = select(target=TARGET, by=pair, method=critic)
    found = []
    for label, k in COUNTS.items():
        own, asked = np.flatnonzero(label == LABELS), np.flatnonzero(label == TARGET_LABELS)
        alone = pb.select(ROWS[own], TARGET[asked], k=k, method="protodash", random_state=0)
        mine = by_kernel.coefficients[by_kernel.prototype_labels == label]
        np.testing.assert_allclose(mine, alone.coefficients)
        alone = pb.select(ROWS[own], TARGET[asked], k=k, method=critic, random_state=0)
        found += asked[alone.criticisms].tolist()
    assert criticised.criticisms.tolist() == found


def test_a_large_target_is_assessed_on_a_sample_if_the_method_samples():
    rows = brute.normal(10_000, columns=2)
    labels = np.arange(10_000) % 2
    sampled = pb.select(
        rows[:200], rows, by=(labels[:200], labels), k=4, method="protobandit", random_state=0
    )
    assert sampled.cost_error > 0
    assert "4096 fresh ones" in sampled.status
    exact = pb.select(rows[:200], rows, by=(labels[:200], labels), k=4, method="lazygreedy")
    assert exact.cost_error == 0


def test_a_callback_stops_all_classes():
    seen = []
    joined = select(method="lazygreedy", callback=lambda s: seen.append(s) or len(seen) == 3)
    assert joined.k == 3
    assert sorted(joined.indices) == sorted(step.index for step in seen)
    assert joined.status.startswith("Stopped by the callback after 3 of the 6")
    assert joined.guarantee is None
    whole = select(method="lazygreedy")
    assert set(joined.indices) <= set(whole.indices)


def test_limits_are_divided_by_size():
    method = pb.methods.LazyGreedy(memoize=False)
    n_pairs = 12**2 + 8**2 + 4**2
    limited = select(method=method, limits=pb.Limits(evaluations=n_pairs))
    assert limited.k < 6
    assert limited.status.startswith("Stopped by a limit")
    assert set(limited.prototype_labels) == set(COUNTS)
    with pytest.raises(InvalidInput, match=r"by: in the class 'ant': limits: evaluations=0?1?"):
        select(method=method, limits=pb.Limits(evaluations=30))


def test_the_same_seed_gives_the_same_selection():
    one, two = (select(method="random", random_state=3) for _ in range(2))
    assert one.indices.tolist() == two.indices.tolist()


def test_parts_and_json_keep_their_labels():
    joined = select(method="lazygreedy")
    part = joined.at(4)
    assert part.prototype_labels.tolist() == joined.prototype_labels[:4].tolist()
    for labels in (LABELS, [{"ant": 1, "cat": 2, "dog": 3}[label] for label in LABELS]):
        counts = {labels[0]: 2, labels[12]: 2, labels[-1]: 1}
        joined = select(by=labels, k=counts)
        loaded = Selection.from_json(joined.to_json())
        assert loaded.prototype_labels.tolist() == joined.prototype_labels.tolist()
        assert loaded.prototype_labels.dtype.kind == joined.prototype_labels.dtype.kind


def test_labels_of_several_types_are_kept():
    labels = [1] * 12 + ["dog"] * 8 + [(2, 3)] * 4
    joined = select(by=labels, k=3)
    assert {*joined.prototype_labels} == {1, "dog", (2, 3)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": LABELS[:3]}, r"by has 3 labels for 24 rows"),
        ({"by": "cat"}, r"by='cat' names a column, but source has no named"),
        ({"by": 5}, r"by=5 is not a sequence"),
        ({"target": TARGET}, r"labels of the source rows only.*Pass a pair"),
        ({"target": TARGET, "by": (LABELS, LABELS)}, r"by\[1\] has 24 labels for 30 rows"),
        (
            {"target": TARGET, "by": (LABELS, ["bee", *TARGET_LABELS[1:]])},
            r"the class 'bee' has target rows but no source rows",
        ),
        ({"k": 2}, r"k=2 is less than the 3 classes of by=. Pass k >= 3"),
        ({"k": 25}, r"k=25 exceeds the 24 source rows"),
        ({"k": "auto"}, r"k='auto' is given with by="),
        ({"k": None}, r"k=None is given with by="),
        ({"k": {"cat": 1, "dog": 1}}, r"k has no number for the class 'ant'"),
        ({"k": {**COUNTS, "bee": 1}}, r"k names the class 'bee', but by= only has"),
        ({"k": {**COUNTS, "ant": 5}}, r"k\['ant'\]=5 is not allowed.*from 1 to 4"),
        ({"k": {**COUNTS, "ant": 0}}, r"k\['ant'\]=0 is not allowed"),
        ({"k": {**COUNTS, "ant": 1.0}}, r"k\['ant'\]=1\.0 is not allowed"),
        ({"constraints": Constraints(fixed=[1])}, r"constraints is given with by="),
        ({"until": pb.MinGain(1.0)}, r"until is given with by="),
    ],
)
def test_invalid_classes_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        select(**options)
