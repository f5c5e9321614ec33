"""Run the examples of README and docs, a page at a time."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from interfaces.cli.run_cli import call

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *```(?:python|pycon|py)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(text):
    """Return the blocks of a page that show a session, as one text."""
    return "\n".join(block for block in FENCE.findall(text) if ">>> " in block)


def n_failed(text, name):
    """Run the examples of a page, which share their names, and return how many fail."""
    test = doctest.DocTestParser().get_doctest(examples(text), {}, name, name, 0)
    return doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed


SESSIONS = [page for page in PAGES if examples(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert n_failed(page.read_text(encoding="utf-8"), page.name) == 0


def test_the_session_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "guide" / "files-and-command-line.md").read_text(encoding="utf-8")
    assert n_failed(text, "files") == 0
    sessions = "".join(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^\$ protobandit (.*)\n((?:[^$].*\n)*)", sessions, re.MULTILINE)
    for command, expected in commands:
        words, *shows_code = command.split("; echo")
        capsys.readouterr()
        code = call(*shlex.split(words))
        printed = "".join(capsys.readouterr()) + (f"{code}\n" if shows_code else "")
        assert doctest.OutputChecker().check_output(expected, printed, OPTIONS), printed
    assert len(commands) == 3


def test_wrong_examples_are_noticed(capsys):
    page = "```python\n>>> a = 1\n```\n\n```python\n>>> a  # a comment\n{}\n```\n"
    assert n_failed(page.format(1), "right") == 0
    assert n_failed(page.format(2), "wrong") == 1
    assert ROOT / "docs" / "index.md" in SESSIONS
