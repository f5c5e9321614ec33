"""The page of benchmarks/claims, and its command line."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.claims import __main__ as script
from benchmarks.claims.report import Claim, Report, overview, page, section
from benchmarks.common import machine
from benchmarks.common.sessions import Session


def report(name="some", finding="A finding.", verdict="It holds."):
    return Report(
        name=name,
        title=f"The title of {name}",
        claim="A claim about f*.",
        verdict=verdict,
        findings=[finding],
        summary=[{"k": 5, "count": 1234567.0}, {"k": 10, "other": "x"}],
        setting="A setting.",
        draw=lambda path: path.write_text(f"<svg>{finding}</svg>"),
    )


def session(date="2020-01-02", machine="A machine", commit="abc1234"):
    return Session(command="python -m x", date=date, commit=commit, machine=machine)


# -- the page -------------------------------------------------------------------------------------


def test_page_shows_how_each_claim_was_run():
    text = page(
        [report("a"), report("b"), report("c")],
        {"a": session(), "b": session("2021-05-06", commit="")},
    )
    assert "Run on 2020-01-02, commit abc1234: `python -m x`." in text
    assert "Run on 2021-05-06: `python -m x`." in text
    assert text.count("were not recorded") == 1
    assert "Run on A machine." in text


def test_page_names_each_machine_once():
    both = [report("a"), report("b")]
    alike = page(both, {"a": session(), "b": session("2021-05-06")})
    assert alike.count("A machine") == 1
    assert "Run on A machine." in alike
    other = page(both, {"a": session(), "b": session(machine="Another")})
    assert "Run on A machine: a.\n\nRun on Another: b.\n" in other


def test_overview_lists_every_claim_and_escapes_bars():
    text = overview([report("a"), report("|S|", verdict="Linear in |S|, of f*.")])
    assert text.splitlines() == [
        "| claim | result |",
        "| --- | --- |",
        "| The title of a | It holds. |",
        "| The title of \\|S\\| | Linear in \\|S\\|, of f\\*. |",
    ]


def test_section_contains_every_table():
    more = {"By f*:": [{"family": "x", "rate": "1%"}]}
    text = section(Report(**{**vars(report("a")), "more": more}))
    parts = ["## The", "> A claim about f\\*.", "**It holds.**", "- A finding", "| 5 |", "By f\\*:"]
    order = [text.index(part) for part in [*parts, "| x | 1% |", "(a.svg)", "A setting. All"]]
    assert all(a < b for a, b in pairwise(order))


# -- the script -----------------------------------------------------------------------------------


def claim(name, finding="A finding."):
    rows = [{"k": 5, "finding": finding}]
    return Claim(lambda options: rows, lambda rows: report(name, rows[0]["finding"]))


def run_script(monkeypatch, out, *arguments):
    monkeypatch.setattr("sys.argv", ["claims", "--out", str(out), *arguments])
    script.main()
    return (out / "README.md").read_text(encoding="utf-8")


def test_each_claim_is_published_with_its_own_session(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "CLAIMS", {"a": claim("a"), "b": claim("b")})
    monkeypatch.setattr(machine, "today", lambda: "2020-01-02")
    run_script(monkeypatch, tmp_path, "--seeds", "2")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["README.md", "a.csv", "a.svg", "b.csv", "b.svg", "sessions.json"]

    monkeypatch.setitem(script.CLAIMS, "a", claim("a", "Another finding."))
    monkeypatch.setattr(machine, "today", lambda: "2021-05-06")
    text = run_script(monkeypatch, tmp_path, "--only", "a", "--seeds", "3", "--data", "/some/where")
    assert "Another finding." in capsys.readouterr().out
    first, second = text.split("## The title of b")
    assert "Another finding." in first
    assert "2021-05-06" in first
    assert "`python -m benchmarks.claims --data DIR --out DIR --only a --seeds 3`" in first
    assert "2020-01-02" in second
    assert "`python -m benchmarks.claims --out DIR --seeds 2`" in second
    assert "/some/where" not in text + (tmp_path / "sessions.json").read_text()


def test_summary_measures_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "CLAIMS", {"a": claim("a"), "b": claim("b")})
    run_script(monkeypatch, tmp_path)
    kept = (tmp_path / "sessions.json").read_text()

    def never(options):
        raise AssertionError

    for name in "ab":
        reworded = Claim(never, lambda rows, name=name: report(name, "A new wording."))
        monkeypatch.setitem(script.CLAIMS, name, reworded)
    text = run_script(monkeypatch, tmp_path, "--summary", "--only", "a")
    assert text.count("A new wording.") == 2
    assert "new wording" in (tmp_path / "a.svg").read_text()
    assert "new wording" not in (tmp_path / "b.svg").read_text()
    assert (tmp_path / "sessions.json").read_text() == kept


def test_summary_without_figures_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="contains no figures"):
        run_script(monkeypatch, tmp_path, "--summary")


def test_figures_of_an_older_version_are_an_error(tmp_path, monkeypatch):
    (tmp_path / "optimum.csv").write_text("family,seed\nx,0\n")
    with pytest.raises(SystemExit, match=r"optimum\.csv .* the column 'method' is missing"):
        run_script(monkeypatch, tmp_path, "--summary")


def test_command_without_folders():
    given = {"data": None, "out": Path("o"), "peers": Path("p"), "only": ["a", "b"], "seeds": 4}
    text = script.command(argparse.Namespace(**given))
    assert text == "python -m benchmarks.claims --out DIR --peers DIR --only a,b --seeds 4"


def test_unknown_claim_is_an_error(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims", "--out", "x", "--only", "target,nothing"])
    with pytest.raises(SystemExit):
        script.parse()
    assert "'nothing' is not a claim. Use some of target, growth" in capsys.readouterr().err
