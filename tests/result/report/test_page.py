"""The page as text: it stands alone, says what it should, and holds hostile data as data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation.checks import rounded_up
from protobandit.result.report.exhibit import RowDisplay
from protobandit.result.report.findings import report_data as make_findings
from protobandit.result.report.page import page as render_page

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
    look = RowDisplay(kind="texts", take=lambda ids: [shown[i] for i in ids], **fields)
    return render_page(
        make_findings(selection, ROWS, source=look, target=look, layout="pca", **options)
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
    for file in (files("protobandit.result.report") / "assets").iterdir():
        if file.name.endswith(".js"):
            code = file.read_text(encoding="utf-8")
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code)
            assert "localStorage" not in code


def test_every_asset_is_on_the_page():
    for file in (files("protobandit.result.report") / "assets").iterdir():
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


def tile(text, name):
    """Return what a fact says: its value and its note."""
    found = re.search(rf"<dt>{name}</dt><dd><b>(.*?)</b><span>(.*?)</span>", text)
    return None if found is None else tuple(map(html.unescape, found.groups()))


def details(text):
    return {
        html.unescape(name): html.unescape(value)
        for name, value in re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", text)
    }


@pytest.mark.parametrize("cost_ratio", [1.0, 1.00004, 1.23456789, 12.000001, 10000.4])
def test_a_certificate_is_rounded_up_and_says_how_sure_it_is(cost_ratio):
    certified = SELECTION.certified()
    certificate = replace(
        certified.certificate, cost_ratio=cost_ratio, kind="rigorous", confidence=0.9
    )
    text = page(replace(certified, certificate=certificate))
    bound, note = tile(text, "Certificate")
    assert bound == f"≤ {rounded_up(cost_ratio)} ×"
    assert float(bound.split()[1]) >= cost_ratio * (1 - 1e-6)
    assert note == "the best possible cost, with probability ≥ 0.9"


def test_a_certificate_is_shown_where_there_is_one():
    text = page(SELECTION.certified())
    assert tile(text, "Certificate")[1] == "the best possible cost, for certain"
    assert details(text)["Certificate"].startswith("For certain, the cost is at most")
    assert tile(PAGE, "Certificate") is None


@pytest.mark.parametrize(
    ("error", "said"),
    [(0.0, "exact"), (0.0123, "± 0.012 standard error"), (np.nan, "its error is not known")],
)
def test_the_cost_says_how_sure_it_is(error, said):
    text = page(replace(SELECTION, cost_error=error))
    assert tile(text, "Cost")[1] == f"mean distance to the nearest prototype, {said}"


def test_agreement_says_of_which_rows_it_is():
    labels = np.array([f"c{i % 2}" for i in range(40)], dtype=object)
    assert tile(page(labels=labels), "Same label")[1] == (
        "of target rows carry their prototype's label"
    )
    weights = 1.0 + np.arange(40)
    assert tile(page(labels=labels, weights=weights, n_sample=9), "Same label")[1] == (
        "of 9 rows drawn from the target, by weight, carry their prototype's label"
    )
    labels[[1, 2]] = None
    assert "nearest prototype; 2 rows without a label left out." in page(labels=labels)


def test_distances_say_what_they_are():
    assert "All 40 rows of the target; euclidean distance.</p>" in PAGE
    weights = np.arange(40.0)
    by_weight = pb.select(
        ROWS, k=3, weights=weights, method="lazygreedy", metric=pb.metric("minkowski", {"p": 3})
    )
    assert (
        "All 39 rows of the target that have weight, by weight; minkowski (p=3) distance.</p>"
    ) in page(by_weight)
    prepared = pb.select(ROWS, k=3, preparation=pb.Preparation(standardize=True))
    assert "euclidean distance of prepared rows" in page(prepared)


def test_a_mean_that_is_not_the_cost_is_explained():
    assert "The mean is that of" not in PAGE
    told = "The mean is that of {}, the cost above that of {}."
    assert told.format("this sample", "all rows") in page(n_sample=9)
    estimated = replace(SELECTION, costs=SELECTION.costs * 1.1, cost_error=0.1)
    assert told.format("these rows", "other rows, which the method drew") in page(estimated)
    assert told.format("this sample", "other rows, which the method drew") in page(
        estimated, n_sample=9
    )
    assert told.format("these rows", "the rows the selection was made for") in page(
        weights=1.0 + np.arange(40)
    )


def test_the_details_say_what_was_asked_for():
    feasibility = pb.Constraints(costs=np.full(40, 2.0), budget=5)
    shown = details(page(pb.select(ROWS, k=None, constraints=feasibility)))
    assert shown["Spent"] == "4 of a budget of 5"
    assert "Preparation" not in shown
    shown = details(
        page(pb.select(ROWS, k=4, by=["a", "b"] * 20, preparation=pb.Preparation(normalize=True)))
    )
    assert shown["Classes"].endswith("for 2 classes.")
    assert "normalize=True" in shown["Preparation"]


def test_where_nothing_is_proven_nothing_is_said_of_heuristics():
    assert details(page(replace(SELECTION, guarantee=None)))["Guarantee"] == "none"


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


def test_long_labels_that_begin_alike_stay_two():
    labels = ["x" * 200 + str(i % 2) for i in range(40)]
    data = data_of(page(labels=labels))
    assert len(data["labels"]) == 2
    assert len(data["compositions"][0]["values"]) == 2
    assert max(len(name) for name in data["labels"]) == 81
    for row, code in zip(data["rows"]["ids"], data["rows"]["labels"], strict=True):
        assert code == data["rows"]["labels"][data["rows"]["ids"].index(row % 2)]
