"""``protobandit report``, and the files that `report` and `certify` open again."""

import json

import pytest

from interfaces.cli.run_cli import call, file_names, only_line


def test_the_page_is_written_beside_the_selection(saved, capsys):
    assert call("report", "out") == 0
    assert capsys.readouterr().out == "out/report.html\n"
    page = (saved / "report.html").read_text(encoding="utf-8")
    assert "=n, " in page
    assert "protobandit select flowers.csv -k 3" in page
    assert call("report", "out") == 2
    assert "'out/report.html' exists. Pass --force" in only_line(capsys.readouterr().err)
    assert call("report", "out", "--force", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"out": "out/report.html"}


def test_moved_files(saved, capsys):
    flowers = saved.with_name("flowers.csv").rename(saved.with_name("elsewhere.csv"))
    for command in ("report", "certify"):
        assert call(command, "out") == 2
        line = only_line(capsys.readouterr().err)
        assert "flowers.csv does not exist" in line
        assert "made from --source flowers.csv, " in line
        assert line.endswith("If the files have moved, pass --source with the new path.")
    assert call("report", "out", "--source", flowers, "--out", "page.html", "-q") == 0
    assert "page.html" in file_names(saved.parent)


@pytest.mark.parametrize("command", ["report", "certify"])
def test_changed_files(saved, command, capsys):
    flowers = saved.with_name("flowers.csv")
    text = flowers.read_text(encoding="utf-8")
    flowers.write_text(text + "another,1,1,a,1\n", encoding="utf-8")
    before = file_names(saved)
    assert call(command, "out") == 2
    line = only_line(capsys.readouterr().err)
    assert "source is not what this selection was made from" in line
    assert "select again" in line
    assert file_names(saved) == before


def test_new_rows_are_compared_on_the_page(saved, capsys):
    assert call("report", "out", "--new", "flowers.csv", "--out", "new.html", "-q") == 0
    assert '<h2 id="h-drift">New rows</h2>' in (saved.parent / "new.html").read_text("utf-8")


def test_columns_that_come_first(folder, capsys):
    lines = ["a,b,name", *(f"{i % 7},{i % 5},n{i}" for i in range(30))]
    (folder / "rows.csv").write_text("\n".join(lines))
    asked = ("rows.csv", "-k", 3, "--columns", "a,b", "--out", "out", "-q")
    assert call("select", *asked, "--report", "--show", "name") == 0
    page = (folder / "out/report.html").read_text(encoding="utf-8")
    assert '"columns":["name","a","b"]' in page
    assert call("report", "out", "--show", "b, name", "--out", "other.html", "-q") == 0
    page = (folder / "other.html").read_text(encoding="utf-8")
    assert '"columns":["b","name","a"]' in page
    for arguments in (("--show", "name"), ("--report", "--show", "nme")):
        assert call("select", *asked, "--force", *arguments) == 2
    found = capsys.readouterr().err.splitlines()
    assert found[0] == "protobandit: --show applies to the report. Pass --report too."
    assert found[1].startswith("protobandit: --show 'nme' is not a column that rows.csv can show.")
    assert found[1].endswith("Did you mean 'name'? It has 'a', 'b', 'name'.")
