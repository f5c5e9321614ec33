"""What every method chose, cost and counted on fixed problems, written down.

``python tests/baseline.py`` writes ``fixtures/baseline.json`` anew; ``test_baseline.py`` compares.
Only the public face of the package is used: whatever lies behind it may move, but none of these
numbers may change by that.

Coordinates are sixteenths of small whole numbers, so that squared distances are exact in whichever
order they are summed up, and memory is limited by hand, so that no machine's own counts.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_matrix

import protobandit as pb
from protobandit import methods
from protobandit.__main__ import main
from protobandit.methods import METHODS, SEARCHES

FILE = Path(__file__).parent / "fixtures" / "baseline.json"

SEED = 7
N_JOBS = 2
ROOM = 1 << 30  # bytes, plenty for every problem here
LITTLE_ROOM = 40_000  # bytes: less than a fourth of the matrix of `apart`

Case = Callable[[], dict[str, Any]]


# -- problems -------------------------------------------------------------------------------------


@cache
def rows(n: int, columns: int = 4, *, seed: int = 0) -> np.ndarray:
    """Return rows around a few centres, in sixteenths; callers must leave them as they are."""
    random = np.random.default_rng(seed)
    centres = random.integers(-4, 5, size=(6, columns))
    made = centres[random.integers(6, size=n)] + random.normal(size=(n, columns))
    made = np.round(made * 16) / 16
    made.setflags(write=False)
    return made


def numbers(n: int, low: int, high: int, *, seed: int) -> np.ndarray:
    """Return whole numbers from ``low`` to ``high`` - 1."""
    return np.random.default_rng(seed).integers(low, high, size=n)


def apart() -> dict[str, Any]:
    """Return a problem whose target is another set of rows."""
    return {"source": rows(120, seed=1), "target": rows(200, seed=2), "k": 8}


def large() -> dict[str, Any]:
    """Return a problem of 24 million pairs, which the race samples in several rungs."""
    return {"source": rows(2000, 8, seed=3), "target": rows(12_000, 8, seed=4), "k": 15}


def wide() -> dict[str, Any]:
    """Return a problem of many target rows, of which the race never reads most."""
    return {"source": rows(400, 8, seed=5), "target": rows(60_000, 8, seed=6), "k": 6}


def stream(n: int | None, columns: int = 4) -> pb.Stream:
    """Return an endless stream that is the same each time; ``n`` rows of it are the target."""

    def batches():
        random = np.random.default_rng(8)
        while True:
            yield np.round(random.normal(size=(500, columns)) * 32) / 16

    return pb.Stream(batches, rows=n)


def skewed(target: Any, source: Any) -> float:
    """Return an asymmetric dissimilarity of two rows: overshooting costs three times as much."""
    gap = np.asarray(target) - np.asarray(source)
    return float(np.where(gap > 0, gap, -3 * gap).sum())


def skewed_blocks(targets: Any, sources: Any) -> np.ndarray:
    """Return `skewed` of all pairs."""
    gap = np.asarray(targets)[:, None] - np.asarray(sources)[None]
    return np.where(gap > 0, gap, -3 * gap).sum(axis=2)


def table() -> np.ndarray:
    """Return the city block distances of `apart`, of shape (target rows, source rows)."""
    return np.abs(rows(200, seed=2)[:, None] - rows(120, seed=1)[None]).sum(axis=2)


def sparse(n: int, *, seed: int) -> csr_matrix:
    """Return rows of which about two thirds of the entries are zero."""
    return csr_matrix(np.maximum(rows(n, 12, seed=seed) - 1, 0))


def situations() -> dict[str, dict[str, Any]]:
    """Return the arguments of `select` that every method meets, by the name of the situation."""
    source, target = rows(120, seed=1), rows(200, seed=2)
    weights = numbers(200, 0, 6, seed=9) ** 2
    groups = [str(label) for label in np.array(list("abc"))[numbers(120, 0, 3, seed=10)]]
    prices = numbers(120, 1, 9, seed=11) / 2
    labels = numbers(150, 0, 3, seed=12).tolist()
    quotas = pb.Constraints(groups=groups, at_least=1, at_most={"a": 2, "b": 3})
    return {
        "own": {"source": rows(150), "k": 8},
        "apart": apart(),
        "one": {**apart(), "k": 1},
        "weights": {**apart(), "weights": weights},
        "own weights": {"source": target, "k": 8, "weights": weights},
        "fixed": {**apart(), "constraints": pb.Constraints(fixed=[17, 3, 99])},
        "groups": {**apart(), "constraints": quotas},
        "fixed and groups": {
            **apart(),
            "constraints": pb.Constraints(fixed=[17, 3], groups=groups, at_most=4),
        },
        "budget": {
            "source": source,
            "target": target,
            "constraints": pb.Constraints(costs=prices, budget=12),
        },
        "stream": {"source": rows(90, seed=13), "target": stream(300), "k": 6},
        "by": {"source": rows(150), "k": 9, "by": labels},
        "by apart": {
            **apart(),
            "k": {0: 2, 1: 4, 2: 3},
            "by": (numbers(120, 0, 3, seed=14).tolist(), numbers(200, 0, 3, seed=15).tolist()),
        },
        "auto": {"source": rows(120, seed=16), "k": "auto"},
        "several": {**apart(), "k": [2, 5, 8]},
        "coverage": {"source": source, "target": target, "until": pb.Coverage(0.75, radius=5.0)},
        "min gain": {"source": source, "target": target, "until": pb.MinGain(0.05)},
        "manhattan": {**apart(), "metric": "manhattan"},
        "cosine": {**apart(), "metric": "cosine"},
        "precomputed": {"source": table(), "k": 8, "metric": "precomputed"},
        "callable": {
            "source": rows(40, seed=17),
            "target": rows(60, seed=18),
            "k": 5,
            "metric": skewed,
        },
        "blocks": {**apart(), "metric": pb.block_metric(skewed_blocks)},
        "sparse": {"source": sparse(120, seed=19), "target": sparse(150, seed=20), "k": 6},
        "prepared": {**apart(), "preparation": pb.Preparation(standardize=True, normalize=True)},
        "little room": {**apart(), "limits": pb.Limits(memory=LITTLE_ROOM)},
        "few evaluations": {**apart(), "limits": pb.Limits(evaluations=3_000, memory=ROOM)},
        "most evaluations": {**apart(), "limits": pb.Limits(evaluations=15_000, memory=ROOM)},
        "all evaluations": {**apart(), "limits": pb.Limits(evaluations=24_000, memory=ROOM)},
        "little of both": {
            **apart(),
            "limits": pb.Limits(evaluations=40_000, memory=LITTLE_ROOM),
        },
    }


# -- what is written down -------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value as JSON holds it; of numbers that are not whole, nine digits."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value


def told(selection: pb.Selection) -> dict[str, Any]:
    """Return what a selection holds, but for words and seconds."""
    found = {
        "method": selection.method,
        "indices": selection.indices,
        "costs": selection.costs,
        "cost": selection.cost,
        "cost_error": selection.cost_error,
        "mass": selection.mass,
        "evaluations": selection.evaluations,
        "evaluations_by_phase": dict(selection.evaluations_by_phase),
        "lookups": selection.lookups,
        "is_stopped": selection.status.split()[0] == "Stopped",
        "is_proven": selection.guarantee is not None,
    }
    for name in ("coefficients", "criticisms", "curve", "spent", "prototype_labels"):
        if getattr(selection, name) is not None:
            found[name] = getattr(selection, name)
    return found


def outcome(case: Case) -> dict[str, Any]:
    """Return what a case gives, or the class of the error by which it is refused."""
    try:
        return plain(case())
    except pb.ProtobanditError as error:
        return {"refused": type(error).__name__}


# -- cases ----------------------------------------------------------------------------------------


def selected(method: Any, **problem: Any) -> pb.Selection:
    """Return what `select` finds with this method."""
    problem.setdefault("limits", pb.Limits(memory=ROOM))
    return pb.select(**problem, method=method, random_state=SEED, n_jobs=N_JOBS)


def select_case(method: Any, problem: Callable[[], dict[str, Any]], **more: Any) -> dict[str, Any]:
    return told(selected(method, **{**problem(), **more}))


def situation_case(method: Any, situation: str) -> dict[str, Any]:
    return told(selected(method, **situations()[situation]))


def extended_case(method: Any, other: Any = None) -> dict[str, Any]:
    first = selected(method, **{**apart(), "k": 4})
    limits = pb.Limits(memory=ROOM)
    return told(first.extended(9, method=other, random_state=SEED, n_jobs=N_JOBS, limits=limits))


def part_case(method: Any) -> dict[str, Any]:
    whole = selected(method, **{**apart(), "k": [2, 5, 8]})
    return told(whole.at(5, random_state=SEED, n_jobs=N_JOBS))


def plan_case(method: Any, memory: int, problem: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    limits = pb.Limits(memory=memory)
    try:
        planned = pb.plan(**problem(), method=method, n_jobs=N_JOBS, limits=limits)
    except pb.InvalidInput as error:  # as `select` refuses it
        return {"refused": str(error)}
    return {
        "method": planned.method,
        "evaluations": planned.evaluations,
        "memory": planned.memory,
    }


def command_case(
    method: str, *options: str, is_process: bool = False, **columns: np.ndarray
) -> dict[str, Any]:
    """Run ``protobandit select`` on a small file and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "rows.csv", Path(folder) / "out"
        fields = {f"c{i}": column for i, column in enumerate(rows(100, 3, seed=21).T)} | columns
        with file.open("w", newline="", encoding="utf-8") as opened:
            writer = csv.writer(opened)
            writer.writerow(fields)
            writer.writerows(zip(*(each.tolist() for each in fields.values()), strict=True))
        call = ["select", str(file), "-k", "6", "--method", method, "--out", str(out), *options]
        call += ["--seed", str(SEED), "--jobs", str(N_JOBS), "--max-memory", "1GB", "--quiet"]
        code = _process(call) if is_process else _call(call)
        return {"exit": code, **({} if code else _written(out))}


