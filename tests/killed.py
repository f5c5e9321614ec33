"""A process that forks searches which kill themselves, and resumes them from their files.

It prints the results as JSON; test_checkpoint.py runs it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

import protobandit as pb
from protobandit.methods import METHODS
from protobandit.oracle import oracle, tasks
from protobandit.run import observer
from protobandit.run.checkpoint import archive, evaluation_log
from protobandit.search.methods import lazybandit
from watched import Counting, call, outcome, resumed

# With many columns, distances are matrix products, whose last bits depend on the rows multiplied.
_wide = np.random.default_rng(6).normal(size=(2170, 30)).astype(np.float32)
WIDE = {"source": _wide[:70], "target": _wide[70:]}
BUILT_IN = {
    **{name: {**call(name), **WIDE} for name in METHODS},
    **{name: call(name) for name in ("classes", "lazybandit, far rows", "refined, local")},
}
OWN = {
    f"{name}, own metric": {**call(name), "metric": Counting().metric}
    for name in ("lazygreedy", "lazybandit", "clarans", "classes")
}
oracle.TILE = tasks.TILE = 16
observer.SMALL_EFFORT = 0
lazybandit.AT_ONCE = lazybandit._AT_ONCE_IF_EXPENSIVE = 0


def die_at(n: int, owner: type, method: str) -> None:
    """Kill this process after the n-th call of a method."""
    original, calls = getattr(owner, method), [0]

    def counted(*values: object, **named: object) -> object:
        calls[0] += 1
        found = original(*values, **named)
        if calls[0] == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, method, counted)


def n_calls(arguments: dict, path: Path, owner: type, method: str) -> int:
    """Return how often a search with a checkpoint calls a method."""
    original, calls = getattr(owner, method), []

    def counted(*values: object, **named: object) -> object:
        calls.append(method)
        return original(*values, **named)

    with mock.patch.object(owner, method, counted):
        resumed(arguments, path)
    return len(calls)


def killed(arguments: dict, path: Path, n: int, owner: type, method: str) -> int:
    """Run a search in a child that kills itself; return the signal that ended it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BLAS has threads, which this child does not use
        child = os.fork()
    if child == 0:
        die_at(n, owner, method)
        resumed(arguments, path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(folder: Path) -> None:
    kills, random = {}, np.random.default_rng(11)
    write = archive.CheckpointFile, "_write"
    block = oracle.Oracle, "_fill"
    append = evaluation_log.EvaluationLog, "append"
    for name, arguments in {**BUILT_IN, **OWN}.items():
        whole = outcome(pb.select(**arguments))
        for i, moment in enumerate((write, block if name in BUILT_IN else append)):
            path = folder / f"{name} {i}"
            n = 1 + int(random.integers(n_calls(arguments, folder / f"{path.name} whole", *moment)))
            died = killed(arguments, path, n, *moment)
            kills[f"{name}: {moment[1]} {n}"] = died, outcome(resumed(arguments, path)) == whole
    own = {**call("pam"), "metric": Counting().metric}
    full = {
        "built-in metric": full_disk(
            folder / "full", call("pam"), archive.CheckpointFile, "_write"
        ),
        "own metric": full_disk(folder / "full, own", own, evaluation_log.EvaluationLog, "append"),
    }
    sys.stdout.write(json.dumps({"kills": kills, "full disk": full}))


def full_disk(folder: Path, arguments: dict, owner: type, method: str) -> dict[str, object]:
    """Resume a killed search where no file may grow."""
    folder.mkdir()
    path = folder / "search"
    killed(arguments, path, 4, owner, method)
    (folder / ".search.lock").unlink(missing_ok=True)  # it locks nobody out
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    found = resumed(arguments, path)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    after = {each.name: each.read_bytes() for each in folder.iterdir()}
    whole = outcome(pb.select(**arguments))
    return {
        "status": found.status,
        "is_same": outcome(found) == whole,
        "is_untouched": before == after,
        "left": sorted(after),
        "resumed": outcome(resumed(arguments, path)) == whole,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
