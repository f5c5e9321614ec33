import struct
import zlib
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest

from protobandit import InvalidInput
from protobandit.result.report.gallery import gallery

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('&')</script> \" ]]> --> \x00\x1b\ud800\uffff"


def images(k: int = 3, height: int = 8, width: int = 8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 17, (k, height, width)).astype(float)


def parsed(svg: str) -> ElementTree.Element:
    svg.encode("utf-8")
    return ElementTree.fromstring(svg)


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    found = [e for e in root.iter(f"{SVG}text") if e.get("class", "").endswith(f"pb-{kind}")]
    return [e.text or "" for e in found]


def pixels_of(image: ElementTree.Element) -> np.ndarray:
    head, _, data = image.attrib["href"].partition(",")
    assert head == "data:image/png;base64"
    raw = b64decode(data, validate=True)
    width, height = struct.unpack_from(">II", raw, 16)
    (length,) = struct.unpack_from(">I", raw, 33)
    lines = np.frombuffer(zlib.decompress(raw[41 : 41 + length]), dtype=np.uint8)
    return lines.reshape(height, width + 1)[:, 1:]


def test_each_image_appears_once_in_the_order_given():
    shown = images(3)
    root = parsed(gallery(shown, [0.5, 0.3, 0.2], title="Three"))
    found = list(root.iter(f"{SVG}image"))
    assert len(found) == 3
    for element, image in zip(found, shown, strict=True):
        enlarged = pixels_of(element)
        times = len(enlarged) // 10  # 8 pixels and a blank frame of 1
        small = enlarged[times // 2 :: times, times // 2 :: times]
        expected = np.rint(255 * (1 - np.pad(image, 1) / shown.max()))
        np.testing.assert_array_equal(small, expected)


def test_mass_is_shown_as_text_and_bar():
    root = parsed(gallery(images(4), [0.5, 0.25, 0.2496, 0.0004], title="Four"))
    assert texts(root, "share") == ["50.0%", "25.0%", "25.0%", "<0.1%"]
    assert texts(root, "rank") == ["1", "2", "3", "4"]
    bars = [float(e.attrib["width"]) for e in root.iter(f"{SVG}rect") if e.get("class") == "pb-bar"]
    assert bars[1] == pytest.approx(bars[0] / 2, abs=0.01)
    assert 0 < bars[3] < 1


def test_texts_and_names_are_shown():
    svg = gallery(
        images(2), [0.9, 0.1], title="A", subtitle="B", note="C", names=["digit 5", "digit 7"]
    )
    root = parsed(svg)
    assert [texts(root, kind) for kind in ("title", "subtitle", "note")] == [["A"], ["B"], ["C"]]
    titles = [e.text for e in root.iter(f"{SVG}title")]
    assert titles == ["A", "1. digit 5: 90.0%", "2. digit 7: 10.0%"]


def test_it_is_accessible_and_has_a_dark_theme():
    root = parsed(gallery(images(1), [1.0], title="One"))
    assert root.get("role") == "img"
    ids = {e.get("id") for e in root if e.tag in {f"{SVG}title", f"{SVG}desc"}}
    assert set(root.attrib["aria-labelledby"].split()) == ids
    style = root.find(f"{SVG}style")
    assert style is not None
    assert "prefers-color-scheme: dark" in (style.text or "")


def test_nothing_is_fetched():
    root = parsed(gallery(images(2), [0.5, 0.5], title="Two"))
    links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert len(links) == 2
    assert all(link.startswith("data:") for link in links)


@pytest.mark.parametrize("field", ["title", "subtitle", "note"])
def test_hostile_texts_are_escaped(field):
    root = parsed(gallery(images(1), [1.0], **{"title": "plain", field: HOSTILE}))
    assert not list(root.iter(f"{SVG}script"))
    (shown,) = texts(root, field)
    assert shown.startswith("<script>alert('&')</script>")
    assert shown.endswith("\ufffd" * 4)


def test_hostile_names_are_escaped():
    root = parsed(gallery(images(1), [1.0], title="plain", names=[HOSTILE]))
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in (e.text or "") for e in root.iter(f"{SVG}title"))


@pytest.mark.parametrize("k", [1, 2, 9, 10, 11, 47])
def test_cards_do_not_overlap_and_stay_inside(k):
    root = parsed(gallery(images(k), np.full(k, 1 / k), title="Title"))
    _, _, width, height = map(int, root.attrib["viewBox"].split())
    moves = [e.attrib["transform"] for e in root.iter(f"{SVG}g")]
    places = [tuple(map(int, move[len("translate(") : -1].split())) for move in moves]
    assert len(set(places)) == k
    side = int(next(root.iter(f"{SVG}image")).attrib["width"])
    assert all(x >= 0 and x + side <= width and y + side <= height for x, y in places)
    for a in range(k):
        for b in range(a):
            apart = (abs(p - q) for p, q in zip(places[a], places[b], strict=True))
            assert max(apart) >= side


def test_a_long_title_widens_a_narrow_gallery():
    narrow = parsed(gallery(images(1), [1.0], title="A"))
    wide = parsed(gallery(images(1), [1.0], title="A title of forty characters, more or less"))
    assert int(wide.attrib["width"]) > int(narrow.attrib["width"]) + 300


@pytest.mark.parametrize("shape", [(1, 1), (28, 28), (5, 12), (120, 120)])
def test_any_size_of_image(shape):
    root = parsed(gallery(images(2, *shape), [0.5, 0.5], title="Two"))
    enlarged = pixels_of(next(root.iter(f"{SVG}image")))
    height, width = shape
    assert enlarged.shape[0] * (width + 2) == enlarged.shape[1] * (height + 2)


def test_blank_images_and_no_mass():
    root = parsed(gallery(np.zeros((2, 4, 4)), [0.0, 0.0], title="Blank"))
    assert (pixels_of(next(root.iter(f"{SVG}image"))) == 255).all()
    assert texts(root, "share") == ["0.0%", "0.0%"]


@pytest.mark.parametrize(
    ("shown", "mass", "names", "word"),
    [
        (np.ones((2, 4)), [0.5, 0.5], None, "shape"),
        (np.ones((0, 4, 4)), [], None, "shape"),
        (np.ones((2, 4, 4)), [1.0], None, "masses"),
        (np.ones((1, 4, 4)), [1.0], ["a", "b"], "names"),
        (np.ones((1, 4, 4)), [1.5], None, "between 0 and 1"),
        (np.ones((1, 4, 4)), [[1.0]], None, "shape"),
        (np.full((1, 4, 4), np.nan), [1.0], None, "images"),
        (np.ones((1, 4, 4)), [-0.1], None, "mass"),
    ],
)
def test_bad_arguments_raise(shown, mass, names, word):
    with pytest.raises(InvalidInput, match=word):
        gallery(shown, mass, title="Title", names=names)
