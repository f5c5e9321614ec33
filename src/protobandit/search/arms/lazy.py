"""Lazy greedy: pull only arms whose bound from an earlier round could still win (Minoux 1978)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import require_integer
from protobandit.search.arms.contract import (
    Bounds,
    Choice,
    Identification,
    Pull,
    Terms,
    top,
    upper_bounds,
)

# A gain that is summed in another order differs in its last bits, which must not hide a tie.
_ROUNDING = 1e-9
_HEAD = 256  # arms that are sorted first, before all are
_SAMPLE = 1024  # bounds that are sorted to find these arms


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """Pull arms in the order of their old upper bounds until no other arm can reach the best.

    A gain never grows when prototypes are added, so the gain of the last round bounds the gain of
    this round from above. Each batch has twice the size of the one before, but never contains an
    arm that can no longer win.

    Guarantee: the choice of `Exhaustive`, including ties.
    Cost: at most ``len(arms) * population`` pulls; exactly that many without ``bounds``.
    Reference: Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.

    Parameters
    ----------
    batch
        How many arms to pull before the first check.
    """

    batch: int = 16

    def __post_init__(self) -> None:
        require_integer(self.batch, "batch")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the best arms, and the updated bounds for the next round."""
        upper = upper_bounds(arms, bounds)
        old = upper[arms]
        gains = np.full(len(arms), -np.inf)
        pulled = np.empty(0, dtype=np.int64)
        batch = max(self.batch, terms.picks)
        n_next = max(batch, int(np.isinf(old).sum()))
        for head in _heads(old, max(_HEAD, n_next)):
            queue = head[np.isneginf(gains[head])]
            if len(pulled):
                n_next = min(batch, _n_contenders(gains[pulled], terms.picks, old[queue]))
            while n_next and len(queue):
                fresh, queue = queue[:n_next], queue[n_next:]
                gains[fresh] = (yield Pull(arms[fresh], terms.population)).mean
                pulled = np.concatenate([pulled, fresh])
                batch *= 2
                n_next = min(batch, _n_contenders(gains[pulled], terms.picks, old[queue]))
            if len(queue):
                break
        upper[arms[pulled]] = np.minimum(old[pulled], gains[pulled])
        pulled = np.sort(pulled)
        chosen, means = top(arms[pulled], gains[pulled], terms.picks)
        return Choice(arms=chosen, means=means, bounds=Bounds(upper))


def _heads(old: Doubles, n: int) -> Iterator[Ids]:
    """Yield about ``n`` arms with the largest bounds, in descending order, then all arms."""
    step = max(1, len(old) // _SAMPLE)
    if n < len(old) // 2:
        # A sample gives a good enough limit; selecting the n largest takes much longer.
        limit = np.sort(old[::step])[-max(1, n // step)]
        head = np.flatnonzero(old >= limit)
        yield head[np.argsort(-old[head], kind="stable")]
    yield np.argsort(-old, kind="stable")


def _n_contenders(gains: Doubles, picks: int, descending: Doubles) -> int:
    """Return how many of the old bounds reach the ``picks``-th largest gain or tie with it."""
    if picks > len(gains):
        return len(descending)
    least = float(np.partition(gains, -picks)[-picks])
    return int(np.searchsorted(-descending, -(least - _ROUNDING * abs(least)), side="right"))
