"""Bandits with a table of rewards, and a driver that checks the rules of the contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.search.arms.contract import Bounds, Choice, Moments, Pull, Strategy, Terms


@dataclass(frozen=True)
class Bandit:
    """Rewards of shape (arms, population), and the source row of each arm."""

    rewards: Doubles
    ids: Ids

    @classmethod
    def of(cls, rewards: Doubles) -> Bandit:
        return cls(rewards, 5 + 3 * np.arange(len(rewards)))

    @property
    def population(self) -> int:
        return self.rewards.shape[1]

    @property
    def truth(self) -> Doubles:
        return self.rewards.mean(axis=1)

    def means_of(self, ids: Ids) -> Doubles:
        return self.truth[np.searchsorted(self.ids, ids)]

    def is_within(self, choice: Choice, nu: float) -> bool:
        """Return whether all r chosen arms are within ``nu`` of the r-th best."""
        worst_of_best = np.sort(self.truth)[-len(choice.arms)]
        return bool(self.means_of(choice.arms).min() >= worst_of_best - nu)


@dataclass
class Played:
    """The choice and the pulls of an identification."""

    choice: Choice
    pulls: list[Pull]

    @property
    def n_pulls(self) -> int:
        return sum(len(pull.arms) * pull.n for pull in self.pulls)


@dataclass
class _Rewards:
    """Answers pulls; raises AssertionError if a strategy breaks a rule.

    With ``share`` above 1 the answers are wrong on purpose: only 1 / ``share`` of the rows that are
    counted are read.
    """

    bandit: Bandit
    random: np.random.Generator
    share: int = 1
    order: Ids = field(init=False)
    n_read: Ids = field(init=False)
    moments: Moments = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        n_arms = len(self.bandit.ids)
        self.order = self.random.permutation(self.bandit.population)
        self.n_read = np.zeros(n_arms, dtype=np.int64)
        self.moments = Moments(self.n_read.copy(), np.zeros(n_arms), np.zeros(n_arms))

    def answer(self, pull: Pull) -> Moments:
        if pull.new_order:
            self.begin()
        arms = np.searchsorted(self.bandit.ids, pull.arms)
        self.check(pull, arms)
        for start in np.unique(self.n_read[arms]):
            self.extend(arms[self.n_read[arms] == start], start, start + pull.n)
        return Moments(self.n_read[arms], self.moments.mean[arms], self.moments.spread[arms])

    def check(self, pull: Pull, arms: Ids) -> None:
        assert pull.arms.dtype == np.int64
        assert pull.arms.ndim == 1
        assert len(pull.arms) > 0
        assert isinstance(pull.n, int)
        assert pull.n > 0
        assert np.array_equal(self.bandit.ids[arms], pull.arms), "an arm that is not offered"
        assert len(np.unique(arms)) == len(arms), "an arm twice in a pull"
        assert (self.n_read[arms] + pull.n).max() <= self.bandit.population, "beyond the target"

    def extend(self, arms: Ids, start: int, stop: int) -> None:
        rows = self.order[math.ceil(start / self.share) : math.ceil(stop / self.share)]
        self.n_read[arms] = stop
        if len(rows) == 0:
            return
        rewards = self.bandit.rewards[arms[:, None], rows]
        block = Moments(np.full(len(arms), len(rows)), rewards.mean(axis=1), rewards.var(axis=1))
        known = self.moments
        own = Moments(known.count[arms], known.mean[arms], known.spread[arms])
        merged = merge(own, block)
        known.count[arms] = merged.count
        known.mean[arms] = merged.mean
        known.spread[arms] = merged.spread


def merge(left: Moments, right: Moments) -> Moments:
    """Return the moments of the union of two sets of rows (Chan, Golub, LeVeque 1979)."""
    count = left.count + right.count
    share = np.divide(right.count, count, out=np.zeros_like(left.mean), where=count > 0)
    shift = right.mean - left.mean
    spread = left.spread + (right.spread - left.spread) * share + shift**2 * share * (1 - share)
    return Moments(count, left.mean + shift * share, spread)


def play(
    strategy: Strategy,
    bandit: Bandit,
    *,
    arms: Ids | None = None,
    picks: int = 1,
    bounds: Bounds | None = None,
    seed: int = 0,
    share: int = 1,
) -> Played:
    """Let ``strategy`` choose ``picks`` of ``arms`` (default: all), and answer its pulls."""
    table = _Rewards(bandit, np.random.default_rng([seed, 1]), share)
    terms = Terms(bandit.population, picks, np.random.default_rng([seed, 2]))
    identification = strategy.identify(bandit.ids if arms is None else arms, terms, bounds)
    pulls: list[Pull] = []
    try:
        pull = next(identification)
        while True:
            pulls.append(pull)
            pull = identification.send(table.answer(pull))
    except StopIteration as stop:
        return Played(stop.value, pulls)


def bernoulli(means: Doubles, population: int, seed: int) -> Bandit:
    """Return rewards 0 and 1 whose means are exactly ``means``, rounded to the population."""
    ones = np.round(np.asarray(means) * population)
    rewards = (np.arange(population) < ones[:, None]).astype(float)
    return Bandit.of(np.random.default_rng([seed, 3]).permuted(rewards, axis=1))


def beta(means: Doubles, population: int, seed: int) -> Bandit:
    """Return continuous rewards in [0, 1] with about these means: Beta(mean / (1 - mean), 1)."""
    uniform = (np.arange(population) + 0.5) / population
    rewards = uniform ** (1 / np.asarray(means)[:, None] - 1)
    return Bandit.of(np.random.default_rng([seed, 3]).permuted(rewards, axis=1))


def apart(n_arms: int, gap: float, picks: int = 1) -> Doubles:
    """Return the means of ``picks`` good arms, and of others that are lower by ``gap``."""
    means = np.full(n_arms, 0.5 - gap / 2)
    means[n_arms // 2 : n_arms // 2 + picks] = 0.5 + gap / 2
    return means


FAKES: dict[str, Callable[[int], Bandit]] = {
    "easy bernoulli": lambda seed: bernoulli(apart(12, 0.6), 400, seed),
    "hard bernoulli": lambda seed: bernoulli(apart(12, 0.02), 400, seed),
    "easy beta": lambda seed: beta(apart(12, 0.6), 400, seed),
    "hard beta": lambda seed: beta(apart(12, 0.02), 400, seed),
    "many arms": lambda seed: beta(np.linspace(0.1, 0.9, 90), 300, seed),
    "ties": lambda seed: bernoulli(np.repeat([0.3, 0.5], 5), 100, seed),
    "all zero": lambda seed: bernoulli(np.zeros(6), 100, seed),
    "all one": lambda seed: bernoulli(np.ones(6), 100, seed),
    "rare rewards": lambda seed: beta(np.full(20, 0.001), 1000, seed),
    "one row": lambda seed: beta(np.linspace(0.2, 0.8, 7), 1, seed),
    "two arms": lambda seed: bernoulli([0.4, 0.6], 50, seed),
    "one arm": lambda seed: bernoulli([0.5], 50, seed),
}
