"""Columns are matched by name in frames, tables and files, and by position in arrays."""

from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb
from protobandit import InvalidInput

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = ["a", "b", "c", "d"]
ROWS = np.random.default_rng(0).normal(size=(60, 4)) * [100, 1, 1, 1]
SWAPPED = ["b", "d", "a", "c"]
MAKERS = {
    "pandas": lambda names: pd.DataFrame(ROWS, columns=NAMES)[names],
    "polars": lambda names: pl.DataFrame(ROWS, schema=NAMES).select(names),
    "arrow": lambda names: pa.table(dict(zip(NAMES, ROWS.T, strict=True))).select(names),
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def written(folder, names, file="rows.csv"):
    path = folder / file
    pd.DataFrame(ROWS, columns=NAMES)[names].to_csv(path, index=False)
    return str(path)


@every_maker
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_target_in_another_order_is_the_same_target(make, metric):
    alike = pb.select(make(NAMES), make(NAMES), k=4, metric=metric)
    other = pb.select(make(NAMES), make(SWAPPED), k=4, metric=metric)
    assert other.indices.tolist() == alike.indices.tolist()
    assert other.cost == alike.cost
    assert other.columns == tuple(NAMES)
    assert other.fingerprints == alike.fingerprints


@every_maker
@pytest.mark.parametrize("is_loaded", [False, True])
def test_rows_in_another_order_get_the_same_prototypes(make, is_loaded):
    selection = pb.select(make(NAMES), k=4)
    if is_loaded:
        selection = pb.Selection.from_json(selection.to_json())
    truth = selection.assign(ROWS)
    for rows in (make(NAMES), make(SWAPPED)):
        np.testing.assert_array_equal(selection.assign(rows).labels, truth.labels)
        np.testing.assert_array_equal(selection.assign(rows).distances, truth.distances)
    np.testing.assert_array_equal(
        selection.explain(make(SWAPPED), n=2).prototypes, selection.explain(ROWS, n=2).prototypes
    )


def test_kinds_of_frames_mix_and_arrays_are_matched_by_position():
    truth = pb.select(ROWS, k=4)
    assert truth.columns is None
    mixed = pb.select(MAKERS["pandas"](NAMES), MAKERS["polars"](SWAPPED), k=4)
    assert mixed.indices.tolist() == truth.indices.tolist()
    assert pb.select(MAKERS["pandas"](NAMES), ROWS, k=4).cost == truth.cost
    assert pb.select(ROWS, MAKERS["pandas"](NAMES), k=4).cost == truth.cost


def test_names_that_are_positions_are_not_names():
    plain = pd.DataFrame(ROWS)
    assert pb.select(plain, k=4).columns is None
    assert pb.select(plain, MAKERS["pandas"](SWAPPED), k=4).cost != pb.select(plain, k=4).cost


def test_files_are_matched_by_name(tmp_path):
    source, target = written(tmp_path, NAMES), written(tmp_path, SWAPPED, "other.csv")
    alike, other = pb.select(source, k=4), pb.select(source, target, k=4)
    assert other.cost == alike.cost
    np.testing.assert_array_equal(alike.assign(target).distances, alike.assign(source).distances)
    mixed = pb.select(source, MAKERS["pandas"](SWAPPED), k=4)
    assert mixed.cost == pytest.approx(alike.cost)


@every_maker
def test_other_columns_raise_an_error_that_names_them(make):
    other = pd.DataFrame(ROWS, columns=["a", "b", "c", "z"])
    with pytest.raises(InvalidInput, match="columns than source: missing 'd'; unexpected 'z'"):
        pb.select(make(NAMES), other, k=4)
    selection = pb.select(make(NAMES), k=4)
    with pytest.raises(InvalidInput, match=r"rows has other columns than source: .*unexpected 'z'"):
        selection.assign(other)


def test_extended_and_shorter_selections_keep_their_columns():
    selection = pb.select(MAKERS["pandas"](NAMES), k=4, method="lazygreedy")
    for other in (selection.extended(6), selection.at(2)):
        assert other.columns == tuple(NAMES)
        np.testing.assert_array_equal(
            other.assign(MAKERS["pandas"](SWAPPED)).labels, other.assign(ROWS).labels
        )


def test_names_in_a_document_are_checked():
    text = (
        pb.select(MAKERS["pandas"](NAMES), k=2).to_json().replace('["a", "b", "c", "d"]', '"abcd"')
    )
    with pytest.raises(InvalidInput, match="columns and constraints must be lists of names"):
        pb.Selection.from_json(text)


def test_a_memoryview_is_an_array():
    assert pb.select(memoryview(ROWS), k=3).cost == pb.select(ROWS, k=3).cost


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_queries_leave_other_columns_out(make):
    numbers = {"x": [0.0, 1.0, 9.0, 10.0], "y": [0.0] * 4}
    chosen = pb.select(make(numbers), k=2)
    more = make({"id": [7, 8], "y": [0.0, 0.0], "x": [8.0, 2.0], "name": ["a", "b"]})
    assert (
        chosen.assign(more).labels.tolist() == chosen.assign([[8.0, 0], [2.0, 0]]).labels.tolist()
    )
    with pytest.raises(pb.InvalidInput, match="missing 'y'"):
        chosen.assign(make({"x": [1.0], "z": [1.0]}))
