"""The environments of rivals: made from pins, or not, with a reason (benchmarks/peers/setup.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.peers import setup


def test_environments_that_cannot_be_made_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "REQUIREMENTS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "old.txt").write_text("# python <= 3.9\nnothing==1.0\n")
    assert "needs Python 3.9 or older" in (setup.make(tmp_path / "envs", "old") or "")
    (tmp_path / "new.txt").write_text("nothing==1.0\n")
    home = tmp_path / "envs" / "new"
    home.mkdir(parents=True)
    (home / "letter.txt").write_text("dear")
    assert "is no environment" in (setup.make(tmp_path / "envs", "new") or "")
    assert (home / "letter.txt").exists()
    (home / "made-from.txt").write_text("nothing==1.0\n")
    assert setup.make(tmp_path / "envs", "new") is None
    assert setup.packages("old") == ["nothing==1.0"]


def test_the_reason_is_pips_last_error() -> None:
    words = "WARNING: x\nERROR: Could not find it\nERROR: No matching distribution for y\nnote: z\n"
    assert setup._reason(words) == "ERROR: No matching distribution for y"
