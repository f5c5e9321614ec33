"""Progress on stderr: a bar in a terminal, else a line every few seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from protobandit.foundation.visible_text import visible
from protobandit.interfaces.cli import output

if TYPE_CHECKING:
    from protobandit.run.progress.reporter import Progress

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BEFORE_ESTIMATE = 1.0  # an earlier estimate of the remaining time would be unreliable


_BAR_WIDTHS = ((100, 24), (72, 8))  # width of the terminal, width of the bar; no bar if narrower
_SCALES = ((10**12, "T"), (10**9, "G"), (10**6, "M"))


class ProgressDisplay:
    """Shows the current step and the progress of a search; this one shows nothing."""

    def notify(self, sentence: str) -> None:
        """Show the current step."""

    def show(self, progress: Progress) -> None:
        """Show the progress of a search."""


@contextmanager
def progress_display(*, is_quiet: bool) -> Iterator[ProgressDisplay]:
    """Open a display that suits stderr; it shows nothing if ``is_quiet``."""
    if is_quiet:
        yield ProgressDisplay()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    text = TextColumn("{task.description}", markup=False)
    width = next((width for least, width in _BAR_WIDTHS if console.width >= least), None)
    bars = () if width is None else (BarColumn(bar_width=width),)
    # The bar is removed at the end; the result follows in its place.
    with Bar(SpinnerColumn(), *bars, text, console=console, transient=True) as bar:
        yield _Bar(bar)


class _Lines(ProgressDisplay):
    """At most one line every few seconds, so that a short run prints nothing."""

    def __init__(self) -> None:
        self.last = monotonic()

    def notify(self, sentence: str) -> None:
        now = monotonic()
        if now - self.last >= _SECONDS_BETWEEN_LINES:
            self.last = now
            output.print_status(sentence)

    def show(self, progress: Progress) -> None:
        self.notify(long_line(progress))


class _Bar(ProgressDisplay):
    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.task = bar.add_task("", total=None)

    def notify(self, sentence: str) -> None:
        self.bar.update(self.task, description=visible(sentence))

    def show(self, progress: Progress) -> None:
        self.bar.update(
            self.task,
            description=short_line(progress),
            total=1.0,
            completed=progress.share,
        )


def long_line(progress: Progress) -> str:
    """Return the progress of a search as a line of a log."""
    parts = [f"{progress.n_picked:,} of {progress.k:,} prototypes"]
    if progress.cost == progress.cost:
        parts.append(f"cost {progress.cost:.6g}")
    parts.append(f"{progress.evaluations:,} distances")
    left = seconds_left(progress)
    if left is not None:
        parts.append(f"about {format_duration(left)} left")
    return f"{progress.doing}: {', '.join(parts)}" if progress.doing else ", ".join(parts)


def short_line(progress: Progress) -> str:
    """Return the progress for a terminal of 80 columns; the least important part comes last.

    >>> from protobandit import Progress
    >>> short_line(Progress(n_picked=3, k=20, cost=1.25, evaluations=1234567, planned=None,
    ...                     seconds=10.0, share=0.25, doing="racing"))
    '3 of 20, 30 s left, cost 1.25, 1.23M distances: racing'
    """
    left = seconds_left(progress)
    parts = [f"{progress.n_picked:,} of {progress.k:,}"]
    if left is not None:
        parts.append(f"{format_duration(left)} left")
    if progress.cost == progress.cost:
        parts.append(f"cost {progress.cost:.4g}")
    parts.append(f"{format_count(progress.evaluations)} distances")
    return f"{', '.join(parts)}: {progress.doing}" if progress.doing else ", ".join(parts)


def format_count(number: int) -> str:
    """Return a number in a few characters: 123,456 or 4.56M."""
    for scale, unit in _SCALES:
        if number >= 0.9995 * scale:  # rounds to 1 of this unit
            return f"{number / scale:.3g}{unit}" if number < 999.5 * scale else f"{number:.2e}"
    return f"{number:,}"


def seconds_left(progress: Progress) -> float | None:
    """Return the remaining time at the current speed, or None if it cannot be estimated.

    Estimates below one second are not shown, because a search may take longer than planned.
    """
    if not 0 < progress.share < 1 or progress.seconds < _SECONDS_BEFORE_ESTIMATE:
        return None
    left = progress.seconds * (1 / progress.share - 1)
    return left if left >= 1 else None


def format_duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
