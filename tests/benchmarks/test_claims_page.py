"""What benchmarks/claims writes: tables, figures, how they came about, and the page."""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.claims import __main__ as script
from benchmarks.claims import _sessions
from benchmarks.claims._page import overview, page, section
from benchmarks.claims._report import Claim, Report, csv_text, markdown, plain, read_csv, words
from benchmarks.claims._sessions import Session


def report(name="some", finding="It is so.", verdict="It holds."):
    return Report(
        name=name,
        title=f"The title of {name}",
        claim="They say so of f*.",
        verdict=verdict,
        findings=[finding],
        summary=[{"k": 5, "count": 1234567.0}, {"k": 10, "other": "x"}],
        setting="A setting.",
        draw=lambda path: path.write_text(f"<svg>{finding}</svg>"),
    )


def session(date="2020-01-02", machine="A machine", commit="abc1234"):
    return Session(command="python -m it", date=date, commit=commit, machine=machine)


# -- tables and figures ---------------------------------------------------------------------------


def test_tables_hold_every_column():
    table = report().summary
    assert markdown(table).splitlines() == [
        "| k | count | other |",
        "| --- | ---: | ---: |",
        "| 5 | 1.23e+06 |  |",
        "| 10 |  | x |",
    ]
    assert markdown([{"|T|": "f*"}]) == "| \\|T\\| |\n| --- |\n| f\\* |"
    widths = {len(line) for line in plain(table).splitlines()}
    assert len(widths) == 1


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), ("a", "a"), (12000, "12,000"), (0.0012345, "0.00123")]
)
def test_numbers_are_short(value, shown):
    assert words(value) == shown


def test_figures_are_read_as_they_were_written(tmp_path):
    rows = [
        {"k": 5, "count": 1 / 3, "is_so": True, "method": "a, b", "bound": 2.5e11},
        {"k": 10, "count": None, "is_so": False, "method": "c", "late": 1},
    ]
    path = tmp_path / "some.csv"
    path.write_text(csv_text(rows), encoding="utf-8")
    assert path.read_text().startswith('k,count,is_so,method,bound,late\n5,0.333333,True,"a, b",')
    first, second = read_csv(path)
    assert first == {**rows[0], "count": 0.333333, "late": None}
    assert second == {**rows[1], "bound": None}
    assert [type(cell) for cell in first.values()][:3] == [int, float, bool]


# -- the page -------------------------------------------------------------------------------------


def test_a_page_says_how_each_claim_was_run():
    told = page(
        [report("a"), report("b"), report("c")],
        {"a": session(), "b": session("2021-05-06", commit="")},
    )
    assert "Run on 2020-01-02, commit abc1234: `python -m it`." in told
    assert "Run on 2021-05-06: `python -m it`." in told
    assert told.count("was not written down") == 1
    assert "Run on A machine: a, b." in told


def test_machines_are_told_once_where_there_is_one():
    both = [report("a"), report("b")]
    alike = page(both, {"a": session(), "b": session("2021-05-06")})
    assert alike.count("A machine") == 1
    assert "Run on A machine." in alike
    other = page(both, {"a": session(), "b": session(machine="Another")})
    assert "Run on A machine: a.\n\nRun on Another: b.\n" in other


def test_the_overview_has_every_claim_and_escapes_bars():
    told = overview([report("a"), report("|S|", verdict="Linear in |S|, of f*.")])
    assert told.splitlines() == [
        "| claim | on our runs |",
        "| --- | --- |",
        "| The title of a | It holds. |",
        "| The title of \\|S\\| | Linear in \\|S\\|, of f\\*. |",
    ]


def test_a_section_holds_every_table():
    more = {"By f*:": [{"family": "x", "rate": "1%"}]}
    told = section(Report(**{**vars(report("a")), "more": more}))
    parts = ["## The", "> They say so of f\\*.", "**It holds.**", "- It is", "| 5 |", "By f\\*:"]
    order = [told.index(part) for part in [*parts, "| x | 1% |", "(a.svg)", "A setting. All"]]
    assert all(a < b for a, b in pairwise(order))


