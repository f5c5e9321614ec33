"""What the page on the paper's figures says: its verdicts, and the sessions behind its numbers."""

from __future__ import annotations

import json

import pytest
from benchmarks.paper import _sessions, _summary
from benchmarks.paper._grid import GRIDS, Setting
from benchmarks.paper._sessions import read_sessions, session, told
from benchmarks.paper._statistics import Results, Spread

SETTING = Setting(10, 5, "protobandit", 0.2, 0.05)
LONE = {
    "command": "c",
    "date": "2026-01-01",
    "cells": 3,
    "minutes": 4,
    "processor": "p",
    "cores": 2,
    "memory_gb": 0,
    "system": "s",
    "python": "3",
    "versions": {"numpy": "2"},
}


def found(losses=(0.0,), share=1.0):
    """Return results in which ProtoBandit loses so much, for so many times SPOT_M's comparisons."""

    def spreads(losses, count):
        numbers = {"comparisons": [count], "evaluations": [count], "normalised_loss": [0.5]}
        return {name: Spread.of(each) for name, each in (numbers | {"loss": losses}).items()}

    at = {
        SETTING: spreads(losses, 1000 * share),
        Setting(10, 5, "spot_m"): spreads([0.0], 1000),
        Setting(10, 5, "random"): spreads([0.04], 0),
    }
    return Results(GRIDS["digits"], (0, 1), at, n_source=600, n_target={10: 1197})


# -- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "shown", "verdict"),
    [
        ([0.005, 0.029], "loss 1.70% to 1.70% (worst run 2.90%)", "**agrees** (1 of 1 settings)"),
        ([0.005, 0.019], "(worst run 1.90%)", "**agrees** (1 of 1 settings)"),
        ([0.03, 0.03], "(worst run 3.00%)", "**does not agree** (0 of 1 settings)"),
    ],
)
def test_a_loss_is_judged_by_its_mean_and_told_with_its_worst_run(losses, shown, verdict):
    _, figures, _, judged = _summary._lost(found(losses), "f drops", [SETTING])
    assert shown in figures
    assert judged == f"{verdict}; in every single run: {int(max(losses) <= 0.02)} of 1"


@pytest.mark.parametrize(
    ("share", "far", "fewer"),
    [
        (0.4, "agrees", "agrees"),
        (0.6, "does not agree", "agrees"),
        (1.1, "does not agree", "does not agree"),
    ],
)
def test_far_fewer_is_less_than_half(share, far, fewer):
    for word, below in ((far, _summary._FAR_FEWER), (fewer, 1)):
        row = _summary._against_memory(found(share=share), "claim", [SETTING], below)
        said = f"**{word}** ({int(word == 'agrees')} of 1 settings)"
        shown = f"{share:.2f} to {share:.2f} times SPOT_M's"
        assert row[1:] == [shown, shown, f"paper's rule: {said}; ours: {said}"]


def test_the_page_says_what_its_verdicts_rest_on():
    _, words = _summary._claims([])
    assert "each by its mean over the runs" in words
    assert '"far fewer" than SPOT_M is taken to be less than 0.5 times as many' in words
    assert '"very close" if it falls by no more than 2 points' in words


# -- sessions -------------------------------------------------------------------------------------


def test_every_session_of_a_table_is_noted(tmp_path, monkeypatch):
    path, n_cells = tmp_path / "out" / "cells.json", 5

    def held(command, n_more, *, is_stopped=False):
        nonlocal n_cells
        with session(path, command, lambda: n_cells):
            n_cells += n_more
            if is_stopped:
                raise KeyboardInterrupt

    monkeypatch.setattr(_sessions._machine, "commit", lambda: "abc123")
    held("first", 7)
    with pytest.raises(KeyboardInterrupt):
        held("second", 2, is_stopped=True)
    held("nothing", 0)
    noted = read_sessions(path)
    assert [(each["command"], each["cells"]) for each in noted] == [("first", 7), ("second", 2)]
    assert all(each["commit"] == "abc123" and each["minutes"] == 0 for each in noted)
    assert told(noted[1]).startswith(f"`second`, {noted[1]['date']}, commit abc123, 2 cells in 0 ")
    path.unlink()
    held("nothing at all", 0)
    assert read_sessions(path) == []
    assert not path.exists()


def test_a_session_is_noted_before_its_first_cell(tmp_path):
    path = tmp_path / "cells.json"
    with session(path, "python -m x", lambda: 0):
        (noted,) = read_sessions(path)
        assert noted["command"] == "python -m x"
        assert "cells" not in noted
        assert " min;" not in told(noted)


def test_a_lone_session_without_a_list_goes_on_as_one(tmp_path):
    path, n_cells = tmp_path / "digits.json", 3
    path.write_text(json.dumps(LONE))
    assert read_sessions(path) == [LONE]
    assert told(LONE) == "`c`, 2026-01-01, 3 cells in 4 min; p, 2 cores, s, Python 3, numpy 2"
    with session(path, "more", lambda: n_cells):
        n_cells += 1
    assert [each["command"] for each in read_sessions(path)] == ["c", "more"]


def test_the_page_tells_all_sessions():
    none, one, two = (_summary._sessions(found(), [LONE] * n) for n in range(3))
    head = "**scikit-learn's digits**: 2 whole runs"
    assert none == f"{head}."
    assert one == f"{head}, {told(LONE)}."
    assert two == f"{head}, in 2 sessions:\n\n- {told(LONE)}\n- {told(LONE)}"
