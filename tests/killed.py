"""A process that forks searches which kill themselves, and goes on from what they left on disk.

Prints what came of it as JSON; run by test_checkpoint.py.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import warnings
from pathlib import Path

import protobandit as pb
from protobandit.oracle import oracle
from protobandit.run.checkpoint import store
from protobandit.run.progress import watch
from protobandit.search.methods import lazybandit
from watched import call, outcome

NAMES = ("lazygreedy", "lazybandit", "fasterpam", "protobandit")
watch._AT_ONCE = lazybandit._AT_ONCE = 0


def select(name: str, path: Path) -> pb.Selection:
    return pb.select(**call(name), checkpoint=pb.Checkpoint(path, seconds=0))


def die_at(n: int, owner: type, method: str) -> None:
    """Have this process killed by the n-th call of a method."""
    original, calls = getattr(owner, method), [0]

    def counted(*values: object, **named: object) -> object:
        calls[0] += 1
        found = original(*values, **named)
        if calls[0] == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, method, counted)


def killed(name: str, path: Path, n: int, owner: type, method: str) -> int:
    """Run a search in a child that kills itself; return by what signal it died."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BLAS has threads, which this child does not use
        child = os.fork()
    if child == 0:
        die_at(n, owner, method)
        select(name, path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(folder: Path) -> None:
    kills = {}
    for name in NAMES:
        whole = outcome(pb.select(**call(name)))
        moments = [(n, store.CheckpointFile, "_write") for n in (1, 3)]
        moments += [(n, oracle.Oracle, "_count") for n in (1, 2)]
        for i, (n, owner, method) in enumerate(moments):
            path = folder / f"{name} {i}"
            died = killed(name, path, n, owner, method)
            kills[f"{name}: {method} {n}"] = died, outcome(select(name, path)) == whole
    sys.stdout.write(json.dumps({"kills": kills, "full disk": full_disk(folder / "full")}))


def full_disk(folder: Path) -> dict[str, object]:
    """Go on from a kill where no file may grow any more."""
    folder.mkdir()
    path = folder / "search"
    killed("pam", path, 4, store.CheckpointFile, "_write")
    (folder / ".search.lock").unlink(missing_ok=True)  # which locks nobody out
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    found = select("pam", path)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    after = {each.name: each.read_bytes() for each in folder.iterdir()}
    whole = outcome(pb.select(**call("pam")))
    return {
        "status": found.status,
        "is_same": outcome(found) == whole,
        "is_untouched": before == after,
        "left": sorted(after),
        "resumed": outcome(select("pam", path)) == whole,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
