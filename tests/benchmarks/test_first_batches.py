"""The page about first batches agrees with its table, and a cell with what was counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.common import sessions
from benchmarks.common.records import read_records
from benchmarks.paper.cells import read_cells
from benchmarks.paper.first_batches import NAME, BatchCell, Case, page, results, run_one
from benchmarks.paper.problems import LabelledProblem

PAGES = Path(__file__).parents[2] / "docs" / "results" / "paper"


@pytest.fixture(scope="module")
def found():
    earlier = {name: read_cells(PAGES / f"{name}.csv") for name in ("mnist", "cifar10")}
    return results(read_records(PAGES / f"{NAME}.csv", BatchCell), earlier)


def test_page_agrees_with_the_table(found):
    held = sessions.read(PAGES / sessions.FILE)[NAME]
    assert all(session.commit and session.date for session in held)
    text = (PAGES / f"{NAME}.md").read_text(encoding="utf-8")
    assert text == page(found, held), "run `python -m benchmarks.paper.first_batches --out DIR`"


def test_default_needs_no_more_evaluations_than_the_early_stop(found):
    (first,) = (f for f in found if f.case == Case("mnist", 10, 100, 0.2, 0.05))
    assert len(first.runs) == 3
    assert first.mean("evaluations", 0) <= first.mean("evaluations", None)
    assert all(cell.n_proven for each in found for cell in each.by_batch[0])


@pytest.mark.parametrize("batch", [0, 40])
def test_cell(batch):
    random = np.random.default_rng(0)
    source, target = random.normal(size=(40, 3)), random.normal(size=(3000, 3))
    problem = LabelledProblem(source, np.zeros(40), target, np.zeros(3000))
    cell = run_one(Case("mnist", 10, 4, 0.2, 0.05), 1, batch, problem, 9.0)
    n_arms = 17  # ceil(40 / 4 ln(1 / 0.2))
    assert cell.first_pulls == 4 * n_arms * (batch or 288)
    assert cell.first_pulls <= cell.pulls <= cell.comparisons
    assert cell.n_proven == 1
    assert 0 < cell.f < 1
