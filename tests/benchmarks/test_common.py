"""benchmarks/common: sessions, records, pages, figures, costs, memory and counting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.common import machine, memory, sessions
from benchmarks.common.costs import largest_distance, mean_distance, search_evaluations
from benchmarks.common.counting import (
    Round,
    paper_comparisons,
    recorded,
    spotgreedy_comparisons,
)
from benchmarks.common.figures import panels, save
from benchmarks.common.machine import OtherLoad
from benchmarks.common.pages import markdown, plain, scientific, short, table, with_tables
from benchmarks.common.records import (
    DamagedTable,
    append,
    appending,
    csv_text,
    read_csv,
    read_records,
    write_records,
)
from benchmarks.common.replacing import replaced
from benchmarks.common.sessions import Session

import protobandit as pb
from protobandit.search.drivers import greedy

SESSION = Session(command="python -m x", date="2026-01-01", machine="a machine", commit="abc1234")
ROWS = [{"k": 5, "count": 1234567.0}, {"k": 10, "other": "x"}]


# -- sessions -------------------------------------------------------------------------------------


def test_sessions_of_the_same_command_are_shown_as_one():
    first = replace(SESSION, n_results=3, minutes=4)
    other = replace(first, commit="0123456")
    found = sessions.merged([first, first, other, SESSION, SESSION])
    assert found == [replace(first, n_results=6, minutes=8), other, SESSION, SESSION]


def test_sessions_round_trip(tmp_path):
    path = tmp_path / "sessions.json"
    assert sessions.read(path) == {}
    here = sessions.current("python -m y")
    sessions.record(path, "a", [SESSION])
    sessions.record(path, "b", [SESSION, here])
    assert sessions.read(path) == {"a": [SESSION], "b": [SESSION, here]}
    assert here.machine.count("numpy") == 1
    sessions.record(path, "a", [])
    assert [*sessions.read(path)] == ["b"]
    sessions.record(path, "b", [])
    assert not path.exists()


def test_every_session_that_adds_results_is_recorded(tmp_path, monkeypatch):
    path, n_results = tmp_path / "out" / "sessions.json", 5

    def run(command, n_more, *, is_stopped=False):
        nonlocal n_results
        with sessions.recorded(path, "a", command, lambda: n_results):
            n_results += n_more
            if is_stopped:
                raise KeyboardInterrupt

    monkeypatch.setattr(machine, "commit", lambda: "abc1234")
    run("first", 7)
    with pytest.raises(KeyboardInterrupt):
        run("second", 2, is_stopped=True)
    run("third", 0)
    first, second = sessions.read(path)["a"]
    assert (first.command, first.n_results, first.minutes) == ("first", 7, 0)
    assert (second.command, second.n_results, second.commit) == ("second", 2, "abc1234")
    assert str(second) == f"{second.date}, commit abc1234: `second`, 2 results in 0 min"
    path.unlink()
    run("nothing", 0)
    assert not path.exists()


def test_session_is_recorded_before_its_first_result(tmp_path):
    path = tmp_path / "sessions.json"
    with sessions.recorded(path, "a", "python -m x", lambda: 0):
        (session,) = sessions.read(path)["a"]
        assert session.command == "python -m x"
        assert session.n_results is None
        assert " min" not in str(session)


def test_sessions_of_other_results_are_kept(tmp_path):
    """Two benchmarks may write to one folder at the same time."""
    path, n_results = tmp_path / "sessions.json", 0
    with sessions.recorded(path, "a", "x", lambda: n_results):
        sessions.record(path, "b", [SESSION])
        n_results = 1
    assert {*sessions.read(path)} == {"a", "b"}


def test_renamed_command_is_shown_with_both_names():
    old = Session(command="python -m benchmarks.race --out DIR", date="d", machine="m")
    assert str(old) == (
        "d: `python -m benchmarks.race --out DIR` (now `python -m benchmarks.comparison`)"
    )


def test_machines():
    other = Session(command="c", date="d", machine="another machine")
    assert sessions.machines({"a": SESSION, "b": SESSION}) == ["Run on a machine."]
    assert sessions.machines({"a": SESSION, "b": other}) == [
        "Run on a machine: a.",
        "Run on another machine: b.",
    ]


# -- records --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Example:
    name: str
    n: int
    share: float | None = None


EXAMPLES = [Example(name="a, b", n=1, share=0.25), Example(name="c", n=2)]


def test_records_round_trip(tmp_path):
    path = tmp_path / "table.csv"
    assert read_records(path, Example) == []
    write_records(path, Example, EXAMPLES)
    assert path.read_text() == 'name,n,share\n"a, b",1,0.25\nc,2,\n'
    assert read_records(path, Example) == EXAMPLES
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]


def test_incomplete_last_row_is_ignored_and_removed(tmp_path):
    path = tmp_path / "new" / "table.csv"
    with appending(path, Example) as file:
        append(file, EXAMPLES[0])
    with path.open("a") as file:
        file.write("torn,")
    assert read_records(path, Example) == EXAMPLES[:1]
    with appending(path, Example) as file:
        append(file, EXAMPLES[1])
    assert read_records(path, Example) == EXAMPLES
    path.write_text("nam")
    assert read_records(path, Example) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "starts with 'a,b', not with the 3 columns name,n,share"),
        ("name,n,share\n1,2\n", "line 2: '1,2' cannot be read"),
        ("name,n,share\na,1.5,\n", "line 2: .* cannot be read"),
        ("name,n,share\na,,1\n", "line 2: .* cannot be read"),
    ],
)
def test_damaged_table_is_an_error(tmp_path, text, message):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(DamagedTable, match=message):
        read_records(tmp_path / "table.csv", Example)


def test_table_is_unchanged_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_records(path, Example, EXAMPLES)

    def full(*_, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        write_records(path, Example, EXAMPLES[:1])
    monkeypatch.undo()
    assert read_records(path, Example) == EXAMPLES
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]


def test_dictionaries_round_trip(tmp_path):
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


# -- pages ----------------------------------------------------------------------------------------


def test_tables_have_every_column():
    assert markdown(ROWS).splitlines() == [
        "| k | count | other |",
        "| --- | ---: | ---: |",
        "| 5 | 1.23e+06 |  |",
        "| 10 |  | x |",
    ]
    assert markdown([{"|T|": "f*"}]) == "| \\|T\\| |\n| --- |\n| f\\* |"
    assert len({len(line) for line in plain(ROWS).splitlines()}) == 1
    assert table(["a", "b"], [["1", "|"]]) == "| a | b |\n| --- | --- |\n| 1 | \\| |"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), ("a", "a"), (12000, "12,000"), (0.0012345, "0.00123")]
)
def test_numbers_are_short(value, shown):
    assert short(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (2.71e8, "2.7e8"), (5e10, "5.0e10")])
def test_scientific_notation(value, shown):
    assert scientific(value) == shown


def test_tables_without_a_function_are_left():
    page = "<!-- table a -->\nold\n<!-- end -->\n<!-- table b -->\nold\n<!-- end -->\n"
    new = with_tables(page, {"b": lambda: iter(["new", "rows"])})
    assert new == page[:-17] + "new\nrows\n<!-- end -->\n"


# -- figures --------------------------------------------------------------------------------------


def test_figures_do_not_depend_on_the_date(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg", "c.png"):
        with panels(tmp_path / name, 2) as (left, right):
            left.plot([1, 2], [3, 4], label="a line")
            right.set_title("a title")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "a title" in text
    assert "<dc:date>" not in text
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert len([*tmp_path.iterdir()]) == 3
    with pytest.raises(KeyError):
        save(None, tmp_path / "d.gif")


# -- costs, memory, load --------------------------------------------------------------------------


def test_costs_agree_with_their_definition():
    random = np.random.default_rng(0)
    source, target = (random.normal(size=(n, 6)).astype(np.float32) for n in (120, 9000))
    distances = np.linalg.norm(source[None, :5].astype(float) - target[:, None], axis=2)
    assert mean_distance(source[:5], target) == pytest.approx(distances.min(axis=1).mean())
    assert largest_distance(source[:5], target) == pytest.approx(distances.max(), rel=1e-5)
    selection = pb.select(source, target, k=3)
    phases = selection.evaluations_by_phase
    assert search_evaluations(selection) == phases["build"] + phases["swap"] > 0


def test_peak_memory_of_a_block():
    if not memory.is_known():
        pytest.skip("needs Linux")
    with memory.peak_memory() as peak:
        rows = np.ones(2**22)
        for _ in range(20):
            rows += 1
    assert 30 < peak.growth < 70


def test_load_of_other_processes(capsys):
    load = OtherLoad()
    cores = load.cores()
    assert cores is None or cores >= 0
    load.print()
    printed = capsys.readouterr().out
    assert ("cores busy" in printed) == (cores is not None)


# -- replacing and counting -----------------------------------------------------------------------


def test_replaced_attributes_are_restored():
    module = ModuleType("example")
    module.a, module.b = 1, 2
    with replaced(module, a=3):
        assert (module.a, module.b) == (3, 2)
    assert module.a == 1
    with pytest.raises(ZeroDivisionError), replaced(module, a=3):
        module.a / 0
    assert module.a == 1
    with pytest.raises(AttributeError), replaced(module, c=1):
        pass


def line(n, *, offset=0.0):
    """Return rows on a line with distinct distances."""
    return (np.arange(n) ** 1.5 + offset)[:, None].astype(np.float32)


def test_a_pull_costs_the_number_of_prototypes_plus_one():
    assert paper_comparisons([Round(0, 5), Round(1, 3), Round(2, 10)]) == 5 + 2 * 3 + 3 * 10


def test_rounds_of_exact_greedy():
    method = pb.methods.SpotGreedy(memoize=False)
    with recorded() as record:
        selection = pb.select(line(4), line(3, offset=0.3), k=2, method=method)
    assert record.rounds == [Round(0, 4 * 3), Round(1, 3 * 3)]
    assert paper_comparisons(record.rounds) == 12 + 2 * 9
    assert selection.evaluations_by_phase["build"] == spotgreedy_comparisons(4, 3, 2) == 21


def test_rounds_of_protobandit():
    # |R| = ceil(6 / 3 ln 5) = 4 arms; the first pull reads all of a target of 8 rows.
    method = pb.methods.ProtoBandit(epsilon=0.2, nu_step=0.05, scale=20.0)
    with recorded() as record:
        selection = pb.select(line(6), line(8, offset=0.3), k=3, method=method, random_state=0)
    assert record.rounds == [Round(0, 32), Round(1, 32), Round(2, 32)]
    assert paper_comparisons(record.rounds) == 32 + 64 + 96
    # Shared rows: each of the 8 is compared with a new prototype once for all arms.
    assert selection.evaluations_by_phase["build"] == 32 + (32 + 8) + (32 + 8)


def test_round_without_a_pull_costs_nothing():
    method = pb.methods.ProtoBandit(epsilon=0.6, nu_step=0.05, scale=20.0)  # |R| = 1
    with recorded() as record:
        pb.select(line(4), line(5), k=3, method=method, random_state=0)
    assert record.rounds == [Round(0, 0), Round(1, 0), Round(2, 0)]


def test_recording_ends_with_its_block():
    run_round = greedy.run_round
    with recorded():
        assert greedy.run_round is not run_round
    with pytest.raises(pb.InvalidInput), recorded():
        pb.select(line(4), k=9)
    assert greedy.run_round is run_round
