import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import protobandit
from protobandit import _cli, _demo, methods
from protobandit._metrics import METRICS

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [*_demo.METHODS, "random"]
PICTURE = "protobandit-demo.svg"
SCORE = _demo.Score(
    cost=25.5, cost_error=0.0, evaluations=1234567, seconds=0.25, by_nearest=0.9, by_barycentre=0.8
)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Keep the tests' surroundings from asking for colour."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def process(
    *arguments: str, cwd: Path, encoding: str = "utf-8", stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(protobandit.__file__).parents[1]), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-m", "protobandit", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": encoding},
        encoding=encoding,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )


def call(*arguments: str) -> int:
    """Run the command line inside this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        _cli.main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Stand in an empty folder, with a demo that takes no time."""

    def run(k, *, seed, tell):
        tell("Working …")
        picture = _demo.stamped(f"<svg><!-- k={k} seed={seed} --></svg>\n")
        return _demo.Demo(scores=dict.fromkeys(NAMES, SCORE), picture=picture, n_images=1797)

    monkeypatch.setattr(_demo, "run", run)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir()}


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


def test_a_reader_who_leaves_early_is_no_failure(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process("metrics", cwd=tmp_path, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_encoding_and_a_bad_call(tmp_path):
    done = process("demo", "-k", "9999", cwd=tmp_path, encoding="ascii")
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("protobandit: k=9999 ")
    assert "1797" in last
    assert not list(tmp_path.iterdir())


def test_importing_the_package_loads_no_command_line():
    probe = (
        "import sys, protobandit\n"
        "loaded = {'typer', 'rich', 'sklearn', 'numba', 'scipy', 'joblib'} & set(sys.modules)\n"
        "sys.exit(f'{sorted(loaded)}' if loaded else 0)"
    )
    path = str(Path(protobandit.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", probe], env=environment, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


# -- what is printed ------------------------------------------------------------------------------


def test_version(capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out == f"protobandit {protobandit.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["demo", "methods", "metrics", "--version"]),
        (["demo", "--help"], ["--prototypes", "--out", "--seed", "--force", PICTURE, "network"]),
    ],
)
def test_help_names_what_there_is(arguments, words, capsys):
    assert call(*arguments) == 0
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)  # some CI services force colour
    assert [word for word in words if word not in shown] == []


def test_methods_lists_the_table(capsys):
    assert call("methods") == 0
    shown = capsys.readouterr().out
    for name, method in methods.METHODS.items():
        assert f"\n{name} " in shown
        assert str(method.__doc__).split()[0] in shown
        for key, value in methods.parameters_of(method()).items():
            assert f"{key}={value!r}" in shown


def test_metrics_lists_the_table(capsys):
    assert call("metrics") == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    for name, metric in METRICS.items():
        assert ", ".join(sorted(metric.kinds)) in rows[name]
    assert rows["cosine"].endswith(" 2")


def test_the_table_is_all_that_reaches_stdout(folder, capsys):
    assert call("demo", "-k", "7", "--seed", "3") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("7 of 1,797 digits, seed 3\n")
    row = next(line for line in shown.out.splitlines() if line.startswith("protobandit"))
    assert row.split() == ["protobandit", "25.50", "1,234,567", "0.250", "90.0%", "80.0%"]
    assert "Working …" in shown.err
    assert f"Picture: {PICTURE}\n" in shown.err
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
    quick = _demo.run

    def run(k, **options):
        (folder / "a.svg").write_text("notes", encoding="utf-8")
        return quick(k, **options)

    monkeypatch.setattr(_demo, "run", run)
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
    assert re.fullmatch(r"protobandit: cannot write '.*': Permission denied\.", shown[-1])
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
