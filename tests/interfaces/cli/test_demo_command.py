import os
import re
from xml.etree import ElementTree

import pytest

from interfaces.cli.run_cli import call, file_texts, run_process
from protobandit.interfaces.jobs import demo

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [*demo.METHODS, "random"]
PICTURE = "protobandit-demo.svg"
RUN_DEMO = demo.run_demo
SCORE = demo.DemoScore(
    cost=25.5, cost_error=0.0, evaluations=1234567, seconds=0.25, by_nearest=0.9, by_barycentre=0.8
)


@pytest.fixture(autouse=True)
def quick(folder, monkeypatch):
    """Replace the demo by one without computation."""

    def run_demo(k, *, seed, notify):
        notify("Working …")
        picture = demo.signed(f"<svg><!-- k={k} seed={seed} --></svg>\n")
        return demo.Demo(scores=dict.fromkeys(NAMES, SCORE), picture=picture, n_images=1797)

    monkeypatch.setattr(demo, "run_demo", run_demo)


# -- in a process --------------------------------------------------------------------------------


def test_the_demo_in_a_process(tmp_path):
    done = run_process("demo", "-k", "10", cwd=tmp_path)
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


def test_k_exceeds_the_number_of_images(folder, monkeypatch, capsys):
    monkeypatch.setattr(demo, "run_demo", RUN_DEMO)
    assert call("demo", "-k", "9999") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    last = printed.err.splitlines()[-1]
    assert last.startswith("protobandit: k=9999 ")
    assert "1797" in last
    assert not list(folder.iterdir())


def test_the_table_is_the_only_output_on_stdout(folder, capsys):
    assert call("demo", "-k", "7", "--seed", "3") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("7 of 1,797 digits, seed 3\n")
    row = next(line for line in printed.out.splitlines() if line.startswith("protobandit"))
    assert row.split() == ["protobandit", "25.50", "1,234,567", "0.250", "90.0%", "80.0%"]
    assert "Working …" in printed.err
    assert f"Picture: {PICTURE}\n" in printed.err
    assert "protobandit select " in printed.err
    assert "k=7 seed=3" in file_texts(folder)[PICTURE]


# -- the picture ---------------------------------------------------------------------------------


def test_an_unchanged_picture_is_replaced(folder):
    assert call("demo", "-k", "1") == 0
    assert call("demo", "-k", "2") == 0
    assert "k=2" in file_texts(folder)[PICTURE]


@pytest.mark.parametrize("edit", ["other", "edited"])
def test_another_file_is_kept(folder, edit, capsys):
    assert call("demo", "-k", "1") == 0
    picture = file_texts(folder)[PICTURE]
    kept = {"other": "notes", "edited": picture.replace("svg", "svg ")}[edit]
    (folder / PICTURE).write_text(kept, encoding="utf-8")
    capsys.readouterr()
    assert call("demo", "-k", "2") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"protobandit: .*exists.*--force.*\n", printed.err)
    assert file_texts(folder) == {PICTURE: kept}
    assert call("demo", "-k", "2", "--force") == 0
    assert "k=2" in file_texts(folder)[PICTURE]


def test_an_explicit_name_is_replaced_only_with_force(folder):
    assert call("demo", "--out", "a.svg") == 0
    before = file_texts(folder)
    assert call("demo", "--out", "a.svg", "--seed", "1") == 2
    assert file_texts(folder) == before
    assert call("demo", "--out", "a.svg", "--seed", "1", "--force") == 0
    assert "seed=1" in file_texts(folder)["a.svg"]


def test_a_file_that_appears_during_the_computation_is_kept(folder, monkeypatch):
    quick = demo.run_demo

    def run_demo(k, **options):
        (folder / "a.svg").write_text("notes", encoding="utf-8")
        return quick(k, **options)

    monkeypatch.setattr(demo, "run_demo", run_demo)
    assert call("demo", "--out", "a.svg") == 2
    assert file_texts(folder) == {"a.svg": "notes"}


def test_a_link_stays_a_link(folder):
    (folder / "real.svg").write_text("old", encoding="utf-8")
    try:
        (folder / "link.svg").symlink_to("real.svg")
    except OSError:
        pytest.skip("requires permission to make links")
    assert call("demo", "--out", "link.svg", "--force") == 0
    assert (folder / "link.svg").is_symlink()
    assert "<svg>" in file_texts(folder)["real.svg"]


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failure_leaves_nothing_behind(folder, failing, monkeypatch, capsys):
    (folder / PICTURE).write_text("old", encoding="utf-8")

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, failing, refuse)
    assert call("demo", "--force") == 1
    monkeypatch.undo()
    printed = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"protobandit: cannot write '{PICTURE}': Permission denied\. Nothing was written\.",
        printed[-1],
    )
    assert file_texts(folder) == {PICTURE: "old"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="requires named pipes")
def test_a_special_file_is_never_replaced(folder):
    os.mkfifo(folder / "pipe")
    assert call("demo", "--out", "pipe", "--force") == 2
    assert (folder / "pipe").is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="requires POSIX permissions")
def test_a_folder_that_cannot_be_written(folder, capsys):
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    try:
        # The superuser may write to any folder, but not to a name this long.
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
def test_an_invalid_call_exits_with_2(arguments, folder, capsys):
    assert call(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err != ""
    assert file_texts(folder) == {}
