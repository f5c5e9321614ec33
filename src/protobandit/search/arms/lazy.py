"""Greedy with stale bounds: look again only at arms that could still win (Minoux 1978)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.search.arms.contract import Bounds, Choice, Identification, Pull, Terms, top
from protobandit.search.arms.exhaustive import uppers

# The same gain added up in another order differs in its last bits, which must not hide a tie.
_ROUNDING = 1e-9
_HEAD = 256  # arms put in order before all are
_SAMPLE = 1024  # bounds looked at to find these


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """Pull arms in the order of their stale upper bounds until no other can reach the best.

    A gain only shrinks while prototypes are added, so last round's gain bounds this round's from
    above. Each batch doubles the one before, but never takes an arm that can no longer win.

    Guarantee: the choice of `Exhaustive`, ties included.
    Cost: at most ``len(arms) * population`` pulls, all of it without ``bounds``.
    Reference: Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.

    Parameters
    ----------
    batch
        How many arms to look at before the first check.
    """

    batch: int = 16

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise InvalidInput(f"batch={self.batch} arms cannot be pulled. Pass batch >= 1.")

    def identify(self, arms: Ids, terms: Terms, bounds: Bounds | None = None) -> Identification:
        """Return the best arms and the bounds, made tighter, for the next round."""
        upper = uppers(arms, bounds)
        stale = upper[arms]
        gains = np.full(len(arms), -np.inf)
        looked = np.empty(0, dtype=np.int64)
        batch = max(self.batch, terms.picks)
        n_next = max(batch, int(np.isinf(stale).sum()))
        for head in _heads(stale, max(_HEAD, n_next)):
            queue = head[np.isneginf(gains[head])]
            if len(looked):
                n_next = min(batch, _n_contenders(gains[looked], terms.picks, stale[queue]))
            while n_next and len(queue):
                fresh, queue = queue[:n_next], queue[n_next:]
                gains[fresh] = (yield Pull(arms[fresh], terms.population)).mean
                looked = np.concatenate([looked, fresh])
                batch *= 2
                n_next = min(batch, _n_contenders(gains[looked], terms.picks, stale[queue]))
            if len(queue):
                break
        upper[arms[looked]] = np.minimum(stale[looked], gains[looked])
        looked = np.sort(looked)
        chosen, means = top(arms[looked], gains[looked], terms.picks)
        return Choice(arms=chosen, means=means, bounds=Bounds(upper))


def _heads(stale: Doubles, n: int) -> Iterator[Ids]:
    """Yield about ``n`` arms of largest bound, in descending order, and then all arms."""
    step = max(1, len(stale) // _SAMPLE)
    if n < len(stale) // 2:
        # A sample tells well enough where to cut; selecting the n largest takes far longer.
        cut = np.sort(stale[::step])[-max(1, n // step)]
        head = np.flatnonzero(stale >= cut)
        yield head[np.argsort(-stale[head], kind="stable")]
    yield np.argsort(-stale, kind="stable")


def _n_contenders(gains: Doubles, picks: int, descending: Doubles) -> int:
    """Return how many of the stale bounds reach the ``picks``-th largest gain, or tie with it."""
    if picks > len(gains):
        return len(descending)
    least = float(np.partition(gains, -picks)[-picks])
    return int(np.searchsorted(-descending, -(least - _ROUNDING * abs(least)), side="right"))
