"""What is shown while a search goes on."""

import io
import math
import re
import sys

import pytest

from protobandit.interfaces.cli import progress as progress_module
from protobandit.interfaces.cli.progress import (
    count,
    duration,
    in_short,
    in_words,
    seconds_left,
    watching,
)
from protobandit.run.progress.watch import Progress


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


def test_in_words():
    assert in_words(progress()) == (
        "racing: 3 of 20 prototypes, cost 1.25, 1,234,567 evaluations, about 30 s left"
    )
    bare = progress(cost=math.nan, share=0.0, doing="")
    assert in_words(bare) == "3 of 20 prototypes, 1,234,567 evaluations"


def test_in_short():
    shown = in_short(progress())
    assert shown == "3 of 20, 30 s left, cost 1.25, 1.23M evaluations: racing"
    bare = progress(cost=math.nan, share=0.0, doing="")
    assert in_short(bare) == "3 of 20, 1.23M evaluations"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (98_765, "98,765"), (999_999, "1M"), (999_900_000, "1G"), (10**12 - 1, "1T")],
)
def test_counts(number, words):
    assert count(number) == words


def test_the_time_left_is_not_guessed_too_early():
    assert seconds_left(progress(seconds=0.5)) is None
    assert seconds_left(progress(share=1.0)) is None
    assert seconds_left(progress(share=0.8)) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.2, "3 s"), (99, "99 s"), (300, "5 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    return now


def test_lines_come_now_and_then(clock, capsys):
    with watching(is_quiet=False) as watch:
        for second in range(12):
            clock[0] = float(second)
            watch.show(progress(n_picked=second))
        watch.tell("unseen")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" of ")[0] for line in lines] == ["racing: 5", "racing: 10"]


def test_nothing_is_shown_when_quiet(clock, capsys):
    with watching(is_quiet=True) as watch:
        clock[0] = 100.0
        watch.show(progress())
        watch.tell("unseen")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("width", "n_bar"), [(140, 24), (80, 8), (60, 0)])
def test_a_terminal_gets_a_bar_that_goes_away(width, n_bar, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with watching(is_quiet=False) as watch:
        watch.tell("Reading [a] file")
        watch.bar.refresh()
        watch.show(progress())
        watch.bar.refresh()
    shown = screen.getvalue()
    assert "Reading [a] file" in shown
    assert "3 of 20, 30 s left, cost 1.25, 1.23M evaluations" in shown
    frames = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown))
    assert {len(re.findall("[━╸╺]", frame)) for frame in frames if "left" in frame} == {n_bar}
    assert shown.rstrip().endswith("\x1b[2K")  # the line is cleared
