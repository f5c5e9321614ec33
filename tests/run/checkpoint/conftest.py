from __future__ import annotations

import pytest

from protobandit.run.checkpoint import archive
from watched import Killed, look_often, resumed


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    look_often(monkeypatch)


@pytest.fixture
def kill(monkeypatch):
    """Return a function that runs a search and kills it after its n-th save.

    It returns the selection if the search ended before that, else None.
    """
    write, state = archive.CheckpointFile._write, {"left": -1}

    def killing(file, is_complete):
        if state["left"] == 0:
            return  # a killed process writes nothing
        write(file, is_complete)
        state["left"] -= 1
        if state["left"] == 0:
            raise Killed

    monkeypatch.setattr(archive.CheckpointFile, "_write", killing)

    def after(n, arguments, path):
        state["left"] = n
        try:
            return resumed(arguments, path)
        except Killed:
            return None
        finally:
            state["left"] = -1

    return after
