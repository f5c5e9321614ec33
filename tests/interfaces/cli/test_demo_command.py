import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from interfaces.cli.calling import call, contents, process
from protobandit.interfaces.jobs import demo

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [*demo.METHODS, "random"]
PICTURE = "protobandit-demo.svg"
RUN = demo.run
SCORE = demo.DemoScore(
    cost=25.5, cost_error=0.0, evaluations=1234567, seconds=0.25, by_nearest=0.9, by_barycentre=0.8
)


@pytest.fixture(autouse=True)
def quick(folder, monkeypatch):
    """Have a demo that takes no time."""

    def run(k, *, seed, tell):
        tell("Working …")
        picture = demo.stamped(f"<svg><!-- k={k} seed={seed} --></svg>\n")
        return demo.Demo(scores=dict.fromkeys(NAMES, SCORE), picture=picture, n_images=1797)

    monkeypatch.setattr(demo, "run", run)


# -- as a process ---------------------------------------------------------------------------------


def test_the_demo_as_a_user_runs_it(tmp_path):
    done = process("demo", "-k", "10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: re.findall(r"[\d.,]+(?= |%|$)", line) for line in lines if "%" in line}
    assert list(rows) == NAMES
    costs = {name: float(figures[0]) for name, figures in rows.items() if name != "random"}
    mean, error = map(float, re.findall(r"([\d.]+) ± ([\d.]+)", done.stdout)[0])
    assert error > 0
    assert max(costs.values()) < mean
    assert "\x1b" not in done.stdout + done.stderr
    assert max(map(len, lines)) <= 80
    assert "compiles" in done.stderr
    assert PICTURE in done.stderr
    root = ElementTree.parse(tmp_path / PICTURE).getroot()
    assert len(list(root.iter(f"{SVG}image"))) == 10
    assert [entry.name for entry in tmp_path.iterdir()] == [PICTURE]


def test_more_images_than_there_are(folder, monkeypatch, capsys):
    monkeypatch.setattr(demo, "run", RUN)
    assert call("demo", "-k", "9999") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.splitlines()[-1]
    assert last.startswith("protobandit: k=9999 ")
    assert "1797" in last
    assert not list(folder.iterdir())


def test_the_table_is_all_that_reaches_stdout(folder, capsys):
    assert call("demo", "-k", "7", "--seed", "3") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("7 of 1,797 digits, seed 3\n")
    row = next(line for line in shown.out.splitlines() if line.startswith("protobandit"))
    assert row.split() == ["protobandit", "25.50", "1,234,567", "0.250", "90.0%", "80.0%"]
    assert "Working …" in shown.err
    assert f"Picture: {PICTURE}\n" in shown.err
    assert "protobandit select " in shown.err
    assert "k=7 seed=3" in contents(folder)[PICTURE]


# -- what is written ------------------------------------------------------------------------------


def test_its_own_picture_is_replaced(folder):
    assert call("demo", "-k", "1") == 0
    assert call("demo", "-k", "2") == 0
    assert "k=2" in contents(folder)[PICTURE]


@pytest.mark.parametrize("edit", ["mine", "edited"])
def test_a_file_that_is_not_ours_is_kept(folder, edit, capsys):
    assert call("demo", "-k", "1") == 0
    ours = contents(folder)[PICTURE]
    kept = {"mine": "notes", "edited": ours.replace("svg", "svg ")}[edit]
    (folder / PICTURE).write_text(kept, encoding="utf-8")
    capsys.readouterr()
    assert call("demo", "-k", "2") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.fullmatch(r"protobandit: .*exists.*--force.*\n", shown.err)
    assert contents(folder) == {PICTURE: kept}
    assert call("demo", "-k", "2", "--force") == 0
    assert "k=2" in contents(folder)[PICTURE]


def test_an_explicit_name_is_never_replaced_unasked(folder):
    assert call("demo", "--out", "a.svg") == 0
    before = contents(folder)
    assert call("demo", "--out", "a.svg", "--seed", "1") == 2
    assert contents(folder) == before
    assert call("demo", "--out", "a.svg", "--seed", "1", "--force") == 0
    assert "seed=1" in contents(folder)["a.svg"]


def test_a_file_that_appears_during_the_work_is_kept(folder, monkeypatch):
    quick = demo.run

    def run(k, **options):
        (folder / "a.svg").write_text("notes", encoding="utf-8")
        return quick(k, **options)

    monkeypatch.setattr(demo, "run", run)
    assert call("demo", "--out", "a.svg") == 2
    assert contents(folder) == {"a.svg": "notes"}


def test_a_link_stays_a_link(folder):
    (folder / "real.svg").write_text("old", encoding="utf-8")
    try:
        (folder / "link.svg").symlink_to("real.svg")
    except OSError:
        pytest.skip("no permission to make links here")
    assert call("demo", "--out", "link.svg", "--force") == 0
    assert (folder / "link.svg").is_symlink()
    assert "<svg>" in contents(folder)["real.svg"]


@pytest.mark.parametrize("failing", ["replace", "write"])
def test_a_failure_leaves_nothing_behind(folder, failing, monkeypatch, capsys):
    (folder / PICTURE).write_text("old", encoding="utf-8")

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    if failing == "replace":
        monkeypatch.setattr(os, "replace", refuse)
    else:
        monkeypatch.setattr(Path, "open", refuse)
    assert call("demo", "--force") == 1
    monkeypatch.undo()
    shown = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"protobandit: cannot write '{PICTURE}': Permission denied\. Nothing was written\.",
        shown[-1],
    )
    assert contents(folder) == {PICTURE: "old"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
def test_what_is_no_regular_file_is_never_replaced(folder):
    os.mkfifo(folder / "pipe")
    assert call("demo", "--out", "pipe", "--force") == 2
    assert (folder / "pipe").is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="permissions are kept otherwise there")
def test_a_folder_that_takes_no_files(folder, capsys):
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    try:
        # The superuser may write anywhere, but nobody to a name this long.
        name = "picture.svg" if os.geteuid() else "x" * 300
        assert call("demo", "--out", f"closed/{name}") == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith("protobandit: ")
        assert list(closed.iterdir()) == []
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--nonsense"],
        ["demo", "-k", "0"],
        ["demo", "-k", "many"],
        ["demo", "--seed", "-1"],
        ["demo", "--out", "no/such/folder.svg"],
        ["demo", "--out", "."],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_a_bad_call_exits_with_2(arguments, folder, capsys):
    assert call(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err != ""
    assert contents(folder) == {}
