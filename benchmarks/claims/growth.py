"""How comparisons grow with |S| and with k, against the paper's k³|S|."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims._figures import COLOURS, legend_below, line, panels
from benchmarks.claims._measures import (
    CLUSTERS,
    EPSILON,
    Exponent,
    between,
    by_seed,
    comparisons_bound,
    exponent,
    largest_distance,
    rows_of_mixture,
    run,
    scale_in_words,
    short,
)
from benchmarks.claims._report import Options, Report, Row
from protobandit.methods import LazyBandit, ProtoBandit

_TARGET = 10**5
_SOURCES, _K = (1000, 2000, 4000, 8000, 16_000), 20
_KS, _SOURCE = (5, 10, 20, 40, 80, 160), 4000
_NU = 0.2  # of the whole run


@dataclass(frozen=True)
class Way:
    """A method, given C, and how it is drawn and named."""

    name: str
    make: Any
    colour: str
    has_bound: bool = True


_WAYS = (
    Way(
        "protobandit, nu per iteration fixed",
        lambda scale: ProtoBandit(nu_step=0.05, scale=scale),
        COLOURS["protobandit"],
    ),
    Way(
        "protobandit, nu of the run fixed",
        lambda scale: ProtoBandit(nu=_NU, early_stop=False, scale=scale),
        "#00796b",
    ),
    Way("lazybandit", lambda scale: LazyBandit(), COLOURS["lazybandit"], has_bound=False),
)
_FIXED, _WHOLE, _OURS = (way.name for way in _WAYS)
_RULES = {
    "comparisons": "the paper's rule",
    "evaluations": "our count",
    "bound": "the theorem's bound",
}


def measure(options: Options) -> list[Row]:
    here = rows_of_mixture(_TARGET, 3)
    sources = rows_of_mixture(max(*_SOURCES, _SOURCE), 1)
    scale = largest_distance(sources, here)  # one unit of nu for all sizes
    rows: list[Row] = []
    for n_source in _SOURCES:
        rows += _runs("|S|", sources[:n_source], here, _K, scale, options.seeds)
        print(f"    |S| = {n_source:,}", flush=True)
    for k in _KS:
        rows += _runs("k", sources[:_SOURCE], here, k, scale, options.seeds)
        print(f"    k = {k}", flush=True)
    return rows


def _runs(
    axis: str, source: np.ndarray, here: np.ndarray, k: int, scale: float, n_seeds: int
) -> Iterator[Row]:
    for way in _WAYS:
        method, is_bandit = way.make(scale), way.has_bound
        for seed in range(n_seeds):
            found = run(source, here, k=k, method=method, seed=seed)
            yield {
                "along": axis,
                "|S|": len(source),
                "k": k,
                "method": way.name,
                "seed": seed,
                "evaluations": found.evaluations,
                "comparisons": found.comparisons if is_bandit else None,
                "bound": comparisons_bound(len(source), method, k) if is_bandit else None,
                "scale": scale if is_bandit else None,
                "capped_arms": found.caps.share_of_arms if is_bandit else None,
                "capped_pulls": found.caps.share_of_pulls if is_bandit else None,
                "seconds": found.seconds,
            }


# -- what it comes to -----------------------------------------------------------------------------


def _exponents(rows: list[Row]) -> dict[tuple[str, str, str], Exponent]:
    """Return the powers with which each count of each method grows along either axis."""
    found = {}
    for axis in ("|S|", "k"):
        for way in _WAYS:
            for rule in _RULES if way.has_bound else ("evaluations",):
                series = by_seed(rows, axis, rule, along=axis, method=way.name)
                found[axis, way.name, rule] = exponent(*series)
    return found


def _rows_met(rows: list[Row], method: str) -> tuple[list[float], list[float]]:
    """Return each k, and how many rows an arm meets in an iteration, on average.

    An iteration with |M| prototypes and n pulls makes n (|M| + 1) comparisons, and k of them with
    about the same n make n k (k + 1) / 2; each has |R| arms.
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
        f"In |S| every count grows about linearly: from size to size as a power "
        f"{powers['|S|', _FIXED, 'comparisons']} by the paper's rule (nothing kept, a pull costs "
        f"|M| + 1), {powers['|S|', _FIXED, 'evaluations']} by our count (rows shared by all arms), "
        f"{powers['|S|', _OURS, 'evaluations']} for lazybandit.",
        f"In k, with nu of the whole run fixed at {_NU}, as the theorem has it (so that nu per "
        f"iteration falls as 1/k) and no early stop: a power {cube} by the paper's rule where the "
        f"bound has one {powers['k', _WHOLE, 'bound']}, and one "
        f"{powers['k', _WHOLE, 'evaluations']} by our count.",
        f"In k, with nu per iteration fixed, as in the paper's experiments, the bound is one of "
        f"k |S|: a power {powers['k', _FIXED, 'comparisons']} by the paper's rule, "
        f"{powers['k', _FIXED, 'evaluations']} by our count: there fewer arms meet each row as k "
        f"grows, |R| = |S|/k ln(1/epsilon), and a row's D is found once.",
        *_of_clusters(rows, powers),
        _of_lazybandit(powers["k", _OURS, "evaluations"]),
        f"The bound is kept in all {len(slack)} runs and is loose: it exceeds what is counted by "
        f"a factor of {min(slack):.3g} to {max(slack):.3g}."
        if min(slack) >= 1
        else f"The bound is broken: at worst by a factor of {1 / min(slack):.3g}.",
        _of_rows_met(rows),
        _of_caps(rows),
    ]
    return Report(
        name="growth",
        title="Growth with |S| and with k",
        claim="ProtoBandit identifies a set of k prototypes incurring O(k³|S|) similarity "
        "comparisons [...] < 9 k³ |S| (ν / (1 − ε − 1/e))⁻² log(1/ε) log(k/δ).",
        verdict=f"It holds as an upper bound. With ν fixed the measured power of |S| is {linear}; "
        f"that of k is {cube}, the bound's {powers['k', _WHOLE, 'bound']}."
        if min(slack) >= 1
        else "The bound does not hold.",
        findings=findings,
        summary=_table(rows, powers),
        setting=f"|T| = {_TARGET:,}, the rows of the first claim, in {CLUSTERS} clusters; along "
        f"|S| k = {_K}, along k |S| = {_SOURCE:,}. epsilon 0.2, delta 0.05, kl-lucb; lazybandit "
        f"balanced. {scale_in_words(rows)} Powers are slopes of logarithms, between neighbouring "
        f"sizes and, as the overall fit, by least squares; means over the seeds, among which a fit "
        f"deviates by {max(each.spread for each in powers.values()):.2f} at most.",
        draw=lambda path: _draw(path, rows),
    )


