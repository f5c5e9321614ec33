"""The links of the site: paths of files become pages, also in files that a page includes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
CONF = runpy.run_path(str(DOCS / "conf.py"))


@pytest.mark.parametrize(
    ("folder", "page", "link", "expected"),
    [
        (DOCS, "internals.md", "../ARCHITECTURE.md", "architecture.md"),
        (DOCS, "internals.md", "theory.md#errata-of-the-paper", "theory.md#errata-of-the-paper"),
        (DOCS.parent, "architecture.md", "docs/theory.md#a", "theory.md#a"),
        (DOCS.parent, "architecture.md", "docs/architecture.svg", "architecture.svg"),
        (DOCS / "results" / "paper", "results/paper/README.md", "mnist.csv", "mnist.csv"),
        (
            DOCS / "results" / "paper",
            "results/paper/README.md",
            "../../../README.md",
            "../../index.md",
        ),
        (DOCS, "theory.md", "https://example.org/a.md", "https://example.org/a.md"),
        (DOCS, "theory.md", "#errata-of-the-paper", "#errata-of-the-paper"),
    ],
)
def test_links_lead_to_pages(folder, page, link, expected):
    changed = CONF["site_links"](f"a [b]({link}), c", folder, DOCS / page)
    assert changed == f"a [b]({expected}), c"


def test_files_at_the_root_have_a_page():
    for file, page in CONF["ROOT_PAGES"].items():
        text = (DOCS / page).read_text(encoding="utf-8")
        assert page == "index.md" or text == f"```{{include}} ../{file.name}\n```\n"


def test_no_page_loads_anything_from_other_sites():
    folders = [DOCS, DOCS / "api", DOCS / "guide", DOCS / "_static"]
    pages = [p for f in folders for p in f.iterdir() if p.suffix in (".md", ".rst", ".css")]
    found = re.compile(r"""(src|href)=["']https?:|url\(["']?https?:""")
    loading = [p for p in pages if found.search(p.read_text(encoding="utf-8"))]
    assert len(pages) > 30
    assert loading == []
