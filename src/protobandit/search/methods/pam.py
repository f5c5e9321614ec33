"""k-medoids by swaps on the whole matrix: PAM, FastPAM1 and FasterPAM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from protobandit.foundation.checks import require_integer
from protobandit.search.drivers.full_swaps import best_passes, eager_passes
from protobandit.search.methods.swap_passes import Passes, SwapPassMethod


@dataclass(frozen=True, kw_only=True)
class PAM(SwapPassMethod):
    """Partitioning around medoids: greedy selection (BUILD), then the best swap of each pass.

    The source may differ from the target. Every pass sums over the target for each pair of a
    prototype and another row; `FastPAM1` finds the same swaps in 1/k of the time.

    Evaluations: |S||T|. Memory: the |S| x |T| matrix.

    Parameters
    ----------
    init
        "build" (greedy), "random", "heuristic" (the most central rows), "k-medoids++" (rows that
        are far apart), the numbers of k source rows, or a `Selection`.
    max_iter
        Largest number of passes; 0 returns the start.
    r
        Number of rows per iteration of BUILD.
    n_swaps
        Largest number of swaps per pass, each of another prototype.

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
    def rows_per_iteration(self) -> int:
        return self.r


@dataclass(frozen=True, kw_only=True)
class FastPAM1(SwapPassMethod):
    """The result of `PAM`, with passes that are k times as fast.

    The change of the cost by a swap is the gain of the new row plus a correction for the removed
    prototype. Both are sums over target rows, so one pass over the distances of a row finds its
    best swap.

    Evaluations: |S||T|. Memory: the |S| x |T| matrix.

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
    """k-medoids by swaps that are made as soon as they lower the cost; few passes are needed.

    Like `PAM`, it ends when no single swap lowers the cost, but its result can differ.

    Evaluations: |S||T|. Memory: the |S| x |T| matrix.

    Parameters
    ----------
    init, max_iter
        As in `PAM`. The default is random rows, which also need few passes.

    References
    ----------
    Schubert, Rousseeuw (2021), Fast and eager k-medoids clustering.
    """

    name: ClassVar[str] = "fasterpam"
    init: Any = "random"

    @property
    def passes(self) -> Passes:
        return eager_passes
