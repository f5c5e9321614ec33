from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from PIL import Image

import protobandit as pb
from protobandit.data import open_rows

RANDOM = np.random.default_rng(0)


def save(path, pixels, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


def grey(height=6, width=5):
    return RANDOM.integers(256, size=(height, width), dtype=np.uint8)


def test_a_folder_of_images_in_order_of_names(tmp_path):
    pixels = {name: grey() for name in ("b.png", "a.png", "c.PNG")}
    for name, values in pixels.items():
        save(tmp_path / name, values)
    (tmp_path / "notes.md").write_text("no image")
    (tmp_path / ".hidden.png").write_text("no image")
    found = open_rows(tmp_path)
    assert (found.kind, found.format, found.image_shape) == ("images", "images", (6, 5))
    assert (len(found), found.n_total) == (3, 3)
    assert found.rows.dtype == np.uint8
    order = ["a.png", "b.png", "c.PNG"]
    np.testing.assert_array_equal(found.rows, [pixels[name].ravel() for name in order])
    np.testing.assert_array_equal(found.images([2, 0]), [pixels["c.PNG"], pixels["a.png"]])
    assert found.records([1]) == {"file": [str(tmp_path / "b.png")]}
    assert pb.select(tmp_path, k=2).k == 2


def test_subfolders_are_labels(tmp_path):
    for folder in ("cat", "dog"):
        for at in range(2):
            save(tmp_path / folder / f"{at}.png", grey())
    found = open_rows(tmp_path)
    assert found.column("folder").tolist() == ["cat", "cat", "dog", "dog"]
    assert found.column("file").tolist()[3] == str(tmp_path / "dog" / "1.png")


def test_colour_is_kept_on_request(tmp_path):
    pixels = RANDOM.integers(256, size=(4, 3, 3), dtype=np.uint8)
    save(tmp_path / "a.png", pixels)
    colour, plain = open_rows(tmp_path, is_colour=True), open_rows(tmp_path)
    assert (colour.image_shape, plain.image_shape) == ((4, 3, 3), (4, 3))
    np.testing.assert_array_equal(colour.images([0])[0], pixels)
    expected = pixels @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(plain.images([0])[0], expected, atol=1)


def test_images_of_different_sizes_become_small_squares(tmp_path):
    save(tmp_path / "a.png", np.full((6, 5), 70, np.uint8))
    save(tmp_path / "b.png", np.full((60, 70), 200, np.uint8))
    messages = []
    found = open_rows(tmp_path, tell=messages.append)
    assert found.image_shape == (32, 32)
    assert "different sizes: all are resized to 32 x 32 pixels" in messages[0]
    open_rows(tmp_path, tell=messages.append, image_size=4)
    assert len(messages) == 1
    assert (found.rows[0] == 70).all()
    assert (found.rows[1] == 200).all()


@pytest.mark.parametrize(("size", "shape"), [(4, (4, 4)), ((2, 3), (2, 3)), ([3, 2], (3, 2))])
def test_images_are_resized(tmp_path, size, shape):
    save(tmp_path / "a.png", np.repeat(np.array([[0], [200]], np.uint8), 10, axis=1).repeat(6, 0))
    found = open_rows(tmp_path, image_size=size)
    assert found.image_shape == shape
    top, bottom = found.images([0])[0][[0, -1]]
    assert top.max() < 30
    assert bottom.min() > 170


def test_sixteen_bits_become_eight(tmp_path):
    save(tmp_path / "a.png", np.array([[0, 257, 65535]], np.uint16))
    assert open_rows(tmp_path).rows.tolist() == [[0, 1, 255]]


def test_palettes_and_transparency(tmp_path):
    Image.new("P", (3, 2)).save(tmp_path / "a.gif")
    Image.new("RGBA", (3, 2), (255, 255, 255, 9)).save(tmp_path / "b.png")
    assert open_rows(tmp_path).rows[1].tolist() == [255] * 6


def test_patterns_and_single_files(tmp_path):
    for at in range(3):
        save(tmp_path / f"{at}.png", grey())
    save(tmp_path / "x.jpg", grey())
    assert len(open_rows(str(tmp_path / "*.png"))) == 3
    assert len(open_rows(tmp_path / "x.jpg")) == 1


@pytest.mark.parametrize("n_left", [0, 20, 60])
@pytest.mark.parametrize("size", [None, 4])
def test_the_error_names_an_image_that_cannot_be_decoded(tmp_path, n_left, size):
    save(tmp_path / "a.png", grey(20, 20))
    path = save(tmp_path / "b.png", grey(20, 20))
    path.write_bytes(path.read_bytes()[:n_left])
    with pytest.raises(pb.InvalidInput, match=r"source: .*b\.png cannot be read as an image: \S+"):
        open_rows(tmp_path, image_size=size)


def test_images_have_no_columns_to_choose(tmp_path):
    save(tmp_path / "a.png", grey())
    with pytest.raises(pb.InvalidInput, match="images, which have no columns"):
        open_rows(tmp_path, columns="x")


def test_many_images_are_cached_on_disk(tmp_path, monkeypatch):
    pixels = grey()
    save(tmp_path / "images" / "a.png", pixels)
    monkeypatch.setattr("protobandit.rows.files.images.MOST_HELD", 3)
    found = open_rows(tmp_path / "images", cache=tmp_path / "cache")
    assert isinstance(found.rows, np.memmap)
    np.testing.assert_array_equal(found.images([0])[0], pixels)


def test_the_error_says_what_to_install(tmp_path, monkeypatch):
    save(tmp_path / "a.png", grey())
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(pb.NotAvailable, match=r"protobandit\[files\]"):
        open_rows(tmp_path)


def test_warnings_of_pillow_do_not_leak(tmp_path):
    """A palette with transparency makes Pillow warn."""
    image = Image.new("P", (4, 4))
    image.putpalette(list(range(256)) * 3)
    image.info["transparency"] = bytes(range(256))
    image.save(tmp_path / "a.png", transparency=bytes(range(256)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = open_rows(tmp_path, is_colour=True)
    assert opened.rows.shape == (1, 48)
