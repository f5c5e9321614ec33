"""Environments of other packages are created from pins, or the reason is returned."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from benchmarks.peers import setup

every_environment = pytest.mark.parametrize("name", setup.names())


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(setup, "REQUIREMENTS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_failure_returns_the_reason(requirements: Path) -> None:
    envs = requirements / "envs"
    (requirements / "old.txt").write_text("# python <= 3.9\nnothing==1.0\n")
    assert "needs Python 3.9 or older" in (setup.make(envs, "old") or "")
    (requirements / "new.txt").write_text("nothing==1.0\n")
    home = envs / "new"
    home.mkdir(parents=True)
    (home / "letter.txt").write_text("text")
    assert "is not an environment" in (setup.make(envs, "new") or "")
    assert (home / "letter.txt").exists()
    (home / "made-from.txt").write_text("nothing==1.0\n")
    assert setup.make(envs, "new") is None
    assert setup.packages("old") == ["nothing==1.0"]


@pytest.mark.parametrize("is_locked", [True, False])
def test_dependencies_have_the_versions_of_the_lock(
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
    assert len(commands) == 2, "created once"
    lock.write_text("naught==2.1\nnothing==1.0\n")
    assert setup.make(requirements / "envs", "some") is None
    assert len(commands) == 4, "created again after a change of the lock"


def test_reason_is_the_last_error_of_pip() -> None:
    output = (
        "WARNING: x\nERROR: Could not find it\nERROR: No matching distribution for y\nnote: z\n"
    )
    assert setup._reason(output) == "ERROR: No matching distribution for y"


# -- the pins -------------------------------------------------------------------------------------


def versions(lines: list[str]) -> dict[str, str]:
    """Return versions by normalised name."""
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


@every_environment
def test_lock_agrees_with_the_pins(name: str) -> None:
    lines = (setup.REQUIREMENTS / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    first, *rest = lines
    assert re.fullmatch(r"# pip freeze, Python 3\.\d+, \w+ \w+", first)
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in rest), "only versions"
    pins, locked = versions(setup.packages(name)), versions(rest)
    assert len(locked) == len(rest)
    assert pins.items() <= locked.items()


def test_every_lock_has_an_environment() -> None:
    assert sorted(path.stem for path in setup.REQUIREMENTS.glob("*.lock")) == setup.names()
