"""What ``protobandit demo`` shows: prototypes of scikit-learn's digits by several methods.

Computes and returns; printing and writing are the command line's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from protobandit._select import select
from protobandit.foundation.array_types import Doubles, Floats, Ids
from protobandit.foundation.errors import InvalidInput
from protobandit.result.report.gallery import gallery
from protobandit.result.selection import Selection

METHODS = ("lazybandit", "lazygreedy", "stochasticgreedy", "protobandit")
N_RANDOM = 10  # how many random choices are averaged

_SHOWN = METHODS[0]
_STAMP = "<!-- protobandit demo "


@dataclass(frozen=True, kw_only=True)
class Digits:
    """The images as rows, and the digit each shows."""

    rows: Doubles
    labels: Ids

    @property
    def images(self) -> Doubles:
        """Return the rows as 8 x 8 images."""
        return self.rows.reshape(-1, 8, 8)


@dataclass(frozen=True, kw_only=True)
class DemoScore:
    """One line of the table.

    ``cost_error`` is the standard error of ``cost``. ``by_nearest`` and ``by_barycentre`` are the
    shares of images that get their own digit.
    """

    cost: float
    cost_error: float
    evaluations: float
    seconds: float
    by_nearest: float
    by_barycentre: float


class Trial(NamedTuple):
    """One run of one method, and what it is worth."""

    selection: Selection
    score: DemoScore


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The scores by method, the picture as SVG, and how many images there were."""

    scores: dict[str, DemoScore]
    picture: str
    n_images: int


def run(k: int, *, seed: int, tell: Callable[[str], None]) -> Demo:
    """Select ``k`` digits by each method, score them, and draw those of exact greedy.

    Parameters
    ----------
    k
        How many prototypes.
    seed
        The seed of the methods that draw; random rows use the next ones too.
    tell
        Called with a sentence before each piece of work.
    """
    tell("Loading scikit-learn's digits …")
    digits = load()
    n = len(digits.rows)
    if not 1 <= k <= n:
        raise InvalidInput(f"k={k} is not possible with {n} images. Pass -k 1 to {n}.")
    tell("Warming up (the first run on a machine compiles, which takes some seconds) …")
    for method in (*METHODS, "random"):
        select(digits.rows, k=min(k, 3), method=method, random_state=seed)
    trials = {}
    for method in METHODS:
        tell(f"Selecting {k} of {n} images by {method} …")
        trials[method] = trial(digits, k, method=method, seed=seed)
    tell(f"Selecting {k} of {n} images at random, {N_RANDOM} times …")
    draws = [trial(digits, k, method="random", seed=seed + i).score for i in range(N_RANDOM)]
    return Demo(
        scores={name: each.score for name, each in trials.items()} | {"random": average(draws)},
        picture=stamped(draw(digits, trials[_SHOWN].selection)),
        n_images=n,
    )


def load() -> Digits:
    """Return the 1,797 digits that come with scikit-learn."""
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    return Digits(rows=rows, labels=labels.astype(np.int64))


def trial(digits: Digits, k: int, *, method: str, seed: int) -> Trial:
    """Select by one method, timed, and score the outcome."""
    started = perf_counter()
    selection = select(digits.rows, k=k, method=method, random_state=seed)
    seconds = perf_counter() - started
    nearest = selection.assign(digits.rows).labels
    kinds = digits.labels[selection.indices]
    moved = barycentres(digits.rows, nearest, digits.rows[selection.indices])
    score = DemoScore(
        cost=selection.cost,
        cost_error=selection.cost_error,
        evaluations=selection.evaluations,
        seconds=seconds,
        by_nearest=float(np.mean(kinds[nearest] == digits.labels)),
        by_barycentre=float(np.mean(kinds[_nearest(digits.rows, moved)] == digits.labels)),
    )
    return Trial(selection, score)


def barycentres(rows: Floats, nearest: Ids, prototypes: Floats) -> Doubles:
    """Return the mean of the rows nearest to each prototype; itself where there are none.

    These are the images of the prototypes under the transport plan that sends every row to its
    nearest prototype.
    """
    n_rows = np.bincount(nearest, minlength=len(prototypes))
    sums = np.zeros(prototypes.shape)
    np.add.at(sums, nearest, rows)
    means: Doubles = np.where(
        n_rows[:, None] > 0, sums / np.maximum(n_rows, 1)[:, None], prototypes
    )
    return means


def average(scores: list[DemoScore]) -> DemoScore:
    """Return the mean of each figure; the error is that of the mean cost over these draws."""
    table = {name: [asdict(score)[name] for score in scores] for name in asdict(scores[0])}
    means = {name: float(np.mean(values)) for name, values in table.items()}
    error = float(np.std(table["cost"], ddof=1) / np.sqrt(len(scores)))
    return DemoScore(**means | {"cost_error": error})


def draw(digits: Digits, selection: Selection) -> str:
    """Return the gallery of a selection."""
    n, method = len(digits.rows), selection.method
    return gallery(
        digits.images[selection.indices],
        selection.mass,
        title=f"{selection.k:,} of {n:,} handwritten digits, to stand for all",
        subtitle=f"{method} · cost {selection.cost:.4g} · {selection.evaluations:,} evaluations",
        note="Best first. The bar: the share of all images nearest to this one.",
        names=[f"digit {digits.labels[i]}, row {i}" for i in selection.indices],
    )


def stamped(picture: str) -> str:
    """Return the picture with a last line by which `is_ours` knows it again."""
    return f"{picture}{_STAMP}{_digest(picture)} -->\n"


def is_ours(text: str) -> bool:
    """Return whether ``text`` is a picture of this demo that nobody has changed since."""
    picture, _, _ = text.rpartition(_STAMP)
    return bool(picture) and text == stamped(picture)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def _nearest(rows: Any, points: Any) -> Ids:
    from sklearn.metrics import pairwise_distances_argmin

    nearest: Ids = pairwise_distances_argmin(rows, points)
    return nearest
