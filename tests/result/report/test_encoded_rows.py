import struct
import zlib
from base64 import b64decode

import numpy as np
import pytest

from protobandit import InvalidInput
from protobandit.result.report import encoded_rows as subject
from protobandit.result.report.encoded_rows import encode, encode_within_budget, shrunk
from protobandit.result.report.row_display import RowDisplay

IDS = np.array([4, 0, 2])


def decoded(shown, i):
    """Return the pixels of a PNG with the filters none and up."""
    data = b64decode(shown.head + shown.items[i])
    width, height = struct.unpack_from(">II", data, 16)
    depth = 3 if data[25] == 2 else 1
    length = struct.unpack_from(">I", data, 33)[0]
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + length]), dtype=np.uint8)
    lines = lines.reshape(height, 1 + depth * width)
    pixels = lines[:, 1:].copy()
    for y in range(1, height):
        if lines[y, 0] == 2:
            pixels[y] += pixels[y - 1]
    return pixels.reshape((height, width, 3) if depth == 3 else (height, width))


@pytest.mark.parametrize("shape", [(5, 4, 6), (5, 4, 6, 3)])
def test_images_keep_their_pixels_and_the_given_order(shape):
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    shown = encode(RowDisplay(kind="images", take=lambda ids: images[ids]), IDS, 64)
    assert not shown.is_cut
    for i, row in enumerate(IDS):
        np.testing.assert_array_equal(decoded(shown, i), images[row])


def test_rows_are_taken_in_ascending_chunks():
    taken = []

    def take(ids):
        taken.append(ids)
        return [str(i) for i in ids]

    ids = np.random.default_rng(0).permutation(600)
    shown = encode(RowDisplay(kind="texts", take=take), ids, 9)
    assert shown.items == [str(i) for i in ids]
    assert max(len(a) for a in taken) <= 256
    assert (np.diff(np.concatenate(taken)) > 0).all()


@pytest.mark.parametrize("shape", [(2, 10, 6), (2, 9, 7, 3)])
def test_large_images_are_averaged_over_squares(shape):
    images = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    small = shrunk(images, 5)
    assert max(small.shape[1:3]) <= 5
    np.testing.assert_allclose(small[:, 0, 0], images[:, :2, :2].mean(axis=(1, 2)), atol=0.5)


def test_records_keep_their_first_columns():
    columns = {"a": [1, 2, 3], "b": [None, "x", 2.5], "c": [0, 0, 0]}
    take = lambda ids: {n: [v[i] for i in ids] for n, v in columns.items()}  # noqa: E731
    shown = encode(RowDisplay(kind="records", take=take), np.arange(3), 2)
    assert shown.columns == ("a", "b")
    assert shown.items == [[1, None], [2, "x"], [3, 2.5]]
    assert shown.is_cut


def test_records_keep_all_significant_digits():
    columns = {"a": np.array([12345.67, 1234567.0]), "b": [1_700_000_000, 2021]}
    take = lambda ids: {n: [v[i] for i in ids] for n, v in columns.items()}  # noqa: E731
    shown = encode(RowDisplay(kind="records", take=take), np.arange(2), 9)
    assert shown.items == [[12345.67, 1_700_000_000], [1_234_567, 2021]]


def changing(before, after):
    """Return a function of row numbers whose results change at row 256."""
    return lambda ids: before(len(ids)) if ids[0] < 256 else after(len(ids))


def test_columns_that_change_raise():
    take = changing(lambda n: {"a": [0] * n}, lambda n: {"b": [0] * n})
    with pytest.raises(InvalidInput, match=r"columns \['a'\] for some rows and \['b'\] for others"):
        encode(RowDisplay(kind="records", take=take), np.arange(300), 9)


@pytest.mark.parametrize("shape", [(4, 7), (4, 6, 3)])
def test_image_sizes_that_change_raise(shape):
    def black(*shape):
        return lambda n: np.zeros((n, *shape), dtype=np.uint8)

    take = changing(black(4, 6), black(*shape))
    with pytest.raises(InvalidInput, match="images of different sizes"):
        encode(RowDisplay(kind="images", take=take), np.arange(300), 64)


def encoded(monkeypatch, budget):
    """Encode 2 prototypes, 10 essential and 100 further rows of 5,000 characters each."""
    monkeypatch.setattr(subject, "BUDGET", budget)
    display = RowDisplay(kind="texts", take=lambda ids: ["x" * 5000 for _ in ids])
    return encode_within_budget(
        display, display, np.arange(2), essential=np.arange(10), further=np.arange(10, 110)
    )


def test_a_large_budget_holds_everything(monkeypatch):
    found = encoded(monkeypatch, 200_000)
    assert len(found.rows.items) == 110
    assert len(found.prototypes.items[0]) == 4001
    assert found.notes == (
        "Prototypes are shown with at most 4,000 characters.",
        "Other rows are shown with at most 600 characters.",
    )


def test_detail_is_reduced_before_rows_are_left_out(monkeypatch):
    found = encoded(monkeypatch, 20_000)
    assert len(found.rows.items) == 110
    assert len(found.rows.items[0]) == 121


def test_points_of_the_map_are_left_out_before_members(monkeypatch):
    found = encoded(monkeypatch, 6_000)
    assert len(found.rows.items) == 10
    assert "Points of the map show their number only" in found.notes[-1]


def test_prototypes_and_members_are_never_left_out(monkeypatch):
    found = encoded(monkeypatch, 0)
    assert len(found.prototypes.items) == 2
    assert len(found.rows.items) == 10
