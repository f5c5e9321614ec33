"""The progress bar of ``progress=True``."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

import brute
import protobandit as pb


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_line_that_is_replaced(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    pb.select(brute.normal(50), k=5, random_state=0, progress=True)
    shown = sys.stderr.getvalue()
    assert shown.startswith("\r")
    assert shown.count("\n") == 1
    last = shown.rstrip().rpartition("\r\x1b[2K")[2]
    assert last.startswith("[####################] 100 %, 5 of 5 prototypes, ")


def test_elsewhere_a_short_search_shows_nothing(capsys):
    pb.select(brute.normal(50), k=5, random_state=0, progress=True)
    pb.select(brute.normal(50), k=5, random_state=0, progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_one_output_that_is_replaced(monkeypatch):
    shown = []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        assert raw
        assert display_id
        shown.append("first")
        return Handle()

    shell = SimpleNamespace(kernel=object())
    loaded = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", loaded)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    pb.select(brute.normal(50), k=5, random_state=0, progress=True)
    assert shown[0] == "first"
    assert shown[-1].startswith("[####################] 100 %, 5 of 5 prototypes")
    assert shown.count("first") == 1


def test_other_values_are_refused():
    with pytest.raises(pb.InvalidInput, match="Pass True, or a function"):
        pb.select(brute.normal(9), k=2, progress="yes")
