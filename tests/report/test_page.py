"""The page as text: it stands alone, says what it should, and holds hostile data as data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import protobandit as pb
from protobandit import report
from protobandit.report._page import _count, _ratio, _time

ROWS = np.random.default_rng(0).normal(size=(40, 2))
SELECTION = pb.select(ROWS, k=5, method="lazygreedy")
HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=2'>"
    "\"'><svg onload=alert(1)>{{data}}\u2028\u202e\x00\ud800&amp;<!--"
)
VOID = {"meta", "link", "input", "br", "img", "circle", "path"}


def page(selection=SELECTION, *, texts=None, **options):
    shown = [f"row {i}" for i in range(40)] if texts is None else texts
    fields = {name: options.pop(name) for name in ("names", "labels") if name in options}
    look = report.Exhibit(kind="texts", take=lambda ids: [shown[i] for i in ids], **fields)
    return report.page(
        report.findings(selection, ROWS, source=look, target=look, layout="pca", **options)
    )


class Reader(HTMLParser):
    """Collects elements, their nesting errors, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.ids, self.text = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))


PAGE = page(command="protobandit select rows.npy -k 5")


def test_the_page_is_well_nested_and_its_names_are_its_own():
    reader = Reader(PAGE)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert PAGE.startswith("<!doctype html>")
    anchors = [v[1:] for t, n, v in reader.attributes if (t, n) == ("a", "href")]
    assert set(anchors) <= set(reader.ids)
    labelled = [v for _, n, v in reader.attributes if n == "aria-labelledby"]
    assert set(labelled) <= set(reader.ids)


def test_the_page_names_nothing_outside_itself():
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttp|WebSocket", PAGE)
    for tag, name, value in Reader(PAGE).attributes:
        if name in {"src", "href"}:
            assert value.startswith(("#", "data:")), (tag, name, value)


def test_the_policy_allows_the_one_style_and_the_one_script_alone():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', PAGE).group(1)
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    for kind, pattern in (
        ("style", r"<style>(.*?)</style>"),
        ("script", r"<script>(.*?)</script>"),
    ):
        (content,) = re.findall(pattern, PAGE, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_scripts_never_write_markup():
    for file in (files("protobandit.report") / "assets").iterdir():
        if file.name.endswith(".js"):
            code = file.read_text(encoding="utf-8")
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code)
            assert "localStorage" not in code


def test_every_asset_is_on_the_page():
    for file in (files("protobandit.report") / "assets").iterdir():
        if file.name != "page.html":
            assert file.read_text(encoding="utf-8") in PAGE, file.name


def test_the_head_says_what_was_done():
    text = " ".join(Reader(PAGE).text)
    assert "5 prototypes for 40 rows" in text
    assert "Chosen from 40 rows by lazygreedy, euclidean distance" in text
    assert f"{SELECTION.cost:.5g}" in text
    assert SELECTION.status in text
    assert "protobandit select rows.npy -k 5" in text
    assert "8,000" in text  # k |S||T|
    assert "1,600" in text  # |S||T|
    assert str(SELECTION.guarantee).replace("*", "*") in text


def test_a_certificate_is_shown_where_there_is_one():
    text = " ".join(Reader(page(SELECTION.certified())).text)
    assert "≤ " in text
    assert "For certain, the cost is at most" in text


def test_no_command_no_copy_button():
    assert 'id="copy"' not in page()
    assert 'id="copy"' in PAGE


def test_hostile_text_is_data():
    names = [f"{HOSTILE} {i}" for i in range(40)]
    hostile = replace(
        SELECTION, status=HOSTILE, parameters={HOSTILE: HOSTILE}, method=HOSTILE, metric=HOSTILE
    )
    selection = type(
        "Hostile",
        (),
        {
            **{name: getattr(hostile, name) for name in dir(hostile) if not name.startswith("_")},
            "assign": staticmethod(SELECTION.assign),
            "distances": staticmethod(SELECTION.distances),
        },
    )()
    text = page(selection, texts=names, names=names, labels=names, groups=names, command=HOSTILE)
    plain, reader = Reader(PAGE), Reader(text)
    # One more pair of each for what PAGE lacks; no element that the template does not hold.
    assert set(reader.tags) <= set(plain.tags)
    assert [t for t in reader.tags if t in {"script", "img", "svg"}] == [
        t for t in plain.tags if t in {"script", "img", "svg"}
    ]
    assert not [n for _, n, _ in reader.attributes if n.startswith("on")]
    text.encode("utf-8")
    data = data_of(text)
    cleaned = HOSTILE.replace("\u202e", "[U+202E]").replace("\x00", "␀").replace("\ud800", "\ufffd")
    assert data["prototypes"]["look"]["items"][0].startswith(cleaned)


def test_a_long_text_is_cut_and_said_so():
    text = page(texts=["x" * 100_000] * 40)
    assert len(text) < 400_000
    assert "at most 4,000 characters" in text


def test_every_row_is_held_once():
    data = data_of(PAGE)
    held = len(data["rows"]["ids"])
    assert sorted(data["rows"]["ids"]) == list(range(40))
    lists = (*data["prototypes"]["near"], *data["prototypes"]["far"])
    assert {
        *(row for own in lists for row in own),
        *data["spread"]["worst"],
        *data["map"]["rows"],
    } == set(range(held))
    for row, of, distance in zip(
        data["rows"]["ids"], data["rows"]["of"], data["rows"]["distances"], strict=True
    ):
        expected = np.linalg.norm(ROWS[row] - ROWS[SELECTION.indices], axis=1)
        assert of == expected.argmin()
        assert distance == pytest.approx(expected.min(), rel=1e-4, abs=1e-6)


def test_the_plane_keeps_its_proportions():
    data = data_of(PAGE)
    at = np.array(data["map"]["at"]).reshape(-1, 2)
    assert at.min() >= 0
    assert at.max() <= 4095
    centred = ROWS - ROWS.mean(axis=0)
    far = np.linalg.norm(centred[0] - centred[1]) / np.linalg.norm(centred[2] - centred[3])
    place = {row: at[i] for i, row in enumerate(np.array(data["rows"]["ids"])[data["map"]["rows"]])}
    drawn = np.linalg.norm(place[0] - place[1]) / np.linalg.norm(place[2] - place[3])
    assert drawn == pytest.approx(far, rel=0.01)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 5, "none of"),
        (5, 5, "as many as"),
        (1, 2840, "1/2,840 of"),
        (2, 3, "1/1.5 of"),
        (6, 4, "1.5 times"),
    ],
)
def test_ratios_read_well(part, whole, said):
    assert _ratio(part, whole) == said


@pytest.mark.parametrize(
    ("n", "said"), [(7, "7"), (1234, "1,234"), (9.5e6, "9.5 million"), (2.7e10, "27 billion")]
)
def test_counts_read_well(n, said):
    assert _count(n) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.02, "20 ms"), (3.14159, "3.14 s"), (600, "10 min")]
)
def test_times_read_well(seconds, said):
    assert _time(seconds) == said


def test_long_labels_that_begin_alike_stay_two():
    labels = ["x" * 200 + str(i % 2) for i in range(40)]
    data = data_of(page(labels=labels))
    assert len(data["labels"]) == 2
    assert len(data["compositions"][0]["values"]) == 2
    assert max(len(name) for name in data["labels"]) == 81
    for row, code in zip(data["rows"]["ids"], data["rows"]["labels"], strict=True):
        assert code == data["rows"]["labels"][data["rows"]["ids"].index(row % 2)]
