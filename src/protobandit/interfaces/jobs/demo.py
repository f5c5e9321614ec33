"""The computation of ``protobandit demo``: prototypes of scikit-learn's digits by several methods.

Nothing here prints or writes; the command line does.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from protobandit._select import select
from protobandit.foundation.errors import InvalidInput
from protobandit.interfaces.jobs.read_options import Notify
from protobandit.result.report.gallery import gallery
from protobandit.result.selection import Selection

METHODS = ("lazybandit", "lazygreedy", "stochasticgreedy", "protobandit")
N_RANDOM = 10  # random selections that are averaged

_DRAWN = METHODS[0]
_SIGNATURE = "<!-- protobandit demo "


@dataclass(frozen=True, kw_only=True)
class DemoScore:
    """One line of the table.

    ``cost_error`` is the standard error of ``cost``. ``by_nearest`` and ``by_barycentre`` are the
    fractions of images that are labelled correctly.
    """

    cost: float
    cost_error: float
    evaluations: float
    seconds: float
    by_nearest: float
    by_barycentre: float


class ScoredSelection(NamedTuple):
    """One run of one method, and its score."""

    selection: Selection
    score: DemoScore


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The scores by method, the picture as SVG, and the number of images."""

    scores: dict[str, DemoScore]
    picture: str
    n_images: int


def run_demo(k: int, *, seed: int, notify: Notify) -> Demo:
    """Select ``k`` digits by each method, score them, and draw those of the first method.

    The random selections use the seeds after ``seed`` too. ``notify`` gets a sentence before each
    step.
    """
    from sklearn.datasets import load_digits

    notify("Loading scikit-learn's digits …")
    digits = load_digits()
    n = len(digits.data)
    if not 1 <= k <= n:
        raise InvalidInput(f"k={k} is not allowed for {n} images. Pass -k from 1 to {n}.")
    notify("Warming up (the first run on a machine compiles, which takes some seconds) …")
    for method in (*METHODS, "random"):
        select(digits.data, k=min(k, 3), method=method, random_state=seed)
    runs = {}
    for method in METHODS:
        notify(f"Selecting {k} of {n} images by {method} …")
        runs[method] = select_digits(digits, k, method=method, seed=seed)
    notify(f"Selecting {k} of {n} images at random, {N_RANDOM} times …")
    random = [
        select_digits(digits, k, method="random", seed=seed + i).score for i in range(N_RANDOM)
    ]
    return Demo(
        scores={name: run.score for name, run in runs.items()} | {"random": average(random)},
        picture=signed(draw(digits, runs[_DRAWN].selection)),
        n_images=n,
    )


def select_digits(digits: Any, k: int, *, method: str, seed: int) -> ScoredSelection:
    """Select by one method, measure the time, and score the selection."""
    started = perf_counter()
    selection = select(digits.data, k=k, method=method, random_state=seed)
    seconds = perf_counter() - started
    score = DemoScore(
        cost=selection.cost,
        cost_error=selection.cost_error,
        evaluations=selection.evaluations,
        seconds=seconds,
        by_nearest=selection.nearest_accuracy(digits.target),
        by_barycentre=selection.barycentric_accuracy(digits.target),
    )
    return ScoredSelection(selection, score)


def average(scores: list[DemoScore]) -> DemoScore:
    """Return the mean of each number; the error is the standard error of the mean cost."""
    table = {name: [asdict(score)[name] for score in scores] for name in asdict(scores[0])}
    means = {name: float(np.mean(values)) for name, values in table.items()}
    error = float(np.std(table["cost"], ddof=1) / np.sqrt(len(scores)))
    return DemoScore(**means | {"cost_error": error})


def draw(digits: Any, selection: Selection) -> str:
    """Return the gallery of a selection as SVG."""
    n, method = len(digits.data), selection.method
    return gallery(
        digits.images[selection.indices],
        selection.mass,
        title=f"{selection.k:,} prototypes of {n:,} handwritten digits",
        subtitle=f"{method} · cost {selection.cost:.4g} · {selection.evaluations:,} evaluations",
        note="Best first. Bars: fraction of all images nearest to each prototype.",
        names=[f"digit {digits.target[i]}, row {i}" for i in selection.indices],
    )


def signed(picture: str) -> str:
    """Return the picture with a last line by which `is_unchanged` recognises it."""
    digest = hashlib.sha256(picture.encode("utf-8")).hexdigest()[:32]
    return f"{picture}{_SIGNATURE}{digest} -->\n"


def is_unchanged(text: str) -> bool:
    """Return whether ``text`` is a picture of this demo that has not been edited."""
    picture, _, _ = text.rpartition(_SIGNATURE)
    return bool(picture) and text == signed(picture)
