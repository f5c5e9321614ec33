"""k-medoids in the manner of k-means: assign, recentre, repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protobandit.search.drivers.voronoi import voronoi_passes
from protobandit.search.methods.swap_passes import Passes, SwapPassMethod


@dataclass(frozen=True, kw_only=True)
class Alternate(SwapPassMethod):
    """Every prototype moves to the middle of its cell, until none does (Voronoi iteration).

    A pass reads a k-th of the matrix, but prototypes never leave their neighbourhood, so the result
    is worse than by swaps. Evaluations: |S||T|, all of which are kept.

    Parameters
    ----------
    init, max_iter
        As in `PAM`.

    References
    ----------
    Maranzana (1963); Park, Jun (2009), A simple and fast algorithm for k-medoids clustering.
    """

    name: ClassVar[str] = "alternate"

    @property
    def passes(self) -> Passes:
        return voronoi_passes
