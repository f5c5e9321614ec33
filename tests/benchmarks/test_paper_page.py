"""The page in docs/results/paper agrees with its tables."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest
from benchmarks.common import sessions
from benchmarks.paper.cells import read_cells
from benchmarks.paper.grid import GRIDS, METHODS
from benchmarks.paper.page import page as page_of
from benchmarks.paper.statistics import results, tidy

PAGES = Path(__file__).parents[2] / "docs" / "results" / "paper"
NAMES = ("mnist", "cifar10")
pytestmark = pytest.mark.skipif(not PAGES.exists(), reason="docs/results is not available")


@pytest.fixture(scope="module")
def page():
    return (PAGES / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found():
    return {name: results(GRIDS[name], read_cells(PAGES / f"{name}.csv")) for name in NAMES}


def means(name):
    """Return the means of every measure, by setting."""
    kept = defaultdict(dict)
    with (PAGES / f"{name}-summary.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = (float(row[field]) for field in ("epsilon", "nu_step"))
            at = (int(row["skew"]), int(row["k"]), row["method"], *numbers)
            kept[at][row["measure"]] = float(row["mean"])
    return kept


def tables(page, start):
    """Return the rows of the table below a heading."""
    part = page.split(start, 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(_unique(header), row, strict=True)) for row in rows]


def _unique(header):
    return [f"{name} again" if name in header[:i] else name for i, name in enumerate(header)]


def number(text):
    """Return the mean in a cell: the number before ±, a share if in %, the n of 1/n."""
    mean = text.split("±")[0].replace(",", "").strip()
    value = float(re.match(r"(?:1/)?([-+]?[\d.]+(?:e\d+)?)", mean)[1])
    return value / 100 if "%" in text else value


def agree(text, mean):
    """Return whether a number is this mean, up to rounding."""
    digits = re.match(r"[-+]?\d*(?:\.(\d+))?", text.split("±")[0].strip())[1] or ""
    if "e" in text:
        return number(text) == pytest.approx(mean, rel=0.051)
    unit = 100 if "%" in text else 1
    return number(text) == pytest.approx(mean, abs=0.501 * 10 ** -len(digits) / unit)


@pytest.mark.parametrize("name", NAMES)
def test_summary_agrees_with_the_cells(found, name):
    assert tidy(found[name]) == (PAGES / f"{name}-summary.csv").read_text(encoding="utf-8")


def test_page_agrees_with_the_cells(found, page):
    held = sessions.read(PAGES / sessions.FILE)
    assert page == page_of([*found.values()], held), "run `python -m benchmarks.paper summary`"


@pytest.mark.parametrize("name", NAMES)
def test_table_of_all_methods_agrees_with_the_summary(page, name):
    grid, kept = GRIDS[name], means(name)
    methods = {label.text: method for method, label in METHODS.items()}
    shown = tables(page, f"## {grid.title}: all methods")
    assert len(shown) == len(list(grid.keys(0, grid.skews[0])))
    for row in shown:
        text, *settings = row["method"].split(", ε = ")
        parts = [float(part) for part in settings[0].split(", ν₀ = ")] if settings else [0, 0]
        at = (grid.skews[0], int(row["k"]), methods[text], *parts)
        for column, measure in (
            ("f", "f"),
            ("loss", "loss"),
            ("normalised", "normalised_loss"),
            ("nearest", "accuracy_nearest"),
            ("barycentric", "accuracy_barycentric"),
            ("paper's rule", "comparisons"),
            ("ours", "evaluations"),
        ):
            assert agree(row[column], kept[at][measure]), (at, column, row[column])


@pytest.mark.parametrize("name", NAMES)
def test_table_of_protobandit_agrees_with_the_summary(page, name):
    grid, kept = GRIDS[name], means(name)
    shown = tables(page, f"## {grid.title}: ProtoBandit against SPOTgreedy")
    assert len(shown) == len(grid.skews) * len(grid.ks) * len(grid.epsilons) * len(grid.nu_steps)
    for row in shown:
        place = int(row.get("θ", grid.skews[0])), int(row["k"])
        bandit = (*place, "protobandit", float(row["ε"]), float(row["ν₀"]))
        exact, held, random = ((*place, m, 0, 0) for m in ("spotgreedy", "spot_m", "random"))
        assert agree(row["paper's rule"], kept[bandit]["comparisons"])
        assert agree(row["ours"], kept[bandit]["evaluations"])
        assert agree(row["loss"], kept[bandit]["loss"])
        assert agree(row["random rows"], kept[random]["loss"])
        assert agree(row["normalised"], kept[bandit]["normalised_loss"])
        fewer = kept[exact]["evaluations"] / kept[bandit]["evaluations"]
        assert number(row["of SPOTgreedy again"]) == pytest.approx(fewer, rel=1e-4, abs=0.51)
        share = kept[bandit]["comparisons"] / kept[held]["comparisons"]
        assert number(row["of SPOT_M"]) == pytest.approx(share, rel=1e-4, abs=0.0051)
        gap = kept[bandit]["accuracy_nearest"] - kept[exact]["accuracy_nearest"]
        assert number(row["nearest"]) == pytest.approx(100 * gap, abs=0.051)
