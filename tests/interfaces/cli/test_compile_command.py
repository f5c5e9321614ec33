"""``protobandit compile`` says what it compiled and where the code is."""

import json

import pytest

from interfaces.cli.run_cli import call, only_line, run_process
from interfaces.cli.test_main import printed_by
from protobandit.interfaces.jobs import compilation
from protobandit.kernels.jit import CompiledCode


@pytest.fixture
def compiled(monkeypatch):
    """Let two functions be compiled and one be there before."""
    code = CompiledCode(frozenset({"a", "b"}), frozenset({"c"}), "/opt/kernels")
    monkeypatch.setattr(compilation, "compile_usual", lambda: code)


@pytest.mark.usefixtures("compiled")
def test_numbers_and_folder_are_printed(capsys):
    printed = printed_by(capsys, "compile")
    assert printed == (
        "Compiled functions: 2. Already there: 1. Seconds: 0.\nFolder: /opt/kernels\n"
    )


@pytest.mark.usefixtures("compiled")
def test_json(capsys):
    found = json.loads(printed_by(capsys, "compile", "--json"))
    assert found == {"folder": "/opt/kernels", "compiled": 2, "loaded": 1, "seconds": 0.0}


def test_a_folder_that_cannot_be_written_ends_it_before_the_work(capsys, monkeypatch):
    code = CompiledCode(frozenset({"a"}), frozenset(), None)
    monkeypatch.setattr(compilation, "compiled_code", lambda: code)
    monkeypatch.setattr(compilation, "_solve", lambda rows: pytest.fail("it went on"))
    assert call("compile") == 1
    assert "Set PROTOBANDIT_CODE_FOLDER" in only_line(capsys.readouterr().err)


def test_nothing_can_be_compiled(tmp_path):
    done = run_process("compile", cwd=tmp_path, PROTOBANDIT_NUMPY_ONLY="1")
    assert done.returncode != 0
    assert "Nothing can be compiled" in only_line(done.stderr)
