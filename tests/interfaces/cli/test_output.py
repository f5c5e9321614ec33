"""Streams that are closed, full or of another encoding."""

import io
import json
import os
import sys

import pytest

from interfaces.cli.run_cli import call, only_line, run_process


def test_a_closed_pipe_is_not_an_error(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_process("metrics", cwd=tmp_path, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="requires /dev/full")
def test_a_full_stdout_is_an_error(tmp_path):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run_process("metrics", cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    assert only_line(done.stderr) == "cannot write to <stdout>: No space left on device."


def test_data_on_stdout_is_utf_8_in_any_locale(saved, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert call("assign", "out", "flowers.csv") == 0
    printed = sys.stdout.buffer.getvalue()
    assert "“ü”".encode() in printed
    assert call("assign", "out", "flowers.csv", "--out", "near.csv") == 0
    assert saved.with_name("near.csv").read_bytes() == printed


def test_json_escapes_characters_that_the_locale_does_not_have(saved, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    options = ["--id", "name", "--label", "kind", "--out", "again", "--json"]
    assert call("select", "flowers.csv", "-k", 2, *options) == 0
    assert json.loads(sys.stdout.buffer.getvalue())["ids"][0].endswith("“ü”")
