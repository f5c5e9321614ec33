"""Prototypes by field: protobandit, and what people use there.

    python benchmarks/peers/setup.py DIR geosketch sklearn
    python -m benchmarks.fields --data DIR --peers DIR [--only bits,series] [--scale 0.05]

Six fields: text embeddings (made: topics of Zipf sizes, a spectrum that falls as that of sentence
embeddings), single cells (made: counts of a negative binomial, normalised, 50 components), images
(MNIST), a table with numbers and categories (made; Gower), bit vectors (made: fragments of
molecules; jaccard) and time series (made: shifted bumps; dynamic time warping, a function of the
user). Contestants: random rows, farthest first, MiniBatchKMeans with the nearest rows, geosketch.
The last two know Euclidean distances only, so they get the rows as numbers; geosketch gets at most
50 principal components.

Writes docs/results/fields.json (or ``--out``) after each fit; a run of the same commit that was
stopped continues. Each fit has its own process, in which time and memory are measured after a small
warm-up. Takes about six minutes on two cores. ``--scale`` makes all problems smaller, to try it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.common.costs import COSTS
from benchmarks.common.data import mnist
from benchmarks.common.machine import OtherLoad
from benchmarks.common.pages import table
from benchmarks.common.peers import SCRIPTS, python_of
from benchmarks.common.records import RESULTS, read_measurement, write_measurement
from benchmarks.comparison.fit import Limits, report_of
from benchmarks.comparison.results import OK

FILE = RESULTS / "fields.json"
_PAIRS = 1 << 22  # of one block of distances


# -- rows -----------------------------------------------------------------------------------------


def embeddings(n: int, random: np.random.Generator) -> np.ndarray:
    """Return vectors of length 1: topics of Zipf sizes, and a spectrum that falls as 1/√i."""
    spectrum = np.arange(1, 385) ** -0.5
    sizes = 1 / np.arange(1, 401)
    topics = random.normal(size=(400, 384)) * spectrum
    rows = topics[random.choice(400, n, p=sizes / sizes.sum())]
    rows = rows + 0.7 * random.normal(size=(n, 384)) * spectrum
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def cells(n: int, random: np.random.Generator) -> np.ndarray:
    """Return 50 components of counts of 2,000 genes: 12 types, the rarest 0.2 % of the cells."""
    from sklearn.decomposition import PCA

    shares = np.geomspace(0.3, 0.002, 12)
    kinds = random.choice(12, n, p=shares / shares.sum())
    base = random.lognormal(-2, 1.5, size=2000)
    markers = np.where(random.random((12, 2000)) < 0.03, random.lognormal(2, 0.5, (12, 2000)), 1.0)
    depth = random.lognormal(0, 0.4, size=(n, 1))
    means = base * markers[kinds] * depth
    counts = random.poisson(random.gamma(2.0, means / 2.0))  # a negative binomial
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log1p(counts / total * 1e4).astype(np.float32)
    return PCA(50, svd_solver="randomized", random_state=0).fit_transform(logs)


def mixed_table(n: int, random: np.random.Generator) -> np.ndarray:
    """Return ten numbers and six categories, encoded so that manhattan is Gower's distance."""
    kinds = random.choice(8, n, p=np.array([5, 4, 3, 2, 1, 1, 1, 1]) / 18)
    numbers = random.normal(size=(8, 10))[kinds] + random.normal(size=(n, 10))
    numbers[:, :3] = np.exp(numbers[:, :3])  # incomes, amounts
    numbers = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    usual = random.integers(0, 5, size=(8, 6))[kinds]
    categories = np.where(random.random((n, 6)) < 0.7, usual, random.integers(0, 5, size=(n, 6)))
    one_hot = [np.eye(5)[column] / 2 for column in categories.T]
    return (np.hstack([numbers, *one_hot]) / 16).astype(np.float32)


def fingerprints(n: int, random: np.random.Generator) -> np.ndarray:
    """Return bits of molecules: about 50 of 1,024 are set, most of them by the scaffold."""
    scaffolds = random.random((200, 1024)) < 0.035
    sizes = 1 / np.arange(1, 201)
    rows = scaffolds[random.choice(200, n, p=sizes / sizes.sum())]
    dropped = random.random((n, 1024)) < 0.2
    return (rows & ~dropped) | (random.random((n, 1024)) < 0.015)


