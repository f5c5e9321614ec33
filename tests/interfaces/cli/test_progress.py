"""The progress display."""

import io
import math
import re
import sys

import pytest

from protobandit.interfaces.cli import progress as progress_module
from protobandit.interfaces.cli.progress import (
    format_count,
    format_duration,
    long_line,
    progress_display,
    seconds_left,
    short_line,
)
from protobandit.run.progress.reporter import Progress


def progress(**fields):
    given = {
        "n_picked": 3,
        "k": 20,
        "cost": 1.25,
        "evaluations": 1234567,
        "planned": None,
        "seconds": 10.0,
        "share": 0.25,
        "doing": "racing",
    }
    return Progress(**{**given, **fields})


def test_long_line():
    assert long_line(progress()) == (
        "racing: 3 of 20 prototypes, cost 1.25, 1,234,567 distances, about 30 s left"
    )
    bare = progress(cost=math.nan, share=0.0, doing="")
    assert long_line(bare) == "3 of 20 prototypes, 1,234,567 distances"


def test_short_line():
    shown = short_line(progress())
    assert shown == "3 of 20, 30 s left, cost 1.25, 1.23M distances: racing"
    bare = progress(cost=math.nan, share=0.0, doing="")
    assert short_line(bare) == "3 of 20, 1.23M distances"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (98_765, "98,765"), (999_999, "1M"), (999_900_000, "1G"), (10**12 - 1, "1T")],
)
def test_counts(number, words):
    assert format_count(number) == words


def test_the_remaining_time_is_not_estimated_too_early():
    assert seconds_left(progress(seconds=0.5)) is None
    assert seconds_left(progress(share=1.0)) is None
    assert seconds_left(progress(share=0.8)) == pytest.approx(2.5)
    assert seconds_left(progress(share=0.999)) is None  # "0 s left" would stay


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.2, "3 s"), (99, "99 s"), (300, "5 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds, words):
    assert format_duration(seconds) == words


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    return now


def test_lines_are_printed_every_few_seconds(clock, capsys):
    with progress_display(is_quiet=False) as display:
        for second in range(12):
            clock[0] = float(second)
            display.show(progress(n_picked=second))
        display.notify("unseen")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" of ")[0] for line in lines] == ["racing: 5", "racing: 10"]


def test_nothing_is_shown_when_quiet(clock, capsys):
    with progress_display(is_quiet=True) as display:
        clock[0] = 100.0
        display.show(progress())
        display.notify("unseen")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("width", "n_bar"), [(140, 24), (80, 8), (60, 0)])
def test_a_terminal_shows_a_bar_and_clears_it(width, n_bar, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with progress_display(is_quiet=False) as display:
        display.notify("Reading [a] file")
        display.bar.refresh()
        display.show(progress())
        display.bar.refresh()
    shown = screen.getvalue()
    assert "Reading [a] file" in shown
    assert "3 of 20, 30 s left, cost 1.25, 1.23M distances" in shown
    frames = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown))
    assert {len(re.findall("[━╸╺]", frame)) for frame in frames if "left" in frame} == {n_bar}
    assert shown.rstrip().endswith("\x1b[2K")  # the line is cleared
