"""The pages name files that exist, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "protobandit"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
# These pages describe the code as it is; the changelog also names what is gone.
PATHS = [
    *(ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"),
    *(ROOT / "docs" / name for name in ("internals.md", "theory.md", "reliability.md")),
    ROOT / "SECURITY.md",
]


def named_paths(text: str) -> list[str]:
    """Return the folders and Python files that a page names in backquotes."""
    return re.findall(r"`([\w*]+(?:/[\w*]+)*(?:\.py|/))`", text)


def linked_paths(text: str) -> list[str]:
    """Return the files that a page links to, without anchors and addresses."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [link for link in links if "://" not in link]


@pytest.mark.parametrize("page", PATHS, ids=lambda page: page.name)
def test_named_files_exist(page):
    named = named_paths(page.read_text(encoding="utf-8"))
    missing = [name for name in named if not any(any(top.glob(name)) for top in (PACKAGE, ROOT))]
    assert named
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_linked_files_exist(page):
    linked = linked_paths(page.read_text(encoding="utf-8"))
    assert not [link for link in linked if not (page.parent / link).exists()]


def test_paths_and_links_are_found():
    text = "`a/b.py`, `a/` and `a.b` in [c](d/e.md#f), [g](https://h), ![i](j.svg)"
    assert named_paths(text) == ["a/b.py", "a/"]
    assert linked_paths(text) == ["d/e.md", "j.svg"]
