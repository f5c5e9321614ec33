"""Listeners for tests of progress and interruptions."""

from __future__ import annotations

from protobandit.run.progress import combined, reporter
from watched import look_often


class Recording:
    """A listener that records its calls; at its n-th call it does something."""

    def __init__(self, n=None, then=None):
        self.calls, self.n, self.then = [], n, then

    def __call__(self, progress):
        self.calls.append(progress)
        if len(self.calls) == self.n:
            self.then()


def report_often(monkeypatch):
    """Look and report at every opportunity."""
    look_often(monkeypatch)
    monkeypatch.setattr(reporter, "EVERY", 0.0)
    monkeypatch.setattr(combined, "EVERY", 0.0)
