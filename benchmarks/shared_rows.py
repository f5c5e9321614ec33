"""How the count of ProtoBandit grows with k: rows read by one arm alone, and rows that arms share.

    python -m benchmarks.shared_rows [--seeds 2] [--out FILE] [--draw]

Writes docs/results/shared_rows.json (or ``--out``) and docs/shared-rows.svg, which is drawn from
it; ``--draw`` only draws. Takes about two minutes on two cores.

The tolerance of the whole run is fixed, as in the paper's theorem, so that one iteration has the
tolerance nu / (k (1 - 1/e - epsilon)). Each run is counted twice: by the paper's rule, where a pull
costs |M| + 1 comparisons because nothing is shared, and by the library, which computes the distance
of a row to its nearest prototype once for all arms. Both counts are without the evaluations that
measure the cost of the result. docs/theory.md has the proof.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.claims.measures import EPSILON, SHARE, exponent, run, upper_scale
from benchmarks.common.figures import panels
from benchmarks.common.records import RESULTS, read_measurement, write_measurement
from protobandit.methods import ProtoBandit

FILE = RESULTS / "shared_rows.json"
PICTURE = RESULTS.parent / "shared-rows.svg"
_SOURCE, _TARGET, _COLUMNS = 4000, 10**6, 8
_KS = (5, 10, 20, 40, 80)
_NU = _KS[0] * SHARE  # the tolerance of an iteration is 1 at the smallest k
_SEARCHES = {
    "uniform": "#4a6fa5",
    "aggressive-elimination": "#c2185b",
    "kl-lucb": "#d08700",
}
_RULES = {"alone": "paper's rule", "shared": "shared rows"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="file of the figure")
    parser.add_argument("--draw", action="store_true", help="only draw the figure")
    options, started = parser.parse_args(), perf_counter()
    if not options.draw:
        figures = measure(options.seeds)
        seconds = perf_counter() - started
        write_measurement(options.out, "benchmarks.shared_rows", figures, seconds=seconds)
    draw(read_measurement(options.out).figures, options.picture)


def measure(n_seeds: int) -> dict[str, Any]:
    """Return both counts of every search and k, and their powers of k."""
    random = np.random.default_rng(5)
    source, target = (
        random.standard_normal((n, _COLUMNS), dtype=np.float32) for n in (_SOURCE, _TARGET)
    )
    scale = upper_scale(source, target)
    searches = []
    for search in _SEARCHES:
        counts: dict[str, list[list[float]]] = {rule: [] for rule in _RULES}
        for seed in range(n_seeds):
            method = ProtoBandit(
                nu=_NU, epsilon=EPSILON, search=search, early_stop=False, scale=scale
            )
            runs = [run(source, target, k=k, method=method, seed=seed) for k in _KS]
            counts["alone"].append([float(each.comparisons) for each in runs])
            counts["shared"].append([float(each.evaluations) for each in runs])
            print(search, seed, counts["alone"][-1], counts["shared"][-1], flush=True)
        searches.append({"search": search, **{r: _figures(counts[r]) for r in _RULES}})
    return {
        "n_source": _SOURCE,
        "n_target": _TARGET,
        "k": list(_KS),
        "nu": _NU,
        "epsilon": EPSILON,
        "seeds": n_seeds,
        "searches": searches,
    }


def _figures(series: list[list[float]]) -> dict[str, Any]:
    powers = exponent(_KS, series)
    return {
        "counts": np.mean(series, axis=0).tolist(),
        "powers": list(powers.local),
        "fit": powers.fit,
    }


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw both counts of every search over k, with lines of slope 2 and 3."""
    ks = figures["k"]
    with panels(path, width=6.4, height=4.2) as axes:
        for each in figures["searches"]:
            colour = _SEARCHES[each["search"]]
            for rule, style in (("alone", "--"), ("shared", "-")):
                found = each[rule]
                label = f"{each['search']}, {_RULES[rule]}: k to the {found['fit']:.2f}"
                axes.plot(ks, found["counts"], style, color=colour, marker="o", label=label)
        lowest = figures["searches"][0]["shared"]["counts"][0]
        for power, text in ((2, "slope 2"), (3, "slope 3")):
            guide = [lowest / 3 * (k / ks[0]) ** power for k in ks]
            axes.plot(ks, guide, ":", color="#777777", linewidth=1)
            axes.annotate(text, (ks[-1], guide[-1]), fontsize=8, color="#555555", ha="right")
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="k",
            ylabel="dissimilarities computed",
            title=f"|S| = {figures['n_source']:,}, ν of the whole run fixed",
        )
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
