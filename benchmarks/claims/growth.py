"""Claim: comparisons grow at most as k³|S|."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims.measures import (
    CLUSTERS,
    EPSILON,
    Exponent,
    between,
    by_seed,
    comparisons_bound,
    exponent,
    rows_of_mixture,
    run,
    scale_sentence,
    two_decimals,
    upper_scale,
)
from benchmarks.claims.report import Options, Report, Row
from benchmarks.common.figures import COLOURS, legend_below, panels, plot_mean
from protobandit.methods import LazyBandit, ProtoBandit

_TARGET = 10**5
_SOURCES, _K = (1000, 2000, 4000, 8000, 16_000), 20
_KS, _SOURCE = (5, 10, 20, 40, 80, 160), 4000
_NU = 0.2  # of the whole run


@dataclass(frozen=True)
class Variant:
    """A method as a function of C, its name and its colour."""

    name: str
    make: Any
    colour: str
    has_bound: bool = True


_VARIANTS = (
    Variant(
        "protobandit, nu per iteration fixed",
        lambda scale: ProtoBandit(nu_step=0.05, scale=scale, early_stop=True),
        COLOURS["protobandit"],
    ),
    Variant(
        "protobandit, nu of the run fixed",
        lambda scale: ProtoBandit(nu=_NU, scale=scale),
        "#00796b",
    ),
    Variant("lazybandit", lambda scale: LazyBandit(), COLOURS["lazybandit"], has_bound=False),
)
_FIXED, _WHOLE, _OURS = (variant.name for variant in _VARIANTS)
_RULES = {
    "comparisons": "the paper's rule",
    "evaluations": "our count",
    "bound": "the theorem's bound",
}


def measure(options: Options) -> list[Row]:
    target = rows_of_mixture(_TARGET, 3)
    sources = rows_of_mixture(max(*_SOURCES, _SOURCE), 1)
    scale = upper_scale(sources, target)  # one unit of nu for all sizes
    rows: list[Row] = []
    for n_source in _SOURCES:
        rows += _runs("|S|", sources[:n_source], target, _K, scale, options.seeds)
        print(f"    |S| = {n_source:,}", flush=True)
    for k in _KS:
        rows += _runs("k", sources[:_SOURCE], target, k, scale, options.seeds)
        print(f"    k = {k}", flush=True)
    return rows


def _runs(
    axis: str, source: np.ndarray, target: np.ndarray, k: int, scale: float, n_seeds: int
) -> Iterator[Row]:
    for variant in _VARIANTS:
        method, is_bandit = variant.make(scale), variant.has_bound
        for seed in range(n_seeds):
            found = run(source, target, k=k, method=method, seed=seed)
            yield {
                "along": axis,
                "|S|": len(source),
                "k": k,
                "method": variant.name,
                "seed": seed,
                "evaluations": found.evaluations,
                "comparisons": found.comparisons if is_bandit else None,
                "bound": comparisons_bound(len(source), method, k) if is_bandit else None,
                "scale": scale if is_bandit else None,
                "capped_arms": found.full_reads.share_of_arms if is_bandit else None,
                "capped_pulls": found.full_reads.share_of_pulls if is_bandit else None,
                "seconds": found.seconds,
            }


# -- the report ----------------------------------------------------------------------------------


def _exponents(rows: list[Row]) -> dict[tuple[str, str, str], Exponent]:
    """Return the exponents of each count of each method in |S| and in k."""
    found = {}
    for axis in ("|S|", "k"):
        for variant in _VARIANTS:
            for rule in _RULES if variant.has_bound else ("evaluations",):
                series = by_seed(rows, axis, rule, along=axis, method=variant.name)
                found[axis, variant.name, rule] = exponent(*series)
    return found


def _rows_read(rows: list[Row], method: str) -> tuple[list[float], list[float]]:
    """Return each k, and the mean number of rows that an arm reads in an iteration.

    An iteration with |M| prototypes and n pulls makes n (|M| + 1) comparisons; k iterations with
    about the same n make n k (k + 1) / 2. Each iteration has |R| arms.
    """
    ks, series = by_seed(rows, "k", "comparisons", along="k", method=method)
    n_source = next(row["|S|"] for row in rows if row["along"] == "k")
    arms = [math.ceil(n_source / k * math.log(1 / EPSILON)) for k in ks]
    pulls = [2 * n / (k * (k + 1)) for n, k in zip(np.mean(series, axis=0), ks, strict=True)]
    return ks, [n / n_arms for n, n_arms in zip(pulls, arms, strict=True)]


def report(rows: list[Row]) -> Report:
    powers = _exponents(rows)
    slack = [row["bound"] / row["comparisons"] for row in rows if row["bound"] is not None]
    linear, cube = powers["|S|", _WHOLE, "comparisons"], powers["k", _WHOLE, "comparisons"]
    findings = [
        f"In |S| every count grows about linearly. Between neighbouring sizes the power is "
        f"{powers['|S|', _FIXED, 'comparisons']} by the paper's rule (nothing stored, a pull costs "
        f"|M| + 1), {powers['|S|', _FIXED, 'evaluations']} by our count (rows shared by all arms), "
        f"and {powers['|S|', _OURS, 'evaluations']} for lazybandit.",
        f"In k, with nu of the whole run fixed at {_NU} as in the theorem (so that nu per "
        f"iteration is proportional to 1/k) and without early stop, the power is {cube} by the "
        f"paper's rule, {powers['k', _WHOLE, 'bound']} for the bound, and "
        f"{powers['k', _WHOLE, 'evaluations']} by our count.",
        f"In k, with nu per iteration fixed as in the paper's experiments, the bound is "
        f"proportional to k log(k/δ) |S|. The power is {powers['k', _FIXED, 'comparisons']} by the "
        f"paper's rule and {powers['k', _FIXED, 'evaluations']} by our count: with larger k fewer "
        f"arms read each row, |R| = |S|/k ln(1/epsilon), and D of a row is computed once.",
        *_clusters(rows, powers),
        _lazybandit_growth(powers["k", _OURS, "evaluations"]),
        f"The bound holds in all {len(slack)} runs and is loose: it exceeds the count by a factor "
        f"of {min(slack):.3g} to {max(slack):.3g}."
        if min(slack) >= 1
        else f"The bound does not hold: the count exceeds it by up to {1 / min(slack):.3g} times.",
        _rows_per_arm(rows),
        _full_reads(rows),
    ]
    return Report(
        name="growth",
        title="Growth with |S| and with k",
        claim="ProtoBandit identifies a set of k prototypes incurring O(k³|S|) similarity "
        "comparisons [...] < 9 k³ |S| (ν / (1 − ε − 1/e))⁻² log(1/ε) log(k/δ).",
        verdict=f"It holds as an upper bound. With ν fixed the measured power of |S| is {linear}; "
        f"that of k is {cube}, in the bound {powers['k', _WHOLE, 'bound']}."
        if min(slack) >= 1
        else "The bound does not hold.",
        findings=findings,
        summary=_table(rows, powers),
        setting=f"|T| = {_TARGET:,}, rows of the first claim, {CLUSTERS} clusters; k = {_K} while "
        f"|S| varies, |S| = {_SOURCE:,} while k varies. epsilon 0.2, delta 0.05, kl-lucb; "
        f"lazybandit balanced. {scale_sentence(rows)} Powers are slopes of logarithms: between "
        f"neighbouring sizes and, as the overall fit, by least squares. They are means over the "
        f"seeds; the standard deviation of a fit is "
        f"{max(each.spread for each in powers.values()):.2f} at most.",
        draw=lambda path: _draw(path, rows),
    )


def _table(rows: list[Row], powers: dict[tuple[str, str, str], Exponent]) -> list[Row]:
    """Return the powers of every count, those of k between neighbouring values."""
    ks = sorted({row["k"] for row in rows if row["along"] == "k"})
    table = []
    for variant in _VARIANTS:
        for rule, what in _RULES.items():
            if ("k", variant.name, rule) not in powers:
                continue
            along, across = (powers[axis, variant.name, rule] for axis in ("|S|", "k"))
            local = zip(pairwise(ks), across.local, strict=True)
            table.append(
                {
                    "power": f"{variant.name}: {what}",
                    "of |S|": between(along.local),
                    "overall fit": two_decimals(along.fit),
                    **{f"of k, {a} to {b}": two_decimals(slope) for (a, b), slope in local},
                    "overall fit ": two_decimals(across.fit),
                }
            )
    return table


def _clusters(rows: list[Row], powers: dict[tuple[str, str, str], Exponent]) -> Iterator[str]:
    """Yield how the powers differ below and above the number of clusters."""
    steps = [*pairwise(sorted({row["k"] for row in rows if row["along"] == "k"}))]
    n_below = sum(end <= CLUSTERS for _, end in steps)
    if not 0 < n_below < len(steps):
        return
    parts = [
        f"{between(local[:n_below])} below and {between(local[n_below:])} above ({name}, "
        f"{_RULES[rule]})"
        for name in (_WHOLE, _FIXED)
        for rule in ("comparisons", "evaluations")
        for local in [powers["k", name, rule].local]
    ]
    yield (
        f"The rows have {CLUSTERS} clusters. The powers of k below and above that number (up to "
        f"k = {steps[n_below][0]} and from there on) are {'; '.join(parts)}. So an overall fit "
        f"describes only this range of k on these rows."
    )


def _lazybandit_growth(power: Exponent) -> str:
    falls = ". It decreases where arms are measured only near their own cells (k > 12)"
    decrease = falls if min(power.local) < 0 else ""
    return f"For the count of lazybandit the power of k is {power}{decrease}."


def _rows_per_arm(rows: list[Row]) -> str:
    ks, n_read = _rows_read(rows, _WHOLE)
    return (
        f"With nu of the run fixed, an arm reads {n_read[0]:,.0f} rows per iteration on average at "
        f"k = {ks[0]} and {n_read[-1]:,.0f} at k = {ks[-1]}. The power of k, and so of 1/nu per "
        f"iteration, is {exponent(ks, [n_read])}. The theorem assumes a search (ABA) "
        f"whose cost is 1/nu²; the bounds of kl-lucb are narrower if rewards are small."
    )


def _full_reads(rows: list[Row]) -> str:
    """Return how many arms read the whole target; they need no further pulls."""
    cap = f"An arm reads at most all |T| = {_TARGET:,} rows, and then its mean is exact"
    if any(row.get("capped_arms") is None for row in rows if row["bound"] is not None):
        return f"{cap}. How many arms did so was not recorded."
    parts = []
    for name in (_WHOLE, _FIXED):
        ks, arms = by_seed(rows, "k", "capped_arms", along="k", method=name)
        _, pulls = by_seed(rows, "k", "capped_pulls", along="k", method=name)
        if not np.any(arms):
            parts.append(f"none with {name.partition(', ')[2]}")
            continue
        shares = zip(ks, np.mean(arms, axis=0), np.mean(pulls, axis=0), strict=True)
        by_k = ", ".join(f"{a:.1%} ({p:.0%}) at k = {k}" for k, a, p in shares)
        parts.append(f"{by_k} with {name.partition(', ')[2]}")
    return f"{cap}. The share of such arms (and of their pulls) is {'; '.join(parts)}."


def _draw(path: Path, rows: list[Row]) -> None:
    with panels(path, 2, height=4.2) as both:
        for axes, axis in zip(both, ("|S|", "k"), strict=True):
            for variant in _VARIANTS:
                here = {"along": axis, "method": variant.name}
                x, series = by_seed(rows, axis, "evaluations", **here)
                plot_mean(axes, x, series, color=variant.colour, label=f"{variant.name}: our count")
                if variant.has_bound:
                    style = {"color": variant.colour, "linestyle": "--"}
                    x, series = by_seed(rows, axis, "comparisons", **here)
                    plot_mean(axes, x, series, **style, label="   the paper's rule")
                    x, series = by_seed(rows, axis, "bound", **here)
                    dots = {"color": variant.colour, "linestyle": ":", "linewidth": 1.2}
                    axes.plot(x, series[0], **dots, label="   the theorem's bound")
            axes.set(xscale="log", yscale="log", xlabel=axis)
            axes.set_xticks(x, [f"{value:,}" for value in x])
            axes.minorticks_off()
        both[0].set(ylabel="comparisons")
        both[1].axvline(CLUSTERS, color="#999", linewidth=0.8)
        place = {"transform": both[1].get_xaxis_transform(), "color": "#666", "fontsize": 7.5}
        both[1].text(CLUSTERS, 0.02, f" {CLUSTERS} clusters", **place)
        for _ in range(2):  # one column of the legend per method
            both[0].plot([], [], " ", label=" ")
        legend_below(both[0], n_columns=3)
