"""The figures of README.md and of the pages in docs agree with the data files in docs/results."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from benchmarks.common.pages import with_tables
from benchmarks.common.records import RESULTS

from benchmarks import readme

SPAN = re.compile(r"<!-- table (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)
DATA = re.compile(r"Data: \[[^]]*\]\(([^)]*)\), `python -m [^`]*`[^`]*?, (.*?), \d{4}-\d\d-\d\d\.")
# Without changed files; runs that did not record it name the commit that published them.
COMMIT = re.compile(r"(commit|published in) [0-9a-f]{7,}(;|$)")
# Made from the code, not from a measurement.
OF_CODE = {"supports"}
# Options of the command line, a page that is made from the parser, and definitions.
PAGES = [page for page in readme.PAGES if page.name not in ("cli.md", "glossary.md")]
# First cells of the headers of tables without measurements.
WITHOUT_FIGURES = {
    "background.md": {"page"},
    "benchmarks.md": {"what"},
    "choosing-a-method.md": {"situation", "`method=`"},
    "choosing-rows.md": {"your rows", "k", "effort"},
    "constraints.md": {"you need"},
    "dependencies.md": {"package"},
    "files-and-command-line.md": {"rows", "command", "extra"},
    "index.md": {"I want to …"},
    "jobs.md": {"I want to …"},
    "larger-than-memory.md": {"rows", "limit"},
    "project.md": {"page"},
    "reading-the-result.md": {"kind", "warning"},
    "reliability.md": {"promise"},
    "scaling.md": {"situation"},
    "theory.md": {"method", "`search=`", "kind", "in the paper"},
}
# A number with a unit in which something was measured.
MEASURED = re.compile(r"\d ?(%|s|ms|ns|MB|GB)(?=[\s.,;:)]|$)|\d\.\d+e\d|\b1/\d{2,}\b")


def pages():
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def outside_blocks(text: str) -> str:
    """Return a page without its made blocks and without code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", SPAN.sub("", text), flags=re.DOTALL)


def table_headers(text: str) -> list[str]:
    """Return the first cell of each table: of the lines above a line of rules."""
    return re.findall(r"^\|\s*(.*?)\s*\|.*\n\| ?---", text, flags=re.MULTILINE)


@pages()
def test_figures_agree_with_the_data_files(page):
    text = text_of(page)
    assert text == with_tables(text, readme.blocks_for(page)), "run python -m benchmarks.readme"


def test_every_block_is_on_a_page():
    names = {name for page in PAGES for name, _ in SPAN.findall(text_of(page))}
    assert names == {*readme.BLOCKS}


@pages()
def test_every_block_names_a_data_file_with_its_commit(page):
    for name, block in SPAN.findall(text_of(page)):
        if name in OF_CODE:
            continue
        named = DATA.findall(block)
        assert named, name
        for path, commit in named:
            assert (page.parent / path).is_file(), path
            assert COMMIT.search(commit), (path, commit)


@pages()
def test_tables_outside_blocks_hold_no_measurements(page):
    rest = SPAN.sub("", text_of(page))
    assert {*table_headers(rest)} <= WITHOUT_FIGURES.get(page.name, set())


@pages()
def test_figures_outside_blocks_name_their_page_of_results(page):
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", outside_blocks(text_of(page))):
        assert "results/" in paragraph or not MEASURED.search(paragraph), paragraph


@pytest.mark.parametrize(
    "page", [*PAGES, *RESULTS.rglob("*.md")], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_results_on_mnist_say_that_constants_were_chosen_there(page):
    text = " ".join(text_of(page).split())
    has_results = page.name != "theory.md" and "MNIST" in text and "lazybandit" in text
    assert not has_results or "chosen on MNIST" in text


def test_the_sentence_about_plans_agrees_with_its_data_file():
    results = json.loads((RESULTS / "plans.json").read_text(encoding="utf-8"))["results"]
    ratios = [[each["ratios"][what] for what in ("evaluations", "memory")] for each in results]
    worst = [max(max(ratio, 1 / ratio) for ratio in own) for own in ratios]
    n_right = sum(factor <= 1.5 for factor in worst)
    sentence = f"On {n_right} of {len(worst)} shapes of data the planned evaluations and memory"
    assert sentence in " ".join(text_of(readme.ROOT / "docs" / "choosing-a-method.md").split())
    assert max(worst) <= 2


def test_the_readme_is_short_and_shows_results_of_its_snippets():
    text = text_of(readme.ROOT / "README.md")
    snippets = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(text.splitlines()) <= 120
    assert len(snippets) == 5
    assert all(re.search(r"^(?!>>> |\.\.\. ).", snippet, re.MULTILINE) for snippet in snippets)


def test_a_number_that_was_edited_by_hand_is_found():
    page = readme.ROOT / "docs" / "benchmarks.md"
    changed = re.sub(r"(\| `lazybandit fast` \| \d)", r"\g<1>9", text_of(page), count=1)
    assert changed != text_of(page)
    assert changed != with_tables(changed, readme.blocks_for(page))


def test_measurements_are_recognised():
    for measured in ("in 0.2 s.", "1.66 ± 0.21 %", "read 148 MB,", "2.7e8", "1/118 of them"):
        assert MEASURED.search(measured), measured
    for other in ("Python 3.10 to 3.14", "1/e of f", "k = 100", "4,096 rows", "f*/2"):
        assert not MEASURED.search(other), other


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.json")), ids=lambda path: path.name)
def test_data_files_say_how_they_were_made(path):
    text = path.read_text(encoding="utf-8")
    runs = sessions_of(json.loads(text))
    assert runs
    for record in runs:
        assert record["command"].startswith("python -m benchmarks.")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
        assert COMMIT.search(f"commit {record['commit']}" if "commit" in record else record["note"])
        assert "cores" in record["machine"]
        assert "Python" in record["machine"]
    assert not re.search(r"[\" ]/(tmp|home|work|root|Users)/", text)
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)


def sessions_of(record: object) -> list[dict[str, str]]:
    """Return the runs that a data file names, wherever they are in it."""
    if isinstance(record, list):
        return [found for each in record for found in sessions_of(each)]
    if not isinstance(record, dict):
        return []
    own = [record] if "command" in record else []
    return own + [found for each in record.values() for found in sessions_of(each)]


def test_text_between_the_markers_is_replaced():
    text = "before\n<!-- table paper -->\nold\n<!-- end -->\nafter\n"
    new = with_tables(text, readme.blocks_for(readme.ROOT / "README.md"))
    assert new.startswith("before\n<!-- table paper -->\n| | evaluations of the search |")
    assert new.endswith(".\n<!-- end -->\nafter\n")
    assert "old" not in new


@pytest.mark.parametrize(
    ("n", "whole", "share"), [(0, 9, "0"), (9, 9, "all"), (2, 9, "1/4"), (2, 14731, "1/7,370")]
)
def test_shares(n, whole, share):
    assert readme._share(n, whole) == share


def test_losses_with_sign_and_deviation():
    assert readme._percent(0.0022, 0.00087) == "0.22 ± 0.09 %"
    assert readme._percent(-0.0007, 0.0007) == "−0.07 ± 0.07 %"
    assert readme._percent(0.0, 0.0) == "0"
    assert readme._percent(0.01, None) == "1.00 %"
