"""The command line as a whole: help, version, lists, completion, and how it ends."""

import errno
import json
import os
import re
import signal
import subprocess
import sys

import pytest

import protobandit
from interfaces.cli.calling import HOME, call, only_line, process
from protobandit import __main__, methods
from protobandit.interfaces.cli import list_commands, output
from protobandit.interfaces.cli import main as cli
from protobandit.interfaces.cli.interrupts import heeding
from protobandit.metrics.metrics import METRICS
from protobandit.run.progress.watch import Interrupt

COMMANDS = ["select", "assign", "report", "certify", "compare", "methods", "metrics", "demo"]


HEAVY = {"numpy", "scipy", "sklearn", "numba", "joblib", "pyarrow", "PIL", "matplotlib"}


@pytest.mark.parametrize(
    ("does", "heavy"),
    [
        ("import protobandit", {"typer", "rich", *HEAVY} - {"numpy"}),
        ("from protobandit.interfaces.cli.main import main; main(['select', '--help'])", HEAVY),
    ],
)
def test_what_is_loaded_only_when_needed(does, heavy):
    probe = (
        f"import sys, contextlib\n"
        f"with contextlib.suppress(SystemExit): exec({does!r})\n"
        f"loaded = {heavy!r} & set(sys.modules)\n"
        f"sys.exit(f'{{sorted(loaded)}}' if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_who_leaves_early_is_no_failure(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process("metrics", cwd=tmp_path, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device there")
def test_a_stdout_that_takes_nothing_is_a_failure(tmp_path):
    with open("/dev/full", "w") as full:
        done = process("metrics", cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    assert only_line(done.stderr) == "cannot write to <stdout>: No space left on device."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("protobandit ce", ["certify"]),
        ("protobandit select --method lazyb", ["lazybandit"]),
        ("protobandit compare a.npy --metric manh", ["manhattan"]),
        ("protobandit select --max-s", ["--max-seconds"]),
        ("protobandit select --impute me", ["mean", "median"]),
    ],
)
def test_completion_knows_commands_and_names(words, found, capsys, monkeypatch):
    monkeypatch.setenv("_PROTOBANDIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    call()
    assert capsys.readouterr().out.split() == found


def test_completion_as_a_shell_asks_for_it(tmp_path):
    asked = {"COMP_WORDS": "protobandit ce", "COMP_CWORD": "1"}
    done = process(cwd=tmp_path, _PROTOBANDIT_COMPLETE="complete_bash", **asked)
    assert (done.stdout.split(), done.stderr) == (["certify"], "")
    done = process("--show-completion", "bash", cwd=tmp_path)
    assert done.returncode == 0
    assert "_PROTOBANDIT_COMPLETE" in done.stdout


def test_ctrl_c_while_it_is_loading_is_one_line(monkeypatch):
    class Pressed(dict):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "protobandit.interfaces.cli.main", Pressed())
    with pytest.raises(SystemExit, match=r"^protobandit: Interrupted; nothing was written\.$"):
        __main__.main()


# -- what is printed ------------------------------------------------------------------------------


def shown_by(capsys, *arguments):
    assert call(*arguments) == 0
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)  # some CI services force colour


def test_version(capsys):
    assert shown_by(capsys, "--version") == f"protobandit {protobandit.__version__}\n"


def test_without_a_command_it_helps(capsys):
    shown = shown_by(capsys)
    assert shown == shown_by(capsys, "--help")
    places = [shown.index(f"│ {command} ") for command in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = shown_by(capsys, command, "--help")
    assert "For example:" in shown
    assert f"protobandit {command}" in shown[shown.index("For example:") :]


def test_the_options_of_select_are_in_panels(capsys):
    shown = shown_by(capsys, "select", "-h")
    for panel in ("What is wanted", "Reading files", "Preparing columns", "How it searches"):
        assert f"─ {panel} ─" in shown
    assert "─ Limits ─" in shown
    assert "─ Output ─" in shown


def test_help_in_a_narrow_encoding(tmp_path):
    done = process("select", "--help", cwd=tmp_path, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert "--target" in done.stdout


def test_methods_lists_the_table(capsys):
    shown = shown_by(capsys, "methods")
    for name, method in methods.METHODS.items():
        assert f"\n{name} " in shown
        assert str(method.__doc__).split()[0] in shown
        for key, value in methods.parameters_of(method()).items():
            assert f"{key}={value!r}" in shown


def test_metrics_lists_the_table(capsys):
    rows = {line.split()[0]: line for line in shown_by(capsys, "metrics").splitlines() if line}
    for name, metric in METRICS.items():
        assert ", ".join(sorted(metric.kinds)) in rows[name]
    assert rows["cosine"].endswith(" 2")
    assert "VI: the inverse covariance" in rows["mahalanobis"]
    assert "V: one positive variance" in rows["seuclidean"]
    assert rows["jaccard,"].startswith("jaccard, dice, ")
    assert "which numbers are not 0" in rows["jaccard,"]


def test_both_lists_for_machines(capsys):
    listed = json.loads(shown_by(capsys, "methods", "--json"))
    assert list(listed) == list(methods.METHODS)
    assert listed["lazybandit"]["parameters"] == {"effort": "balanced"}
    assert listed["lazybandit"]["does"].startswith("All source rows race")
    listed = json.loads(shown_by(capsys, "metrics", "--json"))
    cosine = {"rows": ["dense", "sparse"], "largest": 2.0, "parameters": {}, "sets": False}
    assert listed["cosine"] == cosine
    assert listed["yule"]["sets"]
    assert list(listed["seuclidean"]["parameters"]) == ["V"]


# -- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (protobandit.InvalidInput("k is\n  wrong."), 2, "k is wrong."),
        (protobandit.NotAvailable("no rows."), 1, "no rows."),
        (OSError(errno.EIO, "Input/output error", "a.csv"), 1, "Input/output error: 'a.csv'"),
        (MemoryError(), 1, "--max-memory"),
        (KeyboardInterrupt(), 1, "Interrupted; nothing was written."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_goes_wrong_is_one_line(raised, code, words, monkeypatch, capsys):
    def fail(table, legend=""):
        raise raised

    monkeypatch.setattr(output, "say_table", fail)
    assert call("metrics") == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in only_line(shown.err.lstrip("\n"))


def test_a_mistake_of_our_own_is_not_hidden(monkeypatch):
    monkeypatch.setattr(list_commands, "_first_line", lambda method: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["methods"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command 'nonsense'. See `protobandit --help`."),
        (["select", "a.npy"], "Missing option '-k' / '--prototypes'. See `protobandit select"),
        (["select", "-k", "3"], "SOURCE"),
        (["select", "a.npy", "-k", "3", "--nonsense"], "--nonsense"),
        (["select", "a.npy", "-k", "3", "--seed", "-1"], "--seed '-1' is not a whole number >= 0"),
        (["select", "a.npy", "-k", "3", "--format", "xlsx"], "'--format': 'xlsx' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_call_that_cannot_be_parsed_is_one_line_too(arguments, words, capsys):
    assert call(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in only_line(shown.err)


def test_ctrl_c_once_asks_and_twice_ends(capfd):
    interrupt, before = Interrupt(), signal.getsignal(signal.SIGINT)
    with heeding(interrupt):
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert "Ctrl-C again ends at once" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_without_an_interrupt_ctrl_c_is_left_alone():
    before = signal.getsignal(signal.SIGINT)
    with heeding(None):
        assert signal.getsignal(signal.SIGINT) is before