def _table(rows: list[Row], powers: dict[tuple[str, str, str], Exponent]) -> list[Row]:
    """Return the powers of every count, those of k from each k to the next."""
    ks = sorted({row["k"] for row in rows if row["along"] == "k"})
    table = []
    for way in _WAYS:
        for rule, what in _RULES.items():
            if ("k", way.name, rule) not in powers:
                continue
            along, across = (powers[axis, way.name, rule] for axis in ("|S|", "k"))
            local = zip(pairwise(ks), across.local, strict=True)
            table.append(
                {
                    "power": f"{way.name}: {what}",
                    "of |S|": between(along.local),
                    "overall fit": short(along.fit),
                    **{f"of k, {a} to {b}": short(slope) for (a, b), slope in local},
                    "overall fit ": short(across.fit),
                }
            )
    return table


def _of_clusters(rows: list[Row], powers: dict[tuple[str, str, str], Exponent]) -> Iterator[str]:
    """Say how the powers differ on either side of the number of clusters."""
    steps = [*pairwise(sorted({row["k"] for row in rows if row["along"] == "k"}))]
    n_below = sum(end <= CLUSTERS for _, end in steps)
    if not 0 < n_below < len(steps):
        return
    parts = [
        f"{between(local[:n_below])} up to there and {between(local[n_below:])} beyond ({name}, "
        f"{_RULES[rule]})"
        for name in (_WHOLE, _FIXED)
        for rule in ("comparisons", "evaluations")
        for local in [powers["k", name, rule].local]
    ]
    yield (
        f"The rows have {CLUSTERS} clusters, a number that k passes after {steps[n_below][0]}. The "
        f"powers of k are {'; '.join(parts)}. An overall fit sums up this range on these rows, "
        f"and is no law."
    )


def _of_lazybandit(power: Exponent) -> str:
    falls = ": it falls where arms come to be measured only near their own cells (k > 12)"
    return (
        f"lazybandit's count grows as a power {power} of k{falls if min(power.local) < 0 else ''}."
    )


def _of_rows_met(rows: list[Row]) -> str:
    ks, met = _rows_met(rows, _WHOLE)
    return (
        f"With nu of the run fixed an iteration shows an arm {met[0]:,.0f} rows on average at "
        f"k = {ks[0]} and {met[-1]:,.0f} at k = {ks[-1]}, which grows as k, and so 1/nu per "
        f"iteration, to a power {exponent(ks, [met])}. The theorem counts on a search (ABA) that "
        f"pays 1/nu²; kl-lucb's bounds are narrower where rewards are small."
    )


def _of_caps(rows: list[Row]) -> str:
    """Say how many arms were shown the whole target, where they cost no more."""
    cap = f"An arm meets all |T| = {_TARGET:,} rows at most, where its mean is exact"
    if any(row.get("capped_arms") is None for row in rows if row["bound"] is not None):
        return f"{cap}; how many arms did was not recorded."
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
    return f"{cap}. So many arms did, and took so many of the pulls: {'; '.join(parts)}."


def _draw(path: Path, rows: list[Row]) -> None:
    with panels(path, 2, height=4.2) as both:
        for axes, axis in zip(both, ("|S|", "k"), strict=True):
            for way in _WAYS:
                here = {"along": axis, "method": way.name}
                x, series = by_seed(rows, axis, "evaluations", **here)
                line(axes, x, series, color=way.colour, label=f"{way.name}: our count")
                if way.has_bound:
                    style = {"color": way.colour, "linestyle": "--"}
                    x, series = by_seed(rows, axis, "comparisons", **here)
                    line(axes, x, series, **style, label="   the paper's rule")
                    x, series = by_seed(rows, axis, "bound", **here)
                    dots = {"color": way.colour, "linestyle": ":", "linewidth": 1.2}
                    axes.plot(x, series[0], **dots, label="   the theorem's bound")
            axes.set(xscale="log", yscale="log", xlabel=axis)
            axes.set_xticks(x, [f"{value:,}" for value in x])
            axes.minorticks_off()
        both[0].set(ylabel="comparisons")
        both[1].axvline(CLUSTERS, color="#999", linewidth=0.8)
        place = {"transform": both[1].get_xaxis_transform(), "color": "#666", "fontsize": 7.5}
        both[1].text(CLUSTERS, 0.02, f" {CLUSTERS} clusters", **place)
        for _ in range(2):  # a column of the legend for each method
            both[0].plot([], [], " ", label=" ")
        legend_below(both[0], n_columns=3)
