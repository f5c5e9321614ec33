"""Tightness and cost of certificates on the paper's MNIST problem.

    python -m benchmarks.certificate --data DIR [--k 100] [--method lazygreedy] [--seeds 3]
        [--out FILE]

Writes docs/results/certificate.json (or ``--out``). Takes about four minutes per k on two cores.
S = 5,000 test images, T = 54,210 training images, Euclidean, float32. For each k, a selection is
certified exactly, which evaluates all pairs, and then from samples: rigorously and
asymptotically, with the default budget and with small budgets. *Slack* is the median ratio over the
seeds minus the exact ratio: the cost of sampling. For comparison, the exact bound by submodularity
is printed, which uses the distance of each row to the selection as its price.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.costs import largest_distance
from benchmarks.common.data import paper_problem
from benchmarks.common.records import RESULTS, write_measurement

FILE = RESULTS / "certificate.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--k", type=int, nargs="+", default=[100])
    parser.add_argument("--method", default="lazygreedy")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options, started = parser.parse_args(), perf_counter()
    source, _, target, _ = paper_problem(options.data)
    pb.select(source[:64], target[:256], k=2).certify(random_state=0)  # compile
    figures = {
        "method": options.method,
        "seeds": options.seeds,
        "problems": [report(source, target, k, options) for k in options.k],
    }
    seconds = perf_counter() - started
    write_measurement(options.out, "benchmarks.certificate", figures, seconds=seconds)


def report(
    source: np.ndarray, target: np.ndarray, k: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Print all certificates of one selection, and return their ratios and evaluations."""
    n_pairs, own = len(source) * len(target), k * len(target)
    selection = pb.select(
        source, target, k=k, method=options.method, random_state=0, n_jobs=options.n_jobs
    )
    print(
        f"\nk = {k}, {options.method}: cost {selection.cost:.5f} in {selection.seconds:.1f} s, "
        f"{selection.evaluations:.3e} evaluations"
    )
    print(f"  exact, by submodularity   {submodular(selection, source, target):8.4f}")
    started = perf_counter()
    exact = selection.certify(kind="exact", n_jobs=options.n_jobs)
    seconds = perf_counter() - started
    scale = largest_distance(source, target)
    print(f"  exact                     {exact.cost_ratio:8.4f}  {seconds:17.1f} s", end="")
    print(f"  {exact.evaluations:.3e} evaluations   {exact.f_ratio(scale)}")
    certificates: list[dict[str, Any]] = [
        {"kind": "exact", "ratio": exact.cost_ratio, "evaluations": exact.evaluations}
    ]
    for kind in ("rigorous", "asymptotic"):
        for n_rows in (None, 4096, 1024, 256):
            budget = n_rows and n_rows * len(source) + (own if kind == "rigorous" else 0)
            rows = []
            for seed in range(options.seeds):
                started = perf_counter()
                certificate = selection.certify(
                    kind=kind, evaluations=budget, random_state=seed, n_jobs=options.n_jobs
                )
                rows.append((certificate, perf_counter() - started))
            show(kind, n_rows, rows, exact.cost_ratio, n_pairs / 4 + own)
            certificates.append(
                {
                    "kind": kind,
                    "budget": budget,
                    "ratio": float(np.median([found.cost_ratio for found, _ in rows])),
                    "evaluations": max(found.evaluations for found, _ in rows),
                }
            )
    return {"k": k, "cost": selection.cost, "certificates": certificates}


def show(
    kind: str,
    n_rows: int | None,
    rows: list[tuple[pb.Certificate, float]],
    exact: float,
    allowed: float,
) -> None:
    ratios = [certificate.cost_ratio for certificate, _ in rows]
    evaluations = max(certificate.evaluations for certificate, _ in rows)
    print(
        f"  {kind:10} {'default' if n_rows is None else f'{n_rows} rows':>10}     "
        f"{np.median(ratios):8.4f}  slack {np.median(ratios) - exact:.4f}"
        f"  {np.median([seconds for _, seconds in rows]):4.1f} s  {evaluations:.3e} evaluations "
        f"({evaluations / allowed:.2f} of |S||T|/4 + k|T|), {rows[0][0].n_rows} rows"
    )


def submodular(selection: pb.Selection, source: np.ndarray, target: np.ndarray) -> float:
    """Return cost / (cost - the sum of the k largest gains), computed exactly."""
    nearest = selection.assign(target).distances
    gains = np.zeros(len(source))
    squares = (source**2).sum(1)
    for rows in np.array_split(np.arange(len(target)), 40):
        near = squares + (target[rows] ** 2).sum(1)[:, None] - 2 * target[rows] @ source.T
        distances = np.sqrt(np.maximum(near, 0))
        gains += np.maximum(nearest[rows, None] - distances, 0).sum(axis=0, dtype=np.float64)
    gains[selection.indices] = 0
    top = np.sort(gains)[-selection.k :].sum() / len(target)
    return selection.cost / (selection.cost - top)


if __name__ == "__main__":
    main()