def _process(arguments: list[str]) -> int:
    """Run the command line as a user does; return its exit code."""
    home = str(Path(pb.__file__).parents[1])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "protobandit", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        timeout=120,
        check=False,
    ).returncode


def _call(arguments: list[str]) -> int:
    """Run the command line inside this process, which is quicker; return its exit code."""
    errors = io.StringIO()
    with patch("sys.argv", ["protobandit", *arguments]), redirect_stderr(errors):
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def _written(folder: Path) -> dict[str, Any]:
    document = json.loads((folder / "selection.json").read_text(encoding="utf-8"))
    with (folder / "prototypes.csv").open(newline="", encoding="utf-8") as opened:
        prototypes = list(csv.DictReader(opened))
    names = ("indices", "costs", "cost", "mass", "evaluations", "evaluations_by_phase", "lookups")
    return {
        "files": sorted(entry.name for entry in folder.iterdir()),
        **{name: document[name] for name in names},
        "columns": list(prototypes[0]),
        "rows": [int(each["row"]) for each in prototypes],
        "masses": [float(each["mass"]) for each in prototypes],
    }


def certificate_case(method: Any, problem: Callable[[], dict[str, Any]], **asked: Any) -> Any:
    found = selected(method, **problem())
    certificate = found.certify(random_state=SEED, n_jobs=N_JOBS, **asked)
    names = ("kind", "confidence", "cost", "cost_margin", "cost_bound", "cost_ratio")
    return {
        "indices": found.indices,
        **{name: getattr(certificate, name) for name in (*names, "evaluations", "n_rows")},
    }


