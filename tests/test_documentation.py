"""The pages name files that exist, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "protobandit"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
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


def linked_anchors(text: str) -> list[tuple[str, str]]:
    """Return the pages and anchors that a page links to; the name of the page itself is empty."""
    return re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as code hosts and the site make them from headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    names = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return names | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PATHS, ids=lambda page: page.name)
def test_named_files_exist(page):
    named = named_paths(page.read_text(encoding="utf-8"))
    missing = [name for name in named if not any(any(top.glob(name)) for top in (PACKAGE, ROOT))]
    assert named
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_linked_files_exist(page):
    linked = linked_paths(page.read_text(encoding="utf-8"))
    assert not [link for link in linked if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_linked_anchors_exist(page):
    text = page.read_text(encoding="utf-8")
    for link, anchor in linked_anchors(text):
        other = page.parent / link if link else page
        assert anchor in anchors(other.read_text(encoding="utf-8")), f"{link}#{anchor}"


def test_paths_and_links_are_found():
    text = "`a/b.py`, `a/` and `a.b` in [c](d/e.md#f), [g](https://h), ![i](j.svg)"
    assert named_paths(text) == ["a/b.py", "a/"]
    assert linked_paths(text) == ["d/e.md", "j.svg"]
    assert linked_anchors(text + "[k](#l), [m](https://n#o)") == [("d/e.md", "f"), ("", "l")]
    page = '# A `b` (c)\n```\n# no\n```\n<a id="d"></a>'
    assert anchors(page) == {"a-b-c", "d"}
