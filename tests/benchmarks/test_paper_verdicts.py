"""Verdicts and sessions on the page of the paper's figures."""

from __future__ import annotations

import pytest
from benchmarks.common.sessions import Session
from benchmarks.paper import page
from benchmarks.paper.grid import GRIDS, Setting
from benchmarks.paper.statistics import Results, Spread

SETTING = Setting(10, 5, "protobandit", 0.2, 0.05)


def found(losses=(0.0,), share=1.0):
    """Return results with these losses of ProtoBandit, and its comparisons as a share of SPOT_M."""

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
def test_loss_verdict_uses_the_mean_and_shows_the_worst_run(losses, shown, verdict):
    _, figures, _, judged = page._lost(found(losses), "f drops", [SETTING])
    assert shown in figures
    assert judged == f"{verdict}; in every run: {int(max(losses) <= 0.02)} of 1"


@pytest.mark.parametrize(
    ("share", "far", "fewer"),
    [
        (0.4, "agrees", "agrees"),
        (0.6, "does not agree", "agrees"),
        (1.1, "does not agree", "does not agree"),
    ],
)
def test_far_fewer_is_less_than_half(share, far, fewer):
    for word, below in ((far, page._FAR_FEWER), (fewer, 1)):
        row = page._against_memory(found(share=share), "claim", [SETTING], below)
        verdict = f"**{word}** ({int(word == 'agrees')} of 1 settings)"
        shown = f"{share:.2f} to {share:.2f} times SPOT_M"
        assert row[1:] == [shown, shown, f"paper's rule: {verdict}; ours: {verdict}"]


def test_page_defines_its_terms():
    _, text = page._claims([])
    assert "each by its mean over the runs" in text
    assert '"far fewer" than SPOT_M means less than 0.5 times as many' in text
    assert '"very close" means that the accuracy is lower by at most 2 points' in text


# -- sessions -------------------------------------------------------------------------------------


def test_page_lists_all_sessions():
    session = Session(command="c", date="2026-01-01", machine="m", n_results=3, minutes=4)
    none, two = (page._sessions(found(), [session] * n) for n in (0, 2))
    head = "**scikit-learn's digits**: 2 complete runs."
    line = "- Run on 2026-01-01: `c`, 3 results in 4 min. Machine: m."
    assert none == head
    assert two == f"{head}\n{line}\n{line}"
