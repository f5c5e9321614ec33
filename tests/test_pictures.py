"""Pictures of the pages are made by a script, which the pages name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("guide/*.md")]
SHOWN = re.compile(r"pictures/(\w+)\.png")


def test_the_script_makes_all_pictures():
    script = (ROOT / "docs" / "make_pictures.py").read_text(encoding="utf-8")
    table = script[script.index("\nPICTURES") :]
    assert [picture.stem for picture in PICTURES] == sorted(
        re.findall(r'^    "(\w+)":', table, re.M)
    )


def test_all_pictures_are_shown():
    shown = {name for page in PAGES for name in SHOWN.findall(page.read_text(encoding="utf-8"))}
    assert shown == {picture.stem for picture in PICTURES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_the_command_of_their_pictures(page):
    text = page.read_text(encoding="utf-8")
    for name in SHOWN.findall(text):
        assert f"`python docs/make_pictures.py {name}`" in text
