"""The report from Python."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import brute
import protobandit as pb

ROWS = brute.normal(60, 2)
FRAME = pd.DataFrame(
    {
        "x": ROWS[:, 0],
        "y": ROWS[:, 1],
        "name": [f"n{i}" for i in range(60)],
        "kind": ["a", "b"] * 30,
    }
)


def data_of(path):
    """Return the data that a page holds."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1)), text


@pytest.fixture
def selection():
    return pb.select(FRAME[["x", "y"]], k=5, random_state=0)


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_columns_labels_and_names_of_a_frame(selection, tmp_path, make):
    path = selection.report(
        tmp_path / "page.html", rows=make(FRAME), show=["kind"], labels="kind", names="name"
    )
    data, text = data_of(path)
    assert "5 prototypes for 60 rows" in text
    shown = json.dumps(data)
    assert '"kind"' in shown
    assert f'"n{selection.indices[0]}"' in shown
    assert shown.index('"kind"') < shown.index('"x"')


def test_without_rows_the_compared_columns_are_shown(selection, tmp_path):
    data, _ = data_of(selection.report(tmp_path / "page.html"))
    assert '"x"' in json.dumps(data)


def test_a_loaded_selection_needs_its_rows(selection, tmp_path):
    loaded = pb.Selection.from_json(selection.to_json())
    with pytest.raises(pb.NotAvailable, match=r"report\(path, rows=rows\)"):
        loaded.report(tmp_path / "page.html")
    assert loaded.report(tmp_path / "page.html", rows=FRAME, labels="kind").exists()


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (["red", "green", "blue", "reds"] * 5, {"metric": "levenshtein"}),
        (np.abs(np.subtract.outer(ROWS[:, 0], ROWS[:, 0])), {"metric": "precomputed"}),
        (ROWS, {"preparation": pb.Preparation(standardize=True, pca=1)}),
        (ROWS.astype(np.float32), {"weights": np.arange(60)}),
    ],
    ids=["texts", "precomputed", "prepared", "weights"],
)
def test_other_rows(tmp_path, rows, options):
    chosen = pb.select(rows, k=3, random_state=0, **options)
    assert chosen.report(tmp_path / "page.html").stat().st_size > 10_000


def test_a_separate_target(tmp_path):
    chosen = pb.select(ROWS, brute.normal(30, 2, seed=1), k=3, random_state=0)
    other = pd.DataFrame({"word": ["w"] * 30, "kind": ["c"] * 30})
    path = chosen.report(tmp_path / "page.html", rows=FRAME, target=other, labels="kind")
    assert '"word"' in json.dumps(data_of(path)[0])


def test_images(selection, tmp_path):
    pixels = np.random.default_rng(0).random((60, 8, 8))
    for images in (pixels, list((255 * pixels).astype(np.uint8)), lambda ids: pixels[ids]):
        path = selection.report(tmp_path / "page.html", images=images)
        assert "data:image/png" in path.read_text(encoding="utf-8")


def test_vectors_are_not_shown(selection, tmp_path):
    vectors = FRAME.assign(embedding=list(ROWS))
    data, _ = data_of(selection.report(tmp_path / "page.html", rows=vectors))
    assert "embedding" not in json.dumps(data)


def test_drift_is_shown(selection, tmp_path):
    drift = selection.drift(ROWS[:20] + 3)
    _, text = data_of(selection.report(tmp_path / "page.html", drift=drift))
    assert "New rows" in text
    assert "worse than rows of the target" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": FRAME[:10]}, "rows to show are 10 but the selection has 60 source rows"),
        ({"labels": "kind"}, "labels='kind' is not a column of rows"),
        ({"labels": ["a"] * 3}, "labels has 3 values for 60 rows"),
        ({"show": ["kind"]}, "show names 'kind'"),
        ({"rows": FRAME, "show": ["no"]}, "show names 'no'"),
        ({"images": np.zeros((3, 2, 2))}, "images has 3 images but the selection has 60 rows"),
        ({"target": FRAME}, "the target is the source"),
        ({"drift": 1.2}, "is not the result of selection"),
    ],
)
def test_errors(selection, tmp_path, arguments, message):
    with pytest.raises(pb.InvalidInput, match=message):
        selection.report(tmp_path / "page.html", **arguments)
    assert not (tmp_path / "page.html").exists()


def test_a_folder_gets_report_html(selection, tmp_path):
    assert selection.report(tmp_path) == tmp_path / "report.html"


@pytest.mark.parametrize("is_prepared", [False, True])
def test_vectors_and_categories_without_names_show_row_numbers(tmp_path, is_prepared):
    rows = FRAME[["x", "kind"]] if is_prepared else pl.DataFrame({"v": ROWS, "name": FRAME["name"]})
    preparation = pb.Preparation(categories="one-hot") if is_prepared else None
    selection = pb.select(rows, k=3, preparation=preparation, random_state=0)
    data, _ = data_of(selection.report(tmp_path / "page.html"))
    assert '"row"' in json.dumps(data)


def test_a_loaded_selection_finds_its_columns_in_files_and_dicts(selection, tmp_path):
    loaded = pb.Selection.from_json(selection.to_json())
    FRAME.to_parquet(tmp_path / "rows.parquet")
    for rows in (tmp_path / "rows.parquet", FRAME.to_dict("records"), pl.from_pandas(FRAME).lazy()):
        data, _ = data_of(loaded.report(tmp_path / "page.html", rows=rows, labels="kind"))
        assert '"name"' in json.dumps(data)


def test_compared_columns_come_first_and_constant_ones_last(selection, tmp_path):
    rows = pd.DataFrame({"same": ["s"] * 60, "note": FRAME["name"], **FRAME})
    data, _ = data_of(selection.report(tmp_path / "page.html", rows=rows))
    assert data["prototypes"]["look"]["columns"] == ["x", "y", "note", "name", "kind", "same"]
    data, _ = data_of(selection.report(tmp_path / "page.html", rows=rows, show="kind"))
    assert data["rows"]["look"]["columns"][:3] == ["kind", "x", "y"]
