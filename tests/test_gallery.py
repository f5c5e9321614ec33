"""The examples have the shape that the gallery needs; the build of the site runs them."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

import protobandit

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
MOST_BYTES = 200_000  # of data that is shipped


def headings(text: str) -> list[str]:
    """Return the titles that a line of - or = of the same length underlines."""
    lines = re.sub(r"(?m)^# ?", "", text).splitlines()
    return [
        line
        for line, below in pairwise(lines)
        if line and re.fullmatch(r"-+|=+", below) and len(line) == len(below)
    ]


def public_names(tree: ast.AST) -> set[str]:
    """Return the names X of all ``pb.X`` and ``pb.methods.Y``, as dotted names."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("pb."):
            found.add(ast.unparse(node).removeprefix("pb."))
    return {name for name in found if re.fullmatch(r"\w+(\.\w+)*", name)}


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_ends_with_what_to_try_next(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title = (ast.get_docstring(tree) or "").splitlines()[0]
    found = headings(text)
    assert found[0] == title
    assert found[-1] == "What to try next"
    assert 2 <= len(re.findall(r"(?m)^# - ", text.rpartition("What to try next")[2])) <= 4
    assert "plt.show()" in text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_uses_names_that_exist_and_no_network(path):
    text = path.read_text(encoding="utf-8")
    names = public_names(ast.parse(text))
    assert "select" in names
    for name in names:
        value = protobandit
        for part in name.split("."):
            value = getattr(value, part)
    assert "://" not in text
    assert "fetch_" not in text
    missing = [file for file in re.findall(r"data/\w+\.\w+", text) if not (FOLDER / file).is_file()]
    assert not missing


def test_shipped_data_is_small():
    assert sum(path.stat().st_size for path in (FOLDER / "data").iterdir()) < MOST_BYTES


def test_the_helpers_see_what_they_look_for():
    assert headings("# One\n# ---\n# two\n# ---\n# Four\n# ---\n") == ["One", "two"]
    tree = ast.parse("pb.select(x, method=pb.methods.KCenter()).cost; np.mean(pb.plan)")
    assert public_names(tree) == {"select", "methods", "methods.KCenter", "plan"}