def medoids_case(weights: Any = None, **parameters: Any) -> dict[str, Any]:
    model = pb.KMedoids(n_clusters=6, random_state=SEED, n_jobs=N_JOBS, **parameters)
    model.fit(rows(150), sample_weight=weights)
    return {
        "medoid_indices": model.medoid_indices_,
        "n_iter": model.n_iter_,
        "inertia": model.inertia_,
        "n_evaluations": model.n_evaluations_,
        "sizes": np.bincount(model.labels_, minlength=6),
        "predicted": np.bincount(model.predict(rows(200, seed=2)), minlength=6),
    }


def selector_case(weights: Any = None, target: Any = None, **parameters: Any) -> dict[str, Any]:
    model = pb.PrototypeSelector(**parameters, random_state=SEED, n_jobs=N_JOBS)
    model.fit(rows(150), target=target, sample_weight=weights)
    return {
        "prototype_indices": model.prototype_indices_,
        "mass": model.mass_,
        "gains": model.gains_,
        "inertia": model.inertia_,
        "n_evaluations": model.n_evaluations_,
        "sizes": np.bincount(model.labels_),
    }


def answers_case() -> dict[str, Any]:
    found = selected("auto", **apart())
    nearest = found.assign(rows(50, seed=22))
    silhouette = found.silhouette(n_jobs=N_JOBS)
    return {
        "labels": nearest[0],
        "distances": nearest[1],
        "silhouette": silhouette.mean,
        "members": found.members(0),
    }


