from __future__ import annotations

import struct
import sys
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files.formats import IMAGES

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


WIDE = {
    "a.png": np.array([[0, 257, 65535], [1, 2, 3]], np.uint16),
    "a.pgm": np.array([[0, 257, 65535], [1, 2, 3]], np.uint16),
    "a.tif": np.array([[0, 257, 65535], [1, 2, 3]], np.uint16),
    "b.tif": np.array([[-5, 1 << 30, 7], [1, 2, 3]], np.int32),
    "c.tif": np.array([[0.25, -1e-7, 3e20], [1, 2, 3]], np.float32),
}


@pytest.mark.parametrize("name", WIDE)
def test_sixteen_bits_integers_and_floats_keep_their_values(tmp_path, name):
    pixels = WIDE[name]
    save(tmp_path / name, pixels)
    found = open_rows(tmp_path)
    np.testing.assert_array_equal(found.rows, pixels.reshape(1, -1))
    assert found.rows.dtype == (np.float32 if pixels.dtype == np.float32 else np.int32)
    colour = open_rows(tmp_path, is_colour=True)
    np.testing.assert_array_equal(colour.rows.reshape(2, 3, 3)[:, :, 1], pixels)
    assert open_rows(tmp_path, image_size=1).rows.shape == (1, 1)


def test_values_are_scaled_to_be_shown(tmp_path):
    save(tmp_path / "a.tif", np.array([[-1.0, 1.0, 3.0]], np.float32))
    save(tmp_path / "b.tif", np.array([[0.0, 0.0, 0.0]], np.float32))
    shown = open_rows(tmp_path)
    assert shown.images([0, 1]).tolist() == [[[0, 127, 255]], [[63, 63, 63]]]
    assert shown.images([1]).tolist() == [[[0, 0, 0]]]
    assert shown.images([]).shape == (0, 1, 3)
    assert shown.images([0]).dtype == np.uint8


def test_pixels_of_different_types_are_not_mixed(tmp_path):
    save(tmp_path / "a.png", np.zeros((2, 2), np.uint8))
    save(tmp_path / "b.png", np.zeros((2, 2), np.uint16))
    with pytest.raises(
        pb.InvalidInput, match=r"a.png \(uint8\) and .*b.png \(int32\) have pixels of different"
    ):
        open_rows(tmp_path)


def png(pixels):
    """Return a PNG of RGB pixels with 16 bits, which Pillow reads but does not write."""

    def chunk(name, content):
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_colours_with_sixteen_bits_are_reduced_with_a_remark(tmp_path):
    (tmp_path / "a.png").write_bytes(png(np.full((2, 3, 3), 0x1234)))
    found = open_rows(tmp_path, is_colour=True)
    assert found.rows.tolist() == [[0x12] * 18]
    assert found.remark == (
        f"1 image(s) of {tmp_path} have 16 bits per colour, of which the upper 8 were read."
    )
    assert found.remark in pb.select(found, k=1).status


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n"


@pytest.mark.parametrize("image_size", [None, 4])
def test_other_formats_are_not_decoded(tmp_path, monkeypatch, image_size):
    (tmp_path / "a.png").write_bytes(POSTSCRIPT)
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", lambda *given, **named: 1 / 0)
    monkeypatch.setattr("PIL.EpsImagePlugin.EpsImageFile.load", lambda image: 1 / 0)
    with pytest.raises(pb.InvalidInput, match=r"a.png cannot be read as an image: cannot identify"):
        open_rows(tmp_path, image_size=image_size)
    save(tmp_path / "a.png", grey(), format="ICO", sizes=[(5, 5)])
    with pytest.raises(pb.InvalidInput, match="cannot identify"):
        open_rows(tmp_path)


def test_every_listed_suffix_is_decoded(tmp_path):
    pixels = np.full((4, 4), 200, np.uint8)
    for suffix in IMAGES:
        values = pixels > 0 if suffix == ".pbm" else pixels
        save(tmp_path / f"a{suffix}", values)
    found = open_rows(tmp_path)
    assert len(found) == len(IMAGES)
    assert (found.rows >= 195).all()


@pytest.mark.parametrize("factor", [1.5, 3])  # Pillow warns, Pillow raises
@pytest.mark.parametrize("image_size", [None, 4])
def test_too_many_pixels_are_refused_before_decoding(tmp_path, monkeypatch, factor, image_size):
    save(tmp_path / "a.png", grey(3, 3))
    save(tmp_path / "b.png", grey(30, 30))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", int(900 / factor))
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", lambda image: 1 / 0)
    with pytest.raises(pb.InvalidInput, match=r"b.png .*\b(900|exceeds limit)\b"):
        open_rows(tmp_path, image_size=image_size)


def test_pillow_does_not_warn(tmp_path):
    image = Image.new("P", (3, 2))
    image.save(tmp_path / "a.png", transparency=bytes([0, 128, 255]))
    assert len(open_rows(tmp_path)) == 1


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
