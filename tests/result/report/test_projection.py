import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import protobandit as pb
from protobandit.result.report import projection as subject
from protobandit.result.report.projection import components, project


@pytest.fixture(autouse=True)
def _without_umap(monkeypatch):
    monkeypatch.setattr(subject, "find_spec", lambda name: None)


def generator():
    return np.random.default_rng(0)


def projected(selection, rows, layout="auto"):
    labels = selection.assign(rows).labels
    return project(selection, rows, labels=labels, layout=layout, random=generator())


@pytest.mark.parametrize("n_columns", [2, 5, 60])
@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_components_are_those_of_the_singular_value_decomposition(n_columns, as_rows):
    spread = 0.6 ** np.arange(n_columns)
    rows = generator().normal(size=(200, n_columns)) * spread + 3
    mean, axes, shares = components(as_rows(rows), 2, generator())
    _, sizes, right = np.linalg.svd(rows - rows.mean(axis=0))
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    np.testing.assert_allclose(np.abs(axes.T), np.abs(right[:2]), atol=1e-6)
    np.testing.assert_allclose(shares, (sizes**2 / (sizes**2).sum())[:2], rtol=1e-6)
    assert (axes[np.abs(axes).argmax(axis=0), [0, 1]] > 0).all()


def test_rows_and_prototypes_of_numbers_share_their_components():
    rows = generator().normal(size=(60, 4))
    selection = pb.select(rows, k=3)
    found = projected(selection, rows)
    np.testing.assert_allclose(found.prototypes, found.rows[selection.indices])
    assert found.name == "PCA"
    assert "Principal components of the rows" in found.note


def test_the_cosine_map_ignores_the_length_of_rows():
    rows = generator().normal(size=(40, 3))
    longer = rows * generator().uniform(1, 9, size=(40, 1))
    selection = pb.select(rows, k=2, metric="cosine")
    first, second = projected(selection, rows), projected(selection, longer)
    np.testing.assert_allclose(first.rows, second.rows, atol=1e-6)


def test_one_column_has_random_heights_and_a_note():
    rows = np.arange(10.0)[:, None]
    found = projected(pb.select(rows, k=2), rows)
    assert found.rows.shape == (10, 2)
    assert "vertical position has no meaning" in found.note


def test_rows_that_are_not_numeric_are_projected_by_distances():
    """On the line 0..9 with d = |i - j|, the map keeps the order of the rows."""
    words = ["x" * n for n in range(10)]
    selection = pb.select(words, k=3, metric=lambda a, b: abs(len(a) - len(b)))
    found = projected(selection, words)
    assert "distances to the prototypes" in found.note
    assert "at the mean of their members" in found.note
    steps = np.diff(found.rows[:, 0])
    assert (steps > -1e-9).all() or (steps < 1e-9).all()
    assert np.ptp(found.rows[:, 0]) > 5
    labels = selection.assign(words).labels
    means = [found.rows[labels == i].mean(axis=0) for i in range(3)]
    np.testing.assert_allclose(found.prototypes, means)


@pytest.mark.parametrize("k", [1, 2])
def test_one_or_two_prototypes_of_a_matrix_are_enough(k):
    matrix = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    found = projected(pb.select(matrix, k=k, metric="precomputed"), matrix)
    assert found.rows.shape == (8, 2)
    assert found.prototypes.shape == (k, 2)
    assert np.isfinite(found.rows).all()


def test_a_prototype_without_members_is_at_the_mean():
    selection = SimpleNamespace(
        indices=np.arange(2),
        metric_name="precomputed",
        prototypes=[0, 1],
        preparation=None,
        distances=np.asarray,
    )
    rows = np.array([[0.0, 5.0], [2.0, 9.0]])
    found = project(
        selection, rows, labels=np.zeros(2, dtype=int), layout="pca", random=generator()
    )
    np.testing.assert_allclose(found.prototypes[1], found.rows.mean(axis=0))


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e8 + 0.1])
@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_equal_rows_have_one_point(value, as_rows):
    rows = np.full((1000, 3), value)
    found = projected(pb.select(as_rows(rows), k=2), as_rows(rows))
    assert (found.rows == found.rows[0]).all()
    assert (found.prototypes == found.rows[0]).all()
    assert found.note == "The rows are all equal."


@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_rows_far_from_0_keep_their_variance(as_rows):
    rows = generator().normal(size=(700, 4)) * [8.0, 4.0, 2.0, 1.0]
    near, far = (components(as_rows(each), 2, generator()) for each in (rows, rows + 1e8))
    np.testing.assert_allclose(far[2], near[2], rtol=1e-4)
    assert far[2].sum() < 1
    np.testing.assert_allclose(np.abs(far[1]), np.abs(near[1]), atol=1e-4)


def test_shares_of_variance_sum_to_at_most_1():
    rows = generator().normal(size=(50, 2)) + 1e12
    assert components(rows, 2, generator())[2].sum() <= 1
    assert "100\u00a0% of their variance" in projected(pb.select(rows, k=2), rows).note


def test_umap_is_used_if_installed(monkeypatch):
    calls = []

    class UMAP:
        def __init__(self, **options):
            calls.append(options)

        def fit_transform(self, rows):
            calls.append(rows.shape)
            return rows[:, :2]

    module = ModuleType("umap")
    module.UMAP = UMAP
    monkeypatch.setitem(sys.modules, "umap", module)
    monkeypatch.setattr(subject, "find_spec", lambda name: module)
    rows = generator().normal(size=(30, 70))
    found = projected(pb.select(rows, k=4), rows)
    assert found.name == "UMAP"
    assert "UMAP of the rows" in found.note
    assert calls[0]["n_components"] == 2
    assert calls[1] == (34, 50)
    assert found.rows.shape == (30, 2)
    assert found.prototypes.shape == (4, 2)


def test_umap_requires_umap_learn():
    rows = generator().normal(size=(30, 3))
    with pytest.raises(pb.NotAvailable, match="umap-learn"):
        projected(pb.select(rows, k=2), rows, layout="umap")


def test_an_unknown_layout_raises():
    rows = generator().normal(size=(30, 3))
    with pytest.raises(pb.InvalidInput, match="layout='tsne'"):
        projected(pb.select(rows, k=2), rows, layout="tsne")


def test_points_far_outside_are_drawn_at_the_edge():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    rows[7] = 1e6
    selection = pb.select(rows, k=3, random_state=0)
    found = project(
        selection,
        rows,
        labels=selection.assign(rows).labels,
        layout="pca",
        random=np.random.default_rng(0),
    )
    others = np.delete(found.rows, 7, axis=0)
    assert np.ptp(found.rows, axis=0).max() < 4 * np.ptp(others, axis=0).max()
    assert "drawn at the edge" in found.note
