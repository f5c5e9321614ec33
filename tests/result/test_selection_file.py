"""Saving and loading selections."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import protobandit as pb


@pytest.fixture
def selection():
    return pb.select(brute.normal(40, 2), k=4, random_state=0)


def test_a_saved_selection_is_loaded_with_its_reference(selection, tmp_path):
    file = selection.save(tmp_path / "mine.json")
    loaded = pb.Selection.load(str(file))
    assert loaded.indices.tolist() == selection.indices.tolist()
    new = brute.normal(20, 2, seed=1)
    assert loaded.drift(new).ratio == pytest.approx(selection.drift(new).ratio, rel=1e-4)
    again = loaded.save(tmp_path / "mine.json")  # replaces the file, and needs no rows
    assert pb.Selection.load(again).reference is not None


def test_a_folder_holds_selection_json(selection, tmp_path):
    assert selection.save(tmp_path, reference=False) == tmp_path / "selection.json"
    loaded = pb.Selection.load(tmp_path)
    assert loaded.reference is None
    assert len(loaded) == len(selection) == 4


def test_a_callable_metric_is_passed_again(tmp_path):
    chosen = pb.select(brute.normal(20, 2), k=2, metric=brute.skewed, random_state=0)
    chosen.save(tmp_path)
    loaded = pb.Selection.load(tmp_path, metric=brute.skewed)
    assert loaded.reference is None  # it would call the function many times
    rows = brute.normal(5, 2, seed=1)
    np.testing.assert_array_equal(loaded.assign(rows).labels, chosen.assign(rows).labels)


@pytest.mark.parametrize("path", [None, "", 3])
def test_what_is_not_a_path(selection, path):
    for call in (selection.save, pb.Selection.load):
        with pytest.raises(pb.InvalidInput, match="is not a path"):
            call(path)


def test_errors_of_the_system(selection, tmp_path):
    with pytest.raises(pb.InvalidInput, match=r"cannot be written: No such file"):
        selection.save(tmp_path / "no" / "folder.json", reference=False)
    with pytest.raises(pb.InvalidInput, match=r"cannot be read: No such file"):
        pb.Selection.load(tmp_path / "none.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(pb.InvalidInput, match="not UTF-8"):
        pb.Selection.load(tmp_path / "bytes")
