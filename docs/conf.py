"""The documentation site: `sphinx-build -W docs docs/_build`, without a network.

Pages are Markdown files that can also be read on a code host: links are relative paths of files of
the repository. The site turns those to Markdown files into links to their pages, and those to other
files into downloads. `ROOT_PAGES` are files beside the folder docs that have a page here.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from protobandit import METRICS, __version__
from protobandit.methods import METHODS, SEARCHES

DOCS = Path(__file__).parent
ROOT = DOCS.parent

# The pages that include these files have no other content.
ROOT_PAGES = {
    ROOT / "README.md": "index.md",
    ROOT / "ARCHITECTURE.md": "architecture.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    ROOT / "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "SECURITY.md": "security.md",
}

project = "protobandit"
author = "protobandit developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/uses"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

default_role = "py:obj"  # `select` in a docstring is a link
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what may be passed
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# What the reference says of the tables, such as |METRICS|.
rst_prolog = "\n".join(
    f".. |{name}| replace:: {', '.join(f'``{key}``' for key in table)}"
    for name, table in (("METRICS", METRICS), ("METHODS", METHODS), ("SEARCHES", SEARCHES))
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("protobandit",),  # pages of the reference show the examples that use a name:
    "backreferences_dir": "gallery/uses",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # such pages would load scripts from other sites
}

html_theme = "pydata_sphinx_theme"
html_title = "protobandit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "protobandit"},
    "show_prev_next": False,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "reports": []}


def site_links(text: str, folder: Path, page: Path) -> str:
    """Return a text of a folder with the links that it needs on a page of the site."""

    def changed(link: re.Match[str]) -> str:
        path, anchor = link[1], link[2] or ""
        file = Path(os.path.normpath(folder / path))
        if "://" in path or not file.exists():
            return link[0]
        file = DOCS / ROOT_PAGES[file] if file in ROOT_PAGES else file
        return f"]({os.path.relpath(file, page.parent)}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", changed, text)


def read_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Change the links of a page."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        content[0] = site_links(content[0], page.parent, page)


def read_included(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
    """Change the links of a file that a page includes."""
    page = Path(app.env.doc2path(parent))
    content[0] = site_links(content[0], (DOCS / path).resolve().parent, page)


def is_left_out(app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave inherited members of other packages out of the reference, and fields of tuples."""
    home = getattr(member, "__module__", None) or "protobandit"
    return skip or not home.startswith("protobandit") or type(member).__name__ == "_tuplegetter"


def hide_constructor(
    app: Sphinx, kind: str, name: str, member: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Leave out the arguments of classes that users get and never make: these have attributes."""
    is_made = kind != "class" or "Parameters\n" in (member.__doc__ or "")
    return None if is_made else ("", "")


def escape_sizes(
    app: Sphinx, kind: str, name: str, member: Any, options: Any, lines: list[str]
) -> None:
    """Let |S| in docstrings be text; in reStructuredText it would be a substitution."""
    lines[:] = [re.sub(r"\|([A-Z])\|", r"\\|\1\\|", line) for line in lines]


def make_reports(app: Sphinx, error: Exception | None) -> None:
    """Write the reports that the page `reports.md` shows."""
    if error is None and app.builder.format == "html":
        runpy.run_path(str(DOCS / "make_reports.py"))["make"](Path(app.outdir) / "reports")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the functions above to the build."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    app.connect("autodoc-skip-member", is_left_out)
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("autodoc-process-docstring", escape_sizes)
    app.connect("build-finished", make_reports)
    return {"parallel_read_safe": True}
