"""Confidence bounds by the Kullback-Leibler divergence of Bernoulli variables, for arrays."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Doubles

_TINY = 1e-300
_BELOW_ONE = 1 - 2**-53
_LAST_STEP = 1e-8
_N_STEPS = 30


def divergence(p: Doubles, q: Doubles) -> Doubles:
    """Return kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)) for p in [0, 1], 0 < q < 1."""
    divergences: Doubles = _negentropy(p) - p * np.log(q) - (1 - p) * np.log1p(-q)
    return divergences


def upper_bound(mean: Doubles, level: Doubles) -> Doubles:
    """Return the largest q with kl(mean, q) <= level, or slightly more, but never less.

    kl(p, .) is convex and increasing to the right of p, so Newton's iteration that starts to the
    right of the root decreases to it without passing it. Three inequalities give the start, for
    q > p:
    kl(p, q) >= 2 (q - p)**2 (Pinsker), kl(p, q) >= (q - p)**2 / (2 (p + 2 q) / 3) (Bernstein) and
    kl(p, q) >= -entropy(p) - (1 - p) ln(1 - q).

    Parameters
    ----------
    mean
        Means in [0, 1].
    level
        The allowed divergence, above 0.

    Returns
    -------
    Doubles
        Upper bounds in [mean, 1], at most 1e-7 above the root.
    """
    rest = 1 - mean
    target = level - _negentropy(mean)
    radius = np.minimum(
        np.sqrt(level / 2), level / 1.5 + np.sqrt(level * (level / 2.25 + 2 * mean))
    )
    bound = np.minimum(mean + radius, -np.expm1(-target / np.maximum(rest, _TINY)))
    bound = np.minimum(bound, _BELOW_ONE)
    for _ in range(_N_STEPS):
        below = 1 - bound
        excess = -mean * np.log(bound) - rest * np.log(below) - target
        step = np.maximum(excess, 0) * bound * below / np.maximum(bound - mean, _TINY)
        bound = bound - step
        if step.max(initial=0.0) < _LAST_STEP:
            break
    return np.where(bound < _BELOW_ONE, np.maximum(bound, mean), 1.0)


def _negentropy(p: Doubles) -> Doubles:
    rest = 1 - p
    negentropies: Doubles = p * np.log(np.maximum(p, _TINY)) + rest * np.log(
        np.maximum(rest, _TINY)
    )
    return negentropies
