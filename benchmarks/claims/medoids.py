"""Claim, corollary for T = S: f against the BUILD step of PAM, comparisons against the bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.claims.measures import EPSILON, by_seed, comparisons_bound, run, scale_sentence
from benchmarks.claims.report import Options, Report, Row
from benchmarks.common.costs import largest_distance, mean_distance
from benchmarks.common.data import mnist
from benchmarks.common.figures import COLOURS, legend_below, panels, plot_mean
from protobandit.methods import LazyBandit, ProtoBandit

_ROWS = 10_000
_KS = (5, 10, 20, 50, 100)
_NU = {"protobandit nu0=0.05": 0.05, "protobandit nu0=0.09": 0.09}  # per iteration
_FINE = next(iter(_NU))
_OTHERS: dict[str, Any] = {
    "lazybandit fast": LazyBandit(effort="fast"),
    "lazybandit balanced": LazyBandit(effort="balanced"),
    "random": "random",
}
_COLOURS = COLOURS | dict(zip(_NU, (COLOURS["protobandit"], "#f0c060"), strict=True))


def measure(options: Options) -> list[Row]:
    images = mnist(options.data)[0][:_ROWS]
    scale = largest_distance(images, images)
    built = pb.select(images, k=max(_KS), method="lazygreedy")
    f_build = {k: 1 - mean_distance(images[built.indices[:k]], images) / scale for k in _KS}
    rows: list[Row] = []
    for k in _KS:
        rows += _runs(images, k, scale, f_build[k], options.seeds)
        print(f"    k = {k}", flush=True)
    return rows


def _methods(scale: float) -> dict[str, Any]:
    bandits = {
        name: ProtoBandit(epsilon=EPSILON, nu_step=nu, scale=scale, early_stop=True)
        for name, nu in _NU.items()
    }
    return bandits | _OTHERS


def _runs(images: np.ndarray, k: int, scale: float, f_build: float, n_seeds: int) -> Iterator[Row]:
    for name, method in _methods(scale).items():
        for seed in range(n_seeds):
            found = run(images, None, k=k, method=method, seed=seed)
            cost = mean_distance(images[found.selection.indices], images)
            is_bandit = isinstance(method, ProtoBandit)
            guarantee = found.selection.guarantee
            yield {
                "k": k,
                "method": name,
                "seed": seed,
                "f": 1 - cost / scale,
                "f_build": f_build,
                "loss": 1 - (1 - cost / scale) / f_build,
                "evaluations": found.evaluations,
                "comparisons": found.comparisons if is_bandit else None,
                "bound": comparisons_bound(len(images), method, k) if is_bandit else None,
                "nu": method.steps(k)[1] if is_bandit else None,
                "scale": scale if is_bandit else None,
                "guarantee": None if guarantee is None else guarantee.statement,
                "seconds": found.seconds,
            }


# -- the report ----------------------------------------------------------------------------------


def _all(rows: list[Row], k: int, method: str, what: str) -> np.ndarray:
    return np.array([r[what] for r in rows if r["k"] == k and r["method"] == method])


def _mean(rows: list[Row], k: int, method: str, what: str) -> float:
    return float(_all(rows, k, method, what).mean())


def _normalised_loss(rows: list[Row], k: int, method: str) -> float:
    """Return the loss divided by the loss of random rows."""
    return _mean(rows, k, method, "loss") / _mean(rows, k, "random", "loss")


@dataclass(frozen=True)
class Losses:
    """The losses of protobandit at one nu0: per k the mean, and as a share of random rows' loss."""

    nu: float
    means: list[float]
    shares: list[float]
    worst: float

    @classmethod
    def of(cls, rows: list[Row], ks: list[int], method: str) -> Losses:
        return cls(
            nu=_NU[method],
            means=[_mean(rows, k, method, "loss") for k in ks],
            shares=[_normalised_loss(rows, k, method) for k in ks],
            worst=max(row["loss"] for row in rows if row["method"] == method),
        )

    def __str__(self) -> str:
        return (
            f"{min(self.means):.2%} to {max(self.means):.2%} at nu0 = {self.nu} (means over the "
            f"seeds; {self.worst:.2%} in the worst run), which is {min(self.shares):.0%} to "
            f"{max(self.shares):.0%} of the loss of random rows"
        )


