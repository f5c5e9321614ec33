"""Voronoi iteration: k-medoids with the iteration of k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protobandit.search.drivers.voronoi import voronoi_passes
from protobandit.search.methods.swap_passes import Passes, SwapPassMethod


@dataclass(frozen=True, kw_only=True)
class Alternate(SwapPassMethod):
    """Move each prototype to the centre of its cell until none changes (Voronoi iteration).

    A cell is the target rows whose nearest prototype is the same. A pass reads 1/k of the matrix,
    but prototypes never leave their neighbourhood, so the result is worse than that of swaps.

    Evaluations: |S||T|. Memory: the |S| x |T| matrix.

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
