"""What is going on, on stderr: a bar where there is a terminal, else a line now and then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from protobandit.interfaces.cli import output

if TYPE_CHECKING:
    from protobandit.run.progress.reporter import Progress

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_TO_JUDGE_BY = 1.0  # before which the time left is anyone's guess


_BAR_WIDTHS = ((100, 24), (72, 8))  # columns of a terminal, and of the bar; below, words alone
_SCALES = ((10**12, "T"), (10**9, "G"), (10**6, "M"))


class ProgressDisplay(Protocol):
    """Shows what is going on."""

    def tell(self, sentence: str) -> None:
        """Show what is being done, in words."""
        ...

    def show(self, progress: Progress) -> None:
        """Show how far a search is."""
        ...


@contextmanager
def watching(*, is_quiet: bool) -> Iterator[ProgressDisplay]:
    """Show what is going on, unless told to be quiet."""
    if is_quiet:
        yield _Nothing()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    words = TextColumn("{task.description}", markup=False)
    width = next((width for least, width in _BAR_WIDTHS if console.width >= least), None)
    drawn = () if width is None else (BarColumn(bar_width=width),)
    # What was shown is gone at the end; the result says more.
    with Bar(SpinnerColumn(), *drawn, words, console=console, transient=True) as bar:
        yield _Bar(bar)


class _Nothing:
    def tell(self, sentence: str) -> None:
        pass

    def show(self, progress: Progress) -> None:
        pass


class _Lines:
    """At most a line every few seconds, so that a short run says nothing."""

    def __init__(self) -> None:
        self.last = monotonic()

    def tell(self, sentence: str) -> None:
        now = monotonic()
        if now - self.last >= _SECONDS_BETWEEN_LINES:
            self.last = now
            output.tell(sentence)

    def show(self, progress: Progress) -> None:
        self.tell(in_words(progress))


class _Bar:
    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.task = bar.add_task("", total=None)

    def tell(self, sentence: str) -> None:
        self.bar.update(self.task, description=sentence)

    def show(self, progress: Progress) -> None:
        self.bar.update(
            self.task,
            description=in_short(progress),
            total=1.0,
            completed=progress.share,
        )


def in_words(progress: Progress) -> str:
    """Return how far a search is, as a line."""
    parts = [f"{progress.n_picked:,} of {progress.k:,} prototypes"]
    if progress.cost == progress.cost:
        parts.append(f"cost {progress.cost:.6g}")
    parts.append(f"{progress.evaluations:,} evaluations")
    left = seconds_left(progress)
    if left is not None:
        parts.append(f"about {duration(left)} left")
    return f"{progress.doing}: {', '.join(parts)}" if progress.doing else ", ".join(parts)


def in_short(progress: Progress) -> str:
    """Return the same for a terminal of 80 columns; what is cut off in a narrower one comes last.

    >>> from protobandit import Progress
    >>> in_short(Progress(n_picked=3, k=20, cost=1.25, evaluations=1234567, planned=None,
    ...                   seconds=10.0, share=0.25, doing="racing"))
    '3 of 20, 30 s left, cost 1.25, 1.23M evaluations: racing'
    """
    left = seconds_left(progress)
    parts = [f"{progress.n_picked:,} of {progress.k:,}"]
    if left is not None:
        parts.append(f"{duration(left)} left")
    if progress.cost == progress.cost:
        parts.append(f"cost {progress.cost:.4g}")
    parts.append(f"{count(progress.evaluations)} evaluations")
    return f"{', '.join(parts)}: {progress.doing}" if progress.doing else ", ".join(parts)


def count(number: int) -> str:
    """Return a number in a few characters: 123,456 or 4.56M."""
    for scale, unit in _SCALES:
        if number >= 0.9995 * scale:  # which is rounded to 1
            return f"{number / scale:.3g}{unit}" if number < 999.5 * scale else f"{number:.2e}"
    return f"{number:,}"


def seconds_left(progress: Progress) -> float | None:
    """Return how long the rest takes if it goes on like this, once there is something to go by."""
    if not 0 < progress.share < 1 or progress.seconds < _SECONDS_TO_JUDGE_BY:
        return None
    return progress.seconds * (1 / progress.share - 1)


def duration(seconds: float) -> str:
    """Return a time as a person would say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
