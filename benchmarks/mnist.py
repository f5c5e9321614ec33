"""Exact greedy and ProtoBandit on the paper's MNIST problem, with their rivals, in one run.

    python -m benchmarks.mnist --data DIR [--k 100] [--seeds 5] [--peer PYTHON]

S = 5,000 test images, T = 54,210 train images, euclidean, float32. Printed are ratios: the speed of
a machine drifts, what is measured side by side does not. ``--peer`` is the interpreter of an
environment that holds interpret-core (DIR/interpret, if benchmarks/peers/setup.py made it in DIR).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

import protobandit as pb
from benchmarks import _peers
from benchmarks._data import paper_problem
from benchmarks.bars._bar import timed


def main() -> None:
    options = parse()
    source, _, target, _ = paper_problem(options.data)
    print(f"S {source.shape}, T {target.shape}, k = {options.k}, n_jobs = {options.n_jobs}")
    pb.select(source[:64], target[:256], k=2, method="lazygreedy")  # compile
    pb.select(source[:64], target[:256], k=2, method="protobandit", random_state=0)
    exact = exact_greedy(source, target, options)
    bandit(source, target, options, exact)
    memory(source, target, options.k)
    starting()
    if options.peer:
        peer(source, target, options, exact)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST's idx files")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--peer", help="python of an environment with interpret-core")
    parser.add_argument("--peer-picks", type=int, default=5)
    return parser.parse_args()


def exact_greedy(source: np.ndarray, target: np.ndarray, options: argparse.Namespace) -> dict:
    products, lazies, result = [], [], None
    for _ in range(options.repeats):
        products.append(timed(lambda: source @ target.T)[0])
        seconds, result = timed(
            lambda: pb.select(
                source, target, k=options.k, method="lazygreedy", n_jobs=options.n_jobs
            )
        )
        lazies.append(seconds)
    passes = result.lookups / len(target)
    product, lazy = min(products), min(lazies)
    print(f"\nfloat32 product S T'      {product:7.2f} s (best of {options.repeats})")
    print(f"lazygreedy                {lazy:7.2f} s   {lazy / product:.2f} x the product")
    print(f"  rows re-read            {passes:7.0f}     {passes / options.k:.0f} a pick")
    print(f"  evaluations             {result.evaluations:.3e} = |S||T|")
    return {"product": product, "lazy": lazy, "selection": result, "target": target}


def bandit(
    source: np.ndarray, target: np.ndarray, options: argparse.Namespace, exact: dict
) -> None:
    greedy, n_pairs = exact["selection"], len(source) * len(target)
    scale = largest(source, target)
    f_greedy = 1 - greedy.cost / scale
    rows = []
    for seed in range(options.seeds):
        seconds, sel = timed(
            lambda seed=seed: pb.select(
                source,
                target,
                k=options.k,
                method=pb.methods.ProtoBandit(epsilon=0.2, nu_step=0.05),
                random_state=seed,
                n_jobs=options.n_jobs,
            )
        )
        random = pb.select(source, target, k=options.k, method="random", random_state=seed)
        f, f_random = (1 - mean_distance(s, target) / scale for s in (sel, random))
        loss = (f_greedy - f) / (f_greedy - f_random)
        rows.append(
            (seconds, sel.evaluations, sel.evaluations_by_phase["build"], f, f_random, loss)
        )
    seconds, evaluations, build, f, f_random, loss = np.mean(rows, axis=0)
    print(f"\nprotobandit (epsilon 0.2, nu_step 0.05, kl-lucb, early stop), {options.seeds} seeds")
    print(
        f"  seconds                 {seconds:7.2f}     {seconds / exact['lazy']:.3f} x lazygreedy"
    )
    print(f"  evaluations             {evaluations:.3e}   1/{n_pairs / evaluations:.0f} of SPOT_M")
    print(
        f"    of which build        {build:.3e}   1/{n_pairs * options.k / build:.0f} of SPOTgreedy"
    )
    print(f"  f greedy, bandit, random {f_greedy:.5f} {f:.5f} {f_random:.5f}")
    print(f"  loss of f               {(f_greedy - f) / f_greedy:7.2%}")
    print(f"  normalised loss         {loss:7.3f}     by seed {np.round([r[5] for r in rows], 3)}")


def largest(source: np.ndarray, target: np.ndarray) -> float:
    """Return the largest distance: the C in whose units f is printed."""
    squares = (source**2).sum(1)[:, None]
    return max(
        float(np.sqrt((squares + (t**2).sum(1) - 2 * source @ t.T).max()))
        for t in np.array_split(target, 20)
    )


def mean_distance(selection: pb.Selection, target: np.ndarray) -> float:
    return float(selection.assign(target).distances.mean(dtype=np.float64))


_CHILD = """
import json, sys, numpy as np, protobandit as pb
from pathlib import Path
rows = np.load(sys.argv[1])
source, target = rows["source"], rows["target"]
pb.select(source[:64], target[:256], k=2, method="lazygreedy")
def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    wanted = [l.split() for l in lines if l.startswith(("RssAnon", "VmHWM"))]
    return {name[:-1]: int(size) * 1024 for name, size, _ in wanted}
