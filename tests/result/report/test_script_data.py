"""The data of pages for unusual selections: few rows, equal rows, weights, criticisms."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import protobandit as pb
from protobandit.methods import MMDCritic
from protobandit.result.report import report_data as report_module
from protobandit.result.report.page import page as render_page
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay

ROWS = np.random.default_rng(0).normal(size=(40, 3))


def records(rows):
    return {
        "kind": "records",
        "take": lambda ids: {f"x{c}": rows[ids, c] for c in range(rows.shape[1])},
    }


def report(selection, target=ROWS, *, source=None, look=None, **options):
    fields = {name: options.pop(name) for name in ("names", "labels") if name in options}
    ours = RowDisplay(**(look or records(target if source is None else source)), **fields)
    theirs = ours if source is None else RowDisplay(**(look or records(target)))
    return report_data(selection, target, source=ours, target=theirs, layout="pca", **options)


def data_of(shown):
    text = re.search(r'id="data">(.*?)</script>', render_page(shown), re.S).group(1)
    return json.loads(text, parse_constant=pytest.fail)


def shares(data):
    return np.array(data["prototypes"]["mass"])


def test_every_source_row_can_be_a_prototype():
    data = data_of(report(pb.select(ROWS, k=40, method="lazygreedy")))
    assert data["k"] == 40
    assert data["prototypes"]["counts"] == [1] * 40
    assert data["spread"]["most"] == data["spread"]["mean"] == 0
    np.testing.assert_allclose(shares(data), 1 / 40, rtol=1e-5)


def test_a_page_has_the_first_of_very_many_prototypes(monkeypatch):
    monkeypatch.setattr(report_module, "MOST_SHOWN", 6)
    selection = pb.select(ROWS, k=30, method="lazygreedy")
    shown = report(selection, labels=[f"class {i % 4}" for i in range(40)])
    data, whole = data_of(shown), selection.indices.tolist()
    prototypes = data["prototypes"]
    assert data["k"] == 30
    assert prototypes["ids"] == whole[:6]
    parts = ("labels", "mass", "gains", "means", "counts", "near", "far")
    assert {len(prototypes[name]) for name in parts} == {6}
    assert len(prototypes["look"]["items"]) == len(data["curve"]["costs"]) == 6
    assert len(prototypes["at"]) == 12
    assert max(data["rows"]["of"]) > 5
    assert "the first 6 of 30 prototypes." in " ".join(shown.notes)
    assert sum(data["compositions"][0]["counts"]) == 30


def test_all_rows_can_be_equal():
    data = data_of(report(pb.select(np.ones((6, 3)), k=2), np.ones((6, 3))))
    assert data["prototypes"]["counts"] == [6, 0]
    assert shares(data).tolist() == [1, 0]
    assert set(data["map"]["at"]) == set(data["prototypes"]["at"]) == {0}


def test_a_target_of_one_row():
    data = data_of(report(pb.select(ROWS, ROWS[:1], k=3), ROWS[:1], source=ROWS))
    assert data["rows"]["ids"] == [0]
    assert sum(data["prototypes"]["counts"]) == 1
    assert data["isWhole"]


def test_an_automatic_k_has_its_wider_curve():
    rows = ROWS + 9 * (np.arange(40) % 3)[:, None]
    data = data_of(report(pb.select(rows, k="auto"), rows))
    assert data["curve"]["knee"] == 3
    assert len(data["curve"]["wider"]) >= data["k"] == len(data["curve"]["costs"])


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (5, 7, 3), (120, 30), (30, 120, 3)])
def test_images_can_be_oblong_or_in_colour(shape):
    images = np.random.default_rng(1).integers(0, 256, (40, *shape), dtype=np.uint8)
    look = {"kind": "images", "take": lambda ids: images[ids]}
    data = data_of(report(pb.select(ROWS, k=3), look=look))
    assert len(data["prototypes"]["look"]["items"]) == 3
    assert data["rows"]["look"]["head"].startswith("iVBORw0KGgo")  # the first bytes of a PNG


def test_records_of_many_columns_are_complete():
    rows = np.random.default_rng(2).normal(size=(40, 20))
    data = data_of(report(pb.select(rows, k=3), rows))
    look = data["rows"]["look"]
    assert look["columns"] == [f"x{c}" for c in range(20)]
    np.testing.assert_allclose(look["items"], rows[data["rows"]["ids"]], rtol=1e-14)


# -- weights --------------------------------------------------------------------------------------


def test_rows_of_weight_0_are_not_shown():
    rows, weights = np.concatenate([ROWS, ROWS[:5] + 1000]), np.ones(45)
    weights[40:] = 0
    selection = pb.select(ROWS, rows, k=4, weights=weights)
    shown = report(selection, rows, source=ROWS, weights=weights)
    data = data_of(shown)
    assert max(data["rows"]["ids"]) < 40
    assert data["spread"]["most"] < 100
    assert sum(data["prototypes"]["counts"]) == sum(data["spread"]["counts"]) == 40
    assert data["isWhole"]


def test_few_rows_with_weight_are_always_drawn():
    rows, weights = np.zeros((500, 3)), np.zeros(500)
    weights[[7, 300]] = 1e-300, 3e-300
    selection = pb.select(ROWS, k=2)
    shown = report(selection, rows, source=ROWS, weights=weights, n_sample=2)
    assert shown.sample.ids.tolist() == [7, 300]
    np.testing.assert_allclose(shown.sample.weights, [0.25, 0.75])
    one = report(selection, rows, source=ROWS, weights=weights, n_sample=1)
    assert one.sample.ids.tolist() in ([7], [300])
    assert one.sample.weights.tolist() == [1]


def test_weights_default_to_those_of_the_problem():
    weights = np.random.default_rng(3).integers(0, 4, 40)
    selection = pb.select(ROWS, k=4, weights=weights, method="lazygreedy")
    own, given = report(selection), report(selection, weights=weights)
    np.testing.assert_array_equal(own.sample.weights, given.sample.weights)
    assert own.distances.mean == pytest.approx(selection.cost)
    other = report(selection, np.concatenate([ROWS, ROWS]), source=ROWS)
    assert not other.sample.is_weighted


# -- mass -----------------------------------------------------------------------------------------


def test_mass_is_computed_from_members_if_the_sample_is_whole():
    """An estimate could contradict the members shown."""
    weights = 1.0 + np.arange(40)
    exact = pb.select(ROWS, k=5, weights=weights, method="lazygreedy")
    wrong = replace(exact, mass=np.full(5, 0.2), cost_error=0.1)
    np.testing.assert_allclose(report(wrong).mass, exact.mass)
    labels = np.arange(40) % 2
    composed = report(wrong, labels=labels).compositions[0]
    assert composed.mass[0] == pytest.approx(exact.mass[labels[exact.indices] == 0].sum())
    assert report(wrong, n_sample=10).mass.tolist() == [0.2] * 5


# -- labels and names -----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_labels_groups_and_names_can_be_missing_or_of_any_type(missing):
    labels = [missing if i % 5 == 0 else (i % 3 if i % 2 else float(i % 3)) for i in range(40)]
    selection = pb.select(ROWS, k=6)
    shown = report(selection, labels=labels, groups=labels, names=labels)
    data = data_of(shown)
    assert set(data["labels"]) <= {"0", "1", "2", "(none)"}
    assert shown.agreement.n_left_out == 8
    assert data["rows"]["names"][data["rows"]["ids"].index(35)] == "row 35"


def test_labels_read_as_floats_equal_integers():
    source = np.arange(40) % 2
    target = source.astype(float)
    target[3] = np.nan
    ours = RowDisplay(**records(ROWS), labels=source)
    theirs = RowDisplay(**records(ROWS), labels=target)
    selection = pb.select(ROWS, ROWS, k=40, method="lazygreedy")
    shown = report_data(selection, ROWS, source=ours, target=theirs, layout="pca")
    assert shown.agreement == (1.0, 1)
    assert set(shown.compositions[0].values) == {"0", "1", "(none)"}


# -- results of some methods ---------------------------------------------------------------------


@pytest.mark.parametrize("n_sample", [None, 4])
def test_criticisms_are_among_the_rows_even_if_not_drawn(n_sample):
    selection = pb.select(ROWS, k=4, method=MMDCritic(gamma=0.5, n_criticisms=6))
    shown = report(selection, n_sample=n_sample)
    data = data_of(shown)
    rows = data["rows"]
    assert [rows["ids"][i] for i in data["criticisms"]] == selection.criticisms.tolist()
    assert max(data["criticisms"]) < len(rows["look"]["items"])
    assert len(rows["ids"]) == len(set(rows["ids"])) == len(rows["of"]) == len(rows["distances"])
    labels, distances = selection.assign(ROWS[rows["ids"]])
    assert rows["of"] == labels.tolist()
    np.testing.assert_allclose(rows["distances"], distances, rtol=1e-5, atol=1e-9)
    assert len(shown.sample) == (n_sample or 40)


def test_criticisms_and_coefficients_are_optional():
    data = data_of(report(pb.select(ROWS, k=4)))
    assert data["criticisms"] == []
    assert data["coefficients"] is None


def test_criticisms_of_another_target_raise():
    selection = replace(pb.select(ROWS, k=2), criticisms=np.array([3, 40]))
    with pytest.raises(pb.InvalidInput, match="criticisms go up to row 40 but target_rows has 40"):
        report(selection)


def test_coefficients_are_in_the_data():
    selection = pb.select(ROWS, k=4, method="protodash")
    data = data_of(report(selection))
    np.testing.assert_allclose(data["coefficients"], selection.coefficients, rtol=1e-5)
