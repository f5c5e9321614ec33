"""k-medoids by swaps on the whole matrix: PAM for a source and a target, and its faster forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from protobandit.foundation.checks import require_integer
from protobandit.search.drivers.full_swaps import best_passes, eager_passes
from protobandit.search.methods.greedy import LazyGreedy
from protobandit.search.methods.swap_passes import Passes, SwapPassMethod


@dataclass(frozen=True, kw_only=True)
class PAM(SwapPassMethod):
    """Partitioning around medoids, for any source and target: BUILD, then the best swap of all.

    Every pass sums over the target for each pair of a prototype and another row; `FastPAM1` finds
    the same swaps in a k-th of the time. Evaluations: |S||T|, all of which are kept.

    Parameters
    ----------
    init
        "build" (greedy), "random", "heuristic" (the most central rows), "k-medoids++" (rows that
        are far apart), the numbers of k source rows, or a `Selection`.
    max_iter
        How many passes at most; 0 leaves the start as it is.
    r
        How many rows an iteration of BUILD takes.
    n_swaps
        How many swaps a pass makes at most, each for another prototype.

    References
    ----------
    Kaufman, Rousseeuw (1990), Finding Groups in Data, chapter 2.
    """

    name: ClassVar[str] = "pam"
    r: int = 1
    n_swaps: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.r, "r")
        require_integer(self.n_swaps, "n_swaps")

    @property
    def passes(self) -> Passes:
        return partial(best_passes, n_swaps=self.n_swaps, is_pairwise=True)

    @property
    def builder(self) -> LazyGreedy:
        return LazyGreedy(r=self.r, memoize=True)


@dataclass(frozen=True, kw_only=True)
class FastPAM1(SwapPassMethod):
    """The result of `PAM`, with each pass k times as fast.

    What an arm gains by itself and what it saves of each removal add up row by row, so one pass
    over its distances tells its best swap.

    Parameters
    ----------
    init, max_iter
        As in `PAM`.

    References
    ----------
    Schubert, Rousseeuw (2019), Faster k-medoids clustering.
    """

    name: ClassVar[str] = "fastpam1"

    @property
    def passes(self) -> Passes:
        return best_passes


@dataclass(frozen=True, kw_only=True)
class FasterPAM(SwapPassMethod):
    """Swaps made as soon as they help, in few passes over all rows.

    It ends, like `PAM`, where no single swap lowers the cost, though not always at the same place.

    Parameters
    ----------
    init, max_iter
        As in `PAM`; random rows by default, from where few passes are needed too.

    References
    ----------
    Schubert, Rousseeuw (2021), Fast and eager k-medoids clustering.
    """

    name: ClassVar[str] = "fasterpam"
    init: Any = "random"

    @property
    def passes(self) -> Passes:
        return eager_passes
