"""Rows from standard input, whose format its first bytes show."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files.standard_input import copy_of_standard_input
from rows.files import files


class Input:
    """Standard input with some bytes."""

    def __init__(self, content=b"", is_terminal=False):
        self.buffer, self.is_terminal = io.BytesIO(content), is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize("name", files.WRITERS)
def test_every_format_is_recognised(tmp_path, monkeypatch, name):
    path = files.write(tmp_path, name)
    monkeypatch.setattr(sys, "stdin", Input(path.read_bytes()))
    copy = copy_of_standard_input("source")
    assert copy.read_bytes() == path.read_bytes()
    found = open_rows(copy, without=("id", "label") if name in files.NAMED else ())
    assert found.format == files.WRITERS[name][1]
    rows = found.rows.toarray() if hasattr(found.rows, "toarray") else found.rows
    np.testing.assert_allclose(rows, files.NUMBERS, rtol=1e-6)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize(
    "text", [b"x\ty\n1\t2\n", b'{"x": 1, "y": 2}\n', b"\xef\xbb\xbfx,y\n1,2\n"]
)
def test_compressed_texts_are_recognised(monkeypatch, compress, text):
    monkeypatch.setattr(sys, "stdin", Input(compress(text)))
    found = open_rows(copy_of_standard_input("source"))
    assert (found.features, found.rows.tolist()) == (("x", "y"), [[1, 2]])


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (Input(), "source: standard input is empty"),
        (Input(is_terminal=True), "source: standard input is a terminal"),
        (None, "source: standard input is a terminal"),
        (Input(b"PK\x03\x04"), "cannot be read as rows: File is not a zip file"),
        (Input(gzip.compress(b"x,y\n1,2\n")[:12]), "cannot be read"),
    ],
)
def test_invalid_input_is_one_sentence(monkeypatch, stream, message):
    monkeypatch.setattr(sys, "stdin", stream)
    with pytest.raises(pb.InvalidInput, match=message):
        open_rows(copy_of_standard_input("source"))