def cases() -> dict[str, Case]:
    """Return every case by its name."""
    found: dict[str, Case] = {}
    for method in METHODS:
        for situation in situations():
            found[f"{situation}: {method}"] = partial(situation_case, method, situation)
        found[f"extended: {method}"] = partial(extended_case, method)
        found[f"at: {method}"] = partial(part_case, method)
        found[f"command: {method}"] = partial(command_case, method)
        for memory in (ROOM, 1 << 22):
            found[f"plan in {memory}: {method}"] = partial(plan_case, method, memory, large)
        found[f"plan apart: {method}"] = partial(plan_case, method, ROOM, apart)
    for situation in situations():
        found[f"{situation}: default"] = partial(situation_case, "auto", situation)
    return found | _values() | _large() | _certificates() | _commands() | _estimators()


def _values() -> dict[str, Case]:
    """Return methods with parameters of their own, on a small problem."""
    values: dict[str, Any] = {
        f"protobandit {name}": methods.ProtoBandit(search=name) for name in SEARCHES
    }
    values |= {
        f"refined {build} {swaps}": methods.Refined(build=build, swaps=swaps)
        for build in ("lazygreedy", "protobandit", "random")
        for swaps in ("eager", "best", "local")
    }
    values |= {f"effort {each}": methods.LazyBandit(effort=each) for each in ("fast", "thorough")}
    values |= {
        f"{kind.name} {init}": kind(init=init)
        for kind in (methods.PAM, methods.FastPAM1, methods.FasterPAM, methods.Alternate)
        for init in ("build", "random", "heuristic", "k-medoids++")
    }
    values |= {
        "spotgreedy r": methods.SpotGreedy(r=3),
        "lazygreedy r": methods.LazyGreedy(r=3),
        "protobandit r": methods.ProtoBandit(r=2),
        "protobandit proven": methods.ProtoBandit(nu=2.0),
        "criticisms": methods.MMDCritic(n_criticisms=4),
    }
    found = {f"value: {name}": partial(select_case, each, apart) for name, each in values.items()}
    for method in ("kcenter", "protobandit"):
        found[f"extended by lazygreedy: {method}"] = partial(extended_case, method, "lazygreedy")
    found["answers"] = answers_case
    return found


def _large() -> dict[str, Case]:
    """Return problems on which the race samples."""
    efforts = {name: methods.LazyBandit(effort=name) for name in ("fast", "balanced", "thorough")}
    groups = numbers(2000, 0, 3, seed=23)
    quotas = pb.Constraints(groups=groups, at_least=2, at_most={0: 4})
    few = pb.Limits(evaluations=500_000, memory=ROOM)
    fewer = pb.Limits(evaluations=20_000, memory=ROOM)
    tight = pb.Limits(memory=1 << 22)
    weights = numbers(12_000, 0, 12, seed=24) ** 3
    blocks = pb.block_metric(skewed_blocks)
    dear = {"source": rows(300, seed=25), "target": rows(1500, seed=26), "k": 5, "metric": blocks}
    endless = {"source": rows(800, 8, seed=3), "target": stream(None, 8), "k": 10}
    found: dict[str, Case] = {"large: default": partial(select_case, "auto", large)}
    for name, method in efforts.items():
        found[f"large: effort {name}"] = partial(select_case, method, large)
        found[f"wide: effort {name}"] = partial(select_case, method, wide)
    for swaps in ("eager", "best", "local"):
        method = methods.Refined(build="stochasticgreedy", swaps=swaps)
        found[f"large: refined {swaps}"] = partial(select_case, method, large)
    for search in SEARCHES:
        method = methods.ProtoBandit(search=search)
        found[f"large: protobandit {search}"] = partial(select_case, method, large)
        found[f"wide: protobandit {search}"] = partial(select_case, method, wide)
    for name, more in {
        "uneven weights": {"weights": weights},
        "weights": {"weights": 1 + weights % 3},
        "fixed": {"constraints": pb.Constraints(fixed=[5, 1999])},
        "groups": {"constraints": quotas},
        "few evaluations": {"limits": few},
        "fewer evaluations": {"limits": fewer},
        "tight memory": {"limits": tight},
        "manhattan": {"metric": "manhattan"},
        "many": {"k": 60},
    }.items():
        found[f"large: {name}"] = partial(select_case, "lazybandit", large, **more)
    for name in ("onebatch", "clara", "banditpam", "random"):
        found[f"wide: {name}"] = partial(select_case, name, wide)
    found["dear: lazybandit"] = partial(select_case, "lazybandit", lambda: dear)
    found["endless: lazybandit"] = partial(select_case, "lazybandit", lambda: endless)
    found["large: extended"] = _large_extended
    return found