def report(rows: list[Row]) -> Report:
    ks = sorted({row["k"] for row in rows})
    losses = [Losses.of(rows, ks, name) for name in _NU]
    bounded = [row for row in rows if row["bound"] is not None]
    slack = [row["bound"] / row["comparisons"] for row in bounded]
    better = [_mean(rows, k, "lazybandit balanced", "loss") for k in ks]
    findings = [
        f"f of protobandit is lower than that of BUILD by {'; by '.join(map(str, losses))}.",
        f"The loss of lazybandit is {min(better):.2%} to {max(better):.2%}. A negative loss is "
        f"better than BUILD; swaps make that possible.",
        f"The bound, here 9 k |S| nu0⁻² log(1/ε) log(k/δ) since nu = k nu0 (1 − 1/e − ε), holds in "
        f"all {len(slack)} runs: it is {min(slack):.3g} to {max(slack):.3g} times the count."
        if min(slack) >= 1
        else f"The bound does not hold: the count exceeds it by up to {1 / min(slack):.3g} times.",
        *_against_build(rows, ks),
        _void_bounds(bounded, ks),
    ]
    worst = max(bounded, key=lambda row: row["loss"])
    means = " and ".join(f"{max(each.means):.2%} at nu0 = {each.nu}" for each in losses)
    shares = " and ".join(f"{max(each.shares):.0%}" for each in losses)
    holds = (
        f"The bound holds; it is at least {min(slack):.3g} times the count."
        if min(slack) >= 1
        else "The bound does not hold."
    )
    return Report(
        name="medoids",
        title="T = S: k-medoids",
        claim="The above approximation guarantee and computational complexity analysis of "
        "ProtoBandit also holds when T = S [...] < 9 k³ |S| (ν / (1 − ε − 1/e))⁻² log(1/ε) "
        "log(k/δ). [...] For the case of T = S, a salient observation is that ProtoBandit "
        "approximates the BUILD solution of PAM for the k-medoids clustering problem.",
        verdict=f"{holds} The mean loss of f against BUILD is up to {means}, which is {shares} of "
        f"the loss of random rows; in the worst run (nu0 = {_NU[worst['method']]}, "
        f"k = {worst['k']}) it is {worst['loss']:.2%}.",
        findings=findings,
        summary=[_line(rows, k) for k in ks],
        setting=f"The first {_ROWS:,} training images of MNIST, Euclidean; f = 1 − cost / C, where "
        f"C is the largest distance. BUILD is exact greedy. epsilon 0.2, delta 0.05, kl-lucb with "
        f"early stop. The constants of lazybandit were chosen on MNIST. {scale_sentence(rows)}",
        draw=lambda path: _draw(path, rows),
    )


def _against_build(rows: list[Row], ks: list[int]) -> Iterator[str]:
    """Compare the bound and the count with the comparisons of BUILD."""
    useful = [k for k in ks if _mean(rows, k, _FINE, "bound") < k * _ROWS**2]
    worse = [k for k in ks if _mean(rows, k, _FINE, "comparisons") > _ROWS**2]
    is_less = all(_mean(rows, k, _FINE, "evaluations") < _ROWS**2 for k in ks)
    ours = "by our count it makes fewer at every k" if is_less else "by our count at some k too"
    yield (
        f"At nu0 = {_NU[_FINE]} that bound is below the k|S|² of BUILD for k = {useful}."
        if useful
        else f"At nu0 = {_NU[_FINE]} that bound exceeds the k|S|² comparisons of BUILD at every k "
        f"(|S| = {_ROWS:,}): the measured savings do not follow from the theorem."
    )
    yield (
        f"By the paper's rule protobandit (nu0 = {_NU[_FINE]}) makes more comparisons than a BUILD "
        f"that stores |S|² = {_ROWS**2:.0e} distances for k = {worse}; {ours}."
        if worse
        else f"It makes fewer comparisons than a BUILD that stores |S|² = {_ROWS**2:.0e} distances."
    )