before = anonymous()
Path("/proc/self/clear_refs").write_text("5")
method = pb.methods.LazyGreedy(memoize=sys.argv[3] == "True")
sel = pb.select(source, target, k=int(sys.argv[2]), method=method)
print(json.dumps({"growth": anonymous()["VmHWM"] - before["RssAnon"]}))
"""


def memory(source: np.ndarray, target: np.ndarray, k: int) -> None:
    print()
    if not Path("/proc/self/clear_refs").exists():
        print("memory is left out: it is read from /proc, which is not here")
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = _saved(source, target, folder)
        for memoize, picks in ((True, k), (False, 2)):
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, rows, str(picks), str(memoize)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            growth = json.loads(done.stdout)["growth"]
            share = f"{growth / (len(source) * len(target) * 4):.2f} x the matrix"
            print(f"peak memory, memoize={memoize!s:5}  {growth / 1e6:7.0f} MB  {share}")


def _saved(source: np.ndarray, target: np.ndarray, folder: str) -> Path:
    path = Path(folder) / "rows.npz"
    np.savez(path, source=source, target=target)
    return path


def starting() -> None:
    script = textwrap.dedent("""
        from time import perf_counter
        a = perf_counter(); import protobandit as pb; b = perf_counter()
        import numpy as np
        X = np.random.default_rng(0).normal(size=(500, 20)).astype("float32")
        c = perf_counter(); pb.select(X, k=5); d = perf_counter()
        print(b - a, d - c)
    """)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
        )
    imported, first = map(float, done.stdout.split())
    print(f"\nimport protobandit        {imported:7.3f} s")
    print(f"first select(), no cache  {first:7.2f} s")


def peer(source: np.ndarray, target: np.ndarray, options: argparse.Namespace, exact: dict) -> None:
    picks = options.peer_picks
    with tempfile.TemporaryDirectory() as folder:
        rows = _saved(source, target, folder)
        spot = _peers.run("interpret_spot.py", rows, picks, python=options.peer)
    whole = spot["matrix"] + spot["picks"] / picks * options.k
    same = np.array_equal(spot["indices"], exact["selection"].indices[:picks])
    print(f"\ninterpret {spot['version']} SPOT: matrix {spot['matrix']:.1f} s,", end=" ")
    print(f"{picks} picks {spot['picks']:.1f} s")
    note = "" if picks == options.k else " (extrapolated from those picks)"
    print(
        f"  k = {options.k}{note}  {whole:.0f} s   {whole / exact['lazy']:.0f} x lazygreedy's time"
    )
    print(f"  same picks              {same}")


if __name__ == "__main__":
    main()
