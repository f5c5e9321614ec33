"""The environments of rivals: made from pins, or not, with a reason (benchmarks/peers/setup.py)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from benchmarks._peers import SCRIPTS
from benchmarks.peers import setup

every_environment = pytest.mark.parametrize("name", setup.names())


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(setup, "REQUIREMENTS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_environments_that_cannot_be_made_say_why(requirements: Path) -> None:
    envs = requirements / "envs"
    (requirements / "old.txt").write_text("# python <= 3.9\nnothing==1.0\n")
    assert "needs Python 3.9 or older" in (setup.make(envs, "old") or "")
    (requirements / "new.txt").write_text("nothing==1.0\n")
    home = envs / "new"
    home.mkdir(parents=True)
    (home / "letter.txt").write_text("dear")
    assert "is no environment" in (setup.make(envs, "new") or "")
    assert (home / "letter.txt").exists()
    (home / "made-from.txt").write_text("nothing==1.0\n")
    assert setup.make(envs, "new") is None
    assert setup.packages("old") == ["nothing==1.0"]


@pytest.mark.parametrize("is_locked", [True, False])
def test_what_the_pins_need_comes_in_the_versions_of_the_lock(
    requirements: Path, monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        home.mkdir(parents=True, exist_ok=True)
        (home / "pyvenv.cfg").touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    home = requirements / "envs" / "some"
    monkeypatch.setattr(setup.subprocess, "run", run)
    pins, lock = requirements / "some.txt", requirements / "some.lock"
    pins.write_text("nothing==1.0\n")
    if is_locked:
        lock.write_text("naught==2.0\nnothing==1.0\n")
    assert setup.make(requirements / "envs", "some") is None
    constraint = ["-c", str(lock)] if is_locked else []
    assert commands[-1][-2 - len(constraint) :] == ["-r", str(pins), *constraint]
    assert setup.make(requirements / "envs", "some") is None
    assert len(commands) == 2, "it is made once"
    lock.write_text("naught==2.1\nnothing==1.0\n")
    assert setup.make(requirements / "envs", "some") is None
    assert len(commands) == 4, "and anew from another lock"


def test_the_reason_is_pips_last_error() -> None:
    words = "WARNING: x\nERROR: Could not find it\nERROR: No matching distribution for y\nnote: z\n"
    assert setup._reason(words) == "ERROR: No matching distribution for y"


# -- the pins -------------------------------------------------------------------------------------


def versions(lines: list[str]) -> dict[str, str]:
    """Return versions by name, written as packages are compared."""
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


@every_environment
def test_every_environment_has_a_lock_that_agrees_with_its_pins(name: str) -> None:
    lines = (setup.REQUIREMENTS / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    first, *rest = lines
    assert re.fullmatch(r"# pip freeze, Python 3\.\d+, \w+ \w+", first)
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in rest), "versions, no addresses"
    pins, locked = versions(setup.packages(name)), versions(rest)
    assert len(locked) == len(rest)
    assert pins.items() <= locked.items()


def test_no_lock_is_left_of_an_environment_that_is_no_more() -> None:
    assert sorted(path.stem for path in setup.REQUIREMENTS.glob("*.lock")) == setup.names()


def test_what_the_benchmarks_run_is_there() -> None:
    texts = (path.read_text(encoding="utf-8") for path in SCRIPTS.parent.rglob("*.py"))
    run = {script for text in texts for script in re.findall(r'_peers\.run\(\s*"(\w+\.py)"', text)}
    assert {"fasterpam.py", "pam.py", "interpret_spot.py"} <= run
    assert run <= {path.name for path in SCRIPTS.glob("*.py")}