def _void_bounds(bounded: list[Row], ks: list[int]) -> str:
    """Return where the theorem on f is void: nu >= 1 - 1/e - epsilon, that is k nu0 >= 1."""
    void = " and ".join(f"{[k for k in ks if k * nu >= 1]} at nu0 = {nu}" for nu in _NU.values())
    n_proven = sum(row["guarantee"] is not None for row in bounded)
    return (
        f"The theorem on f is void for k in {void}, where nu >= 1 − 1/e − ε. The search ended by "
        f"the proven rule in {n_proven} of {len(bounded)} runs, and by the early stop, which has "
        f"no guarantee, in the others."
    )


def _line(rows: list[Row], k: int) -> Row:
    first = next(row for row in rows if row["k"] == k)
    losses = {name: _all(rows, k, name, "loss") for name in _NU}
    return {
        "k": k,
        "f of BUILD": round(first["f_build"], 4),
        **{
            f"loss, nu0={_NU[name]} (worst run)": f"{loss.mean():.2%} ({loss.max():.2%})"
            for name, loss in losses.items()
        },
        "lazybandit": f"{_mean(rows, k, 'lazybandit balanced', 'loss'):.2%}",
        "random": f"{_mean(rows, k, 'random', 'loss'):.2%}",
        f"paper's rule, nu0={_NU[_FINE]}": f"{_mean(rows, k, _FINE, 'comparisons'):.2e}",
        "bound": f"{_mean(rows, k, _FINE, 'bound'):.2e}",
        "k|S|²": f"{k * _ROWS**2:.2e}",
        "our count": f"{_mean(rows, k, _FINE, 'evaluations'):.2e}",
        "lazybandit, our count": f"{_mean(rows, k, 'lazybandit balanced', 'evaluations'):.2e}",
    }


def _draw(path: Path, rows: list[Row]) -> None:
    with panels(path, 2) as (quality, counts):
        for name in (*_NU, *_OTHERS):
            x, losses = by_seed(rows, "k", "loss", method=name)
            plot_mean(quality, x, 100 * np.array(losses), color=_COLOURS[name], label=name)
        quality.axhline(0, color="#444", linewidth=0.8, linestyle="--")
        for name in (n for n in (*_NU, *_OTHERS) if n != "random"):
            x, series = by_seed(rows, "k", "evaluations", method=name)
            plot_mean(counts, x, series, color=_COLOURS[name], label=f"{name}, our count")
        x, series = by_seed(rows, "k", "comparisons", method=_FINE)
        style = {"color": _COLOURS[_FINE], "linestyle": "--"}
        plot_mean(counts, x, series, **style, label=f"{_FINE}, the paper's rule")
        x, series = by_seed(rows, "k", "bound", method=_FINE)
        counts.plot(x, series[0], color=_COLOURS[_FINE], linestyle=":", label="   its bound")
        grey = {"color": COLOURS["bound"], "linewidth": 1}
        counts.plot(
            x,
            [k * _ROWS**2 for k in x],
            **grey,
            linestyle=":",
            label="BUILD, nothing stored: k|S|²",
        )
        counts.plot(x, [_ROWS**2 for _ in x], **grey, label="BUILD, stored distances: |S|²")
        for axes in (quality, counts):
            axes.set(xscale="log", xlabel="k")
            axes.set_xticks(x, map(str, x))
            axes.minorticks_off()
        quality.set(ylabel="loss of f against BUILD, %")
        counts.set(yscale="log", ylabel="comparisons")
        quality.legend(frameon=False, fontsize=7.5)
        legend_below(counts, n_columns=3)