# -- the script -----------------------------------------------------------------------------------


def claim(name, says="It is so."):
    rows = [{"k": 5, "says": says}]
    return Claim(lambda options: rows, lambda rows: report(name, rows[0]["says"]))


def ran(monkeypatch, out, *words):
    monkeypatch.setattr("sys.argv", ["claims", "--out", str(out), *words])
    script.main()
    return (out / "README.md").read_text(encoding="utf-8")


def test_claims_are_published_each_with_its_own_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "CLAIMS", {"a": claim("a"), "b": claim("b")})
    monkeypatch.setattr(_sessions._machine, "today", lambda: "2020-01-02")
    ran(monkeypatch, tmp_path, "--seeds", "2")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["README.md", "a.csv", "a.svg", "b.csv", "b.svg", "runs.json"]

    monkeypatch.setitem(script.CLAIMS, "a", claim("a", "It is otherwise."))
    monkeypatch.setattr(_sessions._machine, "today", lambda: "2021-05-06")
    told = ran(monkeypatch, tmp_path, "--only", "a", "--seeds", "3", "--data", "/some/where")
    assert "It is otherwise." in capsys.readouterr().out
    first, second = told.split("## The title of b")
    assert "It is otherwise." in first
    assert "2021-05-06" in first
    assert "`python -m benchmarks.claims --data DIR --out DIR --only a --seeds 3`" in first
    assert "2020-01-02" in second
    assert "`python -m benchmarks.claims --out DIR --seeds 2`" in second
    assert "/some/where" not in told + (tmp_path / "runs.json").read_text()


def test_a_summary_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "CLAIMS", {"a": claim("a"), "b": claim("b")})
    ran(monkeypatch, tmp_path)
    kept = (tmp_path / "runs.json").read_text()

    def never(options):
        raise AssertionError

    for name in "ab":
        reworded = Claim(never, lambda rows, name=name: report(name, "In other words."))
        monkeypatch.setitem(script.CLAIMS, name, reworded)
    told = ran(monkeypatch, tmp_path, "--summary", "--only", "a")
    assert told.count("In other words.") == 2
    assert "other words" in (tmp_path / "a.svg").read_text()
    assert "other words" not in (tmp_path / "b.svg").read_text()
    assert (tmp_path / "runs.json").read_text() == kept


def test_a_summary_of_nothing_says_so(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="nothing to write up"):
        ran(monkeypatch, tmp_path, "--summary")


def test_figures_of_an_older_run_are_refused(tmp_path, monkeypatch):
    (tmp_path / "optimum.csv").write_text("family,seed\nx,0\n")
    with pytest.raises(SystemExit, match=r"optimum\.csv is of an older run and lacks 'method'"):
        ran(monkeypatch, tmp_path, "--summary")


def test_the_command_is_what_was_given():
    given = {"data": None, "out": Path("o"), "peers": Path("p"), "only": ["a", "b"], "seeds": 4}
    told = script.command(argparse.Namespace(**given))
    assert told == "python -m benchmarks.claims --out DIR --peers DIR --only a,b --seeds 4"


def test_a_session_is_kept_beside_the_others(tmp_path):
    assert _sessions.read(tmp_path) == {}
    _sessions.keep(tmp_path, "a", session())
    here = _sessions.session("python -m it")
    _sessions.keep(tmp_path, "b", here)
    assert _sessions.read(tmp_path) == {"a": session(), "b": here}
    assert here.machine.count("numpy") == 1
    kept = json.loads((tmp_path / "runs.json").read_text())
    assert sorted(kept["b"]) == ["command", "commit", "date", "machine"]


def test_an_unknown_claim_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims", "--out", "x", "--only", "target,nothing"])
    with pytest.raises(SystemExit):
        script.parse()
    assert "'nothing' is no claim. Use some of target, growth" in capsys.readouterr().err
