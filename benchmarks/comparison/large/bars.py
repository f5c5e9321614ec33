"""The bars: what this package is to reach against which rival, and whether it did.

A bar asks for a ratio of costs within a ratio of times, both ours divided by the rival's in the
same rounds, and may limit the growth of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.comparison.large.contestants import (
    AUTO_THOROUGH,
    BALANCED,
    FAISS,
    MINIBATCH,
    OURS,
    REFERENCE,
    RIVALS,
    SMALL_K,
    STATED,
    THOROUGH,
)
from benchmarks.comparison.large.ratios import Fits, Ratio
from benchmarks.comparison.results import Result

MET, MISSED, OPEN = "met", "missed", "open"
LEAST_K = 50  # of the cases in `frontiers`
TOLERANCE = 0.003  # by which a rival may be below our best cost in its own time


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar; ``is_strict`` demands a cost below the bar, ``gigabytes`` limits the growth.

    ``contestant`` is by default the plain call, and the stated effort for small k.
    """

    problem: str
    k: int
    rival: str
    cost: float
    time: float
    is_strict: bool = False
    aim: float | None = None
    gigabytes: float | None = None
    contestant: str | None = None

    @property
    def ours(self) -> str:
        return self.contestant or (STATED if self.k <= SMALL_K else REFERENCE)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A bar and what was measured; ``reason`` says why an open bar is open."""

    bar: Bar
    status: str
    ratio: Ratio | None = None
    growth: float | None = None
    reason: str = ""


_SMALL, _LARGE, _MNIST = "clusters-100000", "clusters-1000000", "mnist-60000"
BARS = (
    Bar(problem=_LARGE, k=1_000, rival=FAISS, cost=0.985, time=1.0, gigabytes=1.5),
    Bar(problem=_LARGE, k=1_000, rival=MINIBATCH, cost=0.995, time=1.0, aim=0.990),
    Bar(problem=_SMALL, k=10_000, rival=FAISS, cost=0.965, time=0.5),
    Bar(problem=_LARGE, k=10_000, rival=FAISS, cost=0.980, time=0.5, aim=0.975, gigabytes=3.0),
    *(
        Bar(problem=problem, k=100, rival=rival, cost=1.0, time=time, is_strict=True)
        for problem in (_SMALL, _LARGE)
        for rival, time in ((FAISS, 2.0), (MINIBATCH, 1.0))
    ),
    Bar(problem=_MNIST, k=1_000, rival=FAISS, cost=0.990, time=1 / 3, aim=0.985),
    Bar(problem=_MNIST, k=100, rival=BALANCED, cost=1.0, time=1.0, contestant=REFERENCE),
    Bar(problem=_MNIST, k=100, rival=THOROUGH, cost=1.0, time=1.0, contestant=AUTO_THOROUGH),
)


def verdicts(results: list[Result], bars: tuple[Bar, ...] = BARS) -> Iterator[Verdict]:
    """Yield the verdict of each bar."""
    for bar in bars:
        yield _verdict(bar, Fits(results, bar.problem, bar.k))


def _verdict(bar: Bar, fits: Fits) -> Verdict:
    if not fits.of(bar.ours):
        reason = fits.reason(bar.ours)
        status = OPEN if reason == "not measured" else MISSED  # a failure of ours is no excuse
        return Verdict(bar=bar, status=status, reason=f"{bar.ours}: {reason}")
    growth = fits.growth(bar.ours)
    ratio = fits.ratio(bar.ours, bar.rival)
    if ratio is None:
        reason = f"{bar.rival}: {fits.reason(bar.rival)}"
        return Verdict(bar=bar, status=OPEN, growth=growth, reason=reason)
    cost, time = ratio.cost[0], ratio.time[0]
    is_met = (cost < bar.cost if bar.is_strict else cost <= bar.cost) and time <= bar.time
    if bar.gigabytes is not None:
        if growth is None:
            return Verdict(bar=bar, status=OPEN, ratio=ratio, reason="memory is unknown")
        is_met = is_met and growth <= bar.gigabytes * 1e9
    return Verdict(bar=bar, status=MET if is_met else MISSED, ratio=ratio, growth=growth)


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """A rival against the best of our methods within the rival's time, on one problem.

    ``cost`` is the rival's cost divided by ours; it and ``ours`` are None if ours are all slower.
    """

    problem: str
    k: int
    rival: str
    ours: str | None
    cost: float | None

    @property
    def is_met(self) -> bool:
        return self.cost is not None and self.cost >= 1 - TOLERANCE


def frontiers(results: list[Result]) -> Iterator[Frontier]:
    """Yield all rivals that finished, on all problems that one of our methods finished."""
    for problem, k in dict.fromkeys((r.problem, r.k) for r in results if r.k >= LEAST_K):
        fits = Fits(results, problem, k)
        for rival in RIVALS:
            found = [(name, ratio) for name in OURS if (ratio := fits.ratio(rival, name))]
            in_time = [(ratio.cost[0], name) for name, ratio in found if ratio.time[0] >= 1]
            # The rival's cost divided by ours is largest for the best of ours.
            cost, ours = max(in_time, default=(None, None))
            if found:
                yield Frontier(problem=problem, k=k, rival=rival, ours=ours, cost=cost)