def _large_extended() -> dict[str, Any]:
    first = selected("lazybandit", **{**large(), "k": 6})
    limits = pb.Limits(memory=ROOM)
    return told(first.extended(10, random_state=SEED, n_jobs=N_JOBS, limits=limits))


def _certificates() -> dict[str, Case]:
    def crowded() -> dict[str, Any]:
        return {"source": rows(300, seed=27), "target": rows(3000, seed=28), "k": 4}

    found: dict[str, Case] = {}
    for method in ("lazybandit", "random"):
        found[f"certify exact: {method}"] = partial(certificate_case, method, apart)
        for kind in ("rigorous", "asymptotic"):
            case = partial(certificate_case, method, crowded, kind=kind, confidence=0.9)
            found[f"certify {kind}: {method}"] = case
    found["certify few: lazybandit"] = partial(
        certificate_case, "lazybandit", crowded, evaluations=60_000
    )
    return found


def _commands() -> dict[str, Case]:
    labels = np.array(list("abc"))[numbers(100, 0, 3, seed=29)]
    weights = numbers(100, 1, 6, seed=30)
    return {
        "command by": partial(
            command_case, "lazybandit", "--by", "kind", is_process=True, kind=labels
        ),
        "command weights": partial(
            command_case, "pam", "--weights", "w", "--fixed", "4,9", "--standardize", w=weights
        ),
        "command groups": partial(
            command_case, "lazygreedy", "--groups", "kind", "--at-least", "2", kind=labels
        ),
        "command refused": partial(command_case, "kcenter", "-k", "0"),
    }


def _estimators() -> dict[str, Case]:
    weights = numbers(150, 0, 4, seed=31)
    found: dict[str, Case] = {
        f"KMedoids: {method}": partial(medoids_case, method=method)
        for method in ("auto", "alternate", "pam", "fastpam1", "fasterpam", "banditpam", "clara")
    }
    for init in ("build", "random", "heuristic", "k-medoids++"):
        found[f"KMedoids from {init}"] = partial(medoids_case, method="alternate", init=init)
    found["KMedoids from rows"] = partial(medoids_case, init=[3, 14, 15, 92, 65, 35])
    found["KMedoids manhattan"] = partial(medoids_case, metric="manhattan")
    found["KMedoids weights"] = partial(medoids_case, weights, method="pam")
    found["PrototypeSelector"] = partial(selector_case, n_prototypes=7)
    found["PrototypeSelector auto"] = partial(selector_case, n_prototypes="auto")
    found["PrototypeSelector weights"] = partial(selector_case, weights, n_prototypes=7)
    found["PrototypeSelector target"] = partial(
        selector_case, target=pb.Target(rows(200, seed=2)), n_prototypes=0.05
    )
    found["PrototypeSelector coverage"] = partial(
        selector_case, n_prototypes=None, until=pb.Coverage(0.5, radius=2.0)
    )
    return found


# -- comparing and recording ----------------------------------------------------------------------


def differences(recorded: Any, found: Any, path: str = "") -> list[str]:
    """Return where two outcomes differ: numbers that are not whole by 1e-6 or more, else at all."""
    if isinstance(recorded, dict) and isinstance(found, dict) and recorded.keys() == found.keys():
        pairs = [(f"{path}.{name}", recorded[name], found[name]) for name in recorded]
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        both = zip(recorded, found, strict=True)
        pairs = [(f"{path}[{i}]", one, other) for i, (one, other) in enumerate(both)]
    elif isinstance(recorded, float) and isinstance(found, float):
        is_close = math.isclose(recorded, found, rel_tol=1e-6, abs_tol=1e-9)
        is_missing = math.isnan(recorded) and math.isnan(found)
        return [] if is_close or is_missing else [f"{path}: {recorded} is now {found}"]
    else:
        is_same = type(recorded) is type(found) and recorded == found
        return [] if is_same else [f"{path}: {recorded} is now {found}"]
    return [line for where, one, other in pairs for line in differences(one, other, where)]


def record() -> None:
    """Write down what every case gives now, one a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(outcome(case))}" for name, case in sorted(cases().items())
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(description="Record what every case gives now.").parse_args()
    record()
