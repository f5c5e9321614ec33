"""The program as a whole: help, version, completion, errors and exit codes."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import protobandit
from interfaces.cli.run_cli import HOME, call, only_line, run_process
from protobandit import __main__
from protobandit.interfaces.cli import list_commands, output
from protobandit.interfaces.cli import main as cli

COMMANDS = [
    *("select", "assign", "report", "certify", "compare"),
    *("methods", "metrics", "cache", "compile", "demo"),
]


HEAVY = {"numpy", "scipy", "sklearn", "llvmlite", "joblib", "pyarrow", "PIL", "matplotlib"}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import protobandit", {"typer", "rich", *HEAVY} - {"numpy"}),
        ("from protobandit.interfaces.cli.main import main; main(['select', '--help'])", HEAVY),
    ],
)
def test_heavy_libraries_are_loaded_only_when_needed(code, heavy):
    script = (
        f"import sys, contextlib\n"
        f"with contextlib.suppress(SystemExit): exec({code!r})\n"
        f"loaded = {heavy!r} & set(sys.modules)\n"
        f"sys.exit(f'{{sorted(loaded)}}' if loaded else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("protobandit ce", ["certify"]),
        ("protobandit select --method lazyb", ["lazybandit"]),
        ("protobandit compare a.npy --metric manh", ["manhattan"]),
        ("protobandit select --max-s", ["--max-seconds"]),
        ("protobandit select --impute me", ["mean", "median"]),
        ("protobandit select --effort b", ["balanced"]),
    ],
)
def test_completion_of_commands_and_names(words, found, capsys, monkeypatch):
    monkeypatch.setenv("_PROTOBANDIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    call()
    assert capsys.readouterr().out.split() == found


def test_completion_in_a_process(tmp_path):
    variables = {"COMP_WORDS": "protobandit ce", "COMP_CWORD": "1"}
    done = run_process(cwd=tmp_path, _PROTOBANDIT_COMPLETE="complete_bash", **variables)
    assert (done.stdout.split(), done.stderr) == (["certify"], "")
    done = run_process("--show-completion", "bash", cwd=tmp_path)
    assert done.returncode == 0
    assert "_PROTOBANDIT_COMPLETE" in done.stdout


def test_ctrl_c_while_loading_is_one_line(monkeypatch):
    class Interrupting(dict):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "protobandit.interfaces.cli.main", Interrupting())
    with pytest.raises(SystemExit, match=r"^protobandit: Interrupted; nothing was written\.$"):
        __main__.main()


# -- help and version -----------------------------------------------------------------------------


def printed_by(capsys, *arguments):
    assert call(*arguments) == 0
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)  # some CI services force colour


def test_version(capsys):
    assert printed_by(capsys, "--version") == f"protobandit {protobandit.__version__}\n"


def test_without_a_command_the_help_is_printed(capsys):
    printed = printed_by(capsys)
    assert printed == printed_by(capsys, "--help")
    places = [printed.index(f"│ {command} ") for command in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    printed = printed_by(capsys, command, "--help")
    assert "Examples:" in printed
    assert f"protobandit {command}" in printed[printed.index("Examples:") :]


def test_the_options_of_select_are_in_panels(capsys):
    printed = printed_by(capsys, "select", "-h")
    panels = ["Problem", "Input", "Preparation", "Search", "Limits and checkpoints", "Output"]
    places = [printed.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_no_python_types_and_fits_80_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = printed_by(capsys, *filter(None, [command]), "--help")
    assert not re.search(r"<\w+(\[\w+\])?>", printed)
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("command", ["methods", "metrics"])
def test_tables_fit_80_columns(command, capsys):
    assert max(map(len, printed_by(capsys, command).splitlines())) <= 80


def test_the_hint_for_k(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(3))
    assert call("select", "a.npy", "--k", "2") == 2
    line = only_line(capsys.readouterr().err)
    assert line == "No such option: --k (write -k). See `protobandit select --help`."


def test_help_in_a_narrow_encoding(tmp_path):
    done = run_process("select", "--help", cwd=tmp_path, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert "--target" in done.stdout


# -- errors and exit codes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (protobandit.InvalidInput("k is\n  wrong."), 2, r"k is\n wrong."),
        (protobandit.NotAvailable("no rows."), 1, "no rows."),
        (OSError(errno.EIO, "Input/output error", "a.csv"), 1, "Input/output error: 'a.csv'"),
        (MemoryError(), 1, "--max-memory"),
        (KeyboardInterrupt(), 1, "Interrupted; nothing was written."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_is_one_line(raised, code, words, monkeypatch, capsys):
    def fail(table, legend=""):
        raise raised

    monkeypatch.setattr(output, "print_table", fail)
    assert call("metrics") == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err.lstrip("\n"))


def test_unexpected_exceptions_are_not_hidden(monkeypatch):
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
        (["select", "a.npy", "-k", "3", "--seed", "-1"], "--seed '-1' is not an integer >= 0"),
        (["select", "a.npy", "-k", "3", "--format", "xlsx"], "'--format': 'xlsx' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_invalid_call_is_one_line(arguments, words, capsys):
    assert call(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err)


# -- a limited address space (ulimit -v) -----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("", 2, "of memory for this problem, but"),
        ("--max-memory 9GB", 1, "Not enough memory. Pass --max-memory"),
    ],
)
def test_too_little_memory_ends_with_a_message(tmp_path, options, code, message):
    np.save(tmp_path / "rows.npy", np.zeros((20_000, 2), dtype=np.float32))
    select = f"{sys.executable} -m protobandit select rows.npy -k 2 --method fasterpam {options}"
    command = ["bash", "-c", f"ulimit -v 1500000; {select} --out made"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert len(done.stderr.splitlines()) < 10
    assert not (tmp_path / "made").exists()