def series(n: int, random: np.random.Generator) -> np.ndarray:
    """Return 64 points of bumps that are shifted and stretched, in 15 shapes."""
    shapes = random.normal(size=(15, 4, 1))
    kinds = random.choice(15, n)
    time = np.linspace(0, 1, 64)
    shifts = random.normal(0, 0.04, size=(n, 1))
    centres = np.linspace(0.15, 0.85, 4)[:, None]
    bumps = np.exp(-0.5 * ((time + shifts[:, :, None] - centres) / 0.07) ** 2)
    return ((shapes[kinds] * bumps).sum(axis=1) + random.normal(0, 0.1, (n, 64))).astype(np.float32)


@dataclass(frozen=True)
class Field:
    """A problem: how its rows are made, how many, how many prototypes, and the metric."""

    name: str
    rows: str
    make: Callable[[int, np.random.Generator], np.ndarray] | None  # None: MNIST
    n: int
    k: int
    metric: str


FIELDS = (
    Field("text", "text embeddings (made)", embeddings, 50_000, 200, "cosine"),
    Field("cells", "single cells, 50 components (made)", cells, 20_000, 100, "euclidean"),
    Field("images", "images (MNIST)", None, 20_000, 100, "euclidean"),
    Field("table", "table, Gower (made)", mixed_table, 20_000, 50, "manhattan"),
    Field("bits", "bit vectors (made)", fingerprints, 20_000, 100, "jaccard"),
    Field("series", "time series, own function (made)", series, 3_000, 30, "dtw"),
)


# -- contestants ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contestant:
    """A script of benchmarks/peers, its options, and the environment; "" is this one."""

    name: str
    command: tuple[str, ...]
    environment: str = ""


CONTESTANTS = (
    Contestant("protobandit", ("fit_field.py", "auto")),
    Contestant("protobandit fast", ("fit_field.py", "auto", "fast")),
    Contestant("random rows", ("fit_field.py", "random")),
    Contestant("farthest first", ("fit_field.py", "farthest")),
    Contestant(
        "MiniBatchKMeans + rows", ("fit_kmeans.py", "MiniBatchKMeans", "distinct"), "sklearn"
    ),
    Contestant("geosketch", ("fit_geosketch.py",), "geosketch"),
)


