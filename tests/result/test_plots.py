"""The figures of a selection, drawn by matplotlib without a display."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.plots import convex
from protobandit.run.knee import find_knee

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

ROWS = np.random.default_rng(0).normal(size=(60, 4)) + 8 * (np.arange(60) % 3)[:, None]
SELECTION = pb.select(ROWS, k=8, method="lazygreedy")
LABELS = [rf"$\frac{i % 3}$" for i in range(60)]  # matplotlib would read these as mathematics


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def drawn(figure):
    """Draw everything, so that errors of drawing occur here."""
    figure.canvas.draw()
    return figure


def test_the_knee_is_at_the_number_of_clusters():
    assert SELECTION.knee == 3


def test_a_loaded_selection_has_the_same_knee():
    assert pb.Selection.from_json(SELECTION.to_json()).knee == 3


def test_one_prototype_has_no_knee():
    assert pb.select(ROWS, k=1).knee is None


def test_gains_that_increase_at_random_make_no_knee():
    k = np.arange(1, 301)
    noise = np.random.default_rng(0).uniform(0.1, 1.9, 299)
    smooth = k**-0.02
    costs = np.concatenate([[1.0], 1.0 + np.cumsum(np.diff(smooth) * noise)])
    assert find_knee(costs).is_clear
    noisy = replace(SELECTION, costs=costs)
    assert noisy.knee is None
    lower = convex(costs)
    assert (lower <= costs + 1e-12).all()
    assert (np.diff(lower, 2) >= -1e-12).all()
    np.testing.assert_allclose(convex(smooth), smooth)


def test_costs_are_drawn_with_their_knee():
    ax = SELECTION.plot_gains()
    drawn(ax.figure)
    costs, knee = ax.lines
    np.testing.assert_allclose(costs.get_ydata(), SELECTION.costs)
    assert set(knee.get_xdata()) == {3}


def test_the_curve_of_an_automatic_k_is_drawn():
    selection = pb.select(ROWS, k="auto")
    ax = selection.plot_gains()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), selection.curve)


def test_one_cost_is_a_point():
    assert pb.select(ROWS, k=1).plot_gains().lines[0].get_marker() == "o"


def test_figures_are_drawn_on_the_given_axes():
    _, ax = pyplot.subplots()
    assert SELECTION.plot_gains(ax=ax) is ax
    assert SELECTION.plot_map(layout="pca", ax=ax) is ax
    assert SELECTION.plot_composition(LABELS, ax=ax) is ax
    assert SELECTION.plot_distances(ax=ax) is ax


def test_the_map_shows_rows_and_prototypes():
    ax = SELECTION.plot_map(layout="pca")
    drawn(ax.figure)
    rows, prototypes = ax.collections
    assert len(rows.get_offsets()) == 60
    np.testing.assert_allclose(
        prototypes.get_offsets(), rows.get_offsets()[SELECTION.indices], atol=1e-9
    )


def test_the_map_colours_labels_and_shows_them_unchanged():
    ax = SELECTION.plot_map(labels=LABELS, layout="pca")
    drawn(ax.figure)
    assert len(ax.collections) == 4
    assert len({tuple(c.get_facecolor()[0]) for c in ax.collections[:3]}) == 3


def test_the_rarest_of_many_labels_are_grey():
    ax = SELECTION.plot_map(labels=[min(i, 13) for i in range(60)], layout="pca")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(names) == 12
    assert "other" in names


def test_the_map_of_a_sample():
    ax = SELECTION.plot_map(n_sample=10, layout="pca")
    assert len(ax.collections[0].get_offsets()) == 10


def test_the_composition_of_source_and_prototypes():
    ax = SELECTION.plot_composition(LABELS)
    drawn(ax.figure)
    source, mass = (np.array([bar.get_width() for bar in bars]) for bars in ax.containers)
    np.testing.assert_allclose(source, 100 / 3)
    assert mass.sum() == pytest.approx(100)


def test_the_composition_with_a_separate_target():
    target = ROWS[:30]
    selection = pb.select(ROWS, target, k=4, weights=np.arange(30.0))
    ax = selection.plot_composition(LABELS, target_labels=LABELS[:30])
    widths = [bar.get_width() for bar in ax.containers[1]]
    expected = [100 * np.arange(30.0)[i::3].sum() / np.arange(30.0).sum() for i in range(3)]
    assert sorted(widths) == pytest.approx(sorted(expected))


def test_distances_are_drawn_with_quantiles():
    ax = SELECTION.plot_distances()
    drawn(ax.figure)
    assert ax.patches[0].get_data().values.sum() == pytest.approx(100)
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx(
        np.quantile(SELECTION.assign(ROWS).distances, [0.5, 0.9, 0.99], method="inverted_cdf")
    )


@pytest.mark.parametrize("shape", [(60, 2, 2), (60, 2, 2, 3)])
def test_the_gallery_shows_the_first_prototypes(shape):
    images = np.random.default_rng(0).uniform(size=shape)
    figure = drawn(SELECTION.plot_gallery(images, n=5))
    shown = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    assert len(shown) == 5
    np.testing.assert_allclose(shown[2], images[SELECTION.indices[2]])
    assert figure.axes[0].get_title() == f"1: {SELECTION.mass[0]:.1%}"


def test_a_loaded_selection_draws_given_rows():
    loaded = pb.Selection.from_json(SELECTION.to_json())
    assert len(loaded.plot_map(ROWS, layout="pca").collections[0].get_offsets()) == 60
    loaded.plot_distances(ROWS)
    loaded.plot_composition(LABELS)
    for draw in (loaded.plot_map, loaded.plot_distances):
        with pytest.raises(pb.NotAvailable, match="Pass them as rows="):
            draw()


def test_prepared_rows_are_not_prepared_again():
    prepared = pb.select(ROWS, k=4, preparation=pb.Preparation(standardize=True))
    own, given = prepared.plot_distances(), prepared.plot_distances(ROWS)
    np.testing.assert_allclose(
        own.patches[0].get_data().edges, given.patches[0].get_data().edges, rtol=1e-5
    )
    first, second = (
        ax.collections[1].get_offsets()
        for ax in (prepared.plot_map(layout="pca"), prepared.plot_map(ROWS, layout="pca"))
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SELECTION.plot_map(labels=[1, 2]), "labels has 2 values for 60 target rows"),
        (lambda: SELECTION.plot_map(n_sample=0), "n_sample=0"),
        (lambda: SELECTION.plot_composition([1]), "labels has 1 values for 60 source rows"),
        (lambda: SELECTION.plot_distances(weights=[1.0]), "weights have shape"),
        (lambda: SELECTION.plot_gallery(np.zeros((60, 4))), "images have shape"),
        (lambda: SELECTION.plot_gallery(np.zeros((5, 2, 2))), "images has 5 values"),
        (lambda: SELECTION.plot_gallery(np.zeros((60, 2, 2)), n=0), "n=0"),
    ],
)
def test_bad_arguments_raise(call, message):
    with pytest.raises(pb.InvalidInput, match=message):
        call()


def test_the_error_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pb.NotAvailable, match=r"protobandit\[plot\]"):
        SELECTION.plot_gains()
