"""The HTML that notebooks show."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd

import brute
import protobandit as pb


class Tags(HTMLParser):
    """Checks that tags are closed, and collects texts."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts, self.names = [], [], set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_prototypes_and_their_columns():
    rows = pd.DataFrame(brute.normal(60, 2), columns=["<b>width</b>", "y"])
    chosen = pb.select(rows, k=12, random_state=0)
    found = Tags(chosen._repr_html_())
    assert "<b>width</b>" in found.texts
    assert found.texts.count("y") == 1
    assert f"{chosen.indices[0]}" in found.texts
    assert "… and 2 more prototypes" in found.texts
    assert any(chosen.status in text for text in found.texts)
    assert "script" not in found.names


def test_texts_are_escaped_and_cut():
    words = ["<script>alert(1)</script>" * 9, "b", "c", "d\x1b[31m"]
    html = pb.select(words, k=4, metric="levenshtein")._repr_html_()
    assert "<script" not in html
    assert "\x1b" not in html
    assert len(max(Tags(html).texts[:-1], key=len)) < 100


def test_other_selections_have_html_too():
    rows = brute.normal(20, 2)
    Tags(pb.Selection.from_json(pb.select(rows, k=1).to_json())._repr_html_())
    Tags(pb.select(rows, k=3, preparation=pb.Preparation(standardize=True))._repr_html_())


def test_vectors_are_left_out():
    frame = pd.DataFrame({"embedding": [np.array([0.0, 1.0]), np.array([9.0, 8.0])]})
    html = pb.select(frame, k=1)._repr_html_()
    assert "<td" in html
    assert "embedding</th>" not in html