def cost_of(prototypes: np.ndarray, rows: np.ndarray, metric: str) -> float:
    """Return the mean dissimilarity of all rows to the nearest prototype, in float64."""
    if metric in COSTS:
        return COSTS[metric](prototypes, rows)
    if metric == "dtw":
        sys.path.insert(0, str(SCRIPTS))
        from _dtw import dtw as distances
    else:
        from sklearn.metrics import pairwise_distances

        def distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
            return pairwise_distances(some, others, metric=metric)

    size = max(1, _PAIRS // len(prototypes))
    blocks = (rows[start : start + size] for start in range(0, len(rows), size))
    return float(sum(distances(block, prototypes).min(axis=1).sum() for block in blocks)) / len(
        rows
    )


def fits(
    field: Field, rows: np.ndarray, k: int, options: argparse.Namespace, done: set[Any]
) -> Iterator[dict[str, Any]]:
    """Yield one record per contestant and seed, except those that are done."""
    limits = Limits(seconds=options.limit)
    with tempfile.TemporaryDirectory() as folder:
        path, numbers = Path(folder) / "rows.npy", Path(folder) / "numbers.npy"
        np.save(path, rows)
        np.save(numbers, rows.astype(np.float32))  # others do not read bits
        for seed in range(options.seeds):
            for each in CONTESTANTS:
                if (field.name, each.name, seed) in done:
                    continue
                own = each.environment == ""
                python = sys.executable if own else python_of(options.peers, each.environment)
                record = {"field": field.name, "contestant": each.name, "seed": seed}
                if python is None:
                    yield {**record, "reason": "not installed (--peers)"}
                    continue
                script, *rest = each.command
                command = [python, str(SCRIPTS / script), str(path if own else numbers), "-"]
                load = OtherLoad()
                status, report = report_of(
                    [*command, str(k), str(seed), *rest], limits, field.metric
                )
                record["others_cores"] = load.cores()
                if status != OK:
                    yield {**record, "reason": report["reason"]}
                    continue
                chosen = np.unique(report["indices"])
                grown = [report["peak_mb"], report["baseline_mb"]]
                yield {
                    **record,
                    "version": report["version"],
                    "seconds": report["seconds"],
                    "memory_mb": None if None in grown else grown[0] - grown[1],
                    "n_prototypes": len(chosen),
                    "cost": cost_of(rows[chosen], rows, field.metric),
                }


def rows_of(field: Field, options: argparse.Namespace) -> np.ndarray:
    """Return the rows of a field; the same for all contestants and seeds."""
    n = max(200, int(field.n * options.scale))
    if field.make is None:
        return mnist(options.data)[0][:n]
    return field.make(n, np.random.default_rng(0))


# -- the table ------------------------------------------------------------------------------------


def lines(figures: dict[str, Any]) -> Iterator[str]:
    """Yield a table: cost relative to protobandit, time and memory, means over seeds."""
    rows = []
    for field in figures["fields"]:
        found = {name: _mean(figures["fits"], field["name"], name) for name in _names()}
        base = found["protobandit"]
        for name, mean in found.items():
            start = [""] * 4
            if name == "protobandit":
                start = [
                    field["rows"],
                    f"{field['n']:,} × {field['columns']}",
                    str(field["k"]),
                    field["metric"],
                ]
            if mean is None:
                reasons = [
                    f.get("reason")
                    for f in figures["fits"]
                    if (f["field"], f["contestant"]) == (field["name"], name)
                ]
                rows.append([*start, name, next(filter(None, reasons), "–"), "–", "–"])
                continue
            excess = (
                "1"
                if base is None or name == "protobandit"
                else f"{mean['cost'] / base['cost']:.3f}"
            )
            memory = "–" if mean["memory_mb"] is None else f"{mean['memory_mb']:,.0f} MB"
            rows.append([*start, name, excess, f"{mean['seconds']:.2g} s", memory])
    header = [
        "field",
        "rows × columns",
        "k",
        "metric",
        "",
        "cost / protobandit's",
        "time",
        "memory",
    ]
    yield table(header, rows)


def _names() -> list[str]:
    return [each.name for each in CONTESTANTS]


def _mean(records: list[dict[str, Any]], field: str, name: str) -> dict[str, Any] | None:
    own = [r for r in records if (r["field"], r["contestant"]) == (field, name) and "cost" in r]
    if not own:
        return None
    return {
        key: None if any(r[key] is None for r in own) else float(np.mean([r[key] for r in own]))
        for key in ("cost", "seconds", "memory_mb")
    }


def resumed(path: Path, arguments: list[str]) -> list[dict[str, Any]]:
    """Return the fits of a run of the same commit and command that was stopped."""
    if not path.exists():
        return []
    found = read_measurement(path)
    is_same = (
        found.figures.get("arguments") == arguments and found.session.commit == machine.commit()
    )
    return [*found.figures["fits"]] if is_same else []


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    parser.add_argument("--peers", type=Path, help="folder of benchmarks/peers/setup.py")
    parser.add_argument("--only", default=",".join(field.name for field in FIELDS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of one fit")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options = parser.parse_args(arguments)
    chosen = [field for field in FIELDS if field.name in options.only.split(",")]
    if len(chosen) != len(options.only.split(",")):
        parser.error(f"--only={options.only}: use some of {[field.name for field in FIELDS]}.")
    started = perf_counter()
    what = [options.only, str(options.seeds), f"{options.scale:g}", f"{options.limit:g}"]
    done = resumed(options.out, what)
    figures: dict[str, Any] = {"arguments": what, "fields": [], "fits": done}
    for field in chosen:
        rows = rows_of(field, options)
        k = max(3, min(field.k, len(rows) // 20))
        about = {name: value for name, value in asdict(field).items() if name != "make"}
        shape = {"n": len(rows), "columns": rows.shape[1], "k": k}
        figures["fields"].append(about | shape)
        known = {(r["field"], r["contestant"], r["seed"]) for r in done}
        for record in fits(field, rows, k, options, known):
            figures["fits"] = [*figures["fits"], record]
            print(json.dumps(record), flush=True)
            seconds = perf_counter() - started
            write_measurement(
                options.out, "benchmarks.fields", figures, seconds=seconds, arguments=arguments
            )
    print("\n".join(lines(figures)))


if __name__ == "__main__":
    main()
